"""A Priority above MaxPriority is a warning (2049), is placed as the highest, and is kept."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, Feedback, GetOption, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQMD, MQPMO
from tests.support.agents import AgentOfQM2, drain
from tests.support.groups import BOTH, LMIG, MAY_SEGMENT
from tests.support.members import TestGroup

SYNCPOINT = int(PutOption.SYNCPOINT)
LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
WARNING = (MQCC.WARNING, MQRC.PRIORITY_EXCEEDS_MAXIMUM)
HIGHEST = 2**31 - 1


def put(queue: Queue, body: bytes, priority: int, options: int = 0, **fields: Any) -> tuple[MQCC, MQRC]:
    md = MQMD(version=2, priority=priority, **fields)
    outcome = verbs.mqput(queue.connection, queue.handle, md, MQPMO(options=options), body)
    assert md.priority == priority
    return outcome


@pytest.mark.rule(
    "mqi/order", "A Priority above 9 is a warning (2049): the message is placed as 9 and keeps its number."
)
@pytest.mark.parametrize("fields", [{}, {"msg_flags": LMIG}, {"msg_flags": MAY_SEGMENT}, {"correl_id": b"c" * 24}])
@pytest.mark.parametrize("options", [0, SYNCPOINT, LATER])
@pytest.mark.parametrize("is_shared", [True, False])
def test_it_is_placed_as_the_highest_and_kept(
    group: TestGroup, is_shared: bool, options: int, fields: dict[str, Any]
) -> None:
    group.define_shared("Q", max_msg_length=16) if is_shared else group.define_private("QM1", "Q", max_msg_length=16)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    for body, priority in ((b"8", 8), (b"77", 77), (b"9", 9), (b"10", 10), (b"highest", HIGHEST)):
        outcome = put(queue, body, priority, options, **fields)
        assert outcome == (WARNING if priority > 9 else (MQCC.OK, MQRC.NONE))
    connection.commit()
    expected = [(b"77", 77), (b"9", 9), (b"10", 10), (b"highest", HIGHEST), (b"8", 8)]
    # A backout leaves the place, and the number, as they were.
    for _ in range(2):
        got = [queue.get(GetOption.SYNCPOINT) for _ in expected]
        assert [(message.body, message.md.priority) for message in got] == expected
        connection.backout()


@pytest.mark.rule("mqi/order", "Each further put with a Priority above 9 in the same descriptor is a warning too.")
def test_a_second_put_with_the_same_descriptor_is_warned_of_too(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    md = MQMD(priority=10)
    for _ in range(2):
        assert verbs.mqput(queue.connection, queue.handle, md, MQPMO(options=64), b"x") == WARNING


def test_a_negative_one_is_refused(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    assert put(queue, b"x", -2) == (MQCC.FAILED, MQRC.PRIORITY_ERROR)


@pytest.mark.rule(
    "mqi/order", "A Priority above 9 is a warning (2049): the message is placed as 9 and keeps its number."
)
def test_first_in_first_out_it_counts_for_nothing(group: TestGroup) -> None:
    group.define_shared("Q", msg_delivery_sequence="FIFO")
    queue = group.connect().open("Q", BOTH)
    for priority in (3, 77, 9):
        put(queue, b"x", priority)
    assert [queue.get().md.priority for _ in range(3)] == [3, 77, 9]


@pytest.mark.rule("mqi/order", "A Priority above 9 stays in reports, in transmission headers and at another manager.")
def test_a_report_has_it_too(group: TestGroup) -> None:
    group.define_shared("Q")
    group.define_shared("REPLIES")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    assert put(queue, b"x", 77, report=int(Report.COA), reply_to_q=b"REPLIES") == WARNING
    (made,) = drain(connection, "REPLIES")
    assert (made.md.feedback, made.md.priority) == (Feedback.COA, 77)


@pytest.fixture
def sender(group: TestGroup) -> QueueManagerConnection:
    group.add_member("QM2")
    group.define_private("QM2", "NEAR")
    group.define_shared("FAR")
    return group.connect()


@pytest.mark.rule("mqi/order", "A Priority above 9 stays in reports, in transmission headers and at another manager.")
@pytest.mark.parametrize("how", ["move", "carry", "deliver"])
def test_it_travels_to_another_manager(group: TestGroup, sender: QueueManagerConnection, how: str) -> None:
    agent = AgentOfQM2(group)
    name = "NEAR" if how == "move" else "FAR"
    queue = sender.open(name, OpenOption.OUTPUT, qmgr_name="QM2")
    # A message that expires is not carried as it is stored.
    fields = {"expiry": 1000} if how == "deliver" else {}
    for priority in (8, 77, 9):
        assert put(queue, b"%d" % priority, priority, persistence=1, **fields)[0] != MQCC.FAILED
    getattr(agent, how)()
    got = drain(group.connect("QM2"), name)
    assert [(message.body, message.md.priority) for message in got] == [(b"77", 77), (b"9", 9), (b"8", 8)]


@pytest.mark.rule("mqi/order", "A Priority above 9 stays in reports, in transmission headers and at another manager.")
def test_a_header_of_a_transmission_queue_has_it(group: TestGroup, sender: QueueManagerConnection) -> None:
    """The agent takes it from there, also if a program made the header."""
    transmit = "SYSTEM.QSG.TRANSMIT.QUEUE"
    queue = sender.open("NEAR", OpenOption.OUTPUT, qmgr_name="QM2")
    put(queue, b"x", 77, persistence=1)
    header = group.connect("QM2").open(transmit, BOTH).get()
    group.connect("QM2").open(transmit, OpenOption.OUTPUT).put(header.body, header.md)
    AgentOfQM2(group).deliver()
    (got,) = drain(group.connect("QM2"), "NEAR")
    assert (got.body, got.md.priority) == (b"x", 77)
