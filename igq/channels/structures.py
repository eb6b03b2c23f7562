"""IBM's structures as a frame has them: their bytes, and each string to which one points as a blob of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

from sharedq.callbacks.structures import MQCBC, MQCBD, MQCTLO, Callback
from sharedq.mqi.constants import MQRC, PropertyType, PutRecordField
from sharedq.mqi.conversion.characters import converted_characters
from sharedq.mqi.conversion.errors import ConversionError
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.mqi.structures import MQOR, MQPMR, MQRR
from sharedq.mqi.wire import StructureLayout
from sharedq.properties.values import Value

T = TypeVar("T")

#: CCSIDs of a string that mean: that of the program, which is UTF-8 here.
_AS_PROGRAM: Final = (DEFAULT_CCSID, -3, 0)
_CCSID: Final = struct.Struct("<i")
#: Bytes that a text needs in UTF-8, at most, for each byte in another character set.
_GROWTH: Final = 4


class Given(Generic[T]):
    """A structure that a request has given, and how a reply returns it.

    A structure that the program did not give (NULL) has initial values here, and is not returned.

    Attributes:
        value: the structure.
    """

    __slots__ = ("_is_given", "_layout", "_raw", "value")

    def __init__(self, layout: StructureLayout[T], raw: bytes) -> None:
        self._layout, self._raw, self._is_given = layout, raw, bool(raw)
        self.value: T = layout.unpack(raw) if raw else layout.structure()

    def returned(self) -> bytes:
        """Its bytes now."""
        return self._layout.pack(self.value) if self._is_given else b""

    def text(self, name: str, blob: bytes) -> bytes:
        """Return a string of the structure in UTF-8. *name* is IBM's for its MQCHARV.

        Raises:
            MQIError: 2111, 2150, ...: the string is not in the character set that its VSCCSID names.
        """
        if not blob:
            return b""
        at = _ccsid_places(self._layout).get(name)
        has_it = at is not None and at + _CCSID.size <= len(self._raw)
        ccsid = _CCSID.unpack_from(self._raw, at)[0] if has_it and at is not None else DEFAULT_CCSID
        return in_utf_8(blob, ccsid)


def in_utf_8(text: bytes, ccsid: int) -> bytes:
    """Return a string of another character set in UTF-8.

    Raises:
        MQIError: 2111 no such character set; 2150 the string is not in it; others of MQXCNVC.
    """
    if ccsid in _AS_PROGRAM:
        return text
    try:
        return converted_characters(0, ccsid, text, DEFAULT_CCSID, _GROWTH * len(text))[0].rstrip(b" ")
    except ConversionError as error:
        raise error_for(error.reason, "", "", f"a string of CCSID {ccsid}") from error


_places: dict[int, dict[str, int]] = {}


def _ccsid_places(layout: StructureLayout[Any]) -> dict[str, int]:
    """Where the VSCCSID of each MQCHARV of a structure is, by the name of the MQCHARV."""
    found = _places.get(id(layout))
    if found is None:
        places = layout.places(max(layout.versions))
        found = _places[id(layout)] = {
            field.ibm_name.removesuffix("VSCCSID"): begin
            for field, (_, _, begin, _) in zip(layout.fields, places, strict=False)
            if field.ibm_name.endswith("VSCCSID")
        }
    return found


# -- records of a distribution list ------------------------------------------------------------------------------------

_OR: Final = struct.Struct("<48s48s")
_RR: Final = struct.Struct("<ii")
#: The fields of an MQPMR, in the order in which those that count follow each other.
_PMR: Final = (
    (PutRecordField.MSG_ID, "msg_id", 24),
    (PutRecordField.CORREL_ID, "correl_id", 24),
    (PutRecordField.GROUP_ID, "group_id", 24),
    (PutRecordField.FEEDBACK, "feedback", 4),
    (PutRecordField.ACCOUNTING_TOKEN, "accounting_token", 32),
)


def object_records(data: bytes) -> list[MQOR]:
    """The MQORs of an array."""
    whole = data[: len(data) - len(data) % _OR.size]
    return [MQOR(queue.rstrip(b" \0"), qmgr.rstrip(b" \0")) for queue, qmgr in _OR.iter_unpack(whole)]


def response_records(count: int, most: int) -> list[MQRR]:
    """As many MQRRs as a call has destinations, by its RecsPresent."""
    return [MQRR() for _ in range(max(0, min(count, most)))]


def packed_responses(records: Sequence[MQRR]) -> bytes:
    """The array of these MQRRs."""
    return b"".join([_RR.pack(int(each.comp_code), int(each.reason)) for each in records])


def put_records(data: bytes, fields: int) -> list[MQPMR]:
    """The MQPMRs of an array, which have these *fields* (MQPMRF_*)."""
    present = [(name, size) for bit, name, size in _PMR if fields & bit]
    length = sum(size for _, size in present)
    records: list[MQPMR] = []
    for begin in range(0, len(data) - length + 1, length) if length else ():
        record, at = MQPMR(), begin
        for name, size in present:
            piece = data[at : at + size]
            setattr(record, name, int.from_bytes(piece, "little", signed=True) if name == "feedback" else piece)
            at += size
        records.append(record)
    return records


def packed_put_records(records: Sequence[MQPMR], fields: int) -> bytes:
    """The array of these MQPMRs."""
    present = [(name, size) for bit, name, size in _PMR if fields & bit]
    parts: list[bytes] = []
    for record in records:
        for name, size in present:
            value = getattr(record, name)
            parts.append(value.to_bytes(size, "little", signed=True) if isinstance(value, int) else value[:size])
    return b"".join(parts)


# -- values of properties ----------------------------------------------------------------------------------------------

_T = PropertyType
_LETTERS: Final = {
    _T.BOOLEAN: "i",
    _T.INT8: "b",
    _T.INT16: "h",
    _T.INT32: "i",
    _T.INT64: "q",
    _T.FLOAT32: "f",
    _T.FLOAT64: "d",
}
_INTEGER_ORDERS: Final = {0x001: ">", 0x002: "<"}
_FLOAT_ORDERS: Final = {0x100: ">", 0x200: "<"}


def property_value(type_: int, data: bytes, encoding: int, ccsid: int) -> Value:
    """The value of a property that MQSETMP was given as bytes.

    Raises:
        MQIError: 2473 no such type; 2469 the bytes are too many or too few for it; as for `in_utf_8`.
    """
    if type_ == _T.STRING:
        return in_utf_8(data, ccsid).decode("utf-8", "surrogateescape")
    if type_ == _T.BYTE_STRING:
        return data
    if type_ == _T.NULL:
        return None
    try:
        known = PropertyType(type_)
        letter = _LETTERS[known]
    except (ValueError, KeyError):
        raise error_for(MQRC.PROPERTY_TYPE_ERROR, "MQSETMP", "", f"type {type_}") from None
    shape = struct.Struct(_order(letter, encoding) + letter)
    if len(data) != shape.size:
        raise error_for(MQRC.PROPERTY_VALUE_TOO_BIG, "MQSETMP", "", f"{len(data)} bytes, type {known.name}")
    (value,) = shape.unpack(data)
    return bool(value) if known == _T.BOOLEAN else value


def packed_value(type_: PropertyType, value: Value) -> bytes:
    """The bytes of a property's value in the buffer of an MQINQMP."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if value is None or isinstance(value, bytes):
        return value or b""
    return struct.pack("<" + _LETTERS[type_], value)


