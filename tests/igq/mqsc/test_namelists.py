"""Namelists in MQSC, in PCF and in exports."""

from __future__ import annotations

import io
from typing import Any

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.definitions.trial import compare
from igq.mqsc.executor import run
from igq.mqsc.session import SessionRepository
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import MQRCCF, FilterOperator, PCFCommand, PCFParameter
from sharedq.mqi.pcf.structures import MQCFSF
from tests.support.members import TestGroup
from tests.support.pcf import Asked, answer_of

pytestmark = pytest.mark.share

DEFINE = "DEFINE NAMELIST('N') DESCR('some') NLTYPE(QUEUE) NAMES('A.1',B,'lower')"


def mqsc(group: TestGroup, *commands: str, qmgr: str = "QM1") -> str:
    out = io.StringIO()
    run(commands, SessionRepository(group.group, qmgr), out, is_listed=False)
    return out.getvalue()


def names(group: TestGroup, name: str = "N") -> str | None:
    found = group.repository("QM1").namelists.named(name)
    return None if found is None else found.names


def test_a_namelist_is_made_altered_shown_and_deleted(group: TestGroup) -> None:
    assert "All valid" in mqsc(group, DEFINE)
    assert "already exists" in mqsc(group, DEFINE)
    shown = mqsc(group, "DISPLAY NAMELIST(N) ALL")
    for text in ("NAMELIST(N)", "NAMES(A.1,B,lower)", "NAMCOUNT(3)", "NLTYPE(QUEUE)", "DESCR(some)", "QSGDISP(GROUP)"):
        assert text in shown
    assert "NAMCOUNT(3)" in mqsc(group, "DIS NL(*) NAMCOUNT")
    assert "All valid" in mqsc(group, "ALTER NL(N) NAMES(C)", "DEF NL(LIKE) LIKE(N) NLTYPE(Q)", DEFINE + " REPLACE")
    assert (names(group), names(group, "LIKE")) == ("A.1,B,lower", "C")
    assert "NLTYPE(QUEUE)" in mqsc(group, "DIS NAMELIST(LIKE)")
    assert "All valid" in mqsc(group, "DELETE NAMELIST(N)")
    for command in ("DIS NL(N)", "ALTER NL(N) DESCR(x)", "DELETE NL(N)", "DEFINE NL(M) LIKE(N)"):
        assert "was not found" in mqsc(group, command)


@pytest.mark.parametrize("nothing", ["NAMES()", "NAMES(' ')", "NAMES( )"])
def test_a_list_may_be_empty(group: TestGroup, nothing: str) -> None:
    assert "All valid" in mqsc(group, DEFINE, f"ALTER NL(N) {nothing}")
    assert names(group) == ""
    assert "NAMCOUNT(0)" in mqsc(group, "DISPLAY NL(N)")


@pytest.mark.parametrize(
    "wrong",
    ["NAMES('A B')", f"NAMES({'A' * 49})", f"NAMES({','.join(f'A{n}' for n in range(257))})", "NLTYPE(TOPIC)"],
)
def test_what_cannot_be_a_list_is_refused(group: TestGroup, wrong: str) -> None:
    assert "CSQ9031E" in mqsc(group, f"DEFINE NAMELIST(N) {wrong}")
    assert names(group) is None


def test_the_default_namelist_is_the_template(group: TestGroup) -> None:
    mqsc(group, "DEFINE NAMELIST(SYSTEM.DEFAULT.NAMELIST) DESCR(default) NLTYPE(CLUSTER)", "DEFINE NAMELIST(N)")
    shown = mqsc(group, "DISPLAY NAMELIST(N)")
    assert "NLTYPE(CLUSTER)" in shown
    assert "DESCR( )" in shown


def test_an_export_makes_the_same_list(group: TestGroup) -> None:
    mqsc(group, DEFINE, "DEFINE NAMELIST(EMPTY) NAMES()")
    for every in (False, True):
        lines = export(
            group.group, read_catalog(group.group), ExportSelection(kinds=("NAMELIST",), every_attribute=every)
        ).lines
        before = group.repository("QM1").namelists.all()
        assert compare(group.group, "QM1", lines, is_lenient=False, is_pruned=True).changes == []
        mqsc(group, "DELETE NAMELIST(N)", "DELETE NAMELIST(EMPTY)")
        (change, _) = compare(group.group, "QM1", lines, is_lenient=False, is_pruned=False).changes
        assert change.lines[0] == "define NAMELIST(EMPTY)"
        assert "All valid" in mqsc(group, *lines)
        after = group.repository("QM1").namelists.all()
        assert [each.is_same_as(other) for each, other in zip(before, after, strict=True)] == [True, True]


