"""The queue managers at which queries and jobs work: one, one of several, or any of the group."""

from __future__ import annotations

from typing import Any

from sharedq.api import QueueManagerConnection, connect
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.settings.values import Settings

#: Why the next one of several managers is tried.
_NOT_HERE = (MQRC.Q_MGR_NOT_AVAILABLE, MQRC.Q_MGR_QUIESCING, MQRC.Q_MGR_STOPPING, MQRC.CONNECTION_BROKEN)


def names_in(qmgr: str) -> list[str]:
    """The names in a list that is separated by commas."""
    return [name for name in (each.strip() for each in qmgr.split(",")) if name]


def is_one(qmgr: str, group: str) -> bool:
    """Whether *qmgr* is the name of one manager."""
    return "," not in qmgr and qmgr.removeprefix("*") not in ("", group)


def member_of(group: Group, qmgr: str) -> str:
    """The first of the managers *qmgr* that runs, by whose definitions a queue can be found.

    Raises:
        MQIError: 2059 none of them is running.
    """
    if is_one(qmgr, group.name):
        return qmgr
    running = [member.name for member in group.members() if member.state == "RUNNING"]
    wanted = running if qmgr.removeprefix("*") in ("", group.name) else names_in(qmgr)
    for name in wanted:
        if name in running:
            return name
    raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", qmgr, "none of them is running")


def connect_to(settings: Settings, qmgr: str, **more: Any) -> QueueManagerConnection:
    """A connection to the first of the managers *qmgr* that runs; or to any member, if *qmgr* is the group's name.

    Args:
        more: as for ``sharedq.api.connect``.

    Raises:
        MQIError: 2059 none of them is running, ...
    """
    *first, last = names_in(qmgr) or [settings.group]
    for name in first:
        try:
            return connect(name, settings=settings, appl_name="igq pipeline", **more)
        except MQIError as error:
            if error.reason not in _NOT_HERE:
                raise
    return connect(last, settings=settings, appl_name="igq pipeline", **more)
