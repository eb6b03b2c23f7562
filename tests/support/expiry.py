"""What a manager does from time to time about messages whose time has passed."""

from __future__ import annotations

from igq.manager.expiry import Sweep
from sharedq.session.connection import Connection


def discard_expired(connection: Connection, structure: str) -> int:
    """Discard, or report, the messages of a structure whose time has passed; how many those were."""
    sweep = Sweep(structure)
    while sweep.go_on(connection):
        pass
    return sweep.count
