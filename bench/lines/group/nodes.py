"""One queue that is spread over structures on 1, 2 and 4 nodes of a Cluster, and units of work over two of them.

The nodes share the cores of this machine, so throughput shows little. The time that each spends in scripts shows what
it would do on a machine of its own: the busiest node limits the whole.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.harness import BODY
from bench.rows import Row
from bench.site import LEASE_MS, QMGR, Site, drain, persistent
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.support.members import TestGroup
from tests.support.topologies import Cluster, Node

NODES = (1, 2, 4)
#: Limits: the busiest node's share of the time to an even share; a unit of work over two structures to one over one.
SHARE, TWO = 1.3, 2.2
MESSAGES, ROUNDS, KEYS = 4_000, 5, 1_000


def measure(site: Site) -> list[Row]:
    """The busiest node's time a message, with as many nodes; then a put and a get in one unit of work over two."""
    cluster = Cluster(max(NODES))
    group = TestGroup(cluster.url, Path(site.server.path) / "cluster", lease_ms=LEASE_MS, journal=False)
    try:
        group.add_member(QMGR)
        structures = cluster.one_on_each(group.group.name)
        for structure in structures:
            group.define_structure(structure)
            group.define_shared(f"ON.{structure}", structure)
        connection = group.connect(QMGR)
        return [*_spread(group, connection, cluster, structures), _two(connection, structures)]
    finally:
        group.close()
        cluster.close()


def _spread(
    group: TestGroup, connection: QueueManagerConnection, cluster: Cluster, structures: Sequence[str]
) -> list[Row]:
    rows: list[Row] = []
    alone_us = 0.0
    for nodes in NODES:
        names = [f"ON.{structure}" for structure in structures[:nodes]]
        alias = QueueAlias(name=f"OVER{nodes}", target=names[0], spread=",".join(names[1:]), def_bind="GROUP")
        group.define(QMGR, alias)
        puts = connection.open(alias.name, OpenOption.OUTPUT)
        gets = [connection.open(name, OpenOption.INPUT_SHARED) for name in names]
        times = [_busiest_us(cluster, puts, gets) for _ in range(ROUNDS)]
        busiest_us = statistics.median(times)
        alone_us = alone_us or busiest_us
        rows.append(
            Row(
                f"puts and gets by CorrelId over {nodes} nodes: busiest node : 1 node",
                busiest_us / alone_us,
                floor=SHARE / nodes if nodes > 1 else None,
                is_limit=True,
                ours=f"{busiest_us:.1f} us",
                theirs=f"{alone_us:.1f} us",
            )
        )
    return rows


def _busiest_us(cluster: Cluster, puts: Queue, gets: Sequence[Queue]) -> float:
    """Time of the busiest node a message that is put and got, microseconds."""
    before = [_script_us(node) for node in cluster.primaries]
    for number in range(MESSAGES):
        puts.put(BODY, MQMD(persistence=1, correl_id=b"%d" % (number % KEYS)))
    for queue in gets:
        drain(queue)
    after = [_script_us(node) for node in cluster.primaries]
    return max(end - begin for begin, end in zip(before, after, strict=True)) / MESSAGES


def _script_us(node: Node) -> float:
    """Time that the node has spent in scripts, microseconds: what it does when idle does not count."""
    return float(node.ask("INFO", "commandstats").get("cmdstat_evalsha", {}).get("usec", 0))


def _two(connection: QueueManagerConnection, structures: Sequence[str]) -> Row:
    first, second = [connection.open(f"ON.{each}", OpenOption.OUTPUT) for each in structures[:2]]

    def unit(*queues: Queue) -> Callable[[], None]:
        def run() -> None:
            for queue in queues:
                queue.put(BODY, persistent(), options=PutOption.SYNCPOINT)
            connection.commit()

        return run

    times = {"two": list[float](), "one": list[float]()}
    for _ in range(400):
        for name, run in (("two", unit(first, second)), ("one", unit(first, first))):
            start_s = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start_s)
    two_us, one_us = (1e6 * statistics.median(times[name][50:]) for name in ("two", "one"))
    return Row(
        "two puts in a unit of work over two structures : one",
        two_us / one_us,
        floor=TWO,
        is_limit=True,
        ours=f"{two_us:.0f} us",
        theirs=f"{one_us:.0f} us",
    )
