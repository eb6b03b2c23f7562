"""Carries stored messages to queues of other structures without decoding them.

A batch from the agent's queue is put by the ordinary put script in the unit of work that got it, and ends with it.
Messages that need a decision (expiry, groups, reports, a queue that refuses them) are left to
``igq.agent.delivery.put_delivery``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from igq.agent.progress.pipe import Pulse
from sharedq.calls.handles.open import find_queue
from sharedq.calls.outgoing.descriptor import journal_detail
from sharedq.calls.requests.put import put_call
from sharedq.calls.unit.commit import backout
from sharedq.messages.message import Message
from sharedq.messages.record import PutArguments, score_base
from sharedq.mqi.errors import MQIError
from sharedq.objects.store.authorities import AUTHORITIES
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.objects import lookup_call
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: A name's private and shared entry in the directory.
Entries = tuple[bytes, bytes]
#: The number of destinations to remember.
KNOWN_MAX = 64


@dataclass(slots=True)
class Arrival:
    """A local queue that a name stands for, by itself or through definitions.

    Attributes:
        entries: of each name on the way. While they are these, the first of them stands for this queue.
        handle: to put through. The queue knows nothing of it: it can be cleared and deleted, and its version tells of
            that.
        checks: of the definitions on the way: see `sharedq.session.handle.Definition`.
    """

    entries: dict[bytes, Entries]
    handle: Handle
    checks: tuple[str, ...]

    def base(self, record: bytes) -> str:
        """The place among the priorities of a message that begins no group."""
        facts = self.handle.definition.facts
        return score_base(facts.default_priority if facts.is_fifo else record[1])


def look_call(connection: Connection, name: bytes) -> ScriptCall:
    """The script call that asks for the entries of *name*: see `entries_of`."""
    return lookup_call(connection.group.keys, connection.qmgr_name, name)


def entries_of(found: Reply) -> Entries | None:
    """The findings of a `look_call`; None where it was refused."""
    return (found[0], found[1]) if len(found) > 1 else None


def find_arrival(connection: Connection, name: bytes) -> Arrival | None:
    """The queue that *name* stands for here, if that is a local one which takes messages as they are.

    Raises:
        MQIError: 2009, the connection is lost. A put there tells anything else that is wrong.
    """
    try:
        handle = _found(connection, name)
        route = handle.definition.route
        assert route is not None
        names = (name, *(each.name.encode() for each in route.path), handle.name.encode())
        entries = _entries(connection, names)
        # The entries belong to the way if it is the same before and after they were read.
        again = _found(connection, name)
    except (MQIError, ValueError):
        # Or it is no name, or no definition.
        connection.check()
        return None
    if route.spread:
        # Each message may go to another queue.
        return None
    facts = again.definition.facts
    if again.definition.route != route or again.destination or facts.is_put_inhibited or facts.is_transmission:
        return None
    return Arrival(entries, again, again.definition.checks)


def _found(connection: Connection, name: bytes) -> Handle:
    return find_queue(connection, name, b"", connection.qmgr_name)


def _entries(connection: Connection, names: Sequence[bytes]) -> dict[bytes, Entries]:
    found: dict[bytes, Entries] = {}
    for name in names:
        private, shared, _ = connection.call(*look_call(connection, name))
        found[name] = private, shared
    return found


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
