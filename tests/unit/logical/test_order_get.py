"""MQGET and logical order, row by row: IBM's tables 16 and 17, and the rules around them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sharedq.logical import (
    ANY_OFFSET,
    ANY_SEQ,
    NOTHING,
    OK,
    UNUSED,
    Completion,
    HandleOrder,
    Retained,
    Wanted,
    after_get,
    check_close,
    check_get,
    check_request,
    check_under_cursor,
    group_status,
    segment_status,
    segmentation,
    wanted,
)
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, MsgFlag, MsgType
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQGMO, MQMD

G, MO, F = GetOption, MatchOption, MsgFlag
MSG_ID, CORREL_ID, GROUP, OTHER_GROUP = (bytes([letter]) * 24 for letter in b"MCGO")
TOKEN = b"T" * 16

IN_GROUP = Retained(GROUP, seq=4, in_group=True)
IN_MESSAGE = Retained(GROUP, seq=1, next_offset=300, in_message=True)
IN_BOTH = Retained(GROUP, seq=4, next_offset=300, in_group=True, in_message=True)
STATES = {"nothing": NOTHING, "group": IN_GROUP, "message": IN_MESSAGE, "both": IN_BOTH}
#: MsgSeqNumber and Offset of the next message in each state.
NEXT = {"nothing": (1, 0), "group": (5, 0), "message": (1, 300), "both": (4, 300)}
OPEN = ("group", "message", "both")
USES = {"get": G.NONE, "browse": G.BROWSE_NEXT}


def gmo(options: int = G.LOGICAL_ORDER, matches: int = MO.NONE, version: int = 2) -> MQGMO:
    return MQGMO(version=version, options=options, match_options=matches)


def asking(**fields: object) -> MQMD:
    """A descriptor that asks for a message by its identifiers."""
    ids = MQMD(version=2, msg_id=MSG_ID, correl_id=CORREL_ID, group_id=GROUP, msg_seq_number=7, offset=70)
    return replace(ids, **fields)  # type: ignore[arg-type]


def found(seq: int, offset: int, *, group_id: bytes = GROUP, flags: int = F.MSG_IN_GROUP, persistence: int = 0) -> MQMD:
    return MQMD(
        version=2, group_id=group_id, msg_seq_number=seq, offset=offset, msg_flags=flags, persistence=persistence
    )


def order_with(use: str, retained: Retained) -> HandleOrder:
    """A handle with this retained state for one use, and another state for every other use."""
    elsewhere = Retained(OTHER_GROUP, seq=9, in_group=True)
    gets, browses = (retained, elsewhere) if use == "get" else (elsewhere, retained)
    return HandleOrder(gets, browses, elsewhere)


# -- table 16 ------------------------------------------------------------------------------------------------------

#: LOG ORD, state before the call, MsgId and CorrelId, GroupId, MsgSeqNumber, Offset
TABLE_16 = [
    (True, "nothing", "by options", "by options", 1, 0),
    (True, "message", "any", "previous", 1, 300),
    (True, "group", "any", "previous", 5, 0),
    (True, "both", "any", "previous", 4, 300),
    *((False, state, "by options", "by options", "by options", "by options") for state in STATES),
]
SELECTING = MO.MATCH_MSG_ID | MO.MATCH_CORREL_ID | MO.MATCH_GROUP_ID


@pytest.mark.rule("mqi/groups", "Table 16 of logical order: which message a get looks for.")
@pytest.mark.parametrize(("is_logical", "state", "ids", "group_id", "seq", "offset"), TABLE_16)
@pytest.mark.parametrize("use", USES)
def test_table_16(
    use: str, is_logical: bool, state: str, ids: str, group_id: str, seq: int | str, offset: int | str
) -> None:
    order = order_with(use, STATES[state])
    options = USES[use] | (G.LOGICAL_ORDER if is_logical else G.NONE)
    everything = SELECTING if is_logical else SELECTING | MO.MATCH_MSG_SEQ_NUMBER | MO.MATCH_OFFSET
    chosen = wanted(order, gmo(options, everything), asking())
    unchosen = wanted(order, gmo(options, MO.NONE), asking())

    # "Any" identifier: it does not select. A given one must be that of the message (2247).
    assert (chosen.msg_id, chosen.correl_id) == (MSG_ID, CORREL_ID)
    assert chosen.ids_are_conditions is (ids == "any")
    assert (unchosen.msg_id, unchosen.correl_id) == (b"", b"")
    assert (chosen.group_id, unchosen.group_id) == ((GROUP, GROUP) if group_id == "previous" else (GROUP, b""))
    assert (chosen.seq, unchosen.seq) == ((7, ANY_SEQ) if seq == "by options" else (seq, seq))
    assert (chosen.offset, unchosen.offset) == ((70, ANY_OFFSET) if offset == "by options" else (offset, offset))
    assert chosen.first_only is (is_logical and state == "nothing")


def test_null_identifiers_match_anything() -> None:
    every = SELECTING | MO.MATCH_MSG_TOKEN
    assert wanted(UNUSED, gmo(G.NONE, every), MQMD(version=2)) == Wanted()


def test_message_token_selects() -> None:
    options = MQGMO(version=3, options=G.NONE, match_options=MO.MATCH_MSG_TOKEN, msg_token=TOKEN)
    assert wanted(UNUSED, options, MQMD()).msg_token == TOKEN


def test_version_1_get_options_match_by_message_and_correlation_identifier() -> None:
    chosen = wanted(UNUSED, gmo(G.NONE, MO.MATCH_GROUP_ID, version=1), asking())
    assert chosen == Wanted(msg_id=MSG_ID, correl_id=CORREL_ID)


@pytest.mark.rule("mqi/browse", "BROWSE_FIRST ignores the place in a group that the handle remembers.")
@pytest.mark.parametrize("state", STATES)
def test_browse_first_looks_as_if_nothing_were_current(state: str) -> None:
    order = order_with("browse", STATES[state])
    chosen = wanted(order, gmo(G.LOGICAL_ORDER | G.BROWSE_FIRST), asking())
    assert chosen == Wanted(seq=1, offset=0, first_only=True)


# -- completeness --------------------------------------------------------------------------------------------------

#: option, logical order, state -> the whole group, the whole logical message must be available
WHOLE = [
    (G.NONE, True, "nothing", False, False),
    (G.ALL_MSGS_AVAILABLE, True, "nothing", True, True),
    (G.ALL_MSGS_AVAILABLE, True, "group", False, True),
    (G.ALL_MSGS_AVAILABLE, True, "message", False, False),
    (G.ALL_MSGS_AVAILABLE, True, "both", False, False),
    (G.ALL_MSGS_AVAILABLE, False, "both", True, True),
    (G.ALL_SEGMENTS_AVAILABLE, True, "nothing", False, True),
    (G.ALL_SEGMENTS_AVAILABLE, True, "group", False, True),
    (G.ALL_SEGMENTS_AVAILABLE, True, "message", False, False),
    (G.ALL_SEGMENTS_AVAILABLE, True, "both", False, False),
    (G.ALL_SEGMENTS_AVAILABLE, False, "both", False, True),
    (G.COMPLETE_MSG, True, "nothing", False, True),
    (G.COMPLETE_MSG, True, "group", False, True),
    (G.COMPLETE_MSG, False, "both", False, True),
]


@pytest.mark.parametrize(("option", "is_logical", "state", "whole_group", "whole_message"), WHOLE)
def test_whole_messages_and_groups_that_a_get_needs(
    option: GetOption, is_logical: bool, state: str, whole_group: bool, whole_message: bool
) -> None:
    options = option | (G.LOGICAL_ORDER if is_logical else G.NONE)
    chosen = wanted(order_with("get", STATES[state]), gmo(options), MQMD(version=2))
    assert (chosen.whole_group, chosen.whole_message) == (whole_group, whole_message)


def test_complete_messages_begin_at_offset_0() -> None:
    assert wanted(UNUSED, gmo(G.COMPLETE_MSG), MQMD(version=2)).offset == 0


def test_the_rest_of_a_logical_message_is_never_a_complete_one() -> None:
    for state in ("message", "both"):
        order = order_with("get", STATES[state])
        options = G.LOGICAL_ORDER | G.COMPLETE_MSG
        assert check_request(order, gmo(options), MQMD(version=2)) == MQRC.NO_MSG_AVAILABLE
        assert check_request(order, gmo(G.LOGICAL_ORDER), MQMD(version=2)) == MQRC.NONE


@pytest.mark.parametrize("option", [G.MSG_UNDER_CURSOR, G.BROWSE_MSG_UNDER_CURSOR])
def test_complete_message_under_the_cursor_begins_at_offset_0(option: GetOption) -> None:
    assert check_under_cursor(option | G.COMPLETE_MSG, found(1, 300)) == MQRC.INVALID_MSG_UNDER_CURSOR
    assert check_under_cursor(option | G.COMPLETE_MSG, found(2, 0)) == MQRC.NONE
    assert check_under_cursor(option, found(1, 300)) == MQRC.NONE


# -- refusals before the search ----------------------------------------------------------------------------------


def test_logical_order_needs_second_versions() -> None:
    assert check_request(UNUSED, gmo(version=1), MQMD(version=2)) == MQRC.WRONG_GMO_VERSION
    assert check_request(UNUSED, gmo(), MQMD(version=1)) == MQRC.WRONG_MD_VERSION
    assert check_request(UNUSED, gmo(), MQMD(version=2)) == MQRC.NONE
    assert check_request(UNUSED, gmo(G.NONE, version=1), MQMD(version=1)) == MQRC.NONE


@pytest.mark.parametrize("seq", [-1, 0, 1_000_000_000])
def test_sequence_number_to_match_is_in_range(seq: int) -> None:
    md = MQMD(version=2, msg_seq_number=seq)
    assert check_request(UNUSED, gmo(G.NONE, MO.MATCH_MSG_SEQ_NUMBER), md) == MQRC.MSG_SEQ_NUMBER_ERROR
    assert check_request(UNUSED, gmo(G.NONE), md) == MQRC.NONE


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("use", USES)
def test_match_options_that_cannot_select_must_name_the_next_message(use: str, state: str) -> None:
    seq, offset = NEXT[state]
    order = order_with(use, STATES[state])
    options = USES[use] | G.LOGICAL_ORDER
    every = MO.MATCH_MSG_SEQ_NUMBER | MO.MATCH_OFFSET | MO.MATCH_GROUP_ID
    fitting = MQMD(version=2, group_id=GROUP, msg_seq_number=seq, offset=offset)

    assert check_request(order, gmo(options, every), fitting) == MQRC.NONE
    assert check_request(order, gmo(options, every), replace(fitting, group_id=NULL_ID)) == MQRC.NONE
    for field, value in (("msg_seq_number", seq + 1), ("offset", offset + 1)):
        other = replace(fitting, **{field: value})  # type: ignore[arg-type]
        assert check_request(order, gmo(options, every), other) == MQRC.MATCH_OPTIONS_ERROR
        assert check_request(order, gmo(options, MO.MATCH_GROUP_ID), other) == MQRC.NONE
        # Without logical order, and for the message under the cursor, they select or are ignored.
        assert check_request(order, gmo(USES[use], every), other) == MQRC.NONE
        assert check_request(order, gmo(G.LOGICAL_ORDER | G.MSG_UNDER_CURSOR, every), other) == MQRC.NONE


@pytest.mark.parametrize("state", STATES)
def test_another_group_is_asked_for(state: str) -> None:
    answer = check_request(
        order_with("get", STATES[state]), gmo(matches=MO.MATCH_GROUP_ID), MQMD(version=2, group_id=OTHER_GROUP)
    )
    assert answer == (MQRC.MATCH_OPTIONS_ERROR if state in OPEN else MQRC.NONE)


UNITS = [
    # got before in a unit of work, option now -> reason
    (True, G.SYNCPOINT, MQRC.NONE),
    (True, G.NONE, MQRC.INCONSISTENT_UOW),
    (True, G.NO_SYNCPOINT, MQRC.INCONSISTENT_UOW),
    (False, G.SYNCPOINT, MQRC.INCONSISTENT_UOW),
    (False, G.NONE, MQRC.NONE),
    (False, G.NO_SYNCPOINT, MQRC.NONE),
]


@pytest.mark.parametrize(("was_in_unit", "option", "reason"), UNITS)
@pytest.mark.parametrize("state", OPEN)
def test_a_group_is_got_inside_units_of_work_or_outside(
    state: str, was_in_unit: bool, option: GetOption, reason: MQRC
) -> None:
    order = order_with("get", STATES[state]._replace(in_unit=was_in_unit))
    assert check_request(order, gmo(G.LOGICAL_ORDER | option), MQMD(version=2)) == reason
    assert check_request(order, gmo(option), MQMD(version=2)) == MQRC.NONE
    assert check_request(UNUSED, gmo(G.LOGICAL_ORDER | option), MQMD(version=2)) == MQRC.NONE


@pytest.mark.parametrize("was_in_unit", [True, False])
def test_syncpoint_if_persistent_leaves_it_to_the_message(was_in_unit: bool) -> None:
    order = order_with("get", IN_GROUP._replace(in_unit=was_in_unit))
    options = gmo(G.LOGICAL_ORDER | G.SYNCPOINT_IF_PERSISTENT)
    assert check_request(order, options, MQMD(version=2)) == MQRC.NONE
    assert wanted(order, options, MQMD(version=2)).must_be_persistent is was_in_unit
    assert wanted(order, gmo(), MQMD(version=2)).must_be_persistent is None
    assert wanted(UNUSED, options, MQMD(version=2)).must_be_persistent is None


@pytest.mark.parametrize("first", [G.BROWSE_FIRST, G.BROWSE_NEXT])
@pytest.mark.parametrize("began_logical", [True, False])
def test_browse_next_keeps_the_order_that_the_browse_began_with(began_logical: bool, first: GetOption) -> None:
    logical, physical = gmo(G.LOGICAL_ORDER | G.BROWSE_NEXT), gmo(G.BROWSE_NEXT)
    begun = after_get(UNUSED, first | (G.LOGICAL_ORDER if began_logical else 0), found(1, 0, flags=0), 10)
    same, other = (logical, physical) if began_logical else (physical, logical)
    assert check_request(begun, same, MQMD(version=2)) == MQRC.NONE
    assert check_request(begun, other, MQMD(version=2)) == MQRC.INCONSISTENT_BROWSE
    # BROWSE_FIRST may switch.
    switched = after_get(begun, G.BROWSE_FIRST | (0 if began_logical else G.LOGICAL_ORDER), found(1, 0, flags=0), 10)
    assert check_request(switched, other, MQMD(version=2)) == MQRC.NONE
    assert check_request(switched, same, MQMD(version=2)) == MQRC.INCONSISTENT_BROWSE


# -- table 17 ------------------------------------------------------------------------------------------------------

#: current call; outcome when the previous one used logical order; when it did not
TABLE_17 = [
    ("get with logical order", MQCC.FAILED, MQCC.FAILED),
    ("get without", MQCC.WARNING, MQCC.OK),
    ("close", MQCC.WARNING, MQCC.OK),
]
INCOMPLETE = {"group": MQRC.INCOMPLETE_GROUP, "message": MQRC.INCOMPLETE_MSG, "both": MQRC.INCOMPLETE_MSG}


@pytest.mark.rule("mqi/groups", "Table 17 of logical order: what a get that leaves a group unfinished ends with.")
@pytest.mark.parametrize(("call", "after_logical", "after_physical"), TABLE_17)
@pytest.mark.parametrize("was_logical", [True, False])
@pytest.mark.parametrize("state", OPEN)
def test_table_17(state: str, was_logical: bool, call: str, after_logical: MQCC, after_physical: MQCC) -> None:
    retained = STATES[state]._replace(was_logical=was_logical)
    order = HandleOrder(gets=retained)
    expected = after_logical if was_logical else after_physical
    seq, offset = NEXT[state]
    if call == "close":
        assert check_close(order) == Completion(expected, INCOMPLETE[state] if expected else MQRC.NONE)
        return
    options = G.LOGICAL_ORDER if call == "get with logical order" else G.NONE
    for message in (
        found(seq, offset, group_id=OTHER_GROUP),
        found(seq + 1, offset),
        found(seq, offset + 1),
        found(1, 0, group_id=NULL_ID, flags=0),
    ):
        assert check_get(order, options, message) == Completion(expected, INCOMPLETE[state] if expected else MQRC.NONE)
    # The next message, but not got as the first one was.
    uow = Completion(expected, MQRC.INCONSISTENT_UOW if expected else MQRC.NONE)
    assert check_get(order, options | G.SYNCPOINT, found(seq, offset)) == uow
    assert check_get(order, options | G.SYNCPOINT_IF_PERSISTENT, found(seq, offset, persistence=1)) == uow
    # The next message.
    assert check_get(order, options, found(seq, offset)) == OK
    assert check_get(order, options | G.SYNCPOINT_IF_PERSISTENT, found(seq, offset)) == OK


@pytest.mark.rule("mqi/groups", "A browse is never refused or warned for a group that it leaves.")
@pytest.mark.parametrize("option", [G.BROWSE_FIRST, G.BROWSE_NEXT, G.BROWSE_MSG_UNDER_CURSOR])
@pytest.mark.parametrize("state", STATES)
def test_browses_are_never_checked(state: str, option: GetOption) -> None:
    left_open = STATES[state]._replace(was_logical=True)
    order = HandleOrder(gets=left_open, browses=left_open)
    for is_logical in (G.NONE, G.LOGICAL_ORDER):
        assert check_get(order, option | is_logical, found(9, 900, group_id=OTHER_GROUP)) == OK
    assert check_close(HandleOrder(browses=left_open)) == OK


def test_with_nothing_open_nothing_is_inconsistent() -> None:
    assert check_get(UNUSED, G.LOGICAL_ORDER, found(3, 0)) == OK
    assert check_get(UNUSED, G.NONE, found(3, 0)) == OK
    assert check_close(UNUSED) == OK


def test_close_warns_of_an_unfinished_put_and_of_a_logical_message_first() -> None:
    group, message = (STATES[state]._replace(was_logical=True) for state in ("group", "both"))
    assert check_close(HandleOrder(puts=group)) == Completion(MQCC.WARNING, MQRC.INCOMPLETE_GROUP)
    assert check_close(HandleOrder(gets=group, puts=message)) == Completion(MQCC.WARNING, MQRC.INCOMPLETE_MSG)
    assert check_close(HandleOrder(gets=message._replace(was_logical=False), puts=group)).reason == 2241


# -- retained state ------------------------------------------------------------------------------------------------

MIG, LMIG, SEG, LSEG = F.MSG_IN_GROUP, F.LAST_MSG_IN_GROUP, F.SEGMENT, F.LAST_SEGMENT
#: flags as returned -> current group, current logical message after the call
RETAINED = [
    (F.NONE, False, False),
    (F.SEGMENTATION_ALLOWED, False, False),
    (MIG, True, False),
    (MIG | LMIG, False, False),
    (SEG, False, True),
    (SEG | LSEG, False, False),
    (MIG | SEG, True, True),
    (MIG | SEG | LSEG, True, False),
    (MIG | LMIG | SEG, True, True),
    (MIG | LMIG | SEG | LSEG, False, False),
]


@pytest.mark.parametrize(("flags", "in_group", "in_message"), RETAINED)
@pytest.mark.parametrize("is_logical", [True, False])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("state", STATES)
def test_a_successful_get_replaces_what_is_retained_for_its_use(
    state: str, use: str, is_logical: bool, flags: int, in_group: bool, in_message: bool
) -> None:
    order = order_with(use, STATES[state])
    options = USES[use] | (G.LOGICAL_ORDER if is_logical else G.NONE)
    after = after_get(order, options, found(3, 200, group_id=OTHER_GROUP, flags=flags), 50)
    mine, others = (after.gets, after.browses) if use == "get" else (after.browses, after.gets)

    assert (mine.in_group, mine.in_message) == (in_group, in_message)
    if in_group or in_message:
        assert mine.group_id == OTHER_GROUP
        assert mine.next_position == ((3, 250) if in_message else (4, 0))
        assert mine.was_logical is is_logical
    assert others == Retained(OTHER_GROUP, seq=9, in_group=True)
    assert after.puts is order.puts


@pytest.mark.parametrize(
    ("option", "persistence", "in_unit"),
    [
        (G.NONE, 1, False),
        (G.NO_SYNCPOINT, 1, False),
        (G.SYNCPOINT, 0, True),
        (G.SYNCPOINT_IF_PERSISTENT, 0, False),
        (G.SYNCPOINT_IF_PERSISTENT, 1, True),
    ],
)
def test_it_is_retained_whether_the_message_was_got_in_a_unit_of_work(
    option: GetOption, persistence: int, in_unit: bool
) -> None:
    after = after_get(UNUSED, option | G.LOGICAL_ORDER, found(1, 0, persistence=persistence), 10)
    assert after.gets.in_unit is in_unit


def test_a_group_resumed_without_logical_order_continues_with_it() -> None:
    """IBM's example of restart processing."""
    by_status = gmo(G.SYNCPOINT, MO.MATCH_GROUP_ID | MO.MATCH_MSG_SEQ_NUMBER)
    chosen = wanted(UNUSED, by_status, asking())
    assert (chosen.group_id, chosen.seq) == (GROUP, 7)
    order = after_get(UNUSED, G.SYNCPOINT, found(7, 0), 10)
    logical = gmo(G.SYNCPOINT | G.LOGICAL_ORDER)
    assert check_request(order, logical, MQMD(version=2)) == MQRC.NONE
    assert wanted(order, logical, MQMD(version=2)) == Wanted(group_id=GROUP, seq=8, offset=0, ids_are_conditions=True)


