"""docs/mqi.md names tests that exist, and every get option that there is."""

from __future__ import annotations

import re
from pathlib import Path

from sharedq.mqi.constants import GetOption

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "mqi.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", TEXT)
#: Names of combinations, and of nothing.
NOT_LISTED = ("NONE", "BROWSE_HANDLE", "BROWSE_CO_OP")


def test_every_test_that_it_names_is_there() -> None:
    assert len(NAMED) > 50
    missing = [
        f"{path}::{name}" for path, name in NAMED if f"def {name}(" not in (ROOT / "tests" / path).read_text("utf-8")
    ]
    assert missing == []


def test_every_rule_names_a_test() -> None:
    told = TEXT.split("## The browse cursor")[1].split("These are never answered")[0]
    rules = [line for line in told.splitlines() if line.startswith("| ")]
    empty = [line for line in rules if "::" not in line and not re.match(r"\| (rule|---) ", line)]
    assert empty == []


def test_every_get_option_has_its_row() -> None:
    table = TEXT.split("## The browse cursor")[0]
    names = [name for name in GetOption.__members__ if name not in NOT_LISTED]
    assert [name for name in names if not re.search(rf"\b{name}\b", table)] == []
