"""`deadletter --requeue` has each message on one of the two queues after any kill of its processes."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from sharedq.api import Queue
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, OpenOption
from tests.pipeline.claims.test_stream_kills import END_S, end_of
from tests.pipeline.dying_jobs import MOVING_STEPS, REQUEUE_STEPS
from tests.pipeline.jobs.test_archive_kills import OUTLIVE_S, start_job
from tests.pipeline.jobs.test_deadletter import letter
from tests.pipeline.streams import Watch, in_doubt, others, wait_for_survivor
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3_600)]

DLQ = "DEAD.QUEUE"
MESSAGES = 1_500
EVERYTHING = [b"order %d" % number for number in range(MESSAGES)]


@pytest.fixture
def dead(group: TestGroup) -> Queue:
    """A dead-letter queue with letters to ORDERS."""
    group.define_structure()
    group.define_shared("ORDERS")
    group.define_private("QM1", DLQ)
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": DLQ})
    queue = group.connect().open(DLQ, BOTH | OpenOption.SET_ALL_CONTEXT)
    for body in EVERYTHING:
        letter(queue, "ORDERS", MQRC.Q_FULL, body)
    return queue


def test_killed_at_every_step_each_message_is_on_one_queue_and_in_order(
    group: TestGroup, dead: Queue, tmp_path: Path
) -> None:
    for step in (REQUEUE_STEPS[0], *MOVING_STEPS):
        with Watch(group):
            assert end_of(start(group, tmp_path, step)) == -signal.SIGKILL, step
            until(lambda: not others(group), "what it left is resolved", END_S)
        assert (tmp_path / step).exists()
        check_places(group, dead, step)
    with Watch(group):
        assert end_of(start(group, tmp_path, REQUEUE_STEPS[1])) == -signal.SIGKILL
    check_end(group, dead, tmp_path)
    assert browse_all(group.connect().open("ORDERS", BOTH)) == EVERYTHING


@pytest.mark.parametrize("step", MOVING_STEPS[1:])
def test_a_worker_that_outlives_its_driver_puts_nothing_back_twice(
    group: TestGroup, dead: Queue, tmp_path: Path, step: str
) -> None:
    """It goes on beside the next run, among the same messages."""
    with Watch(group):
        assert end_of(start(group, tmp_path, step, outlive=OUTLIVE_S)) == -signal.SIGKILL
        assert end_of(start(group, tmp_path)) == 0
        wait_for_survivor(tmp_path, step)
        until(lambda: not others(group), "what they left is resolved", END_S)
    # Messages that a survivor had in its unit of work at that moment, and gave back.
    check_end(group, dead, tmp_path)


def check_end(group: TestGroup, dead: Queue, directory: Path) -> None:
    """One more run does the rest."""
    with Watch(group):
        assert end_of(start(group, directory)) == 0
    check_places(group, dead, "all")
    assert (browse_all(dead), in_doubt(group)) == ([], 0)


def check_places(group: TestGroup, dead: Queue, step: str) -> None:
    """Each message is on one of the two, once."""
    back = browse_all(group.connect().open("ORDERS", BOTH))
    left = [body[wire.DLH.length(1) :] for body in browse_all(dead)]
    assert sorted([*back, *left]) == sorted(EVERYTHING), step


def start(group: TestGroup, directory: Path, die: str = "", *, outlive: float | None = None) -> subprocess.Popen[bytes]:
    at = ("--group", group.group.name, "--url", str(group.settings.redis_url), "--master", "local[2]")
    return start_job(directory, die, outlive, "deadletter", "QM1", "--requeue", *at)
