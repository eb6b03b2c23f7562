"""Distribution lists: MQOPEN, MQPUT, MQPUT1 and MQCLOSE of several queues as one object."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest

from recovery.resolution import recover
from sharedq import MQIError, verbs
from sharedq.api import QueueManagerConnection
from sharedq.calls.put import distribution
from sharedq.calls.put.put import put_checked
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    CloseOption,
    GetOption,
    IntSelector,
    ObjectType,
    OpenOption,
    PutOption,
    PutRecordField,
    Report,
)
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQOR, MQPMO, MQPMR, MQRR
from sharedq.objects.definitions.queues import QueueAlias, QueueModel
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.handle import ListHandle
from tests.support.accounts import assert_accounted
from tests.support.agents import drain as drain_all
from tests.support.groups import BOTH, LMIG, MIG, drain
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue

pytestmark = pytest.mark.share

SYNCPOINT = PutOption.SYNCPOINT
OK, WARNING, FAILED = MQCC.OK, MQCC.WARNING, MQCC.FAILED
F = PutRecordField


@pytest.fixture
def queues(group: TestGroup) -> TestGroup:
    """A and B in one structure, C in another, P private, FULL that takes nothing more, SHUT that takes nothing."""
    group.define_structure("APPL2")
    for name, structure in (("A", "APPL1"), ("B", "APPL1"), ("C", "APPL2")):
        group.define_shared(name, structure)
    group.define_private("QM1", "P")
    group.define_shared("FULL", max_depth=1)
    group.define_shared("SHUT", put="DISABLED")
    group.connect().put1("FULL", b"the one")
    return group


@pytest.fixture
def connection(queues: TestGroup) -> QueueManagerConnection:
    return queues.connect()


def bodies(group: TestGroup, *names: str) -> list[list[bytes]]:
    with group.connect() as connection:
        return [drain(connection.open(name, BOTH)) for name in names]


def descriptor(*names: str, responses: bool = True, **fields: Any) -> MQOD:
    records = [MQOR(name.encode()) for name in names]
    told = [MQRR(-7, -7) for _ in names] if responses else []
    given: dict[str, Any] = {
        "version": 2,
        "recs_present": len(records),
        "object_records": records,
        "response_records": told,
    }
    return MQOD(**(given | fields))


def opened(connection: QueueManagerConnection, od: MQOD, options: int = OpenOption.OUTPUT) -> ListHandle:
    handle, comp_code, _ = verbs.mqopen(connection.connection, od, int(options))
    assert isinstance(handle, ListHandle), comp_code
    return handle


def responses(records: Any) -> list[tuple[int, int]]:
    return [(each.comp_code, each.reason) for each in records]


@pytest.mark.rule("mqi/lists", "A put to a distribution list puts the message on each of its queues.")
@pytest.mark.parametrize("options", [0, SYNCPOINT, SYNCPOINT | PutOption.ASYNC_RESPONSE])
def test_a_message_goes_to_every_queue(queues: TestGroup, connection: QueueManagerConnection, options: int) -> None:
    with connection.open_list(["A", "B", "C", ("P", "QM1"), "A"]) as distribution_list:
        assert distribution_list.warning == MQRC.NONE
        assert distribution_list.put(b"x", options=options) == MQRC.NONE
        connection.commit()
    assert bodies(queues, "A", "B", "C", "P") == [[b"x", b"x"], [b"x"], [b"x"], [b"x"]]
    assert_accounted(queues.group)


def test_a_backout_takes_it_from_every_queue(queues: TestGroup, connection: QueueManagerConnection) -> None:
    with connection.open_list(["A", "B", "C", "P"]) as distribution_list:
        distribution_list.put(b"x", options=SYNCPOINT)
        assert bodies(queues, "A", "C") == [[], []]
        connection.backout()
    assert bodies(queues, "A", "B", "C", "P") == [[], [], [], []]


@pytest.mark.rule("mqi/lists", "A put beside a unit of work is as one without: definitions and SPREAD count the same.")
@pytest.mark.parametrize("is_beside", [True, False])
@pytest.mark.parametrize("bind", ["OPEN", "NOTFIXED"])
def test_an_alias_with_spread_in_a_list(queues: TestGroup, is_beside: bool, bind: Literal["OPEN", "NOTFIXED"]) -> None:
    alias = QueueAlias(name="ANY", target="A", spread="C,SHUT", def_priority=7, def_bind=bind)
    queues.define("QM1", alias)
    connection = queues.connect()
    if is_beside:
        connection.put1("P", b"mine", options=SYNCPOINT)
    with connection.open_list(["ANY", "B"]) as distribution_list:
        warnings = [distribution_list.put(b"x") for _ in range(6)]
        found = {name: drained(queues, name) for name in ("A", "C", "B")}
        queues.repository("QM1").alter("QALIAS", "ANY", {"put": "DISABLED"})
        assert distribution_list.put(b"late") == MQRC.MULTIPLE_REASONS
        queues.repository("QM1").alter("QALIAS", "ANY", {"put": "ENABLED", "spread": "C"})
        assert distribution_list.put(b"late") == MQRC.MULTIPLE_REASONS
    assert bodies(queues, "A", "C", "B") == [[], [], [b"late"] * 2]
    assert found["B"] == [0] * 6
    if bind == "NOTFIXED":
        assert warnings == [MQRC.NONE] * 6
        assert found["A"] + found["C"] == [7] * 6
        assert min(len(found["A"]), len(found["C"])) > 0
    else:
        assert sorted(map(len, (found["A"], found["C"]))) in ([0, 6], [0, 0])
    connection.backout()
    assert_accounted(queues.group)


def drained(group: TestGroup, name: str) -> list[int]:
    """Take all messages off a queue. Returns their priorities."""
    with group.connect() as connection:
        return [each.md.priority for each in drain_all(connection, name)]


def test_a_group_that_is_backed_out_beside_a_unit_of_work(
    queues: TestGroup, connection: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list goes on where its group was before."""
    connection.put1("P", b"mine", options=SYNCPOINT)
    with connection.open_list(["A", "B"]) as distribution_list:
        distribution_list.put(b"1", MQMD(version=2, msg_flags=MIG), options=PutOption.LOGICAL_ORDER)

        def refuse(unit: Connection) -> None:
            raise error_for(MQRC.STORAGE_MEDIUM_FULL, "MQCMIT", unit.qmgr_name)

        with monkeypatch.context() as patched:
            patched.setattr(distribution, "commit", refuse)
            put = partial(distribution_list.put, b"2", MQMD(version=2, msg_flags=MIG), options=PutOption.LOGICAL_ORDER)
            assert reason_of(put) == MQRC.STORAGE_MEDIUM_FULL
        distribution_list.put(b"2", MQMD(version=2, msg_flags=LMIG), options=PutOption.LOGICAL_ORDER)
    for name in ("A", "B"):
        assert [each.md.msg_seq_number for each in drain_all(queues.connect(), name)] == [1, 2]


