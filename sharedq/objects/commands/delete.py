"""DELETE and CLEAR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.commands.announcement import announce_definition
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.local_queues import QueueState
from sharedq.objects.store.parts import Place
from sharedq.objects.store.structures import announce


def delete_entry(finder: Finder, entry: Entry, *, purge: bool = False) -> None:
    """Delete an object that is no template.

    Raises:
        MQIError: 2042, it is open; 2055, it holds messages (without *purge*) or uncommitted ones.
    """
    if entry.kind != QueueLocal.kind:
        _, version = finder.directory.remove(entry)
        announce_definition(finder, entry.name, version, entry.definition, entry.qmgr)
        return
    if entry.is_partitioned:
        _delete_partitioned(finder, entry, purge=purge)
        return
    finder.queues.remove(entry.structure, entry.name, "purge" if purge else "delete")
    finder.directory.remove(entry)


def drop_closed_parts(finder: Finder) -> None:
    """Delete what is left of a partitioned queue that the directory no longer has."""
    for place in finder.parts():
        finder.queues.remove(*place, "rest")


def _delete_partitioned(finder: Finder, entry: Entry, *, purge: bool) -> None:
    """Close every part first, so that nothing can refuse any more. Then delete the queue with its messages."""
    current, places = entry, list[Place]()
    while True:
        places = finder.places(current)
        check_idle(finder, current.name, places, purge=purge)
        try:
            for place in places:
                mode: Literal["purge", "delete"] = "purge" if purge else "delete"
                finder.queues.remove(*place, mode, closed_at=current.version)
        except MQIError:
            # A part was opened meanwhile: the parts that were closed before come back with what they hold.
            finder.set_partitions(current, places, is_back=True)
            raise
        is_removed, _ = finder.directory.remove(current)
        if is_removed:
            break
        # The queue was altered meanwhile, and may be open by its new definition; or another command deleted it.
        following = finder.directory.read("S", entry.name)
        if following is None:
            break
        current = following
    for place in set(finder.parts()).difference(places):
        # A part was made meanwhile, in a new structure, by the definition that is gone.
        finder.queues.remove(*place, "purge", closed_at=current.version)
    drop_closed_parts(finder)


def announce_missing(finder: Finder, name: str) -> None:
    """Tell every structure that *name* is gone: the command that deleted it may have been cut off before that."""
    _, version = finder.directory.remove(Entry(name, "", "QMGR", finder.qmgr or ""))
    announce(finder.group, f"DEF {name}", str(version))


def total_state(finder: Finder, entry: Entry) -> QueueState:
    """Return the counts of a queue, with its parts added up."""
    return sum((stored.state for stored in finder.queues.read_at(finder.places(entry)).values()), QueueState())


def check_idle(finder: Finder, name: str, places: Sequence[Place], *, purge: bool) -> None:
    """Refuse before any part is touched: most refusals then leave every part alone.

    Raises:
        MQIError: 2042, a part is open; 2055, a part holds messages (without *purge*) or uncommitted ones.
    """
    for place, part in finder.queues.read_at(places).items():
        if part.state.handles:
            raise error_for(MQRC.OBJECT_IN_USE, "", name, f"its part in {place.structure} is open")
        if part.state.uncommitted or (part.state.available and not purge):
            raise error_for(MQRC.Q_NOT_EMPTY, "", name, f"its part in {place.structure} is not empty")
