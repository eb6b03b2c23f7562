"""Makes messages from the replies of the scripts that get them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharedq.messages.extension import has_group_fields
from sharedq.messages.message import Message
from sharedq.messages.record import ID_NEEDS_LOOK, RECORD_EXPIRY, record_flags
from sharedq.mqi.constants import MQRC
from sharedq.objects.definitions.names import PART_SEPARATOR
from sharedq.redis.keys import private_structure
from sharedq.redis.link import Reply
from sharedq.session.handle import Handle, Seen, StructureAccess

Clock = Callable[[StructureAccess], int]


def room_for(message: Message, max_length: int, front: int) -> int:
    """The room for the data of a message, bytes: *front* of the buffer are not for a member of a group, or a segment.

    Below zero, not even an empty message fits.
    """
    return max_length - front if front and message.has_group and has_group_fields(message.md) else max_length


def decode(
    handle: Handle, reply: Reply, max_length: int, clock: Clock, front: int = 0
) -> tuple[list[Message], Seen | None]:
    """Messages of a reply of structure/get or structure/get_grouped; ``max_length`` cuts them.

    Returns:
        The messages, and what the get has seen of the queue; None of structure/get, which does not look.

    Args:
        clock: tells what Redis' clock says where a structure is, ms; asked where a message expires.
    """
    if type(reply[2]) is list:
        return _decode_grouped(handle, reply, max_length, clock, front)
    # Only an id that ends in "x" can be that of a message that expires.
    now_ms = _now_ms(handle.structure, reply[3], clock) if ID_NEEDS_LOOK in reply[2] else 0
    messages = _decode_records(handle, reply[2].split(), reply[3], now_ms)
    if reply[0]:
        messages[0].reason = MQRC(int(reply[0]))
        messages[0].data_length = int(reply[1])
        if messages[0].data_length > max_length:
            messages[0].cut(max_length)
    return messages, None


def _now_ms(access: StructureAccess, records: Sequence[bytes], clock: Clock) -> int:
    return clock(access) if any(record_flags(record) & RECORD_EXPIRY for record in records) else 0


def _decode_grouped(
    handle: Handle, reply: Reply, max_length: int, clock: Clock, front: int
) -> tuple[list[Message], Seen]:
    """Of structure/get_grouped; segments that belong together are put together."""
    reason, length, (_, left, segments, *for_handle), *records = reply
    seen = Seen(left not in (None, b"0"), *map(bool, for_handle))
    messages = _decode_records(handle, records[::2], records[1::2], _now_ms(handle.structure, records[1::2], clock))
    first = messages[0]
    if int(segments):
        first.put_together(messages)
        messages = [first]
    first.data_length = int(length)
    room = room_for(first, max_length, front)
    if first.data_length > room:
        first.cut(room)
        # Another warning comes before 2079, a cut message that is taken. 2080, a message that stays, comes before all.
        if not first.reason or reason == MQRC.TRUNCATED_MSG_FAILED:
            first.reason = MQRC(reason)
    return messages, seen


def _decode_records(handle: Handle, ids: Sequence[bytes], records: Sequence[bytes], now_ms: int) -> list[Message]:
    number = handle.structure.number
    if len(records) == 1:
        # A loop in a list costs a single get more than all else here.
        messages = [Message((records[0], ids[0], number, now_ms))]
    else:
        messages = [Message((record, each, number, now_ms)) for each, record in zip(ids, records, strict=True)]
    if handle.adds_headers and handle.definition.facts.is_transmission:
        # A part of the transmit queue is named after the manager that it is for, or is in its structure.
        named = handle.name.partition(PART_SEPARATOR)[2] or handle.structure.keys.name.removeprefix(
            private_structure("")
        )
        remote_qmgr = named.encode()
        for message in messages:
            if message.destination:
                message.wrap(message.destination, remote_qmgr)
    return messages
