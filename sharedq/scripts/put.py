"""The scripts of an MQPUT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from sharedq.messages.record import RECORD_EXPIRY, RECORD_GROUP, PutArguments, record_flags
from sharedq.redis.keys import QueueKeys
from sharedq.redis.link import Argument, ScriptCall
from sharedq.scripts.connections import Caller, Entered
from sharedq.scripts.get import GetRequest

#: Messages one script call stores, at most.
BATCH_MESSAGES = 100
#: Bytes of bodies one script call stores before the batch is split.
BATCH_BYTES = 1 << 20
#: The answer of a put script where another version of the definition is in force.
STALE = 1
#: Keys of structure/put_plain where the journal is off; one more where it is on.
_KEYS_WITHOUT_JOURNAL = 7
_KEYS_WITHOUT_CHECKS = 8


class Facts(Protocol):
    """The arguments of a put that come from its queue's attributes."""

    @property
    def max_depth(self) -> int:
        """The most messages that the queue holds."""


class PutDefinition(Protocol):
    """The arguments of a put that come from what its handle goes by."""

    @property
    def version(self) -> str:
        """The version of the queue's definition."""

    @property
    def facts(self) -> Facts:
        """The arguments that this definition gives."""

    @property
    def checks(self) -> Sequence[str]:
        """(field, value) pairs of the structure's versions that must hold."""


class Puts(Protocol):
    """The memory of a handle for its puts."""

    #: Keys of structure/put_plain, made at the first call.
    keys: tuple[str, ...]


class PutHandle(Protocol):
    """The arguments of a put that come from its handle."""

    @property
    def name(self) -> str:
        """The queue."""

    @property
    def definition(self) -> PutDefinition:
        """The definitions that the handle goes by."""

    @property
    def puts(self) -> Puts:
        """Its memory for puts."""

    @property
    def structure(self) -> Entered:
        """The structure that the queue is in."""

    @property
    def queue(self) -> QueueKeys:
        """Keys of the queue."""

    @property
    def destination(self) -> bytes:
        """The queue that a message is for in the end; empty when that is this one."""

    @property
    def is_intra_group(self) -> bool:
        """Whether the queue is the transmit queue."""


def batch_ends(arguments: Sequence[PutArguments]) -> list[int]:
    """Where batches end: by number of messages and by bytes."""
    if len(arguments) == 1:
        return [1]
    if len(arguments) <= BATCH_MESSAGES and sum([len(record) for _, _, record in arguments]) <= BATCH_BYTES:
        return [len(arguments)]
    ends: list[int] = []
    start = size = 0
    for position, (_, _, record) in enumerate(arguments):
        if position > start and (position - start >= BATCH_MESSAGES or size + len(record) > BATCH_BYTES):
            ends.append(position)
            start, size = position, 0
        size += len(record)
    ends.append(len(arguments))
    return ends


