"""DELETE and CLEAR."""

from __future__ import annotations

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.announcing import announce_definition
from sharedq.objects.definitions import QueueLocal
from sharedq.objects.directory import Entry
from sharedq.objects.finding import Finder
from sharedq.objects.local_queues import QueueState
from sharedq.objects.structures import announce


def delete_entry(finder: Finder, entry: Entry, *, purge: bool = False) -> None:
    """Delete an object that is no template.

    Raises:
        MQIError: 2042 it is open; 2055 it holds messages (without *purge*) or uncommitted ones.
    """
    if entry.kind != QueueLocal.kind:
        _, version = finder.directory.remove(entry)
        announce_definition(finder, entry.name, version, entry.definition, entry.qmgr)
        return
    places = finder.places(entry)
    if entry.is_partitioned:
        _check_idle(finder, entry, places, purge=purge)
    try:
        for structure in places:
            finder.queues.remove(structure, entry.name, "purge" if purge else "delete")
    except MQIError:
        if entry.is_partitioned:
            # A part was opened meanwhile: the parts that were deleted before it come back.
            finder.set_partitions(entry, places)
        raise
    finder.directory.remove(entry)


def announce_missing(finder: Finder, name: str) -> None:
    """Tell every structure that *name* is gone: the command that deleted it may have been cut off before."""
    _, version = finder.directory.remove(Entry(name, "", "QMGR", finder.qmgr or ""))
    announce(finder.group, f"DEF {name}", str(version))


def total_state(finder: Finder, entry: Entry) -> QueueState:
    """The counts of a queue, its parts added up."""
    parts = [finder.queues.read(place, [entry.name]).get(entry.name) for place in finder.places(entry)]
    return sum((part.state for part in parts if part is not None), QueueState())


def _check_idle(finder: Finder, entry: Entry, places: list[str], *, purge: bool) -> None:
    """Refuse before any part is touched: most refusals then leave every part alone."""
    for place in places:
        part = finder.queues.read(place, [entry.name]).get(entry.name)
        if part is None:
            continue
        if part.state.handles:
            raise error_for(MQRC.OBJECT_IN_USE, "", entry.name, f"its part in {place} is open")
        if part.state.uncommitted or (part.state.available and not purge):
            raise error_for(MQRC.Q_NOT_EMPTY, "", entry.name, f"its part in {place} is not empty")
