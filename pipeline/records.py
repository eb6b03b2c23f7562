"""Reads a run directory: what the input rows demand, and what the programs on both sides saw, as JSON lines.

A line that a killed program did not finish is skipped; it can only be the last one of its file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import StructType

from pipeline.errors import PipelineError
from pipeline.schemas import EXPECTED, RECEIVED, SENT


@dataclass(frozen=True, slots=True)
class RunRecords:
    """A run's records. `received` has a column ``consumer`` more than its schema: the file it came from."""

    expected: DataFrame
    sent: DataFrame
    received: DataFrame
    timeline: list[Mapping[str, Any]]


def read_run(spark: SparkSession, directory: Path) -> RunRecords:
    """The records in *directory*; a kind of which there is no file is an empty table.

    Raises:
        PipelineError: it is no directory, or has no expected.jsonl.
    """
    if not directory.is_dir():
        raise PipelineError(f"run directory {directory}: no such directory")
    if not (directory / "expected.jsonl").is_file():
        raise PipelineError(f"run directory {directory}: has no expected.jsonl, the list of what must arrive")
    return RunRecords(
        expected=_read(spark, directory, "expected.jsonl", EXPECTED),
        sent=_read(spark, directory, "sent-*.jsonl", SENT),
        received=_read(spark, directory, "received-*.jsonl", RECEIVED),
        timeline=read_timeline(directory / "timeline.jsonl"),
    )


def read_timeline(path: Path) -> list[Mapping[str, Any]]:
    """What happened to the managers, in order of time: some dozens of events; empty without the file."""
    if not path.is_file():
        return []
    events: list[Mapping[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict) and "t_ms" in event and "event" in event:
            events.append(event)
    return sorted(events, key=lambda event: int(event["t_ms"]))


def _read(spark: SparkSession, directory: Path, pattern: str, schema: StructType) -> DataFrame:
    files = [str(path) for path in sorted(directory.glob(pattern))]
    # Spark refuses a pattern without files, but a program that was killed early leaves none.
    table = spark.read.schema(schema).json(files) if files else spark.createDataFrame([], schema)
    return (
        table.withColumn("consumer", F.input_file_name())
        .where(F.col("correl").isNotNull() & F.col("path").isNotNull())
        .withColumn("correl", F.lower("correl"))
    )
