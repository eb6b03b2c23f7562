"""``igq fsck``: an account of the group's keys, for an operator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from config.settings import Settings
from igq.errors import CommandError
from igq.tables import new_table, widen
from recovery.accounting.account import account
from recovery.accounting.finding import Finding
from sharedq.deployment import DeploymentError
from sharedq.group import Group
from sharedq.mqi.errors import MQIError

#: Exit status where the group cannot be read.
CANNOT_LOOK = 2
#: Longest part of a name that is shown: a message's index entry has bytes of programs in it.
_NAME_MAX = 120


def check(settings: Settings) -> list[Finding]:
    """What nothing explains in the group.

    Raises:
        CommandError: status 2, the group cannot be read.
    """
    group = Group(settings)
    try:
        return account(group)
    except (DeploymentError, MQIError) as error:
        raise CommandError(f"group {group.name} cannot be read: {error}", CANNOT_LOOK) from None
    finally:
        group.leave()


def to_json(findings: Sequence[Finding]) -> str:
    """For programs."""
    return json.dumps({"findings": [asdict(finding) | {"kind": finding.kind.value} for finding in findings]}, indent=2)


def print_findings(findings: Sequence[Finding], console: Console | None = None) -> None:
    """For people: a row for each finding."""
    console = console or Console()
    if not findings:
        console.print("Everything is accounted for.")
        return
    widen(console, 200)
    table = new_table("", "WHAT", "WHERE", "NAME", "DETAIL")
    for finding in findings:
        table.add_row(finding.kind.value, *map(_shown, (finding.key, finding.name, finding.detail)))
    console.print(table)
    console.print(f"{len(findings)} found" if len(findings) > 1 else "1 found")


def _shown(text: str) -> Text:
    return Text(ascii(text)[1:-1][:_NAME_MAX])
