"""Application structures and managers' attributes, as the administration structure keeps them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.directory import Directory, parse_attributes
from sharedq.redis.answers import LOOK_S, little_patience
from sharedq.redis.keys import ADMIN_STRUCTURE, private_structure
from sharedq.redis.outage import PASSING
from sharedq.scripts.events import arm_queues_call, events_field
from sharedq.scripts.objects import alter_qmgr_call, define_structure_call, remove_structure_call, set_versions_call

T = TypeVar("T")
#: Structures of a Cluster that cannot be reached now, by name, with the reasons.
Away = dict[str, MQIError]
_OTHERS_TOLD: Final = "all other structures were told; repeat the command later"
_CHANGED = 1
_QUEUES_PER_CALL = 100
#: The default of TRIGINT: no trigger message is written again.
_NO_TRIGGER_INTERVAL_MS = 999_999_999
#: Field of a manager's attributes -> the word that stands for such events in each structure's versions.
EVENT_WORDS = {
    "performance_event": "PERFM",
    "inhibit_event": "INHIBIT",
    "local_event": "LOCAL",
    "remote_event": "REMOTE",
    "authority_event": "AUTHOR",
    "start_stop_event": "STRSTP",
    "command_event": "COMMAND",
    "configuration_event": "CONFIG",
    "channel_event": "CHANNEL",
}
#: Stands for the events of channels that are no exceptions.
ORDINARY_CHANNEL_EVENTS = "CHLEV=ENABLED"


def in_each(group: Group, names: Iterable[str], call: Callable[[str], T], away: Away) -> dict[str, T]:
    """Make a call for each structure. Those that are away are added to *away*.

    Raises:
        MQIError: why a call failed, if that is not about its structure alone.
    """
    found: dict[str, T] = {}
    for name in names:
        try:
            group.require_reachable(name)
            with little_patience(LOOK_S):
                found[name] = call(name)
        except MQIError as error:
            # In a Cluster one server may go at any moment, or one slot; the others still answer.
            if error.reason not in PASSING or not group.deployment().is_cluster:
                raise
            away[name] = error
    return found


def require_all(away: Away, verb: str = "") -> None:
    """Raise the first reason, with the names of all structures that are away, unless there are none."""
    if away:
        first = next(iter(away.values()))
        raise error_for(
            first.reason, verb, ", ".join(away), f"{first.detail}; {_OTHERS_TOLD}" if first.detail else _OTHERS_TOLD
        )


def announce(group: Group, field: str, value: str) -> None:
    """Tell every structure that something which handles went through has changed: their next put fails with 2041.

    It is harmless to repeat an announcement, or to be overtaken by a later one.

    Raises:
        MQIError: 2345, 2346, a structure cannot be reached now; all others were told.
    """
    away: Away = {}
    in_each(
        group,
        group.structure_names(),
        lambda name: group.call(*set_versions_call(group.structure(name), field, value)),
        away,
    )
    require_all(away)


def arm_queues(group: Group) -> None:
    """Make the queues of every structure count puts and gets while any manager has PERFMEV(ENABLED), and only then.

    It is harmless to repeat.

    Raises:
        MQIError: 2345, 2346, a structure cannot be reached now; all others were told.
    """
    qmgrs, away = [member.name for member in group.members()], Away()

    def arm(structure: str, names: Sequence[str] = ()) -> bool:
        return bool(group.call(*arm_queues_call(group.structure(structure), qmgrs, list(names))))

    queues: dict[str, list[str]] = {
        name: [] for name, is_asked in in_each(group, group.structure_names(), arm, away).items() if is_asked
    }
    if queues:
        _arm_each(group, queues, arm, away)
    require_all(away)


def _arm_each(
    group: Group, queues: dict[str, list[str]], arm: Callable[[str, Sequence[str]], bool], away: Away
) -> None:
    # Read after the structures know what is asked for: what is defined from now on counts anyway.
    for entry in Directory(group).scan():
        if entry.kind == QueueLocal.kind and entry.is_in_structure and entry.structure in queues:
            queues[entry.structure].append(entry.name)

    def arm_all(structure: str) -> None:
        there = queues[structure]
        for start in range(0, len(there), _QUEUES_PER_CALL):
            arm(structure, there[start : start + _QUEUES_PER_CALL])

    in_each(group, queues, arm_all, away)


def holder_field(qmgr: str) -> str:
    """Return the field with a structure's latest number of *qmgr*: of a start, or of an attempt to remove it."""
    return f"QMGR {qmgr}"


