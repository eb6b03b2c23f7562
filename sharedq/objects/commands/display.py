"""The data of DISPLAY QUEUE, DISPLAY QSTATUS and RESET QSTATS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE, matches
from sharedq.objects.definitions.queues import AnyQueue
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.failures import why_not_there
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.local_queues import QueueState
from sharedq.objects.store.parts import Place
from sharedq.scripts.events import reset_counts_call
from sharedq.scripts.reading import oldest_call

#: Queues, and bytes of records, of one call that looks for the oldest messages: well below a millisecond of Redis.
_QUEUES_PER_CALL, _BYTES_PER_CALL = 100, 1 << 20
_RESETS_PER_CALL = 100


@dataclass(frozen=True, slots=True)
class DisplayedQueue:
    """A queue with its definition.

    Attributes:
        structure: that of a local queue, also of a private one (``@QM``). Empty for other kinds.
        qmgr: the manager that a private queue belongs to. Empty for other queues.
        state: None if it cannot hold messages.
    """

    name: str
    definition: AnyQueue
    structure: str
    qmgr: str
    state: QueueState | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Queues that cannot be displayed: their structure failed (2373), is in recovery (2346) or unreachable (2345)."""

    structure: str
    names: tuple[str, ...]
    why: MQIError


@dataclass(frozen=True, slots=True)
class OpenHandle:
    """An open handle: owner token ``#`` handle number, letters of its mode, details (JSON)."""

    owner: str
    mode: str
    detail: str


def displayed_queues(
    finder: Finder,
    pattern: str,
    kinds: tuple[str, ...],
    qsgdisp: str,
    *,
    every_manager: bool = False,
    without: tuple[str, ...] = (),
    may_be_silent: bool = False,
) -> tuple[list[DisplayedQueue], list[Entry]]:
    """Return queues whose name matches *pattern*, by name and disposition, and those that their structure lacks.

    Args:
        may_be_silent: a structure whose server cannot be reached counts as having none.
    """
    wanted = [
        entry
        for entry in {entry.field: entry for entry in finder.directory.scan()}.values()
        if matches(pattern, entry.name)
        and entry.name not in without
        and (not kinds or entry.kind in kinds)
        and (every_manager or entry.scope != "P" or entry.qmgr == finder.qmgr)
        and _is_meant(entry.disposition, qsgdisp)
    ]
    places = {entry.field: finder.places(entry) for entry in wanted}
    to_read = [place for of_queue in places.values() for place in of_queue]
    stored = finder.queues.read_at(_reachable(finder, to_read) if may_be_silent else to_read)
    shown, missing = [], []
    for entry in wanted:
        parts = [stored[place] for place in places[entry.field] if place in stored]
        definition = entry.definition or (parts[0].definition if parts else None)
        if definition is not None:
            state = sum((part.state for part in parts), QueueState()) if places[entry.field] else None
            shown.append(DisplayedQueue(entry.name, definition, entry.structure, entry.qmgr, state))
        else:
            missing.append(entry)
    return sorted(shown, key=lambda queue: (queue.name, queue.definition.disposition, queue.qmgr)), missing


def oldest_ages_ms(finder: Finder, queues: Sequence[DisplayedQueue]) -> dict[DisplayedQueue, int]:
    """Return how long ago the oldest available message of each queue was put, in ms of the Redis clock.

    A queue without one, or whose oldest message does not say when it was put, is not in the result.
    """
    by_structure: dict[str, list[tuple[Place, DisplayedQueue]]] = {}
    for queue in queues:
        for place in _places(finder, queue):
            by_structure.setdefault(place.structure, []).append((place, queue))
    found: dict[DisplayedQueue, int] = {}
    for structure, there in by_structure.items():
        ages = ages_ms(finder.group, structure, [place.queue for place, _ in there])
        for (_, queue), age_ms in zip(there, ages, strict=True):
            if age_ms is not None:
                found[queue] = max(found.get(queue, 0), age_ms)
    return found


