"""The agent's part of SYSTEM.QSG.TRANSMIT.QUEUE: moving messages off it without reading them."""

from __future__ import annotations

from dataclasses import dataclass, field

from igq.agent.destinations import Destinations
from igq.agent.source import BATCH_MESSAGES, TransmissionQueue, as_trouble
from sharedq.connection import Connection, ScriptCall
from sharedq.keys import private_structure
from sharedq.mqi.errors import MQIError
from sharedq.objects.authorities import Authorities
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE

#: Batches sent in one write while there is a backlog.
BATCHES_PER_WRITE = 4
_CHANGED = 1


@dataclass(slots=True)
class Moved:
    """What a write of transfer calls did.

    ``left`` counts messages still there. ``is_stuck``: the first of them must be delivered by puts.
    """

    count: int = 0
    left: int = 0
    is_stuck: bool = False
    unknown: set[bytes] = field(default_factory=set)
    stale: set[bytes] = field(default_factory=set)


class TransmitQueue(TransmissionQueue):
    """This manager's part of the shared transmission queue, open."""

    def __init__(self, connection: Connection) -> None:
        self._authorities, self._authority_version, self._is_checked = Authorities(connection.group), "", False
        super().__init__(connection, private_structure(connection.qmgr_name), SYSTEM_QSG_TRANSMIT_QUEUE)
        self.destinations = Destinations(connection, self._access)
        self._backlog = 0

    def reload(self) -> None:
        """Read the definition in force, and whether authorities are checked."""
        super().reload()
        # The version first: a record that comes behind it makes another one, which the next transfer finds.
        self._authority_version = self._authorities.version(self._access.keys)
        self._is_checked = self._authorities.exist()

    def move(self) -> Moved:
        """Move what can be moved without reading it: nothing while authorities are to be checked."""
        if self.handle.facts.is_get_inhibited or self._is_checked:
            self.reload()
        if self._is_checked:
            return Moved(is_stuck=True)
        moved = Moved()
        try:
            replies = self._connection.call_many([self._transfer_call()] * self._writes())
        except MQIError as error:
            raise as_trouble(error) from error
        for reply in replies:
            if reply[0] == _CHANGED:
                self.reload()
                return Moved(moved.count, max(1, moved.left))
            if reply[0]:
                raise as_trouble(self._connection.error(reply[0], "MQGET", SYSTEM_QSG_TRANSMIT_QUEUE))
            moved.count += reply[1]
            moved.left = reply[2]
            moved.unknown.update(reply[3])
            moved.stale.update(reply[4])
            moved.is_stuck = bool(reply[5])
        self._backlog = moved.left
        self.destinations.reload(moved.stale)
        if moved.unknown and not self.destinations.learn(sorted(moved.unknown)):
            moved.is_stuck = True
        return moved

    def _writes(self) -> int:
        return min(BATCHES_PER_WRITE, 1 + self._backlog // BATCH_MESSAGES)

    def _transfer_call(self) -> ScriptCall:
        keys, handle = self._access.keys, self.handle
        queue, facts = handle.queue, handle.facts
        script_keys = [
            keys.owners,
            keys.sequence,
            keys.messages,
            queue.queue,
            queue.available,
            queue.index,
            keys.expiry,
            keys.wake,
            keys.journal,
            keys.versions,
        ]
        arguments: list[str | bytes | int | float] = [
            self._connection.token,
            handle.name,
            handle.version,
            BATCH_MESSAGES,
            self._connection.group.journal_max,
            int(facts.is_fifo),
            self._authority_version,
        ]
        for destination in self.destinations:
            target = destination.queue
            script_keys += [target.queue, target.available, target.index, target.waiters, target.groups, target.members]
            arguments += destination.arguments(facts.max_msg_length)
        return "structure/transfer", script_keys, arguments
