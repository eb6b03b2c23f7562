"""Runs the incremental audit: rounds of a streaming query that reads new events, with a verdict after each round."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from igq.pipeline.audit.increments import advance, verdict_of
from igq.pipeline.audit.series import Series
from igq.pipeline.audit.state import StateStore
from igq.pipeline.audit.verdict import Verdict
from igq.pipeline.datasource.journal.source import JournalPart, JournalSource
from igq.pipeline.errors import PipelineError, in_a_line
from igq.pipeline.spark.interim_tables import keeping, kept

#: Entries of a batch, which are in memory together with the open lives.
ENTRIES_PER_BATCH = 200_000
#: The source's error about a trimmed journal. Its advice is of no use here.
_TRIMMED = re.compile(r"(the journal of .*?); .*failOnDataLoss")


class FollowingAudit:
    """An audit whose checkpoint and state are in a directory. It continues there after any end.

    Args:
        part: the group, and the place where its history begins.
        remember_ms: how long lives that are over are kept to judge open ones.
    """

    def __init__(
        self,
        spark: SparkSession,
        part: JournalPart,
        directory: Path,
        remember_ms: int,
        entries: int = ENTRIES_PER_BATCH,
    ) -> None:
        self._spark, self._part, self._remember_ms, self._entries = spark, part, remember_ms, entries
        self._checkpoint, self._scratch = directory / "checkpoint", directory / "scratch"
        self._store = StateStore(directory / "state", part.group)

    def catch_up(self, on_batch: Callable[[str], None]) -> None:
        """Process all events that the journal has now.

        Raises:
            PipelineError: the directory belongs to another group, or the audit cannot continue there; or a journal was
                trimmed before it was read.
            StreamingQueryException: a batch failed; the next round repeats it.
        """
        self._store.load(self._spark, self._store.latest())
        self._spark.dataSource.register(JournalSource)
        journal = self._spark.readStream.format("igq.journal").options(
            group=self._part.group, url=self._part.url, start=self._part.start, maxEntriesPerTrigger=self._entries
        )

        def take(batch: DataFrame, number: int) -> None:
            # Spark repeats a finished batch if it died before it noted the end.
            if not self._store.has(number):
                on_batch(f"batch {number}")
                try:
                    self._take(batch, number)
                except (PySparkException, Py4JError) as error:
                    # Spark searches the error's text for a pattern, and its stack overflows on a long text.
                    raise PipelineError(in_a_line(error)) from None

        query = journal.load().writeStream.foreachBatch(take).option("checkpointLocation", str(self._checkpoint))
        running = query.trigger(availableNow=True).start()
        try:
            _wait_for(running)
        except StreamingQueryException as error:
            trimmed = _TRIMMED.search(str(error))
            if trimmed is None:
                raise
            gone = "the audit cannot judge events that are gone: begin again in a new directory"
            raise PipelineError(f"{trimmed[1]}; {gone}") from error
        finally:
            running.stop()

    def _take(self, batch: DataFrame, number: int) -> None:
        with keeping(self._scratch):
            state = advance(self._store.load(batch.sparkSession, number - 1), kept(batch), self._remember_ms)
            self._store.store(number, state)

    def judge(self, keep: Callable[[DataFrame], object] = lambda _: None) -> tuple[Verdict, Series]:
        """The verdict on all processed events. *keep* is called with all findings, as by `igq.pipeline.audit.audit`."""
        latest = self._store.latest()
        state, found = self._store.load(self._spark, latest), self._store.found(self._spark, latest)
        with keeping(self._scratch):
            return verdict_of(self._spark, state, found, self._part, keep)


def _wait_for(running: StreamingQuery) -> None:
    """Wait for a query's end. Stop the query after an interruption.

    Wait in another thread: each thread has a connection to Java, and an interrupted call makes its connection useless.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="igq-audit") as thread:
        ended = thread.submit(running.awaitTermination)
        try:
            ended.result()
        except KeyboardInterrupt:
            running.stop()
            raise
