"""What targets leave of units of work that were prepared for an external coordinator."""

from __future__ import annotations

from collections import Counter, defaultdict

from recovery.target import Targets
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.members.group import Group


def prepared_under(group: Group, targets: Targets) -> tuple[Counter[str], dict[str, list[PreparedUnit]]]:
    """What *targets* had prepared and stays in doubt, and what they decided and did not live to complete.

    To be asked after the structures: what a target had prepared itself is set apart in all of them by then.

    Returns:
        Both by the target's token: how many stay in doubt, and the units of work to complete.

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
