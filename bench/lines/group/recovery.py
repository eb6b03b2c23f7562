"""Recovery: from kill -9 of a manager, or of a program, until the last message that it held is back on its queue."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import redis

from bench.manager import running_crowd, running_manager
from bench.rows import Row
from bench.site import QMGR, Site, drain, fill
from igq.errors import CommandError
from igq.rehearsal.drills.troubles.network import Network
from sharedq.api import Queue
from sharedq.mqi.constants import OpenOption
from sharedq.settings.values import Settings
from tests.support.members import TestGroup
from tests.support.partitions import Remote

#: Over the lease: until the last of 1,000 messages of a dead manager is back, and of 10,000.
MANAGER_LIMITS_S = {1_000: 1.0, 10_000: 2.0}
PROGRAM_LIMIT_S = 0.1
#: Messages a second, from the first that is back to the last.
RATE_FLOOR = 10_000.0
#: Of a manager on another host, and of half of many managers.
MESSAGES = 1_000
#: Managers on another host that are killed one after the other, and the time that each may take.
HOST_TURNS, HOST_LIMIT_S = 3, 0.8
#: Managers that are threads, the processes that they share, and the time after half of these are killed.
MANY, PROCESSES, MANY_LIMIT_S = 64, 4, 2.0
#: Messages of one unit of work: as many as an agent's batch, and as MAXUMSGS allows.
UNITS = (50, 10_000)
QUEUE = "BENCH.RECOVERY"
PEER = "QM3"
#: Seconds between two looks at the queue.
LOOK_S = 0.001
TIMEOUT_S = 60.0
_names = itertools.count(10)


def measure(site: Site) -> list[Row]:
    """A manager is killed with its agent, and its one program is told nothing: a peer shuts that out."""
    lease_ms = int(Settings.model_fields["lease_ms"].default)
    group = site.new_group(journal=False, lease_ms=lease_ms)
    group.define_shared(QUEUE)
    with running_manager(group, PEER):
        _until_gone(group, QMGR)
        queue = group.connect(PEER).open(QUEUE, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
        rows = [_program(site, group, queue)]
        for messages, over_s in MANAGER_LIMITS_S.items():
            for unit in UNITS:
                rows += _manager(site, group, queue, messages, min(unit, messages), lease_ms / 1000 + over_s)
    return [*rows, *_over_hosts(site, lease_ms), _half_of_many(site, lease_ms)]


def _until_gone(group: TestGroup, qmgr: str) -> None:
    """The lease of the member that no process renews runs out once. That is not measured."""
    end_s = time.monotonic() + TIMEOUT_S
    while (member := group.group.member(qmgr)) is not None and member.state != "FAILED":
        if time.monotonic() > end_s:
            raise RuntimeError(f"{qmgr} is {member.state}")
        time.sleep(0.05)


def _program(site: Site, group: TestGroup, queue: Queue) -> Row:
    times = []
    for _ in range(max(5, site.effort.rounds)):
        fill(queue, 1)
        with _victim(group, PEER, 1, 1) as victim:
            _settle()
            start_s = time.monotonic()
            victim.kill()
            _, last_s = _until_back(site.client, group, 1)
            times.append(last_s - start_s)
        drain(queue)
    found_s = statistics.median(times)
    row = "kill -9 of a program until its message is back"
    return Row(
        row, 1000 * found_s, "ms", floor=1000 * PROGRAM_LIMIT_S, is_limit=True, theirs=f"max {1000 * max(times):.0f} ms"
    )


def _manager(site: Site, group: TestGroup, queue: Queue, messages: int, unit: int, limit_s: float) -> list[Row]:
    fill(queue, messages)
    name = f"QM{next(_names)}"
    with running_manager(group, name) as manager, _victim(group, name, messages, unit):
        _settle()
        start_s = time.monotonic()
        for pid in (manager.pid, manager.agent_pid):
            os.kill(pid, signal.SIGKILL)
        first_s, last_s = _until_back(site.client, group, messages)
    drain(queue)
    what = f"{messages:,} messages of a killed manager, {unit:,} a unit of work"
    seconds = last_s - first_s
    return [
        Row(f"kill -9 until the last of {what}", last_s - start_s, "s", floor=limit_s, is_limit=True),
        Row(f"a second, {what}", messages / seconds if seconds else float("inf"), "/s", floor=RATE_FLOOR),
    ]


def _over_hosts(site: Site, lease_ms: int) -> list[Row]:
    """A manager is killed whose one peer is on another host. Hosts are network namespaces; without root, no row."""
    with contextlib.ExitStack() as stack:
        try:
            network = stack.enter_context(Network(("redis", "here", "there")))
        except CommandError:
            return []
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="igq")))
        server = Remote(
            *(folder / "server", network, "redis", "--appendonly", "yes", "--appendfsync", site.fsync, "--save", "")
        )
        stack.callback(server.kill)
        group = TestGroup(server.local_url, folder, journal=False, lease_ms=lease_ms)
        stack.callback(group.close)
        group.add_member(QMGR)
        group.define_shared(QUEUE)
        stack.enter_context(running_manager(group, PEER, network.enter("here"), f"redis://{server.address}"))
        _until_gone(group, QMGR)
        queue = group.connect(PEER).open(QUEUE, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
        times = []
        for _ in range(HOST_TURNS):
            fill(queue, MESSAGES)
            name, where = f"QM{next(_names)}", (network.enter("there"), f"redis://{server.address}")
            with running_manager(group, name, *where) as manager, _victim(group, name, MESSAGES, UNITS[0], *where):
                _settle()
                start_s = time.monotonic()
                for pid in (manager.pid, manager.agent_pid):
                    os.kill(pid, signal.SIGKILL)
                times.append(_until_back(server.client(), group, MESSAGES)[1] - start_s)
            drain(queue)
    row = f"kill -9 until the last of {MESSAGES:,} messages of a manager on another host"
    return [_seconds(row, times, HOST_LIMIT_S)]


def _half_of_many(site: Site, lease_ms: int) -> Row:
    """Half of many managers are killed at once, each of which had a program with a unit of work."""
    group = site.new_group(journal=False, lease_ms=lease_ms)
    group.define_shared(QUEUE)
    names = [f"QM{number}" for number in range(2, 2 + MANY)]
    killed = [name for part in range(PROCESSES // 2) for name in names[part::PROCESSES]]
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(running_crowd(group, names[part::PROCESSES])) for part in range(PROCESSES)]
        _until_gone(group, QMGR)
        queue = group.connect(names[-1]).open(QUEUE, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
        unit = MESSAGES // len(killed)
        fill(queue, unit * len(killed))
        stack.enter_context(_victim(group, ",".join(killed), unit * len(killed), unit))
        _settle()
        start_s = time.monotonic()
        for pid in pids[: PROCESSES // 2]:
            os.kill(pid, signal.SIGKILL)
        took_s = _until_back(site.client, group, unit * len(killed))[1] - start_s
    return _seconds(f"kill -9 of {len(killed)} of {MANY} managers until all is back", [took_s], MANY_LIMIT_S)


def _seconds(name: str, times: Sequence[float], limit_s: float) -> Row:
    shown = f"max {max(times):.2f} s"
    return Row(name, statistics.median(times), "s", floor=limit_s, is_limit=True, theirs=shown)


def _settle() -> None:
    """A process killed in its start-up is another case."""
    time.sleep(0.2)


def _until_back(client: redis.Redis, group: TestGroup, count: int) -> tuple[float, float]:
    """The times at which the first message (about) and the last one were back."""
    key = group.group.structure("APPL1").queue(QUEUE).available
    first_s, before_s = 0.0, time.monotonic()
    while (found := int(client.zcard(key))) < count:
        now_s = time.monotonic()
        if found and not first_s:
            first_s = before_s
        if now_s - before_s > TIMEOUT_S:
            raise RuntimeError(f"{found} of {count} messages are back")
        if not found:
            before_s = now_s
        time.sleep(LOOK_S)
    return first_s or before_s, time.monotonic()


@contextlib.contextmanager
def _victim(
    group: TestGroup, qmgr: str, messages: int, unit: int, enter: Sequence[str] = (), url: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    settings = group.settings
    process = subprocess.Popen(
        [
            *(*enter, sys.executable, "-m", "bench.programs.victim"),
            *(url or str(settings.redis_url), settings.group, str(settings.data_dir)),
            *(str(settings.lease_ms), qmgr, QUEUE, str(messages), str(unit)),
        ],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        if process.stdout.readline() != b"held\n":
            raise RuntimeError("the program that is to be killed holds no messages")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