def ages_ms(group: Group, structure: str, names: Sequence[str]) -> list[int | None]:
    """Return how long ago the oldest available message of each queue of a structure was put, in ms of the Redis clock.

    None: there is none, or it does not say when it was put.
    """
    keys = group.structure(structure)
    seconds, micros = group.command(keys.sequence, "TIME")
    now_ms, found = int(seconds) * 1000 + int(micros) // 1000, list[int | None]()
    while len(found) < len(names):
        asked = [keys.queue(name) for name in names[len(found) :][:_QUEUES_PER_CALL]]
        reply = group.call(*oldest_call(keys, asked, [b""] * len(asked), _BYTES_PER_CALL))
        found += [now_ms - int(put_ms) if put_ms and put_ms != b"0" else None for put_ms in reply]
    return found


def left_out(finder: Finder, missing: Iterable[Entry]) -> list[LeftOut]:
    """Of the queues that their structures lack, return those whose structure cannot be used, by structure."""
    names: dict[str, list[str]] = {}
    for entry in missing:
        names.setdefault(entry.structure, []).append(entry.name)
    found = []
    for structure, of_structure in sorted(names.items()):
        try:
            finder.group.require_reachable(structure)
            # No error if a DEFINE or a DELETE was cut off.
            why = why_not_there(finder.group, structure, of_structure[0])
        except MQIError as error:
            if error.reason not in (MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE):
                raise
            why = error
        if why is not None:
            found.append(LeftOut(structure, tuple(sorted(of_structure)), why))
    return found


def _reachable(finder: Finder, places: Iterable[Place]) -> list[Place]:
    """Return the places whose structure's server can be reached."""
    known = list(places)
    silent = {name for name in {place.structure for place in known} if not finder.group.can_reach(name)}
    return [place for place in known if place.structure not in silent]


def open_handles(finder: Finder, queue: DisplayedQueue) -> list[OpenHandle]:
    """Return the open handles of a local queue. A queue that was deleted after it was listed has none."""
    found = []
    for place in _places(finder, queue):
        for owner, text in finder.queues.handles(*place):
            mode, _, detail = text.partition(" ")
            found.append(OpenHandle(owner, mode, detail))
    return found


def _places(finder: Finder, queue: DisplayedQueue) -> list[Place]:
    """Return where a local queue is, or may have parts."""
    is_partitioned = queue.name == SYSTEM_QSG_TRANSMIT_QUEUE and not queue.qmgr
    return finder.parts() if is_partitioned else [Place(queue.structure, queue.name)]


def _is_meant(disposition: str, qsgdisp: str) -> bool:
    if qsgdisp == "LIVE":
        return disposition != "GROUP"
    if qsgdisp == "PRIVATE":
        return disposition in ("QMGR", "COPY")
    return qsgdisp in ("ALL", disposition)


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a queue since they were reset.

    Attributes:
        seconds: how long that is ago.
        highest_depth: the most messages that were on it at a time.
        puts, gets: messages put and got, by uncommitted and backed out work too.
    """

    seconds: int
    highest_depth: int
    puts: int
    gets: int


def reset_counts(finder: Finder, queues: Sequence[DisplayedQueue]) -> dict[DisplayedQueue, Counts]:
    """Take the counts of these local queues, and begin them anew. Nothing is counted of a queue that has parts."""
    by_structure: dict[str, list[DisplayedQueue]] = {}
    for queue in queues:
        if queue.structure:
            by_structure.setdefault(queue.structure, []).append(queue)
    found: dict[DisplayedQueue, Counts] = {}
    for structure, there in by_structure.items():
        keys = finder.group.structure(structure)
        for start in range(0, len(there), _RESETS_PER_CALL):
            chunk = there[start : start + _RESETS_PER_CALL]
            reply = finder.group.call(*reset_counts_call([keys.queue(queue.name) for queue in chunk]))
            found |= {queue: Counts(*counts) for queue, counts in zip(chunk, reply, strict=True) if counts}
    return found
