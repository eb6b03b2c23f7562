"""MQGET and groups: the state in a handle decides which message a call looks for. The call updates that state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sharedq.calls.get.selection import grouped_selection, selection_for
from sharedq.calls.requests.get import Selection
from sharedq.logical import (
    NOTHING,
    after_get,
    check_get,
    check_request,
    check_under_cursor,
    in_unit_of_work,
    must_be_there,
    wanted,
)
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_COMPLETE_MSG: Final = int(GetOption.COMPLETE_MSG)
_UNDER_CURSOR: Final = int(GetOption.MSG_UNDER_CURSOR | GetOption.BROWSE_MSG_UNDER_CURSOR)
#: Options that groups and segments count for.
GROUPING: Final = _COMPLETE_MSG | int(
    GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE | GetOption.ALL_SEGMENTS_AVAILABLE
)
#: Match options that only structure/get_grouped knows.
GROUP_MATCHES: Final = int(
    MatchOption.MATCH_GROUP_ID
    | MatchOption.MATCH_MSG_SEQ_NUMBER
    | MatchOption.MATCH_OFFSET
    | MatchOption.MATCH_MSG_TOKEN
)


def ordered_selection(handle: Handle, md: MQMD, gmo: MQGMO, options: int) -> Selection:
    """The selection of an MQGET that asks for groups or segments, or whose handle retains something of them.

    Raises:
        MQIError: what ``sharedq.logical.check_request`` refuses; 2246; for the message under the cursor also 2241,
            2242 and 2245; 2033 a token that no message here has.
    """
    reason = check_request(handle.order, gmo, md)
    under_cursor = handle.gets.cursor.md if options & _UNDER_CURSOR else None
    if not reason and under_cursor is not None:
        reason = check_under_cursor(options, under_cursor)
        outcome = check_get(handle.order, options, under_cursor)
        if outcome.comp_code == MQCC.FAILED:
            reason = reason or outcome.reason
    if reason:
        raise error_for(reason, "MQGET", handle.object_name)
    is_whole = bool(options & _COMPLETE_MSG)
    if options & _UNDER_CURSOR:
        whole_group, whole_message = must_be_there(handle.order, options)
        level = 2 if whole_group else 1 if whole_message or is_whole else 0
        return Selection(
            message_id=handle.gets.cursor.message_id,
            level=level,
            is_whole=is_whole,
            is_under_cursor=True,
            is_grouped=bool(level),
        )
    if not (options & GROUPING or gmo.match_options & GROUP_MATCHES):
        return selection_for(handle, md, gmo)
    selection = grouped_selection(handle, wanted(handle.order, gmo, md), is_whole=is_whole)
    if selection is None:
        raise error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", handle.object_name, "no message here has this MsgToken")
    return selection


def retain_got(connection: Connection, handle: Handle, options: int, got: Sequence[tuple[MQMD, int]]) -> MQRC:
    """Retain what MQGET took: descriptors and lengths, in order.

    Returns:
        The reason of a warning: the message does not continue the group or logical message that the previous call
        left open.
    """
    warning = MQRC.NONE
    for md, length in got:
        warning = warning or check_get(handle.order, options, md).reason
        order = after_get(handle.order, options, md, length)
        if order is not handle.order:
            in_unit = in_unit_of_work(options, md.persistence)
            connection.unit.retain(handle, "gets", order, in_unit=in_unit)
    return warning


def retain_browsed(handle: Handle, options: int, md: MQMD, length: int, score: int) -> None:
    """Record the browsed message, the score at which the browse began, and the new state of groups."""
    if not options & _UNDER_CURSOR:
        if options & int(GetOption.BROWSE_FIRST) or handle.order.browses is NOTHING:
            handle.gets.cursor.begins_at = score
        handle.gets.cursor.md = md
    handle.order = after_get(handle.order, options, md, length)
