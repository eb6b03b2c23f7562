"""MQPUT: what is decided before a message is stored, and how it is stored whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharedq.connection import Connection
from sharedq.context import generated_msg_id
from sharedq.handle import Handle
from sharedq.link import Reply
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.options import check_put_options
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.opening import for_length
from sharedq.put_calls import STALE, PutArguments, batch_ends, has_members, put_call
from sharedq.put_later import flush_pending, put_later
from sharedq.put_messages import NEW_IDS, prepare
from sharedq.put_pieces import Pieces, copy_fields, is_grouped, split_up
from sharedq.refresh import refresh_definition, take_definition

#: Segments that one call stores where all must be stored or none.
WHOLE_MESSAGES = 1000

# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_SYNCPOINT = int(PutOption.SYNCPOINT)
_ASYNC_RESPONSE = int(PutOption.ASYNC_RESPONSE)
_FAIL_IF_QUIESCING = int(PutOption.FAIL_IF_QUIESCING)
_OUTPUT = int(OpenOption.OUTPUT)


def put(connection: Connection, handle: Handle, md: MQMD, pmo: MQPMO, body: bytes) -> MQRC:
    """Put one message; ``md`` returns its identifiers.

    Returns:
        ``MQRC.NONE``, or the reason of a warning (2049).

    Raises:
        MQIError: the message was not put, or (2009) its fate is unknown.
    """
    options = int(pmo.options)
    in_unit = _check(connection, handle, options, 1)
    if handle.is_intra_group:
        handle = for_length(connection, handle, len(body))
    if in_unit and options & _ASYNC_RESPONSE:
        return put_later(connection, handle, [(md, body)], options)
    flush_pending(connection)
    if is_grouped(handle, md, options):
        # One call as far as that goes: its segments are put, or the unit of work is as it was.
        return _put_grouped(connection, handle, [(md, body)], pmo, in_unit, is_whole=True)
    priority, persistence = md.priority, md.persistence
    while True:
        # The round before may have filled them in from a stale definition.
        md.priority, md.persistence = priority, persistence
        try:
            warning, arguments, details = prepare(connection, handle, ((md, body),), options)
        except MQIError:
            if refresh_definition(connection, handle):
                continue
            raise
        reply = connection.call(*put_call(connection, handle, arguments, details, in_unit))
        if not reply[0]:
            break
        if not _has_learned(connection, handle, reply):
            raise connection.error(reply[0], "MQPUT", handle.object_name)
    if in_unit:
        connection.unit.add(handle.structure.keys.name, handle.name, 1, is_put=True)
    _return_identifiers(connection, handle, ((md, body),), (reply[1],), pmo)
    return warning


def put_many(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    pmo: MQPMO,
    *,
    is_whole: bool = False,
) -> MQRC:
    """Put messages on one queue: each script call's batch is stored whole or not at all.

    Under syncpoint, or when they fit one call (100 messages, 1 MiB), all of them are put or none. A unit of work
    that holds a part of them, because a later call was refused, can only be backed out.

    Args:
        is_whole: one call for all of them, up to 1000 messages and segments and however many bytes: a refusal
            leaves the unit of work as it was.

    Raises:
        MQIError: as for ``put``.
    """
    options = int(pmo.options)
    in_unit = _check(connection, handle, options, len(messages))
    if handle.is_intra_group and messages:
        # One way for all of them, which keeps their order.
        handle = for_length(connection, handle, max(len(body) for _, body in messages))
    if in_unit and options & _ASYNC_RESPONSE:
        return put_later(connection, handle, messages, options)
    flush_pending(connection)
    if any(is_grouped(handle, md, options) for md, _ in messages):
        return _put_grouped(connection, handle, messages, pmo, in_unit, is_whole=is_whole)
    return _put_now(connection, handle, messages, pmo, in_unit, is_whole=is_whole)


def _check(connection: Connection, handle: Handle, options: int, count: int) -> bool:
    """Refuse what no definition need be asked for; whether the puts belong to the unit of work."""
    if handle.structure.has_failed:
        connection.check_usable(handle)
    reason = check_put_options(options)
    if reason:
        raise error_for(reason, "MQPUT", handle.object_name)
    if not handle.options & _OUTPUT:
        raise error_for(MQRC.NOT_OPEN_FOR_OUTPUT, "MQPUT", handle.object_name)
    if connection.is_quiescing and options & _FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQPUT", handle.object_name)
    if not options & _SYNCPOINT:
        return False
    check_unit_room(connection, count)
    return True


def check_unit_room(connection: Connection, count: int) -> None:
    """Raise 2024 when *count* messages (or segments) more would pass MAXUMSGS."""
    if count > connection.unit_room:
        raise error_for(MQRC.SYNCPOINT_LIMIT_REACHED, "", connection.qmgr_name)


def _put_now(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    pmo: MQPMO,
    in_unit: bool,
    *,
    is_whole: bool,
) -> MQRC:
    numbers: list[int] = []
    try:
        warning = _put_batches(connection, handle, messages, pmo, in_unit, numbers, is_whole=is_whole)
    except MQIError as failure:
        if in_unit and numbers:
            # All or none: the unit of work holds a part of this call now, so it must not be committed.
            connection.put_failure = failure
        raise
    _return_identifiers(connection, handle, messages, numbers, pmo)
    return warning


def _put_batches(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    pmo: MQPMO,
    in_unit: bool,
    numbers: list[int],
    *,
    is_whole: bool = False,
) -> MQRC:
    """Encode by the cached definition, store; begin anew when another version is in force.

    Args:
        numbers: of the messages stored so far, filled in here.
        is_whole: all in one call, however many bytes they have.
    """
    asked = [(md.priority, md.persistence) for md, _ in messages]
    warning, options = MQRC.NONE, int(pmo.options)
    while len(numbers) < len(messages):
        # Batches that are in stay as they are; what follows them goes by the definition in force.
        rest = messages[len(numbers) :]
        for (md, _), (priority, persistence) in zip(rest, asked[len(numbers) :], strict=True):
            # The round before this one may have filled them in from a stale definition.
            md.priority, md.persistence = priority, persistence
        try:
            warned, arguments, details = prepare(connection, handle, rest, options)
        except MQIError:
            # What refused it is an attribute; only the definition in force may refuse.
            if refresh_definition(connection, handle):
                continue
            raise
        warning = max(warning, warned)
        _store(connection, handle, arguments, details, in_unit, numbers, is_whole=is_whole)
    return warning


def _store(
    connection: Connection,
    handle: Handle,
    arguments: list[PutArguments],
    details: list[str],
    in_unit: bool,
    numbers: list[int],
    *,
    is_whole: bool = False,
) -> None:
    """Store batches up to the end, or to where the definition turns out to be stale; add their messages' numbers."""
    first = 0
    for end in [len(arguments)] if is_whole else batch_ends(arguments):
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


