"""The account of a group's keys at the end of a test: after any failure, everything that is left is explained."""

from __future__ import annotations

from recovery.accounting.account import account
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError

#: The most findings that are shown for one test.
_SHOWN_MAX = 20

__all__ = ["account", "assert_accounted"]


def assert_accounted(group: Group) -> None:
    """Fail with the unexplained keys. A group without its Redis has nothing to account for."""
    try:
        findings = account(group)
    except MQIError as error:
        if error.reason != MQRC.CONNECTION_BROKEN:
            raise
        return
    assert not findings, "\n".join([f"{len(findings)} found", *map(str, findings[:_SHOWN_MAX])])
