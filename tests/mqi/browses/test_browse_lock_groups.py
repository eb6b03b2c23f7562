"""MQGMO_LOCK with groups and segments: the messages locked together, the handles kept out, and expiry."""

from __future__ import annotations

import pytest

from sharedq import Queue
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LOGICAL, LSEG, MIG, SEG, browse_all, drain, put_member, reason_of, take
from tests.support.locks import locked
from tests.support.members import TestGroup

FIRST, NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
UNDER_CURSOR, TAKE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR), int(GetOption.MSG_UNDER_CURSOR)
LOCK, WHOLE = int(GetOption.LOCK), int(GetOption.COMPLETE_MSG)
LOCK_FIRST, LOCK_NEXT = FIRST | LOCK, NEXT | LOCK


@pytest.fixture
def segmented(group: TestGroup) -> Queue:
    """A queue with a logical message in three segments, and another message after it."""
    group.define_shared("Q")
    opened = group.connect().open("Q", BOTH)
    for offset, flags in ((0, SEG), (1, SEG), (2, LSEG)):
        put_member(opened, b"s", 1, b"%d" % offset, flags, offset=offset)
    opened.put(b"plain")
    return opened


@pytest.mark.rule("mqi/locks", "With COMPLETE_MSG, a handle locks all segments of one logical message.")
def test_a_whole_logical_message_is_locked_in_all_its_segments(group: TestGroup, segmented: Queue) -> None:
    other = group.connect().open("Q", BOTH)
    assert segmented.get(LOCK_FIRST | WHOLE).body == b"012"
    assert locked(group) == 3
    assert browse_all(other) == browse_all(other, WHOLE) == [b"plain"]
    assert segmented.get(TAKE_UNDER_CURSOR | WHOLE).body == b"012"
    assert (locked(group), drain(other)) == (0, [b"plain"])


@pytest.mark.rule(
    "mqi/locks", "Browsing one segment of a locked logical message with LOCK leaves the whole message locked."
)
def test_a_message_stays_locked_when_a_segment_is_browsed_with_a_lock(group: TestGroup, segmented: Queue) -> None:
    segmented.get(LOCK_FIRST | WHOLE)
    assert segmented.get(UNDER_CURSOR | LOCK).body == b"0"
    assert locked(group) == 3
    # Without LOCK it is unlocked, and with it all messages that were locked together with it.
    assert segmented.get(UNDER_CURSOR).body == b"0"
    assert locked(group) == 0


@pytest.mark.rule("mqi/locks", "A locked segment keeps other handles from the whole logical message.")
def test_a_locked_segment_keeps_others_from_the_whole_message(group: TestGroup, segmented: Queue) -> None:
    other = group.connect().open("Q", BOTH)
    segmented.get(FIRST)
    assert segmented.get(LOCK_NEXT).body == b"1"
    assert locked(group) == 1
    assert browse_all(other, WHOLE) == [b"plain"]
    assert browse_all(other) == [b"0", b"2", b"plain"]
    assert segmented.unlock()
    assert other.get(WHOLE).body == b"012"


def test_one_segment_taken_of_those_locked_leaves_the_others_locked(group: TestGroup, segmented: Queue) -> None:
    segmented.get(LOCK_FIRST | WHOLE)
    assert segmented.get().body == b"0"
    assert (locked(group), browse_all(group.connect().open("Q", BOTH))) == (2, [b"plain"])
    segmented.unlock()
    assert browse_all(segmented) == [b"1", b"2", b"plain"]


def test_segments_of_another_character_set_are_locked_with_the_returned(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"s", 1, b"0", SEG, coded_char_set_id=1208)
    put_member(queue, b"s", 1, b"1", LSEG, offset=1, coded_char_set_id=500)
    message = queue.get(LOCK_FIRST | WHOLE)
    assert (message.body, message.reason) == (b"0", MQRC.INCONSISTENT_CCSIDS)
    assert locked(group) == 2


def test_a_locked_member_of_a_group_keeps_the_group_from_being_complete(group: TestGroup) -> None:
    group.define_shared("Q")
    queue, other = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"1", MIG)
    put_member(queue, b"g", 2, b"2", LMIG)
    queue.get(FIRST)
    assert queue.get(LOCK_NEXT).body == b"2"
    whole = int(GetOption.ALL_MSGS_AVAILABLE)
    assert reason_of(other, whole | LOGICAL) == MQRC.NO_MSG_AVAILABLE
    assert queue.get(whole | LOGICAL).body == b"1"
    assert queue.get(whole | LOGICAL).body == b"2"
    assert locked(group) == 0


def test_a_lock_goes_along_with_a_browse_in_logical_order(group: TestGroup) -> None:
    group.define_shared("Q")
    queue, other = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    put_member(queue, b"g", 3, b"3", LMIG)
    put_member(queue, b"g", 2, b"2", MIG)
    put_member(queue, b"g", 1, b"1", MIG)
    queue.put(b"plain")
    bodies = []
    for how in (LOCK_FIRST, LOCK_NEXT, LOCK_NEXT, LOCK_NEXT):
        bodies.append(queue.get(how | LOGICAL).body)
        assert locked(group) == 1
        assert bodies[-1] not in browse_all(other)
    assert bodies == [b"1", b"2", b"3", b"plain"]
    assert reason_of(queue, LOCK_NEXT | LOGICAL) == MQRC.NO_MSG_AVAILABLE
    assert locked(group) == 0


def test_nothing_is_left_when_all_is_got(group: TestGroup, segmented: Queue) -> None:
    segmented.get(LOCK_FIRST | WHOLE)
    segmented.get(LOCK_NEXT)
    drain(segmented)
    keys, client = group.group.structure("APPL1"), group.group.client()
    names = keys.queue("Q")
    assert client.exists(names.available, names.members, names.index, names.groups, names.locks, keys.messages) == 0
    assert client.hmget(names.queue, ["gm", "lk"]) == [b"0", b"0"]


# -- expiry ------------------------------------------------------------------------------------------------------------


def test_a_locked_message_that_expires_is_gone_for_its_own_handle_too(group: TestGroup) -> None:
    group.define_shared("Q")
    queue, other = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    queue.put(b"short", MQMD(expiry=1))
    queue.put(b"long")
    queue.get(LOCK_FIRST)
    group.wait_redis_ms(150)
    assert locked(group) == 1
    assert reason_of(queue, TAKE_UNDER_CURSOR) == MQRC.NO_MSG_UNDER_CURSOR
    assert locked(group) == 0
    assert drain(other) == [b"long"]


def test_a_message_that_expired_under_a_lock_is_discarded_when_that_ends(group: TestGroup) -> None:
    group.define_shared("Q")
    queue, other = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    queue.put(b"short", MQMD(expiry=1, correl_id=b"C" * 24))
    queue.get(LOCK_FIRST)
    group.wait_redis_ms(150)
    assert queue.unlock()
    assert take(other) == b""
    keys, client = group.group.structure("APPL1"), group.group.client()
    names = keys.queue("Q")
    assert client.exists(keys.messages, keys.expiry, names.available, names.index, names.locks) == 0
