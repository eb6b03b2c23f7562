"""Events of commands and of changed objects: which are written, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from igq.errors import CommandError
from igq.events import formats
from igq.mqsc.session import SessionRepository, answer_commands
from igq.operations.command_log import CommandNote, note_group_command
from igq.operations.group_settings import change_group_settings
from igq.operations.shutdown import remove_manager
from igq.pcf.processor import LENGTH_MAX, Processor, replica
from sharedq.members.event_notes import Giver, leave_note
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQCC, MQRC, CharSelector, Format, GetOption, IntSelector, OpenOption
from sharedq.mqi.constants.pcf import EventOrigin, PCFCommand, PCFParameter, PCFType
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import MQCFBS, MQCFGR, MQCFH, MQCFIN, MQCFSF, MQCFSL, MQCFST, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD
from sharedq.objects.configuration_notes import noting
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.pymqi import PCFExecute
from tests.igq.events.scene import Events, mqsc, told_commands
from tests.support.pcf import NoControl, request


def test_commands_that_display_are_not_told_with_nodisplay(events: Events) -> None:
    events.group.repository("QM1").alter_qmgr("QM1", {"command_event": "NODISPLAY"})
    mqsc(events.group, "DIS QMGR", "DEFINE QLOCAL(A)", "display qlocal(A)")
    assert told_commands(events) == ["DEFINE QLOCAL(A)"]


@pytest.mark.rule("mqi/events", "CMDEV counts when a command is given, not when its event is written.")
def test_cmdev_counts_when_a_command_is_given(events: Events) -> None:
    events.group.repository("QM1").alter_qmgr("QM1", {"command_event": "DISABLED"})
    mqsc(events.group, "DEFINE QLOCAL(A)", "ALT QMGR CMDEV(ENABLED)", "DEFINE QLOCAL(B)")
    mqsc(events.group, "ALTER QMGR DESCR(X)", "ALTER QMGR CMDEV(DISABLED)", "DEFINE QLOCAL(C)", "ALTER QMGR DESCR(Y)")
    told = ["ALT QMGR CMDEV(ENABLED)", "DEFINE QLOCAL(B)", "ALTER QMGR DESCR(X)", "ALTER QMGR CMDEV(DISABLED)"]
    assert told_commands(events) == told
    assert [fields["command"] for _, fields in events.said][-2:] == ["DEFINE QLOCAL(C)", "ALTER QMGR DESCR(Y)"]


@pytest.mark.rule("mqi/events", "CONFIGEV counts when a command is given; for ALTER QMGR before it or after it.")
def test_configev_counts_when_a_command_is_given(events: Events) -> None:
    events.group.repository("QM1").alter_qmgr("QM1", {"configuration_event": "DISABLED"})
    mqsc(events.group, "DEFINE QLOCAL(A)", "ALTER QMGR CONFIGEV(ENABLED)", "DEFINE QLOCAL(B)")
    mqsc(events.group, "ALTER QMGR CONFIGEV(DISABLED)", "DEFINE QLOCAL(C)", "ALTER QMGR DESCR(X)")
    found = events.read(formats.CONFIG_QUEUE)
    assert [fields.get("qName", fields.get("configurationEvent")) for fields, _ in found] == [
        *("DISABLED", "ENABLED", "B", "ENABLED", "DISABLED"),
    ]


def test_a_note_that_is_made_while_events_are_on_is_kept(events: Events) -> None:
    """Of what began before the events were turned off."""
    repository = SessionRepository(events.group.group, "QM1")
    note = CommandNote(events.group.group, "QM1", "DEFINE QLOCAL(A)")
    with noting(repository, "create", "QLOCAL", "A"):
        repository.alter_qmgr("QM1", {"command_event": "DISABLED", "configuration_event": "DISABLED"})
        Repository(events.group.group, "QM1").define(QueueLocal(name="A"))
    note.end("done")
    assert told_commands(events) == ["DEFINE QLOCAL(A)"]
    assert "A" in [fields.get("qName") for fields, _ in events.read(formats.CONFIG_QUEUE)]


@pytest.mark.rule("mqi/events", "A command that fails causes no command event; the log tells of it.")
def test_commands_that_fail_are_logged_only(events: Events) -> None:
    mqsc(events.group, "DELETE QLOCAL(NONE)", "NONSENSE", "DEFINE QLOCAL(A)", "DEFINE QLOCAL(A)", "DEFINE QLOCAL(B) X")
    assert told_commands(events) == ["DEFINE QLOCAL(A)"]
    assert len(events.said) == 5


def test_commands_are_logged_and_told(events: Events) -> None:
    mqsc(events.group, "DEFINE QLOCAL(A) DESCR('redis://u:secret@h/0')", "DELETE QLOCAL(B)", "NONSENSE")
    found = [fields for fields, _ in events.read(formats.COMMAND_QUEUE)]
    assert [fields["commandData"]["commandMqsc"] for fields in found] == ["DEFINE QLOCAL(A) DESCR('redis://u:***@h/0')"]
    assert found[0]["commandContext"]["eventQMgr"] == "QM1"
    assert found[0]["commandContext"]["eventOrigin"] == "CONSOLE"
    assert [message_id for message_id, _ in events.said] == ["IGQ0031I"] * 3
    results = [fields["result"] for _, fields in events.said]
    assert results[0] == "done"
    assert results[1].startswith("failed: ")
    assert "2085" in results[1]
    assert results[2].startswith("syntax: ")
    assert "secret" not in str(events.said)


def by_message(events: Events, number: int, values: dict[int, Any], **md: Any) -> None:
    """Give a command as a PCF message of this user."""
    context: dict[str, Any] = {"user_identifier": Giver().user.encode(), "put_appl_name": b"shop", "put_appl_type": 11}
    descriptor = MQMD(format=Format.ADMIN, encoding=0x222, coded_char_set_id=1208, **context, **md)
    Processor(events.group.group, "QM1", NoControl()).process(descriptor, request(number, values))


def group_of(message: PCFMessage, number: int) -> dict[int, Any]:
    """The parameters of a group in a message, by their numbers."""
    (found,) = (each for each in message.parameters if isinstance(each, MQCFGR) and each.parameter == number)
    return {each.parameter: each for each in found.parameters}


CONTEXT = {
    "accounting_token": b"T" * 32,
    "appl_identity_data": b"identity",
    "appl_origin_data": b"AB",
}


@pytest.mark.rule("mqi/events", "A command by message is told as it came: 2413, its elements, and its context.")
def test_commands_by_message(events: Events) -> None:
    values: dict[int, Any] = {CharSelector.Q_NAME: "A", IntSelector.Q_TYPE: 1, IntSelector.MAX_Q_DEPTH: 7}
    by_message(events, PCFCommand.CREATE_Q, values, **CONTEXT)
    by_message(events, PCFCommand.CREATE_Q, values, **CONTEXT)
    (message,) = events.messages(formats.COMMAND_QUEUE)
    header = message.header
    assert (header.type, header.version, header.command) == (PCFType.EVENT, 3, PCFCommand.COMMAND_EVENT)
    assert (header.comp_code, header.reason) == (MQCC.WARNING, MQRC.COMMAND_PCF)
    context = group_of(message, PCFParameter.COMMAND_CONTEXT)
    assert {number: getattr(each, "value", None) or each.string for number, each in context.items()} == {
        PCFParameter.EVENT_USER_ID: Giver().user.encode(),
        PCFParameter.EVENT_ORIGIN: EventOrigin.MSG,
        PCFParameter.EVENT_Q_MGR: b"QM1",
        PCFParameter.EVENT_ACCOUNTING_TOKEN: b"T" * 32,
        PCFParameter.EVENT_APPL_IDENTITY: b"identity",
        PCFParameter.EVENT_APPL_TYPE: 11,
        PCFParameter.EVENT_APPL_NAME: b"shop",
        PCFParameter.EVENT_APPL_ORIGIN: b"AB",
        PCFParameter.COMMAND: PCFCommand.CREATE_Q,
    }
    data = group_of(message, PCFParameter.COMMAND_DATA)
    assert list(data.values()) == list(read(request(PCFCommand.CREATE_Q, values)).parameters)


def test_the_elements_of_a_command_are_readable() -> None:
    """They come in the character set of the event, without passwords, and not without end."""
    ebcdic, text = Representation(37, 0x222), "é redis://u:secret@h/0".encode("cp037")
    told = replica(
        PCFMessage(MQCFH(), (MQCFST(1, text), MQCFSL(2, (text,)), MQCFGR(3, (MQCFSF(4, 1, text),)), MQCFIN(5, 6))),
        ebcdic,
    )
    masked = "é redis://u:***@h/0".encode()
    elements = (MQCFST(1, masked), MQCFSL(2, (masked,)), MQCFGR(3, (MQCFSF(4, 1, masked),)), MQCFIN(5, 6))
    assert read(write(told)).parameters == elements
    many = PCFMessage(MQCFH(), tuple(MQCFBS(number, bytes(1000)) for number in range(100)))
    cut = replica(many, ebcdic)
    assert cut.parameters == many.parameters[: len(cut.parameters)]
    assert 30_000 < len(write(cut)) <= LENGTH_MAX


def test_inquiries_by_message_are_told_with_enabled_only(events: Events) -> None:
    for asked in ("ENABLED", "NODISPLAY", "DISABLED"):
        events.group.repository("QM1").alter_qmgr("QM1", {"command_event": asked})
        by_message(events, PCFCommand.INQUIRE_Q_MGR, {})
    numbers = [
        group_of(message, PCFParameter.COMMAND_CONTEXT)[PCFParameter.COMMAND].value
        for message in events.messages(formats.COMMAND_QUEUE)
    ]
    assert numbers == [PCFCommand.INQUIRE_Q_MGR]
    assert events.said == []


@pytest.mark.rule("mqi/events", "A command by a console has no context, and the number of its PCF command.")
def test_commands_by_a_console(events: Events) -> None:
    mqsc(events.group, "DEFINE QLOCAL(A)", "DISPLAY QLOCAL(A)", "DISPLAY QMGR")
    found = events.messages(formats.COMMAND_QUEUE)
    assert {message.header.comp_code for message in found} == {MQCC.WARNING}
    contexts = [group_of(message, PCFParameter.COMMAND_CONTEXT) for message in found]
    numbers = [PCFCommand.CREATE_Q, PCFCommand.INQUIRE_Q, PCFCommand.INQUIRE_Q_MGR]
    assert [context[PCFParameter.COMMAND].value for context in contexts] == numbers
    omitted = {
        PCFParameter.EVENT_ACCOUNTING_TOKEN,
        PCFParameter.EVENT_APPL_IDENTITY,
        PCFParameter.EVENT_APPL_ORIGIN,
    }
    assert not omitted & set(contexts[0])


def test_objects_of_commands_by_message(events: Events) -> None:
    by_message(events, PCFCommand.CREATE_Q, {CharSelector.Q_NAME: "A", IntSelector.Q_TYPE: 1}, **CONTEXT)
    (message,) = events.messages(formats.CONFIG_QUEUE)
    found = {each.parameter: each for each in message.parameters}
    assert (message.header.comp_code, message.header.reason) == (MQCC.WARNING, MQRC.CONFIG_CREATE_OBJECT)
    assert found[PCFParameter.EVENT_ORIGIN] == MQCFIN(PCFParameter.EVENT_ORIGIN, EventOrigin.MSG)
    token = MQCFBS(PCFParameter.EVENT_ACCOUNTING_TOKEN, b"T" * 32)
    assert found[PCFParameter.EVENT_ACCOUNTING_TOKEN] == token


def test_the_drop_in_reads_events(events: Events) -> None:
    """They have MQCC_WARNING, which is no failure of a command."""
    mqsc(events.group, "DEFINE QLOCAL(A)")
    events.writer.look()
    for queue in (formats.COMMAND_QUEUE, formats.CONFIG_QUEUE):
        with events.reader.open(queue, OpenOption.INPUT_SHARED) as source:
            answer, header = PCFExecute.unpack(source.get(GetOption.NO_SYNCPOINT).body)
        assert (header.CompCode, bool(answer)) == (MQCC.WARNING, True)


@pytest.mark.parametrize("scope", ["", " CMDSCOPE(QM1)"])
def test_events_name_the_user_that_a_console_knows(events: Events, scope: str) -> None:
    """Not the user that runs the console."""
    events.group.add_member("QM2")
    commands = (
        "DEFINE QLOCAL(A)",
        "ALTER QLOCAL(A) MAXDEPTH(7)",
        "ALTER QMGR DESCR('x')",
        "REFRESH QMGR TYPE(CONFIGEV) OBJECT(QLOCAL) NAME(A)",
        "DELETE QLOCAL(A)",
    )
    text = "\n".join(f"{command}{scope}" for command in commands)
    at = "QM2" if scope else "QM1"
    answers = answer_commands(events.group.settings, at, text, lambda _: None, Giver("anna", "desk", "igq console"))
    assert not [answer.lines for answer in answers if answer.fault]
    found = [fields for fields, _ in events.read(formats.CONFIG_QUEUE)]
    assert [fields["reasonName"].removeprefix("MQRC_CONFIG_") for fields in found] == [
        *("CREATE_OBJECT", "CHANGE_OBJECT", "CHANGE_OBJECT", "CHANGE_OBJECT", "CHANGE_OBJECT"),
        *("DELETE_OBJECT",),
    ]
    assert {(fields["eventUserId"], fields["eventApplName"]) for fields in found} == {("anna", "igq console")}


def test_a_command_of_the_group_is_logged_by_a_member(events: Events) -> None:
    note_group_command(events.group.group, "igq group set lease_ms=1", "done")
    events.writer.look()
    ((message_id, fields),) = events.said
    assert (message_id, fields["command"]) == ("IGQ0031I", "igq group set lease_ms=1")


def test_definitions_are_told_before_and_after(events: Events) -> None:
    mqsc(
        events.group,
        "DEFINE QLOCAL(A) MAXDEPTH(5)",
        "ALTER QLOCAL(A) MAXDEPTH(6)",
        "DELETE QLOCAL(A)",
        "ALTER QMGR MAXHANDS(300)",
        "DEFINE CFSTRUCT(OTHER)",
    )
    found = events.read(formats.CONFIG_QUEUE)
    told = [(fields["reasonName"], fields.get("maxQDepth", fields.get("maxHandles", ""))) for fields, _ in found]
    assert told == [
        ("MQRC_CONFIG_CREATE_OBJECT", 5),
        ("MQRC_CONFIG_CHANGE_OBJECT", 5),
        ("MQRC_CONFIG_CHANGE_OBJECT", 6),
        ("MQRC_CONFIG_DELETE_OBJECT", 6),
        ("MQRC_CONFIG_CHANGE_OBJECT", 256),
        ("MQRC_CONFIG_CHANGE_OBJECT", 300),
        ("MQRC_CONFIG_CREATE_OBJECT", ""),
    ]
    assert found[1][1].correl_id == found[2][1].correl_id != found[0][1].correl_id
    assert found[0][0]["qName"] == "A"
    assert found[0][0]["inhibitPut"] == "ENABLED"


@pytest.mark.rule(
    "mqi/events", "Topics, subscriptions, processes and namelists cause configuration events as queues do."
)
@pytest.mark.parametrize(
    ("kind", "define", "change", "word"),
    [
        ("PROCESS", "APPLICID(a)", "APPLICID(b)", "applId"),
        ("NAMELIST", "NAMES(A)", "NAMES(A,B)", "names"),
        ("TOPIC", "TOPICSTR(x)", "DESCR(b)", "topicDesc"),
        ("SUB", "TOPICSTR(x) DEST(Q)", "USERDATA(b)", "subUserData"),
    ],
)
def test_other_definitions_are_told(events: Events, kind: str, define: str, change: str, word: str) -> None:
    events.group.define_shared("Q")
    output = mqsc(
        events.group,
        f"DEFINE {kind}(A) {define}",
        f"ALTER {kind}(A) {change}",
        f"DEFINE {kind}(A) {define} REPLACE",
        f"DEFINE {kind}(A) {define}",
        f"DELETE {kind}(A)",
    )
    assert output.count("CSQ9022I") == 4, output
    found = [fields for fields, _ in events.read(formats.CONFIG_QUEUE)]
    assert [fields["reasonName"].removeprefix("MQRC_CONFIG_") for fields in found] == [
        *("CREATE_OBJECT", *["CHANGE_OBJECT"] * 4, "DELETE_OBJECT"),
    ]
    assert {fields["objectType"] for fields in found} == {{"PROCESS": 3, "NAMELIST": 2, "TOPIC": 8, "SUB": 0}[kind]}
    assert found[1][word] != found[2][word], sorted(found[1])


@pytest.mark.rule("mqi/events", "A command with CMDSCOPE is told of at each manager that does it.")
def test_events_of_commands_with_cmdscope(events: Events) -> None:
    events.group.add_member("QM2")
    events.group.repository("QM2").alter_qmgr("QM2", {"command_event": "ENABLED"})
    other = Events(events.group, "QM2")
    mqsc(
        events.group,
        "DEFINE QLOCAL(A) CMDSCOPE(QM2)",
        "ALTER QMGR DESCR(x) CMDSCOPE(*)",
        "DEFINE QLOCAL(B)",
        "DEFINE QLOCAL(A) CMDSCOPE(QM2)",
        "DEFINE QLOCAL(C) CMDSCOPE(NONE)",
    )
    first, both, own = "DEFINE QLOCAL(A) CMDSCOPE(QM2)", "ALTER QMGR DESCR(x) CMDSCOPE(*)", "DEFINE QLOCAL(B)"
    assert (told_commands(events), told_commands(other)) == ([both, own], [first, both])
    assert (len(events.said), other.said) == (5, [])


def test_unknown_notes_do_no_harm(events: Events) -> None:
    for body in ({}, {"reason": "x"}):
        for kind in ("refused", "config", "later"):
            leave_note(events.group.group, "QM1", kind, "", body)
    leave_note(events.group.group, "QM1", "command", "", {"user": "u"})
    mqsc(events.group, "DISPLAY QMGR")
    assert len(events.read(formats.COMMAND_QUEUE)) == 1


def test_a_refresh_tells_of_each_object(events: Events) -> None:
    events.group.define_shared("A", max_depth=7)
    mqsc(events.group, "DEFINE QALIAS(AA) TARGET(A)", "DELETE QALIAS(NOWHERE)")
    events.read(formats.CONFIG_QUEUE)
    refresh = "REFRESH QMGR TYPE(CONFIGEV) "
    mqsc(events.group, refresh + "OBJECT(QUEUE) NAME('A*')", refresh + "OBJECT(QLOCAL) NAME(A)")
    found = [fields for fields, _ in events.read(formats.CONFIG_QUEUE)]
    assert {fields["reasonName"] for fields in found} == {"MQRC_CONFIG_REFRESH_OBJECT"}
    assert [fields["qName"] for fields in found] == ["A", "AA", "A"]
    assert found[0]["maxQDepth"] == 7
    mqsc(events.group, "REFRESH QMGR TYPE(CONFIGEV)")
    kinds = {fields["objectType"] for fields, _ in events.read(formats.CONFIG_QUEUE)}
    # MQOT_TOPIC and those of queues, the manager and structures.
    assert len(kinds) == 4


def test_a_refresh_is_refused_where_nobody_hears_it(events: Events) -> None:
    assert "expected: TYPE(CONFIGEV)" in mqsc(events.group, "REFRESH QMGR")
    events.group.repository("QM1").alter_qmgr("QM1", {"configuration_event": "DISABLED"})
    assert "CONFIGEV(DISABLED)" in mqsc(events.group, "REFRESH QMGR TYPE(CONFIGEV)")


@pytest.mark.rule("mqi/events", "An MQSET causes the event that a changed object does.")
def test_mqset_is_told_as_a_change(events: Events) -> None:
    events.group.define_shared("A")
    queue = events.group.connect("QM1").open("A", OpenOption.SET)
    queue.set({IntSelector.INHIBIT_PUT: 1})
    found = [fields for fields, _ in events.read(formats.CONFIG_QUEUE)]
    assert [(fields["reasonName"], fields["inhibitPut"]) for fields in found] == [
        ("MQRC_CONFIG_CHANGE_OBJECT", "ENABLED"),
        ("MQRC_CONFIG_CHANGE_OBJECT", "DISABLED"),
    ]
    assert {fields["eventOrigin"] for fields in found} == {"MQSET"}


def test_a_failed_command_of_the_group_is_logged(events: Events) -> None:
    with pytest.raises(CommandError):
        change_group_settings(events.group.settings, ["nonsense=1"])
    with pytest.raises(CommandError):
        remove_manager(events.group.settings, "NOBODY")
    events.writer.look()
    found = [(fields["command"], fields["result"].partition(":")[0]) for _, fields in events.said]
    assert found == [("group set nonsense=1", "failed"), ("group remove NOBODY", "failed")]
