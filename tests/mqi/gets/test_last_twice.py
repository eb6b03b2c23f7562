"""Several members say that they are the last: a reused GroupId, reports of two kinds, a mistake."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sharedq import Queue
from sharedq.mqi.constants import Feedback, GetOption, Report
from sharedq.mqi.structures import MQMD
from tests.support.groups import (
    BOTH,
    LMIG,
    LOGICAL,
    LSEG,
    MAY_SEGMENT,
    MIG,
    SEG,
    WHOLE_GROUP,
    drain,
    matching,
    put_member,
    take,
)
from tests.support.members import TestGroup
from tests.support.waits import until_waiting, waits

COMPLETE = int(GetOption.COMPLETE_MSG)


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BOTH)


def put_group(queue: Queue, name: str, length: int) -> list[bytes]:
    """A whole group, whose GroupId is not its own."""
    bodies = [b"%s%d" % (name.encode(), seq) for seq in range(1, length + 1)]
    for seq, body in enumerate(bodies, 1):
        put_member(queue, b"g", seq, body, LMIG if seq == length else MIG)
    return bodies


def put_segments(queue: Queue, *bodies: bytes) -> None:
    offset = 0
    for body in bodies:
        put_member(queue, b"g", 1, body, LSEG if body is bodies[-1] else SEG, offset=offset)
        offset += len(body)


def assert_nothing_is_left(group: TestGroup, queue: Queue) -> None:
    client = group.group.client()
    assert client.zcard(queue.handle.queue.index) == 0
    assert client.hlen(queue.handle.queue.groups) == 0


@pytest.mark.rule("mqi/groups", "Groups, or segmented messages, that use the same GroupId are got one after the other.")
@pytest.mark.parametrize(("first", "second"), [(3, 2), (2, 3), (1, 3), (2, 2), (1, 1)])
def test_groups_with_one_group_id_are_got_one_after_the_other(
    group: TestGroup, queue: Queue, first: int, second: int
) -> None:
    bodies = put_group(queue, "a", first) + put_group(queue, "b", second)
    assert drain(queue, WHOLE_GROUP) == bodies
    assert_nothing_is_left(group, queue)


@pytest.mark.rule("mqi/groups", "Groups, or segmented messages, that use the same GroupId are got one after the other.")
@pytest.mark.parametrize("bodies", [((b"1", b"2", b"3"), (b"4", b"5")), ((b"4", b"5"), (b"1", b"2", b"3"))])
def test_so_are_logical_messages_in_segments(
    group: TestGroup, queue: Queue, bodies: tuple[tuple[bytes, ...], ...]
) -> None:
    for each in bodies:
        put_segments(queue, *each)
    assert drain(queue, COMPLETE) == [b"".join(each) for each in bodies]
    assert_nothing_is_left(group, queue)


@pytest.mark.rule("mqi/groups", "Of several messages that say they are the last of a group, the highest counts.")
def test_without_one_of_two_last_messages_the_group_ends_with_the_other(group: TestGroup, queue: Queue) -> None:
    put_group(queue, "a", 2)
    put_member(queue, b"g", 3, b"a3", LMIG)
    assert take(queue, **matching(b"g", 3)) == b"a3"
    assert drain(queue, WHOLE_GROUP) == [b"a1", b"a2"]
    assert_nothing_is_left(group, queue)


@pytest.mark.rule("mqi/groups", "A message after the last one does not stand for a missing one.")
def test_a_message_after_the_last_one_does_not_replace_a_missing_one(group: TestGroup, queue: Queue) -> None:
    for seq, flags in ((1, MIG), (3, LMIG), (4, MIG)):
        put_member(queue, b"g", seq, b"%d" % seq, flags)
    assert take(queue, WHOLE_GROUP) == b""
    assert take(group.connect().open("Q", BOTH), **matching(b"g", 4)) == b"4"
    assert take(queue, WHOLE_GROUP) == b""
    put_member(queue, b"g", 2, b"2")
    assert drain(queue, WHOLE_GROUP) == [b"1", b"2", b"3"]


@pytest.mark.rule(
    "mqi/groups", "A group or message that becomes whole because a duplicate last one has gone ends a wait."
)
def test_a_group_made_whole_by_a_removed_last_message_ends_a_wait(
    group: TestGroup, pool: ThreadPoolExecutor, queue: Queue
) -> None:
    put_group(queue, "a", 4)
    assert [take(queue, LOGICAL) for _ in range(3)] == [b"a1", b"a2", b"a3"]
    whole = waits(pool, group, WHOLE_GROUP)
    put_member(queue, b"g", 2, b"b2", LMIG)
    put_member(queue, b"g", 1, b"b1")
    until_waiting(group, "Q", 1)
    assert take(queue, LOGICAL) == b"a4"
    assert whole.result(20).body == b"b1"


@pytest.mark.rule(
    "mqi/groups", "A group or message that becomes whole because a duplicate last one has gone ends a wait."
)
def test_a_message_made_whole_by_a_removed_last_segment_ends_a_wait(
    group: TestGroup, pool: ThreadPoolExecutor, queue: Queue
) -> None:
    whole = waits(pool, group, COMPLETE, **matching(b"g", 2))
    put_member(queue, b"g", 2, b"1234", MIG | SEG)
    too_much = put_member(queue, b"g", 2, b"89", MIG | LSEG, offset=7)
    put_member(queue, b"g", 2, b"56", MIG | LSEG, offset=4)
    until_waiting(group, "Q", 1)
    assert take(queue, **matching(msg_id=too_much.msg_id)) == b"89"
    assert whole.result(20).body == b"123456"


@pytest.mark.rule(
    "mqi/groups", "Reports of the arrival of each segment and one of the delivery of the whole both come whole."
)
def test_arrival_and_delivery_reports_of_one_message_both_come_whole(group: TestGroup, queue: Queue) -> None:
    """It came in two segments and was got as one message: two reports of arrival, and one of delivery."""
    group.define_shared("SMALL", max_msg_length=128)
    small = group.connect().open("SMALL", BOTH)
    asks = int(Report.COA | Report.COD)
    small.put(bytes(200), MQMD(version=2, msg_flags=MAY_SEGMENT, report=asks, reply_to_q=b"Q"))
    assert len(small.get(COMPLETE).body) == 200
    reports = [queue.get(COMPLETE) for _ in range(2)]
    assert [(each.md.feedback, each.data_length) for each in reports] == [(Feedback.COA, 200), (Feedback.COD, 200)]
    assert_nothing_is_left(group, queue)


@pytest.mark.rule("mqi/groups", "A whole message is found even if an incomplete segment has its place in the group.")
@pytest.mark.parametrize("options", [COMPLETE, LOGICAL | COMPLETE, LOGICAL | GetOption.ALL_SEGMENTS_AVAILABLE])
def test_a_whole_message_counts_beside_an_incomplete_segment_at_its_place(
    group: TestGroup, pool: ThreadPoolExecutor, queue: Queue, options: int
) -> None:
    waiting = waits(pool, group, options)
    put_member(queue, b"g", 1, b"segment", LMIG | SEG)
    until_waiting(group, "Q", 1)
    put_member(queue, b"g", 1, b"whole", LMIG)
    assert waiting.result(20).body == b"whole"
    assert drain(queue) == [b"segment"]
    assert_nothing_is_left(group, queue)
