"""Sums of the units of work that streaming queries and jobs have in doubt, for the operator who decides about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from sharedq.calls.unit.in_doubt import PreparedUnit


@dataclass(frozen=True, slots=True)
class LeftInDoubt:
    """The units of work that one query or job has prepared at one manager, and not ended.

    Attributes:
        name: a query's option ``stream``; a job's jobId, or the name of its run if it has no jobId.
        qmgr: the manager at which they were prepared.
        queues: the queues that the messages came from, or will go to.
        units: the number of units of work.
        times_read: the highest number of times that a query's batch was read.
        since: when the oldest unit was prepared, by Redis' clock.
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
