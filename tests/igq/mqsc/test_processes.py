"""Process definitions in MQSC, in PCF and in exports."""

from __future__ import annotations

import io
from typing import Any

import pytest

from igq.definitions.catalog import read_catalog
from igq.definitions.export import ExportSelection, export
from igq.mqsc.executor import run
from igq.mqsc.session import SessionRepository
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import PCFCommand, PCFParameter
from tests.support.members import TestGroup
from tests.support.pcf import Asked

pytestmark = pytest.mark.share

DEFINE = "DEFINE PROCESS('P') DESCR('starts it') APPLTYPE(UNIX) APPLICID('/bin/it -x') ENVRDATA('&') USERDATA('u')"


def mqsc(group: TestGroup, *commands: str, qmgr: str = "QM1") -> str:
    out = io.StringIO()
    run(commands, SessionRepository(group.group, qmgr), out, is_listed=False)
    return out.getvalue()


def test_a_definition_is_made_altered_shown_and_deleted(group: TestGroup) -> None:
    assert "All valid" in mqsc(group, DEFINE)
    assert "already exists" in mqsc(group, DEFINE)
    assert "All valid" in mqsc(group, DEFINE + " REPLACE", "ALTER PROCESS(P) USERDATA(other)")
    shown = mqsc(group, "DISPLAY PROCESS(P) ALL")
    for text in ("APPLTYPE(UNIX)", "APPLICID(/bin/it -x)", "ENVRDATA(&)", "USERDATA(OTHER)", "DESCR(starts it)"):
        assert text in shown
    assert "PROCESS(P)" in mqsc(group, "DISPLAY PROCESS(*) WHERE(APPLTYPE EQ 6)")
    assert "All valid" in mqsc(group, "DEFINE PROCESS(LIKE) LIKE(P) APPLTYPE(CICS)", "DELETE PROCESS(P)")
    assert "APPLICID(/bin/it -x)" in mqsc(group, "DISPLAY PROCESS(LIKE)")
    for command in (
        "DISPLAY PROCESS(P)",
        "ALTER PROCESS(P) DESCR(x)",
        "DELETE PROCESS(P)",
        "DEFINE PROCESS(N) LIKE(P)",
    ):
        assert "was not found" in mqsc(group, command)
    assert "CSQ9" in mqsc(group, "DEFINE PROCESS(Q) APPLTYPE(NONE)")
    assert "was not found" in mqsc(group, "DISPLAY PROCESS(Q)")


def test_an_export_makes_the_same_definition(group: TestGroup) -> None:
    mqsc(group, DEFINE)
    lines = export(group.group, read_catalog(group.group), ExportSelection(kinds=("PROCESS",))).lines
    before = group.repository("QM1").processes.named("P")
    mqsc(group, "DELETE PROCESS(P)")
    assert "All valid" in mqsc(group, *lines)
    after = group.repository("QM1").processes.named("P")
    assert before is not None
    assert after is not None
    assert after.is_same_as(before)


def test_pcf_has_the_same_commands(group: TestGroup) -> None:
    asked = Asked(group)
    name: dict[int, Any] = {Char.PROCESS_NAME: "P"}
    asked.items(PCFCommand.CREATE_PROCESS, name | {Int.APPL_TYPE: 6, Char.APPL_ID: "it"})
    (shown,) = asked.items(PCFCommand.INQUIRE_PROCESS, name)
    assert (shown[Int.APPL_TYPE], shown[Char.APPL_ID].strip()) == (6, "it")
    (names,) = asked.items(PCFCommand.INQUIRE_PROCESS_NAMES, name)
    assert [each.strip() for each in names[PCFParameter.PROCESS_NAMES]] == ["P"]
    asked.items(PCFCommand.DELETE_PROCESS, name)
    assert group.repository("QM1").processes.named("P") is None
