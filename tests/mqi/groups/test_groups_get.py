"""MQGET and groups: logical order, selection by place, completeness, and the retained state."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import MQIError, Queue, verbs
from sharedq.calls.unit.commit import backout
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.structures import MQGMO, MQMD
from tests.support.groups import (
    BOTH,
    LMIG,
    LOGICAL,
    LSEG,
    MAY_SEGMENT,
    MIG,
    SEG,
    WHOLE_GROUP,
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


def figure_11(queue: Queue) -> None:
    """IBM's example: the physical order on a queue that its figure 10 shows in logical order."""
    queue.put(b"A")
    put_member(queue, b"Y", 1, b"Y1")
    put_member(queue, b"Z", 2, b"Z2", LMIG)
    put_member(queue, b"Y", 2, b"Y2")
    put_member(queue, b"Y", 3, b"Y3a", LMIG | SEG)
    put_member(queue, b"Y", 3, b"Y3b", LMIG | LSEG, offset=3)
    put_member(queue, b"Z", 1, b"Z1")
    queue.put(b"B")


IN_LOGICAL_ORDER = [b"A", b"Y1", b"Y2", b"Y3a", b"Y3b", b"Z1", b"Z2", b"B"]


@pytest.fixture(params=["shared", "private"])
def queue(group: TestGroup, request: pytest.FixtureRequest) -> Queue:
    group.define_shared("Q") if request.param == "shared" else group.define_private("QM1", "Q")
    return group.connect().open("Q", BOTH)


# -- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/groups", "LOGICAL_ORDER returns the messages of a group by MsgSeqNumber and Offset, as IBM's Figure 10 shows."
)
@pytest.mark.parametrize("options", [0, SEGMENTS, MESSAGES, SYNCPOINT, SYNCPOINT | MESSAGES])
def test_logical_order_is_that_of_figure_10(queue: Queue, options: int) -> None:
    figure_11(queue)
    assert browse_all(queue, LOGICAL | options & ~SYNCPOINT) == IN_LOGICAL_ORDER
    assert drain(queue, LOGICAL | options) == IN_LOGICAL_ORDER


@pytest.mark.rule("mqi/groups", "Without LOGICAL_ORDER, messages come in physical order.")
def test_physical_order_is_that_of_figure_11(queue: Queue) -> None:
    figure_11(queue)
    physical = [b"A", b"Y1", b"Z2", b"Y2", b"Y3a", b"Y3b", b"Z1", b"B"]
    assert browse_all(queue) == physical
    assert [message.body for message in queue.get_many(100)] == physical


@pytest.mark.rule("mqi/groups", "A group stands where its first message stands.")
def test_groups_stand_where_what_begins_them_stands(queue: Queue) -> None:
    """Priority counts there and nowhere else."""
    put_member(queue, b"L", 1, b"L1", priority=0)
    put_member(queue, b"L", 2, b"L2", LMIG, priority=9)
    put_member(queue, b"H", 2, b"H2", LMIG, priority=0)
    put_member(queue, b"H", 1, b"H1", priority=5)
    queue.put(b"plain", MQMD(priority=3))
    assert browse_all(queue, LOGICAL) == [b"H1", b"H2", b"plain", b"L1", b"L2"]
    assert drain(queue, LOGICAL) == [b"H1", b"H2", b"plain", b"L1", b"L2"]


@pytest.mark.rule(
    "mqi/groups",
    "A group whose first message is missing is not entered; a browse within it goes on if that is removed.",
)
def test_a_group_without_its_first_message_is_not_entered_but_continued(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 2, b"2")
    put_member(queue, b"g", 3, b"3", LMIG)
    assert take(queue, LOGICAL | GetOption.BROWSE_FIRST) == b"1"
    assert take(queue, GetOption.MSG_UNDER_CURSOR) == b"1"
    assert take(queue, LOGICAL | GetOption.BROWSE_NEXT) == b"2"
    assert take(queue, LOGICAL | GetOption.BROWSE_NEXT) == b"3"
    assert take(queue, LOGICAL | GetOption.BROWSE_FIRST) == b""


def test_browsing_comes_to_groups_that_begin_within_another_one(queue: Queue) -> None:
    put_member(queue, b"Y", 1, b"Y1")
    put_member(queue, b"Z", 1, b"Z1")
    put_member(queue, b"Y", 2, b"Y2", LMIG)
    put_member(queue, b"Z", 2, b"Z2", LMIG)
    assert browse_all(queue, LOGICAL) == [b"Y1", b"Y2", b"Z1", b"Z2"]