def put_call(
    connection: Caller,
    handle: PutHandle,
    arguments: Sequence[PutArguments],
    details: Sequence[str],
    in_unit: bool,
    version: str = "",
) -> ScriptCall:
    """Store one batch, by the script that fits it.

    Args:
        version: of the definition that the arguments are by; default that of the handle.
    """
    version = version or handle.definition.version
    if not in_unit and are_plain(arguments):
        script_keys = handle.puts.keys or _put_plain_keys(connection, handle)
        return _put_plain_call(connection, handle, script_keys, arguments, details, version)
    keys, queue = handle.structure.keys, handle.queue
    return (
        "structure/put",
        (
            keys.owners,
            keys.sequence,
            keys.messages,
            queue.queue,
            queue.available,
            queue.index,
            queue.waiters,
            keys.unit_of_work + connection.token,
            keys.versions,
            keys.destinations,
            keys.expiry,
            keys.journal,
            keys.wake,
            *((queue.groups, queue.members) if has_members(arguments) else ()),
        ),
        (
            connection.token,
            handle.name,
            version,
            str(handle.definition.facts.max_depth),
            connection.unit.id if in_unit else "",
            connection.journal_max,
            "\n".join(details),
            handle.destination if handle.is_intra_group else "",
            str(len(handle.definition.checks) // 2),
            *handle.definition.checks,
            *_words(arguments),
        ),
    )


def undo_call(connection: Caller, handle: PutHandle, first: int) -> ScriptCall:
    """Take the latest messages put out of the unit of work, back to the one numbered *first*."""
    keys = handle.structure.keys
    return (
        "structure/undo_puts",
        (
            *(keys.owners, keys.unit_of_work + connection.token, keys.messages, handle.queue.queue, keys.journal),
            handle.queue.available,
        ),
        (connection.token, connection.unit.id, handle.name, first, connection.journal_max),
    )


def commit_put_call(
    connection: Caller,
    handle: PutHandle,
    arguments: Sequence[PutArguments],
    details: Sequence[str],
    version: str,
    operations: int,
    queues: Sequence[str],
    rider: GetRequest | None,
) -> ScriptCall:
    """Store messages that may come along, and commit the unit of work with them: else it is gets in the same structure.

    Args:
        operations, queues: what the unit of work has recorded there, and the queues that it touches.
        rider: a get that this call makes, too, if a plain message is there for it.
    """
    keys = handle.structure.keys
    head = handle.puts.keys or _put_plain_keys(connection, handle)
    rider_keys, rider_arguments = ((), ()) if rider is None else rider.riding()
    script_keys = (
        *head[:_KEYS_WITHOUT_JOURNAL],
        keys.unit_of_work + connection.token,
        keys.journal,
        handle.queue.index,
        *[keys.queue(name).queue for name in queues],
        *rider_keys,
    )
    script_arguments = (
        connection.token,
        handle.name,
        version,
        str(handle.definition.facts.max_depth),
        connection.unit.id,
        str(operations),
        connection.journal_max,
        "\n".join(details),
        str(len(arguments)),
        "0" if rider is None else "1",
        arguments[0][1],
        *_words([(base, record) for base, _, record in arguments]),
        *queues,
        *rider_arguments,
    )
    return "structure/commit_put", script_keys, script_arguments


def are_plain(arguments: Sequence[PutArguments]) -> bool:
    """Whether none of these messages needs a look, and all have one place among the priorities."""
    shared, is_looked_at, _ = arguments[0]
    return not is_looked_at and (len(arguments) == 1 or not any(look or base != shared for base, look, _ in arguments))


def may_come_along(arguments: Sequence[PutArguments], *, is_alone: bool) -> bool:
    """Whether these messages can be put in the call that commits them: all plain, or all with no more than identifiers.

    Args:
        is_alone: nothing else is in the unit of work; then they must be plain.
    """
    looked_at = [record for _, look, record in arguments if look]
    if not looked_at:
        return True
    return (
        not is_alone
        and len(looked_at) == len(arguments)
        and not any(record_flags(record) & (RECORD_EXPIRY | RECORD_GROUP) for record in looked_at)
    )


def has_members(arguments: Sequence[PutArguments]) -> bool:
    """Whether members of groups, or segments, are among these messages."""
    # Most messages need no look, and then no generator runs for them.
    looked_at = [record for _, look, record in arguments if look]
    return bool(looked_at) and any(record_flags(record) & RECORD_GROUP for record in looked_at)


def _words(messages: Iterable[Iterable[Argument]]) -> Iterator[Argument]:
    """The parts of each message, one after another; the types of these parts differ, which `chain` alone forgets."""
    return chain.from_iterable(messages)


def _put_plain_call(
    connection: Caller,
    handle: PutHandle,
    script_keys: tuple[str, ...],
    arguments: Sequence[PutArguments],
    details: Sequence[str],
    version: str,
) -> ScriptCall:
    """Store a batch of plain messages."""
    head: tuple[Argument, ...] = (
        connection.token,
        handle.name,
        version,
        str(handle.definition.facts.max_depth),
    )
    if len(script_keys) > _KEYS_WITHOUT_JOURNAL:
        head += (connection.journal_max, "\n".join(details))
    if len(script_keys) > _KEYS_WITHOUT_CHECKS:
        destination = handle.destination if handle.is_intra_group else b""
        head += (destination, str(len(handle.definition.checks) // 2), *handle.definition.checks)
    return "structure/put_plain", script_keys, (*head, arguments[0][0], *[record for _, _, record in arguments])


def _put_plain_keys(connection: Caller, handle: PutHandle) -> tuple[str, ...]:
    """Keys of structure/put_plain; the handle keeps them."""
    keys, queue = handle.structure.keys, handle.queue
    is_checked = bool(handle.is_intra_group or handle.definition.checks)
    script_keys = (
        keys.owners,
        keys.sequence,
        keys.messages,
        queue.queue,
        queue.available,
        queue.waiters,
        keys.wake,
        *((keys.journal,) if connection.journal_max != "0" or is_checked else ()),
        *((keys.versions,) if is_checked else ()),
    )
    if handle.is_intra_group:
        target = keys.queue(handle.destination.decode())
        script_keys += (keys.destinations, target.queue, target.available, target.waiters)
    handle.puts.keys = script_keys
    return script_keys
