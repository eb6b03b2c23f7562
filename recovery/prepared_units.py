"""Units of work that targets prepared for an external coordinator."""

from __future__ import annotations

from collections import Counter, defaultdict

from recovery.target import Targets
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group


def prepared_under(group: Group, targets: Targets) -> tuple[Counter[str], dict[str, list[PreparedUnit]]]:
    """Return what *targets* prepared that stays in doubt, and what they decided but did not complete.

    Call this after the structures are resolved: by then, all of them have set apart what the targets had prepared.

    Returns:
        Both by target token: how many units of work stay in doubt, and which units of work to complete.

    Raises:
        MQIError: 2009.
    """
    in_doubt, decided = Counter[str](), defaultdict[str, list[PreparedUnit]](list)
    for unit in prepared_units(group):
        if (target := targets.covering(unit.owner if unit.outcome is None else unit.decided_by)) is None:
            continue
        if unit.outcome is None:
            in_doubt[target.token] += 1
        else:
            decided[target.token].append(unit)
    return in_doubt, decided
