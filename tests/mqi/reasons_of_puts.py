"""The reasons of MQPUT."""

from __future__ import annotations

from typing import Any

from sharedq.mqi.constants import MQRC, OpenOption, Report
from sharedq.objects.definitions.queues import QueueModel
from tests.mqi.reason_scenes import CASES, FAILED, GROUP_ID, WARNING, Call, Case, P, Scene, provokes
from tests.support.groups import LMIG, MIG, SEG


@provokes(MQRC.OPTIONS_ERROR)
def put_options_that_contradict(s: Scene) -> Call:
    return lambda: s.put(options=P.SYNCPOINT | P.NO_SYNCPOINT)


@provokes(MQRC.NOT_OPEN_FOR_OUTPUT)
def a_put_by_a_handle_for_input(s: Scene) -> Call:
    handle = s.open(options=OpenOption.INPUT_SHARED)
    return lambda: s.put(at=handle)


@provokes(MQRC.PUT_INHIBITED)
def puts_are_inhibited(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"put": "DISABLED"})
    return s.put


@provokes(MQRC.PERSISTENT_NOT_ALLOWED)
def a_persistent_message_for_a_temporary_queue(s: Scene) -> Call:
    s.group.repository("QM1").define(QueueModel(name="TEMP", definition_type="TEMPDYN"))
    handle = s.open("TEMP")
    return lambda: s.put(at=handle, persistence=1)


@provokes(MQRC.Q_FULL)
def the_queue_is_full(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_depth": 1})
    s.has()
    return s.put


@provokes(MQRC.Q_FULL)
def the_queue_is_full_for_a_member_of_a_group(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_depth": 1})
    s.has()
    return lambda: s.put(options=P.LOGICAL_ORDER, msg_flags=MIG)


@provokes(MQRC.MSG_TOO_BIG_FOR_Q)
def it_is_too_long(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_msg_length": 3})
    return s.put


FIELDS: tuple[tuple[MQRC, dict[str, Any]], ...] = (
    (MQRC.FEEDBACK_ERROR, {"feedback": -1}),
    (MQRC.FEEDBACK_ERROR, {"feedback": 1_000_000_000}),
    (MQRC.EXPIRY_ERROR, {"expiry": 0}),
    (MQRC.EXPIRY_ERROR, {"expiry": 1 << 31}),
    (MQRC.MD_ERROR, {"feedback": 1 << 40}),
    (MQRC.MISSING_REPLY_TO_Q, {"msg_type": 1}),
    (MQRC.MSG_TYPE_ERROR, {"msg_type": 0}),
    (MQRC.PERSISTENCE_ERROR, {"persistence": 7}),
    (MQRC.PRIORITY_ERROR, {"priority": -2}),
    (MQRC.REPORT_OPTIONS_ERROR, {"report": 0x1000_0000, "reply_to_q": b"R"}),
    (MQRC.REPORT_OPTIONS_ERROR, {"report": int(Report.PASS_MSG_ID) | 0x0004_0000}),
    (MQRC.MSG_FLAGS_ERROR, {"msg_flags": 1 << 10}),
    (MQRC.MSG_SEQ_NUMBER_ERROR, {"msg_flags": MIG, "msg_seq_number": 0}),
    (MQRC.OFFSET_ERROR, {"msg_flags": SEG, "offset": -1}),
    (MQRC.ORIGINAL_LENGTH_ERROR, {"msg_flags": SEG, "msg_type": 4, "original_length": 1}),
)
for number, (refused, given) in enumerate(FIELDS):

    def a_field_that_cannot_be(s: Scene, given: dict[str, Any] = given) -> Call:
        return lambda: s.put(**given)

    CASES[f"{int(refused)}-field-{number}"] = Case(refused, FAILED, a_field_that_cannot_be)


@provokes(MQRC.SEGMENT_LENGTH_ZERO)
def an_empty_segment(s: Scene) -> Call:
    return lambda: s.put(b"", group_id=GROUP_ID, msg_flags=SEG)


@provokes(MQRC.PRIORITY_EXCEEDS_MAXIMUM, WARNING)
def a_priority_that_is_too_high(s: Scene) -> Call:
    return lambda: s.put(priority=10)


@provokes(MQRC.UNKNOWN_REPORT_OPTION, WARNING)
def a_report_option_that_nobody_knows(s: Scene) -> Call:
    return lambda: s.put(report=0x0000_0008)


def begin_a_group(s: Scene, **md: Any) -> None:
    s.did(s.put(options=P.LOGICAL_ORDER, msg_flags=MIG, **md))


@provokes(MQRC.INCOMPLETE_GROUP)
def a_message_that_does_not_go_on_with_the_group(s: Scene) -> Call:
    begin_a_group(s)
    return lambda: s.put(options=P.LOGICAL_ORDER)


@provokes(MQRC.INCOMPLETE_MSG)
def a_message_that_does_not_go_on_with_the_segments(s: Scene) -> Call:
    s.did(s.put(options=P.LOGICAL_ORDER, msg_flags=SEG))
    return lambda: s.put(options=P.LOGICAL_ORDER)


@provokes(MQRC.INCONSISTENT_PERSISTENCE)
def a_group_of_two_persistences(s: Scene) -> Call:
    begin_a_group(s, persistence=1)
    return lambda: s.put(options=P.LOGICAL_ORDER, msg_flags=LMIG, persistence=0)


@provokes(MQRC.INCONSISTENT_UOW)
def a_group_put_outside_and_inside(s: Scene) -> Call:
    begin_a_group(s)
    return lambda: s.put(options=P.LOGICAL_ORDER | P.SYNCPOINT, msg_flags=LMIG)


@provokes(MQRC.WRONG_MD_VERSION)
def a_put_in_logical_order_in_the_first_version(s: Scene) -> Call:
    return lambda: s.put(options=P.LOGICAL_ORDER, version=1)


@provokes(MQRC.UOW_NOT_AVAILABLE)
def a_persistent_message_to_be_split_beside_a_unit_of_work(s: Scene) -> Call:
    s.group.repository("QM1").alter("QLOCAL", s.name, {"max_msg_length": 32})
    s.did(s.put(options=P.SYNCPOINT))
    return lambda: s.put(bytes(100), msg_flags=1, persistence=1)
