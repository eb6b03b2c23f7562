"""The archive job: queues as Parquet, message by message; ``igq.pipeline.jobs.replay`` puts them back.

Each run adds the messages that are not in the archive yet. A message is known by its structure and message id, and by
its MsgId, put time and length, because a structure that was lost numbers its messages from 1 again. Also a killed run
has each queue whole or not at all. The next run adds the rest.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import to_arrow_schema

from igq.pipeline.datasource.queue.source import queue_table
from igq.pipeline.history.time_range import Moments, is_between
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.schemas import ARCHIVE, DONE, as_table
from sharedq.api import QueueManagerConnection, connect, group_for
from sharedq.messages.message import Message
from sharedq.messages.record import message_token
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.settings.values import Settings

#: A message that is taken is kept, or put elsewhere: with all its properties.
_WHOLE = GetOption.SYNCPOINT | GetOption.PROPERTIES_FORCE_MQRFH2
#: Messages that one unit of work takes off a queue.
UNIT_MESSAGES = 100
#: Columns that identify a message, also after its structure was lost and numbers messages from 1 again.
_KEY = ("structure", "message_id", "msg_id", "put_at", "length")
#: Digits in the numbers of runs that are copied from another archive.
_RUN_DIGITS = 6
_PARTITIONED_BY = ("run", "queue", "day")


class Taker:
    """A connection with the queue open for input. It commits at the end of its ``with``, or backs out after an error.

    Raises:
        MQIError: the manager is not running, or the queue cannot be opened.
    """

    def __init__(self, settings: Settings, queue: str, qmgr: str) -> None:
        self.connection: QueueManagerConnection = connect(qmgr, settings=settings, appl_name="igq pipeline")
        self._group = group_for(settings)
        self._queue = self.connection.open(queue, OpenOption.INPUT_SHARED)
        self._numbers: dict[str, int] = {}

    def take(self, structure: str, message_id: str) -> Message | None:
        """Get that message under syncpoint. None if it is gone or in another program's unit of work."""
        token = message_token(message_id.encode(), self._number(structure))
        try:
            return self._queue.get(
                _WHOLE, match_options=MatchOption.MATCH_MSG_TOKEN, match=MQMD(version=2), msg_token=token
            )
        except MQIError as error:
            if error.reason == MQRC.NO_MSG_AVAILABLE:
                return None
            raise

    def _number(self, structure: str) -> int:
        if structure not in self._numbers:
            self._numbers[structure] = self._group.structure_number(structure)
        return self._numbers[structure]

    def __enter__(self) -> Taker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.connection.__exit__(kind, error, traceback)


def new_run() -> str:
    """The name of a new run. Names of later runs sort after it."""
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
    """Add the messages of a queue that were *put* in that time and are not in the archive yet."""
    messages = queue_table(spark, settings, queue, qmgr).where(is_between("put_at", put))
    _add(not_archived(messages, archive.read(spark)).transform(with_partitions, run), archive)


def copy_archive(
    spark: SparkSession,
    source: Archive,
    queues: Sequence[str],
    archive: Archive,
    run: str,
    put: Moments = (None, None),
) -> None:
    """Copy messages of *queues* that were *put* in that time from one archive to another that does not have them."""
    chosen = source.read_whole_runs(spark).where(F.col("queue").isin(list(queues)) & is_between("put_at", put))
    messages = not_archived(chosen.transform(with_runs, run), archive.read(spark))
    # Otherwise each task would write a file for each run, queue and day.
    _add(messages.hint("rebalance", *_PARTITIONED_BY), archive)


def _add(messages: DataFrame, archive: Archive) -> None:
    with archive.adding() as directory:
        (
            as_table(messages, ARCHIVE)
            # Sort them, so that a replay in parts finds each part's messages without reading all.
            .sortWithinPartitions(*_PARTITIONED_BY, "position")
            .write.partitionBy(*_PARTITIONED_BY)
            .parquet(str(directory))
        )


def not_archived(messages: DataFrame, archive: DataFrame) -> DataFrame:
    """The messages that are not in an archive."""
    return messages.join(_keys(archive), _is_known(), "left_anti")


def with_partitions(messages: DataFrame, run: str) -> DataFrame:
    """Add the columns that an archive is partitioned by."""
    day = F.coalesce(F.date_format("put_at", "yyyy-MM-dd"), F.lit("none"))
    return messages.withColumn("run", F.lit(run)).withColumn("day", day)


def with_runs(messages: DataFrame, run: str) -> DataFrame:
    """Rename the runs of messages, so that they sort after *run* in the same order: each run has its own positions."""
    runs = messages.select("run").distinct()
    number = F.lpad(F.row_number().over(Window.orderBy("run")).cast("string"), _RUN_DIGITS, "0")
    names = runs.select("run", F.concat(F.lit(f"{run}-"), number).alias("new_run"))
    return messages.join(F.broadcast(names), "run").withColumn("run", F.col("new_run"))


def remove_archived(
    spark: SparkSession, settings: Settings, queue: str, qmgr: str, archive: Archive, put: Moments = (None, None)
) -> DataFrame:
    """Take archived messages that were *put* in that time off a queue, and count them. Each evaluation does so."""
    schema = to_arrow_schema(DONE)

    def take(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        removed = 0
        with Taker(settings, queue, qmgr) as taker:
            per_unit = min(UNIT_MESSAGES, taker.connection.connection.max_uncommitted)
            for batch in batches:
                for number, row in enumerate(batch.to_pylist(), 1):
                    removed += taker.take(row["structure"], row["message_id"]) is not None
                    if number % per_unit == 0:
                        taker.connection.commit()
                taker.connection.commit()
        yield pa.RecordBatch.from_pylist([{"queue": queue, "done": "removed", "messages": removed}], schema=schema)

    there = queue_table(spark, settings, queue, qmgr, columns=_KEY).where(is_between("put_at", put))
    archived = there.join(_keys(archive.read(spark)), _is_known(), "left_semi")
    return (
        archived.mapInArrow(take, DONE)
        .groupBy("queue", "done")
        .agg(F.sum("messages").alias("messages"))
        .transform(as_table, DONE)
    )


def archived(archive: DataFrame, run: str) -> DataFrame:
    """The number of messages of each queue that a run has archived."""
    return (
        archive.where(F.col("run").startswith(run))
        .groupBy("queue")
        .agg(F.lit("archived").alias("done"), F.count("*").alias("messages"))
        .orderBy("queue")
        .transform(as_table, DONE)
    )


def _keys(archive: DataFrame) -> DataFrame:
    return archive.select(*(F.col(name).alias(f"known_{name}") for name in _KEY))


def _is_known() -> Column:
    """Whether a message is one of ``_keys``."""
    first, *more = (F.col(name).eqNullSafe(F.col(f"known_{name}")) for name in _KEY)
    for condition in more:
        first = first & condition
    return first