class Structures:
    """Defines and lists structures. A manager's own structure has a number and no definition."""

    def __init__(self, group: Group, clock: Callable[[], datetime]) -> None:
        self._group, self._clock = group, clock

    def list(self) -> list[CFStruct]:
        """Return the application structures, by name."""
        keys = self._group.keys
        kept = self._group.command(keys.structures, "HVALS", keys.structures)
        found = [CFStruct.from_stored(each["definition"]) for each in map(json.loads, kept) if "definition" in each]
        return sorted(found, key=lambda structure: structure.name)

    def ensure_own(self, structure: str) -> None:
        """Make sure that a manager's own structure has a number."""
        structures = self._group.keys.structures
        # Check first: a full Redis refuses the script, even if there is nothing to do, at every later start.
        if not self._group.command(structures, "HEXISTS", structures, structure):
            self._group.call(*define_structure_call(self._group.keys, structure, "keep", "", ""))

    def define(self, structure: CFStruct, *, replace: bool) -> None:
        """Define a structure. Raises MQIError: 2100, it exists; 2349, the name is reserved."""
        if structure.name == ADMIN_STRUCTURE:
            raise error_for(MQRC.CF_STRUC_ERROR, "", structure.name, "the name is reserved")
        definition = structure.altered_at(self._clock())
        mode = "replace" if replace else "new"
        call = define_structure_call(self._group.keys, structure.name, mode, "", definition.to_json())
        reply = self._group.call(*call)
        if reply[0]:
            raise error_for(MQRC(reply[0]), "", structure.name)

    def alter(self, name: str, changes: Mapping[str, Any]) -> None:
        """Alter a structure. Raises MQIError: 2349, there is none; ValueError: a value is out of its range."""
        keys = self._group.keys
        while True:
            text = self._group.command(keys.structures, "HGET", keys.structures, name)
            kept = json.loads(text) if text is not None else {}
            if "definition" not in kept:
                raise error_for(MQRC.CF_STRUC_ERROR, "", name, "there is no such structure")
            known = CFStruct.from_stored(kept["definition"])
            altered = known.with_changes(changes).altered_at(self._clock())
            reply = self._group.call(*define_structure_call(keys, name, "alter", text, altered.to_json()))
            if reply[0] == _CHANGED:
                continue
            if reply[0]:
                raise error_for(MQRC(reply[0]), "", name)
            return

    def check_unused(self, name: str) -> None:
        """Refuse what cannot be deleted. Raises MQIError: 2349, it is a manager's own; 2346, it has queues."""
        if name.startswith(private_structure("")):
            raise error_for(MQRC.CF_STRUC_ERROR, "", name, "it is a manager's own")
        group = self._group.keys.group
        if int(self._group.command(group, "HGET", group, f"queues {name}") or 0):
            raise error_for(MQRC.CF_STRUC_IN_USE, "", name, "queues are defined in it")

    def delete(self, name: str) -> None:
        """Forget an application structure. Raises MQIError: 2349, there is none; 2346, queues are defined in it."""
        reply = self._group.call(*remove_structure_call(self._group.keys, name))
        if reply[0]:
            in_use = reply[0] == MQRC.CF_STRUC_IN_USE
            detail = "queues are defined in it" if in_use else "there is no such structure"
            raise error_for(MQRC(reply[0]), "", name, detail)


