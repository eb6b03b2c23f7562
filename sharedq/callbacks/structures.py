"""MQCBD, MQCBC and MQCTLO: what a callback is, why it is called, and how callbacks are started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sharedq.mqi.constants.callbacks import FULL_MSG_LENGTH
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle


@dataclass(slots=True)
class MQCBC:
    """The context of one call of a callback.

    Attributes:
        call_type: MQCBCT_*, why it is called.
        hobj: the handle that the consumer is for; None where an event is about the connection.
        callback_area, connection_area: what MQCB and MQCTL were given for this field.
        state: MQCS_*, how the consumer goes on.
        data_length: of the whole message. ``buffer_length``: of what the callback has of it.
    """

    version: int = 2
    call_type: int = 0
    hobj: Handle | None = None
    callback_area: Any = None
    connection_area: Any = None
    comp_code: int = 0
    reason: int = 0
    state: int = 0
    data_length: int = 0
    buffer_length: int = 0
    flags: int = 0
    reconnect_delay: int = 0


#: A callback (MQCB_FUNCTION): the connection, the descriptor, the options and the data of a message, or None without a
#: message; and why it is called.
Callback = Callable[[Connection, MQMD | None, MQGMO | None, bytes | None, MQCBC], object]


@dataclass(slots=True)
class MQCBD:
    """The callback to register: a message consumer or an event handler (MQCBT_*)."""

    version: int = 1
    callback_type: int = 1
    options: int = 0
    callback_area: Any = None
    callback_function: Callback | None = None
    max_msg_length: int = FULL_MSG_LENGTH


@dataclass(slots=True)
class MQCTLO:
    """Options of MQCTL. ``connection_area`` is passed to every callback."""

    version: int = 1
    options: int = 0
    connection_area: Any = None
