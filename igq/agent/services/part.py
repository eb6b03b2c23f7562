"""Delivery from one part of SYSTEM.QSG.TRANSMIT.QUEUE: serialize, open, deliver, wait, retry."""

from __future__ import annotations

from dataclasses import dataclass

from igq.agent.delivery.put_delivery import Deliverer
from igq.agent.delivery.record_delivery import Carrier
from igq.agent.queues.shared_part import TransmitQueue
from igq.agent.queues.transmission_queue import WAIT_S, as_trouble
from igq.agent.services.base import Post, Service
from sharedq.messages.message import Message
from sharedq.mqi.errors import MQIError
from sharedq.objects.store.parts import Place
from sharedq.session.connection import Connection

APPL_NAME = "IGQ agent"
_Makers = tuple[type[TransmitQueue], type[Carrier], type[Deliverer]]


@dataclass(frozen=True, slots=True)
class _Open:
    queue: TransmitQueue
    carrier: Carrier
    deliverer: Deliverer


class Delivery(Service):
    """Delivers what is on one part. If it loses its connection, the agent is started again.

    Args:
        part: a part of the manager that the post's process belongs to.
        tag: the connection tag.
    """

    def __init__(self, post: Post, part: Place, tag: bytes) -> None:
        super().__init__(post, part.queue, tag, APPL_NAME, APPL_NAME)
        self._part = part
        self._makers: _Makers = (TransmitQueue, Carrier, Deliverer)
        if post.group.settings.tracing:
            from igq.agent.services.delivery_spans import TracedCarrier, TracedDeliverer, TracedQueue

            self._makers = (TracedQueue, TracedCarrier, TracedDeliverer)
        self._deliverer: Deliverer | None = None
        self._opened: _Open | None = None

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
        moved, messages = it.queue.move(), list[Message]()
        self._count(moved.count)
        if moved.is_waiting:
            self._succeeded()
            with self._pulse.resting(WAIT_S):
                moved, messages = it.queue.wait_and_move(may_take=it.carrier.is_in_use)
            self._count(moved.count)
            # Tell the others through the process, which ends its connections' waits one after the other.
            if it.queue.is_quiescing:
                self._is_stopping = True
        if moved.is_stuck and not messages:
            messages = it.queue.take()
        is_idle = moved.is_stuck and not messages
        self._deliver(it, messages)
        self._succeeded()
        if is_idle:
            # While authorities are checked, messages are not moved, so do not wait for a move.
            with self._pulse.resting(WAIT_S):
                if not it.queue.wait():
                    self._is_stopping = True

    def _deliver(self, it: _Open, messages: list[Message]) -> None:
        """Deliver what cannot be moved: by records, batch by batch, while that works; the rest of a batch by puts."""
        queue, carrier = it.queue, it.carrier
        while messages and (version := queue.unchecked_version) is not None:
            carried = len(messages)
            is_carried = carrier.carry(messages, version)
            if carrier.has_own or not is_carried:
                queue.destinations.look_again()
            if not is_carried:
                break
            if carrier.has_own:
                # The messages that follow can be moved.
                queue.commit()
                messages = []
            else:
                messages = queue.commit_and_take()
            self._succeeded()
            self._count(carried)
        # Only part of the batch could be carried, so all of it went back.
        if messages and not queue.has_taken:
            messages = queue.take()
        self._deliver_by_puts(it.deliverer, queue, messages)

    def _tell_trouble(self, fields: dict[str, object]) -> None:
        self._say("CSQM065E", fields)

    def _tell_running(self) -> None:
        if self._state.state == "RETRY":
            self._say("IGQ0021I", {})
