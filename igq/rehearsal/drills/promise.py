"""The promise of a backup for a queue whose structure is lost and recovered from it, message by message. Pure.

The structure lives twice: until it is lost, and after it is recovered. Its journals tell what was put in each life, and
the backup ends at a moment of the first life. A message that was on the queue at that moment is got in the second life,
even if it was got in the first life after that moment. A message got before that moment is not got again. A message put
after that moment is lost with the structure, unless it was got before the loss. A message put in the second life is got
there. Everything else is a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from igq.rehearsal.drills.check import Delivery, DrillVerdict, Position, compare, deliveries, name_of
from igq.rehearsal.load.history import FAILED, INVOKED, OK
from igq.rehearsal.load.rows.plan import SHARED, Copy
from sharedq.reading.journal import JournalRow, position_order

LOST = "lost with the structure: put after its backup"
AGAIN = "got again: got after the backup"


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
    """Judge a run that lost the structure of the shared queue. Arguments as for `igq.rehearsal.drills.check.check`."""
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
