"""A Spark session and bare processes beside it, and how fast each handles rows."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import unpin
from bench.processor import processor_s
from bench.rows import Row
from bench.site import LEASE_MS, QMGR, Site
from tests.support.members import TestGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bench.programs.bare import Processes

PARTITIONS = 2
#: Unmeasured rounds: Java's second compiler is at work for the first two million rows of a way to read them.
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Rate:
    """Rows a second, and microseconds of processor time a row: of Spark, Python and the server together."""

    rows_s: float
    processor_us: float

    def __str__(self) -> str:
        return f"{self.rows_s:,.0f}/s {self.processor_us:.1f} us"


def median(rates: Sequence[Rate]) -> Rate:
    return Rate(
        statistics.median(rate.rows_s for rate in rates), statistics.median(rate.processor_us for rate in rates)
    )


@dataclass(frozen=True, slots=True)
class Place:
    """The values that each line here needs."""

    site: Site
    spark: SparkSession
    bare: Processes

    @property
    def rows(self) -> int:
        return self.site.effort.spark_rows

    def options(self, group: TestGroup) -> dict[str, str]:
        return {"group": group.group.name, "url": self.site.url, "qmgr": QMGR}

    def rates(
        self,
        contenders: Mapping[str, Callable[[], object]],
        *,
        prepare: Callable[[], object] = lambda: None,
        warm_up: int = WARM_UP,
    ) -> dict[str, Rate]:
        """The median of some rounds, in turn, after those that warm up.

        Args:
            prepare: what comes before each turn, and is not measured.
        """
        rounds: dict[str, list[Rate]] = {name: [] for name in contenders}
        for turn in range(warm_up + self.site.effort.spark_rounds):
            prepare()
            for name, run in contenders.items():
                rate = self.rate(run)
                if turn >= warm_up:
                    rounds[name].append(rate)
        return {name: median(each) for name, each in rounds.items()}

    def rate(self, run: Callable[[], object]) -> Rate:
        """The speed of *run* over all rows."""
        self.site.renew_leases()
        start_s, processor = time.monotonic(), processor_s()
        run()
        return Rate(self.rows / (time.monotonic() - start_s), (processor_s() - processor) / self.rows * 1e6)


@contextmanager
def place(site: Site) -> Iterator[Place]:
    # Spark's processes need every core that there is, and so do the bare ones beside it.
    unpin()
    unpin(int(site.client.info("server")["process_id"]))
    with _spark(Path(site.server.path)) as spark, bare_processes() as bare:
        yield Place(site, spark, bare)


def told(rows: list[Row]) -> list[Row]:
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


def bare_processes() -> Processes:
    """Imported here: most lines need no Spark."""
    from bench.programs.bare import Processes

    return Processes()


def ratio_row(name: str, floor: float | None, rates: Mapping[str, Rate]) -> Row:
    ours, theirs = rates["spark"], rates["bare"]
    return Row(name, ours.rows_s / theirs.rows_s, floor=floor, ours=str(ours), theirs=str(theirs))


def expect(found: int, rows: int) -> None:
    if found != rows:
        raise RuntimeError(f"{found} rows of {rows}")
