"""What streaming queries and jobs have in doubt, summed up for those who must decide about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from sharedq.calls.unit.in_doubt import PreparedUnit


@dataclass(frozen=True, slots=True)
class LeftInDoubt:
    """What one query or job has prepared at one manager, and not ended.

    Attributes:
        qmgr: the manager at which that was.
        name: a query's option ``stream``; a job's jobId, or where it has none what its run was named.
        queues: where the messages came from, or are to go.
        units: units of work.
        times_read: of a query's batch: how often, at most.
        since: when the oldest was prepared, by Redis' clock.
    """

    name: str
    qmgr: str
    queues: tuple[str, ...]
    units: int
    messages: int
    times_read: int
    since: datetime


def summed_up(found: Iterable[tuple[str, PreparedUnit]]) -> list[LeftInDoubt]:
    """Named units of work by name and manager."""

    def key(each: tuple[str, PreparedUnit]) -> tuple[str, str]:
        return each[0], each[1].prepared_at

    ordered = sorted(found, key=key)
    return [_sum(*whose, [unit for _, unit in units]) for whose, units in groupby(ordered, key=key)]


def _sum(name: str, qmgr: str, units: list[PreparedUnit]) -> LeftInDoubt:
    queues = {queue for unit in units for names, _ in unit.structures.values() for queue in names}
    return LeftInDoubt(
        name=name,
        qmgr=qmgr,
        queues=tuple(sorted(queues)),
        units=len(units),
        messages=sum(unit.messages for unit in units),
        times_read=max(unit.times_read or 0 for unit in units),
        since=datetime.fromtimestamp(min(unit.prepared_ms for unit in units) / 1000, UTC),
    )
