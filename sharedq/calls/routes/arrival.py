"""Where messages for another manager arrive: the local queue that a name stands for there."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.messages.record import score_base
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.objects import lookup_call
from sharedq.scripts.reads import queue_definition
from sharedq.session.connection import Connection
from sharedq.session.handle import Definition, Handle

#: A name's private and shared entry in the directory.
Entries = tuple[bytes, bytes]


@dataclass(slots=True)
class Arrival:
    """A local queue that a name stands for.

    Attributes:
        entries: the name's. While they are these, it stands for this queue.
        handle: to put through. The queue knows nothing of it: it can be cleared and deleted, and its version tells of
            that.
    """

    entries: Entries
    handle: Handle

    def base(self, record: bytes) -> str:
        """The place among the priorities of a message that begins no group."""
        facts = self.handle.definition.facts
        return score_base(facts.default_priority if facts.is_fifo else record[1])


def look_call(connection: Connection, qmgr: str, name: bytes) -> ScriptCall:
    """The script call that asks for the entries of *name*: see `entries_of`."""
    return lookup_call(connection.group.keys, qmgr, name)


def entries_of(found: Reply) -> Entries | None:
    """The findings of a `look_call`; None where it was refused."""
    return (found[0], found[1]) if len(found) > 1 else None


def find_arrival(connection: Connection, qmgr: str, name: bytes) -> Arrival | None:
    """The queue that *name* stands for at *qmgr*, if that is a local one which takes messages as they are.

    Raises:
        MQIError: 2009, the connection is lost. A put there tells anything else that is wrong.
    """
    try:
        entries = entries_of(connection.call(*look_call(connection, qmgr, name)))
        located = Repository(connection.group, qmgr).lookup(name.decode())
        if entries is None or located is None or not isinstance(located.definition, QueueLocal):
            return None
        access = connection.access(located.structure)
    except (MQIError, ValueError):
        # Or it is no name, or no definition.
        connection.check()
        return None
    queue = access.keys.queue(located.name)
    found = queue_definition(connection, queue)
    if found is None:
        return None
    goes_by = Definition.of(*found)
    facts = goes_by.facts
    if facts.is_put_inhibited or facts.is_transmission:
        return None
    handle = Handle(
        number=0,
        options=int(OpenOption.OUTPUT),
        object_name=located.name,
        name=located.name,
        structure=access,
        queue=queue,
        definition=goes_by,
    )
    return Arrival(entries, handle)
