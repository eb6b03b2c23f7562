"""The state of groups and segments that the queue manager retains for a queue handle, between its calls.

Everything here is an immutable value: a call that fails keeps its first value, and a back-out of a unit of work
restores the value before the unit's first call for the handle (as in IBM MQ).
Source: IBM MQ reference, MQGMO_LOGICAL_ORDER and MQPMO_LOGICAL_ORDER.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sharedq.mqi.constants import MQCC, MQRC, GetOption, GroupStatus, MsgFlag, Segmentation, SegmentStatus
from sharedq.mqi.limits import NULL_ID

# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
SEGMENTATION_ALLOWED: Final = int(MsgFlag.SEGMENTATION_ALLOWED)
SEGMENT: Final = int(MsgFlag.SEGMENT)
LAST_SEGMENT: Final = int(MsgFlag.LAST_SEGMENT)
IN_GROUP: Final = int(MsgFlag.MSG_IN_GROUP)
LAST_IN_GROUP: Final = int(MsgFlag.LAST_MSG_IN_GROUP)
ANY_SEGMENT: Final = SEGMENT | LAST_SEGMENT
ANY_IN_GROUP: Final = IN_GROUP | LAST_IN_GROUP
#: The flags of a message that has a GroupId: a member of a group, a segment, or one that may be segmented.
GROUP_FLAGS: Final = ANY_SEGMENT | ANY_IN_GROUP | SEGMENTATION_ALLOWED
#: MQGMO_LOGICAL_ORDER and MQPMO_LOGICAL_ORDER are the same bit.
LOGICAL_ORDER: Final = int(GetOption.LOGICAL_ORDER)


class Completion(NamedTuple):
    """A completion code and its reason."""

    comp_code: MQCC
    reason: MQRC


OK: Final = Completion(MQCC.OK, MQRC.NONE)


class Retained(NamedTuple):
    """Group and segment information of one use of a handle: of its last message, if that left something open.

    Attributes:
        group_id: of the current group or logical message.
        seq: MsgSeqNumber of the last message.
        next_offset: where the next segment of the logical message starts, bytes.
        in_group: there is a current group: its last message is still to come, or is not whole yet.
        in_message: there is a current logical message: its last segment is still to come.
        is_last_in_group: the last message had MQMF_LAST_MSG_IN_GROUP.
        in_unit: it was got or put in a unit of work.
        persistence: of the last message put; 0 for gets.
        was_logical: the call that put or got it specified logical order.
    """

    group_id: bytes = NULL_ID
    seq: int = 0
    next_offset: int = 0
    in_group: bool = False
    in_message: bool = False
    is_last_in_group: bool = False
    in_unit: bool = False
    persistence: int = 0
    was_logical: bool = False

    @property
    def is_open(self) -> bool:
        """Whether there is a current group or a current logical message."""
        return self.in_group or self.in_message

    @property
    def next_position(self) -> tuple[int, int]:
        """MsgSeqNumber and Offset of what comes next in the current group or logical message."""
        return (self.seq, self.next_offset) if self.in_message else (self.seq + 1, 0)

    @property
    def incomplete(self) -> MQRC:
        """2242, 2241 or NONE: what is left unfinished; a logical message is named before its group."""
        if self.in_message:
            return MQRC.INCOMPLETE_MSG
        return MQRC.INCOMPLETE_GROUP if self.in_group else MQRC.NONE


#: No current group, no current logical message: as after the open.
NOTHING: Final = Retained()


class HandleOrder(NamedTuple):
    """The retained state of one queue handle, apart for each use of it.

    Attributes:
        gets: for calls that remove messages.
        browses: for calls that browse.
        puts: for MQPUT.
        browse_is_logical: whether the browse under way is in logical order; None before the first.
    """

    gets: Retained = NOTHING
    browses: Retained = NOTHING
    puts: Retained = NOTHING
    browse_is_logical: bool | None = None


#: Of a handle just opened.
UNUSED: Final = HandleOrder()


def stored_flags(flags: int) -> int:
    """MsgFlags that go with the message: a last message is in a group, a last segment is a segment.

    Both bits are set in the descriptor that is stored, and so in the one that MQGET returns. The descriptor of the
    program that puts keeps what the program set.
    """
    if flags & LAST_IN_GROUP:
        flags |= IN_GROUP
    if flags & LAST_SEGMENT:
        flags |= SEGMENT
    return flags


def retained_after(
    flags: int,
    group_id: bytes,
    seq: int,
    next_offset: int,
    *,
    in_unit: bool,
    was_logical: bool,
    persistence: int = 0,
) -> Retained:
    """The retained state once a message with these flags was put or got."""
    in_message = bool(flags & ANY_SEGMENT) and not flags & LAST_SEGMENT
    is_last = bool(flags & LAST_IN_GROUP)
    in_group = bool(flags & ANY_IN_GROUP) and (in_message or not is_last)
    if not (in_message or in_group):
        return NOTHING
    offset = next_offset if in_message else 0
    return Retained(group_id, seq, offset, in_group, in_message, is_last, in_unit, persistence, was_logical)


def judged(reason: MQRC, *, is_logical: bool, was_logical: bool) -> Completion:
    """The outcome of a call that is not consistent with what is retained (MQGMO, Table 17, which holds for puts too).

    Args:
        reason: NONE when the call is consistent.
        is_logical: the call specifies logical order.
        was_logical: so did the previous call of the same kind.
    """
    if not reason:
        return OK
    if is_logical:
        return Completion(MQCC.FAILED, reason)
    return Completion(MQCC.WARNING, reason) if was_logical else OK


def check_close(order: HandleOrder) -> Completion:
    """MQCLOSE: a warning (2242, 2241) when logical order was being used and a group or logical message is open.

    The handle is closed all the same. An open group of a browse is never checked. With both an unfinished get and an
    unfinished put, a logical message is named before a group.
    """
    reasons = [retained.incomplete for retained in (order.gets, order.puts) if retained.was_logical]
    for reason in (MQRC.INCOMPLETE_MSG, MQRC.INCOMPLETE_GROUP):
        if reason in reasons:
            return Completion(MQCC.WARNING, reason)
    return OK


# -- what MQGET tells of a message --------------------------------------------------------------------------------


def group_status(flags: int) -> bytes:
    """MQGMO.GroupStatus of a message with these flags."""
    if flags & LAST_IN_GROUP:
        return GroupStatus.LAST_MSG_IN_GROUP
    return GroupStatus.MSG_IN_GROUP if flags & IN_GROUP else GroupStatus.NOT_IN_GROUP


def segment_status(flags: int) -> bytes:
    """MQGMO.SegmentStatus of a message with these flags."""
    if flags & LAST_SEGMENT:
        return SegmentStatus.LAST_SEGMENT
    return SegmentStatus.SEGMENT if flags & SEGMENT else SegmentStatus.NOT_A_SEGMENT


def segmentation(flags: int) -> bytes:
    """MQGMO.Segmentation of a message with these flags."""
    return Segmentation.ALLOWED if flags & SEGMENTATION_ALLOWED else Segmentation.INHIBITED
