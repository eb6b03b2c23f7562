"""MQPUT: what is decided before a message is stored, and the call that stores it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from sharedq.connection import Connection, ScriptCall
from sharedq.context import generated_msg_id, new_identifier, set_default_context
from sharedq.handle import Handle
from sharedq.link import Reply
from sharedq.logical import NOTHING, HandleOrder, PutPosition, after_put, put_position, split
from sharedq.mqi.constants import (
    MQRC,
    MsgFlag,
    MsgType,
    OpenOption,
    Persistence,
    PutOption,
    Report,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import (
    DEFAULT_CCSID,
    MAX_PRIORITY,
    NULL_ID,
    PRIORITY_AS_Q_DEF,
    UNDEFINED_ORIGINAL_LENGTH,
    UNLIMITED_EXPIRY,
)
from sharedq.mqi.options import check_put_options
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.record import RECORD_GROUP, RECORD_NEEDS_LOOK, encode_record, record_flags
from sharedq.refresh import refresh_definition, take_definition
from sharedq.transmission import as_transmitted
from sharedq.unit_of_work import CHUNK_MESSAGES

#: One priority's share of the scores of a queue: room for 2^48 arrivals.
PRIORITY_STEP = 1 << 48
#: In a queue that is indexed by GroupId what begins a group is placed with this priority at least.
GROUP_PRIORITY_MIN = 2
#: Messages one script call stores, at most.
BATCH_MESSAGES = 100
#: Bytes of bodies one script call stores before the batch is split.
BATCH_BYTES = 1 << 20
#: Segments that one call stores where all must be stored or none.
WHOLE_MESSAGES = 1000
#: Messages buffered for MQPMO_ASYNC_RESPONSE, at most.
PENDING_MESSAGES = BATCH_MESSAGES

# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_SYNCPOINT = int(PutOption.SYNCPOINT)
_IN_GROUP = int(MsgFlag.MSG_IN_GROUP | MsgFlag.LAST_MSG_IN_GROUP)
_ASYNC_RESPONSE = int(PutOption.ASYNC_RESPONSE)
_FAIL_IF_QUIESCING = int(PutOption.FAIL_IF_QUIESCING)
_NEW_MSG_ID = int(PutOption.NEW_MSG_ID)
_NEW_CORREL_ID = int(PutOption.NEW_CORREL_ID)
_KEEP_CONTEXT = int(PutOption.SET_ALL_CONTEXT | PutOption.PASS_ALL_CONTEXT)
_OUTPUT = int(OpenOption.OUTPUT)
_AS_Q_DEF = int(Persistence.AS_Q_DEF)
_REQUEST = int(MsgType.REQUEST)
_LOGICAL_ORDER = int(PutOption.LOGICAL_ORDER)
_NEW_IDS = _NEW_MSG_ID | _NEW_CORREL_ID
#: Reports that need a ReplyToQ.
REPORTS_WANTED = int(
    Report.EXCEPTION | Report.EXPIRATION | Report.COA | Report.COD | Report.PAN | Report.NAN | Report.ACTIVITY
)
_STALE = 1
#: Keys of structure/put_plain where the journal is off; one more where it is on.
_KEYS_WITHOUT_JOURNAL = 7


@dataclass(slots=True)
class PendingPut:
    """A message of an asynchronous put that waits to be sent."""

    handle: Handle
    arguments: tuple[int, str, bytes]
    detail: str


def put(connection: Connection, handle: Handle, md: MQMD, pmo: MQPMO, body: bytes) -> MQRC:
    """Put one message; ``md`` returns its identifiers.

    Returns:
        ``MQRC.NONE``, or the reason of a warning (2049).

    Raises:
        MQIError: the message was not put, or (2009) its fate is unknown.
    """
    options = int(pmo.options)
    in_unit = _check(connection, handle, options, 1)
    if in_unit and options & _ASYNC_RESPONSE:
        return _put_later(connection, handle, [(md, body)], options)
    flush_pending(connection)
    if _is_grouped(handle, md, options):
        return _put_grouped(connection, handle, [(md, body)], pmo, in_unit)
    priority, persistence = md.priority, md.persistence
    while True:
        # The round before may have filled them in from a stale definition.
        md.priority, md.persistence = priority, persistence
        try:
            warning, arguments, details = _prepare(connection, handle, ((md, body),), options)
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
    if in_unit and options & _ASYNC_RESPONSE:
        return _put_later(connection, handle, messages, options)
    flush_pending(connection)
    if any(_is_grouped(handle, md, options) for md, _ in messages):
        return _put_grouped(connection, handle, messages, pmo, in_unit, is_whole=is_whole)
    return _put_now(connection, handle, messages, pmo, in_unit, is_whole=is_whole)


def _check(connection: Connection, handle: Handle, options: int, count: int) -> bool:
    """Refuse what no definition need be asked for; whether the puts belong to the unit of work."""
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
    """Raise 2024 when *count* messages more would pass MAXUMSGS."""
    if connection.unit.messages + count > connection.max_uncommitted:
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
            warned, arguments, details = _prepare(connection, handle, rest, options)
        except MQIError:
            # What refused it is an attribute; only the definition in force may refuse.
            if refresh_definition(connection, handle):
                continue
            raise
        warning = max(warning, warned)
        _store(connection, handle, arguments, details, in_unit, numbers, is_whole=is_whole)
    return warning


def _prepare(
    connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int
) -> tuple[MQRC, list[tuple[int, str, bytes]], list[str]]:
    """Arguments of the put script for each message, by the handle's definition."""
    facts = handle.facts
    if facts.is_put_inhibited:
        raise error_for(MQRC.PUT_INHIBITED, "MQPUT", handle.object_name)
    length_max = facts.max_msg_length
    is_journaled = connection.journal_max != "0"
    put_time_ms = int(time.time() * 1000)
    warning = MQRC.NONE
    arguments: list[tuple[int, str, bytes]] = []
    details: list[str] = []
    for md, body in messages:
        if len(body) > length_max:
            raise error_for(
                MQRC.MSG_TOO_BIG_FOR_Q, "MQPUT", handle.object_name, f"{len(body)} bytes, MAXMSGL({length_max})"
            )
        if _complete_descriptor(connection, handle, md, options):
            warning = MQRC.PRIORITY_EXCEEDS_MAXIMUM
        # MQCCSI_Q_MGR means the manager that it is put at, and its number goes with the message, not into ``md``.
        said, is_conventional = md, handle.destination and not handle.is_intra_group
        if not md.coded_char_set_id and (is_conventional or connection.ccsid != DEFAULT_CCSID):
            said = replace(md, coded_char_set_id=connection.ccsid)
        if is_conventional:
            record = _conventional_record(connection, handle, said, body, put_time_ms)
        else:
            record = encode_record(said, body, connection.origin, put_time_ms, handle.destination or None)
        place = facts.default_priority if facts.is_fifo else md.priority
        if facts.is_group_indexed and place < GROUP_PRIORITY_MIN and _begins_group(md):
            place = GROUP_PRIORITY_MIN
        look = "x" if record_flags(record) & RECORD_NEEDS_LOOK else ""
        arguments.append(((MAX_PRIORITY - place) * PRIORITY_STEP, look, record))
        if is_journaled:
            details.append(journal_detail(md, len(body)))
    return warning, arguments, details


