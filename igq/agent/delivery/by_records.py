"""Carrying messages to queues of other structures as they are stored, without taking them apart.

A batch got from the agent's queue is put in the unit of work that got it, by the script that puts anything, and ends
with it. What needs a decision (expiry, groups, reports, a queue that refuses it) is left to
``igq.agent.delivery.by_puts``.
"""

from __future__ import annotations

from collections.abc import Sequence

from igq.agent.progress.pulse import Pulse
from sharedq.calls.outgoing.descriptor import journal_detail
from sharedq.calls.routes.arrival import Arrival, entries_of, find_arrival, look_call
from sharedq.calls.unit.commit import backout
from sharedq.messages.message import Message
from sharedq.messages.record import PutArguments
from sharedq.objects.store.authorities import AUTHORITIES
from sharedq.scripts.put import put_call
from sharedq.session.connection import Connection, ScriptCall

#: Destinations that are remembered.
KNOWN_MAX = 64


class Carrier:
    """Carries what *connection* has got from a part of the transmission queue.

    Attributes:
        has_own: some of the latest batch was for queues of the part's own *structure*, where it could have moved.
    """

    def __init__(self, connection: Connection, structure: str, pulse: Pulse) -> None:
        self._connection, self._structure, self._pulse = connection, structure, pulse
        self.has_own = False
        self._arrivals: dict[bytes, Arrival] = {}

    @property
    def is_in_use(self) -> bool:
        """Whether it has carried anything, and knows where to."""
        return bool(self._arrivals)

    def carry(self, messages: Sequence[Message], authority_version: str) -> bool:
        """Put a batch, got under syncpoint, on its queues, in that unit of work.

        Args:
            authority_version: of the authority records while there is none; with any, nothing is put.

        Returns:
            False: it is to be delivered by puts. Nothing was put; or where some of it could be and some not, the batch
            is back on its queue, and no unit of work is active.

        Raises:
            MQIError: 2009, the connection is lost.
        """
        connection = self._connection
        batches: dict[bytes, list[Message]] = {}
        for message in messages:
            batches.setdefault(message.destination, []).append(message)
        calls: list[ScriptCall] = []
        self.has_own = False
        for name, its in batches.items():
            arrival = self._arrival(name, authority_version)
            arguments = None if arrival is None else _arguments(arrival, its)
            if arrival is None or arguments is None:
                return False
            self.has_own |= arrival.handle.structure.keys.name == self._structure
            calls.append(put_call(connection, arrival.handle, arguments, self._details(its), True))
        # Behind the puts: a name that was given to another queue before a message was sent there leads to that.
        looks = [look_call(connection, connection.qmgr_name, name) for name in batches]
        replies = connection.call_apart([*calls, *looks])
        stored = [name for name, reply in zip(batches, replies[: len(calls)], strict=True) if not reply[0]]
        for name in stored:
            handle = self._arrivals[name].handle
            connection.unit.add(handle.structure.keys.name, handle.name, len(batches[name]), is_put=True)
        is_done = len(stored) == len(calls) and all(
            entries_of(reply) == self._arrivals[name].entries
            for name, reply in zip(batches, replies[len(calls) :], strict=True)
        )
        if not is_done:
            self._arrivals.clear()
            if stored:
                backout(connection)
        self._pulse.beat()
        return is_done

    def _arrival(self, name: bytes, authority_version: str) -> Arrival | None:
        arrival = self._arrivals.get(name)
        if arrival is None:
            arrival = find_arrival(self._connection, self._connection.qmgr_name, name)
            if arrival is None:
                return None
            if len(self._arrivals) >= KNOWN_MAX:
                self._arrivals.clear()
            self._arrivals[name] = arrival
        arrival.handle.checks = (AUTHORITIES, authority_version)
        return arrival

    def _details(self, messages: Sequence[Message]) -> list[str]:
        if self._connection.journal_max == "0":
            return []
        return [journal_detail(message.md, message.data_length) for message in messages]


def _arguments(arrival: Arrival, messages: Sequence[Message]) -> list[PutArguments] | None:
    """What the put script is told of *messages*; None where one of them cannot go as it is."""
    arguments: list[PutArguments] = []
    for message in messages:
        record = message.carried()
        facts = arrival.handle.facts
        if (
            record is None
            or message.data_length > facts.max_msg_length
            or (facts.is_temporary and message.is_persistent)
        ):
            return None
        arguments.append((arrival.base(record), "x", record))
    return arguments
