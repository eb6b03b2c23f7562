"""How much Spark gets of the speed that two bare Python processes have: reading, streaming, writing, the audit."""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.harness import BODY, unpin
from bench.lines.audit import BATCH, job_s, journal_of
from bench.processor import processor_s
from bench.rows import Row
from bench.site import LEASE_MS, QMGR, Site, fill
from sharedq.api import Queue
from tests.support.members import TestGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bench.programs.bare import Processes

PARTITIONS = 2
#: Messages in a micro-batch of the stream.
TRIGGER = 200_000
#: Unmeasured rounds: Java's second compiler is at work for the first two million rows of a way to read them.
_WARM_UP = 2
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rate:
    """Rows a second, and microseconds of processor time a row: of Spark, Python and the server together."""

    rows_s: float
    processor_us: float

    def __str__(self) -> str:
        return f"{self.rows_s:,.0f}/s {self.processor_us:.1f} us"


def _median(rates: Sequence[_Rate]) -> _Rate:
    return _Rate(
        statistics.median(rate.rows_s for rate in rates), statistics.median(rate.processor_us for rate in rates)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """The values that each line here needs."""

    site: Site
    spark: SparkSession
    bare: Processes

    @property
    def rows(self) -> int:
        return self.site.effort.spark_rows

    def options(self, group: TestGroup) -> dict[str, str]:
        return {"group": group.group.name, "url": self.site.url, "qmgr": QMGR}

    def rates(self, contenders: Mapping[str, Callable[[], object]]) -> dict[str, _Rate]:
        """The median of some rounds, in turn, after those that warm up."""
        rounds: dict[str, list[_Rate]] = {name: [] for name in contenders}
        for turn in range(_WARM_UP + self.site.effort.spark_rounds):
            for name, run in contenders.items():
                rate = self.rate(run)
                if turn >= _WARM_UP:
                    rounds[name].append(rate)
        return {name: _median(each) for name, each in rounds.items()}

    def rate(self, run: Callable[[], object]) -> _Rate:
        """The speed of *run* over all rows."""
        self.site.renew_leases()
        start_s, processor = time.monotonic(), processor_s()
        run()
        return _Rate(self.rows / (time.monotonic() - start_s), (processor_s() - processor) / self.rows * 1e6)


def measure(site: Site) -> list[Row]:
    """All of it but the stream to Parquet, in one run on one server."""
    with _place(site) as at:
        browsed, browse = _browse(at)
        return [*_told(browsed), *_told(_stream(at, browse)), *_told(_sink(at)), *_told(_journal(at))]


def measure_archive(site: Site) -> list[Row]:
    """A stream to Parquet."""
    with _place(site) as at:
        return _told(_archive(at))


@contextmanager
def _place(site: Site) -> Iterator[_Place]:
    # Spark's processes need every core that there is, and so do the bare ones beside it.
    unpin()
    unpin(int(site.client.info("server")["process_id"]))
    with _spark(Path(site.server.path)) as spark, _bare() as bare:
        yield _Place(site, spark, bare)


def _told(rows: list[Row]) -> list[Row]:
    """The rows. Each is printed at once, because all of them take minutes."""
    for row in rows:
        print(f"  {row.name}: {row.value:.2f}, {row.ours} : {row.theirs}", file=sys.stderr, flush=True)
    return rows


@contextmanager
def _spark(directory: Path) -> Iterator[SparkSession]:
    from bench.programs.repetition import RepeatedJournalSource
    from igq.pipeline.datasource.journal.source import JournalSource
    from igq.pipeline.datasource.parquet.source import ParquetSource
    from igq.pipeline.datasource.queue.source import QueueSource
    from igq.pipeline.spark.session import spark_session

    # The leases of its workers' programs.
    os.environ["IGQ_LEASE_MS"] = str(LEASE_MS)
    with spark_session(directory, master=f"local[{PARTITIONS}]") as spark:
        spark.dataSource.register(QueueSource)
        spark.dataSource.register(JournalSource)
        spark.dataSource.register(ParquetSource)
        spark.dataSource.register(RepeatedJournalSource)
        yield spark


def _bare() -> Processes:
    from bench.programs.bare import Processes

    return Processes()


# -- reading -----------------------------------------------------------------------------------------------------------


def _browse(at: _Place) -> tuple[list[Row], Callable[[], None]]:
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
            "bare": lambda: _expect(at.bare.browse(group.settings, plan.partitions()), at.rows),
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
    return [_ratio_row("browse into Spark : two bare readers", 0.6, rates), memory], browse


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


def _journal(at: _Place) -> list[Row]:
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
        }
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
        _ratio_row("journal, an event an entry : two bare readers", 0.6, single),
        _ratio_row(f"journal, {BATCH} events an entry : two bare readers", 0.6, rates),
        _ratio_row(f"journal, {BATCH} events an entry : one batch, repeated", None, best),
        audit,
        _audit_commands(at, group),
    ]


