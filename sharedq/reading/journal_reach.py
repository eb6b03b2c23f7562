"""How far a structure's journal reaches, and a reader's place in it: what makes it certain that nothing was missed.

A stream counts the entries that it ever had. A place knows how many of them lie up to it, so a journal that has lost
more than those, or has had fewer, is known to have lost some that this reader has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import redis

from sharedq.reading.journal import SEQUENCE_MAX, JournalTrimmedError, errors_named, position_order, structure_numbers
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import StructureKeys, structure_keys

#: Entries looked at in one call where they are counted.
_COUNTED = 5_000
#: Entries left out at the beginning of a journal that is being trimmed, at most.
_LEFT_OUT = 5_000


class Reach(NamedTuple):
    """What a journal has at one moment. ``first`` is empty when nothing is in it now."""

    first: str
    #: The latest entry that it ever had.
    last: str
    #: Entries that it ever had, and how many of them were trimmed away.
    added: int
    trimmed: int


class Place(NamedTuple):
    """Everything up to the stream id ``after`` has been read; that were ``entries`` of them, trimmed ones included.

    Where any of them is there still, the latest one is ``after``: that tells a journal from one begun anew.
    """

    after: str
    entries: int


#: Before the first entry of a journal.
BEGINNING = Place("0-0", 0)


def read_reach(client: redis.Redis, structure: StructureKeys) -> Reach | None:
    """How far the journal of a structure reaches; None where it never had an entry."""
    with errors_named():
        if not client.exists(structure.journal):
            return None
        info: Mapping[str, Any] = client.xinfo_stream(structure.journal)
    added = int(info.get("entries-added", info["length"]))
    first = info["first-entry"][0].decode() if info["length"] else ""
    return Reach(first, info["last-generated-id"].decode(), added, added - int(info["length"]))


def read_reaches(deployment: Deployment, group: str) -> dict[str, Reach]:
    """How far the journals of all structures reach, but of those that never had an entry.

    Raises:
        JournalError: Redis cannot be reached or refuses, or it knows no such group.
    """
    found: dict[str, Reach] = {}
    for name in structure_numbers(deployment, group):
        keys = structure_keys(group, name)
        with deployment.client(keys.journal) as client:
            reach = read_reach(client, keys)
        if reach:
            found[name] = reach
    return found


def trimmed_journals(reaches: Mapping[str, Reach]) -> dict[str, str]:
    """The structures whose journals have lost their beginning: when the oldest entry there is, "" where there is none.

    A time is of ISO 8601, to the second, UTC.
    """
    return {
        name: reach.first and (_iso(reach.first) or reach.first) for name, reach in reaches.items() if reach.trimmed
    }


def oldest(reach: Reach) -> Place:
    """The place in front of the oldest entry that there is."""
    if not reach.trimmed:
        return BEGINNING
    return Place(_before(reach.first) if reach.first else reach.last, reach.trimmed)


def first_place(client: redis.Redis, structure: StructureKeys, reach: Reach) -> Place:
    """The beginning; of a journal that is being trimmed a place that is still there when it is read."""
    place = oldest(reach)
    left = reach.added - reach.trimmed
    return count_to(client, structure, place, min(_LEFT_OUT, left // 10)) if reach.trimmed else place


def place_before(client: redis.Redis, structure: StructureKeys, reach: Reach | None, start: str) -> Place:
    """The place in front of what is at *start*, a stream id or milliseconds; behind everything where that is later.

    Looks at every entry behind it: about two seconds a million.
    """
    if reach is None:
        return BEGINNING
    if position_order(start, is_end=False) > position_order(reach.last, is_end=False):
        return Place(reach.last, reach.added)
    later = sum(1 for _ in _ids(client, structure, start, reach.last))
    with errors_named():
        before: list[tuple[bytes, Any]] = client.xrevrange(structure.journal, _before(start), "-", 1)  # type: ignore[assignment]
    return Place(before[0][0].decode() if before else _before(start), reach.added - later)


def check_whole(
    client: redis.Redis, structure: StructureKeys, reach: Reach | None, place: Place, *, may_miss: bool = False
) -> Place:
    """Whether nothing behind *place* was trimmed; the place from where to go on.

    Args:
        may_miss: go on from the oldest entry where something was trimmed.

    Raises:
        JournalTrimmedError: something was, or the journal was begun anew.
    """
    if reach and reach.trimmed < place.entries <= reach.added and not _has(client, structure, place.after):
        # It has been trimmed just now; or it never was in this journal.
        reach = read_reach(client, structure)
        is_whole = reach is not None and reach.trimmed == place.entries
    else:
        is_whole = reach.trimmed <= place.entries <= reach.added if reach else place == BEGINNING
    if is_whole:
        return place
    if may_miss:
        return BEGINNING if reach is None else oldest(reach)
    raise _trimmed(structure, place.after, reach)


def check_start(structure: StructureKeys, reach: Reach | None, start: str) -> None:
    """Whether all that was ever at *start* or behind it is there.

    Raises:
        JournalTrimmedError: something was trimmed, and that may have been behind *start*.
    """
    if reach is not None and reach.trimmed and position_order(start, is_end=False) < _first_order(reach):
        raise _trimmed(structure, start, reach)


def count_to(client: redis.Redis, structure: StructureKeys, place: Place, most: int, until: str = "+") -> Place:
    """The place behind the next *most* entries, or as many as there are up to *until*."""
    after, count = place
    for stream_id in _ids(client, structure, f"({after}", until, most):
        after, count = stream_id, count + 1
    return Place(after, count)


def first_from(client: redis.Redis, structure: StructureKeys, start: str, end: str) -> str | None:
    """The first entry from *start* to *end*; None where there is none."""
    return next(_ids(client, structure, start, end, 1), None)


def behind(place: Place) -> str:
    """The first stream id that a place has not in it."""
    ms, sequence = position_order(place.after, is_end=False)
    return f"{ms + 1}-0" if sequence == SEQUENCE_MAX else f"{ms}-{sequence + 1}"


def _has(client: redis.Redis, structure: StructureKeys, stream_id: str) -> bool:
    return next(_ids(client, structure, stream_id, stream_id, 1), None) is not None


def _ids(client: redis.Redis, structure: StructureKeys, start: str, end: str, most: int | None = None) -> Iterator[str]:
    left = most
    while left is None or left > 0:
        page = _COUNTED if left is None else min(left, _COUNTED)
        with errors_named():
            found: list[tuple[bytes, Any]] = client.xrange(structure.journal, start, end, page)  # type: ignore[assignment]
        for stream_id, _ in found:
            yield stream_id.decode()
        if len(found) < page:
            return
        start = f"({found[-1][0].decode()}"
        left = None if left is None else left - page


def _before(position: str) -> str:
    ms, sequence = position_order(position, is_end=False)
    if sequence:
        return f"{ms}-{sequence - 1}"
    return f"{ms - 1}-{SEQUENCE_MAX}" if ms else "0-0"


def _first_order(reach: Reach) -> tuple[int, int]:
    # Of an empty one, the place behind all that it had.
    ms, sequence = position_order(reach.first or reach.last, is_end=False)
    return (ms, sequence) if reach.first else (ms, sequence + 1)


def _trimmed(structure: StructureKeys, asked: str, reach: Reach | None) -> JournalTrimmedError:
    if reach and reach.first:
        there, advice = f"the oldest entry there is {reach.first}{_time(reach.first)}", "begin there, or "
    else:
        there, advice = "nothing is in it now", ""
    return JournalTrimmedError(
        f"the journal of {structure.name} was trimmed behind {asked}{_time(asked)}, {there}; {advice}set "
        f"failOnDataLoss to false to go on without what is lost"
    )


def _time(position: str) -> str:
    text = _iso(position)
    return f" ({text})" if text else ""


def _iso(position: str) -> str:
    ms = position_order(position, is_end=False)[0]
    try:
        return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}Z"
    except (ValueError, OverflowError, OSError):
        return ""
