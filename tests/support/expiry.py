"""The regular work of a manager on expired messages."""

from __future__ import annotations

from igq.manager.expiry import Sweep
from sharedq.session.connection import Connection


def discard_expired(connection: Connection, structure: str) -> int:
    """Discard, or report, the expired messages of a structure. Returns their number."""
    sweep = Sweep(structure)
    while sweep.go_on(connection):
        pass
    return sweep.count
