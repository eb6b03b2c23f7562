"""Finds the message groups that a consumer's batch has as a whole. Pure.

Several consumers drain one shared queue, in batches and in physical order, so a batch may begin or end within a group.
Nevertheless one consumer must get the group, in order: the one that has its beginning asks for the rest, and one that
has a later member without the beginning gives everything back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sharedq.mqi.constants import MsgFlag
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD

_LAST = int(MsgFlag.LAST_MSG_IN_GROUP)


@dataclass(frozen=True, slots=True)
class Wholeness:
    """The state of the groups in a batch.

    Attributes:
        is_headless: there is a member without its predecessor, or before it.
        missing: GroupId and MsgSeqNumber of the next member, for groups whose end is not there.
    """

    is_headless: bool
    missing: tuple[tuple[bytes, int], ...]


def wholeness(batch: Iterable[MQMD]) -> Wholeness:
    """Check the groups of a batch, in the order in which it was got."""
    next_seq: dict[bytes, int] = {}
    for md in batch:
        if md.group_id == NULL_ID:
            continue
        if md.msg_seq_number != next_seq.get(md.group_id, 1):
            return Wholeness(is_headless=True, missing=())
        next_seq[md.group_id] = 0 if is_last(md) else md.msg_seq_number + 1
    return Wholeness(is_headless=False, missing=tuple((group, seq) for group, seq in next_seq.items() if seq))


def is_within(md: MQMD) -> bool:
    """Whether more messages of its group follow."""
    return md.group_id != NULL_ID and not is_last(md)


def is_last(md: MQMD) -> bool:
    """Whether the message ends its group."""
    return bool(md.msg_flags & _LAST)
