"""DISPLAY THREAD TYPE(INDOUBT) and RESOLVE INDOUBT, at the manager itself and at a peer of one that has failed."""

from __future__ import annotations

import io

import pytest

from igq.mqsc.actions import in_doubt as resolving
from igq.mqsc.executor import run
from recovery.resolution import recover
from sharedq.calls.unit.in_doubt import Outcome, PreparedUnit, end_prepared, prepared_units
from sharedq.members.group import Group
from sharedq.mqi.constants import PutOption
from sharedq.session.connection import Connection
from tests.support.backups import lose
from tests.support.members import TestGroup
from tests.support.scenes import on_queue
from tests.support.status import read_status

XID = b"batch 7"


@pytest.fixture
def in_doubt(group: TestGroup) -> TestGroup:
    """QM1 with a put in doubt, and its peer QM2."""
    group.add_member("QM2")
    group.define_shared("Q")
    prepare(group, XID)
    return group


def prepare(group: TestGroup, xid: bytes, qmgr: str = "QM1") -> None:
    worker = group.connect(qmgr)
    worker.put1("Q", xid, options=PutOption.SYNCPOINT)
    worker.prepare(xid)


def fail(group: TestGroup, qmgr: str) -> None:
    assert recover(group.group, group.connect("QM2").connection, f"{qmgr}.1", force=True).is_resolved


def mqsc(group: TestGroup, text: str, qmgr: str = "QM1") -> tuple[int, str]:
    out = io.StringIO()
    return run([f"{text}\n"], group.repository(qmgr), out), out.getvalue()


def found(group: TestGroup) -> list[bytes]:
    """The available messages."""
    return [body for body, _ in on_queue(group, "Q")]


def nid_of(group: TestGroup) -> str:
    (unit,) = group.connect().recover()
    return unit.nid


def test_units_of_work_in_doubt_are_shown(in_doubt: TestGroup) -> None:
    status, threads = mqsc(in_doubt, "DISPLAY THREAD(*) TYPE(INDOUBT)")
    assert status == 0
    _, connections = mqsc(in_doubt, "DISPLAY CONN(*) ALL WHERE(UOWSTATE EQ PREPARED)")
    for output in (threads, connections):
        assert nid_of(in_doubt) in output
        assert f"EXTURID({XID.hex().upper()})" in output
        assert "UOWSTATE(PREPARED)" in output
        assert "URTYPE(XA)" in output
    assert "CSQV436I" in threads
    assert "UOWSTATE(NONE)" not in connections
    assert "CSQV420I" in mqsc(in_doubt, "DISPLAY THREAD(OTHER) TYPE(INDOUBT)")[1]
    assert "CSQV420I" in mqsc(in_doubt, "DISPLAY THREAD(*) TYPE(INDOUBT)", "QM2")[1]


def test_the_status_counts_it_for_its_manager(in_doubt: TestGroup) -> None:
    prepare(in_doubt, b"another")
    counts = {manager.name: manager.in_doubt for manager in read_status(in_doubt.settings).managers}
    assert counts == {"QM1": 2, "QM2": 0}
    mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(BACKOUT) NID(*)")
    assert read_status(in_doubt.settings).managers[0].in_doubt == 0


@pytest.mark.parametrize(("action", "answer", "expected"), [("COMMIT", "CSQV414I", [XID]), ("BACKOUT", "CSQV415I", [])])
def test_an_operator_ends_it_by_its_nid(in_doubt: TestGroup, action: str, answer: str, expected: list[bytes]) -> None:
    nid = nid_of(in_doubt)
    prepare(in_doubt, b"stays")
    status, output = mqsc(in_doubt, f"RESOLVE INDOUBT(*) ACTION({action}) NID({nid})")
    assert (status, f"{answer}: Thread NID({nid})" in output) == (0, True), output
    assert found(in_doubt) == expected
    assert [unit.xid for unit in in_doubt.connect().recover()] == [b"stays"]


