"""Decodes thousands of journal entries at a time into columns. ``sharedq.reading.journal.expand`` decodes one.

Values that all messages of an entry share are made once and repeated. The part of a put about each message is
comma-separated text, so Arrow's own parser reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from sharedq.messages.record import DEAD_LETTER, PERSISTENT
from sharedq.objects.definitions.names import PART_SEPARATOR
from sharedq.reading.journal import EVENTS, LOGICAL, JournalEntry, JournalError, expand, generated_msg_id_prefix

#: Rows in a batch for Spark.
BATCH_ROWS = 20_000
_MARKS: Final = re.compile(rb"\.\d+|x")
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_EVENTS: Final = frozenset(event.encode() for event in EVENTS)
#: The fields of a message in a put's entry, in order.
_DETAILS: Final = {
    "msg_id": pa.string(),
    "correl_id": pa.string(),
    "group_id": pa.string(),
    "msg_seq_number": pa.int64(),
    "length": pa.int64(),
    "marks": pa.int64(),
    "priority": pa.int64(),
}
_PARSED: Final = csv.ConvertOptions(column_types=_DETAILS, null_values=[""], strings_can_be_null=True)
_LINES: Final = csv.ParseOptions(quote_char=False, newlines_in_values=False, ignore_empty_lines=False)

Numbers = npt.NDArray[np.int64]


def journal_batches(
    entries: Iterable[JournalEntry], structure: str, structure_number: int, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of all entries of one structure in batches; at least one batch, also without entries.

    Raises:
        JournalError: an entry is not in the journal's format.
    """
    held: list[JournalEntry] = []
    rows = 0
    for entry in entries:
        held.append(entry)
        rows += 1 + entry.fields.get(b"i", b"").count(b" ")
        if rows >= BATCH_ROWS:
            yield journal_batch(held, structure, structure_number, schema)
            held, rows = [], 0
    # Make at least one batch: Spark compares the first one with the schema.
    yield journal_batch(held, structure, structure_number, schema)


def journal_batch(
    entries: Sequence[JournalEntry], structure: str, structure_number: int, schema: pa.Schema
) -> pa.RecordBatch:
    """The rows of some entries of one structure: one for each message, or one for the end of a unit of work.

    Raises:
        JournalError: an entry is not in the journal's format.
    """
    if not entries:
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
    try:
        columns = _columns(entries, structure, structure_number)
        return pa.RecordBatch.from_arrays([columns[field.name].cast(field.type) for field in schema], schema=schema)
    except (KeyError, ValueError, IndexError, OverflowError) as error:
        for entry in entries:
            # Find the entry that is wrong.
            expand(entry, structure, structure_number)
        raise JournalError(f"journal of {structure}: an entry is not in the format ({error})") from error


