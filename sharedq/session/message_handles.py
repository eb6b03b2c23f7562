"""The message handles of programs that call the MQI: by their numbers, of a connection or of none."""

from __future__ import annotations

from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import MQRC
from sharedq.mqi.constants.properties import NO_MSG_HANDLE
from sharedq.mqi.errors import error_for
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection

#: Made with MQHC_UNASSOCIATED_HCONN: every connection of the process may use them.
_unassociated: dict[int, MessageHandle] = {}


def register(connection: Connection | None, handle: MessageHandle) -> None:
    """Let calls find a handle by its number: the calls of its connection, or of every connection of the process."""
    (_unassociated if connection is None else connection.message_handles)[handle.number] = handle


def find(connection: Connection | None, number: int, verb: str) -> MessageHandle:
    """The handle with this number. Raises MQIError: 2460, the connection has none."""
    whole(number, MQRC.HMSG_ERROR, verb, "", "the handle")
    handle = None if connection is None else connection.message_handles.get(number)
    # A handle without properties is empty, and so counts as false.
    if handle is None:
        handle = _unassociated.get(number)
    if handle is None:
        raise error_for(MQRC.HMSG_ERROR, verb, "", f"no message handle {number}")
    return handle


def find_if_given(connection: Connection, number: int, verb: str) -> MessageHandle | None:
    """As `find`; None for MQHM_NONE."""
    return None if number == NO_MSG_HANDLE else find(connection, number, verb)


def forget(connection: Connection | None, number: int, verb: str) -> None:
    """Delete a handle. Raises MQIError: 2460; 2499, a call of another thread uses it."""
    with find(connection, number, verb).in_use(verb):
        if connection is not None:
            connection.message_handles.pop(number, None)
        _unassociated.pop(number, None)
