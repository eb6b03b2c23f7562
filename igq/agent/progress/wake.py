"""Waking an agent from the state of retry: ``ALTER QMGR IGQ(ENABLED)``, and a recovery that has ended."""

from __future__ import annotations

from sharedq.members.group import Group
from sharedq.redis.keys import private_structure

#: Seconds after which a wake-up that nobody waits for is forgotten.
_KEPT_S = 60
#: What an operator's wake-up says: the try that follows is one of the retries.
BY_OPERATOR = b"retry"
#: What any other says: something may be better now. The retries go on behind that try as if it had not been.
IN_PASSING = b"look"


def wake_key(group: Group, qmgr: str) -> str:
    """The key that the agent of *qmgr* blocks on in its state of retry."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.AGENT"


def movers_wake_key(group: Group, qmgr: str) -> str:
    """The key that the movers of *qmgr* block on between two looks at the definitions."""
    return f"{group.structure(private_structure(qmgr)).wake}IGQ.MOVERS"


def wake_agent(group: Group, qmgr: str, *, by_operator: bool = False) -> None:
    """Have the agent of *qmgr* and its movers try again now, if they are in the state of retry.

    Raises:
        MQIError: Redis cannot be reached.
    """
    why = BY_OPERATOR if by_operator else IN_PASSING
    group.call("structure/wake", [wake_key(group, qmgr)], [why, _KEPT_S])
    wake_movers(group, qmgr, why)


def wake_movers(group: Group, qmgr: str, why: bytes = IN_PASSING) -> None:
    """Have the movers of *qmgr* look at its transmission queues now.

    Raises:
        MQIError: Redis cannot be reached.
    """
    group.call("structure/wake", [movers_wake_key(group, qmgr)], [why, _KEPT_S])
