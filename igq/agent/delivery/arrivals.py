"""The local queue of an agent's manager at which messages for a name arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sharedq.calls.handles.open import find_queue
from sharedq.messages.record import score_base
from sharedq.mqi.errors import MQIError
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.objects import lookup_call
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

#: A name's private and shared entry in the directory.
Entries = tuple[bytes, bytes]


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