@pytest.mark.rule("mqi/lists", "A put outside syncpoint leaves the program's unit of work alone.")
def test_a_put_beside_a_unit_of_work(queues: TestGroup, connection: QueueManagerConnection) -> None:
    connection.put1("A", b"mine", options=SYNCPOINT)
    with connection.open_list(["A", "C", "FULL"]) as distribution_list:
        for _ in range(2):
            assert distribution_list.put(b"x") == MQRC.MULTIPLE_REASONS
        assert bodies(queues, "A", "C") == [[b"x"] * 2, [b"x"] * 2]
        connection.backout()
        assert bodies(queues, "A", "C") == [[], []]


@pytest.mark.rule(
    "mqi/lists", "If the outcomes of destinations differ, the call warns with 2136. It fails if all fail."
)
def test_outcomes_of_the_open(queues: TestGroup, connection: QueueManagerConnection) -> None:
    od = descriptor("A", "NONE", "C")
    handle, comp_code, reason = verbs.mqopen(connection.connection, od, int(OpenOption.OUTPUT))
    assert (comp_code, reason) == (WARNING, MQRC.MULTIPLE_REASONS)
    assert responses(od.response_records) == [(OK, 0), (FAILED, MQRC.UNKNOWN_OBJECT_NAME), (OK, 0)]
    assert (od.known_dest_count, od.unknown_dest_count, od.invalid_dest_count) == (2, 0, 1)
    assert handle is not None
    told = [MQRR(), MQRR(), MQRR()]
    pmo = MQPMO(version=2, recs_present=3, response_records=told)
    assert verbs.mqput(connection.connection, handle, MQMD(), pmo, b"x") == (WARNING, MQRC.MULTIPLE_REASONS)
    assert responses(told) == [(OK, 0), (FAILED, MQRC.OPEN_FAILED), (OK, 0)]
    assert (pmo.known_dest_count, pmo.invalid_dest_count) == (2, 1)
    assert verbs.mqclose(connection.connection, handle) == (OK, MQRC.NONE)

    od = descriptor("NONE", "NEITHER")
    assert verbs.mqopen(connection.connection, od, int(OpenOption.OUTPUT))[1:] == (FAILED, MQRC.UNKNOWN_OBJECT_NAME)
    assert responses(od.response_records) == [(-7, -7)] * 2
    od = descriptor("NONE", "bad name")
    queues.repository("QM1").define(QueueModel(name="MODEL"))
    od = descriptor("NONE", "MODEL")
    assert verbs.mqopen(connection.connection, od, int(OpenOption.OUTPUT)) == (None, FAILED, MQRC.MULTIPLE_REASONS)
    assert [reason for _, reason in responses(od.response_records)] == [
        MQRC.UNKNOWN_OBJECT_NAME,
        MQRC.Q_TYPE_ERROR,
    ]
    assert bodies(queues, "A", "C") == [[b"x"], [b"x"]]
    assert_accounted(queues.group)


