"""The puts of the model of groups: IBM's table of the fields that MQPUT sets, row by row."""

from __future__ import annotations

from dataclasses import replace

from sharedq.mqi.constants import MQRC
from tests.model.grouped_calls import (
    ANY_IN_GROUP,
    ANY_SEGMENT,
    IN_GROUP,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    MAY_SEGMENT,
    SEGMENT,
    Message,
    Open,
    Put,
)

UNIT = 16


def placed(asked: Put, current: Open | None, generated: bytes) -> tuple[MQRC, Message]:
    """The message with its group fields, and NONE, a warning or the reason of a refusal."""
    message, flags = asked.message, asked.message.flags
    flags |= IN_GROUP if flags & LAST_IN_GROUP else 0
    flags |= SEGMENT if flags & LAST_SEGMENT else 0
    if asked.logical and current:
        group_id, (seq, offset) = current.group_id, current.next
    elif asked.logical:
        group_id, seq, offset = generated if flags else b"", 1, 0
    else:
        group_id = (message.group_id or generated) if flags else b""
        seq = message.seq if flags & ANY_IN_GROUP else 1
        offset = message.offset if flags & ANY_SEGMENT else 0
    message = replace(message, group_id=group_id, seq=seq, offset=offset, flags=flags)
    if flags & ANY_SEGMENT and not flags & LAST_SEGMENT and not message.body:
        return MQRC.SEGMENT_LENGTH_ZERO, message
    return _leaves(asked, message, current), message


def _leaves(asked: Put, message: Message, current: Open | None) -> MQRC:
    """The reason why it does not continue the group, if that matters."""
    if current is None or not (asked.logical or current.was_logical):
        return MQRC.NONE
    goes_on = (message.group_id, message.seq, message.offset) == (current.group_id, *current.next)
    goes_on = goes_on and bool(message.flags & ANY_IN_GROUP) == current.in_group
    if current.in_message:
        goes_on = goes_on and message.is_segment and bool(message.flags & LAST_IN_GROUP) == current.is_last
    if not goes_on:
        return current.reason
    if message.persistence != current.persistence:
        return MQRC.INCONSISTENT_PERSISTENCE
    return MQRC.NONE if asked.in_unit == current.in_unit else MQRC.INCONSISTENT_UOW


def left_open(asked: Put, message: Message) -> Open | None:
    """The retained state after the put."""
    in_message = message.is_segment and not message.flags & LAST_SEGMENT
    is_last = bool(message.flags & LAST_IN_GROUP)
    in_group = bool(message.flags & IN_GROUP)
    if not (in_message or (in_group and not is_last)):
        return None
    offset = message.offset + len(message.body) if in_message else 0
    return Open(
        message.group_id,
        message.seq,
        offset,
        in_message,
        asked.in_unit,
        asked.logical,
        in_group,
        is_last,
        message.persistence,
    )


def pieces(message: Message, max_length: int) -> list[Message] | None:
    """The physical messages that hold it. None if it is too long."""
    if len(message.body) <= max_length:
        return [message]
    if not message.flags & MAY_SEGMENT:
        return None
    step = max_length - max_length % UNIT
    ends = range(step, len(message.body) + step, step)
    parts = [(end - step, message.body[end - step : end]) for end in ends]
    is_end = not message.is_segment or message.flags & LAST_SEGMENT
    found = []
    for at, part in parts:
        flags = (message.flags | SEGMENT) & ~LAST_SEGMENT
        if is_end and at + step >= len(message.body):
            flags |= LAST_SEGMENT
        found.append(replace(message, body=part, offset=message.offset + at, flags=flags))
    return found
