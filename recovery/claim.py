"""The claim on a target: one recoverer wins it, keeps it by reporting, gives it up with the work done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recovery.target import Target
from sharedq.connection import Connection
from sharedq.group import Group

#: Leases, or fields of the administration structure, that one script call removes.
CHUNK_FIELDS = 250
_WON, _NOT_YET = 0, 1


class ClaimLostError(Exception):
    """Another recoverer took over; what is left to do is its business now."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The claim was not won.

    Attributes:
        wait_ms: until it is worth asking again; None when there is nothing to recover.
    """

    wait_ms: int | None


class Claim:
    """A claim that *connection* holds on *target* for one lease length from each report.

    It belongs to the connection: its manager may claim again over another one, which ends this claim.
    """

    def __init__(self, group: Group, connection: Connection, target: Target, claimed_ms: int) -> None:
        self.target = target
        self.claimed_ms = claimed_ms
        #: The recovery as the group knows it (``recovery.report``), as of the last call.
        self.record: dict[str, Any] = {}
        self._group, self._connection = group, connection

    @classmethod
    def win(cls, group: Group, connection: Connection, target: Target, *, force: bool, state: str) -> Claim | Refusal:
        """Claim *target*, which shuts it out of the administration structure in the same moment.

        Args:
            force: it ended in our sight; do not wait for its lease.
            state: what the member becomes when the target is its present incarnation.

        Raises:
            MQIError: 2009, the connection is broken, or its own process was shut out.
        """
        keys = group.keys
        reply = connection.call(
            "admin/claim",
            [keys.leases, keys.fence, keys.recoveries, keys.members],
            [
                target.token,
                connection.qmgr_name,
                group.settings.lease_ms,
                target.qmgr,
                target.incarnation,
                int(force),
                state if target.is_manager else "",
                connection.token,
            ],
        )
        if reply[0] == _WON:
            return cls(group, connection, target, int(reply[1]))
        return Refusal(int(reply[1]) if reply[0] == _NOT_YET else None)

    def report(self, state: str, *, units: int = 0, messages: int = 0, leases: Sequence[str] = ()) -> None:
        """Report progress and keep the claim.

        Args:
            units, messages: resolved since the last report.
            leases: of what is under the target; they end, so that programs which still run stop at once.

        Raises:
            ClaimLostError: somebody else took over.
            MQIError: 2009.
        """
        keys = self._group.keys
        for position in range(0, max(1, len(leases)), CHUNK_FIELDS):
            chunk = leases[position : position + CHUNK_FIELDS]
            self._call(
                "admin/progress",
                [keys.leases, keys.recoveries, keys.fence],
                [self._group.settings.lease_ms, state, units, messages, *chunk],
            )
            units = messages = 0

    def finish(self, remains: Sequence[tuple[str, str]]) -> None:
        """Everything is resolved: free the target's tags, forget what the administration structure holds.

        Args:
            remains: kind (tag, own, process, decision, fence, recovery) and field of each entry.

        Raises:
            ClaimLostError: somebody else took over.
            MQIError: 2009.
        """
        keys = self._group.keys
        script_keys = [
            keys.leases,
            keys.recoveries,
            keys.fence,
            keys.tags,
            keys.owners,
            keys.processes,
            keys.decisions,
        ]
        last = max(0, len(remains) - 1) // CHUNK_FIELDS
        for position in range(last + 1):
            chunk = remains[position * CHUNK_FIELDS : (position + 1) * CHUNK_FIELDS]
            claim_ms = "" if position == last else self._group.settings.lease_ms
            fields = [part for entry in chunk for part in entry]
            self._call("admin/finish_recovery", script_keys, [claim_ms, *fields])

    def _call(self, name: str, keys: Sequence[str], args: Sequence[str | int]) -> None:
        reply = self._connection.call(name, keys, [self.target.token, self._connection.token, *args])
        if reply[0]:
            raise ClaimLostError(f"{self.target.token} is recovered by another one now")
        self.record = json.loads(reply[1])
