"""Asynchronous puts (MQPMO_ASYNC_RESPONSE): kept until the commit, the next get or a full buffer sends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sharedq.calls.outgoing.descriptor import NEW_IDS, Prepared, prepare, prepare_in_force, prepare_like_last
from sharedq.calls.outgoing.segments import Pieces, are_grouped, copy_fields, return_times, split_up
from sharedq.calls.requests.get import GetRequest
from sharedq.calls.requests.put import (
    BATCH_MESSAGES,
    batch_ends,
    commit_put_call,
    has_members,
    may_come_along,
    put_call,
)
from sharedq.calls.routes.refresh import refresh_definition, until_in_force
from sharedq.messages.record import PutArguments
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD, copied
from sharedq.redis.link import Reply, ScriptCall, steps
from sharedq.scripts.put import STALE
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.unit_of_work import CHUNK_MESSAGES, PendingPuts

#: Messages buffered, at most.
PENDING_MESSAGES = BATCH_MESSAGES


class Sending(NamedTuple):
    """A script call that stores buffered messages: the number of their MQPUTs, and the handle of these."""

    call: ScriptCall
    puts: int
    handle: Handle


def put_later(connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int) -> MQRC:
    """MQPMO_ASYNC_RESPONSE: buffer; the messages leave with the commit, the next get, or a full buffer."""
    if handle.puts.may_be_stale:
        refresh_definition(connection, handle)
        handle.puts.may_be_stale = False
    prepared = prepare_like_last(connection, handle, *messages[0], options, []) if len(messages) == 1 else None
    if prepared is None:
        if are_grouped(handle, messages, options):
            return _put_grouped_later(connection, handle, messages, options)
        prepared = prepare_in_force(connection, handle, messages, options, [])
    warning, arguments, details = prepared
    _buffer(connection, handle, arguments, details, [1] * len(arguments))
    return warning


def _put_grouped_later(
    connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int
) -> MQRC:
    asked = [copied(md) for md, _ in messages]

    def prepared() -> tuple[Pieces, Prepared]:
        try:
            pieces = split_up(connection, handle, messages, options)
            return pieces, prepare(connection, handle, pieces.messages, options & ~NEW_IDS, [])
        except MQIError:
            for (md, _), was in zip(messages, asked, strict=True):
                copy_fields(md, was)
            raise

    pieces, (stored, arguments, details) = until_in_force(connection, handle, prepared)
    if len(pieces.messages) > connection.unit_room:
        for (md, _), was in zip(messages, asked, strict=True):
            copy_fields(md, was)
        raise error_for(MQRC.SYNCPOINT_LIMIT_REACHED, "MQPUT", connection.qmgr_name)
    steps.taken += 1
    connection.unit.retain(handle, "puts", pieces.order, in_unit=True)
    return_times(messages, pieces)
    first = frozenset(pieces.first)
    _buffer(connection, handle, arguments, details, [int(at in first) for at in range(len(arguments))])
    return pieces.warning or stored


def _buffer(
    connection: Connection,
    handle: Handle,
    arguments: list[PutArguments],
    details: list[str],
    begun: list[int],
) -> None:
    """Keep messages; *begun* says of each whether it counts as an MQPUT."""
    steps.taken += 1
    pending = connection.pending
    if pending and pending[-1].handle is handle and pending[-1].version == handle.definition.version:
        pending[-1].arguments += arguments
        pending[-1].details += details
        pending[-1].begun += begun
    else:
        pending.append(PendingPuts(handle, handle.definition.version, arguments, details, begun))
    if connection.pending_messages >= PENDING_MESSAGES:
        flush_pending(connection)


def flush_pending(connection: Connection) -> None:
    """Send buffered asynchronous puts. A failure is kept: the commit will report it (2003), MQSTAT too.

    Raises:
        MQIError: 2009, their fate is unknown.
    """
    if connection.pending:
        send_pending(connection, pending_calls(connection))


def send_pending(connection: Connection, by_structure: dict[str, list[Sending]]) -> None:
    """Make the calls of `pending_calls`. They count as operations of the unit of work, so any failure must be kept.

    Raises:
        MQIError: 2009, their fate is unknown.
    """
    for sendings in by_structure.values():
        try:
            replies = connection.call_many([sending.call for sending in sendings])
        except MQIError as error:
            # Refused by Redis as a whole: it is full, or does not permit it.
            if connection.is_ended:
                raise
            for sending in sendings:
                _note_failure(connection, sending, error)
            continue
        note_replies(connection, sendings, replies)


def note_replies(connection: Connection, sendings: Sequence[Sending], replies: Sequence[Reply]) -> None:
    """Remember the outcome of asynchronous puts, for MQSTAT and the commit."""
    for sending, reply in zip(sendings, replies, strict=True):
        if reply[0]:
            # The last number says why: a call that commits, too, says 2003 before it.
            reason = MQRC.OBJECT_CHANGED if reply[0] == STALE else MQRC(reply[-1])
            _note_failure(connection, sending, error_for(reason, "MQPUT", sending.handle.object_name))
        else:
            connection.put_status.successes += sending.puts


def _note_failure(connection: Connection, sending: Sending, why: MQIError) -> None:
    connection.put_failure = connection.put_failure or why
    # An ALTER since the open counts from the next put on.
    sending.handle.puts.may_be_stale = True
    connection.put_status.failed(sending.puts, why, sending.handle.resolved_names())


def pending_calls(connection: Connection) -> dict[str, list[Sending]]:
    """The buffered puts as script calls by structure, counted into the unit of work; the buffer is empty then."""
    calls: dict[str, list[Sending]] = {}
    steps.taken += 1
    pending, connection.pending = connection.pending, []
    for puts in pending:
        structure = puts.handle.structure.keys.name
        first = 0
        for end in batch_ends(puts.arguments):
            arguments, details = puts.arguments[first:end], puts.details[first:end]
            call = put_call(connection, puts.handle, arguments, details, True, puts.version)
            sending = Sending(call, sum(puts.begun[first:end]), puts.handle)
            calls.setdefault(structure, []).append(sending)
            connection.unit.add(
                structure, puts.handle.name, end - first, is_put=True, has_members=has_members(arguments)
            )
            first = end
    return calls


def commit_at_once_call(connection: Connection, *, is_followed: bool, rider: GetRequest | None) -> Sending | None:
    """One call that puts the buffered messages and commits; None where that takes several.

    The messages must be for one queue and few enough for one call, all plain or all with identifiers alone. The
    unit of work may have recorded gets only, in the same structure. Nothing recorded, and no get that comes along: then
    the put is the whole unit of work, of plain messages.

    Args:
        is_followed: a get leaves in the same write, and must be undone if this call fails: by its unit of work.
        rider: the get that this call is to make, too, if a plain message is there for it.
    """
    parts = connection.unit.parts
    puts, *others = connection.pending
    handle, arguments, details = puts.handle, puts.arguments, puts.details
    structure = handle.structure.keys.name
    part = parts.get(structure)
    if (
        len(parts) > (part is not None)
        or (part is None and is_followed and not rider)
        or (part is not None and (part.has_puts or connection.unit.messages > CHUNK_MESSAGES))
        or others
        or handle.definition.checks
        or handle.is_intra_group
        or not may_come_along(arguments, is_alone=part is None and not rider)
        or (len(arguments) > 1 and len(batch_ends(arguments)) > 1)
    ):
        return None
    # None of these is a segment.
    count = len(arguments)
    if part is None and not rider:
        return Sending(put_call(connection, handle, arguments, details, False, puts.version), count, handle)
    recorded, queues = (part.operations, list(part.queues)) if part else (0, [])
    call = commit_put_call(connection, puts, recorded, queues, rider.riding() if rider else None)
    return Sending(call, count, handle)
