"""Hops: from the transmit queue to queues of another manager, private and shared, through its agent's process."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from bench.harness import BODY, Cost, commands_processed
from bench.lines.calls.single_calls import SOURCE, TARGET
from bench.manager import running_manager, wait_for_part
from bench.rows import Row, ratio_row
from bench.site import Site, fill, persistent
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.redis.keys import private_structure

FLOOR, SEVERAL_LIMIT, FAR_LIMIT_US = 5.0, 1.3, 8.0
REMOTE_QMGR = "QM2"
#: Queues among which the messages of the line with several destinations go in turns.
SEVERAL = 4
#: Longest time for one round, seconds.
ROUND_TIMEOUT_S = 120.0
_IN_USE = (MQRC.OBJECT_IN_USE, MQRC.Q_NOT_EMPTY)


@dataclass(frozen=True, slots=True)
class _Line:
    """The destinations of messages from their manager's part of the transmit queue, in its own structure or theirs.

    By an alias, a shared queue's messages are in the manager's own structure, and must go to another one.
    """

    name: str
    queues: tuple[str, ...]
    is_shared: bool = False
    alias: str = ""


_LINES = (
    _Line("hop to a private queue", ("BENCH.HOP",)),
    _Line(f"hop to {SEVERAL} private queues in turns", tuple(f"BENCH.HOP.{n}" for n in range(SEVERAL))),
    _Line("hop to a shared queue, in another structure", ("BENCH.HOP.SHARED",), is_shared=True),
    _Line("hop to another structure, through an alias", ("BENCH.HOP.FAR",), is_shared=True, alias="BENCH.HOP.ALIAS"),
)


def measure(site: Site) -> list[Row]:
    """The agent is stopped, its queue filled; timed is from its going on until the last message has arrived.

    The same with streams: a process that reads fifty, adds them to another stream and acknowledges in MULTI, over
    either kind of connection. The last rows say how busy the server was: more agents could bring no more than the rest.
    """
    count = site.effort.hop_messages
    group = site.group
    names = (*(line.name for line in _LINES), "streams", "redis-py")
    costs = {name: Cost() for name in names}
    rounds_commands: dict[str, list[float]] = {name: [] for name in names}
    rounds_busy: dict[str, list[float]] = {name: [] for name in names}
    with running_manager(group, REMOTE_QMGR) as manager:
        ways = [_Way(site, line) for line in _LINES]
        with _hopper(site, "streams") as bare, _hopper(site, "redis-py") as plain:
            for turn in range(1 + max(3, site.effort.rounds // 10)):
                found: dict[str, tuple[float, float, float]] = {}
                for way in ways:
                    found[way.line.name] = _round(site, manager.agent_pid, partial(way.load, count), way.arrived, count)
                    way.clear()
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
                for name, (us, commands, server_us) in found.items():
                    if turn:
                        costs[name].rounds_us.append(us)
                        rounds_commands[name].append(commands)
                        rounds_busy[name].append(us / server_us)
    for name, cost in costs.items():
        cost.commands = statistics.median(rounds_commands[name])
    streams = {name: costs[name] for name in ("streams", "redis-py")}
    hops = [ratio_row(line.name, FLOOR, {"igq": costs[line.name]} | streams) for line in _LINES]
    most = [Row(f"{line.name}: its time : the server's", statistics.median(rounds_busy[line.name])) for line in _LINES]
    one, several, _, far = (costs[line.name].us for line in _LINES)
    turns = Row(f"hop to {SEVERAL} queues in turns : to one", several / one, floor=SEVERAL_LIMIT, is_limit=True)
    return [*hops, *most, turns, Row("hop to another structure", far, "us", floor=FAR_LIMIT_US, is_limit=True)]


class _Way:
    """The queues of one line, made here."""

    def __init__(self, site: Site, line: _Line) -> None:
        self.line, self._client, self._group = line, site.client, site.group
        for name in line.queues:
            if line.is_shared:
                self._group.define_shared(name)
                wait_for_part(self._group, REMOTE_QMGR, name)
            else:
                self._group.define_private(REMOTE_QMGR, name)
        connection = site.connect()
        if line.alias:
            self._group.define(REMOTE_QMGR, QueueAlias(name=line.alias, target=line.queues[0]))
        names = (line.alias,) if line.alias else line.queues
        self._open = [connection.open(name, OpenOption.OUTPUT, qmgr_name=REMOTE_QMGR) for name in names]
        structure = "APPL1" if line.is_shared else private_structure(REMOTE_QMGR)
        keys = self._group.group.structure(structure)
        self._available = [keys.queue(name).available for name in line.queues]

    def load(self, count: int) -> None:
        """Put *count* messages, one on each queue in turns."""
        if len(self._open) == 1:
            fill(self._open[0], count)
            return
        for queue in itertools.islice(itertools.cycle(self._open), count):
            queue.put(BODY, persistent(), options=PutOption.NO_SYNCPOINT)

    def arrived(self) -> int:
        """Messages on their queues."""
        return sum(int(self._client.zcard(key)) for key in self._available)

    def clear(self) -> None:
        """Empty the queues, once the agent has closed them."""
        for name in self.line.queues:
            for attempt in Retrying(
                retry=retry_if_exception(lambda error: isinstance(error, MQIError) and error.reason in _IN_USE),
                wait=wait_fixed(0.005),
                stop=stop_after_delay(ROUND_TIMEOUT_S),
                reraise=True,
            ):
                with attempt:
                    self._group.repository(REMOTE_QMGR).clear(name)


@contextlib.contextmanager
def _hopper(site: Site, how: str) -> Iterator[int]:
    """A process that moves messages from one stream of its own to another; its pid."""
    site.streams.renew(*_ends(how))
    process = subprocess.Popen([sys.executable, "-m", "bench.programs.hopper", site.url, how, *_ends(how)])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _ends(how: str) -> tuple[str, str]:
    return f"{SOURCE}:{how}", f"{TARGET}:{how}"


def _round(
    site: Site, pid: int, load: Callable[[], None], arrived: Callable[[], Any], count: int
) -> tuple[float, float, float]:
    """Microseconds, commands, and microseconds of the server's main thread a message."""
    os.kill(pid, signal.SIGSTOP)
    try:
        load()
        before, looks = commands_processed(site.client), 1
        busy_s = _busy_s(site)
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
    server_us = (_busy_s(site) - busy_s) * 1e6 / count
    # The two looks at the processor time are commands, too.
    return us, (commands_processed(site.client) - before - looks - 2) / count, server_us


def _busy_s(site: Site) -> float:
    """Processor time of the server's main thread."""
    info = site.client.info("cpu")
    return float(info["used_cpu_user_main_thread"]) + float(info["used_cpu_sys_main_thread"])
