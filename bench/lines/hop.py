"""A hop: from the transmit queue to a private queue of another manager, through its agent's process."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.harness import BODY, Cost, commands_processed
from bench.lines.single import SOURCE, TARGET
from bench.manager import running_manager
from bench.rows import Row, ratio_row
from bench.site import Site, fill
from sharedq.keys import private_structure
from sharedq.mqi.constants import OpenOption

FLOOR = 3.0
REMOTE_QMGR, QUEUE = "QM2", "BENCH.TARGET"
#: Longest time for one round, seconds.
ROUND_TIMEOUT_S = 120.0


def measure(site: Site) -> list[Row]:
    """The mover is stopped, its queue filled; timed is from its going on until the last message has arrived.

    The same with streams: a process that reads fifty, adds them to another stream and acknowledges in MULTI, over
    either kind of connection.
    """
    count = site.effort.hop_messages
    group = site.group
    costs = {name: Cost() for name in ("igq", "streams", "redis-py")}
    rounds_commands: dict[str, list[float]] = {name: [] for name in costs}
    with running_manager(group, REMOTE_QMGR) as agent_pid:
        group.define_private(REMOTE_QMGR, QUEUE)
        queue = site.connect().open(QUEUE, OpenOption.OUTPUT, qmgr_name=REMOTE_QMGR)
        keys = group.group.structure(private_structure(REMOTE_QMGR)).queue(QUEUE)
        with _hopper(site, "streams") as bare, _hopper(site, "redis-py") as plain:
            for turn in range(1 + max(3, site.effort.rounds // 10)):
                found = {
                    "igq": _round(
                        site,
                        agent_pid,
                        partial(fill, queue, count),
                        partial(site.client.zcard, keys.available),
                        count,
                    )
                }
                group.repository(REMOTE_QMGR).clear(QUEUE)
                for name, pid in (("streams", bare), ("redis-py", plain)):
                    source, target = _ends(name)
                    found[name] = _round(
                        site,
                        pid,
                        partial(site.streams.add_many, source, [BODY] * count),
                        partial(site.client.xlen, target),
                        count,
                    )
                    site.streams.send(("XTRIM", source, "MAXLEN", 0), ("XTRIM", target, "MAXLEN", 0))
                for name, (us, commands) in found.items():
                    if turn:
                        costs[name].rounds_us.append(us)
                        rounds_commands[name].append(commands)
    for name, cost in costs.items():
        cost.commands = statistics.median(rounds_commands[name])
    return [ratio_row("hop through the agent", FLOOR, costs)]


@contextlib.contextmanager
def _hopper(site: Site, how: str) -> Iterator[int]:
    """A process that moves messages from one stream of its own to another; its pid."""
    site.streams.renew(*_ends(how))
    process = subprocess.Popen([sys.executable, "-m", "bench.hopper", site.url, how, *_ends(how)])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _ends(how: str) -> tuple[str, str]:
    return f"{SOURCE}:{how}", f"{TARGET}:{how}"


def _round(
    site: Site, pid: int, load: Callable[[], None], arrived: Callable[[], Any], count: int
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
    while int(arrived()) < count:
        looks += 1
        if time.perf_counter_ns() > end_ns:
            raise RuntimeError(f"of {count} messages only {arrived()} have arrived")
        time.sleep(0.001)
    us = (time.perf_counter_ns() - start_ns) / 1_000 / count
    return us, (commands_processed(site.client) - before - looks) / count
