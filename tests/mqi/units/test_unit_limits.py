"""MAXUMSGS: the most messages of a unit of work, for all kinds of puts and gets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, MAY_SEGMENT, reason_of
from tests.support.members import TestGroup
from tests.support.scenes import on_queue

pytestmark = pytest.mark.share

COMPLETE = int(GetOption.COMPLETE_MSG)
IN_UNIT = int(GetOption.SYNCPOINT)
IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
ROOM = 3


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    """Its units of work hold three messages; a message on Q has sixteen bytes."""
    group.define_shared("Q", max_msg_length=16)
    repository = group.repository("QM1")
    repository.alter_qmgr("QM1", {"max_uncommitted_msgs": ROOM})
    connection = group.connect()
    # The value at that time counts.
    repository.alter_qmgr("QM1", {"max_uncommitted_msgs": 100 * ROOM})
    return connection


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH)


def split(queue: Queue, segments: int, options: int = 0) -> MQMD:
    """Put a message that is longer than MAXMSGL."""
    return queue.put(bytes(16 * segments), MQMD(version=2, msg_flags=MAY_SEGMENT), options=options)


def refused(call: Callable[[], object]) -> MQRC:
    with pytest.raises(MQIError) as caught:
        call()
    return caught.value.reason


@pytest.mark.rule(
    "mqi/units", "A call beyond MAXUMSGS, as it was at MQCONN, is refused with 2024, and the unit of work stands."
)
def test_a_unit_of_work_holds_maxumsgs_and_no_more(connection: QueueManagerConnection, queue: Queue) -> None:
    for body in (b"a", b"b"):
        queue.put(body)
    queue.put(b"c", options=PutOption.SYNCPOINT)
    assert queue.get(GetOption.SYNCPOINT).body == b"a"
    two = [(MQMD(), b"d"), (MQMD(), b"e")]
    assert refused(lambda: queue.put_many(two, options=PutOption.SYNCPOINT)) == MQRC.SYNCPOINT_LIMIT_REACHED
    assert queue.get(GetOption.SYNCPOINT).body == b"b"
    for call in (lambda: queue.put(b"f", options=PutOption.SYNCPOINT), lambda: queue.get(GetOption.SYNCPOINT)):
        assert refused(call) == MQRC.SYNCPOINT_LIMIT_REACHED
    queue.put(b"outside")
    connection.commit()
    assert [queue.get().body for _ in range(2)] == [b"c", b"outside"]
    queue.put(b"another", options=PutOption.SYNCPOINT)
    connection.backout()


@pytest.mark.rule("mqi/units", "Each segment of a message that is put counts for MAXUMSGS.")
def test_each_segment_of_a_message_put_counts(connection: QueueManagerConnection, queue: Queue) -> None:
    for options in (int(PutOption.SYNCPOINT), LATER):
        with pytest.raises(MQIError) as caught:
            split(queue, ROOM + 1, options)
        assert caught.value.reason == MQRC.SYNCPOINT_LIMIT_REACHED
        assert not connection.connection.has_unit
        split(queue, ROOM, options)
        connection.commit()
        assert queue.get(COMPLETE).body == bytes(16 * ROOM)


@pytest.mark.rule("mqi/units", "Each segment of a message that is put together counts for MAXUMSGS.")
def test_each_segment_of_a_message_that_is_put_together_counts(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    split(queue, ROOM)
    queue.put(b"first", MQMD(priority=9))
    assert queue.get(IN_UNIT).body == b"first"
    there = on_queue(group, "Q")
    assert reason_of(queue, COMPLETE | IN_UNIT) == MQRC.SYNCPOINT_LIMIT_REACHED
    assert on_queue(group, "Q") == there
    connection.commit()
    assert queue.get(COMPLETE | IN_UNIT).body == bytes(16 * ROOM)
    connection.commit()


@pytest.mark.rule("mqi/units", "An asynchronous put counts for MAXUMSGS before it is sent.")
def test_asynchronous_puts_count_before_they_are_sent(connection: QueueManagerConnection, queue: Queue) -> None:
    for _ in range(ROOM):
        queue.put(b"x", options=LATER)
    assert refused(lambda: queue.put(b"x", options=LATER)) == MQRC.SYNCPOINT_LIMIT_REACHED
    assert reason_of(queue, IN_UNIT) == MQRC.SYNCPOINT_LIMIT_REACHED
    connection.commit()
    assert [message.body for message in queue.get_many(10)] == [b"x"] * ROOM


@pytest.mark.rule(
    "mqi/units", "SYNCPOINT_IF_PERSISTENT gets a nonpersistent message outside the unit of work, even a full one."
)
@pytest.mark.rule(
    "mqi/units", "SYNCPOINT_IF_PERSISTENT gets a persistent message in the unit of work, and any other outside it."
)
def test_a_full_unit_of_work_takes_what_is_not_persistent_outside(
    connection: QueueManagerConnection, queue: Queue
) -> None:
    for persistence in (0, 1):
        queue.put(b"%d" % persistence, MQMD(persistence=persistence))
    for _ in range(ROOM):
        queue.put(b"x", options=PutOption.SYNCPOINT)
    assert queue.get(IF_PERSISTENT).body == b"0"
    assert reason_of(queue, IF_PERSISTENT) == MQRC.SYNCPOINT_LIMIT_REACHED
    connection.backout()
    assert queue.get(IF_PERSISTENT).body == b"1"
    connection.backout()
    assert queue.get().md.backout_count == 1


@pytest.mark.parametrize("end", ["commit", "back out"])
@pytest.mark.parametrize("has_member", [False, True])
def test_of_a_batch_what_is_persistent_is_in_the_unit_of_work(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue, has_member: bool, end: str
) -> None:
    for persistence in (0, 1, 0, 1):
        queue.put(b"%d" % persistence, MQMD(persistence=persistence))
    if has_member:
        queue.put(b"member", MQMD(version=2, msg_flags=8))
    assert [message.body for message in queue.get_many(ROOM, IF_PERSISTENT)] == [b"0", b"1", b"0"]
    assert connection.connection.unit.messages == 1
    (connection.commit if end == "commit" else connection.backout)()
    assert queue.get(IF_PERSISTENT).md.backout_count == (end == "back out")
    connection.commit()
    left = [] if end == "commit" else [b"1"]
    assert [body for body, _ in on_queue(group, "Q")] == left


def test_the_get_after_a_commit_finds_an_empty_unit_of_work(connection: QueueManagerConnection, queue: Queue) -> None:
    # A member makes the get look closely.
    queue.put(b"member", MQMD(version=2, msg_flags=8))
    for body in b"abcd":
        queue.put(bytes([body]))
    queue.handle.gets.has_members = True
    assert [queue.get(IN_UNIT).body for _ in range(ROOM)] == [b"member", b"a", b"b"]
    assert queue.commit_and_get(IN_UNIT).body == b"c"
    connection.backout()
    assert queue.get().md.backout_count == 1
