"""Keeping a handle's copy of its queue's definition, and of those that its name led through, at what is in force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sharedq.calls.routes.resolve import read_versions, resolve_checked
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.session.connection import Connection
from sharedq.session.facts import QueueFacts
from sharedq.session.handle import Handle
from sharedq.session.route import Route

T = TypeVar("T")


def refresh_definition(connection: Connection, handle: Handle) -> bool:
    """Fetch the definitions in force; true when the handle had others.

    Raises:
        MQIError: 2052, the queue was deleted; 2373 or 2346, its structure has failed; 2041 as for ``take_definition``
            and ``refresh_path``.
    """
    is_other_path = refresh_path(connection, handle)
    version, definition = connection.command(handle.queue.queue, "HMGET", handle.queue.queue, "ver", "def")
    if version is None:
        connection.check_there(handle)
        raise error_for(MQRC.Q_DELETED, "", handle.object_name)
    is_other_version = version.decode() != handle.version
    if is_other_path or is_other_version:
        take_definition(handle, [b"", version, definition], for_put=is_other_version)
    return is_other_path or is_other_version


def until_in_force(connection: Connection, handle: Handle, make: Callable[[], T]) -> T:
    """What *make* returns. It goes by the handle's definitions; only those in force may refuse the call.

    Where others are in force, the handle learns them and *make* is called again. It takes back what it did before it
    raises.

    Raises:
        MQIError: what *make* raised by the definitions in force; those of ``refresh_definition``.
    """
    while True:
        version = handle.version
        try:
            return make()
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            if handle.version == version and not refresh_definition(connection, handle):
                raise


def take_definition(handle: Handle, reply: Sequence[bytes], *, for_put: bool = False) -> None:
    """Use the definition that a script answered (``{1, version, definition}``).

    Raises:
        MQIError: 2041 on a put whose route is the shared transmission queue: its definition changed since the
            handle was opened (IBM MQ for z/OS, intra-group queuing, "Invalidation of object handles").
    """
    if for_put and handle.is_intra_group:
        raise error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, f"{handle.name} was altered")
    handle.version = reply[1].decode()
    facts, route = QueueFacts.of(reply[2]), handle.route
    if route is not None and (route.is_put_inhibited or route.is_get_inhibited):
        facts = replace(
            facts,
            is_put_inhibited=facts.is_put_inhibited or route.is_put_inhibited,
            is_get_inhibited=facts.is_get_inhibited or route.is_get_inhibited,
        )
    handle.facts = facts


def refresh_path(connection: Connection, handle: Handle) -> bool:
    """Follow the handle's name again where a definition that it led through has changed; true when one had.

    The handle's facts stay as they are: what it is told next by ``take_definition`` goes by the new path.

    Raises:
        MQIError: 2041, the name leads somewhere else now, or nowhere, or IGQ was altered.
    """
    fields, values = handle.checks[::2], handle.checks[1::2]
    if not fields or read_versions(connection, handle.structure.keys, fields) == values:
        return False
    assert handle.route is not None
    try:
        route, checks = resolve_checked(
            connection, handle.object_name, handle.object_q_mgr_name, handle.opened_at, handle.route
        )
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        raise error_for(MQRC.OBJECT_CHANGED, "", handle.object_name, str(error)) from error
    # IGQ comes first of what is checked. Altered twice, it is as it was, and yet the handle is not valid any more.
    if not route.leads_where(handle.route) or (route.igq_of and checks[1] != handle.checks[1]):
        raise error_for(MQRC.OBJECT_CHANGED, "", handle.object_name, "its name leads elsewhere now")
    follow_path(handle, route, checks)
    return True


def follow_path(handle: Handle, route: Route, checks: tuple[str, ...]) -> None:
    """Let the handle go by the definitions of its route, whose versions are *checks*."""
    handle.route, handle.checks, handle.put_keys = route, checks, ()
    if route.path:
        first = route.path[0]
        handle.default_priority = first.def_priority
        handle.default_persistence = int(first.def_persistence == "YES")
