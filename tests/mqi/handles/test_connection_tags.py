"""Connection tags: MQCNO_SERIALIZE_CONN_TAG_* and MQCNO_RESTRICT_CONN_TAG_*, as programs use them.

IBM MQ reference, "MQCNO - Connect options"; the recovery of dead holders is in tests/recovery/test_resolution.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from recovery.resolution import Phase, RecoveryReport, recover
from sharedq import MQIError, verbs
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.connect import tag_argument
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.messages.context import Program
from sharedq.mqi.constants import MQCC, MQRC, ConnectOption, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQCNO
from sharedq.redis.link import ScriptCall
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost

SERIAL_QSG, SERIAL_QMGR = ConnectOption.SERIALIZE_CONN_TAG_QSG, ConnectOption.SERIALIZE_CONN_TAG_Q_MGR
SHARED_QSG, SHARED_QMGR = ConnectOption.RESTRICT_CONN_TAG_QSG, ConnectOption.RESTRICT_CONN_TAG_Q_MGR
ALL_OPTIONS = (SERIAL_QSG, SERIAL_QMGR, SHARED_QSG, SHARED_QMGR)
TAG = b"payroll"


@pytest.fixture
def pair(group: TestGroup) -> TestGroup:
    """Two members."""
    group.add_member("QM2")
    return group


def connect(group: TestGroup, option: ConnectOption, process: Process, tag: bytes = TAG) -> QueueManagerConnection:
    return group.connect(process.qmgr, process, tag=tag_argument(process.qmgr, tag, option))


def refusal(group: TestGroup, option: ConnectOption, process: Process, tag: bytes = TAG) -> MQRC | None:
    """The reason why a connection is refused. A connection that is not refused ends at once."""
    try:
        connect(group, option, process, tag).disconnect()
    except MQIError as error:
        return error.reason
    return None


IN_USE = MQRC.CONN_TAG_IN_USE


@pytest.mark.rule(
    "igq/serialization", "Each of the four connection tag options decides who may share a tag that is in use."
)
@pytest.mark.parametrize(
    ("first", "second", "same_process", "other_process", "other_manager"),
    [
        (SERIAL_QSG, SERIAL_QSG, IN_USE, IN_USE, IN_USE),
        (SERIAL_QSG, SERIAL_QMGR, IN_USE, IN_USE, None),
        (SERIAL_QSG, SHARED_QSG, IN_USE, IN_USE, IN_USE),
        (SERIAL_QSG, SHARED_QMGR, IN_USE, IN_USE, None),
        (SERIAL_QMGR, SERIAL_QSG, IN_USE, IN_USE, IN_USE),
        (SERIAL_QMGR, SERIAL_QMGR, IN_USE, IN_USE, None),
        (SERIAL_QMGR, SHARED_QSG, IN_USE, IN_USE, IN_USE),
        (SERIAL_QMGR, SHARED_QMGR, IN_USE, IN_USE, None),
        (SHARED_QSG, SERIAL_QSG, IN_USE, IN_USE, IN_USE),
        (SHARED_QSG, SERIAL_QMGR, IN_USE, IN_USE, None),
        (SHARED_QSG, SHARED_QSG, None, IN_USE, IN_USE),
        (SHARED_QSG, SHARED_QMGR, None, IN_USE, None),
        (SHARED_QMGR, SERIAL_QSG, IN_USE, IN_USE, IN_USE),
        (SHARED_QMGR, SERIAL_QMGR, IN_USE, IN_USE, None),
        (SHARED_QMGR, SHARED_QSG, None, IN_USE, IN_USE),
        (SHARED_QMGR, SHARED_QMGR, None, IN_USE, None),
    ],
)
def test_the_tag_options_decide_about_a_tag_in_use(
    pair: TestGroup,
    first: ConnectOption,
    second: ConnectOption,
    same_process: MQRC | None,
    other_process: MQRC | None,
    other_manager: MQRC | None,
) -> None:
    process = pair.process("QM1")
    user = connect(pair, first, process)

    refused = [refusal(pair, second, each) for each in (process, pair.process("QM1"), pair.process("QM2"))]

    assert refused == [same_process, other_process, other_manager]
    user.disconnect()
    assert [refusal(pair, second, pair.process(qmgr)) for qmgr in ("QM1", "QM2")] == [None, None]


def test_a_tag_that_is_shared_is_free_when_its_last_user_has_gone(pair: TestGroup) -> None:
    process, other = pair.process("QM1"), pair.process("QM2")
    users = [connect(pair, SHARED_QSG, process) for _ in range(3)]
    for user in users:
        assert refusal(pair, SERIAL_QSG, other) == IN_USE
        user.disconnect()
    connect(pair, SERIAL_QSG, other)
    assert refusal(pair, SHARED_QSG, process) == IN_USE


def test_the_same_tag_is_serialized_at_each_manager_separately(pair: TestGroup) -> None:
    first, second = pair.process("QM1"), pair.process("QM2")
    connect(pair, SERIAL_QMGR, first)
    at_second = connect(pair, SERIAL_QMGR, second)
    at_second.disconnect()
    assert refusal(pair, SERIAL_QMGR, second) is None
    assert refusal(pair, SERIAL_QMGR, first) == IN_USE


@pytest.mark.rule(
    "igq/serialization", "A restricted tag is shared by the connections of one program, also if they come by a channel."
)
@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Program("u", 7), MQRC.NONE),
        (Program("other", 7, "CHANNEL"), MQRC.NONE),
        (Program("u", 8), IN_USE),
        (Program("u", 7, "", "10.0.0.1(5)"), IN_USE),
        # This process, as the channel server itself.
        (None, IN_USE),
    ],
)
@pytest.mark.parametrize("option", [SHARED_QSG, SHARED_QMGR])
def test_programs_that_come_by_one_channel_share_no_tag(
    pair: TestGroup, option: ConnectOption, other: Program | None, reason: MQRC
) -> None:
    assert _reasons(option, (pair.group, "QM1", Program("u", 7)), (pair.group, "QM1", other)) == [MQRC.NONE, reason]


@pytest.mark.parametrize(
    ("qmgr", "other", "reason"),
    [
        ("QM1", Program("u", 7), MQRC.NONE),
        ("QM1", Program("u", 8), IN_USE),
        # Not by a channel: a process of its own.
        ("QM1", None, IN_USE),
        ("QM2", Program("u", 7), IN_USE),
    ],
)
def test_two_servers_of_a_manager_know_one_program(
    pair: TestGroup, qmgr: str, other: Program | None, reason: MQRC
) -> None:
    server = Group(pair.settings)
    try:
        both = (pair.group, "QM1", Program("u", 7)), (server, qmgr, other)
        assert _reasons(SHARED_QSG, *both) == [MQRC.NONE, reason]
    finally:
        server.leave()


def _reasons(option: ConnectOption, *clients: tuple[Group, str, Program | None]) -> list[MQRC]:
    """Connect these with one tag, all at a time. Returns the reasons."""
    cno = MQCNO(version=3, conn_tag=TAG, options=int(option))
    made = [verbs.mqconnx(group, qmgr, cno, "", program) for group, qmgr, program in clients]
    for connection, _, _ in made:
        if connection is not None:
            verbs.mqdisc(connection)
    return [MQRC(reason) for _, _, reason in made]


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (Program("u", 7, "C", "10.0.0.1(5)"), Program("u", 7, "C", "10.0.0.1(6)"), MQRC.NONE),
        (Program("u", 7, "C", "10.0.0.1(5)"), Program("u", 7, "C", "10.0.0.10(5)"), IN_USE),
        # A program that does not tell its process may be any.
        (Program("u", 0, "C", "10.0.0.1(5)"), Program("u", 0, "C", "10.0.0.1(5)"), IN_USE),
    ],
)
def test_programs_of_other_machines_share_no_tag(pair: TestGroup, one: Program, other: Program, reason: MQRC) -> None:
    assert _reasons(SHARED_QSG, (pair.group, "QM1", one), (pair.group, "QM1", other)) == [MQRC.NONE, reason]


@pytest.mark.rule("igq/serialization", "MQCONNX takes one of the tag options at a time; more are 2046.")
def test_one_option_about_tags_at_a_time(pair: TestGroup) -> None:
    pairs = [one | other for one in ALL_OPTIONS for other in ALL_OPTIONS if one is not other]
    for options in pairs:
        cno = MQCNO(version=3, conn_tag=TAG, options=int(options))
        assert verbs.mqconnx(pair.group, "QM1", cno)[1:] == (MQCC.FAILED, MQRC.OPTIONS_ERROR)


@pytest.mark.parametrize("option", ALL_OPTIONS)
def test_a_tag_has_128_bytes_at_most(pair: TestGroup, option: ConnectOption) -> None:
    for tag, outcome in ((b"x" * 128, MQRC.NONE), (b"x" * 129, MQRC.CNO_ERROR)):
        connection, _, reason = verbs.mqconnx(pair.group, "QM1", MQCNO(version=3, conn_tag=tag, options=int(option)))
        assert reason == outcome
        if connection is not None:
            verbs.mqdisc(connection)


@pytest.mark.rule("igq/serialization", "A tag that begins with MQ belongs to the queue manager; a program gets 2350.")
@pytest.mark.parametrize("option", ALL_OPTIONS)
@pytest.mark.parametrize("tag", [b"MQ", b"mQ-IGQ-AGENT-QM1", b"Mqseries"])
def test_tags_of_the_queue_manager_are_not_for_programs(pair: TestGroup, option: ConnectOption, tag: bytes) -> None:
    cno = MQCNO(version=3, conn_tag=tag.ljust(128, b"\0"), options=int(option))
    assert verbs.mqconnx(pair.group, "QM1", cno)[1:] == (MQCC.FAILED, MQRC.CONN_TAG_NOT_USABLE)


@pytest.mark.parametrize(
    "cno",
    [
        MQCNO(version=2, conn_tag=TAG, options=int(SERIAL_QSG)),
        MQCNO(version=3, conn_tag=bytes(128), options=int(SERIAL_QSG)),
        MQCNO(version=3, conn_tag=TAG),
    ],
    ids=["the structure has no tag yet", "null", "not asked for"],
)
def test_without_a_tag_nothing_is_serialized(pair: TestGroup, cno: MQCNO) -> None:
    connections = [verbs.mqconnx(pair.group, qmgr, cno)[0] for qmgr in ("QM1", "QM1", "QM2")]
    for connection in connections:
        assert connection is not None
        assert verbs.mqdisc(connection) == (MQCC.OK, MQRC.NONE)


def kill(group: TestGroup, user: QueueManagerConnection) -> None:
    """Make the process of a connection dead, with its lease run out."""
    process = user.connection.process
    assert isinstance(process, Process)
    process.stop_renewing()
    group.group.client().zadd(group.group.keys.leases, {process.token: 0})


@pytest.mark.rule("igq/serialization", "A dead program keeps its tag until its messages are back.")
@pytest.mark.invariant(6)
@pytest.mark.parametrize("option", ALL_OPTIONS)
def test_a_dead_user_keeps_its_tag_until_its_messages_are_back(pair: TestGroup, option: ConnectOption) -> None:
    """Also from its successor, the same program started again."""
    pair.define_shared("ORDERS")
    pair.connect("QM1").put1("ORDERS", b"first")
    dead = connect(pair, option, pair.process("QM1"))
    assert dead.open("ORDERS", OpenOption.INPUT_SHARED).get(GetOption.SYNCPOINT).body == b"first"
    kill(pair, dead)
    successor = pair.process("QM1")
    refused = [refusal(pair, option, successor)]

    def look(phase: Phase, _report: RecoveryReport) -> None:
        if phase is not Phase.RESOLVED:
            refused.append(refusal(pair, option, successor))

    recoverer = pair.connect("QM1").connection
    assert recover(pair.group, recoverer, dead.connection.process.token, on_phase=look).is_resolved
    assert (set(refused), len(refused)) == ({IN_USE}, 6)
    assert connect(pair, option, successor).open("ORDERS", OpenOption.INPUT_SHARED).get().body == b"first"


@pytest.mark.rule("igq/serialization", "A tag is refused with 2350 while a structure delays the recovery of its user.")
def test_a_tag_is_unusable_while_a_structure_delays_its_users_recovery(
    pair: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.define_shared("ORDERS")
    dead = connect(pair, SERIAL_QSG, pair.process("QM1"))
    dead.open("ORDERS", OpenOption.OUTPUT).put(b"never", options=PutOption.SYNCPOINT)
    kill(pair, dead)
    recoverer, target = pair.connect("QM1").connection, dead.connection.process.token
    call_many = recoverer.call_many

    def refuse(calls: Sequence[ScriptCall]) -> list[Any]:
        if calls[0][0] == "structure/backout":
            raise error_for(MQRC.CF_STRUC_IN_USE, "", "APPL1")
        return call_many(calls)

    monkeypatch.setattr(recoverer, "call_many", refuse)
    with pytest.raises(MQIError):
        recover(pair.group, recoverer, target)
    assert refusal(pair, SERIAL_QSG, pair.process("QM2")) == MQRC.CONN_TAG_NOT_USABLE

    monkeypatch.undo()
    assert recover(pair.group, recoverer, target).is_resolved
    assert refusal(pair, SERIAL_QSG, pair.process("QM2")) is None
    assert on_queue(pair, "ORDERS") == []


@pytest.mark.rule("igq/serialization", "MQDISC ends with 2344 if it leaves the end of a unit of work to the group.")
@pytest.mark.parametrize(("tag", "outcome"), [(TAG, (MQCC.WARNING, MQRC.CONN_TAG_NOT_RELEASED)), (b"", None)])
def test_mqdisc_warns_of_a_tag_in_use_until_the_group_completes_the_commit(
    pair: TestGroup, monkeypatch: pytest.MonkeyPatch, tag: bytes, outcome: tuple[MQCC, MQRC] | None
) -> None:
    pair.define_structure("APPL2")
    pair.define_shared("ONE")
    pair.define_shared("TWO", "APPL2")
    process = pair.process("QM1")
    user = connect(pair, SERIAL_QSG, process, tag)
    for name in ("ONE", "TWO"):
        user.open(name, OpenOption.OUTPUT).put(b"kept", options=PutOption.SYNCPOINT)
    call_apart = user.connection.call_apart

    def refuse(calls: Sequence[ScriptCall]) -> list[Any]:
        return [[int(MQRC.CF_STRUC_IN_USE)] if "APPL2" in call[1][0] else call_apart([call])[0] for call in calls]

    monkeypatch.setattr(user.connection, "call_apart", refuse)
    assert verbs.mqdisc(user.connection) == (outcome or (MQCC.FAILED, MQRC.CONNECTION_BROKEN))
    assert user.connection.is_ended
    assert refusal(pair, SERIAL_QSG, process, tag) == (IN_USE if tag else None)

    recover_lost(pair, user.connection.token)
    assert refusal(pair, SERIAL_QSG, process, tag) is None
    assert on_queue(pair, "ONE") == on_queue(pair, "TWO", "APPL2") == [(b"kept", 0)]
