"""Delivery from one part of SYSTEM.QSG.TRANSMIT.QUEUE: serialize, open, choose the way, deliver, wait, retry."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from igq.agent.delivery.put_delivery import Deliverer
from igq.agent.delivery.record_delivery import Carrier
from igq.agent.queues.transmission_queue import WAIT_S, as_trouble
from igq.agent.queues.transmit_part import TransmitPart
from igq.agent.services.base import Post, Service
from sharedq.messages.message import Message
from sharedq.mqi.errors import MQIError
from sharedq.objects.store.parts import Place
from sharedq.session.connection import Connection

APPL_NAME = "IGQ agent"
_Makers = tuple[type[TransmitPart], type[Carrier], type[Deliverer]]


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


@dataclass(slots=True)
class _Open:
    """The part's queue, the two ways to deliver its batches, and the messages of the batch in hand."""

    queue: TransmitPart
    carrier: Carrier
    deliverer: Deliverer
    messages: list[Message] = field(default_factory=list)


class PartService(Service):
    """Delivers what is on one part. If it loses its connection, the agent is started again.

    Args:
        part: a part of the manager that the post's process belongs to.
        tag: the connection tag.
    """

    def __init__(self, post: Post, part: Place, tag: bytes) -> None:
        super().__init__(post, part.queue, tag, APPL_NAME, APPL_NAME)
        self._part = part
        self._makers: _Makers = (TransmitPart, Carrier, Deliverer)
        if post.group.settings.tracing:
            from igq.agent.services.delivery_spans import TracedCarrier, TracedDeliverer, TracedPart

            self._makers = (TracedPart, TracedCarrier, TracedDeliverer)
        self._deliverer: Deliverer | None = None
        self._opened: _Open | None = None
        self._steps = {
            Way.HOP: self._hop,
            Way.TAKE: self._take,
            Way.CARRY: self._carry,
            Way.COMMIT: self._commit,
            Way.PUT: self._put,
            Way.WAIT: self._wait,
        }

    def _open(self, connection: Connection) -> None:
        make_queue, make_carrier, make_deliverer = self._makers
        if self._deliverer is None:
            self._deliverer = make_deliverer(connection, self._say, self._part.queue, self._pulse)
        if self._opened is None:
            carrier = make_carrier(connection, self._part.structure, self._pulse)
            try:
                queue = make_queue(connection, self._part)
            except MQIError as error:
                # The structure may be gone before it is entered.
                raise as_trouble(error) from error
            self._opened = _Open(queue, carrier, self._deliverer)

    def _close(self) -> None:
        self._opened = None

    def _round(self) -> None:
        it = self._opened
        assert it is not None
        moved = it.queue.move()
        self._count(moved.count)
        known = Known(moved.is_waiting, moved.is_stuck)
        while (way := next_way(known)) is not Way.MOVE:
            known = self._steps[way](it, known)
        self._succeeded()

    def _hop(self, it: _Open, known: Known) -> Known:
        self._succeeded()
        with self._pulse.resting(WAIT_S):
            moved, it.messages = it.queue.wait_and_move(may_take=it.carrier.is_in_use)
        self._count(moved.count)
        # Tell the others through the process, which ends its connections' waits one after the other.
        if it.queue.is_quiescing:
            self._is_stopping = True
        # The next move shows whether the agent is still registered as waiting.
        return self._taken(it, known._replace(is_waiting=False, is_stuck=moved.is_stuck), Batch.NONE)

    def _take(self, it: _Open, known: Known) -> Known:
        if known.batch is Batch.CARRIED:
            carried, it.messages = len(it.messages), it.queue.commit_and_take()
            self._succeeded()
            self._count(carried)
            return self._taken(it, known, Batch.DONE)
        it.messages = it.queue.take()
        if known.batch is Batch.BACKED_OUT:
            return known._replace(batch=Batch.NOT_CARRIED)
        return self._taken(it, known, Batch.MISSING)

    def _taken(self, it: _Open, known: Known, otherwise: Batch) -> Known:
        """Note a batch in hand, or if there is none, *otherwise*."""
        is_checked = it.queue.unchecked_version is None
        return known._replace(batch=Batch.TAKEN if it.messages else otherwise, is_checked=is_checked)

    def _carry(self, it: _Open, known: Known) -> Known:
        queue, carrier = it.queue, it.carrier
        is_carried = carrier.carry(it.messages, queue.unchecked_version or "")
        if carrier.has_own or not is_carried:
            queue.destinations.look_again()
        if not is_carried:
            return known._replace(batch=Batch.NOT_CARRIED if queue.has_taken else Batch.BACKED_OUT)
        return known._replace(batch=Batch.CARRIED_TO_OWN if carrier.has_own else Batch.CARRIED)

    def _commit(self, it: _Open, known: Known) -> Known:
        it.queue.commit()
        self._succeeded()
        self._count(len(it.messages))
        return known._replace(batch=Batch.DONE)

    def _put(self, it: _Open, known: Known) -> Known:
        self._deliver_by_puts(it.deliverer, it.queue, it.messages)
        return known._replace(batch=Batch.DONE)

    def _wait(self, it: _Open, known: Known) -> Known:
        self._succeeded()
        with self._pulse.resting(WAIT_S):
            if not it.queue.wait():
                self._is_stopping = True
        return known._replace(batch=Batch.DONE)

    def _tell_trouble(self, fields: dict[str, object]) -> None:
        self._say("CSQM065E", fields)

    def _tell_running(self) -> None:
        if self._state.state == "RETRY":
            self._say("IGQ0021I", {})
