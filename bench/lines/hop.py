"""A hop: from the transmit queue to a private queue of another manager, through its agent's process."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from bench.harness import BODY, commands_processed
from bench.lines.single import SOURCE, TARGET, fill_stream
from bench.manager import running_manager
from bench.rows import Row
from bench.site import Site, fill
from sharedq.keys import private_structure
from sharedq.mqi.constants import OpenOption

FLOOR = 3.0
REMOTE_QMGR, QUEUE = "QM2", "BENCH.TARGET"
#: Longest time for one round, seconds.
ROUND_TIMEOUT_S = 120.0


def measure(site: Site) -> list[Row]:
    """The mover is stopped, its queue filled; timed is from its going on until the last message has arrived.

    The same with streams: a process that reads fifty, adds them to another stream and acknowledges in MULTI.
    """
    count = site.effort.hop_messages
    group = site.group
    costs: dict[str, list[tuple[float, float]]] = {"igq": [], "streams": []}
    with running_manager(group, REMOTE_QMGR) as agent_pid:
        group.define_private(REMOTE_QMGR, QUEUE)
        queue = site.connect().open(QUEUE, OpenOption.OUTPUT, qmgr_name=REMOTE_QMGR)
        keys = group.group.structure(private_structure(REMOTE_QMGR)).queue(QUEUE)
        fill_stream(site, 0)
        hopper = subprocess.Popen([sys.executable, "-m", "bench.hopper", site.url])
        try:
            for turn in range(1 + max(3, site.effort.rounds // 10)):
                ours = _round(
                    site, agent_pid, lambda: fill(queue, count), lambda: int(site.client.zcard(keys.available)), count
                )
                group.repository(REMOTE_QMGR).clear(QUEUE)
                theirs = _round(
                    site,
                    hopper.pid,
                    lambda: site.streams.add_many(SOURCE, [BODY] * count),
                    lambda: int(site.client.xlen(TARGET)),
                    count,
                )
                site.streams.send(("XTRIM", SOURCE, "MAXLEN", 0), ("XTRIM", TARGET, "MAXLEN", 0))
                if turn:
                    costs["igq"].append(ours)
                    costs["streams"].append(theirs)
        finally:
            hopper.kill()
            hopper.wait()
    us = {name: statistics.median(cost for cost, _ in found) for name, found in costs.items()}
    commands = {name: statistics.median(number for _, number in found) for name, found in costs.items()}
    return [
        Row(
            "hop through the agent",
            us["streams"] / us["igq"],
            floor=FLOOR,
            ours=f"{us['igq']:.1f} us",
            theirs=f"{us['streams']:.1f} us",
            commands=(commands["igq"], commands["streams"]),
        )
    ]


def _round(
    site: Site, pid: int, load: Callable[[], None], arrived: Callable[[], int], count: int
) -> tuple[float, float]:
    """Microseconds and commands a message."""
    os.kill(pid, signal.SIGSTOP)
    try:
        load()
        before, looks = commands_processed(site.client), 1
    finally:
        start_ns = time.perf_counter_ns()
        os.kill(pid, signal.SIGCONT)
    end_ns = start_ns + ROUND_TIMEOUT_S * 1e9
    while arrived() < count:
        looks += 1
        if time.perf_counter_ns() > end_ns:
            raise RuntimeError(f"of {count} messages only {arrived()} have arrived")
        time.sleep(0.001)
    us = (time.perf_counter_ns() - start_ns) / 1_000 / count
    return us, (commands_processed(site.client) - before - looks) / count
