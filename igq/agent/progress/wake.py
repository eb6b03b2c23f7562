"""Wakes an agent from the state of retry, after ``ALTER QMGR IGQ(ENABLED)`` or the end of a recovery."""

from __future__ import annotations

from sharedq.members.group import Group
from sharedq.redis.keys import private_structure
from sharedq.scripts.connections import wake_call

#: Seconds after which an unused wake-up is forgotten.
_KEPT_S = 60
#: The text of an operator's wake-up: the try that follows counts as a retry.
BY_OPERATOR = b"retry"
#: The text of any other wake-up: something may be better now. The try that follows does not count as a retry.
IN_PASSING = b"look"


def wake_key(group: Group, qmgr: str) -> str:
    """The key on which the agent of *qmgr* blocks in its state of retry."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.AGENT"


def movers_wake_key(group: Group, qmgr: str) -> str:
    """The key on which the movers of *qmgr* block between two looks at the definitions."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.MOVERS"


def wake_agent(group: Group, qmgr: str, *, by_operator: bool = False) -> None:
    """Make the agent of *qmgr* and its movers try again now, if they are in the state of retry.

    Raises:
        MQIError: Redis cannot be reached.
    """
    why = BY_OPERATOR if by_operator else IN_PASSING
    group.call(*wake_call(wake_key(group, qmgr), why, _KEPT_S))
    wake_movers(group, qmgr, why)


def wake_movers(group: Group, qmgr: str, why: bytes = IN_PASSING) -> None:
    """Make the movers of *qmgr* look at its transmission queues now. Raises MQIError: Redis cannot be reached."""
    group.call(*wake_call(movers_wake_key(group, qmgr), why, _KEPT_S))
