"""Notes for event messages: a process that sees an event leaves a note, and a manager writes the message.

A note is in the structure of the manager that it is about. Notes about the depth of a queue are in its structure, where
the scripts of puts and gets write them. A note that cannot be written is dropped: no call fails for it.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from sharedq.members.group import Group
from sharedq.messages.context import APPL_TYPE_UNIX, default_appl_name, user_identifier
from sharedq.mqi.constants.pcf import EventOrigin
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.redis.keys import private_structure
from sharedq.redis.link import ScriptCall
from sharedq.scripts.events import note_event_call, take_events_call


@dataclass(frozen=True, slots=True)
class Giver:
    """The user that gave a command, and where: default, the one that runs this program.

    Attributes:
        origin: how the command came, MQEVO_*.
        appl_type: MQAT_*.
        accounting_token: in hexadecimal digits; it, *identity_data* and *appl_origin* are those of a command message.
    """

    user: str = field(default_factory=lambda: user_identifier().decode(errors="replace"))
    host: str = field(default_factory=socket.gethostname)
    appl: str = field(default_factory=lambda: default_appl_name().decode(errors="replace"))
    origin: int = int(EventOrigin.CONSOLE)
    appl_type: int = APPL_TYPE_UNIX
    accounting_token: str = ""
    identity_data: str = ""
    appl_origin: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Giver:
        """Return the giver that a note names. An older note says less."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    Attributes:
        kind: ``high``, ``low``, ``max``, ``late``, ``prompt``: depth or service interval of a queue; ``refused``;
            ``command``; ``config``; ``refresh``; ``channel``.
        at_ms: when it was written, by Redis' clock.
        fields: what it says.
    """

    kind: str
    at_ms: int
    fields: Mapping[str, Any]


def leave_note(group: Group, qmgr: str, kind: str, word: str, values: Mapping[str, Any]) -> None:
    """Leave a note for *qmgr*, where that asks for the events that *word* stands for; ``""``: always."""
    with suppress(MQIError, DeploymentError):
        group.call(*note_call(group, qmgr, kind, word, values))


def note_call(group: Group, qmgr: str, kind: str, word: str, values: Mapping[str, Any]) -> ScriptCall:
    """Make the call that leaves a note, as `leave_note` does."""
    keys = group.structure(private_structure(qmgr))
    return note_event_call(keys, qmgr, word, {"kind": kind, "body": json.dumps(dict(values))})


def leave_together(group: Group, calls: Sequence[ScriptCall]) -> None:
    """Leave notes of several structures, in one write where there is one server. Drop those that cannot be left."""
    if not calls:
        return
    with suppress(MQIError, DeploymentError):
        for some in [[each] for each in calls] if group.deployment().is_cluster else [calls]:
            with suppress(MQIError):
                group.call_apart(some)


def take_notes(group: Group, structure: str, count: int) -> list[Note]:
    """Take the oldest notes of a structure. Raises MQIError: the structure cannot be reached."""
    found = []
    for id_, flat in group.call(*take_events_call(group.structure(structure), count)):
        words = [part.decode("utf-8", "backslashreplace") for part in flat]
        values: dict[str, Any] = dict(zip(words[::2], words[1::2], strict=True))
        kind = values.pop("kind", "")
        if "body" in values:
            values = json.loads(values["body"])
        found.append(Note(kind, int(id_.partition(b"-")[0]), values))
    return found
