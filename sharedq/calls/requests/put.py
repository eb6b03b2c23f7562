"""Chooses the script that stores a batch of messages, and takes its arguments from the connection and the handle."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.messages.record import RECORD_EXPIRY, RECORD_GROUP, PutArguments, record_flags
from sharedq.redis.link import ScriptCall
from sharedq.scripts import put as scripts
from sharedq.scripts.put import PutTarget, RidingGet
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.unit_of_work import PendingPuts

#: Messages one script call stores, at most.
BATCH_MESSAGES = 100
#: Bytes of bodies one script call stores before the batch is split.
BATCH_BYTES = 1 << 20


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
    connection: Connection,
    handle: Handle,
    arguments: Sequence[PutArguments],
    details: Sequence[str],
    in_unit: bool,
    version: str = "",
) -> ScriptCall:
    """Store one batch, by the script that fits it.

    Args:
        version: of the definition that the arguments are by; default: the version that the handle goes by.
    """
    target = handle.puts.target
    if target is None or (version and version != target.version):
        target = _target(connection, handle, version)
    if not in_unit and (are_plain(arguments) if len(arguments) > 1 else not arguments[0][1]):
        return scripts.put_plain_call(target, arguments, details)
    unit_id = connection.unit.id if in_unit else ""
    return scripts.put_call(target, unit_id, arguments, details, has_members=has_members(arguments))


def commit_put_call(
    connection: Connection, puts: PendingPuts, operations: int, queues: Sequence[str], rider: RidingGet | None
) -> ScriptCall:
    """Store buffered messages that may come along, and commit the unit of work with them.

    Args:
        operations, queues, rider: as the function of the script has them.
    """
    target = puts.handle.puts.target
    if target is None or puts.version != target.version:
        target = _target(connection, puts.handle, puts.version)
    unit_id = connection.unit.id
    return scripts.commit_put_call(target, unit_id, operations, queues, puts.arguments, puts.details, rider)


def undo_call(connection: Connection, handle: Handle, first: int) -> ScriptCall:
    """Take the latest messages put out of the unit of work, back to the one numbered *first*."""
    return scripts.undo_call(handle.puts.target or _target(connection, handle), connection.unit.id, first)


def are_plain(arguments: Sequence[PutArguments]) -> bool:
    """Whether none of these messages needs a look, and all have one place among the priorities."""
    shared, is_looked_at, _ = arguments[0]
    return not (is_looked_at or any(look or base != shared for base, look, _ in arguments))


def may_come_along(arguments: Sequence[PutArguments], *, is_alone: bool) -> bool:
    """Whether these messages can be put in the call that commits them: all plain, or all with no more than identifiers.

    Args:
        is_alone: nothing else is in the unit of work; then the messages must be plain.
    """
    if len(arguments) == 1 and not arguments[0][1]:
        return True
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


def _target(connection: Connection, handle: Handle, version: str = "") -> PutTarget:
    """The target of puts through this handle, which keeps it as long as it goes by the same definition.

    Args:
        version: of the definition that messages were buffered by; default: the one that the handle goes by.
    """
    definition, hop_to = handle.definition, handle.destination if handle.is_intra_group else b""
    target = scripts.put_target(
        *(handle.structure.keys, handle.queue, connection.token, version or definition.version),
        *(definition.facts.max_depth, connection.journal_max, hop_to, definition.checks),
    )
    if target.version == definition.version:
        handle.puts.target = target
    return target
