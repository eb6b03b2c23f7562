"""The units of work that commits in the histories of clients were."""

from __future__ import annotations

from typing import Any

from igq.rehearsal.drills.check import with_units

A, B = ("aa", "00"), ("bb", "00")


def commit(program: str, *messages: tuple[str, str], phase: str = "", unit: str | None = None) -> list[dict[str, Any]]:
    line = {"program": program, "pid": 1, "call": 1, "verb": "MQCMIT"}
    ended = [{**line, "phase": phase}] if phase else []
    return [{**line, "phase": "invoked", "unit_of_work": unit, "messages": list(messages)}, *ended]


def units(history: list[dict[str, Any]], got: dict[str, set[str]]) -> list[str | None]:
    return [line["unit_of_work"] for line in with_units(history, got) if line["phase"] == "invoked"]


def test_a_commit_is_the_unit_that_got_just_its_messages() -> None:
    got = {"u/0": {"aa", "bb"}, "u/1": {"aa"}, "u/2": {"bb"}}
    assert units([*commit("X", A, B, phase="ok"), *commit("Y", B, phase="ok")], got) == ["u/0", "u/2"]


def test_an_acknowledged_commit_claims_before_one_of_unknown_outcome() -> None:
    for phases in (("unknown", "ok"), ("", "ok")):
        lost, done = (commit(name, A, phase=phase) for name, phase in zip("XY", phases, strict=True))
        found = units([*lost, *done], {"u/0": {"aa"}})
        assert found[1] == "u/0"
        assert found[0] not in (None, "u/0")


def test_a_commit_of_unknown_outcome_is_the_unit_that_nobody_else_has() -> None:
    assert units(commit("X", A), {"u/0": {"aa"}}) == ["u/0"]


def test_two_units_that_got_the_same_are_both_told() -> None:
    history = [*commit("X", A, phase="ok"), *commit("Y", A, phase="ok")]
    assert sorted(filter(None, units(history, {"u/0": {"aa"}, "u/1": {"aa"}}))) == ["u/0", "u/1"]


def test_a_failed_commit_claims_nothing() -> None:
    assert units([*commit("X", A, phase="failed"), *commit("Y", A, phase="ok")], {"u/0": {"aa"}}) == [None, "u/0"]


def test_a_unit_that_a_history_names_is_not_claimed_again() -> None:
    history = [*commit("X", A, phase="ok", unit="u/0"), *commit("Y", A, phase="ok")]
    found = units(history, {"u/0": {"aa"}})
    assert found[0] == "u/0"
    assert found[1] != "u/0"


def test_a_commit_without_messages_stays_as_it_is() -> None:
    assert units(commit("X"), {"u/0": {"aa"}}) == [None]
