"""MQGMO_COMPLETE_MSG: logical messages put together from their segments."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import MQIError, Queue
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import (
    BOTH,
    LMIG,
    LOGICAL,
    LSEG,
    MIG,
    SEG,
    browse_all,
    drain,
    matching,
    put_member,
    reason_of,
    take,
)
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

SYNCPOINT = int(GetOption.SYNCPOINT)
SEGMENTS = int(GetOption.ALL_SEGMENTS_AVAILABLE)
MESSAGES = int(GetOption.ALL_MSGS_AVAILABLE)
COMPLETE = int(GetOption.COMPLETE_MSG)


@pytest.fixture(params=["shared", "private"])
def queue(group: TestGroup, request: pytest.FixtureRequest) -> Queue:
    group.define_shared("Q") if request.param == "shared" else group.define_private("QM1", "Q")
    return group.connect().open("Q", BOTH)


def put_segments(queue: Queue, *bodies: bytes, group: bytes = b"s", **fields: Any) -> None:
    """One logical message, its last segment first."""
    ends = [sum(map(len, bodies[: at + 1])) for at in range(len(bodies))]
    for at in reversed(range(len(bodies))):
        flags = LSEG if at == len(bodies) - 1 else SEG
        put_member(queue, group, 1, bodies[at], flags, offset=ends[at] - len(bodies[at]), **fields)


@pytest.mark.rule("mqi/groups", "COMPLETE_MSG returns a whole logical message.")
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_logical_message_is_put_together(queue: Queue, persistence: int) -> None:
    put_segments(queue, b"abc", b"de", b"f", persistence=persistence)
    browsed = queue.get(COMPLETE | GetOption.BROWSE_FIRST)
    got = queue.get(COMPLETE)
    for message in (browsed, got):
        assert (message.body, message.md.offset, message.segment_status) == (b"abcdef", 0, b"L")
        assert message.md.msg_flags == SEG | LSEG
    assert take(queue) == b""


def test_segments_leave_and_return_together(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue, other = connection.open("Q", BOTH), group.connect().open("Q", BOTH)
    put_segments(queue, b"abc", b"de", b"f", persistence=1)
    assert take(queue, COMPLETE | SYNCPOINT) == b"abcdef"
    assert take(other) == b""
    connection.backout()
    assert other.get(COMPLETE).md.backout_count == 1
    assert take(other) == b""


@pytest.mark.rule(
    "mqi/groups", "COMPLETE_MSG of persistent segments needs SYNCPOINT or no unit of work under way (2255)."
)
def test_persistent_segments_need_the_unit_of_work_that_is_under_way(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"plain", MQMD(persistence=1))
    put_segments(queue, b"abc", b"de", persistence=1)
    put_segments(queue, b"ghi", b"jk", persistence=0, group=b"n")
    queue.put(b"other", options=PutOption.SYNCPOINT)
    assert take(queue, COMPLETE) == b"plain"
    assert reason_of(queue, COMPLETE) == MQRC.UOW_NOT_AVAILABLE
    assert take(queue, COMPLETE, **matching(b"n")) == b"ghijk"
    assert take(queue, COMPLETE | SYNCPOINT) == b"abcde"
    connection.commit()
    assert take(queue) == b"other"


def test_a_buffer_that_is_too_small(queue: Queue) -> None:
    put_segments(queue, b"abc", b"de", b"f")
    kept = queue.get(COMPLETE, max_length=4)
    assert (kept.body, kept.data_length, kept.reason) == (b"abcd", 6, MQRC.TRUNCATED_MSG_FAILED)
    gone = queue.get(COMPLETE | GetOption.ACCEPT_TRUNCATED_MSG, max_length=4)
    assert (gone.body, gone.data_length, gone.reason) == (b"abcd", 6, MQRC.TRUNCATED_MSG_ACCEPTED)
    assert take(queue) == b""


@pytest.mark.rule("mqi/groups", "COMPLETE_MSG puts segments that disagree together as far as they agree (2243, 2244).")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"coded_char_set_id": 819}, MQRC.INCONSISTENT_CCSIDS), ({"encoding": 785}, MQRC.INCONSISTENT_ENCODINGS)],
)
def test_segments_that_do_not_agree_are_put_together_as_far_as_they_do(
    queue: Queue, fields: dict[str, int], reason: MQRC
) -> None:
    common: dict[str, Any] = {"correl_id": b"c" * 24, "msg_id": b"m" * 24, "report": 64, "expiry": 6000}
    for offset, flags, more in ((0, SEG, {}), (2, SEG, {}), (4, SEG, fields), (6, LSEG, {})):
        put_member(queue, b"g", 1, b"%02d" % offset, flags, offset=offset, **common, **more)
    got = queue.get(COMPLETE | LOGICAL)
    assert (got.body, got.reason, got.segment_status) == (b"0002", reason, b"S")
    assert [take(queue, LOGICAL), take(queue, LOGICAL), take(queue)] == [b"04", b"06", b""]


@pytest.mark.rule("mqi/groups", "Of segments that disagree, 2080 is told before and 2079 after their own reason.")
def test_segments_that_disagree_end_with_2080_first_and_2079_last(queue: Queue) -> None:
    for offset, flags, ccsid in ((0, SEG, 819), (2, SEG, 819), (4, LSEG, 1208)):
        put_member(queue, b"g", 1, b"%02d" % offset, flags, offset=offset, coded_char_set_id=ccsid)
    for option in (0, GetOption.CONVERT):
        assert reason_of(queue, COMPLETE | option, max_length=3) == MQRC.TRUNCATED_MSG_FAILED
    got = queue.get(COMPLETE | GetOption.CONVERT | GetOption.ACCEPT_TRUNCATED_MSG, max_length=3)
    assert (got.body, got.data_length, got.reason) == (b"000", 4, MQRC.INCONSISTENT_CCSIDS)
    assert got.md.coded_char_set_id == 819
    assert drain(queue) == [b"04"]


@pytest.mark.rule("mqi/browse", "COMPLETE_MSG under the cursor needs the first segment there; another offset is 2246.")
def test_only_a_first_segment_can_be_completed_under_the_cursor(queue: Queue) -> None:
    put_segments(queue, b"abc", b"de")
    assert take(queue, GetOption.BROWSE_FIRST) == b"de"
    for option in (GetOption.MSG_UNDER_CURSOR, GetOption.BROWSE_MSG_UNDER_CURSOR):
        assert reason_of(queue, COMPLETE | option) == MQRC.INVALID_MSG_UNDER_CURSOR
    assert take(queue, GetOption.BROWSE_NEXT) == b"abc"
    assert take(queue, COMPLETE | GetOption.BROWSE_MSG_UNDER_CURSOR) == b"abcde"
    assert take(queue, COMPLETE | GetOption.MSG_UNDER_CURSOR) == b"abcde"
    assert take(queue) == b""


@pytest.mark.rule(
    "mqi/browse",
    "ALL_MSGS_AVAILABLE and ALL_SEGMENTS_AVAILABLE count under the cursor too: 2034 if something is missing.",
)
@pytest.mark.parametrize("how", [GetOption.MSG_UNDER_CURSOR, GetOption.BROWSE_MSG_UNDER_CURSOR])
def test_under_the_cursor_too_all_must_be_there_that_is_asked_for(queue: Queue, how: GetOption) -> None:
    put_member(queue, b"h", 1, b"one", MIG)
    put_member(queue, b"g", 1, b"part", SEG)
    messages, segments = GetOption.ALL_MSGS_AVAILABLE, GetOption.ALL_SEGMENTS_AVAILABLE
    assert take(queue, GetOption.BROWSE_FIRST) == b"one"
    for options in (messages, messages | GetOption.COMPLETE_MSG):
        assert reason_of(queue, options | how) == MQRC.NO_MSG_UNDER_CURSOR
    assert take(queue, GetOption.BROWSE_NEXT) == b"part"
    for options in (messages, segments):
        assert reason_of(queue, options | how) == MQRC.NO_MSG_UNDER_CURSOR
    put_member(queue, b"h", 2, b"two", LMIG)
    put_member(queue, b"g", 1, b"rest", LSEG, offset=4)
    assert take(queue, segments | how) == b"part"
    assert take(queue, GetOption.BROWSE_FIRST) == b"one"
    assert take(queue, messages | how) == b"one"


@pytest.mark.rule(
    "mqi/browse", "Within a group in logical order, the rest of the group need not be there for a get under the cursor."
)
def test_within_a_group_its_rest_need_not_be_there_under_the_cursor(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1", MIG)
    put_member(queue, b"g", 2, b"2", MIG)
    assert take(queue, LOGICAL) == b"1"
    assert take(queue, GetOption.BROWSE_FIRST) == b"2"
    options = GetOption.MSG_UNDER_CURSOR | GetOption.ALL_MSGS_AVAILABLE
    assert reason_of(queue, options) == MQRC.NO_MSG_UNDER_CURSOR
    assert take(queue, LOGICAL | options) == b"2"


def test_the_message_under_the_cursor_may_have_lost_its_segments(queue: Queue) -> None:
    put_segments(queue, b"abc", b"de")
    assert take(queue, COMPLETE | GetOption.BROWSE_FIRST) == b"abcde"
    assert take(queue, **matching(b"s", 1, 3)) == b"de"
    assert reason_of(queue, COMPLETE | GetOption.MSG_UNDER_CURSOR) == MQRC.NO_MSG_UNDER_CURSOR
    assert take(queue, GetOption.MSG_UNDER_CURSOR) == b"abc"


def test_in_the_middle_of_a_logical_message_nothing_can_be_completed(queue: Queue) -> None:
    put_segments(queue, b"abc", b"de", b"f")
    assert take(queue, LOGICAL) == b"abc"
    assert take(queue, LOGICAL | COMPLETE) == b""
    assert [take(queue, LOGICAL), take(queue, LOGICAL)] == [b"de", b"f"]


def test_a_status_in_segments_is_read_and_cleared(queue: Queue) -> None:
    """IBM's example: intermediate status puts are segments of one message, and one get clears them."""
    offset = 0
    for text, flags in ((b"4;", SEG), (b"8;", SEG), (b"11;", SEG), (b"end", LSEG)):
        put_member(queue, b"status", 1, text, flags, offset=offset)
        offset += len(text)
        if flags == SEG:
            assert browse_all(queue, LOGICAL)[-1] == text
            assert take(queue, COMPLETE) == b""
    assert take(queue, COMPLETE) == b"4;8;11;end"
    assert take(queue) == b""


