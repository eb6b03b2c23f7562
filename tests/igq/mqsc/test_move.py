"""MOVE QLOCAL, by IBM's rules."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from igq.mqsc.executor import run
from sharedq.mqi.constants import MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQMD
from tests.support.agents import drain
from tests.support.killed import igq_killed
from tests.support.members import TestGroup


@pytest.fixture
def queues(group: TestGroup) -> TestGroup:
    group.define_private("QM1", "MINE")
    group.define_shared("OURS")
    group.define_shared("ANSWERS")
    return group


def mqsc(group: TestGroup, text: str, qmgr: str = "QM1") -> tuple[int, str]:
    out = io.StringIO()
    return run([f"{text}\n"], group.repository(qmgr), out), out.getvalue()


def refused(group: TestGroup, text: str) -> str:
    status, said = mqsc(group, text)
    assert status == 10
    return said


def fill(group: TestGroup, queue: str, count: int, **fields: object) -> list[bytes]:
    bodies = [b"%04d" % number for number in range(count)]
    with group.connect() as connection, connection.open(queue, OpenOption.OUTPUT) as to:
        to.put_many([(MQMD(**fields), body) for body in bodies])  # type: ignore[arg-type]
    return bodies


def on(group: TestGroup, queue: str) -> list[bytes]:
    with group.connect() as connection:
        return [message.body for message in drain(connection, queue)]


def test_everything_moves_as_it_was(queues: TestGroup) -> None:
    bodies = fill(queues, "MINE", 120, persistence=1)
    md = MQMD(
        version=2,
        group_id=b"g" * 24,
        msg_flags=int(MsgFlag.MSG_IN_GROUP),
        user_identifier=b"ANNA",
        put_appl_name=b"shop",
        put_date=b"20200101",
        put_time=b"12000000",
        correl_id=b"c" * 24,
        priority=0,
        persistence=1,
    )
    with queues.connect() as connection, connection.open("MINE", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as to:
        sent = replace(to.put(b"member", md, options=PutOption.SET_ALL_CONTEXT))
    status, said = mqsc(queues, "MOVE QL(MINE) TOQLOCAL(OURS)")
    assert status == 0
    assert "121 messages moved from MINE to OURS" in said
    with queues.connect() as connection:
        *others, member = drain(connection, "OURS")
    assert [message.body for message in others] == bodies
    assert (member.body, member.md.put_time, member.md.user_identifier) == (b"member", b"12000000", b"ANNA")
    assert (member.md.msg_id, member.md.group_id) == (sent.msg_id, b"g" * 24)
    assert on(queues, "MINE") == []


def test_a_shared_source_must_be_named_as_that(queues: TestGroup) -> None:
    fill(queues, "OURS", 3)
    assert "2085" in refused(queues, "MOVE QLOCAL(OURS) TOQLOCAL(MINE)")
    assert mqsc(queues, "MOVE QLOCAL(OURS) TOQLOCAL(MINE) QSGDISP(SHARED)")[0] == 0
    assert len(on(queues, "MINE")) == 3


def test_a_move_needs_an_empty_target_and_an_addition_does_not(queues: TestGroup) -> None:
    fill(queues, "MINE", 2)
    fill(queues, "OURS", 1)
    assert "2055" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(OURS) TYPE(MOVE)")
    assert mqsc(queues, "MOVE QLOCAL(MINE) TOQLOCAL(OURS) TYPE(ADD)")[0] == 0
    assert on(queues, "OURS") == [b"0000", b"0000", b"0001"]


def test_queues_that_are_open_or_in_use_are_refused(queues: TestGroup) -> None:
    fill(queues, "MINE", 2)
    connection = queues.connect()
    for queue in ("MINE", "OURS"):
        with connection.open(queue, OpenOption.INQUIRE):
            assert "2042" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(OURS)")
    for queue in ("MINE", "OURS"):
        connection.put1(queue, b"", options=PutOption.SYNCPOINT)
        assert "uncommitted" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(OURS)")
        connection.backout()
    assert len(on(queues, "MINE")) == 2


def test_there_must_be_room_for_all_before_any_moves(queues: TestGroup) -> None:
    queues.define_shared("SMALL", max_depth=4)
    fill(queues, "MINE", 3)
    fill(queues, "SMALL", 2)
    assert "2053" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(SMALL) TYPE(ADD)")
    assert (len(on(queues, "MINE")), len(on(queues, "SMALL"))) == (3, 2)


def test_queues_of_another_kind_are_refused(queues: TestGroup) -> None:
    queues.define_private("QM1", "XMIT", usage="XMITQ")
    assert "differ in USAGE" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(XMIT)")
    assert "same name" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(MINE)")
    said = refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(NOWHERE)")
    assert "CSQM125I: QLOCAL(NOWHERE) was not found, MQRC_UNKNOWN_OBJECT_NAME (2085): no such local queue." in said
    assert "TOQLOCAL" in refused(queues, "MOVE QLOCAL(MINE)")
    assert "TYPE" in refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(OURS) TYPE(COPY)")


def test_a_message_that_is_refused_stops_the_move(queues: TestGroup) -> None:
    queues.define_shared("SHORT", max_msg_length=10)
    bodies = fill(queues, "MINE", 60)
    queues.connect().put1("MINE", b"x" * 11)
    said = refused(queues, "MOVE QLOCAL(MINE) TOQLOCAL(SHORT)")
    assert "2030" in said
    assert "50 messages were moved before" in said
    assert on(queues, "SHORT") == bodies[:50]
    assert on(queues, "MINE") == [*bodies[50:], b"x" * 11]


def test_a_move_sends_no_report_of_delivery(queues: TestGroup) -> None:
    md = MQMD(report=int(Report.COD), reply_to_q=b"ANSWERS", reply_to_q_mgr=b"QM1")
    queues.connect().put1("MINE", b"one", md)
    assert mqsc(queues, "MOVE QLOCAL(MINE) TOQLOCAL(OURS)")[0] == 0
    assert on(queues, "ANSWERS") == []
    assert on(queues, "OURS") == [b"one"]
    assert len(on(queues, "ANSWERS")) == 1


@pytest.mark.invariant(1, 8)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_move_loses_and_doubles_nothing(queues: TestGroup, when: str) -> None:
    bodies = fill(queues, "MINE", 120, persistence=1)
    command = ("mqsc", "QM1", "-c", "MOVE QLOCAL(MINE) TOQLOCAL(OURS) TYPE(ADD)")
    assert igq_killed(queues, *command, when=when, at=2)
    assert not igq_killed(queues, *command, when=when, at=9)
    assert on(queues, "OURS") == bodies
    assert on(queues, "MINE") == []