@pytest.mark.rule(
    "mqi/browse",
    "A handle remembers its place in a group separately for gets and for browses; a failed call changes neither.",
)
def test_gets_browses_and_handles_retain_what_is_theirs_alone(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    one, two = connection.open("Q", BOTH), connection.open("Q", BOTH)
    for name in (b"g", b"h"):
        put_member(one, name, 1, name + b"1")
        put_member(one, name, 2, name + b"2", LMIG)
    assert take(one, LOGICAL) == b"g1"
    assert take(two, LOGICAL) == b"h1"
    assert take(one, LOGICAL | GetOption.BROWSE_FIRST) == b""
    assert take(two, LOGICAL) == b"h2"
    assert take(one, LOGICAL) == b"g2"


# -- completeness ----------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/groups", "Where completeness is asked for, incomplete groups and logical messages are passed over."
)
def test_members_of_incomplete_groups_are_passed_over(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"g1")
    put_member(queue, b"g", 3, b"g3", LMIG)
    put_member(queue, b"h", 2, b"h2", LMIG)
    put_member(queue, b"h", 1, b"h1")
    assert take(queue, MESSAGES | GetOption.BROWSE_FIRST) == b"h2"
    assert drain(queue, WHOLE_GROUP) == [b"h1", b"h2"]
    put_member(queue, b"g", 2, b"g2")
    assert drain(queue, WHOLE_GROUP) == [b"g1", b"g2", b"g3"]


@pytest.mark.rule("mqi/groups", "ALL_MSGS_AVAILABLE without LOGICAL_ORDER counts for every message.")
def test_all_messages_without_logical_order_counts_for_every_message(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"g1")
    put_member(queue, b"g", 2, b"g2", LMIG)
    assert take(queue, MESSAGES) == b"g1"
    assert take(queue, MESSAGES) == b""
    assert take(queue) == b"g2"


@pytest.mark.rule(
    "mqi/groups", "Where completeness is asked for, incomplete groups and logical messages are passed over."
)
def test_segments_of_incomplete_messages_are_passed_over(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"ab", SEG)
    put_member(queue, b"h", 1, b"cd", LSEG, offset=2)
    queue.put(b"plain")
    put_member(queue, b"i", 1, b"not first", MIG)
    assert take(queue, SEGMENTS | GetOption.BROWSE_FIRST) == b"plain"
    put_member(queue, b"h", 1, b"xy", SEG)
    assert take(queue, SEGMENTS | GetOption.BROWSE_FIRST) == b"cd"
    assert drain(queue, COMPLETE | LOGICAL) == [b"plain", b"not first"]
    assert drain(queue, COMPLETE) == [b"xycd"]
    assert drain(queue) == [b"ab"]


@pytest.mark.rule(
    "mqi/groups", "Within a group in logical order, ALL_MSGS_AVAILABLE asks only for all segments of the next message."
)
def test_inside_a_group_only_the_logical_message_must_be_complete(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 2, b"2a", LMIG | SEG)
    put_member(queue, b"g", 2, b"2b", LMIG | LSEG, offset=2)
    assert take(queue, WHOLE_GROUP) == b"1"
    assert queue.get(**matching(b"g", 2, 2)).body == b"2b"
    assert take(queue, **matching(b"g", 1)) == b""


def test_messages_in_another_unit_of_work_do_not_count(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    other, queue = connection.open("Q", BOTH), group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"1")
    put_member(other, b"g", 2, b"2", LMIG, options=PutOption.SYNCPOINT)
    assert take(queue, WHOLE_GROUP) == b""
    connection.commit()
    assert other.get(SYNCPOINT, **matching(b"g", 2)).body == b"2"
    assert take(queue, WHOLE_GROUP) == b""
    connection.backout()
    assert drain(queue, WHOLE_GROUP) == [b"1", b"2"]


def test_a_member_that_came_twice_completes_nothing(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 1, b"1 again")
    put_member(queue, b"g", 3, b"3", LMIG)
    assert take(queue, WHOLE_GROUP) == b""
    put_member(queue, b"g", 2, b"2")
    assert drain(queue, WHOLE_GROUP) == [b"1", b"2", b"3"]
    assert drain(queue) == [b"1 again"]


