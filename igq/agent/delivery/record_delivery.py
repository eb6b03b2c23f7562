"""Carries stored messages to queues of other structures without decoding them.

A batch from the agent's queue is put by the ordinary put script in the unit of work that got it, and ends with it.
Messages that need a decision (expiry, groups, reports, a queue that refuses them) are left to
``igq.agent.delivery.put_delivery``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from igq.agent.delivery.arrivals import Arrival, entries_of, find_arrival, look_call
from igq.agent.progress.pulse import Pulse
from sharedq.calls.outgoing.descriptor import journal_detail
from sharedq.calls.requests.put import put_call
from sharedq.calls.unit.commit import backout
from sharedq.messages.message import Message
from sharedq.messages.record import PutArguments
from sharedq.objects.store.authorities import AUTHORITIES
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection

#: The number of destinations to remember.
KNOWN_MAX = 64


class Carrier:
    """Carries the messages that *connection* got from a part of the transmit queue.

    Attributes:
        has_own: part of the latest batch was for queues of the part's own *structure*, and could have been moved there.
    """

    def __init__(self, connection: Connection, structure: str, pulse: Pulse) -> None:
        self._connection, self._structure, self._pulse = connection, structure, pulse
        self.has_own = False
        self._arrivals: dict[bytes, Arrival] = {}

    @property
    def is_in_use(self) -> bool:
        """Whether it has carried messages and knows their destinations."""
        return bool(self._arrivals)

    def carry(self, messages: Sequence[Message], authority_version: str) -> bool:
        """Put a batch that was got under syncpoint on its queues, in the same unit of work.

        Args:
            authority_version: version of the authority records while there are none. If there are any, nothing is put.

        Returns:
            False if the batch must be delivered by puts. Nothing was put then; or if some puts worked and some did not,
            the batch is back on its queue and no unit of work is active.

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
        # After the puts: if the name was given to another queue before a message was sent, the look finds that queue.
        entries = list(dict.fromkeys(each for name in batches for each in self._arrivals[name].entries.items()))
        looks = [look_call(connection, name) for name, _ in entries]
        replies = connection.call_apart([*calls, *looks])
        stored = [name for name, reply in zip(batches, replies[: len(calls)], strict=True) if not reply[0]]
        for name in stored:
            handle = self._arrivals[name].handle
            connection.unit.add(handle.structure.keys.name, handle.name, len(batches[name]), is_put=True)
        is_done = len(stored) == len(calls) and all(
            entries_of(reply) == its for (_, its), reply in zip(entries, replies[len(calls) :], strict=True)
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
            arrival = find_arrival(self._connection, name)
            if arrival is None:
                return None
            if len(self._arrivals) >= KNOWN_MAX:
                self._arrivals.clear()
            self._arrivals[name] = arrival
        checks = (AUTHORITIES, authority_version, *arrival.checks)
        if arrival.handle.definition.checks != checks:
            arrival.handle.go_by(replace(arrival.handle.definition, checks=checks))
        return arrival

    def _details(self, messages: Sequence[Message]) -> list[str]:
        if self._connection.journal_max == "0":
            return []
        return [journal_detail(message.md, message.data_length) for message in messages]


def _arguments(arrival: Arrival, messages: Sequence[Message]) -> list[PutArguments] | None:
    """Return the put script's arguments for *messages*. None if one of them cannot be carried as it is."""
    arguments: list[PutArguments] = []
    for message in messages:
        record = message.carried()
        facts = arrival.handle.definition.facts
        if (
            record is None
            or message.data_length > facts.max_msg_length
            or (facts.is_temporary and message.is_persistent)
        ):
            return None
        arguments.append((arrival.base(record), "x", record))
    return arguments
