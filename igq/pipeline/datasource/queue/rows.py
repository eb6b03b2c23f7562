"""Rows as messages: columns override fields of the descriptor, ``data`` is the body, ``properties`` are properties.

The columns ``queue`` and ``qmgr`` name the queue of a row. In a table of messages that were read (it has the column
``message_id``) ``queue`` is the queue that a message was on. It counts there only without the option ``queue``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import fields
from itertools import repeat
from typing import Any

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from igq.pipeline.datasource.queue.properties import TEXTS, TYPED, with_properties
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import QUEUE_AND_PROPERTIES
from sharedq.messages.context import default_appl_name, fill_in_context
from sharedq.messages.record import put_date_and_time
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD

#: Columns that describe a message's place or its state on the queue. They are not put.
NOT_PUT = (
    *("queue", "structure", "position", "message_id", "backout_count", "put_at", "destination", "length"),
    *("qmgr", "properties", "properties_json", "data"),
)
#: Columns that are not of the descriptor, and count.
_BESIDE = ("queue", "qmgr", "properties", "properties_json", "data")
#: Columns that need SET_ALL_CONTEXT.
CONTEXT = (
    *("user_identifier", "accounting_token", "appl_identity_data", "appl_origin_data"),
    *("put_appl_type", "put_appl_name", "put_date", "put_time"),
)
_FIELDS = tuple(field.name for field in fields(MQMD))
_IDENTIFIERS = ("msg_id", "correl_id", "group_id")
_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
_TEXT_OR_BYTES = (StringType, BinaryType)

Message = tuple[MQMD, bytes]
#: The name of a queue, and of its manager if that is not the one connected to.
Target = tuple[str, str]


def check_columns(schema: StructType) -> None:
    """Check that rows of *schema* can become messages.

    Raises:
        PipelineError: ``data`` is missing, a column is none of the queue's table, or has a type that does not fit.
    """
    types = {field.name: field.dataType for field in QUEUE_AND_PROPERTIES.fields} | {"qmgr": StringType()}
    if "data" not in schema.fieldNames():
        raise PipelineError("there is no column data: it is the body of the message")
    for field in schema.fields:
        if field.name not in types:
            raise PipelineError(f"there is no column {field.name} in a descriptor; allowed: {', '.join(types)}")
        if not _fits(field.dataType, types[field.name]) and (field.name not in NOT_PUT or field.name in _BESIDE):
            expected = types[field.name].simpleString()
            raise PipelineError(f"column {field.name} is {field.dataType.simpleString()}, must be {expected}")


def has_context(schema: StructType) -> bool:
    """Whether a column sets the message context."""
    return any(name in CONTEXT for name in schema.fieldNames())


def names_queues(columns: Collection[str], queue: str) -> bool:
    """Whether the column ``queue`` says where a row goes. *queue*: the option."""
    return "queue" in columns and not (queue and "message_id" in columns)


def by_target(batch: pa.RecordBatch, queue: str) -> Iterator[tuple[Target, pa.RecordBatch]]:
    """The rows of each queue, in their order. A null means *queue*, or the manager that is connected to.

    Raises:
        PipelineError: a row names no queue, and *queue* is empty.
    """
    names = batch.schema.names
    has_queues = names_queues(names, queue)
    if not (has_queues or "qmgr" in names):
        yield (queue, ""), batch
        return
    none = [None] * batch.num_rows
    queues = batch.column("queue").to_pylist() if has_queues else none
    managers = batch.column("qmgr").to_pylist() if "qmgr" in names else none
    if not queue and None in queues:
        raise PipelineError("queue is null in a row, and the option queue is missing")
    found: dict[Target, list[int]] = {}
    for row, (name, manager) in enumerate(zip(queues, managers, strict=True)):
        found.setdefault((name or queue, manager or ""), []).append(row)
    for target, rows in found.items():
        yield target, batch if len(found) == 1 else batch.take(pa.array(rows))


def messages(batch: pa.RecordBatch) -> Iterator[Message]:
    """The messages of an Arrow batch for one queue. A null leaves MQPUT's default in its field.

    Messages without properties share a descriptor if no field of theirs differs.

    Raises:
        PipelineError: a value does not fit its field.
        MQIError: 2442 no property may have a name, ...
    """
    if not batch.num_rows:
        return
    names = [name for name in batch.schema.names if name not in NOT_PUT]
    columns = {name: _converted(name, _narrowed(name, batch.column(name)).to_pylist()) for name in names}
    common = MQMD(version=2)
    if any(name in CONTEXT for name in names):
        # A field without a column has the value that it would have without SET_ALL_CONTEXT.
        fill_in_context(common, 0, default_appl_name())
        common.put_date, common.put_time = put_date_and_time(int(time.time() * 1000))
    values: dict[str, Iterable[Any]] = {name: repeat(getattr(common, name)) for name in _FIELDS}
    has_properties = TEXTS in batch.schema.names or TYPED in batch.schema.names
    is_shared = not has_properties
    for name, given in columns.items():
        default = getattr(common, name)
        column = [default if value is None else value for value in given] if None in given else given
        # Rows usually differ in few fields.
        if column.count(column[0]) < len(column):
            values[name], is_shared = column, False
        else:
            values[name] = repeat(column[0])
    data = batch.column("data")
    if data.null_count:
        raise PipelineError("data is null in a row; give an empty string for an empty body")
    bodies = (data.cast(pa.binary()) if pa.types.is_string(data.type) else data).to_pylist()
    mds = map(MQMD, *values.values())
    found = zip(repeat(next(mds)) if is_shared else mds, bodies, strict=False)
    if not has_properties:
        yield from found
        return
    none = [None] * batch.num_rows
    texts, typed = (batch.column(name).to_pylist() if name in batch.schema.names else none for name in (TEXTS, TYPED))
    for (md, body), its_texts, its_typed in zip(found, texts, typed, strict=True):
        yield with_properties(md, body, its_texts, its_typed)


def _fits(given: DataType, wanted: DataType) -> bool:
    if isinstance(wanted, _WHOLE_NUMBERS):
        return isinstance(given, _WHOLE_NUMBERS)
    if isinstance(wanted, BinaryType):
        return isinstance(given, _TEXT_OR_BYTES)
    if isinstance(wanted, MapType):
        if not isinstance(given, MapType):
            return False
        return isinstance(given.keyType, StringType) and isinstance(given.valueType, StringType)
    return type(given) is type(wanted)


def _narrowed(name: str, column: pa.Array) -> pa.Array:
    """Check that numbers fit an MQLONG: a table may have larger ones."""
    if not pa.types.is_int64(column.type):
        return column
    try:
        return column.cast(pa.int32())
    except pa.ArrowInvalid:
        raise PipelineError(f"{name} has a number in a row that does not fit into 32 bits") from None


def _converted(name: str, values: list[Any]) -> list[Any]:
    default = getattr(MQMD(), name)
    if not isinstance(default, bytes):
        return values
    convert = _identifier if name in _IDENTIFIERS else _token if name == "accounting_token" else _characters
    return [None if value is None else convert(name, value) for value in values]


def _bytes_of(length: int) -> Callable[[str, Any], bytes]:
    def fixed(name: str, value: Any) -> bytes:
        given: bytes = value.encode() if isinstance(value, str) else value
        if len(given) > length:
            raise PipelineError(f"{name} has {len(given)} bytes in a row, at most {length} fit")
        return given.ljust(length, b"\0")

    return fixed


_identifier, _token = _bytes_of(len(NULL_ID)), _bytes_of(32)


def _characters(name: str, value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise PipelineError(f"{name} has a character in a row that is not in ISO 8859-1: {value!r}") from None
