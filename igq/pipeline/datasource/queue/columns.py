"""Decodes thousands of stored messages at a time into columns. ``sharedq.messages.record`` decodes them one by one.

numpy computes the fields at known places for all records together. The descriptor's other fields (the *tail*, see
there) are decoded once for all messages with the same tail, which are most messages.
``docs/reference/key-space.md``, "A record", has the layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from igq.pipeline.datasource.queue.properties import as_json, as_texts
from sharedq.messages.record import (
    RECORD_CORREL_ID,
    RECORD_DESTINATION,
    RECORD_EXPIRY,
    RECORD_GROUP,
    RECORD_MSG_ID,
    RECORD_PERSISTENT,
    TAIL_FIELDS,
    decode_tail,
    put_date_and_time,
)
from sharedq.mqi.constants import Format
from sharedq.mqi.limits import MAX_EXPIRY, MAX_PRIORITY, NULL_ID, UNLIMITED_EXPIRY
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import queue_of
from sharedq.properties.headers import separated
from sharedq.reading.queue import Slice

if TYPE_CHECKING:
    from sharedq.properties.folders import Property

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_ID_LENGTH: Final = len(NULL_ID)
#: Bytes before a record's optional fields, which its flags name; and bytes of the put time.
_FRONT, _PUT_TIME = 5, 6
#: GroupId with the fields after it: MsgSeqNumber, Offset, MsgFlags, OriginalLength.
_GROUP_LENGTH = _ID_LENGTH + 16
_DAY_MS: Final = 86_400_000
#: The marks after the number in a message's id.
_MARKS: Final = re.compile(rb"\.\d+|x")


class Columns:
    """The columns of some slices. The slices have the same place and are not empty.

    Args:
        takes_properties: message properties are columns of their own, and leave the data. The records must be whole.
    """

    def __init__(self, slices: Sequence[Slice], *, takes_properties: bool = False) -> None:
        self._slices, self._takes_properties = slices, takes_properties
        self._place = slices[0].place
        self._records = list(chain.from_iterable(each.records for each in slices))
        self._count = len(self._records)

    def column(self, name: str) -> pa.Array:
        """The column *name* of ``igq.pipeline.schemas.QUEUE_AND_PROPERTIES``."""
        own = _OWN.get(name)
        found = own(self) if own else self._of_tail(name)
        if name not in _BESIDE_PROPERTIES or not self._apart:
            return found
        values = found.to_pylist()
        for row, message in self._apart.items():
            values[row] = _BESIDE_PROPERTIES[name](message)
        return pa.array(values, found.type)

    # -- records -----------------------------------------------------------------------------------------------------

    @cached_property
    def _bytes(self) -> Bytes:
        return np.frombuffer(b"".join(self._records), np.uint8)

    @cached_property
    def _record_lengths(self) -> Numbers:
        return np.fromiter(map(len, self._records), np.int64, self._count)

    @cached_property
    def _starts(self) -> Numbers:
        return np.cumsum(self._record_lengths) - self._record_lengths

    @cached_property
    def _flags(self) -> Numbers:
        return self._number_at(self._starts, 1)

    @cached_property
    def _head_lengths(self) -> Numbers:
        return self._number_at(self._starts + 3, 2)

    def _has(self, flag: int) -> npt.NDArray[np.bool_]:
        is_set: npt.NDArray[np.bool_] = (self._flags & flag) != 0
        return is_set

    @cached_property
    def _correl_id_at(self) -> Numbers:
        return self._starts + _FRONT + 8 * self._has(RECORD_EXPIRY)

    @cached_property
    def _msg_id_at(self) -> Numbers:
        return self._correl_id_at + _ID_LENGTH * self._has(RECORD_CORREL_ID)

    @cached_property
    def _group_at(self) -> Numbers:
        return self._msg_id_at + _ID_LENGTH * self._has(RECORD_MSG_ID)

    @cached_property
    def _destination_at(self) -> Numbers:
        return self._group_at + _GROUP_LENGTH * self._has(RECORD_GROUP)

    @cached_property
    def _put_time_at(self) -> Numbers:
        at, rows = self._destination_at.copy(), np.flatnonzero(self._has(RECORD_DESTINATION))
        at[rows] += 1 + self._bytes[at[rows]]
        return at

    def _number_at(self, at: Numbers, size: int) -> Numbers:
        """The unsigned integers of *size* bytes at these places."""
        number = self._bytes[at].astype(np.int64)
        for more in range(1, size):
            number = number << 8 | self._bytes[at + more]
        return number

    def _identifiers(self, at: Numbers, flag: int) -> pa.Array:
        """One identifier for each row; null if the flag is not set."""
        rows = np.flatnonzero(self._has(flag))
        if not len(rows):
            return pa.nulls(self._count, pa.binary())
        found = np.zeros((self._count, _ID_LENGTH), np.uint8)
        found[rows] = self._identifiers_of(rows, at)
        return _fixed(found)

    def _identifiers_of(self, rows: Numbers, at: Numbers) -> Bytes:
        found: Bytes = self._bytes[at[rows][:, None] + np.arange(_ID_LENGTH)]
        return found

    @cached_property
    def _matrix(self) -> Bytes | None:
        """One record in each row of a matrix, if all have the same length and layout, as is usual."""
        length, head = int(self._record_lengths[0]), int(self._head_lengths[0])
        is_even = (self._record_lengths == length).all() and (self._head_lengths == head).all()
        return self._bytes.reshape(self._count, length) if is_even else None

    # -- place and ids -----------------------------------------------------------------------------------------------

    @cached_property
    def _ids(self) -> bytes:
        return b" ".join(each.ids for each in self._slices)

    @cached_property
    def _numbers(self) -> Numbers:
        return _parsed(_MARKS.sub(b"", self._ids))

    def _message_ids(self) -> pa.Array:
        return pa.array(self._ids.split(), pa.string())

    def _positions(self) -> pa.Array:
        return pa.array(np.concatenate([_positions_of(each) for each in self._slices]))

    def _queues(self) -> pa.Array:
        return pa.repeat(queue_of(self._place.queue), self._count)

    def _structures(self) -> pa.Array:
        return pa.repeat(self._place.structure, self._count)

    # -- fields with a place of their own ----------------------------------------------------------------------------

    def _expiries(self) -> pa.Array:
        expiries, rows = np.full(self._count, UNLIMITED_EXPIRY), np.flatnonzero(self._has(RECORD_EXPIRY))
        if len(rows):
            now_ms = np.repeat([each.now_ms for each in self._slices], [len(each.records) for each in self._slices])
            left_ms = self._number_at(self._starts[rows] + _FRONT, 8) - now_ms[rows]
            # Tenths of a second, rounded up; at least one, and at most the largest value of the field.
            expiries[rows] = np.clip(-(-left_ms // 100), 1, MAX_EXPIRY)
        return pa.array(expiries)

    def _priorities(self) -> pa.Array:
        found = self._number_at(self._starts + 1, 1)
        if (found == MAX_PRIORITY).any():
            # A message with a higher priority has this place, and its tail has the number.
            found = np.maximum(found, np.array(self._tail_values("priority"))[self._tail_codes])
        return pa.array(found)

    def _msg_ids(self) -> pa.Array:
        is_given = self._has(RECORD_MSG_ID)
        given, generated = np.flatnonzero(is_given), np.flatnonzero(~is_given)
        ids = np.empty((self._count, _ID_LENGTH), np.uint8)
        ids[given] = self._identifiers_of(given, self._msg_id_at)
        prefixes = np.frombuffer(b"".join(self._tail_values(0)), np.uint8).reshape(-1, 16)
        ids[generated, :16] = prefixes[self._tail_codes[generated]]
        ids[generated, 16:18] = np.frombuffer(self._place.number.to_bytes(2, "big"), np.uint8)
        ids[generated, 18:] = self._numbers[generated].astype(">i8").view(np.uint8).reshape(-1, 8)[:, 2:]
        return _fixed(ids)

    def _group_number(self, name: str, offset: int) -> pa.Array:
        """A field that follows the GroupId. In a record without a GroupId the tail has it."""
        numbers = np.array(self._tail_values(name), np.int64)[self._tail_codes]
        rows = np.flatnonzero(self._has(RECORD_GROUP))
        if len(rows):
            given = self._number_at(self._group_at[rows] + _ID_LENGTH + offset, 4)
            numbers[rows] = given.astype(np.uint32).view(np.int32)
        return pa.array(numbers)

    def _destinations(self) -> pa.Array:
        rows = np.flatnonzero(self._has(RECORD_DESTINATION))
        if not len(rows):
            return pa.nulls(self._count, pa.string())
        found: list[str | None] = [None] * self._count
        within = (self._destination_at - self._starts)[rows]
        for row, at in zip(rows.tolist(), within.tolist(), strict=True):
            record = self._records[row]
            found[row] = record[at + 1 : at + 1 + record[at]].decode("latin-1")
        return pa.array(found, pa.string())

    # -- put time ----------------------------------------------------------------------------------------------------

    @cached_property
    def _put_ms(self) -> Numbers:
        return self._number_at(self._put_time_at, _PUT_TIME)

    def _put_at(self) -> pa.Array:
        return pa.array(self._put_ms * 1000, mask=self._put_ms == 0).cast(pa.timestamp("us", "UTC"))

    def _put_dates(self) -> pa.Array:
        days, codes = np.unique(self._put_ms // _DAY_MS, return_inverse=True)
        texts = [put_date_and_time(day * _DAY_MS)[0].decode() for day in days.tolist()]
        return self._where_given("put_date", pa.array(texts, pa.string()).take(pa.array(codes)))

    def _put_times(self) -> pa.Array:
        hundredths = self._put_ms % _DAY_MS // 10
        pairs = [hundredths // 360_000, hundredths // 6_000 % 60, hundredths // 100 % 60, hundredths % 100]
        digits = np.stack([digit for pair in pairs for digit in (pair // 10, pair % 10)], axis=1)
        return self._where_given("put_time", _even((digits + ord("0")).astype(np.uint8), pa.string()))

    def _where_given(self, name: str, computed: pa.Array) -> pa.Array:
        """The stored put time as text; from the tail if the program set an invalid one."""
        is_time = self._put_ms > 0
        return computed if is_time.all() else pc.if_else(pa.array(is_time), computed, self._of_tail(name))

    # -- tail and data -----------------------------------------------------------------------------------------------

    @cached_property
    def _tails(self) -> pa.DictionaryArray:
        begins = self._put_time_at - self._starts + _PUT_TIME
        begin, end = int(begins[0]), int(self._head_lengths[0])
        if self._matrix is not None and (begins == begin).all():
            tails = self._matrix[:, begin:end]
            if (tails == tails[0]).all():
                codes = pa.array(np.zeros(self._count, np.int32))
                return pa.DictionaryArray.from_arrays(codes, pa.array([tails[0].tobytes()], pa.binary()))
        parts = zip(self._records, begins.tolist(), self._head_lengths.tolist(), strict=True)
        return pa.array([record[begin:end] for record, begin, end in parts], pa.binary()).dictionary_encode()

    @cached_property
    def _tail_codes(self) -> Numbers:
        codes: Numbers = self._tails.indices.to_numpy()
        return codes

    @cached_property
    def _decoded_tails(self) -> list[tuple[Any, ...]]:
        return [decode_tail(tail) for tail in self._tails.dictionary.to_pylist()]

    def _tail_values(self, field: str | int) -> list[Any]:
        """The distinct values of a field of the tail; 0 stands for the beginning of generated MsgIds."""
        at = 1 + TAIL_FIELDS.index(field) if isinstance(field, str) else field
        return [values[at] for values in self._decoded_tails]

    def _of_tail(self, name: str) -> pa.Array:
        values = self._tail_values(name)
        if isinstance(values[0], bytes) and name != "accounting_token":
            # Latin-1 keeps every byte, whatever the character set. Names are ASCII.
            values = [value.decode("latin-1") for value in values]
        return pa.repeat(values[0], self._count) if len(values) == 1 else pa.array(values).take(self._tails.indices)

    def _lengths(self) -> pa.Array:
        if self._slices[0].lengths:
            return pa.array(_parsed(b" ".join(each.lengths for each in self._slices)))
        return pa.array(self._record_lengths - self._head_lengths)

    def _data(self) -> pa.Array:
        if self._matrix is not None:
            return _even(self._matrix[:, int(self._head_lengths[0]) :], pa.binary())
        parts = zip(self._records, self._head_lengths.tolist(), strict=True)
        return pa.array([record[head:] for record, head in parts], pa.binary())

    # -- properties --------------------------------------------------------------------------------------------------

    @cached_property
    def _apart(self) -> dict[int, _Apart]:
        """The messages that may have properties, by row, without these. Most messages have no MQRFH2."""
        if not self._takes_properties:
            return {}
        formats = [each.rstrip(b" \0") == Format.RF_HEADER_2 for each in self._tail_values("format")]
        rows = np.flatnonzero(np.array(formats)[self._tail_codes])
        at = [1 + TAIL_FIELDS.index(name) for name in ("encoding", "coded_char_set_id", "format")]
        found: dict[int, _Apart] = {}
        for row in rows.tolist():
            values = self._decoded_tails[self._tail_codes[row]]
            encoding, ccsid, name = (values[each] for each in at)
            md = MQMD(encoding=encoding, coded_char_set_id=ccsid, format=name)
            properties, data = separated(md, self._records[row][self._head_lengths[row] :])
            found[row] = _Apart(md, properties, data)
        return found

    def _properties(self, shown: Callable[[Iterable[Property]], Any], kind: pa.DataType) -> pa.Array:
        none = shown(())
        values = [none] * self._count
        for row, message in self._apart.items():
            values[row] = shown(message.properties)
        return pa.array(values, kind)


class _Apart(NamedTuple):
    """A message without its properties: the fields that describe its data, the properties, the data."""

    md: MQMD
    properties: list[Property]
    data: bytes


#: Columns about the data: what they are when properties have left the message.
_BESIDE_PROPERTIES: Final[dict[str, Callable[[_Apart], Any]]] = {
    "data": lambda message: message.data,
    "length": lambda message: len(message.data),
    "format": lambda message: message.md.format.rstrip(b" \0").decode("latin-1"),
    "encoding": lambda message: message.md.encoding,
    "coded_char_set_id": lambda message: message.md.coded_char_set_id,
}
_OWN: Final[dict[str, Callable[[Columns], pa.Array]]] = {
    "queue": Columns._queues,
    "structure": Columns._structures,
    "position": Columns._positions,
    "message_id": Columns._message_ids,
    "expiry": Columns._expiries,
    "priority": Columns._priorities,
    "persistence": lambda columns: pa.array(columns._flags & RECORD_PERSISTENT),
    "msg_id": Columns._msg_ids,
    "correl_id": lambda columns: columns._identifiers(columns._correl_id_at, RECORD_CORREL_ID),
    "backout_count": lambda columns: pa.array(columns._number_at(columns._starts + 2, 1)),
    "put_date": Columns._put_dates,
    "put_time": Columns._put_times,
    "group_id": lambda columns: columns._identifiers(columns._group_at, RECORD_GROUP),
    "msg_seq_number": lambda columns: columns._group_number("msg_seq_number", 0),
    "offset": lambda columns: columns._group_number("offset", 4),
    "msg_flags": lambda columns: columns._group_number("msg_flags", 8),
    "original_length": lambda columns: columns._group_number("original_length", 12),
    "put_at": Columns._put_at,
    "destination": Columns._destinations,
    "length": Columns._lengths,
    "data": Columns._data,
    "properties": lambda columns: columns._properties(as_texts, pa.map_(pa.string(), pa.string())),
    "properties_json": lambda columns: columns._properties(as_json, pa.string()),
}


def _parsed(text: bytes) -> Numbers:
    return np.fromstring(text.decode(), np.int64, sep=" ")


def _positions_of(each: Slice) -> Numbers:
    found = _parsed(each.positions)
    return found if len(found) == len(each.records) else found[0] + np.arange(len(each.records))


def _fixed(rows: Bytes) -> pa.Array:
    """Identifiers; null for those that are all zeros."""
    words = rows.view(np.uint64)
    is_there = (words[:, 0] | words[:, 1] | words[:, 2]) != 0
    return _even(rows, pa.binary(), pa.py_buffer(np.packbits(is_there, bitorder="little")))


def _even(rows: Bytes, kind: pa.DataType, is_there: pa.Buffer | None = None) -> pa.Array:
    """Texts or binary values of one length, one for each row."""
    count, width = rows.shape
    offsets = np.arange(0, count * width + 1, width, dtype=np.int32) if width else np.zeros(count + 1, np.int32)
    buffers = [is_there, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.Array.from_buffers(kind, count, buffers)
