"""docs/igq.md names tests that exist, one at least for each rule."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "igq.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", TEXT)


def test_every_test_that_it_names_is_there() -> None:
    assert len(NAMED) > 40
    missing = [
        f"{path}::{name}" for path, name in NAMED if f"def {name}(" not in (ROOT / "tests" / path).read_text("utf-8")
    ]
    assert missing == []


def test_every_rule_names_a_test() -> None:
    rules = [line for line in TEXT.splitlines() if line.startswith("| ") and not re.match(r"\| (rule|---) ", line)]
    assert [line for line in rules if "::" not in line] == []
