"""What a target leaves of units of work that were prepared for an external coordinator."""

from __future__ import annotations

from recovery.target import Target
from sharedq.connection import Connection
from sharedq.group import Group
from sharedq.in_doubt import OnChunk, complete, prepared_units


def complete_decided(connection: Connection, group: Group, target: Target, on_chunk: OnChunk) -> int:
    """Complete what somebody under *target* decided and did not live to complete; the rest stays in doubt.

    Behind the structures: what *target* had prepared itself is set apart in all of them by then.

    Returns:
        How many units of work of *target*'s own stay in doubt.

    Raises:
        MQIError: 2009, the recoverer was shut out itself, or a structure cannot be used.
    """
    in_doubt = 0
    for unit in prepared_units(group):
        if unit.outcome is None:
            in_doubt += target.covers(unit.owner)
        elif target.covers(unit.decided_by):
            complete(connection, unit, on_chunk)
    return in_doubt
