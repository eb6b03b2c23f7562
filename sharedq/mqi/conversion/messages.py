"""Conversion of a message: its headers one after the other, then the data that follow the last of them.

Strings are converted as one text, PCF messages parameter by parameter, headers field by field; what follows a header is
converted by the Format that the header names, and the header then says what it has become. A message is converted as a
whole or not at all.

Other packages convert Formats by Python entry points of the group ``igq.conversion``. The name of an entry point is the
Format, and what it loads is called as IBM MQ calls a data-conversion exit::

    def convert(data: bytes, source: Representation, target: Representation) -> bytes

It raises `ConversionError` with the reason for data that it does not convert. Entry points are looked up when a message
of a Format that is not built in is converted for the first time. A Python warning says why one cannot be loaded or
failed.

Source: IBM MQ reference, "Conversion processing" and "Processing conventions" of data conversion; MQGMO,
MQGMO_CONVERT.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final

from sharedq.mqi.character_sets import CharacterSet, Representation
from sharedq.mqi.constants.descriptor import CharSet, Format
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.conversion.errors import ConversionError
from sharedq.mqi.conversion.fields import Fields, converted_field, converted_text, is_same_text, length_of, sets
from sharedq.mqi.conversion.structures import STRUCTURES, Structure, Tail
from sharedq.mqi.conversion.tails import converted_pcf, converted_tail, orders

GROUP: Final = "igq.conversion"
Converter = Callable[[bytes, Representation, Representation], bytes]
_PCF: Final = (Format.ADMIN, Format.EVENT, Format.PCF)
_VERSION_AT: Final = 4
_LONG: Final = 4
#: CodedCharSetIds with which the data after a header has the character set of the header.
_AS_HEADER: Final = (CharSet.INHERIT, CharSet.UNDEFINED)
#: LL and ZZ in front of each string for IMS; LL counts all of it.
_IMS_FRONT: Final = 4
_IMS_LENGTH_MAX: Final = 0x7FFF


def converted_by_others(data: bytes, format_: bytes, source: Representation, target: Representation) -> bytes:
    """Data of a Format that is not built in.

    Raises:
        ConversionError: 2110 nobody converts the Format; 2119 its converter failed; or the reason that it gives.
    """
    converter = _converter(format_.decode("latin-1"))
    if converter is None:
        raise ConversionError(MQRC.FORMAT_ERROR)
    try:
        found = converter(data, source, target)
    except ConversionError:
        raise
    except Exception as error:
        _tell(f"the converter of Format {format_!r} failed: {error!r}")
        raise ConversionError(MQRC.NOT_CONVERTED) from error
    if not isinstance(found, bytes):
        raise ConversionError(MQRC.NOT_CONVERTED)
    return found


@lru_cache(maxsize=64)
def _converter(name: str) -> Converter | None:
    for entry in entry_points(group=GROUP, name=name):
        try:
            loaded: Converter = entry.load()
        except Exception as error:  # noqa: BLE001 - it is code of others
            _tell(f"{entry.value}, the converter of Format {name!r}, cannot be loaded: {error!r}")
            continue
        return loaded
    return None


def _tell(text: str) -> None:
    """The program gets a reason code, which does not say what is wrong with the package."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)