def test_an_operator_ends_all_of_them(in_doubt: TestGroup) -> None:
    prepare(in_doubt, b"second")
    prepare(in_doubt, b"another manager's", "QM2")
    status, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)")
    assert (status, output.count("CSQV414I")) == (0, 2), output
    assert found(in_doubt) == [XID, b"second"]


def between_the_looks(group: TestGroup, monkeypatch: pytest.MonkeyPatch, xid: bytes, outcome: Outcome) -> None:
    """Its coordinator ends one after the command has found it and before the command reaches it."""

    def find(found_in: Group, qmgr: str = "") -> list[PreparedUnit]:
        units = prepared_units(found_in, qmgr)
        end_prepared(group.connect().connection, xid, outcome)
        return units

    monkeypatch.setattr(resolving, "prepared_units", find)


@pytest.mark.parametrize(("outcome", "status"), [("B", 10), ("C", 0)])
def test_one_that_its_coordinator_ends_meanwhile_keeps_it_from_no_other(
    in_doubt: TestGroup, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, status: int
) -> None:
    for xid in (b"second", b"third"):
        prepare(in_doubt, xid)
    first, second, third = (unit.nid for unit in in_doubt.connect().recover())
    between_the_looks(in_doubt, monkeypatch, b"second", outcome)
    ended, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)")
    assert (ended, "CSQ9023E" in output, "CSQ9022I" in output) == (status, status != 0, status == 0), output
    for nid in (first, third) if status else (first, second, third):
        assert f"CSQV414I: Thread NID({nid}) committed." in output
    backed_out = f"IGQ1002E: Thread NID({second}) not resolved as asked: it is backed out."
    assert (backed_out in output) == (status != 0), output
    assert found(in_doubt) == ([XID, b"third"] if status else [XID, b"second", b"third"])
    assert in_doubt.connect().recover() == []


def test_a_peer_says_of_each_that_its_manager_runs_again(in_doubt: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(in_doubt, b"second")
    fail(in_doubt, "QM1")

    def find(found_in: Group, qmgr: str = "") -> list[PreparedUnit]:
        in_doubt.add_member("QM1")
        return prepared_units(found_in, qmgr)

    monkeypatch.setattr(resolving, "prepared_units", find)
    status, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*) QMNAME(QM1)", "QM2")
    assert (status, output.count("CSQV435I: Thread NID("), "CSQ9023E" in output) == (10, 2, True), output
    assert found(in_doubt) == []


def test_one_that_ended_and_is_forgotten_was_not_found(in_doubt: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    nid = nid_of(in_doubt)
    monkeypatch.setattr("sharedq.calls.unit.in_doubt.ENDED_KEPT", 0)
    between_the_looks(in_doubt, monkeypatch, XID, "B")
    status, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)")
    assert (status, f"CSQV417I: Thread NID({nid}) not found: QM1 has prepared nothing" in output) == (10, True), output


def test_each_nid_that_is_not_found_is_named(in_doubt: TestGroup) -> None:
    nid = nid_of(in_doubt)
    status, output = mqsc(in_doubt, f"RESOLVE INDOUBT(*) ACTION(COMMIT) NID('QM1.TYPO',{nid},'QM1.TYPO','QM1.TYPO2')")
    assert (status, "CSQ9023E" in output, "CSQ9022I" in output) == (10, True, False), output
    assert f"CSQV414I: Thread NID({nid}) committed." in output
    for typo in ("QM1.TYPO", "QM1.TYPO2"):
        line = f"CSQV417I: Thread NID({typo}) not found: no such thread of QM1 is in doubt."
        assert output.count(line) == 1, output
    assert found(in_doubt) == [XID]


