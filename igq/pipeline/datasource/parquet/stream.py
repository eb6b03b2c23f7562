"""The reader of `format("igq.parquet")`: claims batches on the driver; the workers write their messages into files."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.parquet.sink import UNFINISHED
from igq.pipeline.datasource.queue.stream import OPTIONS, QueueStreamReader, UnitsPartition
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import PARQUET_FILES
from sharedq.objects.definitions.names import queue_of

PARQUET_OPTIONS = (*OPTIONS, "compression")
#: The codecs that a file may have; the first one is the default.
_CODECS = ("snappy", "zstd", "lz4", "gzip", "none")


class ParquetStreamReader(QueueStreamReader):
    """Claims batches on the driver, and writes their messages into files in the workers.

    Args:
        schema: the columns of the files.
    """

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        path = options.required("path", "the directory of the files, which the driver and all workers share")
        # The names . and .. would lead out of the directory, into the table.
        name = quote(options.text("stream"), safe="").replace(".", "%2E")
        self._directory = Path(local_path(path)) / UNFINISHED / name
        self._codec = options.text("compression", _CODECS[0]).lower()
        if self._codec not in _CODECS:
            raise PipelineError(f"compression={self._codec}: allowed: {', '.join(_CODECS)}")
        super().__init__(schema, options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, UnitsPartition)
        _, _, run, unit = partition.xid.decode().rsplit("/", 3)
        path = self._directory / f"{run}-{unit}.parquet"
        messages = self._write(path, super().read(partition))
        row = [str(path), queue_of(partition.units[0][0].queue), messages, path.stat().st_size]
        schema = to_arrow_schema(PARQUET_FILES, timezone="UTC")
        yield pa.RecordBatch.from_arrays([pa.array([value]) for value in row], schema=schema)

    def _write(self, path: Path, batches: Iterator[pa.RecordBatch]) -> int:
        """Write a file, which is on the disk afterwards, and return the number of its rows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Spark may try a task twice at the same time.
        attempt = path.with_suffix(f".{secrets.token_hex(4)}")
        rows, first = 0, next(batches)
        try:
            with attempt.open("wb") as file:
                with parquet.ParquetWriter(file, first.schema, compression=self._codec) as writer:
                    for batch in chain([first], batches):
                        writer.write_batch(batch)
                        rows += batch.num_rows
                file.flush()
                os.fsync(file.fileno())
            attempt.replace(path)
        finally:
            attempt.unlink(missing_ok=True)
        return rows


def local_path(text: str) -> str:
    """The directory of a path or of a ``file:`` URI.

    Raises:
        PipelineError: it is not absolute, or of a file system that is not mounted here.
    """
    if text.startswith("file:"):
        text = unquote(urlsplit(text).path)
    if not text.startswith("/"):
        raise PipelineError(f"path={text}: allowed: an absolute path, or file:///...; mount a remote directory")
    return text
