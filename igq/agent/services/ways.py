"""The way that the messages of a part take next, chosen from what is known of them. Pure: nothing here calls Redis."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class Way(Enum):
    """A way of delivery (MOVE, HOP, CARRY, PUT), or a step before or after one."""

    #: A script moves the ids of messages in their structure, and reads no message. A round begins with this way.
    MOVE = auto()
    #: The agent waits. Puts move their messages themselves; the agent moves the others at the moment they arrive.
    HOP = auto()
    #: Get a batch under syncpoint, because its first message cannot be moved. A batch that was carried is committed.
    TAKE = auto()
    #: Put the stored records of the batch on queues of other structures.
    CARRY = auto()
    #: Put the messages of the batch as a program would, report on them, or dead-letter them.
    PUT = auto()
    #: Commit the batch, because the messages after it can be moved.
    COMMIT = auto()
    #: Wait for a message without moving any: moves are not allowed while authorities are checked.
    WAIT = auto()


class Batch(Enum):
    """The batch of a round: the messages that the agent gets under syncpoint."""

    #: No batch was got yet.
    NONE = auto()
    #: The agent looked for a batch in vain.
    MISSING = auto()
    #: The batch is in hand.
    TAKEN = auto()
    #: The batch is on the queues of its messages, not yet committed.
    CARRIED = auto()
    #: The same, and some of the messages could have been moved.
    CARRIED_TO_OWN = auto()
    #: The batch is in hand and cannot be carried.
    NOT_CARRIED = auto()
    #: The batch could be carried in part only, and is back on the transmit queue.
    BACKED_OUT = auto()
    #: The batch was delivered and committed.
    DONE = auto()


class Known(NamedTuple):
    """All that the choice depends on.

    Attributes:
        is_waiting: the last move found nothing, and the next put wakes the agent.
        is_stuck: the first message cannot be moved.
        is_checked: authorities must be checked, for which messages must be read.
    """

    is_waiting: bool = False
    is_stuck: bool = False
    batch: Batch = Batch.NONE
    is_checked: bool = False


def next_way(known: Known) -> Way:
    """Return the way to go on. MOVE ends the round: the next one begins."""
    match known.batch:
        case Batch.NONE if known.is_waiting:
            return Way.HOP
        case Batch.NONE if known.is_stuck:
            return Way.TAKE
        case Batch.TAKEN:
            return Way.PUT if known.is_checked else Way.CARRY
        case Batch.NOT_CARRIED:
            return Way.PUT
        case Batch.CARRIED | Batch.BACKED_OUT:
            return Way.TAKE
        case Batch.CARRIED_TO_OWN:
            return Way.COMMIT
        case Batch.MISSING:
            return Way.WAIT
    return Way.MOVE
