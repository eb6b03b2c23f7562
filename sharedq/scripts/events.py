"""The scripts that note what event messages and trigger messages are to be written for, and take such notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall


def events_field(qmgr: str) -> str:
    """Return the field of a structure's versions with what *qmgr* asks for."""
    return f"EVENTS {qmgr}"


def note_event_call(keys: StructureKeys, qmgr: str, word: str, note: Mapping[str, str | int | bytes]) -> ScriptCall:
    """Note an event if *qmgr* asks for the kind of event that *word* stands for; ``""``: note it always."""
    fields = [part for pair in note.items() for part in pair]
    return "structure/note_event", (keys.versions, keys.events), (events_field(qmgr), word, *fields)


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


def take_triggers_call(keys: StructureKeys, caller: str, cursor: bytes, count: int) -> ScriptCall:
    """Read a page of the entries that may owe trigger messages."""
    script_keys = (keys.owners, keys.versions, keys.owed, keys.triggers)
    return "structure/take_triggers", script_keys, (caller, cursor, count)


def owe_trigger_call(keys: StructureKeys, field: str, count: int | None = None) -> ScriptCall:
    """Have the manager that writes a structure's trigger messages look there; *count*: messages that came."""
    script_keys = (keys.versions, keys.owed, keys.triggers)
    return "structure/owe_trigger", script_keys, (field, "" if count is None else count)


def claim_trigger_call(
    keys: StructureKeys, queue: QueueKeys, caller: str, found: str, count: int, claimed: str, *, is_again: bool
) -> ScriptCall:
    """Note in *claimed* that a trigger message is owed, if the conditions of FIRST or DEPTH hold. *found* is done."""
    script_keys = (keys.owners, keys.versions, keys.owed, queue.queue, queue.available)
    return "structure/claim_trigger", script_keys, (caller, found, count, claimed, int(is_again))


def settle_trigger_call(keys: StructureKeys, caller: str, found: str, count: int) -> ScriptCall:
    """Forget *count* times of an entry that was *found*: its work is done."""
    return "structure/settle_trigger", (keys.owners, keys.versions, keys.owed), (caller, found, count)


def mark_initiation_call(keys: StructureKeys, queue: QueueKeys) -> ScriptCall:
    """Have the first MQOPEN for input of an initiation queue noted, and ask whether one was not looked at yet."""
    return "structure/mark_initiation", (keys.versions, queue.queue, keys.owed), (queue.name,)


def tell_change_call(keys: AdminKeys) -> ScriptCall:
    """Tell the managers that a structure has something new to look at."""
    return "admin/tell_change", (keys.members,), ()
