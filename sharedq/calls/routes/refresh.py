"""Keeping a handle's copies of definitions up to date: of its queue, and of the objects that its name led through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sharedq.calls.routes.resolution import read_versions, resolve_checked
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.scripts.reads import queue_definition
from sharedq.session.connection import Connection
from sharedq.session.handle import Definition, Handle
from sharedq.session.route import Route

T = TypeVar("T")
#: The way that a name leads, and the versions that each call checks.
Path = tuple[Route, tuple[str, ...]]


def refresh_definition(connection: Connection, handle: Handle) -> bool:
    """Fetch the definitions in force; true when the handle had others.

    Raises:
        MQIError: 2052, the queue was deleted; 2373 or 2346, its structure has failed; 2041 as for ``take_definition``
            and ``changed_path``.
    """
    path = changed_path(connection, handle)
    found = queue_definition(connection, handle.queue)
    if found is None:
        connection.check_there(handle)
        raise error_for(MQRC.Q_DELETED, "", handle.object_name)
    # `changed_path` raises 2041 for a path that leads elsewhere. `take_definition` raises 2041 for an altered queue.
    is_other_version = found[0].decode() != handle.definition.version
    if path or is_other_version:
        take_definition(handle, [b"", *found], path, for_put=is_other_version)
    return path is not None or is_other_version


def until_in_force(connection: Connection, handle: Handle, make: Callable[[], T]) -> T:
    """Call *make*, which uses the handle's definitions, and return its result. Only definitions in force may refuse.

    If others are in force, the handle learns them and *make* is called again. It must undo its work before it raises.

    Raises:
        MQIError: the refusal by the definitions in force; those of ``refresh_definition``.
    """
    while True:
        known = handle.definition
        try:
            return make()
        except MQIError as error:
            raise_if_in_force(connection, handle, known, error)


def raise_if_in_force(connection: Connection, handle: Handle, known: Definition, error: MQIError) -> None:
    """Raise *error* if the failed call used the definitions in force. Otherwise the handle has learned these now.

    Args:
        known: the handle's definition when the call began.
    """
    if error.reason == MQRC.CONNECTION_BROKEN:
        raise error
    if handle.definition is known and not refresh_definition(connection, handle):
        raise error


def take_definition(handle: Handle, reply: Sequence[bytes], path: Path | None = None, *, for_put: bool = False) -> None:
    """Use the definition that a script answered (``{1, version, definition}``), and the *path* if it is new.

    Raises:
        MQIError: 2041 on a put whose route is the transmit queue: its definition changed since the
            handle was opened (IBM MQ for z/OS, intra-group queuing, "Invalidation of object handles"); or on
            a put by a handle whose queue has become a transmission queue, or is none any more.
    """
    if for_put and handle.is_intra_group:
        raise error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, f"{handle.name} was altered")
    known = handle.definition
    new = Definition.of(reply[1], reply[2], *(path or (known.route, known.checks)))
    if for_put and new.facts.is_transmission != known.facts.is_transmission:
        raise error_for(MQRC.OBJECT_CHANGED, "MQPUT", handle.object_name, f"USAGE of {handle.name} was altered")
    handle.go_by(new)


def changed_path(connection: Connection, handle: Handle) -> Path | None:
    """Follow the handle's name again if a definition on its way has changed. Returns None if none has.

    Raises:
        MQIError: 2041, the name leads somewhere else now, or nowhere, or IGQ was altered.
    """
    known = handle.definition
    fields, values = known.checks[::2], known.checks[1::2]
    if not fields or read_versions(connection, handle.structure.keys, fields) == values:
        return None
    assert known.route is not None
    try:
        route, checks = resolve_checked(
            connection, handle.object_name, handle.object_q_mgr_name, handle.opened_at, known.route
        )
    except MQIError as error:
        if error.reason == MQRC.CONNECTION_BROKEN:
            raise
        raise error_for(MQRC.OBJECT_CHANGED, "", handle.object_name, str(error)) from error
    # IGQ is the first check. After two alters it has its old value, but the handle is not valid any more.
    if not route.leads_where(known.route) or (route.igq_of and checks[1] != known.checks[1]):
        raise error_for(MQRC.OBJECT_CHANGED, "", handle.object_name, "its name leads elsewhere now")
    return route, checks
