"""Tells the findings of the doctor: a table for people, JSON for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from igq.operations.doctor.examination import CHECKS, SLOW, Found
from igq.output.plural import counted
from igq.output.tables import new_table, widen
from sharedq.display.terminal import Terminal

_STYLES = {"error": "bold red", "warning": "yellow", "note": ""}


def as_values(group: str, found: Sequence[Found], *, is_quick: bool) -> dict[str, Any]:
    """Return the findings as values of JSON."""
    return {
        "group": group,
        "checks": [name for name in CHECKS if not (is_quick and name in SLOW)],
        "findings": [
            {
                "check": each.check,
                "severity": each.finding.severity.word,
                "what": each.finding.what,
                "todo": each.finding.todo,
            }
            for each in found
        ],
    }


def print_findings(found: Sequence[Found], console: Terminal | None = None) -> None:
    """Print the findings for people, the worst first."""
    console = console or Terminal()
    if not found:
        console.print("Nothing to do: every check is well.")
        return
    widen(console, 320)
    table = new_table("", "SEVERITY", "FINDING", "WHAT TO DO")
    for each in found:
        word = each.finding.severity.word
        table.add_row(word, each.finding.what, each.finding.todo, style=_STYLES[word])
    console.print(table)
    console.print(counted(len(found), "finding"), highlight=False)