def _begins_group(md: MQMD) -> bool:
    return md.msg_seq_number == 1 and md.offset == 0 and bool(md.msg_flags & _IN_GROUP)


def _conventional_record(connection: Connection, handle: Handle, md: MQMD, body: bytes, put_time_ms: int) -> bytes:
    """A message for a conventional transmission queue: what takes it from there knows IBM's headers only."""
    outer = replace(md)
    data = as_transmitted(outer, body, handle.destination, handle.target_qmgr)
    # The group and segment stand in the header with the message: what travels is one message by itself.
    outer.group_id, outer.msg_seq_number, outer.offset, outer.msg_flags = NULL_ID, 1, 0, 0
    outer.original_length = UNDEFINED_ORIGINAL_LENGTH
    return encode_record(outer, data, connection.origin, put_time_ms)


def _complete_descriptor(connection: Connection, handle: Handle, md: MQMD, options: int) -> bool:
    """Check the descriptor, resolve what it leaves to the queue; true when its priority was too high (2049)."""
    facts = handle.facts
    is_too_high = False
    if md.persistence == _AS_Q_DEF:
        default = handle.default_persistence
        md.persistence = facts.default_persistence if default is None else default
    elif md.persistence not in (0, 1):
        raise error_for(MQRC.PERSISTENCE_ERROR, "MQPUT", handle.object_name)
    if md.priority == PRIORITY_AS_Q_DEF:
        default = handle.default_priority
        md.priority = facts.default_priority if default is None else default
    elif md.priority > MAX_PRIORITY:
        md.priority, is_too_high = MAX_PRIORITY, True
    elif md.priority < 0:
        raise error_for(MQRC.PRIORITY_ERROR, "MQPUT", handle.object_name)
    if md.expiry != UNLIMITED_EXPIRY and md.expiry <= 0:
        raise error_for(MQRC.EXPIRY_ERROR, "MQPUT", handle.object_name)
    if (md.msg_type == _REQUEST or md.report & REPORTS_WANTED) and not md.reply_to_q.strip(b" \0"):
        raise error_for(MQRC.MISSING_REPLY_TO_Q, "MQPUT", handle.object_name)
    if md.reply_to_q.strip(b" \0") and not md.reply_to_q_mgr.strip(b" \0"):
        md.reply_to_q_mgr = connection.origin
    if options & _NEW_MSG_ID:
        md.msg_id = NULL_ID
    if options & _NEW_CORREL_ID:
        md.correl_id = new_identifier(connection.origin)
    if not options & _KEEP_CONTEXT:
        set_default_context(md, connection.appl_name_bytes)
    return is_too_high