@dataclass(frozen=True, slots=True)
class Converted:
    """Data as they were asked for; ``is_cut``: converted they did not fit, and were cut after a whole character."""

    data: bytes
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A converted structure, the bytes it had; of a header also how the data after it were written, their Format."""

    data: bytes
    length: int
    following: Representation | None = None
    format: bytes = b""


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
    except ConversionError as failure:
        return failure.reason
    except UnicodeError:
        return MQRC.NOT_CONVERTED
    return Converted(converted, job.was_cut)


def _message(data: bytes, format_: bytes, source: Representation, job: _Job, room: int) -> bytes:
    """All of a message. Each byte is copied once, however many headers there are."""
    parts: list[bytes] = []
    at = 0
    while choices := STRUCTURES.get(format_):
        part = _structure(choices, data, at, source, job.target)
        parts.append(part.data)
        at += part.length
        room -= len(part.data)
        if at == len(data):
            break
        if part.following is None:
            raise ConversionError(MQRC.FORMAT_ERROR)
        source, format_ = part.following, part.format
        if not format_ or source == job.target:
            parts.append(data[at:])
            room -= len(data) - at
            break
    else:
        parts.append(_last(data[at:] if at else data, format_, source, job, room))
        return b"".join(parts)
    if room < 0:
        raise ConversionError(MQRC.CONVERTED_MSG_TOO_BIG)
    return b"".join(parts)


def header_at(data: bytes, at: int, format_: bytes, source: Representation) -> tuple[int, Representation, bytes] | None:
    """Read the header of the Format *format_* at *at*.

    Returns:
        Its length, and how the data after it are written, and their Format. None: there is no valid header.
    """
    try:
        part = _structure(STRUCTURES.get(format_, ()), data, at, source, source)
    except (ConversionError, UnicodeError):
        return None
    return None if part.following is None else (part.length, part.following, part.format)


def _last(data: bytes, format_: bytes, source: Representation, job: _Job, room: int) -> bytes:
    """The data after all headers."""
    if format_ == Format.STRING and room >= 0:
        return _string(data, source, job, room)
    if format_ in _PCF:
        converted = converted_pcf(data, source, job.target)
    elif format_ == Format.IMS_VAR_STRING:
        converted = _ims_strings(data, source, job.target)
    else:
        converted = converted_by_others(data, format_, source, job.target)
    if len(converted) > room:
        raise ConversionError(MQRC.CONVERTED_MSG_TOO_BIG)
    return converted


def _string(data: bytes, source: Representation, job: _Job, room: int) -> bytes:
    converted = data
    if not is_same_text(source, job.target):
        written, wanted = sets(source, job.target)
        converted = wanted.data(written.text(data, is_cut=job.is_cut))
    if len(converted) <= room:
        return converted
    if not job.may_cut:
        raise ConversionError(MQRC.CONVERTED_MSG_TOO_BIG)
    job.was_cut = True
    return sets(source, job.target)[1].cut(converted, room)


def _ims_strings(data: bytes, source: Representation, target: Representation) -> bytes:
    """Strings with their lengths in front, as programs under IMS have them."""
    from_order, to_order = orders(source, target)
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        if len(data) - at < _IMS_FRONT:
            raise ConversionError(MQRC.FORMAT_ERROR)
        length, zz = struct.unpack_from(f"{from_order}hh", data, at)
        if not _IMS_FRONT <= length <= len(data) - at:
            raise ConversionError(MQRC.FORMAT_ERROR)
        text = converted_text(data[at + _IMS_FRONT : at + length], source, target)
        if len(text) + _IMS_FRONT > _IMS_LENGTH_MAX:
            raise ConversionError(MQRC.CONVERTED_STRING_TOO_BIG)
        parts.append(struct.pack(f"{to_order}hh", len(text) + _IMS_FRONT, zz) + text)
        at += length
    return b"".join(parts)


def _structure(
    choices: tuple[Structure, ...], data: bytes, at: int, source: Representation, target: Representation
) -> _Part:
    """The structure at *at*, converted. Then the header describes the data after it as they are converted."""
    written, wanted = sets(source, target)
    if not written.is_for_names:
        raise ConversionError(MQRC.SOURCE_CCSID_ERROR)
    if not wanted.is_for_names:
        raise ConversionError(MQRC.TARGET_CCSID_ERROR)
    from_order, to_order = orders(source, target)
    structure, fields = _found(choices, data, at, written, from_order)
    numbers: dict[str, int] = {}
    names: dict[str, bytes] = {}
    places: dict[str, int] = {}
    front = bytearray()
    place = at
    for name, kind in fields:
        end = place + length_of(kind)
        field, place = data[place:end], end
        places[name] = len(front)
        front += converted_field(field, kind, source, target)
        if kind == "i":
            (numbers[name],) = struct.unpack(f"{from_order}i", field)
        elif kind[0] == "c":
            names[name] = _name(written, field)
    length = numbers.get("struc_length", len(front))
    if not _is_right(structure, {**numbers, **names}, len(front), length, len(data) - at):
        raise ConversionError(MQRC.FORMAT_ERROR)
    tail, changed = converted_tail(structure.tail, data[place : at + length], len(front), numbers, source, target)
    if "struc_length" in numbers:
        changed = {**changed, "struc_length": len(front) + len(tail)}
    following: Representation | None = None
    if "format" in names:
        following = source
        if structure.describes:
            ccsid = numbers["coded_char_set_id"]
            following = Representation(source.ccsid if ccsid in _AS_HEADER else ccsid, numbers["encoding"])
            told = following if at + length == len(data) or not names["format"] else target
            changed = {**changed, "coded_char_set_id": told.ccsid, "encoding": told.encoding}
    for name, number in changed.items():
        struct.pack_into(f"{to_order}i", front, places[name], number)
    return _Part(bytes(front) + tail, length, following, names.get("format", b""))


def _found(
    choices: tuple[Structure, ...], data: bytes, at: int, written: CharacterSet, order: str
) -> tuple[Structure, Fields]:
    """The structure at *at* of *data*, which must be there with all its fields, and these."""
    front = data[at : at + _VERSION_AT + _LONG]
    if len(front) == _VERSION_AT + _LONG:
        identifier = written.text(front[:_VERSION_AT], is_cut=True).encode("ascii", "replace")
        for structure in choices:
            if structure.identifier == identifier:
                version = _version(structure, front[_VERSION_AT:], written, order)
                fields = structure.versions.get(version, ())
                if fields and sum(length_of(kind) for _, kind in fields) <= len(data) - at:
                    return structure, fields
    raise ConversionError(MQRC.FORMAT_ERROR)


def _version(structure: Structure, field: bytes, written: CharacterSet, order: str) -> int:
    if structure.version_kind == "i":
        return int(struct.unpack(f"{order}i", field)[0])
    text = written.text(field).strip()
    return int(text) if text.isdecimal() else 0


def _is_right(structure: Structure, values: Mapping[str, int | bytes], fixed: int, length: int, available: int) -> bool:
    """Whether fields with one value have it, and StrucLength is possible."""
    if any(values[name] != value for name, value in structure.required.items()):
        return False
    return length == fixed if structure.tail is Tail.NONE else fixed <= length <= available


def _name(written: CharacterSet, field: bytes) -> bytes:
    """A name in a field: without blanks at its end and what follows a null."""
    return written.text(field).partition("\0")[0].rstrip(" ").encode("ascii", "replace")
