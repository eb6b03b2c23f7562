"""Redis is killed in the middle of units of work and comes back: acknowledged messages are there, none twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from recovery.resolution import recover
from sharedq.calls.unit.commit import commit
from sharedq.members.process import Process
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import ConnectionBroken, MQIError
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.server import Server

pytestmark = pytest.mark.faults

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
PUTTERS, GETTERS, ROUNDS = 3, 2, 2
UNIT = 3
#: Acknowledged units of work after which Redis is killed.
ENOUGH = 40


@dataclass
class History:
    """Bodies by outcome: the call succeeded, failed, or has an unknown outcome."""

    ok: list[bytes] = field(default_factory=list)
    failed: list[bytes] = field(default_factory=list)
    unknown: list[bytes] = field(default_factory=list)


@dataclass
class Run:
    """The state that all programs of one round share."""

    group: TestGroup
    acknowledged: int = 0
    is_enough: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self) -> None:
        with self.lock:
            self.acknowledged += 1
            if self.acknowledged == ENOUGH:
                self.is_enough.set()

    def put(self, process: Process, name: str) -> History:
        """Put units of work until the connection breaks."""
        history, number = History(), 0
        with suppress(ConnectionBroken):
            queue = self.group.connect(process=process).open("Q", BOTH)
            while True:
                bodies = [b"%s %d" % (name.encode(), number + n) for n in range(UNIT)]
                number += UNIT
                is_async = PutOption.ASYNC_RESPONSE if number % 2 else 0
                is_committing = False
                try:
                    for body in bodies:
                        queue.put(body, MQMD(persistence=1), options=PutOption.SYNCPOINT | is_async)
                    is_committing = True
                    commit(queue.connection)
                except ConnectionBroken:
                    (history.unknown if is_committing else history.failed).extend(bodies)
                    raise
                history.ok.extend(bodies)
                self.note()
        return history

    def get(self, process: Process) -> History:
        """Take units of work until the connection breaks."""
        history = History()
        with suppress(ConnectionBroken):
            queue = self.group.connect(process=process).open("Q", BOTH)
            while True:
                bodies: list[bytes] = []
                is_committing = False
                try:
                    while len(bodies) < UNIT:
                        bodies.append(queue.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=-1).body)
                    is_committing = True
                    commit(queue.connection)
                except ConnectionBroken:
                    (history.unknown if is_committing else history.failed).extend(bodies)
                    raise
                history.ok.extend(bodies)
                self.note()
        return history


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that syncs every write before it answers."""
    server = Server(fsync="always")
    yield server
    server.close()


@pytest.mark.invariant(7, 8)
def test_acknowledged_messages_survive_and_none_comes_twice(server: Server, tmp_path: Path) -> None:
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_shared("Q")
    puts, gets = History(), History()
    for round_number in range(ROUNDS):
        run = Run(group)
        processes = [group.process() for _ in range(PUTTERS + GETTERS)]
        with ThreadPoolExecutor(PUTTERS + GETTERS) as pool:
            putters = [
                pool.submit(run.put, process, f"{round_number}/{n}") for n, process in enumerate(processes[:PUTTERS])
            ]
            getters = [pool.submit(run.get, process) for process in processes[PUTTERS:]]
            assert run.is_enough.wait(60)
            server.kill()
            for total, ended in ((puts, putters), (gets, getters)):
                for future in ended:
                    history = future.result(60)
                    total.ok += history.ok
                    total.failed += history.failed
                    total.unknown += history.unknown
        server.start()
        with suppress(MQIError):
            # The group's own link learns once that Redis was away.
            group.group.members()
        for process in processes:
            process.stop_renewing()
            assert recover(group.group, group.connect().connection, process.token, force=True).is_resolved

    queue = group.connect().open("Q", BOTH)
    left = []
    with suppress(MQIError):
        while True:
            left.append(queue.get().body)
    group.close()

    assert puts.ok
    assert gets.ok
    seen = Counter(gets.ok) + Counter(left)
    maybe_seen = Counter(gets.unknown)
    assert [body for body, times in seen.items() if times > 1] == [], "twice"
    lost = [body for body in puts.ok if seen[body] + maybe_seen[body] == 0]
    assert lost == []
    assert not set(puts.failed) & (set(seen) | set(maybe_seen)), "never committed"
    assert set(seen) | set(maybe_seen) <= set(puts.ok) | set(puts.unknown)
    # A program's word about its back-out or its loss is settled: a unit of work is there whole or not at all.
    for first in range(0, len(puts.unknown), UNIT):
        unit = puts.unknown[first : first + UNIT]
        assert len({seen[body] + maybe_seen[body] > 0 for body in unit}) == 1
    for putter in {body.split()[0] for body in left}:
        numbers = [int(body.split()[1]) for body in left if body.split()[0] == putter]
        assert numbers == sorted(numbers)
