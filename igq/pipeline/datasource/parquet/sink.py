"""The sink of `format("igq.parquet")`: makes the files of a batch visible when Spark commits the batch.

Until then they are unfinished:

    PATH/                       the table: one file for each partition of each batch
    PATH/_igq_unfinished/NAME/  of the stream NAME: files that its workers have written, and ``batch.json``

Readers of Parquet pass over names that begin with an underscore.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from igq.pipeline.errors import PipelineError

#: The directory within that of the table.
UNFINISHED = "_igq_unfinished"
#: The names of the files of the batch that is moved, or was moved last.
_BATCH = "batch.json"


def finish(files: Sequence[Path]) -> None:
    """Move the files of one batch of one stream into the table. It may be repeated, also after a half-done call.

    A batch that is repeated with another number of rows in a partition has other files. Those of the try before, which
    hold the same messages, leave the table.

    Raises:
        PipelineError: a file is neither there nor in the table, or cannot be moved.
    """
    directory = files[0].parent
    table, names = directory.parents[1], [path.name for path in files]
    try:
        former = _read(directory / _BATCH)
        if former and _run_of(former[0]) == _run_of(names[0]):
            for name in {*former} - {*names}:
                (table / name).unlink(missing_ok=True)
        _note(directory / _BATCH, names)
        for path in files:
            _move(path, table / path.name)
        _sync(table)
        for left in directory.iterdir():
            # Of a batch that went back to the queue, or of a task that was tried again.
            if left.name != _BATCH:
                left.unlink(missing_ok=True)
    except OSError as error:
        raise PipelineError(f"{error.filename or table}: {error.strerror or error}") from None


def _move(path: Path, place: Path) -> None:
    try:
        path.replace(place)
    except FileNotFoundError:
        if not place.exists():
            raise PipelineError(f"{path}: is not there: the driver and all workers must share {place.parent}") from None


def _run_of(name: str) -> str:
    """The part of a file's name that all files of a batch have in common."""
    return name.partition("-")[0]


def _read(path: Path) -> list[str]:
    try:
        found: list[str] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return found


def _note(path: Path, names: Sequence[str]) -> None:
    """Write the names to the disk before any file is moved, so that a repeated batch knows which files to remove."""
    new = path.with_suffix(".new")
    with new.open("w", encoding="utf-8") as file:
        json.dump(names, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync(path.parent)


def _sync(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


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
