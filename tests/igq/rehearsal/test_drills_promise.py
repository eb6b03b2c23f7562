"""The checker on a run that lost a structure: the promise of its backup, and each kind of breach of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from igq.rehearsal.drills.check import AGAIN, LOST, DrillVerdict, Loss, Position, check_promise
from igq.rehearsal.load.rows.plan import SHARED_QUEUE, Copy, groups
from igq.rehearsal.load.rows.sources import Departure
from sharedq.reading.journal import JournalRow

#: Phases of the first life, around the backup, and of the second.
EARLY, BACKUP, LATE, END, SECOND, THIRD, FOURTH = ((second * 1000, 0) for second in range(1, 8))


def all_copies() -> tuple[list[Copy], list[Copy]]:
    """Two groups of two: their copies through IGQ, and those on the shared queue."""
    rows = [Departure(row, "EWR", f"N{row // 2}", "1", f"{row:04d}", {}) for row in range(4)]
    pairs = [planned.copies() for group in groups(rows) for planned in group]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


class Run:
    """The events of a run, step by step: journals of both lives, and the programs' histories."""

    def __init__(self) -> None:
        self.through_igq, self.shared = all_copies()
        self.rows: dict[bool, list[JournalRow]] = {False: [], True: []}
        self.history: list[dict[str, Any]] = []
        self.commits: dict[str, Position] = {}
        self.units = 0
        self._call("EWR-DEPARTURES", self.through_igq, "ok")
        self.commits[f"u/{self.units}"] = EARLY
        # An event at the end of the first life.
        self._row("commit", END, unit="u/end")

    def put(self, at: Position, copies: Sequence[Copy], phase: str = "ok", *, is_committed: bool = True) -> None:
        unit = self._call("EWR-putter", [], phase)
        for copy in copies:
            self._row("put", at, unit=unit, queue=SHARED_QUEUE, correl=copy.correl.hex())
        if is_committed:
            self._row("commit", at, unit=unit)

    def get(self, at: Position, copies: Sequence[Copy], phase: str = "ok") -> None:
        unit = self._call("JFK-FLIGHTS", copies, phase)
        if phase != "failed":
            self._row("commit", at, unit=unit)

    def verdict(self) -> DrillVerdict:
        loss = Loss(self.rows[False], BACKUP, self.rows[True])
        return check_promise([*self.through_igq, *self.shared], self.history, self.commits, loss)

    def _call(self, program: str, copies: Sequence[Copy], phase: str) -> str:
        self.units += 1
        unit = f"u/{self.units}"
        line = {"program": program, "pid": 1, "call": self.units, "verb": "MQCMIT"}
        messages = [(copy.correl.hex(), "00") for copy in copies]
        self.history += [
            {**line, "phase": "invoked", "unit_of_work": unit, "messages": messages},
            {**line, "phase": phase},
        ]
        return unit

    def _row(self, event: str, at: Position, *, unit: str, queue: str | None = None, correl: str | None = None) -> None:
        row = JournalRow(event, 0, f"{at[0]}-{at[1]}", 0, "LOST1", "EWR", "t", queue, None, unit, correl_id=correl)
        self.rows[at > END].append(row)


@pytest.fixture
def run() -> Run:
    return Run()


def counts(verdict: DrillVerdict) -> dict[str, int]:
    return {kind: len(wrong) for kind, wrong in verdict.problems.items() if wrong}


def promised(verdict: DrillVerdict) -> dict[str, int]:
    return {kind: len(told) for kind, told in verdict.promised.items()}


def test_messages_of_the_backup_are_got_afterwards(run: Run) -> None:
    run.put(EARLY, run.shared)
    run.get(SECOND, run.shared)
    verdict = run.verdict()
    assert verdict.is_good
    assert (verdict.expected, verdict.delivered, verdict.promised) == (8, 8, {})


def test_messages_got_after_the_backup_are_got_again(run: Run) -> None:
    run.put(EARLY, run.shared)
    run.get(LATE, run.shared)
    run.get(SECOND, run.shared)
    verdict = run.verdict()
    assert verdict.is_good
    assert promised(verdict) == {AGAIN: 4}


def test_a_message_of_the_backup_that_does_not_come_is_lost(run: Run) -> None:
    run.put(EARLY, run.shared)
    run.get(LATE, run.shared)
    run.get(SECOND, run.shared[:3])
    assert counts(run.verdict()) == {"lost": 1}


def test_messages_got_before_the_backup_must_not_come_again(run: Run) -> None:
    run.put(EARLY, run.shared)
    run.get(BACKUP, run.shared)
    assert run.verdict().is_good
    run.get(SECOND, run.shared[:2])
    assert counts(run.verdict()) == {"unexpected": 2}


def test_messages_put_after_the_backup_are_reported_lost(run: Run) -> None:
    run.put(EARLY, run.shared[:2])
    run.put(LATE, run.shared[2:])
    run.get(SECOND, run.shared[:2])
    verdict = run.verdict()
    assert verdict.is_good
    assert promised(verdict) == {LOST: 2}
    assert run.shared[2].correl.hex() in verdict.promised[LOST][0]


def test_messages_put_and_got_between_backup_and_loss_have_arrived(run: Run) -> None:
    run.put(LATE, run.shared)
    run.get(LATE, run.shared)
    verdict = run.verdict()
    assert verdict.is_good
    assert verdict.promised == {}


def test_and_must_not_come_with_the_recovery(run: Run) -> None:
    run.put(LATE, run.shared)
    run.get(SECOND, run.shared)
    assert counts(run.verdict()) == {"unexpected": 4}


def test_messages_put_afterwards_are_got_once(run: Run) -> None:
    run.put(SECOND, run.shared)
    run.get(THIRD, run.shared)
    assert run.verdict().is_good
    run.get(FOURTH, run.shared[3:])
    assert counts(run.verdict()) == {"duplicated": 1}


def test_undelivered_messages_of_the_second_life_are_lost(run: Run) -> None:
    run.put(SECOND, run.shared)
    assert counts(run.verdict()) == {"lost": 4}


def test_messages_put_in_both_lives_are_put_twice(run: Run) -> None:
    run.put(LATE, run.shared)
    run.put(SECOND, run.shared)
    run.get(SECOND, run.shared)
    assert counts(run.verdict())["duplicated"] == 4


def test_a_commit_that_got_2123_excuses_its_puts_there(run: Run) -> None:
    run.put(END, run.shared, "mixed", is_committed=False)
    verdict = run.verdict()
    assert verdict.is_good
    assert promised(verdict) == {LOST: 4}


@pytest.mark.parametrize("phase", ["ok", "failed"])
def test_a_commit_that_got_another_answer_excuses_nothing(run: Run, phase: str) -> None:
    run.put(END, run.shared, phase, is_committed=False)
    assert counts(run.verdict())["lost"] == 4


def test_order_holds_within_a_life(run: Run) -> None:
    run.put(EARLY, run.shared)
    run.get(LATE, run.shared)
    run.get(SECOND, run.shared[1:])
    run.get(THIRD, run.shared[:1])
    assert counts(run.verdict()) == {"reordered": 1}


def test_other_queues_have_no_excuse(run: Run) -> None:
    run.put(EARLY, run.shared)
    run.get(SECOND, run.shared)
    run.commits.clear()
    assert counts(run.verdict()) == {"lost": 4, "acknowledged but not in the journal": 1}
