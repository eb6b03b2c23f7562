"""How much Spark gets of the speed that two bare Python processes have: reading, streaming, writing, the audit."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness import BODY
from bench.lines.audit import BATCH, job_s, journal_of
from bench.lines.spark.place import PARTITIONS, WARM_UP, Place, Rate, expect, median, place, ratio_row, told
from bench.rows import Row
from bench.site import Site, fill
from sharedq.api import Queue
from tests.support.members import TestGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Messages in a micro-batch of the stream.
TRIGGER = 200_000
_MIB = 1 << 20


def measure(site: Site) -> list[Row]:
    """All of it but the stream to Parquet, in one run on one server."""
    with place(site) as at:
        browsed, browse = _browse(at)
        return [*told(browsed), *told(_stream(at, browse)), *told(_sink(at)), *told(_journal(at))]


# -- reading -----------------------------------------------------------------------------------------------------------


def _browse(at: Place) -> tuple[list[Row], Callable[[], None]]:
    """Rows, and the DataFrame that browses all messages into Spark."""
    from igq.pipeline.datasource.options import SourceOptions
    from igq.pipeline.datasource.queue.reader import OPTIONS, QueueReader
    from igq.pipeline.schemas import QUEUE

    group = at.site.group
    small, large = (at.site.open_new(at.site.connect()) for _ in range(2))
    fill(small, at.rows // 10)
    fill(large, at.rows)

    def options(queue: Queue, rows: int) -> dict[str, str]:
        wanted = {"queue": queue.name, "columns": "all", "rowsPerPartition": str(-(-rows // PARTITIONS))}
        return at.options(group) | wanted

    _read(at.spark, "igq", options(small, at.rows // 10))
    before = _driver_memory(at.spark)
    plan = QueueReader(QUEUE, SourceOptions(options(large, at.rows), OPTIONS))

    def browse() -> None:
        _read(at.spark, "igq", options(large, at.rows))

    rates = at.rates(
        {
            "spark": browse,
            "bare": lambda: expect(at.bare.browse(group.settings, plan.partitions()), at.rows),
        }
    )
    after = _driver_memory(at.spark)
    memory = Row(
        "driver's memory, ten times the messages",
        after / before,
        floor=1.3,
        is_limit=True,
        ours=f"{after / _MIB:.0f} MiB",
        theirs=f"{before / _MIB:.0f} MiB",
    )
    return [ratio_row("browse into Spark : two bare readers", 0.6, rates), memory], browse


def _read(spark: SparkSession, source: str, options: Mapping[str, str | int]) -> None:
    _consume(spark.read.format(source).options(**options).load())


def _consume(table: DataFrame) -> None:
    """Make every column of every row, and do nothing with it."""
    table.write.format("noop").mode("overwrite").save()


def _driver_memory(spark: SparkSession) -> int:
    """Bytes of Java's heap after a collection, and of this process; Spark's tasks run in the same Java here."""
    java: Any = spark._jvm
    java.java.lang.System.gc()
    runtime = java.java.lang.Runtime.getRuntime()
    heap = int(runtime.totalMemory()) - int(runtime.freeMemory())
    status = Path("/proc/self/status").read_text("ascii")
    return heap + 1024 * int(status.partition("VmRSS:")[2].split()[0])


def _journal(at: Place) -> list[Row]:
    """Half of the events are puts, half gets. Single puts make entries of one event, batches make larger ones."""
    from igq.pipeline.datasource.journal.source import stored_journal

    single, _, _ = _journal_rates(at, 1)
    rates, group, options = _journal_rates(at, BATCH)
    stored = Path(at.site.server.path) / "journal"
    at.spark.read.format("igq.journal").options(**options).load().write.parquet(str(stored))
    audits = at.rates(
        {
            "redis": lambda: _audit(at.spark, group, at.site.url, None),
            "parquet": lambda: _audit(at.spark, group, at.site.url, lambda: stored_journal(at.spark, stored, "-", "+")),
        },
        # A round is as long as ten of the others.
        warm_up=1,
    )
    audit = Row(
        "audit of the journal : of its Parquet",
        audits["parquet"].rows_s / audits["redis"].rows_s,
        floor=2.0,
        is_limit=True,
        ours=str(audits["redis"]),
        theirs=str(audits["parquet"]),
    )
    best = {"spark": rates["spark"], "bare": rates["repeated"]}
    return [
        ratio_row("journal, an event an entry : two bare readers", 0.6, single),
        ratio_row(f"journal, {BATCH} events an entry : two bare readers", 0.6, rates),
        ratio_row(f"journal, {BATCH} events an entry : one batch, repeated", None, best),
        audit,
        _audit_commands(at, group),
    ]


def _journal_rates(at: Place, per_entry: int) -> tuple[dict[str, Rate], TestGroup, dict[str, str]]:
    """How fast a journal with so many events in each entry is read; its group, and what it is read by."""
    from igq.pipeline.datasource.journal.source import OPTIONS, JournalReader
    from igq.pipeline.datasource.options import SourceOptions
    from igq.pipeline.schemas import JOURNAL

    group = journal_of(at.site, at.rows, per_entry)
    options = {"group": group.group.name, "url": at.site.url}
    # Two partitions, about.
    options["entriesPerPartition"] = str(at.rows // per_entry // PARTITIONS + 1)
    reader = JournalReader(JOURNAL, SourceOptions(options, OPTIONS))
    partitions = [part for part in reader.partitions() if getattr(part, "structure", "") == "APPL1"]
    repeated = options | {"rows": str(at.rows), "partitions": str(PARTITIONS)}
    rates = at.rates(
        {
            "spark": lambda: _read(at.spark, "igq.journal", options),
            "bare": lambda: expect(at.bare.journal(reader, partitions), at.rows),
            "repeated": lambda: _read(at.spark, "repeated", repeated),
        }
    )
    return rates, group, options


def _audit(spark: SparkSession, group: TestGroup, url: str, stored: Callable[[], DataFrame] | None) -> None:
    from igq.pipeline.audit.audit import audit
    from igq.pipeline.datasource.journal.source import JournalPart

    class Part(JournalPart):
        """The journal in Redis, or a stored one."""

        def read(self, spark: SparkSession, start: str | None = None, end: str | None = None) -> DataFrame:
            return stored() if stored else super().read(spark, start, end)

    verdict, _ = audit(spark, Part(group.group.name, url), None)
    if not verdict.is_passed:
        raise RuntimeError(f"the audit failed: {verdict.counts}")


def _audit_commands(at: Place, group: TestGroup) -> Row:
    """The command as a whole process, with the start of its engine."""
    took: dict[str, list[float]] = {"spark": [], "duckdb": []}
    for turn in range(at.site.effort.spark_rounds):
        for engine, times in took.items():
            times.append(job_s(at.site, group, str(turn), engine, "audit"))
    spark_s, duckdb_s = (statistics.median(times) for times in took.values())
    return Row(
        f"igq pipeline audit of {at.rows:,} events: by DuckDB : by Spark",
        spark_s / duckdb_s,
        ours=f"{duckdb_s:.1f} s",
        theirs=f"{spark_s:.1f} s",
    )


# -- writing and taking ------------------------------------------------------------------------------------------------


def _sink(at: Place) -> list[Row]:
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    group = at.site.group
    rows = at.spark.range(0, at.rows, 1, PARTITIONS).select(
        F.lit(BODY).alias("data"), F.lit(1).cast("int").alias("persistence")
    )

    def new_queue() -> str:
        return at.site.open_new(at.site.connect()).name

    def write() -> None:
        options = at.options(group) | {"queue": new_queue()}
        rows.write.format("igq").options(**options).mode("append").save()

    rates = at.rates(
        {"spark": write, "bare": lambda: expect(at.bare.put(group.settings, new_queue(), at.rows), at.rows)}
    )
    return [ratio_row("rows into a queue : two bare writers, 50 a unit", 0.8, rates)]


def _stream(at: Place, browse: Callable[[], None]) -> list[Row]:
    """One query at a time, a fresh queue each: all that is there, in micro-batches; in turns with a browse."""
    taken, browsed = [], []
    for turn in range(WARM_UP + at.site.effort.spark_rounds):
        at.site.renew_leases()
        queue, stream = at.site.open_new(at.site.connect()), f"bench{turn}"
        fill(queue, at.rows)
        taken.append(at.rate(lambda name=queue.name, stream=stream: _take(at, name, stream)))  # type: ignore[misc]
        browsed.append(at.rate(browse))
    rates = {"spark": median(taken[WARM_UP:]), "bare": median(browsed[WARM_UP:])}
    return [ratio_row("messages taken by a stream : browsed", 0.5, rates)]


def _take(at: Place, queue: str, stream: str) -> None:
    options = at.options(at.site.group) | {
        "queue": queue,
        "stream": stream,
        "columns": "all",
        "maxMessagesPerTrigger": str(TRIGGER),
        "rowsPerPartition": str(TRIGGER // PARTITIONS),
    }
    table = at.spark.readStream.format("igq").options(**options).load()
    query = table.writeStream.format("noop").option("checkpointLocation", f"{at.site.server.path}/{stream}")
    query.trigger(availableNow=True).start().awaitTermination()
