"""The consumers of docs/examples, killed before and after their commits, and interrupted while they wait."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from recovery.resolution import recover
from recovery.target import Target
from sharedq import pymqi
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.structures import MQMD
from tests.faults.test_spanning_units import DRIVER, ROOT, drained, run
from tests.support.accounts import assert_accounted
from tests.support.killed import environment
from tests.support.members import TestGroup
from tests.support.scenes import until
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


def is_connected(group: TestGroup, pid: int) -> bool:
    keys = group.group.keys.owners
    infos: Any = group.group.client().hvals(keys)
    return any(json.loads(info[info.index(b"{") :])["pid"] == pid for info in infos)


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


@pytest.mark.parametrize("example", EXAMPLES)
def test_control_c_ends_its_waits_at_once(queues: TestGroup, example: str) -> None:
    command = [sys.executable, path_of(example), "QM1", "DONE", *QUEUES, "--wait-ms", "-1"]
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


@pytest.mark.parametrize("example", EXAMPLES)
def test_control_c_at_any_moment_loses_and_doubles_nothing(queues: TestGroup, example: str) -> None:
    """It is pressed while messages come, so it meets the program in its connects, opens, gets, puts and commits."""
    command = [sys.executable, path_of(example), "QM1", "DONE", *QUEUES, "--wait-ms", "-1"]
    expected: list[bytes] = []
    for number in range(8):
        program = subprocess.Popen(command, env=environment(queues), stderr=subprocess.PIPE, text=True)
        try:
            if number % 2:
                until_waiting(queues, QUEUES[0], 1)
            else:
                until(lambda program=program: is_connected(queues, program.pid), "it is connected")  # type: ignore[misc]
            expected += put(queues)
            program.send_signal(signal.SIGINT)
            assert (program.communicate(timeout=60)[1], program.wait()) == ("", 0)
        finally:
            program.kill()
            program.wait()
    left = [body for name in QUEUES for body, _ in drained(queues, name)]
    assert sorted(left + [body for body, _ in drained(queues, "DONE")]) == sorted(expected)
    assert_accounted(queues.group)


@pytest.mark.parametrize("reply_to", ["NO.SUCH.QUEUE", "FULL"])
def test_a_request_whose_reply_cannot_be_put_stays(queues: TestGroup, reply_to: str) -> None:
    queues.define_shared("REQUESTS")
    queues.define_shared("FULL", put="DISABLED")
    with queues.connect() as connection:
        connection.put1("REQUESTS", b"hello", MQMD(persistence=1, reply_to_q=reply_to.encode()))
    trigger = pymqi.TMC2(QName=b"REQUESTS", QMgrName=b"QM1")
    words = trigger.pack().replace(b"\0", b" ").decode()
    done = run(queues, path_of("triggered_program.py"), words)
    assert done.returncode == 1
    assert done.stderr.startswith("triggered_program.py: MQI Error")
    assert len(done.stderr.splitlines()) == 1
    with queues.connect() as connection, connection.open("REQUESTS", OpenOption.INPUT_SHARED) as requests:
        left = requests.get()
        assert (left.body, left.md.backout_count) == (b"hello", 1)


def test_a_request_that_failed_too_often_goes_to_the_backout_queue(queues: TestGroup) -> None:
    queues.define_shared("FAILED")
    queues.define_shared("REQUESTS", backout_threshold=2, backout_requeue_q_name="FAILED")
    queues.define_shared("REPLIES")
    with queues.connect() as connection:
        connection.put1("REQUESTS", b"never", MQMD(persistence=1, reply_to_q=b"NO.SUCH.QUEUE"))
        connection.put1("REQUESTS", b"hello", MQMD(persistence=1, reply_to_q=b"REPLIES"))
    words = pymqi.TMC2(QName=b"REQUESTS", QMgrName=b"QM1").pack().replace(b"\0", b" ").decode()
    statuses = [run(queues, path_of("triggered_program.py"), words).returncode for _ in range(3)]
    assert statuses == [1, 1, 0]
    assert [body for body, _ in drained(queues, "FAILED")] == [b"never"]
    assert [body for body, _ in drained(queues, "REPLIES")] == [b"HELLO"]
    assert_accounted(queues.group)
