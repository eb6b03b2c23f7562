"""Slices of a queue as Arrow batches of a size that suits Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from igq.pipeline.datasource.queue.columns import Columns
from sharedq.reading.queue import Slice

#: Most rows of a batch, and about how many bytes of records.
BATCH_ROWS, BATCH_BYTES = 20_000, 8 << 20


def batches(slices: Iterator[Slice], schema: pa.Schema, *, takes_properties: bool = False) -> Iterator[pa.RecordBatch]:
    """The batches of all slices. There is at least one, which may be empty.

    Args:
        takes_properties: message properties leave the data, and may be among the columns.
    """
    held: list[Slice] = []
    rows = size = 0
    for each in slices:
        held.append(each)
        rows, size = rows + len(each.records), size + sum(map(len, each.records))
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch(held, schema, takes_properties=takes_properties)
            held, rows, size = [], 0, 0
    # Make at least one batch: Spark compares the first one with the schema.
    yield batch(held, schema, takes_properties=takes_properties)


def batch(slices: Sequence[Slice], schema: pa.Schema, *, takes_properties: bool = False) -> pa.RecordBatch:
    """One batch of the messages of these slices."""
    if not slices:
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
    columns = Columns(slices, takes_properties=takes_properties)
    arrays = [columns.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