def test_a_match_for_an_offset_cannot_be_asked_of_whole_messages(queue: Queue) -> None:
    with pytest.raises(MQIError) as caught:
        queue.get(COMPLETE, **matching(offset=0))
    assert caught.value.reason == MQRC.OPTIONS_ERROR


def put_overlapping(queue: Queue, seq: int = 1, flags: int = 0) -> None:
    """As many bytes as there are in all, but some of them twice and others missing."""
    for offset, body, segment in ((0, b"abcd", SEG), (2, b"cd", SEG), (6, b"g", LSEG)):
        put_member(queue, b"o", seq, body, flags | segment, offset=offset)


def test_segments_that_overlap_are_no_logical_message(queue: Queue) -> None:
    put_overlapping(queue)
    assert reason_of(queue, COMPLETE) == MQRC.NO_MSG_AVAILABLE
    assert reason_of(queue, COMPLETE | LOGICAL) == MQRC.NO_MSG_AVAILABLE
    assert reason_of(queue, COMPLETE | GetOption.WAIT, wait_ms=1) == MQRC.NO_MSG_AVAILABLE
    queue.put(b"after")
    put_segments(queue, b"ab", b"c", group=b"whole")
    assert [take(queue, COMPLETE), take(queue, COMPLETE | LOGICAL)] == [b"after", b"abc"]
    assert browse_all(queue, COMPLETE) == []
    assert drain(queue) == [b"abcd", b"cd", b"g"]


