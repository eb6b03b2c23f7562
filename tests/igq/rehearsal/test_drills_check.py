"""The drills' checker finds each kind of defect, and passes a clean run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from igq.rehearsal.drills.check import DrillVerdict, Position, check
from igq.rehearsal.load.rows.plan import Copy, groups
from igq.rehearsal.load.rows.sources import Departure

HEX = "00"


def copies_of_one_group() -> tuple[list[Copy], list[Copy]]:
    """Three departures of one aircraft: their copies through IGQ, and those on the shared queue."""
    rows = [Departure(row, "EWR", "N1", "1", f"{row:04d}", {}) for row in range(3)]
    pairs = [planned.copies() for group in groups(rows) for planned in group]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def commit(
    unit: str, copies: Sequence[Copy], *phases: str, call: int = 1, program: str = "JFK-X"
) -> list[dict[str, Any]]:
    """A consumer's commit of *copies*, and its outcome."""
    line = {"program": program, "pid": 1, "call": call, "verb": "MQCMIT"}
    messages = [(copy.correl.hex(), HEX) for copy in copies]
    return [
        {**line, "phase": "invoked", "unit_of_work": unit, "messages": messages},
        *({**line, "phase": phase} for phase in phases),
    ]


def judged(history: list[dict[str, Any]], commits: dict[str, Position]) -> DrillVerdict:
    through_igq, _ = copies_of_one_group()
    return check(through_igq, history, commits)


def counts(verdict: DrillVerdict) -> dict[str, int]:
    return {kind: len(wrong) for kind, wrong in verdict.problems.items() if wrong}


def test_a_clean_run_is_good() -> None:
    through_igq, shared = copies_of_one_group()
    verdict = check(
        [*through_igq, *shared],
        [*commit("a/0", through_igq, "ok"), *commit("b/0", shared, "ok", program="EWR-Y")],
        {"a/0": (1, 0), "b/0": (2, 0)},
    )
    assert verdict.is_good
    assert (verdict.expected, verdict.delivered) == (6, 6)


def test_a_message_that_was_not_got_is_lost() -> None:
    through_igq, _ = copies_of_one_group()
    verdict = judged(commit("a/0", through_igq[:2], "ok"), {"a/0": (1, 0)})
    assert counts(verdict) == {"lost": 1}
    assert through_igq[2].correl.hex() in verdict.lost[0]


def test_a_message_that_two_units_of_work_got_is_duplicated() -> None:
    through_igq, _ = copies_of_one_group()
    history = [*commit("a/0", through_igq, "ok"), *commit("a/1", through_igq[2:], "ok", call=2)]
    assert counts(judged(history, {"a/0": (1, 0), "a/1": (2, 0)})) == {"duplicated": 1}


def test_a_later_member_committed_before_an_earlier_one_is_reordered() -> None:
    through_igq, _ = copies_of_one_group()
    history = [*commit("a/0", through_igq[1:], "ok"), *commit("a/1", through_igq[:1], "ok", call=2)]
    # In its group, and in the order in which its source put it.
    assert counts(judged(history, {"a/0": (1, 0), "a/1": (2, 0)})) == {"reordered": 4}


def test_the_journal_orders_units_of_work_of_several_programs() -> None:
    _, shared = copies_of_one_group()
    history = [
        *commit("a/0", shared[1:], "ok", program="JFK-FLIGHTS"),
        *commit("b/0", shared[:1], "ok", program="LGA-FLIGHTS"),
    ]
    assert check(shared, history, {"b/0": (5, 0), "a/0": (5, 1)}).is_good
    assert counts(check(shared, history, {"b/0": (5, 1), "a/0": (5, 0)})) == {"reordered": 2}


def test_a_message_that_no_row_demands_is_unexpected() -> None:
    through_igq, shared = copies_of_one_group()
    verdict = judged(commit("a/0", [*through_igq, shared[0]], "ok"), {"a/0": (1, 0)})
    assert counts(verdict) == {"unexpected": 1}


def test_an_unknown_commit_that_the_journal_has_is_a_delivery() -> None:
    through_igq, _ = copies_of_one_group()
    for phases in (("unknown",), ()):
        verdict = judged(commit("a/0", through_igq, *phases), {"a/0": (1, 0)})
        assert verdict.is_good
        assert verdict.unknown_calls == 1


def test_an_unknown_commit_missing_in_the_journal_does_not_count() -> None:
    through_igq, _ = copies_of_one_group()
    history = [*commit("a/0", through_igq), *commit("b/0", through_igq, "ok", call=2)]
    verdict = judged(history, {"b/0": (1, 0)})
    assert verdict.is_good
    assert verdict.unknown_calls == 1


def test_an_acknowledged_commit_must_be_in_the_journal() -> None:
    through_igq, _ = copies_of_one_group()
    verdict = judged(commit("a/0", through_igq, "ok"), {})
    assert counts(verdict) == {"lost": 3, "acknowledged but not in the journal": 1}


def test_calls_of_a_restarted_program_are_not_taken_for_its_predecessors() -> None:
    through_igq, _ = copies_of_one_group()
    before = [{**line, "pid": 7} for line in commit("a/0", through_igq)]
    verdict = judged([*before, *commit("b/0", through_igq, "ok")], {"b/0": (1, 0)})
    assert verdict.is_good
    assert verdict.unknown_calls == 1
