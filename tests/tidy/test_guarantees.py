"""docs/guarantees.md names what exists: invariants, scripts that claim them, tests that attack them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sharedq.scripts import load_script, script_names

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
INVARIANTS = range(1, 10)
#: Invariants that are kept outside Redis, so no header claims them.
OUTSIDE_REDIS = (7, 9)


def rows() -> dict[int, list[str]]:
    """Cells of each row by the number of its invariant."""
    found = {}
    for line in TEXT.splitlines():
        number = re.match(r"\| (\d)\. ", line)
        if number:
            found[int(number[1])] = [cell.strip() for cell in line.strip("|").split("|")]
    return found


ROWS = rows()


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def claimed(name: str) -> set[int]:
    """Invariants in the header of a script."""
    line = re.search(r"^INVARIANTS +(.*)$", load_script(name).header, re.MULTILINE)
    assert line
    return {int(number) for number in re.findall(r"\b(\d) ", line[1])}


def test_every_invariant_has_a_row() -> None:
    assert list(ROWS) == list(INVARIANTS)
    assert {len(cells) for cells in ROWS.values()} == {4}


@pytest.mark.parametrize("number", INVARIANTS)
def test_scripts_claim_what_they_are_named_for(number: int) -> None:
    named = quoted(ROWS[number][2])
    assert named
    scripts = [name for name in named if not name.endswith(".py")]
    assert set(scripts) <= set(script_names())
    assert [name for name in scripts if number not in claimed(name)] == []
    assert bool(scripts) != (number in OUTSIDE_REDIS)
    assert [name for name in named if name.endswith(".py") and not (ROOT / name).is_file()] == []


def test_headers_claim_invariants_that_exist() -> None:
    assert set().union(*map(claimed, script_names())) == set(INVARIANTS) - set(OUTSIDE_REDIS)


@pytest.mark.parametrize("number", INVARIANTS)
def test_every_invariant_is_attacked(number: int) -> None:
    named = quoted(ROWS[number][3])
    assert named
    assert all("::" in name for name in named)


@pytest.mark.parametrize("name", sorted({name for name in quoted(TEXT) if name.startswith("tests/")}))
def test_tests_that_are_named_exist(name: str) -> None:
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text("utf-8")
    assert not function or re.search(rf"^def {function}\(", text, re.MULTILINE)