def _store(
    connection: Connection,
    handle: Handle,
    arguments: list[tuple[int, str, bytes]],
    details: list[str],
    in_unit: bool,
    numbers: list[int],
    *,
    is_whole: bool = False,
) -> None:
    """Store batches up to the end, or to where the definition turns out to be stale; add their messages' numbers."""
    first = 0
    for end in [len(arguments)] if is_whole else _batch_ends(arguments):
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
                has_members=_has_members(arguments[first:end]),
            )
        numbers.extend(range(reply[1], reply[1] + end - first))
        first = end


def _has_learned(connection: Connection, handle: Handle, reply: Reply) -> bool:
    """Whether a put was refused for definitions that the handle did not know, and it knows them now.

    Raises:
        MQIError: 2041 these definitions make the handle invalid.
    """
    if reply[0] == _STALE:
        take_definition(handle, reply, for_put=True)
        return True
    return bool(reply[0] == MQRC.OBJECT_CHANGED) and refresh_definition(connection, handle)


def _batch_ends(arguments: Sequence[tuple[int, str, bytes]]) -> list[int]:
    """Where batches end: by number of messages and by bytes."""
    if len(arguments) == 1:
        return [1]
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
    arguments: Sequence[tuple[int, str, bytes]],
    details: Sequence[str],
    in_unit: bool,
) -> ScriptCall:
    """The script call that stores one batch."""
    if not in_unit and not handle.checks and not handle.is_intra_group and not _has_look(arguments):
        return _put_plain_call(connection, handle, arguments, details)
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
            *((queue.groups, queue.members) if _has_members(arguments) else ()),
        ),
        (
            connection.token,
            handle.name,
            handle.version,
            handle.facts.max_depth,
            connection.unit.id if in_unit else "",
            connection.group.journal_max,
            "\n".join(details),
            handle.destination if handle.is_intra_group else "",
            len(handle.checks) // 2,
            *handle.checks,
            *(part for message in arguments for part in message),
        ),
    )


