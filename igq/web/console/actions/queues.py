"""Plans for local queues: DEFINE, ALTER, DELETE, CLEAR, MOVE, and a test message."""

from __future__ import annotations

import shlex
from functools import partial

import sharedq
from igq.mqsc.language.writing import command, flag, parameter
from igq.operations.command_log import CONSOLE, note_command
from igq.web.access.gate import Refused
from igq.web.access.users import Role
from igq.web.console.actions import attributes
from igq.web.console.actions.action import Action, ActionOutcome, Asked, FormField, Plan, by_command, commanded
from igq.web.console.actions.places import (
    local_queue,
    manager_for,
    opened,
    own_disposition,
    private_or_shared,
    running_managers,
)
from sharedq.members.event_notes import Giver
from sharedq.mqi.constants import Format, Persistence, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.settings.values import Settings

#: The attributes that most people set.
_FIRST = (
    *("DESCR", "PUT", "GET", "MAXDEPTH", "MAXMSGL", "DEFPSIST", "DEFPRTY", "MSGDLVSQ", "SHARE"),
    *("BOTHRESH", "BOQNAME"),
)
_KIND = QueueLocal.kind
#: A queue stays in its structure.
_FIXED = ("CFSTRUCT",)
_YES_NO = ("NO", "YES")


def _define_form(settings: Settings, _: Asked) -> list[FormField]:
    with opened(settings) as group:
        managers = running_managers(group)
        structures = [each.name for each in Repository(group, None).structures()]
    return [
        FormField("queue", "Name", "1 to 48 of A-Z a-z 0-9 . / _ %.", is_required=True),
        FormField(
            "qmgr", "At manager", "The manager of a private queue; of a shared one any.", choices=tuple(managers)
        ),
        FormField("disposition", "QSGDISP", "Private, shared, or a template of the group.", choices=_DISPOSITIONS),
        FormField("structure", "CFSTRUCT", "The structure of a shared queue.", choices=("", *structures)),
        *attributes.attribute_fields(QueueLocal, _FIRST, None, _FIXED),
    ]


_DISPOSITIONS = ("QMGR", "SHARED", "GROUP")


def _define(settings: Settings, asked: Asked) -> Plan:
    disposition, structure = asked.choice("disposition", _DISPOSITIONS), asked.optional("structure")
    parameters = [] if disposition == "QMGR" else [parameter("QSGDISP", disposition)]
    parameters += [parameter("CFSTRUCT", structure)] if structure else []
    parameters += attributes.given(QueueLocal, asked.attributes(), _FIXED)
    with opened(settings) as group:
        qmgr = manager_for(group, asked)
    return commanded(qmgr, command("DEFINE", _KIND, asked.text("queue"), parameters))


def _alter_form(settings: Settings, asked: Asked) -> list[FormField]:
    with opened(settings) as group:
        known = local_queue(group, manager_for(group, asked), asked.text("queue"))
    return attributes.attribute_fields(QueueLocal, _FIRST, known, _FIXED)


def _alter(settings: Settings, asked: Asked) -> Plan:
    with opened(settings) as group:
        qmgr, name = manager_for(group, asked), asked.text("queue")
        known = local_queue(group, qmgr, name)
    changes = attributes.changed(known, asked.attributes(), _FIXED)
    if not changes:
        raise Refused(400, "nothing is changed yet")
    return commanded(qmgr, command("ALTER", _KIND, name, [*own_disposition(known), *changes]))


def _delete(settings: Settings, asked: Asked) -> Plan:
    with opened(settings) as group:
        qmgr, name = manager_for(group, asked), asked.text("queue")
        known = local_queue(group, qmgr, name)
    purge = [flag("PURGE")] if asked.choice("purge", _YES_NO) == "YES" else []
    return commanded(qmgr, command("DELETE", _KIND, name, [*own_disposition(known), *purge]))


