"""Groups and segments of an MQPUT: what place messages get, and which physical messages they are stored as."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields

from sharedq.calls.outgoing.descriptor import complete_descriptor, resolve_reply_to
from sharedq.logical import NOTHING, HandleOrder, PutPosition, after_put, put_position, split
from sharedq.messages.context import new_identifier
from sharedq.messages.extension import has_group_fields
from sharedq.mqi.constants import MQRC, PutOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD, copied
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

_LOGICAL_ORDER = int(PutOption.LOGICAL_ORDER)


@dataclass(slots=True)
class Pieces:
    """Messages as they are stored: each as one physical message, or in segments.

    Attributes:
        first: for each message the place of its first piece.
        before: what the handle retains before each message, and ``order`` once all of them are stored.
        is_segmented: a message had to be split; ``is_persistent`` says whether a message that was split is persistent.
    """

    messages: list[tuple[MQMD, bytes]]
    first: list[int]
    before: list[HandleOrder]
    order: HandleOrder
    warning: MQRC = MQRC.NONE
    is_segmented: bool = False
    is_persistent: bool = False

    def order_after(self, stored: int) -> HandleOrder:
        """The state that the handle retains when so many of the physical messages are stored and the rest are not."""
        at = bisect_left(self.first, stored)
        return self.before[at] if at < len(self.before) else self.order


def are_grouped(handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int) -> bool:
    """Whether a message has group or segment fields, or the put or its handle uses logical order."""
    if options & _LOGICAL_ORDER or handle.order.puts is not NOTHING:
        return True
    # A loop takes half the time of a generator.
    for md, _ in messages:  # noqa: SIM110
        if has_group_fields(md):
            return True
    return False


def split_up(connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int) -> Pieces:
    """The physical messages to store, by the handle's definition; *messages* get the fields they are put with.

    Raises:
        MQIError: what ``sharedq.logical`` refuses, and everything that is wrong with a descriptor.
    """
    result = Pieces([], [], [], handle.order)
    facts = handle.definition.facts
    for md, body in messages:
        resolve_reply_to(connection, md)
        result.warning = complete_descriptor(connection, handle, md, options) or result.warning
        is_remote = facts.is_transmission or bool(handle.destination)
        position = put_position(result.order.puts, options, md, len(body), for_transmission=is_remote)
        if not isinstance(position, PutPosition):
            raise error_for(position, "MQPUT", handle.object_name)
        group_id = position.group_id
        if group_id is None:
            group_id = handle.puts.next_group_id or new_identifier(connection.origin)
        segments = split(body, position.msg_flags, facts.max_msg_length, offset=position.offset)
        if not isinstance(segments, list):
            detail = f"{len(body)} bytes, MAXMSGL({facts.max_msg_length})"
            raise error_for(segments, "MQPUT", handle.object_name, detail)
        result.first.append(len(result.messages))
        result.before.append(result.order)
        stored = copied(
            md,
            group_id=group_id,
            msg_seq_number=position.msg_seq_number,
            offset=position.offset,
            msg_flags=position.msg_flags,
            original_length=position.original_length,
        )
        if len(segments) > 1:
            result.is_segmented = True
            result.is_persistent |= bool(md.persistence)
            result.messages += [
                (copied(stored, offset=at, msg_flags=flags, original_length=len(part)), part)
                for at, flags, part in segments
            ]
            # A report that has less than all data of a segment takes up the whole place of that.
            last, part = result.messages[-1]
            last.original_length = max(len(part), position.offset + position.original_length - last.offset)
        else:
            result.messages.append((stored, body))
        result.warning = result.warning or position.warning
        result.order = after_put(result.order, options, position, group_id=group_id, persistence=md.persistence)
        if md.version > 1:
            md.group_id, md.msg_seq_number, md.offset = group_id, position.msg_seq_number, position.offset
    return result


def return_times(messages: Sequence[tuple[MQMD, bytes]], pieces: Pieces) -> None:
    """Write into the descriptors of *messages* when their pieces were put."""
    for (md, _), first in zip(messages, pieces.first, strict=False):
        stored, _ = pieces.messages[first]
        md.put_date, md.put_time = stored.put_date, stored.put_time


def copy_fields(md: MQMD, source: MQMD) -> None:
    for each in fields(MQMD):
        setattr(md, each.name, getattr(source, each.name))
