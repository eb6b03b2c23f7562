"""A waiting get's wake-up through intra-group queuing, beside that by a direct put: the get is at another manager."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from bench.harness import BODY
from bench.lines.waits.wakeup import take_samples, waits_on
from bench.manager import running_manager, wait_for_part
from bench.rows import Row
from bench.site import Site, persistent
from sharedq.mqi.constants import OpenOption

LIMIT = 1.8
REMOTE_QMGR = "QM2"
DIRECT, PRIVATE, SHARED = "BENCH.DIRECT", "BENCH.PRIVATE", "BENCH.SHARED"
#: Connections blocked beside the waiting gets: the agent, on both parts of its queue, and the look-out for others.
_OF_THE_AGENT = 3


def measure(site: Site) -> list[Row]:
    """The direct put is on a shared queue: only a shared queue can be used at two managers."""
    group = site.group
    with running_manager(group, REMOTE_QMGR):
        group.define_shared(DIRECT)
        group.define_shared(SHARED)
        group.define_private(REMOTE_QMGR, PRIVATE)
        wait_for_part(group, REMOTE_QMGR, SHARED)
        connection = site.connect()
        queues = {
            DIRECT: connection.open(DIRECT, OpenOption.OUTPUT),
            PRIVATE: connection.open(PRIVATE, OpenOption.OUTPUT, qmgr_name=REMOTE_QMGR),
            SHARED: connection.open(SHARED, OpenOption.OUTPUT, qmgr_name=REMOTE_QMGR),
        }
        puts: dict[str, Callable[[], object]] = {
            name: lambda queue=queue: queue.put(BODY, persistent())  # type: ignore[misc]
            for name, queue in queues.items()
        }
        waits = {name: waits_on(group, REMOTE_QMGR, name) for name in queues}
        samples = take_samples(site, puts, waits, len(puts) + _OF_THE_AGENT)
    us = {name: statistics.median(found) for name, found in samples.items()}
    return [
        Row(
            f"wake-up through IGQ, {kind} queue : direct put",
            us[name] / us[DIRECT],
            floor=LIMIT,
            is_limit=True,
            ours=f"{us[name]:.0f} us",
            theirs=f"{us[DIRECT]:.0f} us",
        )
        for kind, name in (("private", PRIVATE), ("shared", SHARED))
    ]
