"""The check after a drill: every message delivered once, in order. Pure.

The input rows tell what had to arrive, and the consumers' histories tell what arrived. If a program never learned the
outcome of a commit, the journal tells whether that unit of work was committed.

A client of a channel does not know the ids of its units of work. The journal tells what each committed unit has got,
and the history what the client had got when it asked for the commit.

A backup promises the messages of a queue whose structure is lost and recovered from it. The structure lives twice:
until it is lost, and after it is recovered. Its journals tell what was put in each life, and the backup ends at a
moment of the first life. A message that was on the queue at that moment is got in the second life, even if it was got
in the first life after that moment. A message got before that moment is not got again. A message put after that moment
is lost with the structure, unless it was got before the loss. A message put in the second life is got there. Everything
else is a problem.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from igq.rehearsal.load.records import FAILED, INVOKED, OK
from igq.rehearsal.load.rows.plan import IGQ, SHARED, Copy
from sharedq.reading.journal import JournalRow, position_order

#: The place of an event in a structure's journal: milliseconds and sequence number of its entry.
Position = tuple[int, int]
#: A call: program, process id, number.
_Call = tuple[str, int, int]
_Lane = tuple[object, ...]
_Line = Mapping[str, Any]
LOST = "lost with the structure: put after its backup"
AGAIN = "got again: got after the backup"


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


def with_units(history: Sequence[_Line], got: Mapping[str, Collection[str]]) -> list[_Line]:
    """Return a history in which every commit of messages that were got names its unit of work.

    Commits that were acknowledged come first: what another program got after a commit of unknown outcome was backed out
    is the work of that program. A commit that is not in the journal gets a name that is not there either.

    Args:
        got: committed unit of work -> CorrelIds of the messages that it got.
    """
    free: dict[frozenset[str], list[str]] = defaultdict(list)
    for unit, correls in got.items():
        free[frozenset(correls)].append(unit)
    taken = {line["unit_of_work"] for line in history if line.get("unit_of_work")}
    phases = {_call(line): line["phase"] for line in history if line["phase"] != INVOKED}
    nameless = [line for line in history if line["phase"] == INVOKED and line.get("messages") and _is_nameless(line)]
    names: dict[tuple[str, int, int], str] = {}
    for line in sorted(nameless, key=lambda each: phases.get(_call(each)) != OK):
        if phases.get(_call(line)) == FAILED:
            continue
        units = free[frozenset(correl for correl, _ in line["messages"])]
        left = [unit for unit in units if unit not in taken]
        names[_call(line)] = left[0] if left else "{} {} {}".format(*_call(line))
        taken.update(left[:1])
    return [{**line, "unit_of_work": names[_call(line)]} if _is_to_name(line, names) else line for line in history]


def _call(line: _Line) -> tuple[str, int, int]:
    return line["program"], line["pid"], line["call"]


def _is_nameless(line: _Line) -> bool:
    return "unit_of_work" in line and line["unit_of_work"] is None


def _is_to_name(line: _Line, names: Mapping[tuple[str, int, int], str]) -> bool:
    return line["phase"] == INVOKED and _call(line) in names


@dataclass(frozen=True, slots=True)
class Loss:
    """The journal of the queue before its structure was lost and after it was recovered, and the end of the backup."""

    before: Sequence[JournalRow]
    backup: Position
    after: Sequence[JournalRow]

    def commits(self) -> dict[str, Position]:
        """Return every unit of work that was committed there, with the position of its commit."""
        return commits_of(self.after) | commits_of(self.before)


def check_promise(
    copies: Iterable[Copy], history: Sequence[Mapping[str, Any]], commits: Mapping[str, Position], loss: Loss
) -> DrillVerdict:
    """Judge a run that lost the structure of the shared queue. Arguments as for `check`."""
    wanted = {copy.correl.hex(): copy for copy in copies}
    verdict = DrillVerdict(expected=len(wanted))
    found = deliveries(history, {**commits, **loss.commits()}, verdict)
    verdict.delivered = len(found)
    shared = {correl: copy for correl, copy in wanted.items() if copy.path == SHARED}
    elsewhere = {correl: copy for correl, copy in wanted.items() if copy.path != SHARED}
    compare(elsewhere, [each for each in found if each.correl not in shared], verdict)
    last = max((_position(row) for row in loss.before), default=(0, 0))
    first_life = [each for each in found if each.correl in shared and each.position <= last]
    second_life = [each for each in found if each.correl in shared and each.position > last]
    _check_lives(shared, first_life, second_life, history, loss, verdict)
    return verdict


def commits_of(rows: Iterable[JournalRow]) -> dict[str, Position]:
    """Return every committed unit of work with the position of its commit."""
    found: dict[str, Position] = {}
    for row in rows:
        if row.event == "commit":
            found.setdefault(row.unit_of_work or "", _position(row))
    return found


def _check_lives(
    shared: Mapping[str, Copy],
    first_life: Sequence[Delivery],
    second_life: Sequence[Delivery],
    history: Sequence[Mapping[str, Any]],
    loss: Loss,
    verdict: DrillVerdict,
) -> None:
    put_before, put_after = _committed_puts(loss.before), _committed_puts(loss.after)
    got_before = {each.correl: each.position for each in first_life}
    excused = _puts_lost_by_their_commit(history, loss.before)
    in_first: dict[str, Copy] = {}
    may_in_first: dict[str, Copy] = {}
    in_second: dict[str, Copy] = {}
    for correl, copy in shared.items():
        put, got = put_before.get(correl), got_before.get(correl)
        if put is not None and correl in put_after:
            verdict.duplicated.append(f"{name_of(copy)}, put before the structure was lost, and again")
        if put is None:
            if correl in put_after:
                in_second[correl] = copy
            elif correl in excused:
                verdict.promised.setdefault(LOST, []).append(f"{name_of(copy)}, by a commit that got 2123")
            else:
                verdict.lost.append(f"{name_of(copy)}, never put")
        elif put > loss.backup:
            may_in_first[correl] = copy
            if got is None:
                verdict.promised.setdefault(LOST, []).append(name_of(copy))
        elif got is not None and got <= loss.backup:
            in_first[correl] = copy
        else:
            may_in_first[correl] = in_second[correl] = copy
            if got is not None:
                verdict.promised.setdefault(AGAIN, []).append(name_of(copy))
    # In the order in which they were put, which is that of the input.
    allowed = {correl: copy for correl, copy in shared.items() if correl in in_first or correl in may_in_first}
    compare(allowed, first_life, verdict, optional=may_in_first.keys())
    compare(in_second, second_life, verdict)


def _committed_puts(rows: Iterable[JournalRow]) -> dict[str, Position]:
    """Return the CorrelId of every message that a committed unit of work put, with the position of the commit."""
    rows = list(rows)
    commits = commits_of(rows)
    return {
        row.correl_id: commits[row.unit_of_work]
        for row in rows
        if row.event == "put" and row.correl_id and row.unit_of_work in commits
    }


def _puts_lost_by_their_commit(history: Iterable[Mapping[str, Any]], rows: Iterable[JournalRow]) -> set[str]:
    """Return CorrelIds put by units of work whose commits neither failed nor were reported to have succeeded."""
    units: dict[tuple[str, int, int], str] = {}
    phases: dict[tuple[str, int, int], str] = {}
    for line in history:
        call = (line["program"], line["pid"], line["call"])
        if line["phase"] != INVOKED:
            phases[call] = line["phase"]
        elif "unit_of_work" in line:
            units[call] = line["unit_of_work"]
    doubtful = {unit for call, unit in units.items() if phases.get(call) not in (OK, FAILED)}
    return {row.correl_id for row in rows if row.event == "put" and row.correl_id and row.unit_of_work in doubtful}


def _position(row: JournalRow) -> Position:
    return position_order(row.stream_id, is_end=False)
