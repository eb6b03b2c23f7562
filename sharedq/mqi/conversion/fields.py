"""Conversion of the fields of a structure, each by its kind. Formats of your own use this, too.

Source: IBM MQ reference, "Processing conventions" of data conversion.
IBM MQ reference, "Machine encodings"; z/Architecture Principles of Operation, "Hexadecimal-floating-point".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final

from sharedq.mqi.character_sets import UTF_16, CharacterSet, Representation, character_set, integer_order
from sharedq.mqi.constants.descriptor import Encoding
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.conversion.errors import ConversionError, known

_DECIMAL_MASK: Final = 0x0F0


_FLOAT_MASK: Final = 0xF00


_DECIMALS: Final = (int(Encoding.DECIMAL_NORMAL), int(Encoding.DECIMAL_REVERSED))


_HEXADECIMAL: Final = int(Encoding.FLOAT_S390)


_IEEE: Final = {int(Encoding.FLOAT_IEEE_NORMAL): ">", int(Encoding.FLOAT_IEEE_REVERSED): "<"}


_IEEE_FORMATS: Final = {4: "f", 8: "d"}


#: Of hexadecimal floating point: the exponent of 16 is kept with 64 added, in seven bits.
_EXCESS, _EXPONENT_MAX, _BASE = 64, 127, 16


def integer(field: bytes, source: Representation, target: Representation) -> bytes:
    """A binary integer of any length. Raises ConversionError: 2112, 2116."""
    from_order = known(integer_order(source.encoding, is_source=True))
    to_order = known(integer_order(target.encoding, is_source=False))
    return field if from_order == to_order else field[::-1]


def decimal(field: bytes, source: Representation, target: Representation) -> bytes:
    """A packed decimal of any length: its bytes are the same in either order. Raises ConversionError: 2113, 2117."""
    written, wanted = source.encoding & _DECIMAL_MASK, target.encoding & _DECIMAL_MASK
    if written == wanted:
        return field
    if written not in _DECIMALS:
        raise ConversionError(MQRC.SOURCE_DECIMAL_ENC_ERROR)
    if wanted not in _DECIMALS:
        raise ConversionError(MQRC.TARGET_DECIMAL_ENC_ERROR)
    return field[::-1]


def floating(field: bytes, source: Representation, target: Representation) -> bytes:
    """A floating-point number of 4 or 8 bytes. Between two orders of IEEE each bit is kept.

    Raises:
        ConversionError: 2114, 2118; 2119 the other form has no such number.
    """
    written, wanted = source.encoding & _FLOAT_MASK, target.encoding & _FLOAT_MASK
    if written == wanted:
        return field
    if written not in (*_IEEE, _HEXADECIMAL):
        raise ConversionError(MQRC.SOURCE_FLOAT_ENC_ERROR)
    if wanted not in (*_IEEE, _HEXADECIMAL):
        raise ConversionError(MQRC.TARGET_FLOAT_ENC_ERROR)
    if written in _IEEE and wanted in _IEEE:
        return field[::-1]
    try:
        if written in _IEEE:
            return _to_hexadecimal(field, _IEEE[written])
        return _from_hexadecimal(field, _IEEE[wanted])
    except (OverflowError, ValueError):
        raise ConversionError(MQRC.NOT_CONVERTED) from None


def _to_hexadecimal(field: bytes, order: str) -> bytes:
    (number,) = struct.unpack(f"{order}{_IEEE_FORMATS[len(field)]}", field)
    # Infinity and "not a number" end here with an exception: the other form has neither.
    left = abs(Fraction(number))
    sign = field[0 if order == ">" else -1] & 0x80
    if not left:
        return bytes([sign]) + bytes(len(field) - 1)
    digits = len(field) * 8 - 8
    exponent = _EXCESS
    while left >= 1:
        left, exponent = left / _BASE, exponent + 1
    while left < Fraction(1, _BASE):
        left, exponent = left * _BASE, exponent - 1
    fraction = round(left * (1 << digits))
    if fraction >> digits:
        fraction, exponent = fraction >> 4, exponent + 1
    if exponent > _EXPONENT_MAX:
        raise OverflowError
    if exponent < 0:
        return bytes([sign]) + bytes(len(field) - 1)
    return bytes([sign | exponent]) + fraction.to_bytes(len(field) - 1, "big")


def _from_hexadecimal(field: bytes, order: str) -> bytes:
    digits = len(field) * 8 - 8
    exponent = (field[0] & _EXPONENT_MAX) - _EXCESS
    number = float(Fraction(int.from_bytes(field[1:], "big"), 1 << digits) * Fraction(_BASE) ** exponent)
    return struct.pack(f"{order}{_IEEE_FORMATS[len(field)]}", -number if field[0] & 0x80 else number)


#: Name of a field, and its kind: ``h``, ``i``, ``q`` integer of 2, 4, 8 bytes; ``f``, ``d`` floating point of 4, 8;
#: ``p5`` packed decimal, ``c48`` characters, ``b24`` bytes that stay as they are, each with its length in bytes.
Fields = tuple[tuple[str, str], ...]


_Converter = Callable[[bytes, Representation, Representation], bytes]


_NUMBERS: Final[dict[str, tuple[int, _Converter]]] = {
    "h": (2, integer),
    "i": (4, integer),
    "q": (8, integer),
    "f": (4, floating),
    "d": (8, floating),
}


_WITH_LENGTH: Final[dict[str, _Converter]] = {"p": decimal}


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