# -- selection -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (matching(b"Z"), b"Z2"),
        (matching(b"Y", 2), b"Y2"),
        (matching(b"Y", 3), b"Y3a"),
        (matching(b"Y", 3, 3), b"Y3b"),
        (matching(b"Y", offset=3), b"Y3b"),
        (matching(seq=2), b"Z2"),
        (matching(seq=1), b"A"),
        (matching(seq=3, offset=3), b"Y3b"),
        (matching(offset=3), b"Y3b"),
        (matching(offset=0), b"A"),
        (matching(b"Y", 4), b""),
        (matching(b"X"), b""),
    ],
)
def test_messages_are_found_by_their_place(queue: Queue, asked: dict[str, Any], found: bytes) -> None:
    figure_11(queue)
    assert take(queue, GetOption.BROWSE_FIRST, **asked) == found
    assert take(queue, **asked) == found


@pytest.mark.rule("mqi/groups", "In logical order, match options choose only where no group is current.")
def test_a_group_is_chosen_by_what_its_first_message_has(queue: Queue) -> None:
    for name, correl in ((b"g", b"1" * 24), (b"h", b"2" * 24)):
        put_member(queue, name, 1, name + b"1", correl_id=correl, msg_id=correl[::-1])
        put_member(queue, name, 2, name + b"2", LMIG, correl_id=correl)
    by_correl = matching(correl_id=b"2" * 24)
    assert take(queue, WHOLE_GROUP | GetOption.BROWSE_FIRST, **by_correl) == b"h1"
    assert take(queue, WHOLE_GROUP | GetOption.BROWSE_FIRST, **matching(msg_id=b"2" * 24)) == b"h1"
    assert take(queue, WHOLE_GROUP | GetOption.BROWSE_FIRST, **matching(b"h")) == b"h1"
    assert take(queue, WHOLE_GROUP, **by_correl) == b"h1"
    assert take(queue, WHOLE_GROUP) == b"h2"


def test_a_message_that_may_be_segmented_has_a_group_id(queue: Queue) -> None:
    md = queue.put(b"x", MQMD(version=2, msg_flags=MAY_SEGMENT))
    assert any(md.group_id)
    assert take(queue, WHOLE_GROUP | GetOption.BROWSE_FIRST) == b"x"
    got = queue.get(match=MQMD(version=2, group_id=md.group_id), match_options=MatchOption.MATCH_GROUP_ID)
    assert (got.body, got.group_status, got.segment_status, got.segmentation) == (b"x", b" ", b" ", b"A")


def test_a_token_names_one_message(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    for body in (b"a", b"b"):
        queue.put(body)
    put_member(queue, b"g", 1, b"c")
    md, gmo = MQMD(version=2), MQGMO(version=3, options=int(GetOption.BROWSE_FIRST))
    tokens = {}
    while True:
        body, _, comp, _ = verbs.mqget(connection.connection, queue.handle, md, gmo, 100)
        if comp == MQCC.FAILED:
            break
        tokens[body] = gmo.msg_token
        assert gmo.returned_length == 1
        gmo.options = int(GetOption.BROWSE_NEXT)
        md = MQMD(version=2)
    by_token = MatchOption.MATCH_MSG_TOKEN
    for body in (b"c", b"b"):
        gmo = MQGMO(version=3, match_options=int(by_token), msg_token=tokens[body])
        assert verbs.mqget(connection.connection, queue.handle, MQMD(version=2), gmo, 100)[0] == body
        outcome = verbs.mqget(connection.connection, queue.handle, MQMD(version=2), gmo, 100)[2:]
        assert outcome == (MQCC.FAILED, MQRC.NO_MSG_AVAILABLE)
    assert reason_of(queue, match_options=by_token, msg_token=b"\xff" * 16) == MQRC.NO_MSG_AVAILABLE


# -- the fields that come back ---------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/match",
    "Descriptor, MsgToken, ResolvedQName and the three status fields describe the message that is returned.",
)
def test_the_status_of_group_and_segment(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    figure_11(queue)
    told = []
    gmo = MQGMO(version=2, options=int(LOGICAL))
    for _ in IN_LOGICAL_ORDER:
        verbs.mqget(connection.connection, queue.handle, MQMD(version=2), gmo, 100)
        told.append(gmo.group_status + gmo.segment_status)
    assert told == [b"  ", b"G ", b"G ", b"LS", b"LL", b"G ", b"L ", b"  "]


@pytest.mark.rule("mqi/groups", "Groups and segments need version 2 of MQGMO and MQMD (2256, 2257).")
@pytest.mark.parametrize(
    ("gmo_version", "md_version", "reason"), [(1, 2, MQRC.WRONG_GMO_VERSION), (2, 1, MQRC.WRONG_MD_VERSION)]
)
def test_logical_order_needs_the_structures_that_know_it(
    group: TestGroup, gmo_version: int, md_version: int, reason: MQRC
) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"x")
    gmo, md = MQGMO(version=gmo_version, options=int(LOGICAL)), MQMD(version=md_version)
    assert verbs.mqget(connection.connection, queue.handle, md, gmo, 9)[2:] == (MQCC.FAILED, reason)
    assert take(queue) == b"x"


