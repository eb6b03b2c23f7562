"""The parts of an IGQ agent, run step by step, and the queues that it delivers to."""

from __future__ import annotations

from collections.abc import Callable

from igq.agent.delivery.put_delivery import Deliverer
from igq.agent.delivery.record_delivery import Carrier
from igq.agent.progress.pipe import Pulse
from igq.agent.progress.report import AgentState, write_agent_state
from igq.agent.queues.transmit_part import Moved, TransmitPart
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.commit import backout
from sharedq.members.group import Group
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.parts import Place, own_part, parts_of
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from tests.support.members import TestGroup

#: Puts a message on a queue of QM2: name, body, fields of its descriptor.
Put = Callable[..., MQMD]


class AgentOfQM2:
    """The parts of QM2's agent, run step by step.

    Args:
        part: of the transmission queue that it serves; default that in QM2's own structure.
    """

    def __init__(self, group: TestGroup, part: Place | None = None) -> None:
        self.group, self.part = group, part or own_part("QM2")
        self.said: list[str] = []
        self.pulse = Pulse()
        self.connection = group.connect("QM2").connection
        self.queue = TransmitPart(self.connection, self.part)
        self.carrier = Carrier(self.connection, self.part.structure, self.pulse)
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
        """Move, then deliver the rest by puts."""
        return sum(self.deliverer.deliver_from(self.queue, self.queue.take())) if self.move().is_stuck else 0

    def serve(self) -> None:
        """Deliver the messages on the queue, and wait."""
        while not (moved := self.queue.move()).is_waiting:
            messages = self.queue.take() if moved.is_stuck else []
            if messages and self.carrier.carry(messages, self.queue.unchecked_version or ""):
                self.queue.commit()
            else:
                sum(self.deliverer.deliver_from(self.queue, messages if self.queue.has_taken else []))

    def carry(self) -> list[int]:
        """Carry the messages on the queue, batch by batch, as long as possible. Returns the messages of each batch."""
        carried: list[int] = []
        messages = self.queue.take()
        while messages and self.carrier.carry(messages, self.queue.unchecked_version or ""):
            carried.append(len(messages))
            messages = self.queue.commit_and_take()
        backout(self.connection)
        return carried


def show_agent(group: TestGroup, qmgr: str, state: AgentState) -> None:
    """Have an agent of *qmgr* show *state*."""
    write_agent_state(group.group, group.process(qmgr).token, state)


def transfer_call(connection: Connection, source: Handle, target: Handle, base: str = "") -> ScriptCall:
    """The call that moves what was put on *source* itself to *target*, which is in the same structure.

    Args:
        base: see structure/transfer.
    """
    keys, of_source, of_target = source.structure.keys, source.queue, target.queue
    script_keys = [keys.owners, keys.sequence, keys.messages, of_source.queue, of_source.available, of_source.index]
    script_keys += [keys.expiry, keys.wake, keys.journal, keys.versions, of_source.waiters]
    script_keys += [keys.wake + connection.token]
    script_keys += [of_target.queue, of_target.available, of_target.index, of_target.waiters, of_target.groups]
    script_keys += [of_target.members]
    transmit = (connection.token, source.name, source.definition.version, 50, "0", 0, "", "", "")
    return (
        "structure/transfer",
        script_keys,
        (*transmit, target.name, "0", target.definition.version, 999_999_999, base, 0),
    )


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


def moved_by_puts(group: Group, qmgr: str) -> int:
    """Messages that puts moved for the waiting agent of *qmgr* and that it has not counted yet."""
    queues = [group.structure(part.structure).queue(part.queue).queue for part in parts_of(group, qmgr)]
    return sum(int(group.command(queue, "HGET", queue, "mvd") or 0) for queue in queues)