@pytest.mark.parametrize("options", [0, int(SYNCPOINT)])
def test_outcomes_of_the_put(queues: TestGroup, connection: QueueManagerConnection, options: int) -> None:
    handle = opened(connection, descriptor("A", "FULL", "SHUT", "C"))
    told = [MQRR() for _ in range(4)]
    pmo = MQPMO(version=2, options=options, recs_present=4, response_records=told)
    assert verbs.mqput(connection.connection, handle, MQMD(), pmo, b"x") == (WARNING, MQRC.MULTIPLE_REASONS)
    assert [reason for _, reason in responses(told)] == [0, MQRC.Q_FULL, MQRC.PUT_INHIBITED, 0]
    assert (pmo.known_dest_count, pmo.unknown_dest_count, pmo.invalid_dest_count) == (2, 0, 2)
    # A warning of every destination is that of the call.
    md = MQMD(priority=11)
    handle = opened(connection, descriptor("A", "C"))
    pmo = MQPMO(options=options)
    outcome = verbs.mqput(connection.connection, handle, md, pmo, b"y")
    assert outcome == (WARNING, MQRC.PRIORITY_EXCEEDS_MAXIMUM)
    for names, reason in ((("FULL",), MQRC.Q_FULL), (("FULL", "SHUT"), MQRC.MULTIPLE_REASONS)):
        handle = opened(connection, descriptor(*names))
        assert verbs.mqput(connection.connection, handle, MQMD(), MQPMO(options=options), b"z") == (FAILED, reason)
    connection.commit()
    assert bodies(queues, "A", "C", "FULL") == [[b"y", b"x"]] * 2 + [[b"the one"]]
    assert_accounted(queues.group)


