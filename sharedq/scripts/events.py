"""The scripts that note what event messages are to tell of, and take such notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall


def events_field(qmgr: str) -> str:
    """Return the field of a structure's versions with what *qmgr* asks for."""
    return f"EVENTS {qmgr}"


def note_event_call(keys: StructureKeys, qmgr: str, word: str, note: Mapping[str, str | int | bytes]) -> ScriptCall:
    """Note an event, where *qmgr* asks for those that *word* stands for; ``""``: always."""
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
