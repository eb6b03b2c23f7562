"""The table of checks, and the examination that makes them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from igq.operations.doctor.checks import backups, certificates, files, machine, queues, servers, settings, work
from igq.operations.doctor.finding import Diagnosis, error, note
from igq.operations.doctor.seen import GroupSeen
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError

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
    "readers": queues.check_readers,
    "depths": queues.check_depths,
    "dead letters": queues.check_dead_letters,
    "versions": work.check_versions,
    "orphans": work.check_orphans,
}
#: Checks that read every key: a quick examination leaves them out.
SLOW = frozenset({"orphans"})


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
