"""Five hundred gets wait on one queue, in several programs: puts activate as many as they should, at one price."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from sharedq import Queue
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.server import Server

FEW, MANY = 5, 500
PROGRAMS = 5
#: Fewer than wait in either scene: a put for the last of all waiters is cheaper.
PUTS = 4
ROOT = Path(__file__).parents[3]


class Waiters:
    """Programs with gets that wait, and the pipe that they all write to."""

    def __init__(self, group: TestGroup, queue: str, count: int, programs: int) -> None:
        self.group, self.count = group, count
        read, write = os.pipe()
        self.programs = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.support.waiters"),
                    *(group.settings.model_dump_json(), str(group.settings.redis_url)),
                    *(queue, str(count // programs)),
                ],
                stdin=subprocess.PIPE,
                stdout=write,
                cwd=ROOT,
            )
            for _ in range(programs)
        ]
        os.close(write)
        self.got: IO[bytes] = os.fdopen(read, "rb")
        self.keys = group.group.structure("APPL1")
        self.queue = self.keys.queue(queue)
        until(lambda: self.waiting() == count, f"{count} gets wait", limit_s=200)

    def waiting(self) -> int:
        """How many wait."""
        return self.group.group.client().zcard(self.queue.waiters)

    def on_their_way(self) -> int:
        """How many were woken and have not looked."""
        states: Any = self.group.group.client().hvals(self.keys.owners)
        return sum(state.startswith(b"K") for state in states)

    def bodies(self, count: int) -> set[bytes]:
        """The bodies that *count* of them got."""
        return {self.got.readline().strip() for _ in range(count)}

    def close(self) -> None:
        """End the programs."""
        for program in self.programs:
            program.kill()
            program.communicate()
        self.got.close()


@pytest.fixture
def quiet_group(tmp_path: Path) -> Iterator[TestGroup]:
    """A group on a server that nobody else calls; no lease is renewed while a test lasts."""
    server = Server()
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_structure("APPL1")
    yield group
    group.close()
    server.close()


def calls(group: TestGroup) -> dict[str, int]:
    """Calls of every command since the server started, those of scripts included."""
    found: Any = group.group.client().info("commandstats")
    return {name: each["calls"] for name, each in found.items() if name != "cmdstat_info"}


@pytest.mark.rule("mqi/waiting", "A put wakes one of five hundred waiting gets, and costs what it costs with five.")
@pytest.mark.slow
def test_a_put_costs_the_same_with_five_and_with_five_hundred_waiting(quiet_group: TestGroup) -> None:
    group = quiet_group
    spent = {}
    for count, programs in ((FEW, 1), (MANY, PROGRAMS)):
        name = f"Q{count}"
        group.define_shared(name)
        waiters = Waiters(group, name, count, programs)
        try:
            queue = group.connect().open(name, OpenOption.OUTPUT)
            before = calls(group)
            for number in range(PUTS):
                queue.put(b"%d" % number)
            assert waiters.bodies(PUTS) == {b"%d" % number for number in range(PUTS)}
            after = calls(group)
            spent[count] = {command: times - before.get(command, 0) for command, times in after.items()}
            assert (waiters.waiting(), waiters.on_their_way()) == (count - PUTS, 0)
            if count == MANY:
                _many_puts_wake_as_many(waiters, queue)
        finally:
            waiters.close()
    # Handed over: no script but that of the put.
    assert spent[FEW]["cmdstat_evalsha"] == PUTS
    assert {command: times for command, times in spent[MANY].items() if times} == {
        command: times for command, times in spent[FEW].items() if times
    }


def _many_puts_wake_as_many(waiters: Waiters, queue: Queue) -> None:
    """Each message goes to one of them, and the others go on waiting."""
    bodies = [b"m%d" % number for number in range(waiters.count - PUTS - 10)]
    queue.put_many([(MQMD(), body) for body in bodies])
    assert waiters.bodies(len(bodies)) == set(bodies)
    assert (waiters.waiting(), waiters.on_their_way()) == (10, 0)