def _has_look(arguments: Sequence[tuple[int, str, bytes]]) -> bool:
    return bool(arguments[0][1]) if len(arguments) == 1 else any(look for _, look, _ in arguments)


def _has_members(arguments: Sequence[tuple[int, str, bytes]]) -> bool:
    return any(look and record_flags(record) & RECORD_GROUP for _, look, record in arguments)


def _put_plain_call(
    connection: Connection, handle: Handle, arguments: Sequence[tuple[int, str, bytes]], details: Sequence[str]
) -> ScriptCall:
    """The script call that stores a batch of plain messages."""
    script_keys = handle.put_keys or _put_plain_keys(connection, handle)
    journal = (connection.journal_max, "\n".join(details)) if len(script_keys) > _KEYS_WITHOUT_JOURNAL else ()
    head = (connection.token, handle.name, handle.version, handle.facts.max_depth, *journal)
    if len(arguments) == 1:
        base, _, record = arguments[0]
        return "structure/put_plain", script_keys, (*head, base, record)
    messages = [part for base, _, record in arguments for part in (base, record)]
    return "structure/put_plain", script_keys, (*head, *messages)


def _put_plain_keys(connection: Connection, handle: Handle) -> tuple[str, ...]:
    keys, queue = handle.structure.keys, handle.queue
    handle.put_keys = (
        keys.owners,
        keys.sequence,
        keys.messages,
        queue.queue,
        queue.available,
        queue.waiters,
        keys.wake,
        *((keys.journal,) if connection.group.settings.journal else ()),
    )
    return handle.put_keys


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


def journal_detail(md: MQMD, length: int) -> str:
    """One line of the journal about a message put: the fields of ``docs/keyspace.md``, "The journal"."""
    msg_id = "" if md.msg_id == NULL_ID else md.msg_id.hex()
    correl_id = "" if md.correl_id == NULL_ID else md.correl_id.hex()
    group_id = "" if md.group_id == NULL_ID else md.group_id.hex()
    return f"{msg_id},{correl_id},{group_id},{md.msg_seq_number},{length},{int(md.persistence)},{md.priority}"


# -- groups and segments -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Pieces:
    """Messages as they are stored: each as one physical message, or in segments.

    Attributes:
        first: for each message the place of its first piece.
        order: what the handle retains once they are stored.
        is_segmented: a message had to be split; ``is_persistent`` says whether one of those is persistent.
    """

    messages: list[tuple[MQMD, bytes]]
    first: list[int]
    order: HandleOrder
    warning: MQRC = MQRC.NONE
    is_segmented: bool = False
    is_persistent: bool = False


def _is_grouped(handle: Handle, md: MQMD, options: int) -> bool:
    """Whether more is to be said of a message's group and segment than that it has neither."""
    return bool(
        md.msg_flags
        or options & _LOGICAL_ORDER
        or handle.order.puts is not NOTHING
        or md.group_id != NULL_ID
        or md.msg_seq_number != 1
        or md.offset
        or md.original_length != UNDEFINED_ORIGINAL_LENGTH
    )


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
            pieces = _split_up(connection, handle, messages, options)
            stored = _store_pieces(connection, handle, pieces, pmo, in_unit, numbers, is_whole=is_whole)
        except MQIError as failure:
            if numbers and in_unit:
                # All or none: the unit of work holds a part of this call now, so it must not be committed.
                connection.put_failure = failure
            elif not numbers and failure.reason != MQRC.CONNECTION_BROKEN:
                for (md, _), was in zip(messages, asked, strict=True):
                    _copy(md, was)
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
    pieces: _Pieces,
    pmo: MQPMO,
    in_unit: bool,
    numbers: list[int],
    *,
    is_whole: bool,
) -> MQRC:
    """Store what belongs together in one moment: in one call, or in a unit of work, the program's or one for this."""
    stored_as = replace(pmo, options=int(pmo.options) & ~_NEW_IDS)
    has_unit = connection.unit.is_active
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


