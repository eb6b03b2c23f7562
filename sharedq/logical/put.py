"""MQPUT and groups: which GroupId, MsgSeqNumber and Offset a message gets, and what is refused.

The order of a call: ``put_position`` before the message is stored, ``after_put`` once it is. MQPUT1 has no handle
that could retain anything: it uses ``put_position`` with ``NOTHING``, and logical order is no option of it (2046,
``sharedq.mqi.options``).
Source: IBM MQ reference, MQPMO_LOGICAL_ORDER and the MQMD fields GroupId to OriginalLength.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sharedq.logical.retained import (
    ANY_IN_GROUP,
    ANY_SEGMENT,
    GROUP_FLAGS,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    LOGICAL_ORDER,
    HandleOrder,
    Retained,
    judged,
    retained_after,
    stored_flags,
)
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    MSG_FLAGS_ACCEPT_UNSUP_IF_XMIT_MASK,
    MSG_FLAGS_REJECT_UNSUP_MASK,
    MsgType,
    PutOption,
)
from sharedq.mqi.limits import MAX_MSG_SEQ_NUMBER, MAX_OFFSET, NULL_ID, UNDEFINED_ORIGINAL_LENGTH
from sharedq.mqi.structures import MQMD

_SYNCPOINT: Final = int(PutOption.SYNCPOINT)
_REPORT: Final = int(MsgType.REPORT)


class PutPosition(NamedTuple):
    """Group and segment fields of the descriptor that is stored with a message.

    All but ``msg_flags`` and ``original_length`` are also left in the program's descriptor.

    Attributes:
        group_id: None: the caller generates a new one.
        original_length: for a segment, its bytes in the logical message; otherwise -1.
        warning: NONE, or the reason of MQCC_WARNING: the message is put, but it does not continue the group or
            message that the previous put in logical order left open.
    """

    group_id: bytes | None
    msg_seq_number: int
    offset: int
    msg_flags: int
    original_length: int = UNDEFINED_ORIGINAL_LENGTH
    warning: MQRC = MQRC.NONE


#: Of a message that is in no group and no segment.
PLAIN: Final = PutPosition(NULL_ID, 1, 0, 0)


def put_position(
    retained: Retained, options: int, md: MQMD, data_length: int, *, for_transmission: bool = False
) -> PutPosition | MQRC:
    """Where a message goes, or the reason why it is refused (MQCC_FAILED).

    * 2249: an unknown bit in MsgFlags. No known bits contradict each other: the last message of a group is in it,
      the last segment is a segment.
    * 2257: logical order with a version 1 MQMD. Without logical order such a descriptor has no group fields: its
      message is in no group.
    * 2250, 2251: MsgSeqNumber, Offset, or the end of the segment outside IBM's ranges. Fields that the put does not
      use are not looked at.
    * 2252: a report about a segment whose OriginalLength cannot be.
    * 2253: an empty segment that is not the last.
    * 2242, 2241: logical order, and the message does not belong to the current logical message or group.
    * 2185, 2245: logical order, and it is not as persistent as, or not in a unit of work like, what it goes on with.

    Without logical order the last four are warnings, and only if the previous put used it. A GroupId given for a
    message that is in no group, no segment and not to be segmented is not used: the message has none.

    Args:
        retained: ``HandleOrder.puts``.
        md: with ``persistence`` resolved to 0 or 1.
        data_length: bytes.
        for_transmission: the message goes to a transmission queue, where some unknown flags are for others to judge.
    """
    is_logical = bool(options & LOGICAL_ORDER)
    if md.version < 2:
        if is_logical:
            return MQRC.WRONG_MD_VERSION
        flags = 0
    else:
        flags = int(md.msg_flags)
    if not (flags or is_logical or retained.is_open):
        return PLAIN
    if _has_unknown(flags, for_transmission=for_transmission):
        return MQRC.MSG_FLAGS_ERROR
    flags = stored_flags(flags)
    length = _length_in_message(md, flags, data_length)
    if isinstance(length, MQRC):
        return length
    position = _next(retained, flags) if is_logical else _given(md, flags)
    reason = _range_error(position) or _length_error(position, flags, length)
    if reason:
        return reason
    found = judged(
        _inconsistency(retained, options, md.persistence, position),
        is_logical=is_logical,
        was_logical=retained.was_logical,
    )
    if found.comp_code == MQCC.FAILED:
        return found.reason
    original_length = length if flags & ANY_SEGMENT else UNDEFINED_ORIGINAL_LENGTH
    return position._replace(original_length=original_length, warning=found.reason)


def after_put(
    order: HandleOrder, options: int, position: PutPosition, *, group_id: bytes, persistence: int
) -> HandleOrder:
    """The retained state after a successful MQPUT, with logical order or without.

    Args:
        position: from ``put_position``, of the message as the program put it, segmented by the queue manager or not.
        group_id: what was stored: ``position.group_id``, or the one generated.
        persistence: 0 or 1.
    """
    retained = retained_after(
        position.msg_flags,
        group_id,
        position.msg_seq_number,
        position.offset + position.original_length,
        in_unit=bool(options & _SYNCPOINT),
        was_logical=bool(options & LOGICAL_ORDER),
        persistence=persistence,
    )
    return order if order.puts is retained else order._replace(puts=retained)


def _next(retained: Retained, flags: int) -> PutPosition:
    """The upper half of IBM's table: logical order decides."""
    if retained.is_open:
        seq, offset = retained.next_position
        return PutPosition(retained.group_id, seq, offset, flags)
    return PutPosition(None if flags & GROUP_FLAGS else NULL_ID, 1, 0, flags)