# -- tables 16 and 17 ------------------------------------------------------------------------------------------------


@pytest.mark.rule("mqi/groups", "In logical order, match options choose only where no group is current.")
def test_inside_a_group_match_options_cannot_choose(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1", correl_id=b"c" * 24)
    put_member(queue, b"g", 2, b"2", LMIG, correl_id=b"d" * 24)
    assert reason_of(queue, LOGICAL, **matching(seq=2)) == MQRC.MATCH_OPTIONS_ERROR
    token = queue.get(GetOption.BROWSE_FIRST).msg_token
    assert take(queue, LOGICAL, **matching(correl_id=b"c" * 24)) == b"1"
    of_another: dict[str, Any] = {"msg_token": token, "match_options": MatchOption.MATCH_MSG_TOKEN}
    for asked in (matching(correl_id=b"c" * 24), matching(b"h"), matching(seq=3), matching(offset=1), of_another):
        assert reason_of(queue, LOGICAL, **asked) == MQRC.MATCH_OPTIONS_ERROR
    assert take(queue, LOGICAL, **matching(b"g", 2, 0, correl_id=b"d" * 24)) == b"2"


@pytest.mark.rule("mqi/groups", "A group is got inside units of work or outside them, not both (2245).")
@pytest.mark.parametrize("begun", [0, SYNCPOINT])
def test_a_group_is_got_inside_units_of_work_or_outside(group: TestGroup, begun: int) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 2, b"2", LMIG)
    assert take(queue, LOGICAL | begun) == b"1"
    assert reason_of(queue, LOGICAL | SYNCPOINT - begun) == MQRC.INCONSISTENT_UOW
    connection.commit()
    assert take(queue, LOGICAL | begun) == b"2"


@pytest.mark.rule(
    "mqi/units", "SYNCPOINT_IF_PERSISTENT gets a persistent message in the unit of work, and any other outside it."
)
@pytest.mark.parametrize(("persistence", "in_unit"), [(1, True), (0, False)])
def test_syncpoint_if_persistent_must_fit_too(group: TestGroup, persistence: int, in_unit: bool) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"1", persistence=persistence)
    put_member(queue, b"g", 2, b"2", LMIG, persistence=1 - persistence)
    if_persistent = int(GetOption.SYNCPOINT_IF_PERSISTENT)
    assert take(queue, LOGICAL | if_persistent) == b"1"
    assert reason_of(queue, LOGICAL | if_persistent) == MQRC.INCONSISTENT_UOW
    assert take(queue, LOGICAL | (SYNCPOINT if in_unit else 0)) == b"2"


@pytest.mark.rule("mqi/groups", "A get without LOGICAL_ORDER that leaves a group is a warning.")
def test_leaving_a_group_without_logical_order_is_a_warning(queue: Queue) -> None:
    queue.put(b"x", MQMD(priority=0))
    put_member(queue, b"g", 1, b"1", priority=1)
    put_member(queue, b"g", 2, b"2a", SEG | LMIG, priority=0)
    put_member(queue, b"g", 2, b"2b", LSEG | LMIG, priority=0, offset=2)
    assert take(queue, LOGICAL) == b"1"
    left = queue.get()
    assert (left.body, left.reason) == (b"x", MQRC.INCOMPLETE_GROUP)
    # The get before had no logical order, so its message leaves nothing unfinished.
    assert reason_of(queue, **matching(b"g", 2, 0)) == MQRC.NONE
    # The get named its place, and logical order goes on from there.
    assert take(queue, LOGICAL) == b"2b"


