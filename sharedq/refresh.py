"""Keeping a handle's copy of its queue's definition at the version in force."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.connection import Connection
from sharedq.facts import QueueFacts
from sharedq.handle import Handle
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for


def refresh_definition(connection: Connection, handle: Handle) -> bool:
    """Fetch the definition in force; true when the handle had another version.

    Raises:
        MQIError: 2052, the queue was deleted; 2041 as for ``take_definition``.
    """
    version, definition = connection.command(handle.queue.queue, "HMGET", handle.queue.queue, "ver", "def")
    if version is None:
        raise error_for(MQRC.Q_DELETED, "", handle.object_name)
    if version.decode() == handle.version:
        return False
    take_definition(handle, [b"", version, definition], for_put=handle.is_intra_group)
    return True


def take_definition(handle: Handle, reply: Sequence[bytes], *, for_put: bool = False) -> None:
    """Use the definition that a script answered (``{1, version, definition}``).

    Raises:
        MQIError: 2041 on a put whose route is the shared transmission queue: its definition changed since the
            handle was opened (seed: invalidation of object handles).
    """
    if for_put and handle.is_intra_group:
        raise error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, f"{handle.name} was altered")
    handle.version = reply[1].decode()
    handle.facts = QueueFacts.of(reply[2])
