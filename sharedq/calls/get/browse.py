"""MQGET that leaves the message where it is: browsing, with and without a lock."""

from __future__ import annotations

from sharedq.calls.get.decoding import decode, room_for
from sharedq.calls.get.order import retain_browsed
from sharedq.calls.get.properties import show_properties
from sharedq.calls.get.wait import call_or_wait
from sharedq.calls.requests.get import GetRequest
from sharedq.calls.requests.selection import Selection
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: The descriptor of a message without GroupId, by its Persistence.
_NO_GROUP = (MQMD(persistence=0), MQMD(persistence=1))
_BROWSE_NEXT = int(GetOption.BROWSE_NEXT)
_BROWSE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR)
_LOCK = int(GetOption.LOCK)
_MARK_FOR_HANDLE = int(GetOption.MARK_BROWSE_HANDLE)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)


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
