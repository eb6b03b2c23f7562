"""MQCB and MQCTL: operations, types of callbacks, why one is called.

Structures carry plain integers; these classes name them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Final

from sharedq.mqi.limits import tested_as_integers

#: MQCBD_FULL_MSG_LENGTH: a consumer takes messages of any length.
FULL_MSG_LENGTH: Final = -1


@tested_as_integers
class CallbackOperation(IntFlag):
    """MQOP_*: what MQCB (the last four) and MQCTL (all but REGISTER and DEREGISTER) do. Numbers are IBM's (cmqc.h)."""

    START = 0x0000_0001
    START_WAIT = 0x0000_0002
    STOP = 0x0000_0004
    REGISTER = 0x0000_0100
    DEREGISTER = 0x0000_0200
    SUSPEND = 0x0001_0000
    RESUME = 0x0002_0000


class CallbackType(IntEnum):
    """MQCBT_*: what a callback is for. Numbers are IBM's (cmqc.h)."""

    MESSAGE_CONSUMER = 1
    EVENT_HANDLER = 2


@tested_as_integers
class CallbackOption(IntFlag):
    """MQCBDO_*: of which changes of its state a callback is told. Numbers are IBM's (cmqc.h)."""

    START_CALL = 0x0000_0001
    STOP_CALL = 0x0000_0004
    REGISTER_CALL = 0x0000_0100
    DEREGISTER_CALL = 0x0000_0200
    FAIL_IF_QUIESCING = 0x0000_2000
    EVENT_CALL = 0x0000_4000
    MC_EVENT_CALL = 0x0000_8000


@tested_as_integers
class ControlOption(IntFlag):
    """MQCTLO_*: options of MQCTL. Numbers are IBM's (cmqc.h)."""

    THREAD_AFFINITY = 0x0000_0001
    FAIL_IF_QUIESCING = 0x0000_2000


class CallType(IntEnum):
    """MQCBCT_*: why a callback is called. Numbers are IBM's (cmqc.h)."""

    START_CALL = 1
    STOP_CALL = 2
    REGISTER_CALL = 3
    DEREGISTER_CALL = 4
    EVENT_CALL = 5
    MSG_REMOVED = 6
    MSG_NOT_REMOVED = 7
    MC_EVENT_CALL = 8


class ConsumerState(IntEnum):
    """MQCS_*: how a consumer goes on after this call. Numbers are IBM's (cmqc.h)."""

    NONE = 0
    SUSPENDED_TEMPORARY = 1
    SUSPENDED_USER_ACTION = 2
    SUSPENDED = 3
    STOPPED = 4
