"""MQGET that leaves the message where it is: browsing, with and without a lock.

MQGMO_LOCK asks for a lock, MQGMO_UNLOCK and others end it. The structure alone knows which messages are locked
(``prelude/locks.lua``). A handle only remembers that it may have locked something: then its gets go where locks count,
because its own handle sees a locked message.
"""

from __future__ import annotations

from sharedq.calls.get.decoding import decode, room_for
from sharedq.calls.get.order import retain_browsed
from sharedq.calls.get.properties import show_properties
from sharedq.calls.get.wait import call_or_wait
from sharedq.calls.requests.get import GetRequest, Selection
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.logical import match_options_of
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.options import check_get_options, told
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.scripts.connections import unlock_call
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: The descriptor of a message without GroupId, by its Persistence.
_NO_GROUP = (MQMD(persistence=0), MQMD(persistence=1))
_BROWSE_NEXT = int(GetOption.BROWSE_NEXT)
_BROWSE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR)
_LOCK = int(GetOption.LOCK)
_MARK_FOR_HANDLE = int(GetOption.MARK_BROWSE_HANDLE)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)
_BROWSE_FROM_PLACE = int(GetOption.BROWSE_FIRST | GetOption.BROWSE_NEXT)


def browse(
    connection: Connection,
    handle: Handle,
    selection: Selection,
    options: int,
    max_length: int,
    wait_ms: int,
    front: int = 0,
) -> Message:
    """MQGET with a browse option; with MQGMO_LOCK it is a get where waiters are chosen.

    Raises:
        MQIError: as for ``sharedq.calls.get.get.get``.
    """
    cursor = 0
    if options & _BROWSE_NEXT:
        # In logical order a group stands where it begins, wherever its members are.
        cursor = handle.gets.cursor.begins_at if selection.firsts else handle.gets.cursor.score

    request = GetRequest(connection, handle, selection, options, 1, max_length, cursor=cursor, front=front)
    waiter = selection.waiter_text(is_browse=not options & _LOCK)
    try:
        reply = call_or_wait(connection, handle, request, waiter, wait_ms, None)
    except MQIError as error:
        if error.reason == MQRC.NO_MSG_AVAILABLE:
            handle.gets.may_hold_lock = False
        raise
    if type(reply[2]) is list:
        score, message_id = int(reply[2][0]), reply[3]
    else:
        score, message_id, reply = int(reply[4]), reply[2], [*reply[:3], [reply[3]]]
    (message,), seen = decode(handle, reply, max_length, connection.redis_ms, front)
    if seen:
        handle.gets.learn(seen)
    message.data_length = int(reply[1])
    if message.data_length > room_for(message, max_length, front):
        is_accepted = options & _ACCEPT_TRUNCATED
        message.reason = MQRC.TRUNCATED_MSG_ACCEPTED if is_accepted else MQRC.TRUNCATED_MSG_FAILED
    if message.reason != MQRC.TRUNCATED_MSG_FAILED:
        if options & _MARK_FOR_HANDLE:
            handle.gets.may_hold_marks = True
        if not options & _BROWSE_UNDER_CURSOR:
            handle.gets.cursor.message_id, handle.gets.cursor.score = message_id.decode(), score
        md = message.md if message.has_group else _NO_GROUP[message.is_persistent]
        retain_browsed(handle, options, md, message.data_length, score)
        if message_id.endswith(b"x"):
            show_properties(handle, options, [message])
    return message


def unlock(connection: Connection, handle: Handle, gmo: MQGMO) -> MQRC:
    """MQGET with MQGMO_UNLOCK.

    Returns:
        ``NONE``, or ``NO_MSG_LOCKED`` (2209), a warning.

    Raises:
        MQIError: 2046 an option that does not go with it, 2247 an unknown match option.
    """
    reason = check_get_options(int(gmo.options), match_options_of(gmo))
    if reason:
        raise error_for(reason, "MQGET", handle.object_name, told(GetOption(gmo.options)))
    connection.check_usable(handle)
    flush_pending(connection)
    return _unlock(connection, handle)


def unlock_after_nothing(connection: Connection, handle: Handle, options: int) -> None:
    """For an MQGET that ends with 2033 without a look at the queue: also that ends the lock, if it is a browse."""
    if handle.gets.may_hold_lock and options & _BROWSE_FROM_PLACE:
        _unlock(connection, handle)


def _unlock(connection: Connection, handle: Handle) -> MQRC:
    """End the handle's lock, if it has one."""
    reply = connection.call(*unlock_call(handle.structure.keys, handle.queue, connection.token, handle.number))
    if reply[0] not in (MQRC.NONE, MQRC.NO_MSG_LOCKED):
        raise connection.error(reply[0], "MQGET", handle.object_name)
    handle.gets.may_hold_lock = False
    return MQRC(reply[0])