def _split_up(
    connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int
) -> _Pieces:
    """The physical messages to store, by the handle's definition; *messages* get the fields they are put with.

    Raises:
        MQIError: what ``sharedq.logical`` refuses, and everything that is wrong with a descriptor.
    """
    result = _Pieces([], [], handle.order)
    facts = handle.facts
    for md, body in messages:
        if _complete_descriptor(connection, handle, md, options):
            result.warning = MQRC.PRIORITY_EXCEEDS_MAXIMUM
        is_remote = facts.is_transmission or bool(handle.destination)
        position = put_position(result.order.puts, options, md, len(body), for_transmission=is_remote)
        if not isinstance(position, PutPosition):
            raise error_for(position, "MQPUT", handle.object_name)
        group_id = new_identifier(connection.origin) if position.group_id is None else position.group_id
        segments = split(body, position.msg_flags, facts.max_msg_length, offset=position.offset)
        if not isinstance(segments, list):
            detail = f"{len(body)} bytes, MAXMSGL({facts.max_msg_length})"
            raise error_for(segments, "MQPUT", handle.object_name, detail)
        result.first.append(len(result.messages))
        stored = replace(
            md,
            group_id=group_id,
            msg_seq_number=position.msg_seq_number,
            offset=position.offset,
            msg_flags=position.msg_flags,
            original_length=position.original_length,
        )
        if len(segments) > 1:
            result.is_segmented = True
            result.is_persistent |= bool(md.persistence)
            result.messages += [
                (replace(stored, offset=at, msg_flags=flags, original_length=len(part)), part)
                for at, flags, part in segments
            ]
        else:
            result.messages.append((stored, body))
        result.warning = result.warning or position.warning
        result.order = after_put(result.order, options, position, group_id=group_id, persistence=md.persistence)
        if md.version > 1:
            md.group_id, md.msg_seq_number, md.offset = group_id, position.msg_seq_number, position.offset
    return result


def _copy(md: MQMD, source: MQMD) -> None:
    for each in fields(MQMD):
        setattr(md, each.name, getattr(source, each.name))


# -- asynchronous puts ---------------------------------------------------------------------------------------------


def _put_later(connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int) -> MQRC:
    """MQPMO_ASYNC_RESPONSE: buffer; the messages leave with the commit, the next get, or a full buffer."""
    if any(_is_grouped(handle, md, options) for md, _ in messages):
        return _put_grouped_later(connection, handle, messages, options)
    try:
        warning, arguments, details = _prepare(connection, handle, messages, options)
    except MQIError:
        if not refresh_definition(connection, handle):
            raise
        warning, arguments, details = _prepare(connection, handle, messages, options)
    _buffer(connection, handle, arguments, details)
    return warning


def _put_grouped_later(
    connection: Connection, handle: Handle, messages: Sequence[tuple[MQMD, bytes]], options: int
) -> MQRC:
    asked = [replace(md) for md, _ in messages]
    try:
        pieces = _split_up(connection, handle, messages, options)
        stored, arguments, details = _prepare(connection, handle, pieces.messages, options & ~_NEW_IDS)
    except MQIError:
        for (md, _), was in zip(messages, asked, strict=True):
            _copy(md, was)
        if not refresh_definition(connection, handle):
            raise
        pieces = _split_up(connection, handle, messages, options)
        stored, arguments, details = _prepare(connection, handle, pieces.messages, options & ~_NEW_IDS)
    connection.unit.remember(handle, "puts")
    handle.order = pieces.order
    _buffer(connection, handle, arguments, details)
    return pieces.warning or stored


def _buffer(
    connection: Connection, handle: Handle, arguments: Sequence[tuple[int, str, bytes]], details: Sequence[str]
) -> None:
    for position, argument in enumerate(arguments):
        connection.pending.append(PendingPut(handle, argument, details[position] if details else ""))
    if len(connection.pending) >= PENDING_MESSAGES:
        flush_pending(connection)


