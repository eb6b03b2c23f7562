"""The deadletter job: counts dead letters by reason, destination and source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import to_arrow_schema

from igq.pipeline.history.time_range import Moments, is_between
from igq.pipeline.schemas import DEAD_LETTER_SUMMARY, DEAD_LETTERS, as_table
from sharedq.messages.dead_letter import HEADER_LENGTH, died_at, header_of, reason_name

#: Columns of a queue, or of an archive, that the job reads.
COLUMNS = (
    *("structure", "position", "message_id", "put_appl_name", "put_at", "msg_id", "correl_id", "length", "data"),
    "format",
)
_FORMAT = "MQDEAD"
#: The most values of a column that are shown if no message fits the choice.
_VALUES = 10


@dataclass(frozen=True)
class LetterFilter:
    """The choice of messages. An empty attribute chooses all.

    Attributes:
        dead: the time in which they became dead letters.
    """

    reason: int | None = None
    dest_queue: str = ""
    source: str = ""
    correl_id: bytes = b""
    dead: Moments = (None, None)

    def conditions(self) -> dict[str, Column]:
        """The conditions of the choice, by column of a table of dead letters."""
        asked: dict[str, Column] = {}
        if self.reason is not None:
            asked["reason"] = F.col("reason") == self.reason
        if self.dest_queue:
            asked["dest_queue"] = F.col("dest_queue") == self.dest_queue
        if self.source:
            asked["source"] = F.col("source") == self.source
        if self.correl_id:
            asked["correl_id"] = F.col("correl_id") == F.lit(self.correl_id)
        if self.dead != (None, None):
            asked["dead_at"] = is_between("dead_at", self.dead)
        return asked

    def condition(self) -> Column:
        """All conditions in one filter."""
        return reduce(Column.__and__, self.conditions().values(), F.lit(True))


def dead_letters(queue: DataFrame) -> DataFrame:
    """The messages of a dead-letter queue with the fields of their headers. *queue* has at least `COLUMNS`."""
    schema = to_arrow_schema(DEAD_LETTERS, timezone="UTC")

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist([_letter(row) for row in batch.to_pylist()], schema=schema)

    # Send Python only the part of the data that it reads.
    beginnings = queue.select(*COLUMNS).withColumn("data", F.substring("data", 1, HEADER_LENGTH))
    return beginnings.mapInArrow(read, DEAD_LETTERS)


def may_be_letters(messages: DataFrame) -> DataFrame:
    """Return the messages, of any queues, that can have a dead-letter header."""
    return messages.where(F.col("format") == _FORMAT)


def with_header(letters: DataFrame) -> DataFrame:
    """Return the dead letters that have a header."""
    return letters.where(F.col("reason").isNotNull())


def fitting(letters: DataFrame, chosen: LetterFilter) -> dict[str, tuple[int, list[str]]]:
    """For each column of the choice, the number of messages that fit its condition, and some of its values."""
    asked = chosen.conditions()
    counts = [F.count_if(condition).alias(f"{name} fit") for name, condition in asked.items()]
    values = [_values(name).alias(name) for name in asked]
    (row,) = letters.agg(*counts, *values).collect()
    return {name: (row[f"{name} fit"], row[name]) for name in asked}


def summary(letters: DataFrame) -> DataFrame:
    """The number of messages for each reason, destination and source, and the times of the oldest and newest."""
    return (
        letters.groupBy("reason", "why", "dest_queue", "dest_qmgr", "source", "by")
        .agg(
            F.count("*").alias("messages"),
            F.sum("length").alias("bytes"),
            F.min("dead_at").alias("oldest"),
            F.max("dead_at").alias("newest"),
        )
        .orderBy(F.desc("messages"), "reason", "dest_queue", "source")
        .transform(as_table, DEAD_LETTER_SUMMARY)
    )


def _letter(row: dict[str, Any]) -> dict[str, Any]:
    header = header_of((row["format"] or "").encode(), row["data"])
    told: dict[str, Any] = {}
    if header is not None:
        told = {
            "reason": header.reason,
            "why": reason_name(header.reason),
            "dest_queue": header.dest_q_name.decode("latin-1"),
            "dest_qmgr": header.dest_q_mgr_name.decode("latin-1"),
            "by": header.put_appl_name.decode("latin-1"),
            "dead_at": died_at(header),
        }
    names = ("structure", "position", "message_id", "put_at", "msg_id", "correl_id")
    length = row["length"] - (HEADER_LENGTH if header else 0)
    return {name: row[name] for name in names} | told | {"source": row["put_appl_name"], "length": length}


def _values(name: str) -> Column:
    """Some values of a column, as text; of times the first and the last; of identifiers, which say nothing, none."""
    match name:
        case "correl_id":
            return F.array().cast("array<string>")
        case "dead_at":
            ends = F.array_distinct(F.array(F.min(name), F.max(name)))
            return F.transform(F.array_compact(ends), lambda time: F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss'Z'"))
        case "reason":
            found = F.coalesce(F.nullif(F.col("why"), F.lit("")), F.col("reason").cast("string"))
        case _:
            found = F.col(name)
    return F.slice(F.array_sort(F.collect_set(found)), 1, _VALUES)
