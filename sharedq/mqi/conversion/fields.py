"""Conversion of the fields of a structure, each by its kind. Formats of your own use this, too.

Source: IBM MQ reference, "Processing conventions" of data conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sharedq.mqi.character_sets import UTF_16, CharacterSet, Representation, character_set
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.conversion import numbers
from sharedq.mqi.conversion.errors import ConversionError, known

#: Name of a field, and its kind: ``h``, ``i``, ``q`` integer of 2, 4, 8 bytes; ``f``, ``d`` floating point of 4, 8;
#: ``p5`` packed decimal, ``c48`` characters, ``b24`` bytes that stay as they are, each with its length in bytes.
Fields = tuple[tuple[str, str], ...]

_Converter = Callable[[bytes, Representation, Representation], bytes]
_NUMBERS: Final[dict[str, tuple[int, _Converter]]] = {
    "h": (2, numbers.integer),
    "i": (4, numbers.integer),
    "q": (8, numbers.integer),
    "f": (4, numbers.floating),
    "d": (8, numbers.floating),
}
_WITH_LENGTH: Final[dict[str, _Converter]] = {"p": numbers.decimal}


def length_of(kind: str) -> int:
    """Length of a field, bytes."""
    return _NUMBERS[kind][0] if kind in _NUMBERS else int(kind[1:])


def converted_fields(
    data: bytes, fields: Iterable[tuple[str, str]], source: Representation, target: Representation
) -> bytes:
    """The fields at the front of *data*, converted; every one keeps its length.

    Raises:
        ConversionError: 2110 they are not all there; 2111 to 2118 a character set or an encoding that a field needs is
            not known; 2119 a field is no text of its character set, or has what the other does not have; 2190 it
            would lose characters other than blanks at its end and what follows a null.
    """
    parts: list[bytes] = []
    at = 0
    for _, kind in fields:
        end = at + length_of(kind)
        if end > len(data):
            raise ConversionError(MQRC.FORMAT_ERROR)
        parts.append(converted_field(data[at:end], kind, source, target))
        at = end
    return b"".join(parts)


def converted_field(field: bytes, kind: str, source: Representation, target: Representation) -> bytes:
    """One field; raises as ``converted_fields``."""
    if kind in _NUMBERS:
        return _NUMBERS[kind][1](field, source, target)
    if kind[0] == "c":
        return _characters(field, source, target)
    return field if kind[0] == "b" else _WITH_LENGTH[kind[0]](field, source, target)


def sets(source: Representation, target: Representation) -> tuple[CharacterSet, CharacterSet]:
    """The two character sets. Raises ConversionError: 2111, 2112, 2115, 2116."""
    return known(character_set(*source, is_source=True)), known(character_set(*target, is_source=False))


def is_same_text(source: Representation, target: Representation) -> bool:
    """Whether text needs no conversion. Then nobody has to know its character set."""
    return source.ccsid == target.ccsid and source.ccsid not in UTF_16


def converted_text(data: bytes, source: Representation, target: Representation) -> bytes:
    """Text of any length; raises as ``converted_fields``."""
    if is_same_text(source, target):
        return data
    written, wanted = sets(source, target)
    try:
        return wanted.data(written.text(data))
    except UnicodeError:
        raise ConversionError(MQRC.NOT_CONVERTED) from None


def _characters(field: bytes, source: Representation, target: Representation) -> bytes:
    """A field of fixed length: where it grew, blanks at its end and what follows a null may go."""
    if is_same_text(source, target):
        return field
    written, wanted = sets(source, target)
    try:
        text = written.text(field)
        found = wanted.data(text)
        if len(found) > len(field):
            found = wanted.data(text.partition("\0")[0].rstrip(" "))
        blank = wanted.data(" ")
    except UnicodeError:
        raise ConversionError(MQRC.NOT_CONVERTED) from None
    if len(found) > len(field):
        raise ConversionError(MQRC.CONVERTED_STRING_TOO_BIG)
    return found + blank * ((len(field) - len(found)) // len(blank))
