"""The parts of a delivery that make spans: one for each batch.

A script moves most messages by their ids and reads no data, so a batch of moved messages has no links. The agent has
the data of a batch that it carries to another structure or delivers by puts: the span of the batch has links.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache

from igq.agent.delivery.put_delivery import Deliverer
from igq.agent.delivery.record_delivery import Carrier
from igq.agent.queues.transmit_part import Moved, TransmitPart
from sharedq.messages.message import Message
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.redis.link import Reply
from sharedq.tracing.spans import Spans


@cache
def _spans() -> Spans:
    """The spans of the process."""
    return Spans()


class TracedPart(TransmitPart):
    """A part of the transmit queue that tells how many messages it has moved."""

    def _moved(self, replies: list[Reply], *, learns_later: bool = False) -> Moved:
        moved = super()._moved(replies, learns_later=learns_later)
        if moved.count:
            _spans().moved(SYSTEM_QSG_TRANSMIT_QUEUE, self._connection.qmgr_name, moved.count)
        return moved


class TracedCarrier(Carrier):
    """A carrier that makes a span for each batch."""

    def carry(self, messages: Sequence[Message], authority_version: str) -> bool:
        begin_ns = time.time_ns()
        is_carried = super().carry(messages, authority_version)
        if is_carried:
            qmgr = self._connection.qmgr_name
            _spans().moved(SYSTEM_QSG_TRANSMIT_QUEUE, qmgr, len(messages), messages, begin_ns)
        return is_carried


class TracedDeliverer(Deliverer):
    """A deliverer that makes a span for each batch."""

    def deliver(self, messages: Sequence[Message]) -> int:
        begin_ns = time.time_ns()
        delivered = super().deliver(messages)
        if messages:
            _spans().moved(self._source, self._connection.qmgr_name, len(messages), messages, begin_ns)
        return delivered