def test_pcf_has_the_same_commands(group: TestGroup) -> None:
    asked = Asked(group)
    name: dict[int, Any] = {Char.NAMELIST_NAME: "N"}
    asked.items(PCFCommand.CREATE_NAMELIST, name | {Char.NAMES: ["A", "B"], Int.NAMELIST_TYPE: 1})
    (shown,) = asked.items(PCFCommand.INQUIRE_NAMELIST, name)
    assert (shown[Char.NAMES], shown[Int.NAME_COUNT], shown[Int.NAMELIST_TYPE]) == (["A", "B"], 2, 1)
    asked.items(PCFCommand.CHANGE_NAMELIST, name | {Char.NAMES: ["C"]})
    copy: dict[int, Any] = {PCFParameter.FROM_NAMELIST_NAME: "N", PCFParameter.TO_NAMELIST_NAME: "COPY"}
    asked.items(PCFCommand.COPY_NAMELIST, copy)
    assert (names(group), names(group, "COPY")) == ("C", "C")
    (found,) = asked.items(PCFCommand.INQUIRE_NAMELIST_NAMES, {Char.NAMELIST_NAME: "*"})
    assert found[PCFParameter.NAMELIST_NAMES] == ["COPY", "N"]
    asked.items(PCFCommand.DELETE_NAMELIST, name)
    assert names(group) is None
    assert asked.reason(PCFCommand.CREATE_NAMELIST, {Char.NAMELIST_NAME: "COPY"})[0] == MQRCCF.OBJECT_ALREADY_EXISTS


def test_a_process_is_copied_by_pcf(group: TestGroup) -> None:
    asked = Asked(group)
    asked.items(PCFCommand.CREATE_PROCESS, {Char.PROCESS_NAME: "P", Char.APPL_ID: "it"})
    asked.items(PCFCommand.COPY_PROCESS, {PCFParameter.FROM_PROCESS_NAME: "P", PCFParameter.TO_PROCESS_NAME: "Q"})
    (shown,) = asked.items(PCFCommand.INQUIRE_PROCESS, {Char.PROCESS_NAME: "Q"})
    assert shown[Char.APPL_ID] == "it"


LISTS = ("DEFINE NL(ONE) NAMES(A.1,B)", "DEFINE NL(TWO) NAMES(B,C)", "DEFINE NL(NONE) NAMES()")
FILTERS = [
    ("CT", FilterOperator.CONTAINS, "A.1", ["ONE"]),
    ("CT", FilterOperator.CONTAINS, "B", ["ONE", "TWO"]),
    ("CT", FilterOperator.CONTAINS, "A*", []),
    ("EX", FilterOperator.EXCLUDES, "B", ["NONE"]),
    ("CTG", FilterOperator.CONTAINS_GEN, "A*", ["ONE"]),
    ("EXG", FilterOperator.EXCLUDES_GEN, "A*", ["NONE", "TWO"]),
]


@pytest.mark.parametrize(("word", "operator", "value", "found"), FILTERS)
def test_a_filter_looks_into_lists(
    group: TestGroup, word: str, operator: FilterOperator, value: str, found: list[str]
) -> None:
    mqsc(group, *LISTS)
    shown = mqsc(group, f"DISPLAY NAMELIST(*) WHERE(NAMES {word} '{value}')")
    assert [each for each in ("NONE", "ONE", "TWO") if f"NAMELIST({each})" in shown] == found
    where = MQCFSF(int(Char.NAMES), int(operator), value.encode())
    answers = map(answer_of, Asked(group).messages(PCFCommand.INQUIRE_NAMELIST, {Char.NAMELIST_NAME: "*"}, where))
    assert [each[Char.NAMELIST_NAME] for each in answers if Char.NAMELIST_NAME in each] == found


@pytest.mark.parametrize("operator", ["CT", "EX", "CTG", "EXG"])
def test_only_lists_contain_something(group: TestGroup, operator: str) -> None:
    assert "CSQ9015E" in mqsc(group, f"DISPLAY NAMELIST(*) WHERE(DESCR {operator} 'A')")
    where = MQCFSF(int(Char.NAMELIST_DESC), int(FilterOperator.CONTAINS), b"A")
    reason = Asked(group).reason(PCFCommand.INQUIRE_NAMELIST, {Char.NAMELIST_NAME: "*"}, where)
    assert reason[0] == MQRCCF.CFSF_OPERATOR_ERROR


def test_open_options_and_authorities_contain_something(group: TestGroup) -> None:
    group.define_private("QM1", "Q")
    group.connect().open("Q", 16 | 32)
    handles = "DISPLAY CONN(*) TYPE(HANDLE) OBJNAME WHERE(OPENOPTS {} {})"
    assert "OBJNAME(Q)" in mqsc(group, handles.format("CT", "MQOO_OUTPUT"))
    assert "OBJNAME(Q)" not in mqsc(group, handles.format("EX", "MQOO_INQUIRE"))
    mqsc(group, "SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) PRINCIPAL('u') AUTHADD(PUT)")
    assert "PROFILE(Q)" in mqsc(group, "DISPLAY AUTHREC WHERE(AUTHLIST CT PUT)")