def test_a_group_stops_where_segments_overlap(queue: Queue) -> None:
    put_member(queue, b"o", 1, b"1", MIG)
    put_overlapping(queue, 2, LMIG)
    assert take(queue, COMPLETE | LOGICAL) == b"1"
    for options in (0, GetOption.WAIT):
        assert reason_of(queue, COMPLETE | LOGICAL | options, wait_ms=1) == MQRC.NO_MSG_AVAILABLE
    assert take(queue, LOGICAL) == b"abcd"


def test_overlapping_segments_cannot_be_completed_under_the_cursor(queue: Queue) -> None:
    put_overlapping(queue)
    assert queue.get(GetOption.BROWSE_FIRST).body == b"abcd"
    for option in (GetOption.BROWSE_MSG_UNDER_CURSOR, GetOption.MSG_UNDER_CURSOR):
        assert reason_of(queue, COMPLETE | option) == MQRC.NO_MSG_UNDER_CURSOR
    assert queue.get(GetOption.MSG_UNDER_CURSOR).body == b"abcd"


@pytest.mark.rule(
    "mqi/groups", "Within a group in logical order, ALL_MSGS_AVAILABLE asks only for all segments of the next message."
)
@pytest.mark.parametrize("option", [SEGMENTS, MESSAGES, COMPLETE])
def test_inside_a_group_the_next_message_must_be_there_whole(group: TestGroup, queue: Queue, option: int) -> None:
    """Once the message is entered, its first segment suffices for the rest. With COMPLETE_MSG it comes as one."""
    other = group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 2, b"2a", SEG | MIG)
    put_member(queue, b"g", 2, b"2b", LSEG | MIG, offset=2)
    put_member(queue, b"g", 3, b"3", LMIG)
    assert take(queue, LOGICAL | option) == b"1"
    # Neither the rest of the group nor of its next message is there any more.
    assert other.get(**matching(b"g", 3)).body == b"3"
    assert other.get(**matching(b"g", 2, 2)).body == b"2b"
    assert reason_of(queue, LOGICAL | option) == MQRC.NO_MSG_AVAILABLE
    put_member(queue, b"g", 2, b"2b", LSEG | MIG, offset=2)
    if option == COMPLETE:
        assert take(queue, LOGICAL | option) == b"2a2b"
        return
    assert take(queue, LOGICAL | option) == b"2a"
    assert other.get(**matching(b"g", 2, 2)).body == b"2b"
    put_member(queue, b"g", 2, b"2b", SEG | MIG, offset=2)
    assert take(queue, LOGICAL | option) == b"2b"
