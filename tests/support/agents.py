"""The parts of an IGQ agent, run step by step, and what is on the queues it delivers to."""

from __future__ import annotations

from collections.abc import Callable

from igq.agent.carry import Carrier
from igq.agent.deliver import Deliverer
from igq.agent.pulse import Pulse
from igq.agent.transmit_queue import Moved, TransmitQueue
from sharedq.api import QueueManagerConnection
from sharedq.message import Message
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from tests.support.members import TestGroup

#: Puts a message on a queue of QM2: name, body, fields of its descriptor.
Put = Callable[..., MQMD]


class AgentOfQM2:
    """The parts of QM2's agent, run step by step."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        self.said: list[str] = []
        self.pulse = Pulse()
        self.connection = group.connect("QM2").connection
        self.queue = TransmitQueue(self.connection)
        self.carrier = Carrier(self.connection, self.pulse)
        self.deliverer = Deliverer(
            self.connection, lambda message_id, _: self.said.append(message_id), SYSTEM_QSG_TRANSMIT_QUEUE, self.pulse
        )

    def move(self) -> Moved:
        """Move until nothing more can be moved."""
        while True:
            moved = self.queue.move()
            if moved.is_stuck or not moved.left:
                return moved

    def deliver(self) -> int:
        """Move, then deliver what is left by puts."""
        return self.deliverer.deliver(self.queue.take()) if self.move().is_stuck else 0

    def carry(self) -> list[int]:
        """Carry what is on the queue, batch by batch, as long as that can be done; messages of each batch."""
        carried: list[int] = []
        messages = self.queue.take()
        while messages and self.carrier.carry(messages, self.queue.unchecked_version or ""):
            carried.append(len(messages))
            messages = self.queue.commit_and_take()
        self.connection.backout()
        return carried


def drain(connection: QueueManagerConnection, queue: str) -> list[Message]:
    found: list[Message] = []
    with connection.open(queue, OpenOption.INPUT_SHARED) as source:
        while True:
            try:
                found.append(source.get(GetOption.NO_SYNCPOINT))
            except NoMsgAvailable:
                return found


def bodies(group: TestGroup, queue: str, qmgr: str = "QM2") -> list[bytes]:
    return [message.body for message in drain(group.connect(qmgr), queue)]