def test_report_about_a_segment_takes_the_whole_place_of_the_segment() -> None:
    report = replace(found(1, 0, flags=SEG), msg_type=MsgType.REPORT, original_length=5000)
    assert after_get(UNUSED, G.LOGICAL_ORDER, report, 100).gets.next_position == (1, 5000)


def test_nothing_new_to_retain_costs_nothing() -> None:
    assert after_get(UNUSED, G.NONE, found(1, 0, group_id=NULL_ID, flags=0), 10) is UNUSED


# -- status on output ----------------------------------------------------------------------------------------------

STATUSES = [
    (F.NONE, b" ", b" ", b" "),
    (F.SEGMENTATION_ALLOWED, b" ", b" ", b"A"),
    (MIG, b"G", b" ", b" "),
    (MIG | LMIG, b"L", b" ", b" "),
    (SEG, b" ", b"S", b" "),
    (SEG | LSEG, b" ", b"L", b" "),
    (MIG | SEG | F.SEGMENTATION_ALLOWED, b"G", b"S", b"A"),
    (MIG | LMIG | SEG, b"L", b"S", b" "),
    (MIG | LMIG | SEG | LSEG, b"L", b"L", b" "),
]


@pytest.mark.parametrize(("flags", "group", "segment", "allowed"), STATUSES)
def test_status_on_output(flags: int, group: bytes, segment: bytes, allowed: bytes) -> None:
    assert (group_status(flags), segment_status(flags), segmentation(flags)) == (group, segment, allowed)