@pytest.mark.rule("mqi/lists", "MQPUT1 with object records opens the list, puts and closes it.")
def test_mqput1_to_a_list(queues: TestGroup, connection: QueueManagerConnection) -> None:
    od, told = descriptor("A", "NONE", "FULL"), [MQRR() for _ in range(3)]
    pmo = MQPMO(version=2, recs_present=3, response_records=told)
    assert verbs.mqput1(connection.connection, od, MQMD(), pmo, b"x") == (WARNING, MQRC.MULTIPLE_REASONS)
    assert [reason for _, reason in responses(told)] == [0, MQRC.UNKNOWN_OBJECT_NAME, MQRC.Q_FULL]
    assert responses(od.response_records) == responses(told)
    assert (pmo.known_dest_count, pmo.invalid_dest_count, od.invalid_dest_count) == (1, 2, 1)
    assert verbs.mqput1(connection.connection, descriptor("A", "C"), MQMD(), MQPMO(), b"y") == (OK, MQRC.NONE)
    told = [MQRR(), MQRR()]
    queues.repository("QM1").define(QueueModel(name="MODEL"))
    pmo = MQPMO(version=2, recs_present=2, response_records=told)
    outcome = verbs.mqput1(connection.connection, descriptor("NONE", "MODEL", responses=False), MQMD(), pmo, b"z")
    assert outcome == (FAILED, MQRC.MULTIPLE_REASONS)
    assert [reason for _, reason in responses(told)] == [MQRC.UNKNOWN_OBJECT_NAME, MQRC.Q_TYPE_ERROR]
    assert bodies(queues, "A", "C") == [[b"x", b"y"], [b"y"]]
    assert not connection.connection.handles
    assert_accounted(queues.group)


@pytest.mark.rule("mqi/lists", "Put message records say what a message has at each destination.")
def test_put_message_records(connection: QueueManagerConnection) -> None:
    with connection.open_list(["A", "B"], OpenOption.OUTPUT | OpenOption.SET_IDENTITY_CONTEXT) as distribution_list:
        records = [MQPMR(correl_id=b"a" * 24, feedback=1, accounting_token=b"1" * 32), MQPMR(correl_id=b"b" * 24)]
        md = MQMD(correl_id=b"c" * 24, accounting_token=b"2" * 32, feedback=3)
        fields = F.MSG_ID | F.CORREL_ID | F.FEEDBACK | F.ACCOUNTING_TOKEN
        distribution_list.put(b"x", md, options=PutOption.SET_IDENTITY_CONTEXT, records=records, fields=fields)
        got = [connection.open(name, BOTH).get().md for name in ("A", "B")]
        assert [each.msg_id for each in got] == [each.msg_id for each in records]
        assert got[0].msg_id != got[1].msg_id
        assert [each.correl_id[:1] for each in got] == [b"a", b"b"]
        assert [(each.feedback, each.accounting_token[:1]) for each in got] == [(1, b"1"), (0, b"\0")]
        # Fields that do not count are those of the descriptor.
        distribution_list.put(b"x", md, options=PutOption.SET_IDENTITY_CONTEXT, records=records, fields=F.MSG_ID)
        got = [connection.open(name, BOTH).get().md for name in ("A", "B")]
        assert [(each.correl_id[:1], each.accounting_token[:1], each.feedback) for each in got] == [(b"c", b"2", 3)] * 2
        assert md.correl_id == b"c" * 24


def test_new_identifiers(connection: QueueManagerConnection) -> None:
    with connection.open_list(["A", "B", "C"]) as distribution_list:
        md, records = MQMD(msg_id=b"m" * 24, correl_id=b"c" * 24), [MQPMR(correl_id=b"r" * 24) for _ in range(3)]
        options = PutOption.NEW_MSG_ID | PutOption.NEW_CORREL_ID
        distribution_list.put(b"x", md, options=options, records=records, fields=F.CORREL_ID)
        got = [connection.open(name, BOTH).get().md for name in ("A", "B", "C")]
        assert len({each.msg_id for each in got} | {b"m" * 24}) == 4
        assert {each.correl_id for each in got} == {md.correl_id}
        assert md.correl_id not in (b"c" * 24, b"r" * 24)


