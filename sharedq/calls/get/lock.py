"""Locks of browsing handles: MQGMO_LOCK asks for one, MQGMO_UNLOCK and others end it.

The structure alone knows which messages are locked (``prelude/locks.lua``). A handle only remembers that it may have
locked something: then its gets go where locks count, because its own handle sees a locked message.
"""

from __future__ import annotations

from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.logical import match_options_of
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.options import check_get_options, told
from sharedq.mqi.structures import MQGMO
from sharedq.scripts.handles import unlock_call
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

_BROWSE_FROM_PLACE = int(GetOption.BROWSE_FIRST | GetOption.BROWSE_NEXT)


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
