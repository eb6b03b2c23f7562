"""The consumers of docs/examples, killed before and after their commits, and interrupted while they wait."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from recovery.resolve import recover
from recovery.target import Target
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.structures import MQMD
from tests.faults.test_spanning_units import DRIVER, ROOT, drained, run
from tests.support.accounts import assert_accounted
from tests.support.killed import environment
from tests.support.members import TestGroup
from tests.support.waits import until_waiting

EXAMPLES = ("asyncio_consumer.py", "callback_consumer.py")
QUEUES = ("IN.A", "IN.B")
pytestmark = pytest.mark.faults


@pytest.fixture
def queues(group: TestGroup) -> TestGroup:
    for name in (*QUEUES, "DONE"):
        group.define_shared(name)
    return group


def put(group: TestGroup) -> list[bytes]:
    """Three messages on each queue; their bodies."""
    bodies = {name: [b"%b %d" % (name.encode(), number) for number in range(3)] for name in QUEUES}
    with group.connect() as connection:
        for name, its in bodies.items():
            with connection.open(name, OpenOption.OUTPUT) as queue:
                queue.put_many([(MQMD(persistence=1), body) for body in its])
    return sorted(body for its in bodies.values() for body in its)


def path_of(example: str) -> str:
    return str(ROOT / "docs" / "examples" / example)


@pytest.mark.invariant(8)
@pytest.mark.parametrize("example", EXAMPLES)
def test_each_message_is_done_once_however_often_it_is_killed(queues: TestGroup, example: str) -> None:
    bodies, arguments = put(queues), ("QM1", "DONE", *QUEUES, "--wait-ms", "1")
    for number in range(40):
        done = run(queues, "-c", DRIVER, ("before", "after")[number % 2], path_of(example), *arguments)
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
        dead = Target.parse(done.stdout.split()[0])
        assert recover(queues.group, queues.connect("QM1").connection, dead, force=True).is_resolved
    assert number >= len(bodies)
    assert sorted(body for body, _ in drained(queues, "DONE")) == bodies
    assert [drained(queues, name) for name in QUEUES] == [[], []]
    assert_accounted(queues.group)


def test_control_c_ends_its_waits_at_once(queues: TestGroup) -> None:
    command = [sys.executable, path_of(EXAMPLES[0]), "QM1", "DONE", *QUEUES, "--wait-ms", "-1"]
    program = subprocess.Popen(command, env=environment(queues), stderr=subprocess.PIPE, text=True)
    try:
        for name in QUEUES:
            until_waiting(queues, name, 1)
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=60)[1] == ""
        assert program.returncode == 0
        for name in QUEUES:
            until_waiting(queues, name, 0)
    finally:
        program.kill()
        program.wait()
