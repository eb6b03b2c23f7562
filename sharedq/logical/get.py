"""MQGET and logical order: what is looked for, what is refused, what is retained.

The order of a call: ``check_request`` before anything is done, ``wanted`` for the search, ``check_get`` on the
message found, ``after_get`` once the call has succeeded. A call that ends with 2080 has not processed its message:
nothing is retained of it.
Source: IBM MQ reference, MQGMO, MQGMO_LOGICAL_ORDER, Tables 16 and 17.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sharedq.logical.retained import (
    ANY_SEGMENT,
    LOGICAL_ORDER,
    NOTHING,
    OK,
    Completion,
    HandleOrder,
    Retained,
    judged,
    retained_after,
)
from sharedq.mqi.constants import MQRC, GetOption, MatchOption
from sharedq.mqi.limits import MAX_MSG_SEQ_NUMBER, MAX_OFFSET, NULL_ID, NULL_MSG_TOKEN
from sharedq.mqi.structures import MQGMO, MQMD

_SYNCPOINT: Final = int(GetOption.SYNCPOINT)
_SYNCPOINT_IF_PERSISTENT: Final = int(GetOption.SYNCPOINT_IF_PERSISTENT)
_BROWSE_FIRST: Final = int(GetOption.BROWSE_FIRST)
_BROWSE_NEXT: Final = int(GetOption.BROWSE_NEXT)
_BROWSE_UNDER_CURSOR: Final = int(GetOption.BROWSE_MSG_UNDER_CURSOR)
_BROWSE: Final = _BROWSE_FIRST | _BROWSE_NEXT | _BROWSE_UNDER_CURSOR
_UNDER_CURSOR: Final = int(GetOption.MSG_UNDER_CURSOR) | _BROWSE_UNDER_CURSOR
_COMPLETE_MSG: Final = int(GetOption.COMPLETE_MSG)
_ALL_MSGS: Final = int(GetOption.ALL_MSGS_AVAILABLE)
#: Options that ask for the whole logical message: ALL_MSGS_AVAILABLE and COMPLETE_MSG imply ALL_SEGMENTS_AVAILABLE.
_WHOLE_MESSAGE: Final = _ALL_MSGS | _COMPLETE_MSG | int(GetOption.ALL_SEGMENTS_AVAILABLE)
_MATCH_MSG_ID: Final = int(MatchOption.MATCH_MSG_ID)
_MATCH_CORREL_ID: Final = int(MatchOption.MATCH_CORREL_ID)
_MATCH_GROUP_ID: Final = int(MatchOption.MATCH_GROUP_ID)
_MATCH_SEQ: Final = int(MatchOption.MATCH_MSG_SEQ_NUMBER)
_MATCH_OFFSET: Final = int(MatchOption.MATCH_OFFSET)
_MATCH_TOKEN: Final = int(MatchOption.MATCH_MSG_TOKEN)
#: The MatchOptions that a version 1 MQGMO, which has none, stands for.
_VERSION_1_MATCH: Final = _MATCH_MSG_ID | _MATCH_CORREL_ID

ANY_SEQ: Final = 0
ANY_OFFSET: Final = -1


class Wanted(NamedTuple):
    """The message that an MQGET looks for.

    Attributes:
        msg_id, correl_id, group_id, msg_token: empty means any.
        seq: MsgSeqNumber, ``ANY_SEQ`` means any.
        offset: Offset, ``ANY_OFFSET`` means any.
        first_only: only what begins something: MsgSeqNumber 1, Offset 0; groups come in the order of their first
            messages.
        ids_are_conditions: the place is decided by group, sequence number and offset; the message there must have
            ``msg_id``, ``correl_id`` and ``msg_token``, or the call fails with 2247.
        whole_group: all messages of the group must be available.
        whole_message: all segments of the logical message must be available.
        must_be_persistent: SYNCPOINT_IF_PERSISTENT meets a group begun inside (true) or outside (false) a unit of work:
            the message must be persistent (true) or not (false), or the call fails with 2245; None: no condition.
    """

    msg_id: bytes = b""
    correl_id: bytes = b""
    group_id: bytes = b""
    seq: int = ANY_SEQ
    offset: int = ANY_OFFSET
    msg_token: bytes = b""
    first_only: bool = False
    ids_are_conditions: bool = False
    whole_group: bool = False
    whole_message: bool = False
    must_be_persistent: bool | None = None


def in_unit_of_work(options: int, persistence: int) -> bool:
    """Whether a message of this persistence (0, 1) is got within a unit of work under these MQGMO options."""
    return bool(options & _SYNCPOINT) or bool(options & _SYNCPOINT_IF_PERSISTENT and persistence)


def check_request(order: HandleOrder, gmo: MQGMO, md: MQMD) -> MQRC:
    """NONE, or the reason why an MQGET is refused before a look at the queue. The caller has checked pairs of options.

    * 2256, 2257: logical order needs version 2 of MQGMO and of MQMD.
    * 2250, 2251: the MsgSeqNumber to match is not in 1..999,999,999, or the Offset not in 0..999,999,999.
    * 2259: BROWSE_NEXT in another order than the browse that it continues.
    * 2247: a match option that cannot select in logical order names another message than the next one.
    * 2245: the current group or logical message was begun inside a unit of work and this call is outside, or the
      other way round.
    * 2033: COMPLETE_MSG in the middle of a logical message, whose rest can never be a whole one. Without that option
      the rest comes segment by segment.
    """
    options = int(gmo.options)
    is_logical = options & LOGICAL_ORDER
    if is_logical and gmo.version < 2:
        return MQRC.WRONG_GMO_VERSION
    if is_logical and md.version < 2:
        return MQRC.WRONG_MD_VERSION
    matches = 0 if options & _UNDER_CURSOR else match_options_of(gmo)
    if matches & _MATCH_SEQ and not 1 <= md.msg_seq_number <= MAX_MSG_SEQ_NUMBER:
        return MQRC.MSG_SEQ_NUMBER_ERROR
    if matches & _MATCH_OFFSET and not 0 <= md.offset <= MAX_OFFSET:
        return MQRC.OFFSET_ERROR
    if options & _BROWSE_NEXT and order.browse_is_logical not in (None, bool(is_logical)):
        return MQRC.INCONSISTENT_BROWSE
    if not is_logical:
        return MQRC.NONE
    retained = _retained_for(order, options)
    seq, offset = retained.next_position if retained.is_open else (1, 0)
    if (
        (matches & _MATCH_SEQ and md.msg_seq_number != seq)
        or (matches & _MATCH_OFFSET and md.offset != offset)
        or (retained.is_open and matches & _MATCH_GROUP_ID and md.group_id not in (NULL_ID, retained.group_id))
    ):
        return MQRC.MATCH_OPTIONS_ERROR
    if not retained.is_open or options & _UNDER_CURSOR:
        return MQRC.NONE
    if not options & (_BROWSE | _SYNCPOINT_IF_PERSISTENT) and bool(options & _SYNCPOINT) != retained.in_unit:
        return MQRC.INCONSISTENT_UOW
    if offset and options & _COMPLETE_MSG:
        return MQRC.NO_MSG_AVAILABLE
    return MQRC.NONE


def wanted(order: HandleOrder, gmo: MQGMO, md: MQMD) -> Wanted:
    """The message that an MQGET asks for, once checked (MQGMO, Table 16). Not for the message under the cursor."""
    options = int(gmo.options)
    matches = match_options_of(gmo)
    msg_id = md.msg_id if matches & _MATCH_MSG_ID and md.msg_id != NULL_ID else b""
    correl_id = md.correl_id if matches & _MATCH_CORREL_ID and md.correl_id != NULL_ID else b""
    group_id = md.group_id if matches & _MATCH_GROUP_ID and md.group_id != NULL_ID else b""
    msg_token = gmo.msg_token if matches & _MATCH_TOKEN and gmo.msg_token != NULL_MSG_TOKEN else b""
    whole_group, whole_message = must_be_there(order, options)
    if not options & LOGICAL_ORDER:
        offset = md.offset if matches & _MATCH_OFFSET else ANY_OFFSET
        if options & _COMPLETE_MSG:
            offset = 0
        return Wanted(
            msg_id,
            correl_id,
            group_id,
            md.msg_seq_number if matches & _MATCH_SEQ else ANY_SEQ,
            offset,
            msg_token,
            whole_group=whole_group,
            whole_message=whole_message,
        )
    retained = _retained_for(order, options)
    if not retained.is_open:
        return Wanted(
            msg_id,
            correl_id,
            group_id,
            1,
            0,
            msg_token,
            first_only=True,
            whole_group=whole_group,
            whole_message=whole_message,
        )
    seq, offset = retained.next_position
    is_if_persistent = options & _SYNCPOINT_IF_PERSISTENT
    return Wanted(
        msg_id,
        correl_id,
        retained.group_id,
        seq,
        offset,
        msg_token,
        ids_are_conditions=True,
        whole_message=whole_message,
        must_be_persistent=retained.in_unit if is_if_persistent else None,
    )


def must_be_there(order: HandleOrder, options: int) -> tuple[bool, bool]:
    """Whether an MQGET asks for all messages of the group to be available, and for all segments of the message."""
    retained = _retained_for(order, options)
    if options & LOGICAL_ORDER and retained.is_open:
        # Inside a group ALL_MSGS_AVAILABLE is ignored, but not the ALL_SEGMENTS_AVAILABLE that it implies.
        return False, bool(options & _WHOLE_MESSAGE) and not retained.in_message
    return bool(options & _ALL_MSGS), bool(options & _WHOLE_MESSAGE)


def check_get(order: HandleOrder, options: int, found: MQMD) -> Completion:
    """Whether the message found goes on with the current group or logical message (MQGMO, Table 17).

    Gives 2242 or 2241 if it is not the next message, and 2245 if it is the next one but is got in the wrong unit of
    work. ``judged`` adds the completion code: FAILED with logical order; without it WARNING if the previous get used
    it, else OK. Browses are never checked.

    A failed call must not have removed the message. Logical order looks only for the next message, so a failure is
    found in ``check_request`` or by ``Wanted.must_be_persistent``. Only a failure of MSG_UNDER_CURSOR is found here
    first: judge the browsed message before removing it.
    """
    retained = order.gets
    if options & _BROWSE or not retained.is_open:
        return OK
    if found.group_id != retained.group_id or (found.msg_seq_number, found.offset) != retained.next_position:
        reason = retained.incomplete
    elif in_unit_of_work(options, found.persistence) != retained.in_unit:
        reason = MQRC.INCONSISTENT_UOW
    else:
        return OK
    return judged(reason, is_logical=bool(options & LOGICAL_ORDER), was_logical=retained.was_logical)


def check_under_cursor(options: int, found: MQMD) -> MQRC:
    """2246 when COMPLETE_MSG meets a message under the browse cursor that begins no logical message, else NONE."""
    if options & _COMPLETE_MSG and options & _UNDER_CURSOR and found.offset:
        return MQRC.INVALID_MSG_UNDER_CURSOR
    return MQRC.NONE


def after_get(order: HandleOrder, options: int, found: MQMD, data_length: int) -> HandleOrder:
    """The retained state after an MQGET that returned *found*, with logical order or without.

    Args:
        found: the descriptor as returned; of a reassembled message, the one that ``reassembled`` made.
        data_length: of the whole message, bytes, also when it was truncated (2079).
    """
    length = data_length
    if found.msg_flags & ANY_SEGMENT:
        # A report about a segment may carry less data than the segment had, but takes its whole place.
        length = max(length, found.original_length)
    retained = retained_after(
        found.msg_flags,
        found.group_id,
        found.msg_seq_number,
        found.offset + length,
        in_unit=in_unit_of_work(options, found.persistence),
        was_logical=bool(options & LOGICAL_ORDER),
    )
    if not options & _BROWSE:
        return order if order.gets is retained else order._replace(gets=retained)
    is_logical = order.browse_is_logical
    if options & _BROWSE_FIRST or (options & _BROWSE_NEXT and is_logical is None):
        is_logical = bool(options & LOGICAL_ORDER)
    if order.browses is retained and order.browse_is_logical is is_logical:
        return order
    return order._replace(browses=retained, browse_is_logical=is_logical)


def _retained_for(order: HandleOrder, options: int) -> Retained:
    """The retained state that these options use. BROWSE_FIRST ignores it and begins again."""
    if options & _BROWSE_FIRST:
        return NOTHING
    return order.browses if options & _BROWSE else order.gets


def match_options_of(gmo: MQGMO) -> int:
    """MatchOptions; a version 1 MQGMO has none, and stands for MsgId and CorrelId."""
    return int(gmo.match_options) if gmo.version >= 2 else _VERSION_1_MATCH
