"""How far a structure's journal reaches, and a reader's position in it, which shows that the reader missed nothing.

A stream counts the entries that it ever had. A position knows how many of them lie up to it. If a journal has lost more
than that, or has had fewer, it has lost some that this reader has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import redis

from sharedq.reading.journal import SEQUENCE_MAX, JournalTrimmedError, errors_named, position_order, structure_numbers
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import StructureKeys, structure_keys

#: Entries read in one call to count them.
_COUNTED = 5_000
#: The most entries to leave out at the beginning of a journal that is being trimmed.
_LEFT_OUT = 5_000


class Reach(NamedTuple):
    """The state of a journal at one moment. ``first`` is empty if the journal is empty now."""

    first: str
    #: The latest entry that it ever had.
    last: str
    #: The number of entries that it ever had, and how many of them were trimmed.
    added: int
    trimmed: int


class JournalPosition(NamedTuple):
    """Everything up to the stream id ``after`` has been read: ``entries`` entries, including trimmed ones.

    If any of them still exists, the latest is ``after``: this distinguishes the journal from one that began anew.
    """

    after: str
    entries: int


#: Before the first entry of a journal.
BEGINNING = JournalPosition("0-0", 0)


def read_reach(client: redis.Redis, structure: StructureKeys) -> Reach | None:
    """Return how far the journal of a structure reaches. None if it never had an entry."""
    with errors_named():
        if not client.exists(structure.journal):
            return None
        info: Mapping[str, Any] = client.xinfo_stream(structure.journal)
    added = int(info.get("entries-added", info["length"]))
    first = info["first-entry"][0].decode() if info["length"] else ""
    return Reach(first, info["last-generated-id"].decode(), added, added - int(info["length"]))


def read_reaches(deployment: Deployment, group: str) -> dict[str, Reach]:
    """Return how far the journals of all structures reach, except those that never had an entry.

    Raises:
        JournalError: Redis cannot be reached or refuses, or does not know the group.
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
    """Return the structures whose journals were trimmed, with the time of the oldest entry; "" if there is none.

    Times are ISO 8601, to the second, UTC.
    """
    return {
        name: reach.first and (_iso(reach.first) or reach.first) for name, reach in reaches.items() if reach.trimmed
    }


def oldest(reach: Reach) -> JournalPosition:
    """Return the position before the oldest entry."""
    if not reach.trimmed:
        return BEGINNING
    return JournalPosition(_before(reach.first) if reach.first else reach.last, reach.trimmed)


def first_position(client: redis.Redis, structure: StructureKeys, reach: Reach) -> JournalPosition:
    """Return the beginning or, if the journal is being trimmed, a position that will still exist when it is read."""
    position = oldest(reach)
    left = reach.added - reach.trimmed
    return count_to(client, structure, position, min(_LEFT_OUT, left // 10)) if reach.trimmed else position


def position_before(client: redis.Redis, structure: StructureKeys, reach: Reach | None, start: str) -> JournalPosition:
    """Return the position before *start*, a stream id or milliseconds. If *start* is later than all entries: the end.

    Visits every entry after it, which takes about two seconds for a million.
    """
    if reach is None:
        return BEGINNING
    if position_order(start, is_end=False) > position_order(reach.last, is_end=False):
        return JournalPosition(reach.last, reach.added)
    later = sum(1 for _ in _ids(client, structure, start, reach.last))
    with errors_named():
        before: list[tuple[bytes, Any]] = client.xrevrange(structure.journal, _before(start), "-", 1)  # type: ignore[assignment]
    return JournalPosition(before[0][0].decode() if before else _before(start), reach.added - later)


def check_whole(
    client: redis.Redis,
    structure: StructureKeys,
    reach: Reach | None,
    position: JournalPosition,
    *,
    may_miss: bool = False,
) -> JournalPosition:
    """Check that nothing after *position* was trimmed. Returns the position to continue from.

    Args:
        may_miss: if something was trimmed, continue from the oldest entry.

    Raises:
        JournalTrimmedError: something was trimmed, or the journal began anew.
    """
    if reach and reach.trimmed < position.entries <= reach.added and not _has(client, structure, position.after):
        # The position was trimmed just now, or it was never in this journal.
        reach = read_reach(client, structure)
        is_whole = reach is not None and reach.trimmed == position.entries
    else:
        is_whole = reach.trimmed <= position.entries <= reach.added if reach else position == BEGINNING
    if is_whole:
        return position
    if may_miss:
        return BEGINNING if reach is None else oldest(reach)
    raise _trimmed(structure, position.after, reach)


def check_start(structure: StructureKeys, reach: Reach | None, start: str) -> None:
    """Check that everything that was ever at or after *start* exists.

    Raises:
        JournalTrimmedError: something was trimmed that may have been after *start*.
    """
    if reach is not None and reach.trimmed and position_order(start, is_end=False) < _first_order(reach):
        raise _trimmed(structure, start, reach)


def count_to(
    client: redis.Redis, structure: StructureKeys, position: JournalPosition, most: int, until: str = "+"
) -> JournalPosition:
    """Return the position after the next *most* entries, or after as many as there are up to *until*."""
    after, count = position
    for stream_id in _ids(client, structure, f"({after}", until, most):
        after, count = stream_id, count + 1
    return JournalPosition(after, count)


def first_from(client: redis.Redis, structure: StructureKeys, start: str, end: str) -> str | None:
    """Return the first entry from *start* to *end*. None if there is none."""
    return next(_ids(client, structure, start, end, 1), None)


def after(position: JournalPosition) -> str:
    """Return the first stream id after a position."""
    ms, sequence = position_order(position.after, is_end=False)
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
    # For an empty journal, the position after all that it had.
    ms, sequence = position_order(reach.first or reach.last, is_end=False)
    return (ms, sequence) if reach.first else (ms, sequence + 1)


def _trimmed(structure: StructureKeys, asked: str, reach: Reach | None) -> JournalTrimmedError:
    if reach and reach.first:
        there, advice = f"the oldest entry there is {reach.first}{_time(reach.first)}", "begin there, or "
    else:
        there, advice = "nothing is in it now", ""
    return JournalTrimmedError(
        f"the journal of {structure.name} was trimmed after {asked}{_time(asked)}, {there}; {advice}set "
        f"failOnDataLoss to false to continue without the lost entries"
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
