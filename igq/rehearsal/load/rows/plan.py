"""Turns input rows into messages: groups, identifiers, units of work. Pure, and the same for every run.

A message group is one aircraft's departures of one day at one origin, in the order of their scheduled times. The origin
is part of a group because an aircraft may leave from several airports on one day, while one program must put a group in
order. Each departure becomes two messages (`Copy`): one is sent through IGQ to the private queue DEPARTURES of the next
manager, the other is put on the shared queue FLIGHTS.
"""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from igq.rehearsal.load.rows.sources import NEXT_QMGR, Departure
from sharedq.mqi.constants import MsgFlag, Persistence
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD

#: Paths of a message, as the records and the audit name them.
IGQ, SHARED = "igq", "shared"
PATHS = (IGQ, SHARED)
PRIVATE_QUEUE, SHARED_QUEUE = "DEPARTURES", "FLIGHTS"
QUEUES = {IGQ: PRIVATE_QUEUE, SHARED: SHARED_QUEUE}

#: Departures of a unit of work. Each is two messages, so 50 messages: the batch of an IGQ agent.
UNIT_DEPARTURES = 25
#: How many groups ahead to look for one that fills the unit of work.
_LOOKED_MAX = 50

_LAST_FLAGS = int(MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP)
_MEMBER_FLAGS = int(MsgFlag.MSG_IN_GROUP)
_PERSISTENT = int(Persistence.PERSISTENT)


@dataclass(frozen=True, slots=True)
class Planned:
    """A departure and its place in its group. ``group_size`` is 0 if it is in no group."""

    departure: Departure
    seq: int
    group_size: int

    def copies(self) -> tuple[Copy, Copy]:
        """Return its two messages."""
        departure = self.departure
        target = NEXT_QMGR[departure.source]
        return (self._copy(IGQ, target), self._copy(SHARED, ""))

    def _copy(self, path: str, target: str) -> Copy:
        departure = self.departure
        stem = _stem(departure, path, is_grouped=self.group_size > 0)
        group = stem if self.group_size else NULL_ID
        return Copy(
            row=departure.row,
            path=path,
            correl=correl_id(stem, self.seq),
            group=group,
            seq=self.seq,
            group_size=self.group_size,
            source=departure.source,
            target=target,
        )


@dataclass(frozen=True, slots=True)
class Copy:
    """One message. ``correl``, its CorrelId, tells row and path. ``target`` is empty if any manager may get it."""

    row: int
    path: str
    correl: bytes
    group: bytes
    seq: int
    group_size: int
    source: str
    target: str

    @property
    def queue(self) -> str:
        """The queue from which it must be got."""
        return QUEUES[self.path]

    def descriptor(self) -> MQMD:
        """Return its message descriptor."""
        md = MQMD(version=2, persistence=_PERSISTENT, correl_id=self.correl)
        if self.group_size:
            md.group_id, md.msg_seq_number = self.group, self.seq
            md.msg_flags = _LAST_FLAGS if self.seq == self.group_size else _MEMBER_FLAGS
        return md


def correl_id(stem: bytes, seq: int) -> bytes:
    """Return the CorrelId of message *seq* of a group with GroupId *stem*, so that one member leads to the next."""
    return stem[:20] + struct.pack(">I", seq)


def groups(day: Iterable[Departure]) -> list[list[Planned]]:
    """Return the groups of one day, by the time of their first departure. A row without a tail number is alone."""
    members: dict[tuple[str, str, int], list[Departure]] = {}
    for departure in day:
        alone = -1 if departure.aircraft else departure.row
        members.setdefault((departure.aircraft, departure.source, alone), []).append(departure)
    planned = []
    for (aircraft, _, _), found in members.items():
        found.sort(key=_in_time)
        size = len(found) if aircraft else 0
        planned.append([Planned(departure, seq, size) for seq, departure in enumerate(found, 1)])
    planned.sort(key=lambda group: _in_time(group[0].departure))
    return planned


def units_of_work(days: Iterable[Iterable[Departure]], source: str) -> Iterator[list[Planned]]:
    """Yield what the manager *source* puts, unit of work by unit of work, always the same for the same input.

    Groups are kept whole, and a unit of work is filled to exactly `UNIT_DEPARTURES` if later groups permit: consumers
    with batches of that size then find whole groups, too.
    """
    waiting: deque[list[Planned]] = deque()
    held = 0
    for day in days:
        found = groups(departure for departure in day if departure.source == source)
        waiting.extend(found)
        held += sum(len(group) for group in found)
        while held >= 2 * UNIT_DEPARTURES:
            unit = _fill(waiting)
            held -= len(unit)
            yield unit
    while waiting:
        yield _fill(waiting)


def _fill(waiting: deque[list[Planned]]) -> list[Planned]:
    """Take the groups of one unit of work off *waiting*. The first group always goes, however large."""
    unit = waiting.popleft()[:]
    passed: list[list[Planned]] = []
    while waiting and len(unit) < UNIT_DEPARTURES and len(passed) < _LOOKED_MAX:
        group = waiting.popleft()
        if len(unit) + len(group) <= UNIT_DEPARTURES:
            unit.extend(group)
        else:
            passed.append(group)
    waiting.extendleft(reversed(passed))
    return unit


def _stem(departure: Departure, path: str, *, is_grouped: bool) -> bytes:
    """Return 24 bytes that identify a group, or a departure without one, and the path."""
    what = f"{departure.aircraft}|{departure.day}|{departure.source}" if is_grouped else f"row {departure.row}"
    return hashlib.sha256(f"{what}|{path}".encode()).digest()[:24]


def _in_time(departure: Departure) -> tuple[str, int]:
    return departure.departs, departure.row