@pytest.mark.rule("mqi/lists", "A message of a group needs a GroupId for each destination (2258).")
def test_groups(connection: QueueManagerConnection) -> None:
    with connection.open_list(["A", "C"]) as distribution_list:
        md = MQMD(version=2, group_id=b"G" * 24, msg_flags=MIG)
        assert reason_of(partial(distribution_list.put, b"x", md)) == MQRC.GROUP_ID_ERROR
        records = [MQPMR(group_id=b"1" * 24), MQPMR(group_id=b"2" * 24)]
        distribution_list.put(b"x", md, records=records, fields=F.GROUP_ID)
        got = [connection.open(name, BOTH).get().md.group_id for name in ("A", "C")]
        assert got == [b"1" * 24, b"2" * 24]
    with connection.open_list(["A", "C"]) as distribution_list:
        for flags in (MIG, MIG, LMIG):
            distribution_list.put(b"y", MQMD(version=2, msg_flags=flags), options=PutOption.LOGICAL_ORDER)
    complete = GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE
    assert len({connection.open(name, BOTH).get(complete).md.group_id for name in ("A", "C")}) == 2


def test_context_reports_properties_aliases_and_other_managers(queues: TestGroup) -> None:
    queues.add_member("QM2")
    queues.define_private("QM2", "THEIRS")
    queues.define_shared("REPLIES")
    queues.define_shared("SOURCE")
    queues.define("QM1", QueueAlias(name="NICK", target="A"))
    connection = queues.connect()
    connection.open("SOURCE", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT).put(
        b"", MQMD(appl_identity_data=b"passed on"), options=PutOption.SET_ALL_CONTEXT
    )
    source = connection.open("SOURCE", BOTH | OpenOption.SAVE_ALL_CONTEXT)
    source.get()
    properties = MessageHandle()
    properties.set("colour", "red")
    destinations: list[str | tuple[str, str]] = ["NICK", "C", ("THEIRS", "QM2")]
    with connection.open_list(destinations, OpenOption.OUTPUT | OpenOption.PASS_ALL_CONTEXT) as distribution_list:
        members = distribution_list.handle.members
        assert distribution._counts(members, [MQRC.NONE] * 3) == (2, 1, 0)
        md = MQMD(report=int(Report.COA), reply_to_q=b"REPLIES")
        for unit_is_open in (False, True):
            if unit_is_open:
                connection.put1("P", b"mine", options=SYNCPOINT)
            distribution_list.put(b"x", md, options=PutOption.PASS_ALL_CONTEXT, context=source, properties=properties)
    connection.backout()
    for name in ("A", "C"):
        queue = connection.open(name, BOTH)
        for _ in range(2):
            got = MessageHandle()
            message = queue.get(properties=got)
            assert (message.body, message.md.appl_identity_data) == (b"x", b"passed on")
            assert got.inquire("colour").value == "red"
    assert len(on_queue(queues, "REPLIES")) == 4


