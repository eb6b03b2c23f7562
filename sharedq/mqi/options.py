"""Which options exclude each other, and which need another: what an MQI call answers before it does anything.

One table a call, read by one rule. Source: IBM MQ reference, "Rules for validating MQI options" and "MQGMO".
"""

from __future__ import annotations

from enum import IntFlag
from functools import lru_cache
from typing import Final

from sharedq.mqi.constants.options import CloseOption, ConnectOption, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.constants.reasons import MQRC

_G, _P, _O, _C = GetOption, PutOption, OpenOption, ConnectOption

#: An option, and the options that it is not valid with. Each pair stands once.
Pairs = tuple[tuple[int, int], ...]

_BROWSES: Final = _G.BROWSE_FIRST | _G.BROWSE_NEXT | _G.BROWSE_MSG_UNDER_CURSOR
_WITH_UNLOCK: Final = _G.UNLOCK | _G.NO_SYNCPOINT
_MARKS: Final = (
    _G.MARK_BROWSE_HANDLE
    | _G.MARK_BROWSE_CO_OP
    | _G.UNMARK_BROWSE_HANDLE
    | _G.UNMARK_BROWSE_CO_OP
    | _G.UNMARKED_BROWSE_MSG
)
_GROUPINGS: Final = _G.LOGICAL_ORDER | _G.COMPLETE_MSG | _G.ALL_MSGS_AVAILABLE | _G.ALL_SEGMENTS_AVAILABLE

GET_EXCLUSIONS: Final[Pairs] = (
    (_G.SYNCPOINT, _G.NO_SYNCPOINT | _G.SYNCPOINT_IF_PERSISTENT | _BROWSES | _G.LOCK),
    (_G.SYNCPOINT_IF_PERSISTENT, _G.NO_SYNCPOINT | _BROWSES | _G.LOCK | _G.COMPLETE_MSG),
    (_G.BROWSE_FIRST, _G.BROWSE_NEXT | _G.BROWSE_MSG_UNDER_CURSOR | _G.MSG_UNDER_CURSOR),
    (_G.BROWSE_NEXT, _G.BROWSE_MSG_UNDER_CURSOR | _G.MSG_UNDER_CURSOR),
    (_G.BROWSE_MSG_UNDER_CURSOR, _G.MSG_UNDER_CURSOR),
    (_G.LOCK, _G.MSG_UNDER_CURSOR),
    # An unlock gets no message, so no option about how to get goes with it.
    (_G.UNLOCK, ~_WITH_UNLOCK & 0xFFFF_FFFF),
    (_G.WAIT, _G.SET_SIGNAL),
    # Marks are kept for single messages, neither for locked ones nor for places in a logical order.
    (_MARKS, _G.LOCK | _GROUPINGS),
    # A message that was passed over cannot be unmarked, and no call marks and unmarks a message.
    (_G.UNMARK_BROWSE_HANDLE, _G.MARK_BROWSE_HANDLE | _G.UNMARKED_BROWSE_MSG),
    (_G.UNMARK_BROWSE_CO_OP, _G.MARK_BROWSE_CO_OP | _G.UNMARKED_BROWSE_MSG),
)

#: Options of which a get may have one.
GET_CHOICES: Final[tuple[tuple[int, ...], ...]] = (
    (_G.PROPERTIES_FORCE_MQRFH2, _G.NO_PROPERTIES, _G.PROPERTIES_IN_HANDLE, _G.PROPERTIES_COMPATIBILITY),
)

#: An option, and the options of which it needs at least one.
GET_NEEDS: Final[Pairs] = (
    (_G.LOCK, _BROWSES),
    (_MARKS, _BROWSES),
    (_G.MARK_SKIP_BACKOUT, _G.SYNCPOINT),
)

_CONTEXTS: Final = (
    _P.DEFAULT_CONTEXT,
    _P.NO_CONTEXT,
    _P.PASS_IDENTITY_CONTEXT,
    _P.PASS_ALL_CONTEXT,
    _P.SET_IDENTITY_CONTEXT,
    _P.SET_ALL_CONTEXT,
)
#: Options of which a put may have one.
PUT_CHOICES: Final[tuple[tuple[int, ...], ...]] = (
    (_P.SYNCPOINT, _P.NO_SYNCPOINT),
    (_P.ASYNC_RESPONSE, _P.SYNC_RESPONSE),
    _CONTEXTS,
)

