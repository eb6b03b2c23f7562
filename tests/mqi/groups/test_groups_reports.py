"""Reports about the segments of a logical message: they come together when all of one type are there."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from sharedq import Queue
from sharedq.calls.unit.commit import backout
from sharedq.mqi.constants import MQRC, Feedback, GetOption, MsgType, PutOption
from tests.support.groups import BOTH, LOGICAL, LSEG, MAY_SEGMENT, SEG, drain, put_member, reason_of, take
from tests.support.members import TestGroup
from tests.support.scenes import until

COMPLETE, SEGMENTS = int(GetOption.COMPLETE_MSG), int(GetOption.ALL_SEGMENTS_AVAILABLE)
COA, COD = int(Feedback.COA), int(Feedback.COD)
#: Offset, length and flags of the segments that the reports are about.
PLACES = ((0, 4, SEG), (4, 4, SEG), (8, 2, LSEG))


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("REPLIES")
    return group.connect().open("REPLIES", BOTH)


def report(queue: Queue, at: int, feedback: int, body: bytes, *, group: bytes = b"g", **fields: Any) -> None:
    """Put a report about segment number *at*, with *body* as that much of its data."""
    offset, length, flags = PLACES[at]
    put_member(
        queue,
        group,
        1,
        body,
        flags,
        offset=offset,
        msg_type=int(MsgType.REPORT),
        feedback=feedback,
        original_length=length,
        **fields,
    )


@pytest.mark.rule(
    "mqi/groups", "COMPLETE_MSG puts reports about segments together when all reports of one type have arrived."
)
def test_reports_of_one_type_are_one_message_even_with_others_between(queue: Queue) -> None:
    for at, feedback, body in ((1, COD, b"d1"), (0, COA, b"a0"), (0, COD, b"d0"), (2, COA, b"a"), (1, COA, b"a111")):
        report(queue, at, feedback, body)

    message = queue.get(COMPLETE)
    assert (message.body, message.md.feedback) == (b"a0\0\0a111a\0", COA)
    # One report of the other type is missing. They can be got one by one.
    assert take(queue, COMPLETE) == b""
    assert take(queue, SEGMENTS) == b""
    report(queue, 2, COD, b"d2")
    assert take(queue, COMPLETE) == b"d0\0\0d1\0\0d2"
    assert drain(queue) == []


@pytest.mark.rule("mqi/groups", "A report about an only segment is filled with nulls to the length of that segment.")
def test_the_report_about_the_only_segment_has_nulls_for_what_it_lacks(queue: Queue) -> None:
    def put() -> None:
        put_member(queue, b"g", 1, b"some", LSEG, msg_type=int(MsgType.REPORT), feedback=COD, original_length=10)

    put()
    assert take(queue, GetOption.BROWSE_FIRST) == b"some"
    assert reason_of(queue, COMPLETE, max_length=9) == MQRC.TRUNCATED_MSG_FAILED
    cut = queue.get(COMPLETE | GetOption.ACCEPT_TRUNCATED_MSG, max_length=6)
    assert (cut.body, cut.data_length, cut.reason) == (b"some\0\0", 10, MQRC.TRUNCATED_MSG_ACCEPTED)
    put()
    whole = queue.get(COMPLETE | GetOption.SYNCPOINT)
    assert (whole.body, whole.data_length, whole.reason) == (b"some" + bytes(6), 10, MQRC.NONE)
    backout(queue.connection)
    assert drain(queue) == [b"some"]


@pytest.mark.rule("mqi/groups", "A report about a segment that was split again takes the whole place of that segment.")
def test_a_report_that_is_split_itself_takes_the_place_of_its_segment(group: TestGroup) -> None:
    group.define_shared("SMALL", max_msg_length=64)
    small = group.connect().open("SMALL", BOTH)
    for offset, flags, body, length in ((0, SEG, b"d" * 100, 1000), (1000, LSEG, b"e" * 50, 50)):
        fields: dict[str, Any] = {"msg_type": int(MsgType.REPORT), "feedback": COD, "original_length": length}
        put_member(small, b"g", 1, body, flags | MAY_SEGMENT, offset=offset, **fields)
    assert take(small, COMPLETE) == b"d" * 100 + bytes(900) + b"e" * 50
    assert drain(small) == []


@pytest.mark.rule("mqi/groups", "ALL_SEGMENTS_AVAILABLE is satisfied by a report of any type for each segment.")
def test_a_mixture_of_types_is_all_there_but_cannot_be_put_together(queue: Queue) -> None:
    for at, feedback in ((0, COA), (1, COD), (2, COA)):
        report(queue, at, feedback, b"%d" % at)

    assert take(queue, COMPLETE) == b""
    assert take(queue, COMPLETE | int(GetOption.BROWSE_FIRST)) == b""
    assert [take(queue, options) for options in (SEGMENTS, 0, 0)] == [b"0", b"1", b"2"]


@pytest.mark.rule("mqi/groups", "Exception reports are one type, whatever their reasons.")
def test_exceptions_with_different_reasons_are_one_type(queue: Queue) -> None:
    for at, reason in ((0, MQRC.Q_FULL), (1, MQRC.PUT_INHIBITED), (2, MQRC.Q_FULL)):
        report(queue, at, int(reason), b"%d" % at)
    assert take(queue, COMPLETE) == b"0\0\0\0" + b"1\0\0\0" + b"2\0"


def test_reports_and_the_message_that_they_are_about_do_not_mix(queue: Queue) -> None:
    report(queue, 0, COA, b"a0")
    report(queue, 1, COA, b"a1")
    for offset, body, flags in ((0, b"data", SEG), (4, b"more", SEG), (8, b"!!", LSEG)):
        put_member(queue, b"g", 1, body, flags, offset=offset)
    assert take(queue, COMPLETE) == b"datamore!!"
    assert take(queue, COMPLETE) == b""
    report(queue, 2, COA, b"a2")
    assert take(queue, COMPLETE) == b"a0\0\0a1\0\0a2"


def test_of_two_reports_of_one_type_about_one_segment_the_first_counts(queue: Queue) -> None:
    for at, body in ((0, b"0"), (1, b"1"), (1, b"x"), (2, b"2")):
        report(queue, at, COD, body)
    assert take(queue, COMPLETE) == b"0\0\0\0" + b"1\0\0\0" + b"2\0"
    assert drain(queue) == [b"x"]


def test_a_mixture_in_front_hides_no_later_message(queue: Queue) -> None:
    # More reports than one look at the queue passes over.
    for number in range(300):
        for at, feedback in ((0, COA), (1, COD), (2, COA)):
            report(queue, at, feedback, b"x", group=b"%d." % number)
    for at in (2, 1, 0):
        report(queue, at, COD, b"%d" % at, group=b"whole")
    assert take(queue, COMPLETE) == b"0\0\0\0" + b"1\0\0\0" + b"2\0"


@pytest.mark.rule(
    "mqi/groups", "A getter that waits for a whole report is woken by the report that completes its type."
)
@pytest.mark.parametrize("options", [COMPLETE, LOGICAL | COMPLETE])
def test_a_waiter_for_a_whole_report_is_woken_when_its_type_completes(
    group: TestGroup, queue: Queue, options: int
) -> None:
    for at, feedback in ((0, COA), (0, COD), (1, COD), (2, COA)):
        report(queue, at, feedback, b"%d" % at)
    # From now on each segment has a report, but not all of one type.
    waiting = group.connect().open("REPLIES", BOTH)
    found: list[bytes] = []
    thread = threading.Thread(
        target=lambda: found.append(waiting.get(options | int(GetOption.WAIT), wait_ms=60_000).body)
    )
    thread.start()
    keys = group.group.structure("APPL1").queue("REPLIES")
    until(lambda: group.group.client().zcard(keys.waiters), "it waits")
    report(queue, 1, COA, b"1")
    thread.join(30)
    assert found == [b"0\0\0\0" + b"1\0\0\0" + b"2\0"]


def test_any_order_with_units_of_work_leaves_nothing(group: TestGroup, queue: Queue) -> None:
    """The counts of reports go with the reports: by gets, by gets and puts that are backed out, and by locks."""
    chance = random.Random(7)
    reports = [(at, feedback) for at in range(3) for feedback in (COA, COD, COD)]
    connection = group.connect()
    other = connection.open("REPLIES", BOTH)
    for _ in range(10):
        chance.shuffle(reports)
        for at, feedback in reports:
            report(other, at, feedback, b"%d" % at, options=int(PutOption.SYNCPOINT))
            connection.backout() if chance.random() < 0.2 else connection.commit()
        took = take(queue, COMPLETE | int(GetOption.BROWSE_FIRST) | int(GetOption.LOCK))
        assert took in (b"", b"0\0\0\0" + b"1\0\0\0" + b"2\0")
        queue.unlock()
        for options in (COMPLETE, 0):
            while take(other, options | int(GetOption.SYNCPOINT)):
                connection.backout() if chance.random() < 0.3 else connection.commit()
    keys, client = group.group.structure("APPL1").queue("REPLIES"), group.group.client()
    assert not client.exists(keys.groups, keys.index, keys.members)
