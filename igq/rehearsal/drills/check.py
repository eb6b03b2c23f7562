"""The check after a drill: every message delivered once, in order. Pure.

The input rows tell what had to arrive, and the consumers' histories tell what arrived. If a program never learned the
outcome of a commit, the journal tells whether that unit of work was committed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from igq.rehearsal.load.history import INVOKED, OK
from igq.rehearsal.load.rows.plan import IGQ, Copy

#: The place of an event in a structure's journal: milliseconds and sequence number of its entry.
Position = tuple[int, int]
#: A call: program, process id, number.
_Call = tuple[str, int, int]
_Lane = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a committed unit of work got. ``position`` is its commit's, ``index`` its place in the unit."""

    correl: str
    msg_id: str
    program: str
    position: Position
    index: int


@dataclass(slots=True)
class DrillVerdict:
    """Counts, and one line with message ids for each message that is wrong."""

    expected: int = 0
    delivered: int = 0
    unknown_calls: int = 0
    lost: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    unacknowledged: list[str] = field(default_factory=list)
    #: Messages that differ because a structure was lost, and its backup promises so: these are no problems.
    promised: dict[str, list[str]] = field(default_factory=dict)

    @property
    def problems(self) -> dict[str, list[str]]:
        """The problems, by kind."""
        return {
            "lost": self.lost,
            "duplicated": self.duplicated,
            "reordered": self.reordered,
            "unexpected": self.unexpected,
            "acknowledged but not in the journal": self.unacknowledged,
        }

    @property
    def is_good(self) -> bool:
        """Whether there are no problems."""
        return not any(self.problems.values())


def check(
    copies: Iterable[Copy], history: Iterable[Mapping[str, Any]], commits: Mapping[str, Position]
) -> DrillVerdict:
    """Judge a run.

    Args:
        copies: what had to be delivered; those of one source in the order in which they were put.
        history: the histories of all programs; the lines of one program in order.
        commits: unit of work -> position of its commit, from the journal.
    """
    wanted = {copy.correl.hex(): copy for copy in copies}
    verdict = DrillVerdict(expected=len(wanted))
    found = deliveries(history, commits, verdict)
    verdict.delivered = len(found)
    compare(wanted, found, verdict)
    return verdict


def compare(
    wanted: Mapping[str, Copy], found: Iterable[Delivery], verdict: DrillVerdict, optional: Collection[str] = ()
) -> None:
    """Record in *verdict* what is wrong with deliveries. Each wanted message must be there once, in order.

    Args:
        wanted: by CorrelId; those of one source in the order in which they were put.
        optional: CorrelIds of wanted messages that may be missing.
    """
    by_correl: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in found:
        by_correl[delivery.correl].append(delivery)
    for correl, times in by_correl.items():
        if correl not in wanted:
            verdict.unexpected.append(f"{_name(times[0])}, got by {times[0].program}")
        elif len(times) > 1:
            programs = " and ".join(delivery.program for delivery in times)
            verdict.duplicated.append(f"{_name(times[0])} of row {wanted[correl].row}, got by {programs}")
    verdict.lost.extend(
        name_of(copy) for correl, copy in wanted.items() if correl not in by_correl and correl not in optional
    )
    first = {correl: min(times, key=_place) for correl, times in by_correl.items() if correl in wanted}
    verdict.reordered.extend(reordered(wanted, first))


def deliveries(
    history: Iterable[Mapping[str, Any]], commits: Mapping[str, Position], verdict: DrillVerdict
) -> list[Delivery]:
    """Return what committed units of work got. Counts calls of unknown outcome in *verdict*."""
    invoked: dict[_Call, Mapping[str, Any]] = {}
    phases: dict[_Call, str] = {}
    for line in history:
        call = (line["program"], line["pid"], line["call"])
        if line["phase"] == INVOKED:
            invoked[call] = line
        else:
            phases[call] = line["phase"]
    found: list[Delivery] = []
    for call, line in invoked.items():
        phase = phases.get(call, "unknown")
        verdict.unknown_calls += phase == "unknown"
        unit = line.get("unit_of_work")
        if unit is None or phase == "failed":
            continue
        position = commits.get(unit)
        if position is None:
            if phase == OK:
                verdict.unacknowledged.append(f"unit of work {unit} of {line['program']}")
            continue
        found.extend(
            Delivery(correl, msg_id, line["program"], position, index)
            for index, (correl, msg_id) in enumerate(line.get("messages", ()))
        )
    return found


def reordered(wanted: Mapping[str, Copy], got: Mapping[str, Delivery]) -> list[str]:
    """List group members got after a later one, and messages of a source got from a private queue after a later one."""
    wrong: list[str] = []
    latest: dict[_Lane, tuple[tuple[Position, int], Copy]] = {}
    for correl, copy in wanted.items():
        delivery = got.get(correl)
        if delivery is None:
            continue
        lanes: list[_Lane] = [("source", copy.source, copy.target)] if copy.path == IGQ else []
        if copy.group_size:
            lanes.append(("group", copy.group))
        for lane in lanes:
            before = latest.get(lane)
            if before is not None and _place(delivery) < before[0]:
                wrong.append(f"{_name(delivery)} of row {copy.row} overtook row {before[1].row} ({lane[0]})")
            else:
                latest[lane] = (_place(delivery), copy)
    return wrong


def name_of(copy: Copy) -> str:
    """Describe a message that had to be delivered, for people."""
    return f"CorrelId {copy.correl.hex()} of row {copy.row}, {copy.path}, from {copy.source}"


def _place(delivery: Delivery) -> tuple[Position, int]:
    return delivery.position, delivery.index


def _name(delivery: Delivery) -> str:
    return f"MsgId {delivery.msg_id} CorrelId {delivery.correl}"