def test_another_unit_of_work_without_logical_order_is_a_warning(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 2, b"2", LMIG)
    assert take(queue, LOGICAL) == b"1"
    got = queue.get(SYNCPOINT, **matching(b"g", 2))
    assert (got.body, got.reason) == (b"2", MQRC.INCONSISTENT_UOW)


@pytest.mark.rule("mqi/groups", "A group can be entered in the middle.")
@pytest.mark.rule("mqi/spanning", "A group is entered in the middle by naming the place in the first get.")
def test_a_group_is_entered_in_the_middle_by_naming_the_place(queue: Queue) -> None:
    """IBM's example: restart from a status message."""
    for seq in (1, 2, 3, 4):
        put_member(queue, b"g", seq, b"%d" % seq, LMIG if seq == 4 else MIG)
    assert take(queue, **matching(b"g", 2)) == b"2"
    assert take(queue, LOGICAL) == b"3"
    assert take(queue, LOGICAL) == b"4"
    assert take(queue, LOGICAL) == b"1"


@pytest.mark.rule("mqi/units", "MQBACK restores what the handle knew of its groups before the unit of work.")
def test_backing_out_restores_what_the_handle_retained(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    for seq in (1, 2, 3):
        put_member(queue, b"g", seq, b"%d" % seq, LMIG if seq == 3 else MIG)
    assert take(queue, LOGICAL | SYNCPOINT) == b"1"
    connection.commit()
    assert take(queue, LOGICAL | SYNCPOINT) == b"2"
    assert take(queue, LOGICAL | SYNCPOINT) == b"3"
    connection.backout()
    got = [queue.get(LOGICAL | SYNCPOINT) for _ in range(2)]
    assert [(message.body, message.md.backout_count) for message in got] == [(b"2", 1), (b"3", 1)]
    connection.commit()
    assert take(queue, LOGICAL | SYNCPOINT) == b""


@pytest.mark.rule(
    "mqi/browse", "BROWSE_NEXT keeps the order that BROWSE_FIRST began, logical or physical; a change of order is 2259."
)
def test_browse_next_keeps_to_the_order_of_browse_first(queue: Queue) -> None:
    figure_11(queue)
    first, following = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
    assert take(queue, first) == b"A"
    assert reason_of(queue, following | LOGICAL) == MQRC.INCONSISTENT_BROWSE
    assert take(queue, following) == b"Y1"
    assert take(queue, first | LOGICAL) == b"A"
    assert reason_of(queue, following) == MQRC.INCONSISTENT_BROWSE
    assert take(queue, following | LOGICAL) == b"Y1"


def test_the_message_under_the_cursor_must_be_next_in_logical_order(queue: Queue) -> None:
    figure_11(queue)
    assert take(queue, LOGICAL, **matching(b"Y")) == b"Y1"
    assert take(queue, GetOption.BROWSE_FIRST) == b"A"
    assert reason_of(queue, GetOption.MSG_UNDER_CURSOR | LOGICAL) == MQRC.INCOMPLETE_GROUP
    assert take(queue, GetOption.BROWSE_FIRST, **matching(b"Y", 2)) == b"Y2"
    assert reason_of(queue, GetOption.MSG_UNDER_CURSOR | LOGICAL | SYNCPOINT) == MQRC.INCONSISTENT_UOW
    assert take(queue, GetOption.MSG_UNDER_CURSOR | LOGICAL) == b"Y2"
    assert take(queue, LOGICAL) == b"Y3a"


@pytest.mark.rule("mqi/groups", "MQCLOSE warns of a group that was got in part, not of one that was browsed in part.")
def test_close_warns_of_unfinished_logical_order(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    figure_11(queue)
    for options, wanted in ((0, MQRC.NONE), (int(LOGICAL), MQRC.INCOMPLETE_GROUP)):
        handle = connection.open("Q", BOTH)
        assert handle.get(options, **matching(b"Y" if not options else b"Z", 1 if options else 2)).body[1:] in b"12"
        assert handle.close() == wanted
    queue.close()


@pytest.mark.rule("mqi/groups", "MQCLOSE warns of a group that was got in part, not of one that was browsed in part.")
def test_close_after_browses_only_has_no_warning(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    figure_11(connection.open("Q", BOTH))
    browser = connection.open("Q", OpenOption.BROWSE)
    assert take(browser, GetOption.BROWSE_FIRST | LOGICAL, **matching(b"Y")) == b"Y1"
    assert browser.close() == MQRC.NONE


# -- batches, and commits with the next get -------------------------------------------------------------------------


def test_a_batch_takes_members_in_physical_order_and_asks_for_nothing(queue: Queue) -> None:
    figure_11(queue)
    with pytest.raises(MQIError) as caught:
        queue.get_many(5, LOGICAL)
    assert caught.value.reason == MQRC.OPTIONS_ERROR
    got = queue.get_many(5, SYNCPOINT)
    assert [message.body for message in got] == [b"A", b"Y1", b"Z2", b"Y2", b"Y3a"]
    more = queue.commit_and_get_many(5, SYNCPOINT)
    assert [message.body for message in more] == [b"Y3b", b"Z1", b"B"]


def test_commit_and_the_next_in_logical_order(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    figure_11(queue)
    got = [queue.get(LOGICAL | SYNCPOINT).body]
    got += [queue.commit_and_get(LOGICAL | SYNCPOINT).body for _ in range(4)]
    connection.backout()
    got += [queue.commit_and_get(LOGICAL | SYNCPOINT).body for _ in range(4)]
    assert got == [*IN_LOGICAL_ORDER[:5], *IN_LOGICAL_ORDER[4:]]


def test_a_commit_whose_get_finds_nothing_has_committed(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put_member(queue, b"A", 1, b"head", SEG)
    put_member(queue, b"A", 1, b"tail", LSEG, offset=4)
    assert queue.get(LOGICAL | SYNCPOINT).body == b"head"
    queue.put(b"answer", options=PutOption.SYNCPOINT)
    # The rest of a logical message is no whole one.
    with pytest.raises(MQIError) as caught:
        queue.commit_and_get(LOGICAL | SYNCPOINT | GetOption.COMPLETE_MSG)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    assert not connection.connection.has_unit
    connection.backout()
    assert drain(queue) == [b"tail", b"answer"]


def test_leaving_a_group_is_reported_before_truncation(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    queue.put(b"another")
    assert queue.get(LOGICAL).body == b"1"
    cut = queue.get(GetOption.ACCEPT_TRUNCATED_MSG, max_length=3)
    assert (cut.body, cut.data_length, cut.reason) == (b"ano", 7, MQRC.INCOMPLETE_GROUP)


def test_a_commit_with_a_get_that_is_refused_anyhow_commits_nothing(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    assert queue.get(LOGICAL).body == b"1"
    queue.put(b"uncommitted", options=PutOption.SYNCPOINT)
    with pytest.raises(MQIError) as caught:
        queue.commit_and_get(LOGICAL | GetOption.SYNCPOINT)
    assert caught.value.reason == MQRC.INCONSISTENT_UOW
    backout(queue.connection)
    assert take(queue) == b""


def test_the_first_message_of_a_batch_warns_that_a_group_is_left(queue: Queue) -> None:
    put_member(queue, b"g", 1, b"1")
    for body in (b"a", b"b"):
        queue.put(body)
    assert queue.get(LOGICAL).body == b"1"
    assert [message.reason for message in queue.get_many(2)] == [MQRC.INCOMPLETE_GROUP, MQRC.NONE]


def test_a_backout_leaves_alone_what_was_retained_outside_the_unit_of_work(queue: Queue) -> None:
    for seq, flags in ((1, MIG), (2, LMIG)):
        put_member(queue, b"g", seq, b"%d" % seq, flags)
    queue.put(b"uncommitted", options=PutOption.SYNCPOINT)
    assert queue.get(LOGICAL).body == b"1"
    backout(queue.connection)
    assert queue.get(LOGICAL).body == b"2"


def test_inside_a_message_the_one_under_the_cursor_is_judged_alone(queue: Queue) -> None:
    for offset, body, flags in ((0, b"ab", SEG), (2, b"cd", SEG), (4, b"e", LSEG)):
        put_member(queue, b"s", 1, body, flags, offset=offset)
    for expected in (b"ab", b"cd"):
        assert queue.get(GetOption.BROWSE_NEXT).body == expected
    assert queue.get(LOGICAL).body == b"ab"
    whole = LOGICAL | GetOption.COMPLETE_MSG | GetOption.MSG_UNDER_CURSOR
    assert reason_of(queue, whole) == MQRC.INVALID_MSG_UNDER_CURSOR
    assert queue.get(LOGICAL | GetOption.MSG_UNDER_CURSOR).body == b"cd"
