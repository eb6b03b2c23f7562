"""The jobs and the stream of the journal on a cluster, as a program of its own, with one session for all of them.

Arguments: a JSON object with ``url``, ``group``, ``data_dir``, ``master``, ``workers``. It prints one: the status of
each job, how many events the journal has and the stream has copied, and what a settled table has after all executors
were killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from igq.pipeline.__main__ import main as run
from igq.pipeline.cli import runner as running
from igq.pipeline.datasource.journal.source import JournalSource
from igq.pipeline.spark.interim_tables import keeping, settled
from igq.pipeline.spark.session import spark_session
from tests.pipeline.clusters import executors

#: Rows of a table that is written in between.
SETTLED = 1_000


def main() -> None:
    """Run them one after the other."""
    told = json.loads(sys.argv[1])
    directory = Path(told["data_dir"])
    at = ("--group", told["group"], "--url", told["url"], "--master", told["master"])
    archive = str(directory / "archive")
    with spark_session(directory, master=told["master"], is_small=True) as spark:

        @contextmanager
        def this_session(*_: Any, **__: Any) -> Iterator[SparkSession]:
            yield spark

        setattr(running, "spark_session", this_session)  # noqa: B010 - it is not running's own
        jobs = (
            ("deadletter", "QM1"),
            ("archive", archive, "--queue", "ORDERS", "--remove"),
            ("replay", archive, "--target", "COPY"),
            ("audit", "--output", str(directory / "audit")),
            ("flow", "--output", str(directory / "flow")),
        )
        saw: dict[str, int] = {job: run([job, *arguments, *at]) for job, *arguments in jobs}
        # This is the last line, even if the commands changed signals and streams.
        saw |= copy_journal(spark, told, directory) | settle(spark, told["workers"], directory)
    print(json.dumps(saw))


def copy_journal(spark: SparkSession, told: dict[str, str], directory: Path) -> dict[str, int]:
    """As a stream, in several batches."""
    spark.dataSource.register(JournalSource)
    where = {"url": told["url"], "group": told["group"]}
    events = spark.readStream.format("igq.journal").options(
        **where, maxEntriesPerTrigger="800", entriesPerPartition="200"
    )
    copy = events.load().writeStream.format("parquet").option("checkpointLocation", str(directory / "journal-at"))
    query = copy.option("path", str(directory / "journal")).trigger(availableNow=True).start()
    query.awaitTermination()
    return {
        "batches": len(query.recentProgress),
        "copied": spark.read.parquet(str(directory / "journal")).distinct().count(),
        "events": spark.read.format("igq.journal").options(**where).load().count(),
    }


def settle(spark: SparkSession, workers: str, directory: Path) -> dict[str, int]:
    """Executors write a table and die before it is read."""
    with keeping(directory / "scratch"):
        table = settled(spark.range(0, SETTLED, 1, 4))
        killed = executors(workers)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        return {"killed": len(killed), "settled": table.count()}


if __name__ == "__main__":
    main()
