"""Storing messages: by the definition in force, whole or not at all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sharedq.calls.outgoing.descriptor import NEW_IDS, empty_again, prepare_in_force, prepare_like_last
from sharedq.calls.outgoing.segments import Pieces, are_grouped, copy_fields, return_times, split_up
from sharedq.calls.requests.put import batch_ends, has_members, put_call, undo_call
from sharedq.calls.routes.refresh import refresh_definition, take_definition, until_in_force
from sharedq.calls.unit.commit import backout, commit
from sharedq.messages.context import MESSAGE_NUMBER_BYTES, generated_msg_id
from sharedq.messages.record import PutArguments
from sharedq.mqi.constants import MQRC, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD, MQPMO, copied
from sharedq.redis.link import Reply
from sharedq.scripts.put import STALE
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.unit_of_work import Savepoint

# A plain integer: an operation on IntFlag members costs about a microsecond.
_LOCAL_Q = int(PutOption.RESOLVE_LOCAL_Q)
#: Segments that one call stores where all must be stored or none.
WHOLE_MESSAGES = 1000

#: Descriptors and data.
Messages = Sequence[tuple[MQMD, bytes]]
#: NONE, or the reason of a warning; and the physical messages that were stored, with their MsgIds.
Stored = tuple[MQRC, Messages]


def store_one(connection: Connection, handle: Handle, md: MQMD, pmo: MQPMO, body: bytes, in_unit: bool) -> Stored:
    """Store one message; ``md`` returns its identifiers.

    Raises:
        MQIError: it was not stored, or (2009) its fate is unknown.
    """
    options = int(pmo.options)
    messages = ((md, body),)
    before: list[tuple[Any, ...]] = []
    prepared = prepare_like_last(connection, handle, md, body, options, before)
    if prepared is None and are_grouped(handle, messages, options):
        return _store_grouped(connection, handle, messages, pmo, in_unit, is_whole=True, kept=[])
    try:
        while True:
            if prepared is None:
                prepared = prepare_in_force(connection, handle, messages, options, before)
            warning, arguments, details = prepared
            (reply,) = connection.call_many((put_call(connection, handle, arguments, details, in_unit),))
            if not reply[0]:
                break
            if not _has_learned(connection, handle, reply):
                raise connection.error(reply[0], "MQPUT", handle.object_name)
            # The fields were filled in by a definition that is not in force.
            empty_again(messages, before)
            prepared = None
    except MQIError:
        empty_again(messages, before)
        raise
    if in_unit:
        connection.unit.add(handle.structure.keys.name, handle.name, 1, is_put=True)
    if md.msg_id == NULL_ID:
        md.msg_id = generated_msg_id(connection.origin, handle.structure.number, reply[1])
    pmo.resolved_q_name, pmo.resolved_q_mgr_name = handle.resolved_names(is_local_wanted=bool(options & _LOCAL_Q))
    return warning, messages


def store_many(
    connection: Connection,
    handle: Handle,
    messages: Messages,
    pmo: MQPMO,
    in_unit: bool,
    *,
    is_whole: bool,
    kept: list[tuple[MQMD, bytes]],
) -> Stored:
    """Store messages on one queue: in a unit of work all or none, else each script call's batch.

    Args:
        is_whole: outside a unit of work in one call, up to 1000 messages and segments and however many bytes.
        kept: takes the physical messages that were stored, outside a unit of work, by a call that failed.

    Raises:
        MQIError: as for ``store_one``.
    """
    options = int(pmo.options)
    if are_grouped(handle, messages, options):
        return _store_grouped(connection, handle, messages, pmo, in_unit, is_whole=is_whole, kept=kept)
    numbers: list[int] = []
    try:
        warning = _put_batches(connection, handle, messages, pmo, in_unit, numbers, is_whole=is_whole)
    except MQIError:
        kept += _kept(connection, handle, messages, numbers)
        raise
    _return_identifiers(connection, handle, messages, numbers)
    pmo.resolved_q_name, pmo.resolved_q_mgr_name = handle.resolved_names(is_local_wanted=bool(options & _LOCAL_Q))
    return warning, messages


def check_unit_room(connection: Connection, count: int) -> None:
    """Raise 2024 when *count* messages (or segments) more would pass MAXUMSGS."""
    if count > connection.unit_room:
        most = connection.max_uncommitted
        raise error_for(MQRC.SYNCPOINT_LIMIT_REACHED, "", connection.qmgr_name, f"MAXUMSGS({most}) of the manager")


def _put_batches(
    connection: Connection,
    handle: Handle,
    messages: Messages,
    pmo: MQPMO,
    in_unit: bool,
    numbers: list[int],
    *,
    is_whole: bool = False,
) -> MQRC:
    """Encode by the cached definition, store; begin anew when another version is in force.

    Args:
        numbers: of the messages stored so far, filled in here. None is in a unit of work when a call has failed.
        is_whole: outside a unit of work all in one call, however many bytes they have.
    """
    before: list[tuple[Any, ...]] = []
    warning, options = MQRC.NONE, int(pmo.options)
    savepoint, had_failed = connection.unit.savepoint(handle.structure.keys.name), connection.put_failure
    try:
        while len(numbers) < len(messages):
            # Stored batches stay as they are; the batches that follow go by the definition in force.
            if before:
                empty_again(messages, before, len(numbers))
                del before[len(numbers) :]
            warned, arguments, details = prepare_in_force(connection, handle, messages, options, before, len(numbers))
            warning = max(warning, warned)
            ends = [len(arguments)] if is_whole and not in_unit else batch_ends(arguments)
            _store(connection, handle, arguments, details, in_unit, numbers, ends)
    except MQIError as failure:
        if in_unit and numbers:
            _undo(connection, handle, numbers[0], savepoint, failure, had_failed)
            numbers.clear()
        empty_again(messages, before, len(numbers))
        raise
    return warning


def _undo(
    connection: Connection,
    handle: Handle,
    first: int,
    savepoint: Savepoint,
    failure: MQIError,
    had_failed: MQIError | None,
) -> None:
    """A put was refused in its middle: restore the unit of work. *first* is the first number that it stored.

    Raises:
        MQIError: 2009, the group backs the unit of work out.
    """
    may_be_more = not handle.structure.has_failed
    while may_be_more:
        try:
            may_be_more = bool(connection.checked_call(*undo_call(connection, handle, first))[1])
        except MQIError:
            if connection.is_ended:
                raise
            if not handle.structure.has_failed:
                # A part of this put is in the unit of work, which must not be committed.
                connection.put_failure = connection.put_failure or failure
                return
            break
    if handle.structure.has_failed and savepoint.part is None:
        # Nothing else of the unit of work was lost with the structure.
        connection.put_failure = had_failed
    connection.unit.return_to(savepoint)


def _store(
    connection: Connection,
    handle: Handle,
    arguments: list[PutArguments],
    details: list[str],
    in_unit: bool,
    numbers: list[int],
    ends: Sequence[int],
) -> None:
    """Store batches, which have these *ends*, as far as the definition is not stale; add their messages' numbers."""
    first = 0
    for end in ends:
        call = put_call(connection, handle, arguments[first:end], details[first:end], in_unit)
        reply = connection.call(*call)
        if reply[0]:
            if _has_learned(connection, handle, reply):
                return
            raise connection.error(reply[0], "MQPUT", handle.object_name)
        if in_unit:
            connection.unit.add(
                handle.structure.keys.name,
                handle.name,
                end - first,
                is_put=True,
                has_members=has_members(arguments[first:end]),
            )
        numbers.extend(range(reply[1], reply[1] + end - first))
        first = end