def _delete_form(_: Settings, _asked: Asked) -> list[FormField]:
    return [
        FormField("purge", "PURGE", "Delete its messages too. Without it a queue with messages stays.", "NO", _YES_NO)
    ]


def _clear(settings: Settings, asked: Asked) -> Plan:
    with opened(settings) as group:
        qmgr, name = manager_for(group, asked), asked.text("queue")
        known = local_queue(group, qmgr, name)
    return commanded(qmgr, command("CLEAR", _KIND, name, private_or_shared(known)))


def _move_all(settings: Settings, asked: Asked) -> Plan:
    with opened(settings) as group:
        qmgr, name = manager_for(group, asked), asked.text("queue")
        known = local_queue(group, qmgr, name)
    parameters = [parameter("TOQLOCAL", asked.text("target"))]
    if asked.choice("add", _YES_NO) == "YES":
        parameters.append(parameter("TYPE", "ADD"))
    return commanded(qmgr, command("MOVE", _KIND, name, [*parameters, *private_or_shared(known)]))


def _move_all_form(_: Settings, _asked: Asked) -> list[FormField]:
    return [
        FormField("target", "To queue", "A local queue of this manager, or a shared one.", is_required=True),
        FormField(
            "add", "Add", "NO: the target must be empty. YES: the messages come after those there.", "NO", _YES_NO
        ),
    ]


def _put_form(_: Settings, _asked: Asked) -> list[FormField]:
    return [
        FormField("body", "Text", "The data of the message, as MQSTR in UTF-8.", "test", is_text=True),
        FormField("persistent", "Persistent", "Empty: as the queue says.", choices=("", *_YES_NO)),
        FormField("priority", "Priority", "0 to 9. Empty: as the queue says."),
    ]


def _put(settings: Settings, asked: Asked) -> Plan:
    queue, body = asked.text("queue"), asked.lines("body")
    persistent = asked.choice("persistent", ("", *_YES_NO))
    priority = asked.number("priority", 0, 9) if asked.optional("priority") else -1
    with opened(settings) as group:
        qmgr = manager_for(group, asked)
    options = {"": (), "YES": ("--persistent",), "NO": ("--nonpersistent",)}[persistent]
    if priority >= 0:
        options = (*options, "--priority", str(priority))
    md = MQMD(
        format=Format.STRING,
        persistence=int(Persistence.AS_Q_DEF if not persistent else persistent == "YES"),
        priority=priority,
    )
    shown = shlex.join(["put", qmgr, queue, *options])
    deed = partial(_do_put, qmgr, queue, md, body.encode(), shown)
    return Plan(qmgr, f"igq {shown} -- {shlex.quote(body)}", deed=deed, shown=shown)


def _do_put(
    qmgr: str, queue: str, md: MQMD, body: bytes, shown: str, settings: Settings, giver: Giver
) -> ActionOutcome:
    md.user_identifier = giver.user.encode()
    options = int(PutOption.NO_SYNCPOINT | PutOption.FAIL_IF_QUIESCING | PutOption.SET_IDENTITY_CONTEXT)
    with sharedq.connect(qmgr, appl_name=CONSOLE, settings=settings) as connection:
        connection.put1(queue, body, md, options=options)
        note_command(connection.connection.group, qmgr, shown, "done", giver)
    return ActionOutcome([f"1 message put on {queue}"], is_done=True, result="done")


ACTIONS = (
    by_command("define", "Define a queue", "queues", "DEFINE", _define, form=_define_form),
    Action("put", "Put a test message", "queue", Role.OPERATOR, _put, _put_form),
    by_command("alter", "Alter", "queue", "ALTER", _alter, form=_alter_form),
    by_command("move-all", "Move all messages", "queue", "MOVE", _move_all, form=_move_all_form),
    by_command("clear", "Clear", "queue", "CLEAR", _clear, is_dangerous=True),
    by_command("delete", "Delete", "queue", "DELETE", _delete, form=_delete_form, is_dangerous=True),
)
