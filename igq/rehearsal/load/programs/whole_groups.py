"""Which message groups a consumer's batch has whole. Pure.

Several consumers drain one shared queue, in batches and in physical order, so a batch may end or begin within a
group. The group shall nevertheless be got by one consumer, in order: who has its beginning asks for the rest;
who has a later member without the beginning gives everything back.
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
    """What a batch has of its groups.

    Attributes:
        is_headless: a member is there whose predecessor is not, or comes behind it.
        missing: GroupId and MsgSeqNumber to go on with, for groups whose end is not there.
    """

    is_headless: bool
    missing: tuple[tuple[bytes, int], ...]


def wholeness(batch: Iterable[MQMD]) -> Wholeness:
    """Look at the groups of a batch, in the order in which it was got."""
    next_seq: dict[bytes, int] = {}
    for md in batch:
        if md.group_id == NULL_ID:
            continue
        if md.msg_seq_number != next_seq.get(md.group_id, 1):
            return Wholeness(is_headless=True, missing=())
        next_seq[md.group_id] = 0 if is_last(md) else md.msg_seq_number + 1
    return Wholeness(is_headless=False, missing=tuple((group, seq) for group, seq in next_seq.items() if seq))


def is_last(md: MQMD) -> bool:
    """Whether the message ends its group."""
    return bool(md.msg_flags & _LAST)
