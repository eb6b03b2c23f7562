"""Groups that span units of work: docs/examples/spanning_units.py, killed before and after every commit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recovery.resolution import recover
from recovery.target import Target
from sharedq.mqi.constants import MQRC, GetOption, MsgFlag, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "docs/examples/spanning_units.py")
LINES = [b"line %d" % number for number in range(1, 8)]
#: Runs the example, and dies by SIGKILL before or after its first commit.
DRIVER = """
import os, runpy, signal, sys
from sharedq.api import QueueManagerConnection

when, commit = sys.argv[1], QueueManagerConnection.commit

def dying(self):
    print(self.connection.process.token, flush=True)
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self)
    os.kill(os.getpid(), signal.SIGKILL)

QueueManagerConnection.commit = dying
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def queues(group: TestGroup) -> TestGroup:
    group.define_shared("ORDERS")
    for name in ("LINES", "DONE", "STATUS.PUT", "STATUS.GET"):
        group.define_private("QM1", name)
    with group.connect() as connection, connection.open("LINES", OpenOption.OUTPUT) as lines:
        for line in LINES:
            lines.put(line, MQMD(persistence=1))
    return group


def run(group: TestGroup, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with *arguments*, as a program of the group."""
    settings = group.settings
    environment = {
        "IGQ_REDIS_URL": str(settings.redis_url),
        "IGQ_GROUP": settings.group,
        "IGQ_DATA_DIR": str(settings.data_dir),
        "IGQ_LEASE_MS": str(settings.lease_ms),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


def run_killed(group: TestGroup, *arguments: str) -> int:
    """Start the example again after each kill until a run has nothing to commit. Returns the number of runs."""
    for number in range(40):
        when = ("before", "after")[number % 2]
        done = run(group, "-c", DRIVER, when, EXAMPLE, *arguments)
        if done.returncode == 0:
            return number + 1
        assert done.returncode == -9, done.stderr
        dead = Target.parse(done.stdout.strip())
        assert recover(group.group, group.connect("QM1").connection, dead, force=True).is_resolved
    raise AssertionError("it never came to an end")


def drained(group: TestGroup, name: str, options: int = 0) -> list[tuple[bytes, MQMD]]:
    found: list[tuple[bytes, MQMD]] = []
    with group.connect() as connection, connection.open(name, OpenOption.INPUT_SHARED) as queue:
        while True:
            try:
                message = queue.get(options)
            except MQIError as error:
                if error.reason != MQRC.NO_MSG_AVAILABLE:
                    raise
                return found
            found.append((message.body, message.md))


@pytest.mark.rule(
    "mqi/spanning",
    "A group that is put over several units of work is put once and whole, killed before or after any commit.",
)
@pytest.mark.parametrize(("status", "commits"), [("plain", 3), ("segments", 4)])
def test_a_group_is_put_once_and_whole_however_often_its_putter_is_killed(
    queues: TestGroup, status: str, commits: int
) -> None:
    runs = run_killed(queues, "put", "QM1", "LINES", "ORDERS", "STATUS.PUT", "--status", status)

    # Killed before and after each commit; the run that finds nothing to do is the last.
    assert runs == 2 * commits + 1
    assert drained(queues, "STATUS.PUT") == drained(queues, "LINES") == []
    whole = drained(queues, "ORDERS", int(GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE))
    assert [body for body, _ in whole] == LINES
    assert [md.msg_seq_number for _, md in whole] == list(range(1, 8))
    assert len({md.group_id for _, md in whole}) == 1
    assert [bool(md.msg_flags & MsgFlag.LAST_MSG_IN_GROUP) for _, md in whole] == [False] * 6 + [True]


@pytest.mark.rule(
    "mqi/spanning", "A group is got and processed once and in order over several units of work, killed at any commit."
)
@pytest.mark.parametrize(("status", "commits"), [("plain", 2), ("segments", 3)])
def test_a_group_is_processed_once_and_in_order_however_often_it_is_killed(
    queues: TestGroup, status: str, commits: int
) -> None:
    with queues.connect() as connection, connection.open("ORDERS", OpenOption.OUTPUT) as orders:
        # The first comes last: logical order is needed.
        for seq in (*range(2, 8), 1):
            flags = MsgFlag.LAST_MSG_IN_GROUP if seq == 7 else MsgFlag.MSG_IN_GROUP
            md = MQMD(version=2, persistence=1, group_id=b"G".ljust(24, b"\0"), msg_seq_number=seq)
            md.msg_flags = int(flags)
            orders.put(LINES[seq - 1], md)

    arguments = ("get", "QM1", "ORDERS", "DONE", "STATUS.GET", "--status", status, "--each", "4", "--wait-ms", "1")
    runs = run_killed(queues, *arguments)

    assert runs == 2 * commits + 1
    assert drained(queues, "STATUS.GET") == drained(queues, "ORDERS") == []
    assert [body for body, _ in drained(queues, "DONE")] == LINES


def test_an_obstacle_to_its_work_is_one_line(queues: TestGroup) -> None:
    done = run(queues, EXAMPLE, "put", "QM1", "NO.SUCH", "ORDERS", "STATUS.PUT")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "spanning_units.py: MQOPEN NO.SUCH: MQRC_UNKNOWN_OBJECT_NAME (2085)\n"
