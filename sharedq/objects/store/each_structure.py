"""Goes through the structures of a group: one that cannot be reached now keeps nobody from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from sharedq.members.group import Group
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.answers import LOOK_S, little_patience
from sharedq.redis.outage import PASSING

T = TypeVar("T")
#: Structures of a Cluster that cannot be reached now, by name, with the reasons.
Away = dict[str, MQIError]
_OTHERS_TOLD: Final = "all other structures were told; repeat the command later"


def in_each(group: Group, names: Iterable[str], call: Callable[[str], T], away: Away) -> dict[str, T]:
    """Make a call for each structure. Those that are away are added to *away*.

    Raises:
        MQIError: why a call failed, if that is not about its structure alone.
    """
    found: dict[str, T] = {}
    for name in names:
        try:
            group.require_reachable(name)
            with little_patience(LOOK_S):
                found[name] = call(name)
        except MQIError as error:
            # In a Cluster one server may go at any moment, or one slot; the others still answer.
            if error.reason not in PASSING or not group.deployment().is_cluster:
                raise
            away[name] = error
    return found


def require_all(away: Away, verb: str = "") -> None:
    """Raise the first reason, with the names of all structures that are away, unless there are none."""
    if away:
        first = next(iter(away.values()))
        raise error_for(
            first.reason, verb, ", ".join(away), f"{first.detail}; {_OTHERS_TOLD}" if first.detail else _OTHERS_TOLD
        )
