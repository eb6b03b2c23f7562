"""The table of the invariants: which scripts claim each, and which tests attack it."""

from __future__ import annotations

import re

from docs.generator.markdown import code
from docs.generator.markdown import table as markdown_table
from docs.generator.markers import claims
from docs.generator.rules import LONGEST_CELL
from sharedq.redis.script_source import load_script, script_names

#: The invariants of `docs/explanation/guarantees.md`.
INVARIANTS = {
    1: "One state, one script",
    2: "Fencing",
    3: "One decision",
    4: "Bounded scripts",
    5: "Position",
    6: "Sequence under failure",
    7: "Acknowledged means kept",
    8: "Once",
    9: "Three outcomes",
}
_CLAIM = re.compile(r"^INVARIANTS +(.*)$", re.MULTILINE)


def claimed(script: str) -> set[int]:
    """The invariants that the header of a script claims."""
    line = _CLAIM.search(load_script(script).header)
    return {int(number) for number in re.findall(r"\b(\d) ", line[1])} if line else set()


def scripts_of(number: int) -> list[str]:
    """The scripts that claim an invariant."""
    return [name for name in script_names() if number in claimed(name)]


def attackers_of(number: int) -> list[str]:
    """The tests that attack an invariant: ``faults/test_leases.py::test_...``."""
    return [
        f"{claim.file}::{claim.test}" for claim in claims() if claim.marker == "invariant" and number in claim.arguments
    ]


def table() -> str:
    """A heading for each invariant, with its scripts and its tests one to a line."""
    parts = []
    for number, title in INVARIANTS.items():
        scripts = ", ".join(code(name) for name in scripts_of(number)) or "none, because the library keeps it"
        rows = [_test_row(test) for test in attackers_of(number)]
        tests = markdown_table(("Tests in", "that attack it"), rows)
        parts.append(f"### {number}. {title}\n\nScripts that claim it: {scripts}.\n\n{tests}")
    return "\n\n".join(parts)


def _test_row(test: str) -> tuple[str, str]:
    file, _, name = test.partition("::")
    assert len(name) < LONGEST_CELL
    return code(file), code(name)
