"""MQGET: taking messages and browsing them, with and without waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial

from sharedq.calls.get.browse import browse, unlock_after_nothing
from sharedq.calls.get.decoding import decode, room_for
from sharedq.calls.get.order import GROUP_MATCHES, GROUPING, ordered_selection, retain_got
from sharedq.calls.get.parts import get_from_parts
from sharedq.calls.get.properties import (
    PROPERTY_OPTIONS,
    cut_to,
    property_option,
    show_properties,
    take_out,
)
from sharedq.calls.get.selection import ANYTHING, DEFAULT_MATCHES, full_length, selected, selection_for
from sharedq.calls.get.wait import FirstCall, call_or_wait, give_up_wait
from sharedq.calls.put.confirmations import confirm_delivery
from sharedq.calls.put.store import check_unit_room
from sharedq.calls.requests.get import ANY, MARKS, GetRequest, Selection
from sharedq.calls.routes.refresh import refresh_definition
from sharedq.calls.unit.commit import backout, commit
from sharedq.calls.unit.put_buffer import flush_pending
from sharedq.logical import NOTHING, UNUSED, match_options_of
from sharedq.messages.context import context_of
from sharedq.messages.message import Message
from sharedq.messages.record import (
    ID_NEEDS_LOOK,
    RECORD_EXPIRY,
    RECORD_GROUP,
    message_of_token,
    record_flags,
)
from sharedq.mqi.arguments import refuse_other
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable, NoMsgUnderCursor, error_for
from sharedq.mqi.limits import NULL_MSG_TOKEN, UNLIMITED_WAIT
from sharedq.mqi.options import check_get_options, told
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.properties.folders import Property
from sharedq.properties.handle import MessageHandle
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.get import handed_reply
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.refusals import inhibited
from sharedq.session.unit_of_work import Marked

#: Messages one script call returns, at most.
BATCH_MESSAGES = 100
#: The version of MQGMO that has MsgToken and ReturnedLength.
_VERSION_WITH_TOKEN = 3
#: Messages that one call of `take_unseen` takes, at most, and calls in one of its writes.
UNSEEN_MESSAGES, _CALLS_TOGETHER = 500, 2
#: Longest body that can exist (MAXMSGL's limit).
LENGTH_MAX = 104_857_600

#: A get that rides along with a commit does not look at messages with these.
_UNUSUAL = RECORD_EXPIRY | RECORD_GROUP
#: Messages of one operation in a unit of work, where structure/get_grouped takes more.
_OPERATION_MESSAGES = 100
# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_WAIT = int(GetOption.WAIT)
_SYNCPOINT = int(GetOption.SYNCPOINT)
_SYNCPOINT_IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
#: The answer of a script that has left a message where it was.
_NOT_TAKEN = int(MQRC.TRUNCATED_MSG_FAILED)
_IN_UNIT = _SYNCPOINT | _SYNCPOINT_IF_PERSISTENT
_BROWSE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR)
_BROWSE = int(GetOption.BROWSE_FIRST) | int(GetOption.BROWSE_NEXT) | _BROWSE_UNDER_CURSOR
_UNDER_CURSOR = int(GetOption.MSG_UNDER_CURSOR)
#: With none of these a get by no descriptor takes any message.
_SELECTING = _UNDER_CURSOR | _BROWSE_UNDER_CURSOR | GROUPING
_FAIL_IF_QUIESCING = int(GetOption.FAIL_IF_QUIESCING)
_CONVERT = int(GetOption.CONVERT)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)
_LOCK = int(GetOption.LOCK)
_MARK_SKIP_BACKOUT = int(GetOption.MARK_SKIP_BACKOUT)
#: There is no event of the operating system to post; and these properties are asked for with a message handle.
_NOT_HERE = int(GetOption.PROPERTIES_IN_HANDLE | GetOption.SET_SIGNAL)
_INPUT = int(OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE)
_OPEN_BROWSE = int(OpenOption.BROWSE)
_SAVE_CONTEXT = int(OpenOption.SAVE_ALL_CONTEXT)
_OPEN_CO_OP = int(OpenOption.CO_OP)
_CO_OP_MARKS = int(GetOption.MARK_BROWSE_CO_OP | GetOption.UNMARK_BROWSE_CO_OP)


def get(
    connection: Connection, handle: Handle, md: MQMD, gmo: MQGMO, *, max_length: int = LENGTH_MAX, front: int = 0
) -> Message:
    """Take or browse one message.

    Args:
        md: what to match, where ``gmo.match_options`` asks for it; with MQGMO_CONVERT, the CodedCharSetId (0: the
            manager's) and Encoding to which data are converted.
        gmo: options; ``wait_interval`` in milliseconds, -1 for ever.
        max_length: longest body accepted, bytes.
        front: bytes of it that the caller needs in front of a message that is in a group, or is a segment.

    Raises:
        MQIError: 2033 nothing fits, and every other reason with MQCC_FAILED.
    """
    options = int(gmo.options)
    _check(connection, handle, gmo, options)
    if handle.gets.parts is not None:
        get_one = partial(get, connection, md=md, gmo=gmo, max_length=max_length, front=front)
        return get_from_parts(connection, handle, gmo, get_one)
    if options & _SYNCPOINT:
        _check_unit(connection, handle, options, 1)
    if connection.pending:
        flush_pending(connection)
    try:
        selection = _selection(handle, md, gmo, options)
    except NoMsgAvailable:
        # No script has looked at the queue, so the definition in force is not known.
        refresh_definition(connection, handle)
        if handle.definition.facts.is_get_inhibited:
            raise inhibited(connection, handle, MQRC.GET_INHIBITED, "MQGET") from None
        unlock_after_nothing(connection, handle, options)
        raise
    if handle.gets.selector is not None:
        selection = selected(handle, selection)
    may_wait = bool(options & _WAIT) and not selection.is_under_cursor
    wait_ms = gmo.wait_interval if may_wait else 0
    if options & _BROWSE:
        message = browse(connection, handle, selection, options, max_length, wait_ms, front)
        if message.reason != MQRC.TRUNCATED_MSG_FAILED:
            # A browse leaves no context to pass on.
            handle.gets.saved_context = None
    else:
        request = GetRequest(connection, handle, selection, options, 1, max_length, connection.unit.id, front=front)
        message = _take(connection, handle, request, wait_ms)[0]
    if options & _CONVERT:
        _convert(connection, md, options, [message], room_for(message, max_length, front))
    gmo.resolved_q_name = handle.name.encode()
    if message.has_group:
        gmo.group_status, gmo.segment_status = message.group_status, message.segment_status
        gmo.segmentation = message.segmentation
    else:
        gmo.group_status = gmo.segment_status = gmo.segmentation = b" "
    if gmo.version >= _VERSION_WITH_TOKEN:
        gmo.msg_token, gmo.returned_length = message.msg_token, len(message.body)
    return message


def get_with_properties(
    connection: Connection,
    handle: Handle,
    md: MQMD,
    gmo: MQGMO,
    properties: MessageHandle | None,
    *,
    max_length: int = LENGTH_MAX,
    front: int = 0,
) -> Message:
    """``get`` where the call says how properties are returned. The buffer needs room for the returned data alone.

    Args:
        properties: the message handle, which loses the properties that it had.

    Raises:
        MQIError: as for ``get``; 2460 MQGMO_PROPERTIES_IN_HANDLE without a message handle; 2499 another thread uses it.
    """
    refuse_other(MessageHandle, MQRC.HMSG_ERROR, properties, "MQGET", handle.object_name)
    with nullcontext() if properties is None else properties.in_use("MQGET"):
        return _get_with_properties(connection, handle, md, gmo, properties, max_length, front)


def _get_with_properties(
    connection: Connection,
    handle: Handle,
    md: MQMD,
    gmo: MQGMO,
    properties: MessageHandle | None,
    max_length: int,
    front: int,
) -> Message:
    given = int(gmo.options)
    chosen = property_option(handle, given, properties)
    reason = check_get_options(given, match_options_of(gmo))
    if not reason and chosen & GetOption.PROPERTIES_IN_HANDLE and properties is None:
        reason = MQRC.HMSG_ERROR
    if reason:
        raise error_for(reason, "MQGET", handle.object_name)
    is_accepted = bool(given & _ACCEPT_TRUNCATED)
    # The whole message first, not converted.
    gmo.options = given & ~(PROPERTY_OPTIONS | _CONVERT) | int(GetOption.PROPERTIES_FORCE_MQRFH2)
    try:
        message, found = _get_fitting(connection, handle, md, gmo, chosen, max_length, front, is_accepted=is_accepted)
    finally:
        gmo.options = given
    if properties is not None and chosen & GetOption.PROPERTIES_IN_HANDLE:
        properties.take(found, message.md)
    room = room_for(message, max_length, front)
    cut_to(message, room, is_accepted=is_accepted)
    _convert(connection, md, given, [message], room)
    if gmo.version >= _VERSION_WITH_TOKEN:
        gmo.returned_length = len(message.body)
    return message


def _get_fitting(
    connection: Connection,
    handle: Handle,
    md: MQMD,
    gmo: MQGMO,
    chosen: int,
    max_length: int,
    front: int,
    *,
    is_accepted: bool,
) -> tuple[Message, list[Property]]:
    """Get a message and take its properties out of its data. Whether it fits is decided without the properties."""
    while True:
        most = LENGTH_MAX + front if is_accepted else max_length
        message = get(connection, handle, md, gmo, max_length=most, front=front)
        if message.reason != MQRC.TRUNCATED_MSG_FAILED or handle.gets.parts is not None:
            return message, take_out(message, chosen)
        its_id = message_of_token(message.msg_token, handle.structure.number) or ""
        selection = Selection(message_id=its_id, is_under_cursor=True)
        whole = _look_at(connection, handle, selection)
        if whole is None:
            continue
        length = whole.data_length
        found = take_out(whole, chosen)
        if not found or len(whole.body) > room_for(whole, max_length, front):
            return whole, found
        options = int(gmo.options)
        try:
            if options & _BROWSE:
                message = get(connection, handle, md, gmo, max_length=length)
            else:
                request = GetRequest(connection, handle, selection, options, 1, length, connection.unit.id)
                message = _take(connection, handle, request, 0)[0]
        except NoMsgUnderCursor:
            # Another program has taken it meanwhile.
            continue
        return message, take_out(message, chosen)


def _look_at(connection: Connection, handle: Handle, selection: Selection) -> Message | None:
    """The message with a certain id, which stays; None if it has gone."""
    request = GetRequest(connection, handle, selection, _BROWSE_UNDER_CURSOR, 1, LENGTH_MAX, cursor=0)
    reply = connection.call(*request.call())
    if reply[0]:
        return None
    if type(reply[2]) is not list:
        reply = [*reply[:3], [reply[3]]]
    return decode(handle, reply, LENGTH_MAX, connection.redis_ms)[0][0]


def get_many(
    connection: Connection, handle: Handle, gmo: MQGMO, count: int, *, max_length: int = LENGTH_MAX
) -> list[Message]:
    """Take up to *count* (1..100) messages in delivery order in one round trip; at least one.

    Waits, where ``gmo`` says so, for the first message only. A batch also ends at 1 MiB of data.

    Raises:
        MQIError: as for ``get``.
    """
    options = int(gmo.options)
    _check(connection, handle, gmo, options)
    _check_batch(handle, options, count, gmo.match_options)
    if handle.gets.parts is not None:
        return get_from_parts(
            connection, handle, gmo, partial(get_many, connection, gmo=gmo, count=count, max_length=max_length)
        )
    if options & _IN_UNIT:
        _check_unit(connection, handle, options, count)
    if connection.pending:
        flush_pending(connection)
    wait_ms = gmo.wait_interval if options & _WAIT else 0
    request = GetRequest(connection, handle, _any(handle), options, count, max_length, connection.unit.id)
    request.found_at = handle.gets.found_at or 0
    return _convert(connection, None, options, _take(connection, handle, request, wait_ms), max_length)


def take_unseen(connection: Connection, handle: Handle, count: int) -> int:
    """Take up to *count* messages under syncpoint, in delivery order, without fetching them; how many were taken.

    For a program that reads its unit of work in another way, once it is prepared. Only plain messages come so: where
    something else is in the way, or nothing is there, fewer are taken, and `get_many` takes the next one or tells.

    Raises:
        MQIError: 2024 that many are too many; 2009.
    """
    check_unit_room(connection, count)
    if connection.pending:
        flush_pending(connection)
    taken, is_stopped = 0, handle.definition.facts.is_get_inhibited
    while taken < count and not is_stopped:
        sizes = [min(UNSEEN_MESSAGES, count - at) for at in range(taken, count, UNSEEN_MESSAGES)][:_CALLS_TOGETHER]
        unit_id, selection = connection.unit.id, _any(handle)
        requests = [
            GetRequest(connection, handle, selection, _SYNCPOINT, size, LENGTH_MAX, unit_id, is_blind=True)
            for size in sizes
        ]
        if handle.gets.parts is not None or not requests[0].is_plain:
            break
        replies = connection.call_many([request.call() for request in requests])
        for size, reply in zip(sizes, replies, strict=True):
            got = 0 if reply[0] else len(reply[2].split())
            if got:
                connection.unit.add(handle.structure.keys.name, handle.name, got)
            taken, is_stopped = taken + got, is_stopped or got < size
    return taken


def get_later(
    connection: Connection, handle: Handle, count: int, *, max_length: int = LENGTH_MAX
) -> tuple[ScriptCall, Callable[[Reply], list[Message]]]:
    """A get of up to *count* messages under syncpoint that somebody else sends after a wait.

    Returns:
        The call, and what makes its reply messages: none where there were none. It raises as `get_many` does.
    """
    options = _SYNCPOINT

    def taken(reply: Reply) -> list[Message]:
        try:
            return _take(connection, handle, request, 0, first=lambda _: reply)
        except NoMsgAvailable:
            return []

    request = GetRequest(connection, handle, _any(handle), options, count, max_length, connection.unit.id)
    return request.call(), taken


def commit_and_get(
    connection: Connection,
    handle: Handle,
    gmo: MQGMO,
    count: int = 1,
    *,
    md: MQMD | None = None,
    max_length: int = LENGTH_MAX,
) -> list[Message]:
    """MQCMIT and the next MQGET of *count* (1..100) messages, in one round trip where all lives in one structure.

    Where nothing is there, a get that waits does so from the moment of the commit.

    Args:
        md: what one message must match, as for ``get``; else any message is asked for.

    Raises:
        MQIError: 2003 the commit failed and was backed out (nothing was taken); 2033 committed, nothing to get.
    """
    options = int(gmo.options)
    _check(connection, handle, gmo, options)
    _check_batch(handle, options, count, gmo.match_options)
    if options & _IN_UNIT and count > connection.max_uncommitted:
        raise error_for(MQRC.SYNCPOINT_LIMIT_REACHED, "MQGET", handle.object_name)
    wait_ms = gmo.wait_interval if options & _WAIT else 0
    if options & (GROUPING | _MARK_SKIP_BACKOUT) or (md is not None and handle.order is not UNUSED):
        # The retained order decides which message is got, and a commit that fails restores this order: so the commit
        # comes first. But a get that would be refused anyhow commits nothing.
        md = MQMD(version=2) if md is None else md
        with suppress(NoMsgAvailable):
            _selection(handle, md, gmo, options)
        commit(connection)
        return [get(connection, handle, md, gmo, max_length=max_length)]
    selection = ANY if md is None else selection_for(handle, *full_length(handle, md, gmo))
    if handle.gets.parts is not None or handle.gets.selector is not None:
        commit(connection)
        if md is not None:
            return [get(connection, handle, md, gmo, max_length=max_length)]
        return get_many(connection, handle, gmo, count, max_length=max_length)
    # The get belongs to the next unit of work, whose id follows from this one's.
    request = GetRequest(connection, handle, selection, options, count, max_length, connection.next_unit_id)

    def commit_first(waiter: bytes) -> Reply:
        request.waits_as = waiter
        try:
            return commit(connection, and_then=request)
        except MQIError:
            # The program learns of the commit alone. It may have begun to wait, and may have been handed a message.
            handed = request.woken and handed_reply(request.woken)
            if handed or (waiter and give_up_wait(connection, handle) is not None):
                connection.unit.add(handle.structure.keys.name, handle.name, 1)
                backout(connection)
            raise

    first: FirstCall | None = commit_first
    if not options & _SYNCPOINT or handle.definition.facts.is_get_inhibited:
        commit(connection)
        first = None
    messages = _take(connection, handle, request, wait_ms, first=first)
    return _convert(connection, md, options, messages, max_length) if options & _CONVERT else messages


def _any(handle: Handle) -> Selection:
    """The selection of any message that the handle sees."""
    return ANY if handle.gets.selector is None else selected(handle, ANY)


def _check_batch(handle: Handle, options: int, count: int, match_options: int) -> None:
    if (
        options & (_BROWSE | _UNDER_CURSOR)
        or not 1 <= count <= BATCH_MESSAGES
        or (options & (GROUPING | _MARK_SKIP_BACKOUT) and count > 1)
        or match_options & GROUP_MATCHES
    ):
        detail = "a batch takes 1 to 100 messages, of any kind and in physical order"
        raise error_for(MQRC.OPTIONS_ERROR, "MQGET", handle.object_name, detail)


def _check(connection: Connection, handle: Handle, gmo: MQGMO, options: int) -> None:
    if handle.structure.has_failed:
        connection.check_usable(handle)
    asked = (options, gmo.version, gmo.match_options, gmo.wait_interval)
    # Most gets of a handle ask as the one before, and a definition counts for marks alone.
    if asked != handle.gets.checked or options & MARKS:
        _check_options(handle, gmo, options)
        handle.gets.checked = asked
    if connection.is_quiescing and options & _FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQGET", handle.object_name)


def _check_options(handle: Handle, gmo: MQGMO, options: int) -> None:
    reason = check_get_options(options, match_options_of(gmo))
    if reason or options & _NOT_HERE:
        not_here = MQRC.OPTIONS_ERROR if options & GetOption.SET_SIGNAL else MQRC.HMSG_ERROR
        raise error_for(reason or not_here, "MQGET", handle.object_name, told(GetOption(options)))
    is_browse = options & _BROWSE
    if (is_browse or options & _UNDER_CURSOR) and not handle.options & _OPEN_BROWSE:
        raise error_for(MQRC.NOT_OPEN_FOR_BROWSE, "MQGET", handle.object_name)
    if not is_browse and not handle.options & _INPUT:
        raise error_for(MQRC.NOT_OPEN_FOR_INPUT, "MQGET", handle.object_name)
    if options & _CO_OP_MARKS and not handle.options & _OPEN_CO_OP:
        raise error_for(MQRC.OPTIONS_ERROR, "MQGET", handle.object_name, "its handle is not of the co-operating set")
    if options & _LOCK and handle.gets.parts is not None:
        raise error_for(MQRC.OPTIONS_ERROR, "MQGET", handle.object_name, "nothing is locked on this queue")
    if options & MARKS and handle.definition.facts.is_transmission:
        raise error_for(MQRC.OPTIONS_ERROR, "MQGET", handle.object_name, "nothing is marked on a transmission queue")
    is_waiting = options & _WAIT and not options & (_UNDER_CURSOR | _BROWSE_UNDER_CURSOR)
    if is_waiting and gmo.wait_interval < UNLIMITED_WAIT:
        raise error_for(MQRC.WAIT_INTERVAL_ERROR, "MQGET", handle.object_name, f"WaitInterval {gmo.wait_interval}")


def _check_unit(connection: Connection, handle: Handle, options: int, count: int) -> None:
    check_unit_room(connection, count)
    if options & _MARK_SKIP_BACKOUT and connection.unit.marked:
        raise error_for(MQRC.SECOND_MARK_NOT_ALLOWED, "MQGET", handle.object_name)


def _convert(
    connection: Connection, md: MQMD | None, options: int, messages: list[Message], max_length: int
) -> list[Message]:
    """Convert what was got, where the call says so; without *md* to the representation that a new MQMD names.

    Called last: the retained state of groups needs the lengths that data had on the queue.
    """
    if options & _CONVERT:
        md = md or MQMD()
        target = Representation(md.coded_char_set_id or connection.ccsid, md.encoding)
        for message in messages:
            message.convert(target, max_length, may_cut=bool(options & _ACCEPT_TRUNCATED))
    return messages


def asked_for(handle: Handle, md: MQMD, gmo: MQGMO) -> Selection:
    """The selection that an MQGET would look for now, for a wait that takes nothing.

    Raises:
        MQIError: 2033, nothing can fit it; and what the MQGET is refused for.
    """
    return selected(handle, _selection(handle, md, gmo, int(gmo.options)))


def _selection(handle: Handle, md: MQMD, gmo: MQGMO, options: int) -> Selection:
    is_plain = md is ANYTHING and gmo.match_options == DEFAULT_MATCHES and gmo.msg_token is NULL_MSG_TOKEN
    if is_plain and handle.order is UNUSED and not options & _SELECTING:
        return ANY
    if options & (_UNDER_CURSOR | _BROWSE_UNDER_CURSOR):
        if not handle.gets.cursor.message_id:
            raise error_for(MQRC.NO_MSG_UNDER_CURSOR, "MQGET", handle.object_name)
        if handle.order is UNUSED and not options & GROUPING:
            return Selection(message_id=handle.gets.cursor.message_id, is_under_cursor=True)
    else:
        md, gmo = full_length(handle, md, gmo)
    if options & GROUPING or gmo.match_options & GROUP_MATCHES or handle.order is not UNUSED:
        return ordered_selection(handle, md, gmo, options)
    return selection_for(handle, md, gmo)


# -- taking --------------------------------------------------------------------------------------------------------


def _take(
    connection: Connection, handle: Handle, request: GetRequest, wait_ms: int, *, first: FirstCall | None = None
) -> list[Message]:
    """Take the messages of *request*. *first* makes the first call in the place of the request's own."""
    options, reply = request.options, None
    if not wait_ms and (first or not handle.definition.facts.is_get_inhibited):
        reply, first = connection.call_many((request.call(),))[0] if first is None else first(b""), None
    if reply is None or reply[0]:
        waiter = request.selection.waiter_text(is_browse=False)
        reply = call_or_wait(connection, handle, request, waiter, wait_ms, reply, first)
    is_grouped = type(reply[2]) is list
    needs_look = is_grouped or ID_NEEDS_LOOK in reply[2]
    handle.gets.rides = not (needs_look and (is_grouped or record_flags(reply[3][0]) & _UNUSUAL))
    segments = int(reply[2][2]) if is_grouped else 0
    if handle.gets.found_at is not None and is_grouped:
        handle.gets.found_at = int(reply[2][0])
    messages, seen = decode(handle, reply, request.max_length, connection.redis_ms, request.front)
    if seen:
        handle.gets.learn(seen)
    # Where structure/get has looked, there is no member of a group.
    has_members = is_grouped and any(message.has_group for message in messages)
    taken = len(messages) if reply[0] != _NOT_TAKEN else 0
    if options & _IN_UNIT:
        kept = segments or taken
        if options & _SYNCPOINT_IF_PERSISTENT:
            kept = sum(message.is_persistent for message in messages[:taken])
        if kept and taken:
            structure, operations = handle.structure.keys.name, -(-kept // _OPERATION_MESSAGES)
            connection.unit.add(structure, handle.name, kept, operations=operations, has_members=has_members)
            if options & _MARK_SKIP_BACKOUT:
                connection.unit.marked = Marked(structure, handle.name, kept, operations, has_members)
    if taken and handle.options & _SAVE_CONTEXT:
        handle.gets.saved_context = context_of(messages[taken - 1].md)
    if taken and (has_members or handle.order.gets is not NOTHING):
        _retain(connection, handle, options, messages)
    # Only an id that ends in "x" can be that of a message that asks for reports, or that has properties.
    if taken and needs_look:
        _confirm(connection, handle, options, messages)
        show_properties(handle, options, messages)
    return messages


def _confirm(connection: Connection, handle: Handle, options: int, messages: Sequence[Message]) -> None:
    by_unit: dict[bool, list[Message]] = {}
    for message in messages:
        if message.asks_reports:
            in_unit = bool(options & _SYNCPOINT or (options & _SYNCPOINT_IF_PERSISTENT and message.is_persistent))
            by_unit.setdefault(in_unit, []).append(message)
    for in_unit, asking in by_unit.items():
        confirm_delivery(connection, handle, asking, in_unit=in_unit)


def _retain(connection: Connection, handle: Handle, options: int, messages: Sequence[Message]) -> None:
    if handle.definition.facts.is_transmission:
        return
    warning = retain_got(connection, handle, options, [(message.md, message.data_length) for message in messages])
    first = messages[0]
    if warning and first.reason in (MQRC.NONE, MQRC.TRUNCATED_MSG_ACCEPTED):
        first.reason = warning
