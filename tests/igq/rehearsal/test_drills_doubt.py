"""The drills check that work in doubt stays so, and ends as an operator says."""

from __future__ import annotations

import pytest

from igq.errors import CommandError
from igq.rehearsal.drills.troubles.faults import BACKOUT, COMMIT, expect_in_doubt, resolve
from igq.rehearsal.load.queues import do_mqsc
from sharedq.calls.unit.in_doubt import PreparedUnit
from sharedq.members.group import Group
from sharedq.mqi.constants import PutOption
from tests.support.members import TestGroup
from tests.support.scenes import on_queue


@pytest.fixture
def unit(group: TestGroup) -> PreparedUnit:
    """A put on each of two structures, in doubt at QM1."""
    group.define_shared("Q")
    group.define_structure("APPL2")
    group.define_shared("OTHER", "APPL2")
    group.add_member("QM2")
    connection = group.connect("QM1")
    for queue in ("Q", "OTHER"):
        connection.put1(queue, b"1", options=PutOption.SYNCPOINT)
    connection.prepare(b"xid")
    (found,) = connection.recover()
    return found


def test_exactly_the_prepared_work_must_be_in_doubt(group: TestGroup, unit: PreparedUnit) -> None:
    assert expect_in_doubt(group.group, "QM1", [unit.id]) == [unit]
    for expected in ([], [unit.id, "QM1.1.1.1/7"]):
        with pytest.raises(CommandError, match="was to be in doubt"):
            expect_in_doubt(group.group, "QM1", expected)


def test_nothing_of_it_may_have_ended(group: TestGroup, unit: PreparedUnit) -> None:
    journal = group.group.structure("APPL2").journal
    group.group.client().xadd(journal, {"e": "backout", "o": "QM2.1.1.1", "u": unit.id, "n": "1", "r": "1"})
    with pytest.raises(CommandError, match=r"is in doubt, but has ended: \{'APPL2': \{'backout'\}\}"):
        expect_in_doubt(group.group, "QM1", [unit.id])


@pytest.mark.parametrize(("action", "there"), [(COMMIT, [(b"1", 0)]), (BACKOUT, [])])
def test_it_ends_as_requested(
    group: TestGroup, unit: PreparedUnit, action: str, there: list[tuple[bytes, int]]
) -> None:
    resolve(group.group, unit, action, "QM1")
    assert (on_queue(group, "Q"), on_queue(group, "OTHER", "APPL2")) == (there, there)
    assert expect_in_doubt(group.group, "QM1", []) == []
    with pytest.raises(CommandError, match="no such thread"):
        resolve(group.group, unit, action, "QM1")


def test_a_peer_is_refused_while_its_manager_runs(group: TestGroup, unit: PreparedUnit) -> None:
    with pytest.raises(CommandError, match="CSQV435I"):
        resolve(group.group, unit, COMMIT, "QM2")
    expect_in_doubt(group.group, "QM1", [unit.id])


def test_an_unrequested_end_is_noticed(group: TestGroup, unit: PreparedUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    def do_the_opposite(group: Group, qmgr: str, text: str) -> None:
        do_mqsc(group, qmgr, text.replace(COMMIT, BACKOUT))

    monkeypatch.setattr("igq.rehearsal.drills.troubles.faults.do_mqsc", do_the_opposite)
    with pytest.raises(CommandError, match=r"was to end by COMMIT in APPL1, APPL2, but ended so: .*'backout'"):
        resolve(group.group, unit, COMMIT, "QM1")