def _columns(entries: Sequence[JournalEntry], structure: str, structure_number: int) -> dict[str, pa.Array]:
    fields = [entry.fields for entry in entries]
    ids = [each.get(b"i", b"").split() for each in fields]
    events = [each[b"e"] for each in fields]
    unknown = set(events) - _EVENTS
    if unknown:
        raise ValueError(f"unknown event {unknown.pop()!r}")
    owners = [each[b"o"] for each in fields]
    qmgrs = [owner.partition(b".")[0] for owner in owners]
    # The end of a unit of work is a row without a message.
    counts = np.array([max(1, len(each)) for each in ids])
    rows = len(entries), int(counts.sum())
    entry_of = np.repeat(np.arange(rows[0]), counts)
    begins = np.cumsum(counts) - counts

    def of_entries(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind).take(pa.array(entry_of))

    def texts(name: bytes) -> pa.Array:
        return of_entries([each.get(name) or None for each in fields], pa.string())

    has_message = np.repeat([bool(each) for each in ids], counts)
    message_ids = list(chain.from_iterable(ids))
    numbers = np.zeros(rows[1], np.int64)
    numbers[has_message] = np.fromstring(_MARKS.sub(b"", b" ".join(message_ids)).decode(), np.int64, sep=" ")
    columns = {
        "event": of_entries(events, pa.string()),
        "time": of_entries(
            [int(entry.stream_id.partition("-")[0]) * 1000 for entry in entries], pa.timestamp("us", "UTC")
        ),
        "stream_id": of_entries([entry.stream_id for entry in entries], pa.string()),
        "position": pa.array(np.arange(rows[1]) - begins[entry_of]),
        "structure": pa.repeat(structure, rows[1]),
        "qmgr": of_entries(qmgrs, pa.string()),
        "owner": of_entries(owners, pa.string()),
        "queue": _queues_of(texts(b"q")),
        "target_queue": texts(b"t"),
        "unit_of_work": texts(b"u"),
        "message_number": pa.array(numbers, mask=~has_message),
        "message_id": _spread(pa.array(message_ids, pa.string()), has_message),
        "recovered": of_entries([each.get(b"r") == b"1" for each in fields], pa.bool_()),
        "messages": of_entries(
            [int(each.get(b"n") or len(some)) for each, some in zip(fields, ids, strict=True)], pa.int64()
        ),
        "chosen": of_entries([b"c" in each for each in fields], pa.bool_()),
        "logical": of_entries([each.get(b"c") == LOGICAL for each in fields], pa.bool_()),
    }
    is_put = np.repeat([bool(some) and event == b"put" for event, some in zip(events, ids, strict=True)], counts)
    details = _details([(each[b"d"], len(some)) for each, some in _puts(fields, ids)])
    prefixes = {name: generated_msg_id_prefix(name.decode(), structure_number).encode() for name in set(qmgrs)}
    put_entries = entry_of[is_put]
    generated = _generated([prefixes[name] for name in qmgrs], put_entries, numbers[is_put])
    details["msg_id"] = pc.coalesce(pc.utf8_lower(details["msg_id"]), generated)
    columns |= {name: _spread(values, is_put) for name, values in details.items()}
    columns["dead_letter"] = pc.fill_null(columns["dead_letter"], False)
    return columns


def _puts(
    fields: Sequence[Mapping[bytes, bytes]], ids: Sequence[list[bytes]]
) -> list[tuple[Mapping[bytes, bytes], list[bytes]]]:
    return [(each, some) for each, some in zip(fields, ids, strict=True) if some and each[b"e"] == b"put"]


def _details(texts: Sequence[tuple[bytes, int]]) -> dict[str, pa.Array]:
    """The lines of puts about their messages. Each text has its expected number of lines."""
    for text, count in texts:
        lines = text.count(b"\n") + 1
        if lines != count:
            raise ValueError(f"{count} messages, {lines} descriptions")
    if not texts:
        found = {name: pa.array([], kind) for name, kind in _DETAILS.items()}
    else:
        source = pa.BufferReader(b"\n".join(text for text, _ in texts))
        names = csv.ReadOptions(column_names=list(_DETAILS), block_size=1 << 30, use_threads=False)
        table = csv.read_csv(source, names, _LINES, _PARSED)
        found = {name: table[name].combine_chunks() for name in _DETAILS}
    found["correl_id"], found["group_id"] = (pc.utf8_lower(found[name]) for name in ("correl_id", "group_id"))
    marks = found.pop("marks")
    found["persistent"], found["dead_letter"] = (
        pc.not_equal(pc.bit_wise_and(marks, mark), 0) for mark in (PERSISTENT, DEAD_LETTER)
    )
    return found


def _generated(prefixes: Sequence[bytes], entry_of: Numbers, numbers: Numbers) -> pa.Array:
    """MsgIds that igq generates, hexadecimal: a prefix for each entry, followed by a message number."""
    begins = np.frombuffer(b"".join(prefixes), np.uint8).reshape(len(prefixes), -1)[entry_of]
    ends = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)[:, 2:]
    digits = np.stack([_HEX[ends >> 4], _HEX[ends & 15]], axis=2).reshape(len(numbers), 12)
    rows = np.ascontiguousarray(np.hstack([begins, digits]))
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(rows)])


def _queues_of(names: pa.Array) -> pa.Array:
    """The users' names of these queues (``sharedq.objects.definitions.names.queue_of``)."""
    if not pc.any(pc.match_substring(names, PART_SEPARATOR)).as_py():
        return names
    return pc.replace_substring_regex(names, f"{PART_SEPARATOR}.*", "")


def _spread(values: pa.Array, is_there: npt.NDArray[np.bool_]) -> pa.Array:
    """A column with the values in the rows that have one, and nulls in the others."""
    places = np.cumsum(is_there) - 1
    return values.take(pa.array(places, mask=~is_there))