def _has_learned(connection: Connection, handle: Handle, reply: Reply) -> bool:
    """Whether a put was refused for definitions that the handle did not know, and it knows them now.

    Raises:
        MQIError: 2041 these definitions make the handle invalid.
    """
    if reply[0] == STALE:
        take_definition(handle, reply, for_put=True)
        return True
    return bool(reply[0] == MQRC.OBJECT_CHANGED) and refresh_definition(connection, handle)


def _store_grouped(
    connection: Connection,
    handle: Handle,
    messages: Messages,
    pmo: MQPMO,
    in_unit: bool,
    *,
    is_whole: bool,
    kept: list[tuple[MQMD, bytes]],
) -> Stored:
    """Store messages whose groups or segments are to be kept; one that the queue cannot hold whole goes in segments."""
    options, asked = int(pmo.options), [copied(md) for md, _ in messages]
    numbers: list[int] = []

    def store() -> tuple[Pieces, MQRC | MQIError]:
        try:
            pieces = split_up(connection, handle, messages, options)
            return pieces, _store_pieces(connection, handle, pieces, pmo, in_unit, numbers, is_whole=is_whole)
        except MQIError as failure:
            if numbers:
                # Some were stored, so the call is not tried again.
                return pieces, failure
            if failure.reason != MQRC.CONNECTION_BROKEN:
                for (md, _), was in zip(messages, asked, strict=True):
                    copy_fields(md, was)
            raise

    pieces, stored = until_in_force(connection, handle, store)
    if isinstance(stored, MQIError):
        # These were stored even though a later one failed, so the handle's order continues after them.
        connection.unit.retain(handle, "puts", pieces.order_after(len(numbers)), in_unit=in_unit)
        put = bisect_left(pieces.first, len(numbers))
        for (md, _), was in zip(messages[put:], asked[put:], strict=True):
            copy_fields(md, was)
        _return_identifiers(connection, handle, messages[:put], [numbers[at] for at in pieces.first[:put]])
        return_times(messages[:put], pieces)
        kept += _kept(connection, handle, pieces.messages, numbers)
        raise stored
    connection.unit.retain(handle, "puts", pieces.order, in_unit=in_unit)
    _return_identifiers(connection, handle, messages, [numbers[at] for at in pieces.first])
    _return_identifiers(connection, handle, pieces.messages, numbers)
    return_times(messages, pieces)
    pmo.resolved_q_name, pmo.resolved_q_mgr_name = handle.resolved_names(is_local_wanted=bool(options & _LOCAL_Q))
    return pieces.warning or stored, pieces.messages


