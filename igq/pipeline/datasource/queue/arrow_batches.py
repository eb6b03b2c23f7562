"""Slices of a queue as Arrow batches of a size that suits Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from igq.pipeline.datasource.queue.columns import Columns
from sharedq.reading.queue import Slice

#: Most rows of a batch, and about how many bytes of records.
BATCH_ROWS, BATCH_BYTES = 20_000, 8 << 20


def batches(slices: Iterator[Slice], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of all slices. There is at least one, which may be empty."""
    held: list[Slice] = []
    rows = size = 0
    for each in slices:
        held.append(each)
        rows, size = rows + len(each.records), size + sum(map(len, each.records))
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch(held, schema)
            held, rows, size = [], 0, 0
    # Make at least one batch: Spark compares the first one with the schema.
    yield batch(held, schema)


def batch(slices: Sequence[Slice], schema: pa.Schema) -> pa.RecordBatch:
    """One batch of the messages of these slices."""
    if not slices:
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
    columns = Columns(slices)
    arrays = [columns.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