#: Of a put: context that is passed on, or that the program sets; of an open, for puts that do so, the same bits.
PUT_CONTEXT: Final = int(_P.PASS_IDENTITY_CONTEXT | _P.PASS_ALL_CONTEXT | _P.SET_IDENTITY_CONTEXT | _P.SET_ALL_CONTEXT)
#: For each of them the open options, one of which is enough, and the reason if there is none.
PUT_CONTEXT_NEEDS: Final[tuple[tuple[int, int, MQRC], ...]] = (
    (_P.PASS_IDENTITY_CONTEXT, PUT_CONTEXT, MQRC.NOT_OPEN_FOR_PASS_IDENT),
    (_P.PASS_ALL_CONTEXT, _O.PASS_ALL_CONTEXT | _O.SET_ALL_CONTEXT, MQRC.NOT_OPEN_FOR_PASS_ALL),
    (_P.SET_IDENTITY_CONTEXT, _O.SET_IDENTITY_CONTEXT | _O.SET_ALL_CONTEXT, MQRC.NOT_OPEN_FOR_SET_IDENT),
    (_P.SET_ALL_CONTEXT, _O.SET_ALL_CONTEXT, MQRC.NOT_OPEN_FOR_SET_ALL),
)

_INPUTS: Final = (_O.INPUT_AS_Q_DEF, _O.INPUT_SHARED, _O.INPUT_EXCLUSIVE)
_BINDS: Final = (_O.BIND_ON_OPEN, _O.BIND_NOT_FIXED, _O.BIND_ON_GROUP)
_ANY_INPUT: Final = _O.INPUT_AS_Q_DEF | _O.INPUT_SHARED | _O.INPUT_EXCLUSIVE
#: Open options that are for gets or MQINQ.
NOT_FOR_PUTS: Final = int(_ANY_INPUT | _O.BROWSE | _O.CO_OP | _O.INQUIRE | _O.SET | _O.SAVE_ALL_CONTEXT)
#: Options of which an open may have one.
OPEN_CHOICES: Final[tuple[tuple[int, ...], ...]] = (_INPUTS, _BINDS, (_O.READ_AHEAD, _O.NO_READ_AHEAD))
OPEN_NEEDS: Final[Pairs] = (
    (_O.SAVE_ALL_CONTEXT, _ANY_INPUT),
    (_O.PASS_IDENTITY_CONTEXT, _O.OUTPUT),
    (_O.PASS_ALL_CONTEXT, _O.OUTPUT),
    (_O.SET_IDENTITY_CONTEXT, _O.OUTPUT),
    (_O.SET_ALL_CONTEXT, _O.OUTPUT),
    (_O.CO_OP, _O.BROWSE),
    (_O.NO_MULTICAST, _O.OUTPUT),
)
#: An open is for at least one of these.
_PURPOSES: Final = (
    _ANY_INPUT
    | (_O.BROWSE | _O.OUTPUT | _O.INQUIRE | _O.SET)
    | (_O.BIND_ON_OPEN | _O.BIND_NOT_FIXED | _O.BIND_ON_GROUP)
)
#: Options of which a close may have one.
CLOSE_CHOICES: Final[tuple[tuple[int, ...], ...]] = (
    (CloseOption.DELETE, CloseOption.DELETE_PURGE, CloseOption.KEEP_SUB, CloseOption.REMOVE_SUB),
)
_CLOSE_DELETES: Final = int(CloseOption.DELETE | CloseOption.DELETE_PURGE)
_CLOSE_OF_SUBSCRIPTIONS: Final = int(CloseOption.KEEP_SUB | CloseOption.REMOVE_SUB)


#: Options of which a connect may have one.
CONNECT_CHOICES: Final[tuple[tuple[int, ...], ...]] = (
    (_C.FASTPATH_BINDING, _C.SHARED_BINDING, _C.ISOLATED_BINDING),
    (_C.LOCAL_BINDING, _C.CLIENT_BINDING),
    (_C.HANDLE_SHARE_NONE, _C.HANDLE_SHARE_BLOCK, _C.HANDLE_SHARE_NO_BLOCK),
    (_C.RECONNECT, _C.RECONNECT_DISABLED, _C.RECONNECT_Q_MGR),
    (_C.NO_CONV_SHARING, _C.ALL_CONVS_SHARE),
    (_C.CD_FOR_OUTPUT_ONLY, _C.USE_CD_SELECTION),
    (_C.ACCOUNTING_MQI_ENABLED, _C.ACCOUNTING_MQI_DISABLED),
    (_C.ACCOUNTING_Q_ENABLED, _C.ACCOUNTING_Q_DISABLED),
    (_C.ACTIVITY_TRACE_ENABLED, _C.ACTIVITY_TRACE_DISABLED),
    (
        _C.SERIALIZE_CONN_TAG_Q_MGR,
        _C.SERIALIZE_CONN_TAG_QSG,
        _C.RESTRICT_CONN_TAG_Q_MGR,
        _C.RESTRICT_CONN_TAG_QSG,
    ),
)

