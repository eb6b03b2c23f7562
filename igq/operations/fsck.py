"""``igq fsck``: shows an operator the account of the group's keys, and repairs what nothing explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from igq.errors import CommandError
from igq.output.tables import new_table, widen
from recovery.accounting.account import account
from recovery.accounting.finding import Fault
from recovery.accounting.repair import repair
from sharedq.calls.handles.connect import disconnect
from sharedq.display.terminal import Terminal
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.session.connection import Connection
from sharedq.settings.values import Settings

#: Exit status if the group cannot be read or repaired.
CANNOT_LOOK = 2
#: The longest part of a name to show: an index entry contains bytes from programs.
_NAME_MAX = 120


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings, and those that are left. Without a repair all are left."""

    found: Sequence[Fault]
    left: Sequence[Fault]


def check(settings: Settings, *, is_repaired: bool = False) -> Checked:
    """Return what nothing explains in the group; repair it if *is_repaired*.

    Raises:
        CommandError: status 2, the group cannot be read, or no manager runs that could repair it.
    """
    group = Group(settings)
    try:
        if is_repaired:
            return _repaired(group)
        found = account(group)
        if not (found or group.members()):
            # Most often a mistyped name, or another server.
            raise CommandError(f"there is no group {group.name}: it has no queue manager and no keys", CANNOT_LOOK)
        return Checked(found, found)
    except (DeploymentError, MQIError) as error:
        what = "repaired" if is_repaired else "read"
        raise CommandError(f"group {group.name} cannot be {what}: {error}", CANNOT_LOOK) from None
    finally:
        group.leave()


def _repaired(group: Group) -> Checked:
    running = [member.name for member in group.members() if member.state == "RUNNING"]
    if not running:
        raise CommandError(f"no queue manager of group {group.name} is running: start one, then repair", CANNOT_LOOK)
    process = Process.register(group, running[0])
    try:
        connection = Connection(group, process)
        found, left = repair(group, connection)
        disconnect(connection)
        return Checked(found, left)
    finally:
        process.end()


def as_values(checked: Checked) -> dict[str, Any]:
    """Return the result as values of JSON, for programs."""

    def plain(findings: Sequence[Fault]) -> list[dict[str, Any]]:
        return [asdict(finding) | {"kind": finding.kind.value} for finding in findings]

    return {"found": plain(checked.found), "left": plain(checked.left)}


def print_checked(checked: Checked, console: Terminal | None = None) -> None:
    """Print the result for people: a row for each finding, and whether it is repaired."""
    console = console or Terminal()
    if not checked.found:
        console.print("Everything is accounted for.")
        return
    widen(console, 200)
    table = new_table("", "WHAT", "WHERE", "NAME", "DETAIL", "REPAIRED")
    left = set(checked.left)
    for finding in sorted({*checked.found, *left}):
        words = (text[:_NAME_MAX] for text in (finding.key, finding.name, finding.detail))
        table.add_row(finding.kind.value, *words, "no" if finding in left else "yes")
    console.print(table)
    console.print(f"{len(checked.found)} found, {len(left)} left", highlight=False)
