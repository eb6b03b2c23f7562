"""A batch that always fails: one decision moves its messages to the backout queue, and the query continues."""

from __future__ import annotations

import os
import signal
from itertools import count
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.claims.release import claims_in
from igq.pipeline.datasource.queue.stream import Offset
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.backout_queue import back_out_batch
from sharedq.mqi.errors import MQIError
from sharedq.redis.link import Link
from tests.pipeline.streams import EVERYTHING, Checkpoint, Drivers, Watch, bodies, in_doubt, open_orders, others
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

FIVE = ReadMaxRows(5)


@pytest.fixture(autouse=True)
def _orders(group: TestGroup) -> None:
    """Twelve messages, and a backout queue."""
    open_orders(group)
    group.define_shared("ORDERS.BACKOUT")
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"backout_requeue_q_name": "ORDERS.BACKOUT"})


def fail(drivers: Drivers, checkpoint: Checkpoint, times: int = 2) -> tuple[Offset, Offset]:
    """A query whose first batch is read and never processed."""
    for number in range(times):
        reader = drivers.start()
        if not number:
            start = reader.initialOffset()
            end = reader.latestOffset(start, FIVE)
            checkpoint.begin(0, end)
        assert bodies(reader, start, end) == EVERYTHING[:5]
    reader.stop()
    return start, end


def test_its_messages_are_moved_and_the_query_goes_on(
    group: TestGroup, drivers: Drivers, checkpoint: Checkpoint
) -> None:
    moved = group.connect().open("ORDERS.BACKOUT", BOTH)
    start, end = fail(drivers, checkpoint)
    (claimed,) = claims_in(group.settings)
    assert (claimed.messages, claimed.times_read) == (10, 2)

    assert back_out_batch(group.settings, "billing", checkpoint.path) == (5, "ORDERS.BACKOUT")

    assert browse_all(moved) == EVERYTHING[:5]
    # They are as they were put.
    assert moved.get().md.correl_id == b"c0".ljust(24, b"\0")
    with pytest.raises(PipelineError, match="are on a backout queue: start the query"):
        back_out_batch(group.settings, "billing", checkpoint.path)
    reader = drivers.start()
    assert bodies(reader, start, end) == []
    following = reader.latestOffset(end, FIVE)
    assert bodies(reader, end, following) == EVERYTHING[5:10]
    reader.stop()
    assert in_doubt(group) == 5


def test_an_error_is_reported_and_nothing_changes(group: TestGroup, drivers: Drivers, checkpoint: Checkpoint) -> None:
    group.define_shared("INHIBITED", put="DISABLED")
    fail(drivers, checkpoint)
    with pytest.raises(MQIError, match="2051"):
        back_out_batch(group.settings, "billing", checkpoint.path, "INHIBITED")
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"backout_requeue_q_name": ""})
    with pytest.raises(PipelineError, match="has no BOQNAME: give --target QUEUE"):
        back_out_batch(group.settings, "billing", checkpoint.path)
    checkpoint.end(0)
    with pytest.raises(PipelineError, match="no batch of stream billing was begun and is not processed"):
        back_out_batch(group.settings, "billing", checkpoint.path)
    drivers.start()._claims.hold()
    with pytest.raises(PipelineError, match="a driver of it is running"):
        back_out_batch(group.settings, "billing", checkpoint.path)
    assert stored(group) == 12


@pytest.mark.parametrize("threshold", [0, 1, 3])
def test_from_bothresh_on_a_line_names_the_command(
    group: TestGroup,
    drivers: Drivers,
    checkpoint: Checkpoint,
    threshold: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"backout_threshold": threshold})
    told: list[Any] = []
    monkeypatch.setattr(
        "igq.pipeline.claims.claims.log.warning", lambda event, **details: told.append((event, details))
    )
    fail(drivers, checkpoint, times=5)
    # BOTHRESH(0), the default, is no threshold: an ordinary stop and start says nothing.
    assert [details["times_read"] for _, details in told] == (list(range(threshold, 5)) if threshold else [])
    assert all(
        (event, details["messages"], details["to_move_it"])
        == ("batch_tried_again", 5, "igq pipeline backout billing --checkpoint DIR")
        for event, details in told
    )


def run_and_die(group: TestGroup, checkpoint: Checkpoint, step: int) -> bool:
    """The command in its own process, which is killed after that call of a script. Returns whether it was."""
    child = os.fork()
    if child == 0:
        call_many, calls = Link.call_many, count(1)

        def dying(self: Link, calls_: Any) -> Any:
            found = call_many(self, calls_)
            if next(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        Link.call_many = dying  # type: ignore[assignment, method-assign]
        try:
            back_out_batch(group.settings, "billing", checkpoint.path)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_killed_at_any_step_each_message_is_on_one_of_the_two(
    group: TestGroup, drivers: Drivers, checkpoint: Checkpoint
) -> None:
    moved = group.connect().open("ORDERS.BACKOUT", BOTH)
    start, end = fail(drivers, checkpoint)
    for step in count(1):
        was_killed = run_and_die(group, checkpoint, step)
        with Watch(group):
            until(lambda: not others(group), "what it left is resolved")
        assert browse_all(moved) in ([], EVERYTHING[:5])
        if not was_killed:
            break
    assert step > 10
    assert browse_all(moved) == EVERYTHING[:5]
    reader = drivers.start()
    assert bodies(reader, start, end) == []
    found = bodies(reader, end, reader.latestOffset(end, ReadMaxRows(100)))
    assert sorted(found) == sorted(EVERYTHING[5:])
    reader.stop()
    assert in_doubt(group) == 7