@pytest.mark.rule("mqi/lists", "Records that cannot be are refused with 2154, 2155, 2156, 2158 or 2159.")
def test_records_that_cannot_be(connection: QueueManagerConnection) -> None:
    def open_reason(od: MQOD, options: int = OpenOption.OUTPUT) -> MQRC:
        return verbs.mqopen(connection.connection, od, int(options))[2]

    assert open_reason(descriptor("A", recs_present=-1)) == MQRC.RECS_PRESENT_ERROR
    assert open_reason(descriptor("A", object_type=int(ObjectType.TOPIC))) == MQRC.RECS_PRESENT_ERROR
    assert open_reason(descriptor("A", recs_present=2)) == MQRC.OBJECT_RECORDS_ERROR
    assert open_reason(MQOD(version=2, recs_present=1)) == MQRC.OBJECT_RECORDS_ERROR
    assert open_reason(descriptor("A", "B", response_records=[MQRR()])) == MQRC.RESPONSE_RECORDS_ERROR
    assert open_reason(descriptor("A", object_name=b"B")) == MQRC.OBJECT_NAME_ERROR
    assert open_reason(descriptor("A", object_q_mgr_name=b"QM1")) == MQRC.OBJECT_Q_MGR_NAME_ERROR
    for option in (OpenOption.INPUT_SHARED, OpenOption.BROWSE, OpenOption.INQUIRE, OpenOption.SET):
        assert open_reason(descriptor("A"), OpenOption.OUTPUT | option) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    assert open_reason(descriptor("A"), 0) == MQRC.OPTIONS_ERROR

    handle = opened(connection, descriptor("A", "B"), OpenOption.OUTPUT)

    def put_reason(**fields: Any) -> MQRC:
        return verbs.mqput(connection.connection, handle, MQMD(), MQPMO(version=2, **fields), b"x")[1]

    records = [MQPMR(), MQPMR()]
    assert put_reason(recs_present=-1) == MQRC.RECS_PRESENT_ERROR
    assert put_reason(recs_present=3, put_msg_records=records, put_msg_rec_fields=1) == MQRC.PUT_MSG_RECORDS_ERROR
    assert put_reason(recs_present=3, response_records=[MQRR()]) == MQRC.RESPONSE_RECORDS_ERROR
    for fields in (0, 32, int(F.ACCOUNTING_TOKEN)):
        reason = put_reason(recs_present=2, put_msg_records=records, put_msg_rec_fields=fields)
        assert reason == MQRC.PMO_RECORD_FLAGS_ERROR
    assert put_reason(options=1 << 30) == MQRC.OPTIONS_ERROR
    assert put_reason(options=int(PutOption.SET_ALL_CONTEXT)) == MQRC.NOT_OPEN_FOR_SET_ALL
    queue = connection.open("A", BOTH)
    pmo = MQPMO(version=2, recs_present=1)
    assert verbs.mqput(connection.connection, queue.handle, MQMD(), pmo, b"x") == (FAILED, MQRC.RECS_PRESENT_ERROR)
    # In a version that does not have them they do not count.
    assert verbs.mqput(connection.connection, handle, MQMD(), MQPMO(recs_present=-1), b"x")[0] == OK


@pytest.mark.parametrize(
    ("destinations", "reason"),
    [
        ([], MQRC.RECS_PRESENT_ERROR),
        ("A", MQRC.OBJECT_RECORDS_ERROR),
        (None, MQRC.OBJECT_RECORDS_ERROR),
        ([5], MQRC.OBJECT_RECORDS_ERROR),
        ([("A", "QM1", "B")], MQRC.OBJECT_RECORDS_ERROR),
        ([("A", 1)], MQRC.OBJECT_RECORDS_ERROR),
        (["A", None], MQRC.OBJECT_RECORDS_ERROR),
    ],
)
def test_destinations_that_are_no_names(connection: QueueManagerConnection, destinations: Any, reason: MQRC) -> None:
    with pytest.raises(MQIError) as caught:
        connection.open_list(destinations)
    assert caught.value.reason == reason


