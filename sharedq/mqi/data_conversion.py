"""Conversion of a message's data to another character set and encoding, for the formats that are built in.

Strings are converted as one text, PCF messages parameter by parameter. Headers (MQDLH, MQMDE) and trigger messages
are converted field by field; what follows a header is converted by the Format that the header names, and the header
then says what it has become. A message is converted as a whole or not at all.

Source: IBM MQ reference, "Conversion processing" and "Processing conventions" of data conversion; MQGMO,
MQGMO_CONVERT.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sharedq.mqi import wire
from sharedq.mqi.character_sets import CharacterSet, Representation, character_set, integer_order
from sharedq.mqi.constants.descriptor import CharSet, Format
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.pcf import conversion as pcf
from sharedq.mqi.pcf.structures import PCFError

T = TypeVar("T")

_VERSION_AT: Final = 4
_LONG_LENGTH: Final = 4
#: CodedCharSetIds of what follows a header that mean that of the header.
_AS_HEADER: Final = (CharSet.INHERIT, CharSet.UNDEFINED)


@dataclass(frozen=True, slots=True)
class Converted:
    """Data as they were asked for; ``is_cut``: converted they did not fit, and were cut after a whole character."""

    data: bytes
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Structure:
    """A converted structure; of a header also how the data after it were written, and their Format."""

    data: bytes
    following: Representation | None = None
    format: bytes = b""


class _NotConverted(Exception):
    def __init__(self, reason: MQRC) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class _Job:
    """The conversion that all parts of a message share, and whether one of them was cut when it had been converted."""

    target: Representation
    may_cut: bool
    is_cut: bool
    was_cut: bool = False


def convert(
    data: bytes,
    format_: bytes,
    source: Representation,
    target: Representation,
    room: int,
    *,
    may_cut: bool,
    is_cut: bool,
) -> Converted | MQRC:
    """Convert *data* of the Format *format_* (without the blanks at its end).

    Args:
        room: length of the buffer, bytes; *data* fit it.
        may_cut: a string that does not fit it when it is converted is cut (MQGMO_ACCEPT_TRUNCATED_MSG).
        is_cut: the data were cut to the buffer already; an incomplete character at their end is left out.

    Returns:
        The converted data, or why there are none: 2110 the format is not known, or the data are not of it; 2111, 2112,
        2115, 2116 see ``character_set``; 2119 the data are no text of their character set, or have characters that
        the other does not have; 2120 they do not fit; 2190 a field of a header does not.
    """
    if source == target:
        return Converted(data)
    job = _Job(target, may_cut, is_cut)
    try:
        converted = _message(data, format_, source, job, room)
    except _NotConverted as failure:
        return failure.reason
    except UnicodeError:
        return MQRC.NOT_CONVERTED
    return Converted(converted, job.was_cut)


def _message(data: bytes, format_: bytes, source: Representation, job: _Job, room: int) -> bytes:
    """All of a message: its headers one after the other, then what follows the last of them.

    A header keeps its length, so each byte is copied once, however many headers there are.
    """
    parts: list[bytes] = []
    at = 0
    while layout := _STRUCTURES.get(format_):
        header = _structure(layout, data, at, source, job.target)
        parts.append(header.data)
        at += len(header.data)
        if at == len(data):
            return b"".join(parts)
        if header.following is None:
            raise _NotConverted(MQRC.FORMAT_ERROR)
        source, format_ = header.following, header.format
        if not format_ or source == job.target:
            return b"".join((*parts, data[at:]))
    if format_ in _PCF:
        return b"".join((*parts, _pcf(data[at:], source, job.target, room - at)))
    if format_ != Format.STRING:
        raise _NotConverted(MQRC.FORMAT_ERROR)
    return b"".join((*parts, _string(data[at:], source, job, room - at)))


def _string(data: bytes, source: Representation, job: _Job, room: int) -> bytes:
    written, wanted = _sets(source, job.target)
    converted = data if written == wanted else wanted.data(written.text(data, is_cut=job.is_cut))
    if len(converted) <= room:
        return converted
    if not job.may_cut:
        raise _NotConverted(MQRC.CONVERTED_MSG_TOO_BIG)
    job.was_cut = True
    return wanted.cut(converted, room)


def _pcf(data: bytes, source: Representation, target: Representation, room: int) -> bytes:
    _sets(source, target)
    try:
        converted = pcf.converted(data, source, target)
    except PCFError as error:
        raise _NotConverted(MQRC.FORMAT_ERROR) from error
    if len(converted) > room:
        raise _NotConverted(MQRC.CONVERTED_MSG_TOO_BIG)
    return converted


def _structure(
    layout: wire.Layout[Any], data: bytes, at: int, source: Representation, target: Representation
) -> _Structure:
    """The structure at *at*, converted. Then the header describes the data after it as they are converted."""
    written, wanted = _sets(source, target)
    if not written.is_for_names:
        raise _NotConverted(MQRC.SOURCE_CCSID_ERROR)
    if not wanted.is_for_names:
        raise _NotConverted(MQRC.TARGET_CCSID_ERROR)
    from_order = _known(integer_order(source.encoding, is_source=True))
    to_order = _known(integer_order(target.encoding, is_source=False))
    front = bytearray(_front(layout, data, at, written, from_order))
    is_last = at + len(front) == len(data)
    numbers: dict[str, int] = {}
    texts: dict[str, bytes] = {}
    places: dict[str, int] = {}
    for name, kind, place, size in layout.places(_version(front, 0, from_order)):
        places[name], field = place, bytes(front[place : place + size])
        if kind == "i":
            (numbers[name],) = struct.unpack(f"{from_order}i", field)
            front[place : place + size] = struct.pack(f"{to_order}i", numbers[name])
        elif kind[0] == "c":
            text = written.text(field)
            texts[name] = text.partition("\0")[0].rstrip(" ").encode("ascii", "replace")
            front[place : place + size] = _field(text, size, wanted)
    if layout.length_field and numbers[layout.length_field] != len(front):
        raise _NotConverted(MQRC.FORMAT_ERROR)
    if "format" not in texts:
        return _Structure(bytes(front))
    ccsid = numbers["coded_char_set_id"]
    following = Representation(source.ccsid if ccsid in _AS_HEADER else ccsid, numbers["encoding"])
    told = following if is_last or not texts["format"] else target
    struct.pack_into(f"{to_order}i", front, places["coded_char_set_id"], told.ccsid)
    struct.pack_into(f"{to_order}i", front, places["encoding"], told.encoding)
    return _Structure(bytes(front), following, texts["format"])


def _front(layout: wire.Layout[Any], data: bytes, at: int, written: CharacterSet, order: str) -> bytes:
    """The structure at *at* of *data*, which must be there, and all of it."""
    identifier = written.text(data[at : at + _VERSION_AT], is_cut=True).encode("ascii", "replace")
    if identifier == layout.identifier and len(data) - at >= _VERSION_AT + _LONG_LENGTH:
        version = _version(data, at, order)
        if version in layout.versions and len(data) - at >= layout.length(version):
            return data[at : at + layout.length(version)]
    raise _NotConverted(MQRC.FORMAT_ERROR)


def _version(data: bytes | bytearray, at: int, order: str) -> int:
    """The version of the structure at *at*."""
    version: int = struct.unpack_from(f"{order}i", data, at + _VERSION_AT)[0]
    return version


def _field(text: str, size: int, wanted: CharacterSet) -> bytes:
    """A field of fixed length: where it grew, blanks at its end and what follows a null may go."""
    field = wanted.data(text)
    if len(field) > size:
        field = wanted.data(text.partition("\0")[0].rstrip(" "))
        if len(field) > size:
            raise _NotConverted(MQRC.CONVERTED_STRING_TOO_BIG)
    return field + wanted.data(" ") * (size - len(field))


def _sets(source: Representation, target: Representation) -> tuple[CharacterSet, CharacterSet]:
    return _known(character_set(*source, is_source=True)), _known(character_set(*target, is_source=False))


def _known(found: T | MQRC) -> T:
    if isinstance(found, MQRC):
        raise _NotConverted(found)
    return found


_PCF: Final = (Format.ADMIN, Format.EVENT, Format.PCF)
_STRUCTURES: Final[dict[bytes, wire.Layout[Any]]] = {
    Format.DEAD_LETTER_HEADER: wire.DLH,
    Format.MD_EXTENSION: wire.MDE,
    Format.TRIGGER: wire.TM,
}