def _given(md: MQMD, flags: int) -> PutPosition:
    """The lower half: the descriptor decides, for the fields that its flags select."""
    group_id: bytes | None = NULL_ID
    if flags & GROUP_FLAGS:
        group_id = None if md.group_id == NULL_ID else md.group_id
    return PutPosition(
        group_id,
        md.msg_seq_number if flags & ANY_IN_GROUP else 1,
        md.offset if flags & ANY_SEGMENT else 0,
        flags,
    )


def _inconsistency(retained: Retained, options: int, persistence: int, position: PutPosition) -> MQRC:
    """Why the put does not go on with what is open; NONE when it does or nothing is."""
    if not retained.is_open:
        return MQRC.NONE
    flags = position.msg_flags
    belongs = bool(flags & ANY_IN_GROUP) == retained.in_group
    if retained.in_message:
        # Segments of one logical message agree on whether it is the group's last.
        is_last = bool(flags & LAST_IN_GROUP)
        belongs = belongs and bool(flags & ANY_SEGMENT) and is_last == retained.is_last_in_group
    place = (position.group_id, position.msg_seq_number, position.offset)
    if not belongs or place != (retained.group_id, *retained.next_position):
        return retained.incomplete
    if persistence != retained.persistence:
        return MQRC.INCONSISTENT_PERSISTENCE
    if bool(options & _SYNCPOINT) != retained.in_unit:
        return MQRC.INCONSISTENT_UOW
    return MQRC.NONE


def _has_unknown(flags: int, *, for_transmission: bool) -> bool:
    refused = MSG_FLAGS_REJECT_UNSUP_MASK
    if not for_transmission:
        refused |= MSG_FLAGS_ACCEPT_UNSUP_IF_XMIT_MASK
    return bool(flags & refused & ~GROUP_FLAGS)


def _length_in_message(md: MQMD, flags: int, data_length: int) -> int | MQRC:
    """Bytes that the message takes up of its logical message; 2252 when a report says what cannot be."""
    if not flags & ANY_SEGMENT or md.msg_type != _REPORT:
        return data_length
    shortest = 0 if flags & LAST_SEGMENT else 1
    if md.original_length < max(shortest, data_length):
        return MQRC.ORIGINAL_LENGTH_ERROR
    return md.original_length


def _range_error(position: PutPosition) -> MQRC:
    if not 1 <= position.msg_seq_number <= MAX_MSG_SEQ_NUMBER:
        return MQRC.MSG_SEQ_NUMBER_ERROR
    return MQRC.NONE if 0 <= position.offset <= MAX_OFFSET else MQRC.OFFSET_ERROR


def _length_error(position: PutPosition, flags: int, length: int) -> MQRC:
    if not flags & ANY_SEGMENT:
        return MQRC.NONE
    if position.offset + length > MAX_OFFSET:
        return MQRC.OFFSET_ERROR
    return MQRC.NONE if length or flags & LAST_SEGMENT else MQRC.SEGMENT_LENGTH_ZERO