class ManagerAttributes:
    """Reads and alters the attributes of managers."""

    def __init__(self, group: Group, clock: Callable[[], datetime]) -> None:
        self._group, self._clock = group, clock

    def read(self, qmgr: str) -> QueueManagerAttributes:
        """Return the attributes in force. Defaults for a manager that never started."""
        return self._parsed(qmgr, self._text(qmgr))

    def ensure(self, qmgr: str, at_first: Mapping[str, Any]) -> None:
        """Make sure that a manager has attributes, and that every structure knows its IGQ.

        Args:
            at_first: attributes for a manager without any, if they differ from the defaults. They are written with the
                others, so a start that is cut off leaves all or none. Existing ones stay.
        """
        text = self._text(qmgr)
        if not text:
            attributes = self._parsed(qmgr, b"").with_changes(at_first).altered_at(self._clock())
            _, text = self._write(qmgr, b"", attributes, is_igq=True)
        attributes = self._parsed(qmgr, text)
        announce(self._group, f"IGQ {qmgr}", attributes.igq_state)
        self._announce_events(attributes)

    def announce_events(self, qmgr: str) -> None:
        """Tell every structure which events the manager asks for: some may not have been there at the last time."""
        self._announce_events(self.read(qmgr))

    def announce_igq(self, qmgr: str) -> None:
        """Tell every structure the manager's IGQ: the command that altered IGQ may have ended before it told them."""
        announce(self._group, f"IGQ {qmgr}", self.read(qmgr).igq_state)

    def alter(self, qmgr: str, changes: Mapping[str, Any]) -> QueueManagerAttributes:
        """Alter attributes. If IGQ is among them, every structure knows of it before this returns.

        Raises:
            ValueError: a value is out of its range.
        """
        while True:
            text = self._text(qmgr)
            known = self._parsed(qmgr, text)
            altered = known.with_changes(changes).altered_at(self._clock())
            is_written, text = self._write(qmgr, text, altered, is_igq=known.igq != altered.igq)
            if is_written:
                break
        written = self._parsed(qmgr, text)
        if "igq" in changes:
            # Even if nothing changed: the command that changed it may have been cut off here.
            announce(self._group, f"IGQ {qmgr}", written.igq_state)
        if not (EVENT_WORDS.keys() | {"trigger_interval_ms"}).isdisjoint(changes):
            self._announce_events(written)
        return written

    def _announce_events(self, attributes: QueueManagerAttributes) -> None:
        announce(self._group, events_field(attributes.name), _events_value(attributes))
        arm_queues(self._group)

    def _text(self, qmgr: str) -> bytes:
        key = self._group.keys.qmgr
        return self._group.command(key, "HGET", key, qmgr) or b""

    def _parsed(self, qmgr: str, text: bytes) -> QueueManagerAttributes:
        if text:
            return parse_attributes(text)
        return parse_definition(QueueManagerAttributes, {"name": qmgr, "qsg_name": self._group.name})

    def _write(
        self, qmgr: str, expected: bytes, attributes: QueueManagerAttributes, *, is_igq: bool
    ) -> tuple[bool, bytes]:
        text = attributes.to_json(without=frozenset({"igq_version"}))
        reply = self._group.call(*alter_qmgr_call(self._group.keys, qmgr, expected, text, is_igq=is_igq))
        return reply[0] != _CHANGED, reply[1]


def _events_value(attributes: QueueManagerAttributes) -> str:
    """Return what a structure is told of a manager's events: the time as a version, and the words."""
    words = [word for field, word in EVENT_WORDS.items() if getattr(attributes, field) != "DISABLED"]
    if attributes.channel_event == "ENABLED":
        words.append(ORDINARY_CHANNEL_EVENTS)
    if attributes.trigger_interval_ms != _NO_TRIGGER_INTERVAL_MS:
        words.append(f"TRIGINT={attributes.trigger_interval_ms}")
    return f"{time.time_ns() // 1_000_000}:{' '.join(words)}"
