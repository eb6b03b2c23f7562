"""Carrying messages to queues of other structures as they are stored, without taking them apart.

A batch got from the agent's queue is put in the unit of work that got it, by the script that puts anything, and ends
with it. What needs a decision (expiry, groups, reports, a queue that refuses it) is left to ``igq.agent.deliver``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from igq.agent.pulse import Pulse
from sharedq.connection import Connection, ScriptCall
from sharedq.facts import QueueFacts
from sharedq.handle import Handle
from sharedq.keys import private_structure
from sharedq.link import Reply
from sharedq.message import Message
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import MAX_PRIORITY
from sharedq.objects.authorities import AUTHORITIES
from sharedq.objects.definitions import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.put_calls import PutArguments, put_call
from sharedq.put_messages import PRIORITY_STEP, journal_detail

#: Destinations that are remembered.
KNOWN_MAX = 64


@dataclass(slots=True)
class _Target:
    """A local queue that a name stands for.

    Attributes:
        entries: the name's entries in the directory. While they are these, it stands for this queue.
    """

    entries: tuple[bytes, bytes]
    handle: Handle


class Carrier:
    """Carries what *connection* has got from its manager's part of the transmission queue.

    Attributes:
        has_own: some of the latest batch was for queues of that manager's own structure, where it could have moved.
    """

    def __init__(self, connection: Connection, pulse: Pulse) -> None:
        self._connection, self._pulse = connection, pulse
        self.has_own = False
        self._targets: dict[bytes, _Target] = {}

    @property
    def is_in_use(self) -> bool:
        """Whether it has carried anything, and knows where to."""
        return bool(self._targets)

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
            target = self._target(name, authority_version)
            arguments = None if target is None else _arguments(target.handle.facts, its)
            if target is None or arguments is None:
                return False
            self.has_own |= target.handle.structure.keys.name == private_structure(connection.qmgr_name)
            calls.append(put_call(connection, target.handle, arguments, self._details(its), True))
        # Behind the puts: a name that was given to another queue before a message was sent there leads to that.
        looks = [self._look(name) for name in batches]
        replies = connection.call_apart([*calls, *looks])
        stored = [name for name, reply in zip(batches, replies[: len(calls)], strict=True) if not reply[0]]
        for name in stored:
            handle = self._targets[name].handle
            connection.unit.add(handle.structure.keys.name, handle.name, len(batches[name]), is_put=True)
        is_done = len(stored) == len(calls) and all(
            _entries(reply) == self._targets[name].entries
            for name, reply in zip(batches, replies[len(calls) :], strict=True)
        )
        if not is_done:
            self._targets.clear()
            if stored:
                connection.backout()
        self._pulse.beat()
        return is_done

    def _target(self, name: bytes, authority_version: str) -> _Target | None:
        target = self._targets.get(name)
        if target is None:
            target = self._find(name)
            if target is None:
                return None
            if len(self._targets) >= KNOWN_MAX:
                self._targets.clear()
            self._targets[name] = target
        target.handle.checks = (AUTHORITIES, authority_version)
        return target

    def _find(self, name: bytes) -> _Target | None:
        """The queue that *name* stands for, if that is a local one which takes messages as they are."""
        connection = self._connection
        try:
            entries = _entries(connection.call(*self._look(name)))
            located = Repository(connection.group, connection.qmgr_name).lookup(name.decode())
            if located is None or not isinstance(located.definition, QueueLocal):
                return None
            access = connection.access(located.structure)
        except (MQIError, UnicodeDecodeError):
            # What is wrong with it is told by the puts, or the connection has ended.
            connection.check()
            return None
        queue = access.keys.queue(located.name)
        version, definition = connection.command(queue.queue, "HMGET", queue.queue, "ver", "def")
        if version is None:
            return None
        facts = QueueFacts.of(definition)
        if facts.is_put_inhibited or facts.is_transmission:
            return None
        # No handle is registered: a queue that is carried to can be cleared and deleted, and its version tells of that.
        handle = Handle(
            number=0,
            options=int(OpenOption.OUTPUT),
            object_name=located.name,
            name=located.name,
            structure=access,
            queue=queue,
            facts=facts,
            version=version.decode(),
        )
        return _Target(entries, handle)

    def _look(self, name: bytes) -> ScriptCall:
        keys = self._connection.group.keys
        return "admin/lookup", (keys.directory, keys.qmgr), (self._connection.qmgr_name, name)

    def _details(self, messages: Sequence[Message]) -> list[str]:
        if self._connection.journal_max == "0":
            return []
        return [journal_detail(message.md, message.data_length) for message in messages]


def _entries(found: Reply) -> tuple[bytes, bytes]:
    return found[0], found[1]


def _arguments(facts: QueueFacts, messages: Sequence[Message]) -> list[PutArguments] | None:
    """What the put script is told of *messages*; None where one of them cannot go as it is."""
    arguments: list[PutArguments] = []
    for message in messages:
        record = message.carried()
        if record is None or message.data_length > facts.max_msg_length:
            return None
        place = facts.default_priority if facts.is_fifo else record[1]
        arguments.append(((MAX_PRIORITY - place) * PRIORITY_STEP, "x", record))
    return arguments