def test_work_lost_with_its_structure_is_not_called_committed(in_doubt: TestGroup) -> None:
    in_doubt.define_structure("APPL2")
    in_doubt.define_shared("OTHER", "APPL2")
    worker = in_doubt.connect()
    for queue in ("Q", "OTHER"):
        worker.put1(queue, b"both", options=PutOption.SYNCPOINT)
    worker.prepare(b"both")
    worker.put1("OTHER", b"whole", options=PutOption.SYNCPOINT)
    worker.prepare(b"whole")
    lost, mixed, whole = (unit.nid for unit in worker.recover())
    lose(in_doubt)
    status, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)")
    assert (status, "CSQ9023E" in output) == (10, True), output
    assert f"CSQV414I: Thread NID({whole}) committed." in output
    assert f"IGQ1002E: Thread NID({lost}) not resolved as asked: it is lost, with the structures" in output
    assert f"IGQ1002E: Thread NID({mixed}) not resolved as asked: it is committed, but for what it did in" in output
    assert [body for body, _ in on_queue(in_doubt, "OTHER", "APPL2")] == [b"both", b"whole"]
    assert "CSQV420I" in mqsc(in_doubt, "DISPLAY THREAD(*) TYPE(INDOUBT)")[1]


def test_a_lost_connection_does_not_hide_finished_work(in_doubt: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    for xid in (b"second", b"third"):
        prepare(in_doubt, xid)
    first, second, third = (unit.nid for unit in in_doubt.connect().recover())

    def end(connection: Connection, xid: bytes, outcome: Outcome, *, qmgr: str = "") -> bool:
        if xid == b"second":
            connection.break_off()
        return end_prepared(connection, xid, outcome, qmgr=qmgr)

    monkeypatch.setattr(resolving, "end_prepared", end)
    status, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)")
    assert (status, "CSQ9023E" in output) == (20, True), output
    assert f"CSQV414I: Thread NID({first}) committed." in output
    assert f"IGQ1003E: The connection was lost; whether thread NID({second}) is resolved is unknown: " in output
    assert f"IGQ1002E: Thread NID({third}) not resolved as asked: it was not tried any more." in output
    assert found(in_doubt) == [XID]


def test_a_peer_ends_those_of_a_manager_that_is_not_running(in_doubt: TestGroup) -> None:
    fail(in_doubt, "QM1")
    status, output = mqsc(in_doubt, "DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME(QM1)", "QM2")
    assert (status, "CSQV436I: INDOUBT threads for QM1" in output) == (0, True), output
    status, output = mqsc(in_doubt, "RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*) QMNAME(QM1)", "QM2")
    assert (status, "CSQV414I" in output) == (0, True), output
    assert found(in_doubt) == [XID]


@pytest.mark.parametrize(
    "command", ["RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*) QMNAME(QM1)", "DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME(QM1)"]
)
def test_a_peer_is_refused_those_of_a_manager_that_runs(in_doubt: TestGroup, command: str) -> None:
    status, output = mqsc(in_doubt, command, "QM2")
    assert status == 10
    assert "CSQV435I" in output
    assert "QM1 is running: give the command there" in output
    assert found(in_doubt) == []
    assert nid_of(in_doubt)


@pytest.mark.parametrize(
    ("command", "status", "answer"),
    [
        ("RESOLVE INDOUBT(*) ACTION(COMMIT) NID(QM1.0)", 10, "no such thread of QM1 is in doubt"),
        ("RES IND(OTHER) ACTION(COMMIT) NID(*)", 10, "no such thread of QM1 is in doubt"),
        ("RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*) QMNAME(QM9)", 10, "there is no queue manager QM9"),
        ("RESOLVE INDOUBT(*) ACTION(COMMIT)", 10, "ACTION(COMMIT|BACKOUT) and NID(*|nid, ...)"),
        ("RESOLVE INDOUBT(*) NID(*)", 10, "ACTION(COMMIT|BACKOUT) and NID(*|nid, ...)"),
        ("RESOLVE INDOUBT(*) ACTION(FORGET) NID(*)", 10, "ACTION(COMMIT|BACKOUT)"),
        ("RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*) FORCE", 10, "QMNAME or CMDSCOPE"),
    ],
)
def test_an_impossible_command_gets_one_clear_answer(
    in_doubt: TestGroup, command: str, status: int, answer: str
) -> None:
    ended, output = mqsc(in_doubt, command)
    assert (ended, answer in output) == (status, True), output
    assert nid_of(in_doubt)
