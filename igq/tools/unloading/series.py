"""Commits units of work of one series, each once, even if another process repeats it after a crash.

The group remembers the number of the latest one that was committed. So an interrupted command that is started again
knows what was done, also if it was killed in the middle of a commit.
"""

from __future__ import annotations

import secrets

from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import UnitBatch, latest_batch, prepared_units
from sharedq.members.group import Group


class UnitSeries:
    """A series of units of work over one connection.

    Args:
        name: at most 90 characters.
    """

    def __init__(self, connection: QueueManagerConnection, name: str) -> None:
        self._connection, self._name = connection, name

    @staticmethod
    def committed(group: Group, name: str) -> int:
        """Return the number of the latest unit of work that was committed; 0 for none."""
        return latest_batch(group, name) or 0

    def settle(self) -> None:
        """End what an interrupted command has prepared: as it was decided, else by a back-out.

        Raises:
            XAError: another command was faster.
            MQIError: 2009.
        """
        group = self._connection.connection.group
        for unit in prepared_units(group, group.name):
            if not unit.xid.startswith(f"{self._name}/".encode()):
                continue
            if unit.outcome == "C":
                self._connection.commit_prepared(unit.xid, qmgr=group.name)
            else:
                self._connection.backout_prepared(unit.xid, qmgr=group.name)

    def commit(self, number: int) -> None:
        """Commit the connection's unit of work as *number* of the series, from 1, rising.

        Raises:
            XAError: another command of the series was faster; nothing of this unit of work is done.
            MQIError: 2003, 2009 unknown: `committed` says it after `settle`.
        """
        batch = UnitBatch(self._name, number)
        xid = f"{self._name}/{number}/{secrets.token_hex(4)}".encode()
        xids = [xid] if self._connection.prepare(xid, batch, for_group=True) else []
        self._connection.commit_prepared_together(xids, batch, for_group=True)
