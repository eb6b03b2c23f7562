"""MQPUT and logical order, row by row: IBM's table of the fields of a put message, and the refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sharedq.logical import (
    NOTHING,
    PLAIN,
    UNUSED,
    HandleOrder,
    PutPosition,
    Retained,
    after_put,
    put_position,
    stored_flags,
)
from sharedq.mqi.constants import MQRC, MsgFlag, MsgType, PutOption
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.options import check_put_options
from sharedq.mqi.structures import MQMD

F, P = MsgFlag, PutOption
MIG, LMIG, SEG, LSEG, SOK = (
    F.MSG_IN_GROUP,
    F.LAST_MSG_IN_GROUP,
    F.SEGMENT,
    F.LAST_SEGMENT,
    F.SEGMENTATION_ALLOWED,
)
GROUP, GIVEN = b"G" * 24, b"I" * 24
#: current group, current logical message -> retained state
STATES = {
    (False, False): NOTHING,
    (False, True): Retained(GROUP, seq=1, next_offset=300, in_message=True),
    (True, False): Retained(GROUP, seq=4, in_group=True),
    (True, True): Retained(GROUP, seq=4, next_offset=300, in_group=True, in_message=True),
}
OPEN = [state for state in STATES if any(state)]


def descriptor(flags: int, **fields: object) -> MQMD:
    md = MQMD(version=2, msg_flags=int(flags), persistence=0, group_id=GIVEN, msg_seq_number=7, offset=70)
    return replace(md, **fields)  # type: ignore[arg-type]


def placed(retained: Retained, options: int, md: MQMD, length: int = 50) -> PutPosition:
    answer = put_position(retained, options, md, length)
    assert isinstance(answer, PutPosition), answer
    return answer


def continuing(state: tuple[bool, bool]) -> MQMD:
    """A descriptor of the next message, with every field that a put without logical order needs."""
    seq, offset = STATES[state].next_position
    flags = (MIG if state[0] else 0) | (SEG if state[1] else 0)
    return descriptor(flags, group_id=GROUP, msg_seq_number=seq, offset=offset)


# -- the table -----------------------------------------------------------------------------------------------------

YES, NO, EITHER = (True,), (False,), (False, True)
#: LOGICAL_ORDER, in group, segment, segmentation allowed, current group, current logical message,
#: GroupId, MsgSeqNumber, Offset
ROWS = [
    (YES, NO, NO, NO, NO, NO, "none", 1, 0),
    (YES, NO, NO, YES, NO, NO, "new", 1, 0),
    (YES, NO, YES, EITHER, NO, NO, "new", 1, 0),
    (YES, NO, YES, EITHER, NO, YES, "previous", 1, 300),
    (YES, YES, EITHER, EITHER, NO, NO, "new", 1, 0),
    (YES, YES, EITHER, EITHER, YES, NO, "previous", 5, 0),
    (YES, YES, YES, EITHER, YES, YES, "previous", 4, 300),
    (NO, NO, NO, NO, EITHER, EITHER, "none", 1, 0),
    (NO, NO, NO, YES, EITHER, EITHER, "as given", 1, 0),
    (NO, NO, YES, EITHER, EITHER, EITHER, "as given", 1, 70),
    (NO, YES, NO, EITHER, EITHER, EITHER, "as given", 7, 0),
    (NO, YES, YES, EITHER, EITHER, EITHER, "as given", 7, 70),
]
CASES = [
    (is_logical, in_group, is_segment, is_allowed, group, message, *result)
    for logical, grouped, segment, allowed, current_group, current_message, *result in ROWS
    for is_logical in logical
    for in_group in grouped
    for is_segment in segment
    for is_allowed in allowed
    for group in current_group
    for message in current_message
]


@pytest.mark.rule("mqi/put-groups", "A put with LOGICAL_ORDER makes GroupId and MsgSeqNumber, and Offset for segments.")
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("is_logical", "in_group", "is_segment", "is_allowed", "group", "message", "group_id", "seq", "offset"), CASES
)
def test_the_group_fields_of_a_put_message(
    is_logical: bool,
    in_group: bool,
    is_segment: bool,
    is_allowed: bool,
    group: bool,
    message: bool,
    group_id: str,
    seq: int,
    offset: int,
    ends: bool,
) -> None:
    flags = (SOK if is_allowed else 0) | (MIG if in_group else 0) | (SEG if is_segment else 0)
    retained = STATES[group, message]
    if ends:
        # "In group" includes the last message of it, "segment" the last segment.
        flags = (flags & SOK) | (LMIG if in_group else 0) | (LSEG if is_segment else 0)
        retained = retained._replace(is_last_in_group=group)
    options = P.LOGICAL_ORDER if is_logical else P.NONE
    given: dict[str, bytes | None] = {"none": NULL_ID, "new": None, "previous": GROUP, "as given": GIVEN}

    answer = placed(retained, options, descriptor(flags))
    assert answer[:3] == (given[group_id], seq, offset)
    assert answer.msg_flags == stored_flags(flags)
    assert answer.original_length == (50 if is_segment else -1)
    if group_id == "as given":
        assert placed(retained, options, descriptor(flags, group_id=NULL_ID)).group_id is None


#: logical order: current group, current logical message, flags that are in no row -> reason
NOT_IN_THE_TABLE = [
    ((True, False), F.NONE, MQRC.INCOMPLETE_GROUP),
    ((True, False), SOK, MQRC.INCOMPLETE_GROUP),
    ((True, False), SEG, MQRC.INCOMPLETE_GROUP),
    ((False, True), F.NONE, MQRC.INCOMPLETE_MSG),
    ((False, True), SOK, MQRC.INCOMPLETE_MSG),
    ((False, True), MIG, MQRC.INCOMPLETE_MSG),
    ((False, True), MIG | SEG, MQRC.INCOMPLETE_MSG),
    ((True, True), F.NONE, MQRC.INCOMPLETE_MSG),
    ((True, True), SEG, MQRC.INCOMPLETE_MSG),
    ((True, True), MIG, MQRC.INCOMPLETE_MSG),
    # Segments of one logical message agree on whether it is the last of the group.
    ((True, True), LMIG | SEG, MQRC.INCOMPLETE_MSG),
]


@pytest.mark.parametrize(("state", "flags", "reason"), NOT_IN_THE_TABLE)
@pytest.mark.parametrize("was_logical", [True, False])
def test_logical_order_refuses_what_does_not_go_on(
    was_logical: bool, state: tuple[bool, bool], flags: int, reason: MQRC
) -> None:
    retained = STATES[state]._replace(was_logical=was_logical)
    assert put_position(retained, P.LOGICAL_ORDER, descriptor(flags), 50) == reason


# -- failed, warning, ok -------------------------------------------------------------------------------------------


def misfits(state: tuple[bool, bool]) -> list[tuple[MQMD, PutOption, MQRC]]:
    """Puts without a place in the open group or message: descriptor, further options, reason."""
    fitting = continuing(state)
    incomplete = MQRC.INCOMPLETE_MSG if state[1] else MQRC.INCOMPLETE_GROUP
    return [
        (descriptor(F.NONE), P.NONE, incomplete),
        (replace(fitting, group_id=GIVEN), P.NONE, incomplete),
        (replace(fitting, group_id=NULL_ID), P.NONE, incomplete),
        (replace(fitting, msg_flags=fitting.msg_flags ^ MIG), P.NONE, incomplete),
        (replace(fitting, persistence=1), P.NONE, MQRC.INCONSISTENT_PERSISTENCE),
        (replace(fitting, persistence=1), P.SYNCPOINT, MQRC.INCONSISTENT_PERSISTENCE),
        (fitting, P.SYNCPOINT, MQRC.INCONSISTENT_UOW),
    ]


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("was_logical", [True, False])
def test_without_logical_order_a_misfit_is_a_warning_after_logical_order(
    was_logical: bool, state: tuple[bool, bool]
) -> None:
    retained = STATES[state]._replace(was_logical=was_logical)
    for md, option, reason in misfits(state):
        assert placed(retained, option, md).warning == (reason if was_logical else MQRC.NONE)
    assert placed(retained, P.NONE, continuing(state)).warning == MQRC.NONE


@pytest.mark.rule(
    "mqi/put-groups", "A put with LOGICAL_ORDER needs the persistence and unit of work of its group (2185, 2245)."
)
@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize("was_logical", [True, False])
def test_with_logical_order_other_persistence_or_unit_of_work_is_refused(
    was_logical: bool, state: tuple[bool, bool]
) -> None:
    retained = STATES[state]._replace(was_logical=was_logical)
    md, logical = continuing(state), P.LOGICAL_ORDER
    persistent, in_unit = retained._replace(persistence=1), retained._replace(in_unit=True)
    assert put_position(retained, logical, replace(md, persistence=1), 50) == MQRC.INCONSISTENT_PERSISTENCE
    assert put_position(persistent, logical, md, 50) == MQRC.INCONSISTENT_PERSISTENCE
    assert put_position(retained, logical | P.SYNCPOINT, md, 50) == MQRC.INCONSISTENT_UOW
    assert put_position(in_unit, logical, md, 50) == MQRC.INCONSISTENT_UOW
    assert placed(persistent, logical, replace(md, persistence=1)).warning == MQRC.NONE
    assert placed(in_unit, logical | P.SYNCPOINT, md).warning == MQRC.NONE


# -- fields that the descriptor must have --------------------------------------------------------------------------


def test_version_1_descriptor_has_no_group_fields() -> None:
    md = descriptor(MIG, version=1)
    assert put_position(NOTHING, P.NONE, md, 50) == PLAIN
    assert put_position(NOTHING, P.LOGICAL_ORDER, md, 50) == MQRC.WRONG_MD_VERSION
    open_group = STATES[True, False]._replace(was_logical=True)
    assert placed(open_group, P.NONE, md).warning == MQRC.INCOMPLETE_GROUP


def test_a_group_identifier_that_the_flags_do_not_ask_for_is_not_used() -> None:
    assert put_position(NOTHING, P.NONE, descriptor(F.NONE), 50) == PLAIN
    assert put_position(NOTHING, P.LOGICAL_ORDER, descriptor(F.NONE), 50) == PLAIN


@pytest.mark.parametrize("is_logical", [True, False])
@pytest.mark.parametrize(
    ("flags", "locally", "to_transmit"),
    [
        (0x0000_0020, MQRC.MSG_FLAGS_ERROR, MQRC.MSG_FLAGS_ERROR),
        (0x0000_0800, MQRC.MSG_FLAGS_ERROR, MQRC.MSG_FLAGS_ERROR),
        (0x0000_1000, MQRC.MSG_FLAGS_ERROR, MQRC.NONE),
        (0x0008_0000, MQRC.MSG_FLAGS_ERROR, MQRC.NONE),
        (0x0010_0000, MQRC.NONE, MQRC.NONE),
        (-0x8000_0000, MQRC.NONE, MQRC.NONE),
    ],
)
def test_unknown_flags(flags: int, locally: MQRC, to_transmit: MQRC, is_logical: bool) -> None:
    options = P.LOGICAL_ORDER if is_logical else P.NONE
    for for_transmission, reason in ((False, locally), (True, to_transmit)):
        answer = put_position(NOTHING, options, descriptor(flags), 50, for_transmission=for_transmission)
        assert answer == (reason or PLAIN._replace(msg_flags=flags))


@pytest.mark.parametrize("flags", range(32))
def test_every_combination_of_known_flags_is_taken(flags: int) -> None:
    stored = placed(NOTHING, P.NONE, descriptor(flags)).msg_flags
    assert stored & flags == flags
    assert bool(stored & MIG) == bool(flags & (MIG | LMIG))
    assert bool(stored & SEG) == bool(flags & (SEG | LSEG))


@pytest.mark.parametrize("seq", [-1, 0, 1_000_000_000])
def test_sequence_number_out_of_range(seq: int) -> None:
    assert put_position(NOTHING, P.NONE, descriptor(MIG, msg_seq_number=seq), 1) == MQRC.MSG_SEQ_NUMBER_ERROR
    # If the put does not use the field, its value does not matter.
    assert placed(NOTHING, P.NONE, descriptor(SEG, msg_seq_number=seq)).msg_seq_number == 1
    assert placed(NOTHING, P.LOGICAL_ORDER, descriptor(MIG, msg_seq_number=seq)).msg_seq_number == 1


def test_group_cannot_go_on_past_the_last_sequence_number() -> None:
    last = Retained(GROUP, seq=999_999_999, in_group=True)
    assert put_position(last, P.LOGICAL_ORDER, descriptor(MIG), 1) == MQRC.MSG_SEQ_NUMBER_ERROR


@pytest.mark.parametrize("offset", [-1, 1_000_000_000])
def test_offset_out_of_range(offset: int) -> None:
    assert put_position(NOTHING, P.NONE, descriptor(SEG, offset=offset), 1) == MQRC.OFFSET_ERROR
    assert placed(NOTHING, P.NONE, descriptor(MIG, offset=offset)).offset == 0
    assert placed(NOTHING, P.LOGICAL_ORDER, descriptor(SEG, offset=offset)).offset == 0


def test_segment_cannot_reach_past_the_last_offset() -> None:
    assert placed(NOTHING, P.NONE, descriptor(SEG, offset=999_999_900), 99).offset == 999_999_900
    assert put_position(NOTHING, P.NONE, descriptor(SEG, offset=999_999_900), 100) == MQRC.OFFSET_ERROR
    full = Retained(GROUP, seq=1, next_offset=999_999_900, in_message=True)
    assert put_position(full, P.LOGICAL_ORDER, descriptor(SEG), 100) == MQRC.OFFSET_ERROR


@pytest.mark.parametrize("options", [P.NONE, P.LOGICAL_ORDER])
def test_only_the_last_segment_may_be_empty(options: PutOption) -> None:
    for flags in (SEG, SEG | MIG, SEG | LMIG):
        assert put_position(NOTHING, options, descriptor(flags), 0) == MQRC.SEGMENT_LENGTH_ZERO
    for flags in (LSEG, SEG | LSEG, LSEG | MIG, MIG, F.NONE):
        assert isinstance(put_position(NOTHING, options, descriptor(flags), 0), PutPosition)


#: flags, OriginalLength, data length -> accepted
ORIGINAL_LENGTHS = [
    (SEG, -1, 0, False),
    (SEG, 0, 0, False),
    (SEG, 1, 0, True),
    (SEG, 99, 100, False),
    (SEG, 100, 100, True),
    (SEG, 5000, 100, True),
    (LSEG, -1, 0, False),
    (LSEG, 0, 0, True),
    (LSEG, 99, 100, False),
]


@pytest.mark.parametrize(("flags", "original_length", "length", "is_accepted"), ORIGINAL_LENGTHS)
def test_original_length_of_a_report_about_a_segment(
    flags: int, original_length: int, length: int, is_accepted: bool
) -> None:
    report = descriptor(flags, msg_type=int(MsgType.REPORT), original_length=original_length)
    if is_accepted:
        assert placed(NOTHING, P.NONE, report, length).original_length == original_length
    else:
        assert put_position(NOTHING, P.NONE, report, length) == MQRC.ORIGINAL_LENGTH_ERROR
    # In every other message the field is not used.
    assert placed(NOTHING, P.NONE, replace(report, msg_flags=int(MIG)), length).original_length == -1
    assert placed(NOTHING, P.NONE, replace(report, msg_type=int(MsgType.DATAGRAM)), 9).original_length == 9


def test_mqput1_has_no_logical_order() -> None:
    assert check_put_options(P.LOGICAL_ORDER, is_put1=True) == MQRC.OPTIONS_ERROR
    assert check_put_options(P.LOGICAL_ORDER) == MQRC.NONE


# -- retained state ------------------------------------------------------------------------------------------------

RETAINED = [
    (F.NONE, False, False),
    (SOK, False, False),
    (MIG, True, False),
    (LMIG, False, False),
    (SEG, False, True),
    (LSEG, False, False),
    (MIG | SEG, True, True),
    (MIG | LSEG, True, False),
    (LMIG | SEG, True, True),
    (LMIG | LSEG, False, False),
]


@pytest.mark.parametrize(("flags", "in_group", "in_message"), RETAINED)
@pytest.mark.parametrize("is_logical", [True, False])
@pytest.mark.parametrize("in_unit", [True, False])
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_successful_put_replaces_what_is_retained(
    flags: int, in_group: bool, in_message: bool, is_logical: bool, in_unit: bool, persistence: int
) -> None:
    options = (P.LOGICAL_ORDER if is_logical else P.NONE) | (P.SYNCPOINT if in_unit else P.NONE)
    position = placed(NOTHING, options, descriptor(flags, persistence=persistence))
    got = Retained(GIVEN, seq=9, in_group=True)
    after = after_put(HandleOrder(gets=got), options, position, group_id=GROUP, persistence=persistence)

    assert (after.puts.in_group, after.puts.in_message) == (in_group, in_message)
    if in_group or in_message:
        seq, offset = position.msg_seq_number, position.offset
        assert after.puts.next_position == ((seq, offset + 50) if in_message else (seq + 1, 0))
        assert after.puts.group_id == GROUP
        assert after.puts[5:] == (bool(flags & LMIG), in_unit, persistence, is_logical)
    assert after.gets is got


def test_a_group_is_resumed_without_logical_order_and_goes_on_with_it() -> None:
    """IBM's example of restart processing."""
    resumed = placed(NOTHING, P.SYNCPOINT, descriptor(MIG, group_id=GROUP, msg_seq_number=4))
    order = after_put(UNUSED, P.SYNCPOINT, resumed, group_id=GROUP, persistence=0)
    following = placed(order.puts, P.SYNCPOINT | P.LOGICAL_ORDER, descriptor(LMIG, group_id=NULL_ID))
    assert following == PutPosition(GROUP, 5, 0, int(MIG | LMIG))


def test_a_plain_put_costs_nothing() -> None:
    assert put_position(NOTHING, P.NONE, MQMD(), 50) is PLAIN
    assert after_put(UNUSED, P.NONE, PLAIN, group_id=NULL_ID, persistence=0) is UNUSED
