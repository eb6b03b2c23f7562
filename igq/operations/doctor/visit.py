"""One visit of the doctor: looks, tells, and returns an exit status."""

from __future__ import annotations

from igq.operations.doctor.examination import Found, examine, unreachable, worst
from igq.operations.doctor.report import as_values, print_findings
from igq.operations.doctor.seen import look_at
from sharedq.display.lines import say_json
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings

#: Exit statuses: something is to be done; the group cannot be read.
TO_DO, CANNOT_LOOK = 1, 2


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