#: Every bit that a class names.
_KNOWN: Final = {
    flags: sum({int(member) for member in flags})
    for flags in (GetOption, MatchOption, PutOption, OpenOption, CloseOption, ConnectOption)
}


def told(options: IntFlag) -> str:
    """The names of options, for the text of an error."""
    return f"options {options.name or 'NONE'} ({int(options):#x})"


@lru_cache(maxsize=64)
def check_connect_options(options: int) -> MQRC:
    """NONE, or 2046 when MQCONNX refuses these options. A tag that the queue manager makes is not there."""
    if options & (~_KNOWN[ConnectOption] | int(_C.GENERATE_CONN_TAG)) or _is_ambiguous(options, CONNECT_CHOICES):
        return MQRC.OPTIONS_ERROR
    return MQRC.NONE


@lru_cache(maxsize=1024)
def check_get_options(options: int, match_options: int) -> MQRC:
    """NONE, or why MQGET refuses these options: 2046, or 2247 for an unknown match option.

    COMPLETE_MSG goes with every match option but MATCH_OFFSET (2046).
    """
    if (
        options & ~_KNOWN[GetOption]
        or _is_excluded(options, GET_EXCLUSIONS)
        or _is_lacking(options, GET_NEEDS)
        or _is_ambiguous(options, GET_CHOICES)
        or (options & _G.COMPLETE_MSG and match_options & MatchOption.MATCH_OFFSET)
    ):
        return MQRC.OPTIONS_ERROR
    if match_options & ~_KNOWN[MatchOption]:
        return MQRC.MATCH_OPTIONS_ERROR
    return MQRC.NONE


@lru_cache(maxsize=1024)
def check_put_options(options: int, *, is_put1: bool = False) -> MQRC:
    """NONE, or 2046 when MQPUT (or MQPUT1) refuses these options.

    Logical order needs a handle that stays open; another user's authority is checked at the open.
    """
    refused = _P.LOGICAL_ORDER if is_put1 else _P.ALTERNATE_USER_AUTHORITY
    if options & ~_KNOWN[PutOption] or options & refused or _is_ambiguous(options, PUT_CHOICES):
        return MQRC.OPTIONS_ERROR
    return MQRC.NONE


@lru_cache(maxsize=1024)
def check_put_context(options: int, open_options: int) -> MQRC:
    """NONE, or 2093 to 2096 when a handle was not opened for the context that MQPUT is to give a message."""
    for option, enough, reason in PUT_CONTEXT_NEEDS:
        if options & option and not open_options & enough:
            return reason
    return MQRC.NONE


def split_put1_options(options: int) -> tuple[int, int]:
    """Split the options of an MQPUT1 into those of its open and those of its put.

    The open takes the options about the user's authority, which an MQPUT refuses. Both take those about the context.
    """
    opening = int(_O.OUTPUT) | options & PUT_CONTEXT
    if options & _P.ALTERNATE_USER_AUTHORITY:
        opening |= int(_O.ALTERNATE_USER_AUTHORITY)
    return opening, options & ~int(_P.ALTERNATE_USER_AUTHORITY)


@lru_cache(maxsize=1024)
def check_open_options(options: int) -> MQRC:
    """NONE, or 2046 when MQOPEN refuses these options."""
    if (
        options & ~_KNOWN[OpenOption]
        or not options & _PURPOSES
        or _is_ambiguous(options, OPEN_CHOICES)
        or _is_lacking(options, OPEN_NEEDS)
    ):
        return MQRC.OPTIONS_ERROR
    return MQRC.NONE


@lru_cache(maxsize=64)
def check_close_options(options: int, *, may_delete: bool) -> MQRC:
    """NONE, or why MQCLOSE refuses these options: 2046, or 2045 for one that is not for what is being closed.

    Args:
        may_delete: it is a permanent dynamic queue, or a temporary one and the handle that made it.
    """
    if options & ~_KNOWN[CloseOption] or _is_ambiguous(options, CLOSE_CHOICES):
        return MQRC.OPTIONS_ERROR
    if options & _CLOSE_OF_SUBSCRIPTIONS or (options & _CLOSE_DELETES and not may_delete):
        return MQRC.OPTION_NOT_VALID_FOR_TYPE
    return MQRC.NONE


def _is_excluded(options: int, pairs: Pairs) -> bool:
    return any(options & option and options & others for option, others in pairs)


def _is_lacking(options: int, pairs: Pairs) -> bool:
    return any(options & option and not options & others for option, others in pairs)


def _is_ambiguous(options: int, choices: tuple[tuple[int, ...], ...]) -> bool:
    return any(sum(bool(options & option) for option in choice) > 1 for choice in choices)
