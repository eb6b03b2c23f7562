"""A program that is stopped (SIGSTOP) past its lease, recovered, and goes on: it can change nothing any more."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from recovery.resolution import recover
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import dump, on_queue

pytestmark = pytest.mark.faults

BROKEN = "2009"


@pytest.fixture
def program(group: TestGroup) -> Iterator[Program]:
    """It has got a message and put one in each of two structures, all uncommitted."""
    group.define_structure("APPL2")
    group.define_shared("Q")
    group.define_shared("OTHER", "APPL2")
    with group.connect() as connection:
        for body in (b"1", b"2"):
            connection.put1("Q", body)
    program = Program(group.settings)
    assert program.does("get uncommitted") == "1"
    assert program.does("put uncommitted") == "ok"
    assert program.does("put elsewhere") == "ok"
    yield program
    program.close()


def stop_and_recover(group: TestGroup, program: Program) -> None:
    """SIGSTOP. Its lease runs out, and its manager shuts it out and resolves its work."""
    os.kill(program.process.pid, signal.SIGSTOP)
    process = program.token.rpartition(".")[0]
    assert group.group.client().zadd(group.group.keys.leases, {process: 1}, xx=True, ch=True) == 1
    assert recover(group.group, group.connect().connection, process).is_resolved
    assert on_queue(group, "Q") == [(b"1", 1), (b"2", 0)]


@pytest.mark.invariant(2)
@pytest.mark.parametrize(
    "step", ["put", "put uncommitted", "get", "browse", "wait", "commit", "back out", "disconnect"]
)
def test_its_next_call_fails_and_changes_nothing(group: TestGroup, program: Program, step: str) -> None:
    stop_and_recover(group, program)
    before = dump(group, without=("journal",))
    program.ask(step)
    os.kill(program.process.pid, signal.SIGCONT)
    assert program.answer() == BROKEN
    assert program.does("put") == BROKEN
    assert dump(group, without=("journal",)) == before


def test_another_getter_gets_the_message_for_a_getter_stopped_in_its_wait(group: TestGroup, program: Program) -> None:
    assert program.does("back out") == "ok"
    assert [program.does("get"), program.does("get")] == ["1", "2"]
    program.ask("wait uncommitted")
    other = Program(group.settings)
    other.ask("wait")
    waiters = group.group.structure("APPL1").queue("Q").waiters
    try:
        while group.group.client().zcard(waiters) < 2:
            assert program.process.poll() is None
        os.kill(program.process.pid, signal.SIGSTOP)
        with group.connect() as connection:
            connection.put1("Q", b"first")
            connection.put1("Q", b"second")
        stopped = program.token.rpartition(".")[0]
        group.group.client().zadd(group.group.keys.leases, {stopped: 1}, xx=True)
        assert recover(group.group, group.connect().connection, stopped).is_resolved
        assert other.answer() in ("first", "second")
        assert other.does("wait") in ("first", "second")
        os.kill(program.process.pid, signal.SIGCONT)
        # The message may have been on its way to it already. It cannot keep it, though.
        assert program.answer() in ("first", "second", BROKEN)
        assert program.does("commit") == BROKEN
    finally:
        other.close()


@pytest.mark.parametrize("step", ["get uncommitted", "wait"])
def test_a_killed_program_is_recovered_by_its_lease(group: TestGroup, program: Program, step: str) -> None:
    """SIGKILL in the middle of a call, then the same."""
    program.ask(step)
    program.process.kill()
    program.process.wait()
    process = program.token.rpartition(".")[0]
    group.group.client().zadd(group.group.keys.leases, {process: 1}, xx=True)
    assert recover(group.group, group.connect().connection, process).is_resolved
    left = [body for body, _ in on_queue(group, "Q")]
    assert left == [b"1", b"2"] or (step == "wait" and left == [b"1"])
    assert on_queue(group, "OTHER", "APPL2") == []
