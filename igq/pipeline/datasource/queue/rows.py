"""Rows as messages: columns override fields of the descriptor, ``data`` is the body."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from typing import Any

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
)

from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import QUEUE
from sharedq.messages.context import default_appl_name, fill_in_context
from sharedq.messages.record import put_date_and_time
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD

#: Columns that describe a message's place or its state on the queue. They are not put.
NOT_PUT = (
    *("queue", "structure", "position", "message_id", "backout_count", "put_at", "destination", "length"),
    "data",
)
#: Columns that need SET_ALL_CONTEXT.
CONTEXT = (
    *("user_identifier", "accounting_token", "appl_identity_data", "appl_origin_data"),
    *("put_appl_type", "put_appl_name", "put_date", "put_time"),
)
_IDENTIFIERS = ("msg_id", "correl_id", "group_id")
_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
_TEXT_OR_BYTES = (StringType, BinaryType)

Message = tuple[MQMD, bytes]


def check_columns(schema: StructType) -> None:
    """Check that rows of *schema* can become messages.

    Raises:
        PipelineError: ``data`` is missing, a column is none of the queue's table, or has a type that does not fit.
    """
    types = {field.name: field.dataType for field in QUEUE.fields}
    if "data" not in schema.fieldNames():
        raise PipelineError("there is no column data: it is the body of the message")
    for field in schema.fields:
        if field.name not in types:
            raise PipelineError(f"there is no column {field.name} in a descriptor; allowed: {', '.join(types)}")
        if not _fits(field.dataType, types[field.name]) and (field.name not in NOT_PUT or field.name == "data"):
            expected = types[field.name].simpleString()
            raise PipelineError(f"column {field.name} is {field.dataType.simpleString()}, must be {expected}")


def has_context(schema: StructType) -> bool:
    """Whether a column sets the message context."""
    return any(name in CONTEXT for name in schema.fieldNames())


def messages(batch: pa.RecordBatch) -> Iterator[Message]:
    """The messages of an Arrow batch. A null leaves MQPUT's default in its field.

    Raises:
        PipelineError: a value does not fit its field.
    """
    if not batch.num_rows:
        return
    names = [name for name in batch.schema.names if name not in NOT_PUT]
    columns = {name: _converted(name, _narrowed(name, batch.column(name)).to_pylist()) for name in names}
    common, differing = MQMD(version=2), []
    if any(name in CONTEXT for name in names):
        # A field without a column has the value that it would have without SET_ALL_CONTEXT.
        fill_in_context(common, 0, default_appl_name())
        common.put_date, common.put_time = put_date_and_time(int(time.time() * 1000))
    for name, column in columns.items():
        # Rows usually differ in few fields.
        if column.count(column[0]) < len(column):
            differing.append((name, column))
        elif column[0] is not None:
            setattr(common, name, column[0])
    values = astuple(common)
    for row, body in enumerate(batch.column("data").to_pylist()):
        md = MQMD(*values)
        for name, column in differing:
            if column[row] is not None:
                setattr(md, name, column[row])
        if body is None:
            raise PipelineError("data is null in a row; give an empty string for an empty body")
        yield md, body.encode() if isinstance(body, str) else body


def _fits(given: DataType, wanted: DataType) -> bool:
    if isinstance(wanted, _WHOLE_NUMBERS):
        return isinstance(given, _WHOLE_NUMBERS)
    if isinstance(wanted, BinaryType):
        return isinstance(given, _TEXT_OR_BYTES)
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