def _put_grouped(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    pmo: MQPMO,
    in_unit: bool,
    *,
    is_whole: bool = False,
) -> MQRC:
    """Put messages of which groups or segments are to be kept; what the queue cannot hold whole goes in segments."""
    options, asked = int(pmo.options), [replace(md) for md, _ in messages]
    while True:
        version, numbers = handle.version, list[int]()
        try:
            pieces = split_up(connection, handle, messages, options)
            stored = _store_pieces(connection, handle, pieces, pmo, in_unit, numbers, is_whole=is_whole)
        except MQIError as failure:
            if numbers and in_unit:
                # All or none: the unit of work holds a part of this call now, so it must not be committed.
                connection.put_failure = failure
            elif not numbers and failure.reason != MQRC.CONNECTION_BROKEN:
                for (md, _), was in zip(messages, asked, strict=True):
                    copy_fields(md, was)
                if handle.version != version or refresh_definition(connection, handle):
                    continue
            raise
        break
    if in_unit:
        connection.unit.remember(handle, "puts")
    handle.order = pieces.order
    _return_identifiers(connection, handle, messages, [numbers[at] for at in pieces.first], pmo)
    return pieces.warning or stored


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
    """Store what belongs together in one moment: in one call, or in a unit of work, the program's or one for this."""
    stored_as = replace(pmo, options=int(pmo.options) & ~NEW_IDS)
    has_unit = connection.unit.is_active
    if in_unit:
        check_unit_room(connection, len(pieces.messages))
    if in_unit or not pieces.is_segmented:
        is_whole = is_whole and len(pieces.messages) <= WHOLE_MESSAGES
        return _put_batches(connection, handle, pieces.messages, stored_as, in_unit, numbers, is_whole=is_whole)
    if has_unit and (pieces.is_persistent or len(pieces.messages) > WHOLE_MESSAGES):
        raise error_for(MQRC.UOW_NOT_AVAILABLE, "MQPUT", handle.object_name)
    if len(pieces.messages) <= WHOLE_MESSAGES:
        return _put_batches(connection, handle, pieces.messages, stored_as, False, numbers, is_whole=True)
    check_unit_room(connection, len(pieces.messages))
    try:
        warning = _put_batches(connection, handle, pieces.messages, stored_as, True, numbers)
    except MQIError as failure:
        if failure.reason != MQRC.CONNECTION_BROKEN:
            connection.backout()
            numbers.clear()
        raise
    connection.commit()
    return warning


def _return_identifiers(
    connection: Connection,
    handle: Handle,
    messages: Sequence[tuple[MQMD, bytes]],
    numbers: Sequence[int],
    pmo: MQPMO,
) -> None:
    for (md, _), number in zip(messages, numbers, strict=True):
        if md.msg_id == NULL_ID:
            md.msg_id = generated_msg_id(connection.origin, handle.structure.number, number)
    pmo.resolved_q_name = handle.destination or handle.name.encode()
    pmo.resolved_q_mgr_name = handle.target_qmgr or connection.origin
