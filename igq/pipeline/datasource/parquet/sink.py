"""The sink of `format("igq.parquet")`: makes the files of a batch visible when Spark commits the batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from igq.pipeline.datasource.parquet.unfinished import UNFINISHED, finish
from igq.pipeline.errors import PipelineError


@dataclass
class Files(WriterCommitMessage):
    """The files of a partition."""

    paths: tuple[str, ...]


class ParquetStreamWriter(DataSourceStreamArrowWriter):
    """Moves files into their table."""

    def __init__(self, schema: StructType, *, overwrite: bool) -> None:
        if "file" not in schema.fieldNames():
            raise PipelineError("igq.parquet writes what a stream of igq.parquet reads: there is no column file")
        if overwrite:
            raise PipelineError("igq.parquet only adds files: use the output mode append")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Files:
        return Files(tuple(path for batch in iterator for path in batch.column("file").to_pylist()))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        del batchId
        by_stream = defaultdict(list)
        for message in messages:
            for path in map(Path, message.paths if isinstance(message, Files) else ()):
                if path.parent.parent.name != UNFINISHED:
                    raise PipelineError(f"file {path}: is not of a stream of igq.parquet")
                by_stream[path.parent].append(path)
        for files in by_stream.values():
            finish(sorted(files))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: if the batch is tried again, its files are replaced, else the next batch removes them."""