def _journal_rates(at: _Place, per_entry: int) -> tuple[dict[str, _Rate], TestGroup, dict[str, str]]:
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
            "bare": lambda: _expect(at.bare.journal(reader, partitions), at.rows),
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


def _audit_commands(at: _Place, group: TestGroup) -> Row:
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


def _sink(at: _Place) -> list[Row]:
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
        {"spark": write, "bare": lambda: _expect(at.bare.put(group.settings, new_queue(), at.rows), at.rows)}
    )
    return [_ratio_row("rows into a queue : two bare writers, 50 a unit", 0.8, rates)]


def _stream(at: _Place, browse: Callable[[], None]) -> list[Row]:
    """One query at a time, a fresh queue each: all that is there, in micro-batches; in turns with a browse."""
    taken, browsed = [], []
    for turn in range(_WARM_UP + at.site.effort.spark_rounds):
        at.site.renew_leases()
        queue, stream = at.site.open_new(at.site.connect()), f"bench{turn}"
        fill(queue, at.rows)
        taken.append(at.rate(lambda name=queue.name, stream=stream: _take(at, name, stream)))  # type: ignore[misc]
        browsed.append(at.rate(browse))
    rates = {"spark": _median(taken[_WARM_UP:]), "bare": _median(browsed[_WARM_UP:])}
    return [_ratio_row("messages taken by a stream : browsed", 0.5, rates)]


def _archive(at: _Place) -> list[Row]:
    """Streams to Parquet, by Spark and by its workers, and a Python program that gets 10,000 in a unit of work.

    All of them write the same columns.
    """
    from bench.programs.bare import ARCHIVED

    numbers = itertools.count()

    def filled() -> str:
        queue = at.site.open_new(at.site.connect())
        fill(queue, at.rows)
        return queue.name

    def stream(source: str, sink: str) -> None:
        directory = f"{at.site.server.path}/archive{next(numbers)}"
        options = at.options(at.site.group) | {"queue": queues.pop(), "stream": Path(directory).name}
        options |= {"columns": ",".join((*ARCHIVED, "data"))} | ({"path": directory} if source == sink else {})
        table = at.spark.readStream.format(source).options(**options).load()
        query = table.writeStream.format(sink).option("checkpointLocation", f"{directory}.checkpoint")
        if source != sink:
            query = query.option("path", directory)
        query.trigger(availableNow=True).start().awaitTermination()

    def bare() -> None:
        directory = Path(at.site.server.path) / f"archive{next(numbers)}"
        _expect(at.bare.archive(at.site.group.settings, queues.pop(), directory), at.rows)

    queues: list[str] = []
    contenders: dict[str, Callable[[], None]] = {
        "spark": lambda: stream("igq", "parquet"),
        "workers": lambda: stream("igq.parquet", "igq.parquet"),
        "bare": bare,
    }
    rounds: dict[str, list[_Rate]] = {name: [] for name in contenders}
    for turn in range(_WARM_UP + at.site.effort.spark_rounds):
        queues += [filled() for _ in contenders]
        for name, run in contenders.items():
            rate = at.rate(run)
            if turn >= _WARM_UP:
                rounds[name].append(rate)
    found = {name: _median(each) for name, each in rounds.items()}
    return [
        _ratio_row("a stream to Parquet by Spark : a bare consumer", None, found),
        _ratio_row("a stream to Parquet : a bare consumer", 1.5, {"spark": found["workers"], "bare": found["bare"]}),
    ]


def _take(at: _Place, queue: str, stream: str) -> None:
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


def _ratio_row(name: str, floor: float | None, rates: Mapping[str, _Rate]) -> Row:
    ours, theirs = rates["spark"], rates["bare"]
    return Row(name, ours.rows_s / theirs.rows_s, floor=floor, ours=str(ours), theirs=str(theirs))


def _expect(found: int, rows: int) -> None:
    if found != rows:
        raise RuntimeError(f"{found} rows of {rows}")
