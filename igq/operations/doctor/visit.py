"""One visit of the doctor: makes all checks of the table, tells what they find, and returns an exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from igq.operations.doctor.checks import backups, certificates, files, machine, servers, settings, work
from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, look_at, note
from igq.output.plural import counted
from igq.output.tables import new_table, widen
from sharedq.display.lines import say_json
from sharedq.display.terminal import Terminal
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings

Check = Callable[[GroupSeen], Iterable[Diagnosis]]
#: Name of a check, and what makes it. In the order in which the documentation has them.
CHECKS: dict[str, Check] = {
    "settings": settings.check_settings,
    "exposure": settings.check_exposure,
    "durability": servers.check_durability,
    "memory": servers.check_memory,
    "connections": servers.check_connections,
    "clocks": servers.check_clocks,
    "open files": machine.check_open_files,
    "disks": machine.check_disks,
    "permissions": files.check_permissions,
    "certificates": certificates.check_certificates,
    "backups": backups.check_backups,
    "managers": work.check_managers,
    "structures": work.check_structures,
    "units in doubt": work.check_units_in_doubt,
    "readers": work.check_readers,
    "depths": work.check_depths,
    "dead letters": work.check_dead_letters,
    "versions": work.check_versions,
    "orphans": work.check_orphans,
}
#: Checks that read every key: a quick examination leaves them out.
SLOW = frozenset({"orphans"})
_STYLES = {"error": "bold red", "warning": "yellow", "note": ""}
#: Exit statuses: something is to be done; the group cannot be read.
TO_DO, CANNOT_LOOK = 1, 2


@dataclass(frozen=True, slots=True)
class Found:
    """A finding, and the check that made it."""

    check: str
    finding: Diagnosis


def examine(seen: GroupSeen, *, is_quick: bool = False) -> list[Found]:
    """Make all checks, or the quick ones. Returns their findings, the worst first.

    A check that cannot be made is a finding itself.
    """
    found: list[Found] = []
    for name, check in CHECKS.items():
        if is_quick and name in SLOW:
            continue
        try:
            found += [Found(name, finding) for finding in check(seen)]
        except (MQIError, DeploymentError, OSError) as problem:
            found.append(Found(name, note(f"{name} could not be checked: {problem}", "run igq doctor again")))
    return sorted(found, key=lambda each: each.finding.severity)


def worst(found: Sequence[Found], most: int) -> list[Found]:
    """Return the findings that somebody must act on, the worst first, and only so many."""
    return [each for each in found if each.finding.severity < note("", "").severity][:most]


def unreachable(group: str, why: object) -> list[Found]:
    """Return the finding that a group cannot be read at all."""
    return [Found("managers", error(f"group {group} cannot be read: {why}", "start Redis, or look at IGQ_REDIS_URL"))]


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


def visit(settings: Settings, *, is_json: bool, is_quick: bool) -> int:
    """Look at a group and print the findings. Returns the exit status."""
    try:
        found, status = find(settings, is_quick=is_quick), 0
    except (DeploymentError, MQIError) as error:
        found, status = unreachable(settings.group, error), CANNOT_LOOK
    if is_json:
        say_json(as_values(settings.group, found, is_quick=is_quick), indent=2)
    else:
        print_findings(found)
    return status or (TO_DO if worst(found, 1) else 0)


def find(settings: Settings, *, is_quick: bool) -> list[Found]:
    """Look at a group. Returns the findings, the worst first.

    Raises:
        DeploymentError, MQIError: Redis cannot be used.
    """
    with look_at(settings) as seen:
        return examine(seen, is_quick=is_quick)
