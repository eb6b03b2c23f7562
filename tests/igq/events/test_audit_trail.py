"""The audit trail of a group: which commands are noted, how many, and that no command fails for it."""

from __future__ import annotations

import pytest

from igq.operations.command_log import CONSOLE, note_command
from igq.pcf.processor import Processor
from sharedq.members.audit_trail import Deed, note_deed, read_deeds
from sharedq.members.event_notes import Giver
from sharedq.members.group import Group
from sharedq.mqi.constants import CharSelector, IntSelector
from sharedq.mqi.constants.pcf import EventOrigin, PCFCommand
from sharedq.redis.keys import admin_keys
from tests.igq.events.scene import Events, mqsc
from tests.support.members import TestGroup
from tests.support.pcf import NoControl, descriptor, request


def whats(group: TestGroup) -> list[str]:
    return [each.fields["what"] for each in read_deeds(group.group, "", 100)]


def test_every_command_but_those_that_display_is_noted_with_its_result(events: Events) -> None:
    mqsc(
        events.group,
        "DEFINE QLOCAL(A) DESCR('redis://u:secret@h/0')",
        "DISPLAY QLOCAL(A)",
        "DELETE QLOCAL(B)",
        "NONSENSE",
    )
    last, failed, first = read_deeds(events.group.group, "", 10)
    assert first.fields["what"] == "DEFINE QLOCAL(A) DESCR('redis://u:***@h/0')"
    assert (first.fields["result"], first.fields["way"], first.fields["qmgr"]) == ("done", "command line", "QM1")
    assert first.fields["user"] == Giver().user
    assert failed.fields["result"].startswith("failed: ")
    assert last.fields["result"].startswith("syntax: ")
    assert first.at_ms <= failed.at_ms <= last.at_ms


def test_a_secret_in_a_command_that_is_refused_is_in_no_trail(events: Events) -> None:
    mqsc(
        events.group,
        "DEFINE CHANNEL(A) CHLTYPE(SDR) USERID(u) PASSWORD(hush1)",
        "ALTER AUTHINFO(A) AUTHTYPE(IDPWLDAP) LDAPPWD('hush2 '')hush2')",
        "ALTER QMGR SSLKEYRPWD ( 'hush3' )",
        "alter qmgr sslcryp(hush4",
        "ALTER QMGR DESCR('PASSWORD(hush5)')",
    )
    deeds = read_deeds(events.group.group, "", 10)
    assert len(deeds) == 5
    assert "hush" not in repr(deeds)
    assert "USERID(u) PASSWORD(***)" in deeds[-1].fields["what"]


def test_a_command_by_message_names_the_user_of_the_message(events: Events) -> None:
    values = {int(CharSelector.Q_NAME): "BY.PCF", int(IntSelector.Q_TYPE): 1}
    for command in (PCFCommand.CREATE_Q, PCFCommand.INQUIRE_Q):
        Processor(events.group.group, "QM1", NoControl()).process(descriptor(), request(command, values))
    (deed,) = read_deeds(events.group.group, "", 10)
    assert (deed.fields["way"], deed.fields["result"]) == ("PCF", "done")
    assert "BY.PCF" in deed.fields["what"]
    assert deed.fields["user"] == descriptor().user_identifier.decode().strip()


@pytest.mark.parametrize(("appl", "way"), [(CONSOLE, "console"), ("igq REST", "REST")])
def test_commands_by_http_say_whether_the_console_gave_them(group: TestGroup, appl: str, way: str) -> None:
    note_command(group.group, "QM1", "put QM1 A", "done", Giver("anna", "desk", appl, origin=int(EventOrigin.REST)))
    (deed,) = read_deeds(group.group, "", 10)
    assert (deed.fields["user"], deed.fields["host"], deed.fields["way"]) == ("anna", "desk", way)


@pytest.mark.invariant(4)
def test_the_trail_keeps_the_latest_deeds_and_no_more(group: TestGroup) -> None:
    key = group.group.keys.audit
    pipeline = group.group.client().pipeline()
    for number in range(6_000):
        pipeline.xadd(key, {"what": str(number)})
    pipeline.execute()
    note_deed(group.group, Deed("anna", "desk", "console", "\x1b" + "x" * 10_000))
    assert 5_000 <= group.group.client().xlen(key) <= 5_200
    latest, before, *_ = read_deeds(group.group, "", 100)
    assert latest.fields["what"] == "\\x1b" + "x" * 496
    assert before.fields["what"] == "5999"
    assert [each.fields["what"] for each in read_deeds(group.group, before.id, 2)] == ["5998", "5997"]


def test_no_command_fails_because_its_deed_cannot_be_noted(group: TestGroup) -> None:
    group.group.client().set(group.group.keys.audit, "no stream")
    assert "CSQ9022I" in mqsc(group, "DEFINE QLOCAL(A)")
    group.group.client().delete(group.group.keys.audit)
    note_deed(unreachable(group), Deed("anna", "desk", "console", "sign in"))


def unreachable(group: TestGroup) -> Group:
    settings = group.group.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1"})
    assert admin_keys(settings.group).audit.endswith(":audit")
    return Group(settings)
