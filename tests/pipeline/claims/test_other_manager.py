"""A streaming query continues at another manager: its claims belong to the group, so each message comes once."""

from __future__ import annotations

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.claims.release import Released, claims_in, release_stream
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue
from sharedq.objects.definitions.queues import QueueLocal
from tests.pipeline.streams import EVERYTHING, Checkpoint, Drivers, bodies, in_doubt, open_orders, rest
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored

FIVE = ReadMaxRows(5)


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """Twelve messages, and two managers."""
    queue = open_orders(group)
    group.add_member("QM2")
    return queue


def fail(group: TestGroup, qmgr: str) -> None:
    """Its lease has run out, and the group has noted that."""
    keys = group.group.keys
    group.group.client().zadd(keys.leases, {f"{qmgr}.1": 1}, xx=True)
    group.group.call("admin/member_state", [keys.members, keys.fence], [qmgr, 1, '{"state":"FAILED"}'])


def to_the_end(reader: QueueStreamReader, at: Offset) -> list[bytes]:
    found: list[bytes] = []
    while (end := reader.latestOffset(at, FIVE)) != at:
        found += bodies(reader, at, end)
        at = end
    return found


@pytest.mark.parametrize("is_noted", [True, False], ids=["processed", "begun"])
@pytest.mark.parametrize("is_down", [False, True], ids=["QM1 runs", "QM1 is down"])
def test_each_message_comes_once(
    group: TestGroup, orders: Queue, drivers: Drivers, is_noted: bool, is_down: bool
) -> None:
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, FIVE)
    assert bodies(first, start, end) == EVERYTHING[:5]
    rest(first)
    first._ahead._work = None
    first.stop()
    if is_down:
        fail(group, "QM1")

    second = drivers.start(qmgr="QM2")
    if not is_noted:
        # Spark tries it again.
        assert bodies(second, start, end) == EVERYTHING[:5]
    assert to_the_end(second, end) == EVERYTHING[5:]
    assert (browse_all(orders), in_doubt(group), stored(group)) == ([], 0, 0)


@pytest.mark.parametrize("done", [1, 2])
def test_a_release_follows_the_checkpoint_at_any_manager(
    group: TestGroup, orders: Queue, drivers: Drivers, checkpoint: Checkpoint, done: int
) -> None:
    """The first batch was claimed at QM1, the second one at QM2."""
    first = drivers.start()
    start = first.initialOffset()
    middle = first.latestOffset(start, FIVE)
    bodies(first, start, middle)
    second = drivers.start(qmgr="QM2")
    checkpoint.begin(0, middle)
    checkpoint.end(0)
    if done == 2:
        end = second.latestOffset(middle, FIVE)
        bodies(second, middle, end)
        checkpoint.begin(1, end)
        checkpoint.end(1)
    second.stop()
    fail(group, "QM2")

    assert {each.qmgr for each in claims_in(group.settings)} == {"QM2" if done == 2 else "QM1"}
    # The claims ahead at QM1, and those at QM2 that were given back when it stopped.
    assert release_stream(group.settings, "billing", checkpoint=checkpoint.path) == Released(5 * (2 - done), 5)
    assert sorted(browse_all(orders)) == sorted(EVERYTHING[5 * done :])
    assert (in_doubt(group), stored(group)) == (0, 12 - 5 * done)


def test_another_managers_private_queue_is_another_queue(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    for name in ("QM1", "QM2"):
        group.define(name, QueueLocal(name="LOCAL"))
        group.connect(name).open("LOCAL", BOTH).put(name.encode())
    first = drivers.start(queue="LOCAL")
    start = first.initialOffset()
    end = first.latestOffset(start, FIVE)
    assert bodies(first, start, end) == [b"QM1"]

    second = drivers.start(queue="LOCAL", qmgr="QM2")
    with pytest.raises(PipelineError, match="the checkpoint is of a queue of QM1, not of QM2"):
        second.latestOffset(end, FIVE)
    with pytest.raises(PipelineError, match="the checkpoint is of a queue of QM1, not of QM2"):
        second.partitions(start, end)
    assert in_doubt(group) == 1


def test_another_group_is_refused(orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    elsewhere = reader.initialOffset() | {"group": "PROD"}
    with pytest.raises(PipelineError, match="the checkpoint is of group PROD, not of "):
        reader.latestOffset(elsewhere, FIVE)
