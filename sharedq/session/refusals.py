"""Calls that were refused, noted for the event messages of the manager: authority, inhibit, local and remote events."""

from __future__ import annotations

from typing import Final

from sharedq.members.event_notes import Giver, leave_note
from sharedq.members.group import Group
from sharedq.messages.context import Program
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: Reason -> the word that stands for such events (`sharedq.objects.store.structures.EVENT_WORDS`).
_WORDS: Final = {
    MQRC.PUT_INHIBITED: "INHIBIT",
    MQRC.GET_INHIBITED: "INHIBIT",
    MQRC.UNKNOWN_OBJECT_NAME: "LOCAL",
    MQRC.UNKNOWN_ALIAS_BASE_Q: "LOCAL",
    MQRC.UNKNOWN_OBJECT_Q_MGR: "REMOTE",
    MQRC.UNKNOWN_REMOTE_Q_MGR: "REMOTE",
    MQRC.UNKNOWN_XMIT_Q: "REMOTE",
    MQRC.UNKNOWN_DEF_XMIT_Q: "REMOTE",
    MQRC.DEF_XMIT_Q_TYPE_ERROR: "REMOTE",
    MQRC.DEF_XMIT_Q_USAGE_ERROR: "REMOTE",
    MQRC.NOT_AUTHORIZED: "AUTHOR",
}


def note_refusal(
    connection: Connection, error: MQIError, queue: str, qmgr_of_queue: str = "", options: int = 0
) -> None:
    """Note that a call on *queue* failed with *error*, where the manager asks for events about such failures.

    Costs a round trip; only for these reasons. Nothing tells of refusals by a queue of events: the
    writing of that event might be refused, too.
    """
    word = _WORDS.get(error.reason)
    if word is None or (queue.startswith("SYSTEM.ADMIN.") and queue.endswith(".EVENT")):
        return
    fields = {
        "reason": int(error.reason),
        "queue": queue,
        "qmgr_of_queue": qmgr_of_queue,
        "base": error.object_name if error.reason == MQRC.UNKNOWN_ALIAS_BASE_Q and error.object_name != queue else "",
        "appl": connection.appl_name,
        "user": connection.user,
        "options": options,
        **_place(connection.program),
    }
    leave_note(connection.group, connection.qmgr_name, "refused", word, fields)


def note_refused_connection(group: Group, qmgr: str, appl_name: str, program: Program | None = None) -> None:
    """Note that a program may not connect, if Redis gives the right to note it."""
    giver = Giver()
    fields = {
        "reason": int(MQRC.NOT_AUTHORIZED),
        "queue": "",
        "qmgr_of_queue": "",
        "base": "",
        "appl": appl_name or giver.appl,
        "user": giver.user if program is None else program.user,
        "options": 0,
        **_place(program),
    }
    leave_note(group, qmgr, "refused", "AUTHOR", fields)


def _place(program: Program | None) -> dict[str, str]:
    """By which channel a program came, and from where; nothing of a program that came by none."""
    if program is None or not program.channel:
        return {}
    return {"channel": program.channel, "address": program.address}


def inhibited(connection: Connection, handle: Handle, reason: MQRC, verb: str) -> MQIError:
    """Return the error for a call that the definition of its queue inhibits, and note it."""
    error = error_for(reason, verb, handle.object_name)
    note_refusal(connection, error, handle.object_name)
    return error