@pytest.mark.rule("mqi/lists", "Only MQPUT and MQCLOSE take the handle of a distribution list.")
def test_what_a_list_is_not_for(connection: QueueManagerConnection) -> None:
    handle, hconn = opened(connection, descriptor("A", "B")), connection.connection
    assert verbs.mqget(hconn, handle, MQMD(), MQGMO(), 10)[3] == MQRC.NOT_OPEN_FOR_INPUT
    assert verbs.mqinq(hconn, handle, [IntSelector.CURRENT_Q_DEPTH])[2] == MQRC.NOT_OPEN_FOR_INQUIRE
    assert verbs.mqset(hconn, handle, {IntSelector.INHIBIT_PUT: 1})[1] == MQRC.NOT_OPEN_FOR_SET
    for options in (CloseOption.DELETE, CloseOption.DELETE_PURGE):
        assert verbs.mqclose(hconn, handle, options) == (FAILED, MQRC.OPTION_NOT_VALID_FOR_TYPE)
    assert verbs.mqclose(hconn, handle) == (OK, MQRC.NONE)
    assert verbs.mqclose(hconn, handle) == (FAILED, MQRC.HOBJ_ERROR)
    assert verbs.mqput(hconn, handle, MQMD(), MQPMO(), b"x") == (FAILED, MQRC.HOBJ_ERROR)
    assert not hconn.handles


@pytest.mark.parametrize("bind", [OpenOption.BIND_ON_OPEN, OpenOption.BIND_NOT_FIXED, OpenOption.BIND_ON_GROUP])
@pytest.mark.parametrize("unit_is_open", [False, True])
def test_an_alias_with_spread(
    queues: TestGroup, connection: QueueManagerConnection, bind: int, unit_is_open: bool
) -> None:
    queues.define("QM1", QueueAlias(name="WIDE", target="A", spread="B"))
    if unit_is_open:
        connection.put1("P", b"mine", options=SYNCPOINT)
    with connection.open_list(["WIDE", "C"], OpenOption.OUTPUT | bind) as distribution_list:
        for number in range(6):
            assert distribution_list.put(b"%d" % number, MQMD(correl_id=b"c" * 24)) == MQRC.NONE
    first, second, others = bodies(queues, "A", "B", "C")
    assert sorted(first + second) == others == [b"%d" % number for number in range(6)]
    if bind == OpenOption.BIND_NOT_FIXED:
        assert len(first) == len(second) == 3
    else:
        assert [] in (first, second)


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.rule("mqi/lists", "A program that dies in a put to a list has put it on all of its queues or on none.")
@pytest.mark.invariant(3)
@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("unit_is_open", [False, True])
def test_a_program_that_is_killed(
    queues: TestGroup, monkeypatch: pytest.MonkeyPatch, at: int, unit_is_open: bool
) -> None:
    told, tells = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            process = queues.process()
            os.write(tells, process.token.encode())
            connection = QueueManagerConnection(Connection(queues.group, process))
            if unit_is_open:
                connection.put1("P", b"mine", options=SYNCPOINT)
            real: Callable[..., Any] = put_checked if at < 4 else commit
            count = 0

            def until_then(*arguments: Any) -> Any:
                nonlocal count
                if at < 4 and count == at:
                    _die()
                count += 1
                outcome = real(*arguments)
                if at == 4:
                    _die()
                return outcome

            monkeypatch.setattr(distribution, "put_checked" if at < 4 else "commit", until_then)
            connection.open_list(["A", "B", "C", "P"]).put(b"x")
        finally:
            os._exit(0)
    os.close(tells)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    token = os.read(told, 100).decode()
    os.close(told)
    queues.group.client().zadd(queues.group.keys.leases, {token: 1})
    assert recover(queues.group, queues.connect().connection, token).is_resolved
    assert bodies(queues, "A", "B", "C", "P") == [[b"x"] if at == 4 else []] * 4
    assert_accounted(queues.group)


def test_a_put_that_cannot_be_committed_is_nowhere(
    queues: TestGroup, connection: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(unit: Connection) -> None:
        raise MQIError("MQCMIT", "", "") if not unit.has_unit else KeyboardInterrupt

    monkeypatch.setattr(distribution, "commit", refused)
    with connection.open_list(["A", "C"]) as distribution_list, pytest.raises(KeyboardInterrupt):
        distribution_list.put(b"x")
    assert bodies(queues, "A", "C") == [[], []]
    assert_accounted(queues.group)
