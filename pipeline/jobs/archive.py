"""The archive job: queues as Parquet, message by message; ``pipeline.jobs.replay`` puts them back.

Each run adds what is not in the archive yet, known by its structure and message id, and by its MsgId, put
time and length, where a structure was lost and numbers its messages anew. What a killed run has left there counts, so
the next run goes on behind it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import to_arrow_schema

from config.settings import Settings
from pipeline.archives import Archive
from pipeline.jobs.moments import Moments, is_between
from pipeline.jobs.taking import Taker
from pipeline.queue_source import queue_table
from pipeline.schemas import DONE

#: Messages that are taken off a queue in one unit of work.
UNIT_MESSAGES = 100
#: What tells messages apart, also where a structure was lost once and began anew to number them.
_KEY = ("structure", "message_id", "msg_id", "put_at", "length")
_PARTITIONED_BY = ("run", "queue", "day")


def new_run() -> str:
    """The name of a run: later ones sort behind."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(4)}"


def archive_queue(
    spark: SparkSession,
    settings: Settings,
    queue: str,
    qmgr: str,
    archive: Archive,
    run: str,
    put: Moments = (None, None),
) -> None:
    """Add the messages of a queue that are not in the archive yet, of those that were *put* in that time."""
    messages = queue_table(spark, settings, queue, qmgr).where(is_between("put_at", put))
    (
        not_archived(messages, archive.read(spark))
        .transform(with_partitions, run)
        .write.mode("append")
        .partitionBy(*_PARTITIONED_BY)
        .parquet(str(archive.directory))
    )


def not_archived(messages: DataFrame, archive: DataFrame) -> DataFrame:
    """The messages that are not in an archive."""
    return messages.join(_keys(archive), _is_known(), "left_anti")


def with_partitions(messages: DataFrame, run: str) -> DataFrame:
    """With the columns that an archive is partitioned by."""
    day = F.coalesce(F.date_format("put_at", "yyyy-MM-dd"), F.lit("none"))
    return messages.withColumn("run", F.lit(run)).withColumn("day", day)


def remove_archived(
    spark: SparkSession, settings: Settings, queue: str, qmgr: str, archive: Archive, put: Moments = (None, None)
) -> DataFrame:
    """Take off a queue what is in the archive and was *put* in that time, and count it. Each evaluation does it."""
    schema = to_arrow_schema(DONE)

    def take(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        removed = 0
        with Taker(settings, queue, qmgr) as taker:
            for batch in batches:
                for number, row in enumerate(batch.to_pylist(), 1):
                    removed += taker.take(row["structure"], row["message_id"]) is not None
                    if number % UNIT_MESSAGES == 0:
                        taker.connection.commit()
                taker.connection.commit()
        yield pa.RecordBatch.from_pylist([{"queue": queue, "done": "removed", "messages": removed}], schema=schema)

    there = queue_table(spark, settings, queue, qmgr, columns=_KEY).where(is_between("put_at", put))
    archived = there.join(_keys(archive.read(spark)), _is_known(), "left_semi")
    return archived.mapInArrow(take, DONE).groupBy("queue", "done").agg(F.sum("messages").alias("messages"))


def archived(archive: DataFrame) -> DataFrame:
    """How many messages of each queue are in (a part of) an archive."""
    return (
        archive.groupBy("queue")
        .agg(F.count("*").alias("messages"))
        .select("queue", F.lit("archived").alias("done"), "messages")
    )


def _keys(archive: DataFrame) -> DataFrame:
    return archive.select(*(F.col(name).alias(f"known_{name}") for name in _KEY))


def _is_known() -> Column:
    """Whether a message is one of ``_keys``."""
    first, *more = (F.col(name).eqNullSafe(F.col(f"known_{name}")) for name in _KEY)
    for condition in more:
        first = first & condition
    return first
