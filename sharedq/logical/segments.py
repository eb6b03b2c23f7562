"""Logical messages in pieces: how the queue manager splits one, and puts one together again.

Source: IBM MQ reference, MQMF_SEGMENTATION_ALLOWED; MQGMO, MQGMO_COMPLETE_MSG.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sharedq.logical.retained import ANY_SEGMENT, LAST_SEGMENT, SEGMENT, SEGMENTATION_ALLOWED
from sharedq.mqi.constants import MQRC, MsgType
from sharedq.mqi.limits import MAX_MSG_LENGTH
from sharedq.mqi.structures import MQMD, copied

#: The queue manager splits after a multiple of this many bytes, so no data item of up to 16 bytes is torn.
SEGMENT_UNIT: Final = 16


class Segment(NamedTuple):
    """One physical message: where its data starts in the logical message (bytes), its MsgFlags, its data."""

    offset: int
    msg_flags: int
    body: bytes


class Reassembled(NamedTuple):
    """The message that MQGMO_COMPLETE_MSG returns.

    Attributes:
        md: of the first segment, but with flags that say it is the only one; when ``reason`` is a warning, that it
            is a segment and more follow.
        used: how many of the segments are in it.
        reason: NONE, or the warning 2243 or 2244.
    """

    md: MQMD
    body: bytes
    used: int
    reason: MQRC


def split(
    body: bytes, flags: int, max_length: int, *, offset: int = 0, qmgr_max_length: int = MAX_MSG_LENGTH
) -> list[Segment] | MQRC:
    """The physical messages that hold a message put: itself if it fits, else segments that do.

    A message that is a segment itself is split further. Only the piece that ends the logical message is its last
    segment. Segmentation stays allowed for each piece, so that a queue further on may split again.

    Args:
        flags: MsgFlags as stored.
        max_length: MAXMSGL of the queue, bytes.
        offset: of the message in its logical message.
        qmgr_max_length: MAXMSGL of the queue manager, bytes.

    Returns:
        The segments in order; or 2030 (the queue's limit) or 2031 (the queue manager's) when segmentation is not
        allowed, or not even 16 bytes fit.
    """
    limit = min(max_length, qmgr_max_length)
    if len(body) <= limit:
        return [Segment(offset, flags, body)]
    step = limit // SEGMENT_UNIT * SEGMENT_UNIT
    if not flags & SEGMENTATION_ALLOWED or not step:
        return MQRC.MSG_TOO_BIG_FOR_Q if max_length <= qmgr_max_length else MQRC.MSG_TOO_BIG_FOR_Q_MGR
    ends_message = not flags & ANY_SEGMENT or flags & LAST_SEGMENT
    middle = (flags | SEGMENT) & ~LAST_SEGMENT
    pieces = [Segment(offset + at, middle, body[at : at + step]) for at in range(0, len(body), step)]
    if ends_message:
        pieces[-1] = pieces[-1]._replace(msg_flags=middle | LAST_SEGMENT)
    return pieces


def reassembled(segments: Sequence[tuple[MQMD, bytes]]) -> Reassembled:
    """A logical message from its segments, from Offset 0 to the last, in order.

    Where character sets or encodings differ, only the leading segments that agree are put together, with the warning
    2243 or 2244; those not used must stay on the queue. Data missing in a report about a segment becomes nulls.

    Raises:
        ValueError: the segments are not one whole logical message.
    """
    first = segments[0][0]
    if not first.msg_flags & ANY_SEGMENT:
        if len(segments) != 1 or first.offset:
            raise ValueError("a message that is no segment stands alone")
        return Reassembled(copied(first), segments[0][1], 1, MQRC.NONE)
    parts: list[bytes] = []
    end = used = 0
    reason = MQRC.NONE
    for position, (md, body) in enumerate(segments):
        if md.offset != end or bool(md.msg_flags & LAST_SEGMENT) != (position == len(segments) - 1):
            raise ValueError(f"segment {position} at offset {md.offset} does not follow what ends at {end}")
        part = body.ljust(md.original_length, b"\0") if md.msg_type == MsgType.REPORT else body
        end += len(part)
        reason = reason or _disagreement(first, md)
        if not reason:
            parts.append(part)
            used += 1
    flags = first.msg_flags | SEGMENT
    flags = flags & ~LAST_SEGMENT if reason else flags | LAST_SEGMENT
    return Reassembled(copied(first, msg_flags=flags), b"".join(parts), used, reason)


def _disagreement(first: MQMD, md: MQMD) -> MQRC:
    if md.coded_char_set_id != first.coded_char_set_id:
        return MQRC.INCONSISTENT_CCSIDS
    return MQRC.NONE if md.encoding == first.encoding else MQRC.INCONSISTENT_ENCODINGS