def _store_pieces(
    connection: Connection,
    handle: Handle,
    pieces: Pieces,
    pmo: MQPMO,
    in_unit: bool,
    numbers: list[int],
    *,
    is_whole: bool,
) -> MQRC:
    """Store in one moment what belongs together: in the program's unit of work, in another one, or in one call."""
    stored_as = replace(pmo, options=int(pmo.options) & ~NEW_IDS)
    if in_unit and pieces.is_segmented:
        # Room for the messages as they were given was checked before; there are more of them now.
        check_unit_room(connection, len(pieces.messages))
    if in_unit or not pieces.is_segmented:
        is_whole = is_whole and len(pieces.messages) <= WHOLE_MESSAGES
        return _put_batches(connection, handle, pieces.messages, stored_as, in_unit, numbers, is_whole=is_whole)
    if connection.has_unit and (pieces.is_persistent or len(pieces.messages) > WHOLE_MESSAGES):
        raise error_for(MQRC.UOW_NOT_AVAILABLE, "MQPUT", handle.object_name)
    if len(pieces.messages) <= WHOLE_MESSAGES:
        return _put_batches(connection, handle, pieces.messages, stored_as, False, numbers, is_whole=True)
    check_unit_room(connection, len(pieces.messages))
    try:
        warning = _put_batches(connection, handle, pieces.messages, stored_as, True, numbers)
        commit(connection)
    except MQIError:
        numbers.clear()
        if connection.has_unit and not connection.is_ended:
            backout(connection)
        raise
    return warning


def _kept(connection: Connection, handle: Handle, messages: Messages, numbers: Sequence[int]) -> Messages:
    stored = messages[: len(numbers)]
    _return_identifiers(connection, handle, stored, numbers)
    return stored


def _return_identifiers(connection: Connection, handle: Handle, messages: Messages, numbers: Sequence[int]) -> None:
    # Only the number differs between those of a batch.
    made = generated_msg_id(connection.origin, handle.structure.number, numbers[0]) if numbers else b""
    front = made[:-MESSAGE_NUMBER_BYTES]
    for (md, _), number in zip(messages, numbers, strict=True):
        if md.msg_id == NULL_ID:
            md.msg_id = front + number.to_bytes(MESSAGE_NUMBER_BYTES, "big")
