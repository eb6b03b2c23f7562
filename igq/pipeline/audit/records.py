"""Reads the JSON lines of a run's directory: the demands of the input rows, and the records of both sides' programs.

A killed program may leave an unfinished last line in its file, which is skipped. The file of demands is written by a
program that is never killed: every line of it counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from igq.pipeline.audit.runs import check_run, losses_of, read_timeline
from igq.pipeline.engine.frames import DataFrame, F, SparkSession, count_lines, rows_of_files
from igq.pipeline.errors import PipelineError
from igq.pipeline.history.lost_structures import LostStructure
from igq.pipeline.schemas import EXPECTED, JOURNAL, RECEIVED, SENT
from sharedq.reading.journal import position_order


@dataclass(frozen=True, slots=True)
class RunRecords:
    """A run's records. `received` has an additional column ``consumer``: the file that a row comes from."""

    expected: DataFrame
    sent: DataFrame
    received: DataFrame
    timeline: list[Mapping[str, Any]]
    losses: tuple[LostStructure, ...] = ()


def read_run(spark: SparkSession, directory: Path) -> RunRecords:
    """The records in *directory*. A kind without files is an empty table.

    Raises:
        PipelineError: it is no directory, has no expected.jsonl, or lines of that file cannot be read.
    """
    check_run(directory)
    expected = _read(spark, directory, "expected.jsonl", EXPECTED)
    check_lines(spark, directory / "expected.jsonl", expected)
    return RunRecords(
        expected=expected,
        sent=_read(spark, directory, "sent-*.jsonl", SENT),
        received=_read(spark, directory, "received-*.jsonl", RECEIVED),
        timeline=read_timeline(directory / "timeline.jsonl"),
        losses=tuple(_losses(spark, directory)),
    )


def _losses(spark: SparkSession, directory: Path) -> Iterator[LostStructure]:
    """Each structure that the run has lost, with its journal until then."""
    for told in losses_of(directory):
        structure, backup = str(told["structure"]), position_order(str(told["backup"]), is_end=False)
        path = directory / f"lost-{structure}.jsonl"
        events = rows_of_files(spark, [path], JOURNAL).drop("file")
        check_lines(spark, path, events.where(F.col("event").isNotNull() & F.col("stream_id").isNotNull()))
        yield LostStructure(structure, backup, events)


def check_lines(spark: SparkSession, path: Path, table: DataFrame) -> None:
    """Check that a file has lines and each is a row of *table*: the audit cannot notice a demand that it did not read.

    Raises:
        PipelineError: the file is empty, or lines cannot be read.
    """
    lines, rows = count_lines(spark, path), table.count()
    if rows < lines:
        raise PipelineError(f"{path}: {lines - rows} of {lines} lines cannot be read")
    if not lines:
        raise PipelineError(f"{path}: is empty")


def _read(spark: SparkSession, directory: Path, pattern: str, schema: StructType) -> DataFrame:
    return (
        rows_of_files(spark, sorted(directory.glob(pattern)), schema)
        .withColumnRenamed("file", "consumer")
        .where(F.col("correl").isNotNull() & F.col("path").isNotNull())
        .withColumn("correl", F.lower("correl"))
    )
