"""Waking an agent from the state of retry: ``ALTER QMGR IGQ(ENABLED)``, and a recovery that has ended."""

from __future__ import annotations

from sharedq.group import Group
from sharedq.keys import private_structure

#: Seconds after which a wake-up that nobody waits for is forgotten.
_KEPT_S = 60


def wake_key(group: Group, qmgr: str) -> str:
    """The key that the agent of *qmgr* blocks on in its state of retry."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.AGENT"


def wake_agent(group: Group, qmgr: str) -> None:
    """Have the agent of *qmgr* try again now, if it is in the state of retry.

    Raises:
        MQIError: Redis cannot be reached.
    """
    key = wake_key(group, qmgr)
    group.call("structure/wake", [key], ["retry", _KEPT_S])
