"""One, two and three workers of a standalone Spark read an alias with SPREAD over the four primaries of a Cluster.

All of them share the cores of this machine, so the rate cannot grow with the workers as it does on machines of their
own. The processor time, the commands and the bytes of a row say what limits it there: if they stay the same, three
workers do three times the work of one, until the nodes or the driver have no time left.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import unpin
from bench.processor import processor_s
from bench.rows import Row
from bench.site import LEASE_MS, QMGR, Site, fill
from sharedq.api import Queue
from sharedq.mqi.constants import OpenOption
from sharedq.objects.definitions.queues import QueueAlias
from tests.support.members import TestGroup
from tests.support.topologies import Cluster

if TYPE_CHECKING:
    from tests.pipeline.clusters import Cluster as Workers

WORKERS, NODES = (1, 2, 3), 4
ALIAS = "SPREAD"
#: The first round of each number of workers is not measured.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class _Spent:
    """The costs of rows: microseconds of the processor, commands of the nodes, and bytes that these send."""

    seconds: float
    nodes_us: float
    workers_us: float
    driver_us: float
    commands: float
    sent: float

    def __sub__(self, other: _Spent) -> _Spent:
        return _Spent(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))


def measure(site: Site) -> list[Row]:
    """A row for each number of workers."""
    from tests.pipeline.clusters import Cluster as Workers

    unpin()
    rows = site.effort.spark_rows * 3 // 10
    with tempfile.TemporaryDirectory(prefix="igq") as name:
        directory, nodes = Path(name), Cluster(NODES)
        group = TestGroup(nodes.url, directory / "group", lease_ms=LEASE_MS, journal=False)
        try:
            group.add_member(QMGR)
            queues = _parts(group, nodes)
            with Workers(directory, max(WORKERS)) as workers:
                return [_row(_Place(group, nodes, workers, directory, queues, rows), count) for count in WORKERS]
        finally:
            group.close()
            nodes.close()


def _parts(group: TestGroup, nodes: Cluster) -> list[Queue]:
    structures = nodes.one_on_each(group.group.name)
    names = [f"ON.{structure}" for structure in structures]
    for structure, name in zip(structures, names, strict=True):
        group.define_structure(structure)
        group.define_shared(name, structure)
    group.define(QMGR, QueueAlias(name=ALIAS, target=names[0], spread=",".join(names[1:])))
    connection = group.connect(QMGR)
    return [connection.open(name, OpenOption.OUTPUT) for name in names]


@dataclass(frozen=True, slots=True)
class _Place:
    """The values that each row needs."""

    group: TestGroup
    nodes: Cluster
    workers: Workers
    directory: Path
    queues: list[Queue]
    rows: int

    def spent(self, driver: int, seconds: float = 0.0) -> _Spent:
        """All that was spent since the processes began."""
        told = [node.ask("INFO") for node in self.nodes.primaries]
        executors = sum(processor_s(pid) for pid in map(int, self.workers.workers.split(",")))
        return _Spent(
            seconds,
            1e6 * sum(float(each["used_cpu_user"]) + float(each["used_cpu_sys"]) for each in told),
            1e6 * executors,
            1e6 * processor_s(driver),
            sum(int(each["total_commands_processed"]) for each in told),
            sum(int(each["total_net_output_bytes"]) for each in told),
        )

    def fill(self) -> None:
        for queue in self.queues:
            fill(queue, self.rows // NODES)


def _row(at: _Place, count: int) -> Row:
    """The median round of so many workers."""
    rounds: list[_Spent] = []
    with _driver(at, count) as driver:
        assert driver.stdin
        assert driver.stdout
        for _ in range(_ROUNDS):
            at.fill()
            before = at.spent(driver.pid)
            print("go", file=driver.stdin, flush=True)
            rounds.append(at.spent(driver.pid, float(driver.stdout.readline())) - before)
    found = _Spent(
        *(statistics.median(getattr(each, name) / at.rows for each in rounds[1:]) for name in _Spent.__slots__)
    )
    row = Row(
        f"rows of an alias over {NODES} nodes, read by {count} workers",
        1 / found.seconds,
        "/s",
        ours=f"nodes {found.nodes_us:.1f}, workers {found.workers_us:.1f}, driver {found.driver_us:.1f} us a row",
        theirs=f"{1000 * found.commands:.1f} commands, {found.sent:.0f} kB a thousand",
    )
    print(f"  {row.name}: {row.value:,.0f}{row.unit}, {row.ours}, {row.theirs}", file=sys.stderr, flush=True)
    return row


@contextmanager
def _driver(at: _Place, count: int) -> Iterator[subprocess.Popen[str]]:
    """A driver that waits for its first round."""
    from igq.pipeline.spark.archive_of_code import build_archive
    from tests.pipeline import spread_program

    directory = at.directory / f"driver{count}"
    directory.mkdir()
    told = {"url": str(at.group.settings.redis_url), "group": at.group.group.name, "data_dir": str(directory)}
    told |= {"master": at.workers.url, "alias": ALIAS, "out": ""}
    # Every batch has two partitions of each queue, so three workers have something to do.
    more = {"workers": count, "batch": str(at.rows), "rows": str(at.rows // (2 * NODES))}
    root = Path(spread_program.__file__).parents[2]
    shipped = {"PYTHONPATH": str(root), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    shipped |= {"PYSPARK_SUBMIT_ARGS": f"--py-files {build_archive(directory)} pyspark-shell"}
    with subprocess.Popen(
        [sys.executable, spread_program.__file__, json.dumps(told | more)],
        env=os.environ | shipped | {"IGQ_LEASE_MS": str(LEASE_MS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        assert driver.stdin
        assert driver.stdout
        driver.stdout.readline()
        yield driver
        driver.stdin.close()
