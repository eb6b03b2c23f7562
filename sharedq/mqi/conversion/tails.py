"""The end of a structure, after its fields: text, folders, records, a PCF message.

Source: IBM MQ reference, "Data types used in the MQI"; "Processing conventions" of data conversion.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from sharedq.mqi.character_sets import UTF_16, Representation, integer_order
from sharedq.mqi.constants.reasons import MQRC
from sharedq.mqi.conversion.errors import ConversionError, known
from sharedq.mqi.conversion.fields import Fields, converted_fields, converted_text, length_of, sets
from sharedq.mqi.conversion.structures import Tail
from sharedq.mqi.errors import MQIError
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFGR, MQCFSF, MQCFSL, MQCFST, Parameter, PCFError, known_set
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.wire import rfh2_folders

#: Numbers of a structure, by the names of its fields.
Numbers = Mapping[str, int]
#: The end, and the numbers of the structure that have changed with it.
Ended = tuple[bytes, Numbers]
_LONG: Final = 4
_ASCII: Final = Representation(367, 0)
#: The character sets that folders of an MQRFH2 may have.
_OF_FOLDERS: Final = UTF_16 | {1208}
_OBJECT: Final[Fields] = (("object_name", "c48"), ("object_q_mgr_name", "c48"))
#: The fields of a put message record, each with the bit of PutMsgRecFields (MQPMRF_*) that says that it is there.
_PUT_FIELDS: Final[tuple[tuple[int, tuple[str, str]], ...]] = (
    (1, ("msg_id", "b24")),
    (2, ("correl_id", "b24")),
    (4, ("group_id", "b24")),
    (8, ("feedback", "i")),
    (16, ("accounting_token", "b32")),
)
_ALL_PUT_FIELDS: Final = 0x1F
#: The strings of an MQRMH, each with fields for its length and its offset.
_REFERENCES: Final = ("src_env", "src_name", "dest_env", "dest_name")


def converted(data: bytes, source: Representation, target: Representation) -> bytes:
    """The message *data*, written as *target*. A string that named its character set names the new one.

    Raises:
        PCFError: it is no PCF message, or a string names a character set that is not known.
        UnicodeError: a string is no text of its character set, or the other does not have its characters.
    """
    message = read(data, source)
    parameters = tuple(_parameter(each, source, target) for each in message.parameters)
    return write(replace(message, parameters=parameters), target)


def _parameter(one: Parameter, source: Representation, target: Representation) -> Parameter:
    match one:
        case MQCFGR():
            return replace(one, parameters=tuple(_parameter(each, source, target) for each in one.parameters))
        case MQCFST():
            return replace(one, string=_string(one.string, one.ccsid, source, target), ccsid=_told(one.ccsid, target))
        case MQCFSL():
            strings = tuple(_string(each, one.ccsid, source, target) for each in one.strings)
            return replace(one, strings=strings, ccsid=_told(one.ccsid, target))
        case MQCFSF():
            value = _string(one.filter_value, one.ccsid, source, target)
            return replace(one, filter_value=value, ccsid=_told(one.ccsid, target))
    return one


def _string(string: bytes, ccsid: int, source: Representation, target: Representation) -> bytes:
    return known_set(0, target).data(known_set(ccsid, source).text(string))


def _told(ccsid: int, target: Representation) -> int:
    return target.ccsid if ccsid > 0 else ccsid


def converted_tail(
    kind: Tail, data: bytes, fixed: int, numbers: Numbers, source: Representation, target: Representation
) -> Ended:
    """The end *data* of a structure whose fields have *fixed* bytes.

    Raises:
        ConversionError: 2110 the data are not what the fields say, and as ``converted_fields``.
    """
    if kind is Tail.NONE:
        return b"", {}
    return _CONVERTERS[kind](data, fixed, numbers, source, target)


def converted_pcf(data: bytes, source: Representation, target: Representation) -> bytes:
    """A PCF message; raises as ``converted_tail``."""
    sets(source, target)
    try:
        return converted(data, source, target)
    except PCFError as error:
        raise ConversionError(MQRC.FORMAT_ERROR) from error


def orders(source: Representation, target: Representation) -> tuple[str, str]:
    """The orders of the bytes of integers, ``<`` or ``>``. Raises ConversionError: 2112, 2116."""
    return (
        known(integer_order(source.encoding, is_source=True)),
        known(integer_order(target.encoding, is_source=False)),
    )


def _pcf(data: bytes, _: int, __: Numbers, source: Representation, target: Representation) -> Ended:
    return converted_pcf(data, source, target), {}


def _text(data: bytes, _: int, __: Numbers, source: Representation, target: Representation) -> Ended:
    return _aligned(converted_text(data, source, target), len(data), target), {}


def _aligned(text: bytes, length: int, target: Representation) -> bytes:
    """Text that had *length* bytes. A multiple of four stays one: the data after it may need their alignment."""
    return text if length % _LONG else text + converted_text(b" ", _ASCII, target) * (-len(text) % _LONG)


def _folders(data: bytes, _: int, numbers: Numbers, source: Representation, target: Representation) -> Ended:
    """Folders of an MQRFH2: only the order of their bytes is that of the header; their character set stays."""
    ccsid = numbers["name_value_ccsid"]
    if ccsid not in _OF_FOLDERS:
        raise ConversionError(MQRC.SOURCE_CCSID_ERROR)
    from_order, to_order = orders(source, target)
    try:
        folders = list(rfh2_folders(data, 0, len(data), from_order))
    except MQIError as error:
        raise ConversionError(MQRC.FORMAT_ERROR) from error
    if ccsid in UTF_16 and from_order != to_order:
        folders = [_swapped(folder) for folder in folders]
    return b"".join(struct.pack(f"{to_order}i", len(folder)) + folder for folder in folders), {}


def _swapped(text: bytes) -> bytes:
    """Text in units of two bytes, each in the other order."""
    _check(len(text) % 2 == 0)
    swapped = bytearray(text)
    swapped[::2], swapped[1::2] = text[1::2], text[::2]
    return bytes(swapped)


def _records(data: bytes, fixed: int, numbers: Numbers, source: Representation, target: Representation) -> Ended:
    """Object records and put message records of an MQDH. They keep their lengths and their places."""
    told, count = numbers["put_msg_rec_fields"], numbers["recs_present"]
    _check(count >= 0 and not told & ~_ALL_PUT_FIELDS)
    put = tuple(field for bit, field in _PUT_FIELDS if told & bit)
    changed = bytearray(data)
    for offset, fields in ((numbers["object_rec_offset"], _OBJECT), (numbers["put_msg_rec_offset"], put)):
        length = sum(length_of(kind) for _, kind in fields)
        if not (offset and count and length):
            continue
        begin = offset - fixed
        _check(0 <= begin <= len(data) - count * length)
        for at in range(begin, begin + count * length, length):
            changed[at : at + length] = converted_fields(data[at : at + length], fields, source, target)
    return bytes(changed), {}


def _references(data: bytes, fixed: int, numbers: Numbers, source: Representation, target: Representation) -> Ended:
    """The strings of an MQRMH. They grow and shrink, and then stand one after the other."""
    changed: dict[str, int] = {}
    text = b""
    for name in sorted(_REFERENCES, key=lambda each: numbers[f"{each}_offset"]):
        length, offset = numbers[f"{name}_length"], numbers[f"{name}_offset"]
        if not length:
            continue
        begin = offset - fixed
        _check(length > 0 and 0 <= begin <= len(data) - length)
        string = converted_text(data[begin : begin + length], source, target)
        changed |= {f"{name}_length": len(string), f"{name}_offset": fixed + len(text)}
        text += string
    return _aligned(text, len(data), target), changed


def _check(is_right: bool) -> None:
    if not is_right:
        raise ConversionError(MQRC.FORMAT_ERROR)


_CONVERTERS: Final[Mapping[Tail, Callable[[bytes, int, Numbers, Representation, Representation], Ended]]] = {
    Tail.TEXT: _text,
    Tail.FOLDERS: _folders,
    Tail.PCF: _pcf,
    Tail.RECORDS: _records,
    Tail.REFERENCES: _references,
}