def _order(letter: str, encoding: int) -> str:
    orders: dict[int, str] = _FLOAT_ORDERS if letter in "fd" else _INTEGER_ORDERS
    return orders.get(encoding & (0xF00 if letter in "fd" else 0x00F), "<")


def numbers_of(data: bytes) -> list[int]:
    """The numbers of an array of MQLONG."""
    return list(struct.unpack(f"<{len(data) // 4}i", data[: len(data) - len(data) % 4]))


def packed_numbers(numbers: Sequence[int]) -> bytes:
    """An array of MQLONG."""
    return struct.pack(f"<{len(numbers)}i", *numbers)


def padded_name(data: bytes) -> str:
    """A name in a field of a structure, as text."""
    return data.rstrip(b" \0").decode("utf-8", "replace")


# -- callbacks ---------------------------------------------------------------------------------------------------------

#: MQCBC of version 2, MQCBD and MQCTLO, without their pointers, which only the program's process can use.
_CBC: Final = struct.Struct("<4siii8x8xiiiiiii4x")
_CBD: Final = struct.Struct("<4siii8x8x128xi4x")
_CTLO: Final = struct.Struct("<4sii4x8x")


def packed_context(context: MQCBC, number: int) -> bytes:
    """The bytes of an MQCBC, whose Hobj is *number*."""
    return _CBC.pack(
        b"CBC ",
        context.version,
        context.call_type,
        number,
        context.comp_code,
        context.reason,
        context.state,
        context.data_length,
        context.buffer_length,
        context.flags,
        context.reconnect_delay,
    )


def callback_descriptor(data: bytes, function: Callback) -> MQCBD:
    """The MQCBD of these bytes, with *function* for the program's. Raises MQIError: 2444."""
    if len(data) < _CBD.size or data[:4] != b"CBD ":
        raise error_for(MQRC.CBD_ERROR, "MQCB", "", "it is no MQCBD")
    _, version, type_, options, length = _CBD.unpack_from(data)
    return MQCBD(version, type_, options, None, function, length)


def control_options(data: bytes) -> MQCTLO:
    """The MQCTLO of these bytes. Raises MQIError: 2445."""
    if len(data) < _CTLO.size or data[:4] != b"CTLO":
        raise error_for(MQRC.CTLO_ERROR, "MQCTL", "", "it is no MQCTLO")
    _, version, options = _CTLO.unpack_from(data)
    return MQCTLO(version, options)
