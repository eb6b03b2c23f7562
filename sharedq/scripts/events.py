"""The scripts that note what event messages and trigger messages are to be written for, and take such notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall


def events_field(qmgr: str) -> str:
    """Return the field of a structure's versions with what *qmgr* asks for."""
    return f"EVENTS {qmgr}"


def note_event_call(keys: StructureKeys, qmgr: str, word: str, note: Mapping[str, str | int | bytes]) -> ScriptCall:
    """Note an event, where *qmgr* asks for those that *word* stands for; ``""``: always."""
    return _note_call(keys, keys.events, events_field(qmgr), word, note)


def note_trigger_call(keys: StructureKeys, note: Mapping[str, str | int | bytes]) -> ScriptCall:
    """Note in another structure what a trigger message is to be written for."""
    return _note_call(keys, keys.triggers, "", "", note)


def _note_call(
    keys: StructureKeys, notes: str, field: str, word: str, note: Mapping[str, str | int | bytes]
) -> ScriptCall:
    fields = [part for pair in note.items() for part in pair]
    return "structure/note_event", (keys.versions, notes), (field, word, *fields)


def take_events_call(keys: StructureKeys, count: int) -> ScriptCall:
    """Take the oldest notes of a structure."""
    return "structure/take_events", (keys.events,), (count,)


def arm_queues_call(keys: StructureKeys, qmgrs: Iterable[str], queues: Sequence[str]) -> ScriptCall:
    """Begin or end the counting on some queues of a structure, by what the managers *qmgrs* ask for now."""
    script_keys = (keys.versions, *(keys.queue(queue).queue for queue in queues))
    return "structure/arm_queues", script_keys, [events_field(qmgr) for qmgr in qmgrs]


def reset_counts_call(queues: Sequence[QueueKeys]) -> ScriptCall:
    """Take the counts of some queues of a structure, and begin them anew."""
    return "structure/reset_counts", [key for queue in queues for key in (queue.queue, queue.available)], ()


def take_triggers_call(keys: StructureKeys, caller: str, count: int, done: Sequence[bytes]) -> ScriptCall:
    """Forget the notes that are *done*, and read the oldest of the others."""
    return "structure/take_triggers", (keys.owners, keys.versions, keys.triggers), (caller, count, *done)


def mark_initiation_call(keys: StructureKeys, queue: QueueKeys) -> ScriptCall:
    """Have the first MQOPEN for input of an initiation queue noted, from now on."""
    return "structure/mark_initiation", (keys.versions, queue.queue), ()


def turn_trigger_off_call(queue: QueueKeys) -> ScriptCall:
    """Turn TRIGGER off."""
    return "structure/turn_trigger_off", (queue.queue,), ()


def tell_change_call(keys: AdminKeys) -> ScriptCall:
    """Tell the managers that a structure has something new to look at."""
    return "admin/tell_change", (keys.members,), ()
