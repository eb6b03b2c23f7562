"""The replay job: the messages of an archive, put back as they were and in their order.

One job of the sink (``igq.pipeline.datasource.queue.sink``) puts the messages that a run has of a queue; several jobs
put them in parts if they are too many. A job puts all its messages or none, and once, however often the command runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from igq.pipeline.history.time_range import Moments
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.jobs.replays import ALWAYS, is_done, job_of
from igq.pipeline.schemas import DONE, QUEUE, REPLAYED, as_table
from sharedq.settings.values import Settings

#: The most messages that one job puts: a sink cannot commit any number together. Never change this number: the parts of
#: an archive would be others, and messages would be put twice or never.
PART_MESSAGES = 1_000_000
PUT, THERE = "replayed", "there already"
#: Spark's message if the units of work of the sink were backed out by somebody else.
_BACKED_OUT = re.compile(r"XAError: (XA_HEURRB|XAER_NOTA) |the job was ended while it ran")


@dataclass(frozen=True)
class ReplayPart:
    """The messages of one run and queue that one job puts.

    Attributes:
        number: number of the part, from 1; None if it is all that the run has of the queue.
        after, until: the part has the positions after *after*, up to and including *until*; None leaves an end open.
        messages: the number of messages.
    """

    run: str
    queue: str
    number: int | None
    after: int | None
    until: int | None
    messages: int

    def condition(self) -> Column:
        """As a filter of a table of messages."""
        chosen = (F.col("run") == self.run) & (F.col("queue") == self.queue)
        if self.after is not None:
            chosen &= F.col("position") > self.after
        if self.until is not None:
            chosen &= F.col("position") <= self.until
        return chosen


@dataclass(frozen=True)
class Replay:
    """The queues that the parts of an archive go to, and the names of the jobs that put them.

    Attributes:
        target: the queue for all messages; "" for each message's own.
        again, put: as for `job_of`.
    """

    settings: Settings
    archive: Archive
    target: str = ""
    qmgr: str = ""
    again: str = ""
    put: Moments = ALWAYS

    def put_part(self, messages: DataFrame, part: ReplayPart) -> str:
        """Put a part of *messages* and return `PUT`, or return `THERE` if it was put before.

        Raises:
            PipelineError: another replay has backed out the messages that this one had prepared.
        """
        job = self._job(part, self.put, part.number)
        # Versions without parts used the first of these names for all messages of the run, of any time.
        if any(is_done(self.settings, name) for name in {self._job(part, ALWAYS, None), job}):
            return THERE
        try:
            put_messages(messages.where(part.condition()), self.settings, self.target_of(part), self.qmgr, job)
        except PySparkException as error:
            if _BACKED_OUT.search(str(error)):
                raise PipelineError(
                    f"another replay of {self.archive.directory} on {self.target_of(part)}, or a release,"
                    " has backed out the messages that this one had prepared; nothing was put twice; run it again"
                ) from error
            raise
        return PUT

    def target_of(self, part: ReplayPart) -> str:
        """The queue that a part is put on."""
        return self.target or part.queue

    def _job(self, part: ReplayPart, put: Moments, number: int | None) -> str:
        return job_of(self.archive, part.run, part.queue, self.target_of(part), self.again, put, number)


def parts(archive: DataFrame, size: int = PART_MESSAGES) -> list[ReplayPart]:
    """The parts of each run and queue, in the order in which they are put, which is that of the positions.

    The same messages always make the same parts: nothing here depends on Spark's partitions.
    """
    rows = with_part(archive, size).transform(part_ends).collect()
    found: list[ReplayPart] = []
    for row in rows:
        before = found[-1] if row["part"] > 1 else None
        is_last = row["part"] == row["parts"]
        found.append(
            ReplayPart(
                row["run"],
                row["queue"],
                row["part"] if row["parts"] > 1 else None,
                before.until if before else None,
                None if is_last else row["last"],
                row["messages"],
            )
        )
    return found


def with_part(archive: DataFrame, size: int) -> DataFrame:
    """Run, queue and position of each message, and the number of the ``part`` that it falls into, from 1."""
    in_order = Window.partitionBy("run", "queue").orderBy("position")
    place = F.row_number().over(in_order) - 1
    return archive.select("run", "queue", "position", (F.floor(place / size) + 1).cast("int").alias("part"))


def part_ends(numbered: DataFrame) -> DataFrame:
    """A row a part: how many ``messages`` it has, its ``last`` position, and how many ``parts`` there are."""
    of_queue = Window.partitionBy("run", "queue")
    return (
        numbered.groupBy("run", "queue", "part")
        .agg(F.count("*").alias("messages"), F.max("position").alias("last"))
        .withColumn("parts", F.count("*").over(of_queue))
        .orderBy("run", "queue", "part")
    )


def put_messages(messages: DataFrame, settings: Settings, target: str, qmgr: str, job: str) -> None:
    """Put messages on *target*, in the order that they had: once for each *job*."""
    messages.sparkSession.dataSource.register(QueueSource)
    (
        messages.select(*QUEUE.fieldNames())
        # Use one task: several would put at the same time, out of order.
        .repartition(1)
        .sortWithinPartitions("position")
        .write.format("igq")
        .options(group=settings.group, url=settings.redis_url, queue=target, qmgr=qmgr, jobId=job)
        .mode("append")
        .save()
    )


def replayed(spark: SparkSession, done: Sequence[tuple[ReplayPart, str, str]]) -> DataFrame:
    """The result of each part as a table: the part, its target queue, and `PUT` or `THERE`."""
    rows = [(part.run, part.queue, target, part.number or 1, part.messages, what) for part, target, what in done]
    return spark.createDataFrame(rows, REPLAYED)


def by_target(parts_put: DataFrame) -> DataFrame:
    """How many messages are on each queue now by this replay, and by earlier ones."""
    return (
        parts_put.groupBy(F.col("target").alias("queue"), "done")
        .agg(F.sum("messages").alias("messages"))
        .orderBy("queue", "done")
        .transform(as_table, DONE)
    )
