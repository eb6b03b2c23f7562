"""Helpers for tests of groups: puts of members in any order, and the results of gets."""

from __future__ import annotations

from typing import Any

from sharedq.api import Queue
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, MsgFlag, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE
LOGICAL = GetOption.LOGICAL_ORDER
WHOLE_GROUP = GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE
MIG, LMIG = int(MsgFlag.MSG_IN_GROUP), int(MsgFlag.LAST_MSG_IN_GROUP)
SEG, LSEG = int(MsgFlag.SEGMENT), int(MsgFlag.LAST_SEGMENT)
MAY_SEGMENT = int(MsgFlag.SEGMENTATION_ALLOWED)


def put_member(
    queue: Queue,
    group: bytes,
    seq: int,
    body: bytes,
    flags: int = MIG,
    *,
    offset: int = 0,
    options: int = 0,
    **fields: Any,
) -> MQMD:
    """Put one message of a group, or a segment, with its place given: not in logical order."""
    md = MQMD(version=2, group_id=group.ljust(24, b"."), msg_seq_number=seq, offset=offset, msg_flags=flags, **fields)
    return queue.put(body, md, options=options)


def put_logical(queue: Queue, body: bytes, flags: int = 0, *, options: int = 0, **fields: Any) -> MQMD:
    """Put the next message in logical order."""
    md = MQMD(version=2, msg_flags=flags, **fields)
    return queue.put(body, md, options=int(PutOption.LOGICAL_ORDER) | options)


def take(queue: Queue, options: int = 0, **kwargs: Any) -> bytes:
    """Body of the message that a get returns; b"" if there is none."""
    try:
        return queue.get(options, **kwargs).body
    except MQIError as error:
        if error.reason == MQRC.NO_MSG_AVAILABLE:
            return b""
        raise


def drain(queue: Queue, options: int = 0, **kwargs: Any) -> list[bytes]:
    """Bodies of all that gets return."""
    bodies: list[bytes] = []
    while body := take(queue, options, **kwargs):
        bodies.append(body)
    return bodies


def browse_all(queue: Queue, options: int = 0) -> list[bytes]:
    """Bodies of all that a browse from the start returns."""
    bodies: list[bytes] = []
    how = int(GetOption.BROWSE_FIRST)
    while body := take(queue, how | options):
        bodies.append(body)
        how = int(GetOption.BROWSE_NEXT)
    return bodies


def matching(group: bytes = b"", seq: int = 0, offset: int = -1, **fields: Any) -> dict[str, Any]:
    """Arguments of ``Queue.get`` that match the given values."""
    md, by = MQMD(version=2, **fields), 0
    if group:
        md.group_id, by = group.ljust(24, b"."), by | MatchOption.MATCH_GROUP_ID
    if seq:
        md.msg_seq_number, by = seq, by | MatchOption.MATCH_MSG_SEQ_NUMBER
    if offset >= 0:
        md.offset, by = offset, by | MatchOption.MATCH_OFFSET
    if "correl_id" in fields:
        by |= MatchOption.MATCH_CORREL_ID
    if "msg_id" in fields:
        by |= MatchOption.MATCH_MSG_ID
    return {"match": md, "match_options": by}


def reason_of(queue: Queue, options: int = 0, **kwargs: Any) -> MQRC:
    """The reason that a get ends with, failed or not."""
    try:
        return queue.get(options, **kwargs).reason
    except MQIError as error:
        return error.reason


def place(message: Message) -> tuple[int, int, int]:
    """MsgSeqNumber, Offset and MsgFlags."""
    return message.md.msg_seq_number, message.md.offset, message.md.msg_flags
