"""Columns of values as Arrow batches of the size that Spark works well with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

#: Rows handed to Spark at a time, and about how many bytes of data.
BATCH_ROWS, BATCH_BYTES = 20_000, 8 << 20


def batches(slices: Iterator[list[list[Any]]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of all slices; at least one, also of nothing."""
    columns: list[list[Any]] = [[] for _ in schema]
    at_data = schema.get_field_index("data")
    held_bytes = 0
    for values in slices:
        for column, more in zip(columns, values, strict=True):
            column.extend(more)
        held_bytes += sum(map(len, values[at_data])) if at_data >= 0 else 0
        if len(columns[0]) >= BATCH_ROWS or held_bytes >= BATCH_BYTES:
            yield batch(columns, schema)
            columns, held_bytes = [[] for _ in schema], 0
    # One at least: Spark compares the first one with the schema.
    yield batch(columns, schema)


def batch(columns: list[list[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """One batch, of a list of values for each column."""
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