def flush_pending(connection: Connection) -> None:
    """Send buffered asynchronous puts. A failure is kept: the commit will report it (2003), MQSTAT too.

    Raises:
        MQIError: 2009, their fate is unknown.
    """
    if connection.pending:
        send_pending(connection, pending_calls(connection))


def send_pending(connection: Connection, by_structure: dict[str, list[ScriptCall]]) -> None:
    """Make the calls of `pending_calls`. They count as operations of the unit of work, so any failure must be kept.

    Raises:
        MQIError: 2009, their fate is unknown.
    """
    for structure, calls in by_structure.items():
        try:
            replies = connection.call_many(calls)
        except MQIError as error:
            # Refused by Redis as a whole: it is full, or does not permit it.
            if connection.is_ended:
                raise
            connection.put_failure = connection.put_failure or error
            continue
        for reply in replies:
            if not reply[0]:
                connection.async_sent += 1
            elif connection.put_failure is None:
                reason = MQRC.OBJECT_CHANGED if reply[0] == _STALE else MQRC(reply[0])
                connection.put_failure = error_for(reason, "MQPUT", structure)


def pending_calls(connection: Connection) -> dict[str, list[ScriptCall]]:
    """The buffered puts as script calls by structure, counted into the unit of work; the buffer is empty then."""
    calls: dict[str, list[ScriptCall]] = {}
    pending, connection.pending = connection.pending, []
    start = 0
    for position in range(1, len(pending) + 1):
        if position < len(pending) and pending[position].handle is pending[start].handle:
            continue
        run, handle = pending[start:position], pending[start].handle
        structure = handle.structure.keys.name
        arguments = [item.arguments for item in run]
        first = 0
        for end in _batch_ends(arguments):
            details = [item.detail for item in run[first:end]] if connection.group.settings.journal else []
            calls.setdefault(structure, []).append(put_call(connection, handle, arguments[first:end], details, True))
            members = _has_members(arguments[first:end])
            connection.unit.add(structure, handle.name, end - first, is_put=True, has_members=members)
            first = end
        start = position
    return calls


def commit_at_once_call(connection: Connection, *, is_followed: bool) -> ScriptCall | None:
    """One call that puts the buffered messages and commits; None where that takes several.

    The messages must be plain, for one queue and few enough for one call, and what the unit of work has recorded
    must be gets in the same structure. Nothing recorded at all: then the put is the whole unit of work.

    Args:
        is_followed: a get leaves in the same write, and must be undone if this call fails: by its unit of work.
    """
    pending, parts = connection.pending, connection.unit.parts
    handle = pending[0].handle
    structure = handle.structure.keys.name
    part = parts.get(structure)
    if (
        len(parts) > (part is not None)
        or (part is None and is_followed)
        or (part is not None and (part.has_puts or connection.unit.messages > CHUNK_MESSAGES))
        or handle.checks
        or handle.is_intra_group
        or any(put.handle is not handle or put.arguments[1] for put in pending)
    ):
        return None
    arguments = [put.arguments for put in pending]
    if len(_batch_ends(arguments)) > 1:
        return None
    details = [put.detail for put in pending] if connection.group.settings.journal else []
    if part is None:
        return put_call(connection, handle, arguments, details, False)
    keys = handle.structure.keys
    head = handle.put_keys or _put_plain_keys(connection, handle)
    script_keys = (
        *head[:_KEYS_WITHOUT_JOURNAL],
        keys.unit_of_work + connection.token,
        keys.journal,
        *(keys.queue(name).queue for name in part.queues),
    )
    script_arguments = (
        connection.token,
        handle.name,
        handle.version,
        handle.facts.max_depth,
        connection.unit.id,
        part.operations,
        connection.journal_max,
        "\n".join(details),
        len(arguments),
        *(word for base, _, record in arguments for word in (base, record)),
        *part.queues,
    )
    return "structure/commit_put", script_keys, script_arguments
