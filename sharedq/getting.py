"""MQGET: taking messages and browsing them, with and without waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sharedq.connection import Connection, ScriptCall
from sharedq.handle import Handle
from sharedq.link import Reply
from sharedq.logical import NOTHING, UNUSED, group_status, reassembled, segment_status, segmentation
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.limits import UNLIMITED_WAIT
from sharedq.mqi.options import check_get_options
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.ordering import GROUP_MATCHES, GROUPING, ordered_selection, retain_browsed, retain_got
from sharedq.putting import check_unit_room, flush_pending
from sharedq.record import (
    RECORD_DESTINATION,
    RECORD_GROUP,
    RECORD_PERSISTENT,
    decode_descriptor,
    record_body,
    record_destination,
    record_flags,
)
from sharedq.refresh import refresh_definition, take_definition
from sharedq.selection import ANY, Selection, message_token, selection_for
from sharedq.transmission import as_transmitted

#: Messages one script call returns, at most.
BATCH_MESSAGES = 100
#: Bytes of bodies one script call returns before the batch ends.
BATCH_BYTES = 1 << 20
#: The version of MQGMO that has MsgToken and ReturnedLength.
_VERSION_WITH_TOKEN = 3
#: Longest body that can exist (MAXMSGL's limit).
LENGTH_MAX = 104_857_600
#: What stands for the descriptor of a message without GroupId, by its Persistence.
_NO_GROUP = (MQMD(persistence=0), MQMD(persistence=1))
#: Longest time a connection blocks in Redis before it looks again, seconds.
BLOCK_MAX_S = 30.0

_STALE, _LOOK_AGAIN, _GROUPED = 1, 2, 3
#: Messages of one operation in a unit of work, where structure/get_grouped takes more.
_OPERATION_MESSAGES = 100
#: In place of a waiter: nothing is taken unless the commit in the same write has ended its unit of work.
_BEHIND_COMMIT = b"="
# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_WAIT = int(GetOption.WAIT)
_SYNCPOINT = int(GetOption.SYNCPOINT)
_SYNCPOINT_IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
_IN_UNIT = _SYNCPOINT | _SYNCPOINT_IF_PERSISTENT
_BROWSE_NEXT = int(GetOption.BROWSE_NEXT)
_BROWSE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR)
_BROWSE = int(GetOption.BROWSE_FIRST) | _BROWSE_NEXT | _BROWSE_UNDER_CURSOR
_UNDER_CURSOR = int(GetOption.MSG_UNDER_CURSOR)
_FAIL_IF_QUIESCING = int(GetOption.FAIL_IF_QUIESCING)
_ACCEPT_TRUNCATED = int(GetOption.ACCEPT_TRUNCATED_MSG)
_SUPPORTED = (
    _BROWSE
    | _WAIT
    | _IN_UNIT
    | _UNDER_CURSOR
    | _FAIL_IF_QUIESCING
    | _ACCEPT_TRUNCATED
    | GROUPING
    | int(
        GetOption.NO_SYNCPOINT
        | GetOption.CONVERT
        | GetOption.PROPERTIES_FORCE_MQRFH2
        | GetOption.NO_PROPERTIES
        | GetOption.PROPERTIES_COMPATIBILITY
    )
)
_INPUT = int(OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE)
_OPEN_BROWSE = int(OpenOption.BROWSE)


class Message:
    """What an MQGET returned: one message, or a logical message put together from its segments.

    Attributes:
        body: the data, cut when ``reason`` is 2079 or 2080.
        data_length: length of the whole data, bytes.
        reason: ``NONE``, or the reason of a warning.
    """

    __slots__ = ("_got", "_md", "body", "data_length", "reason")

    def __init__(self, record: bytes, message_id: bytes, structure_number: int, now_ms: int) -> None:
        self._got = (record, message_id, structure_number, now_ms)
        self._md: MQMD | None = None
        self.body = body = record_body(record)
        self.data_length = len(body)
        self.reason = MQRC.NONE

    @property
    def is_persistent(self) -> bool:
        """As the descriptor's Persistence says."""
        return bool(record_flags(self._got[0]) & RECORD_PERSISTENT)

    @property
    def has_group(self) -> bool:
        """Whether it has a GroupId: it is in a group, a segment, or may be segmented."""
        return bool(record_flags(self._got[0]) & RECORD_GROUP)

    @property
    def msg_token(self) -> bytes:
        """MsgToken: with MQMO_MATCH_MSG_TOKEN it names this message for as long as that is on the queue."""
        _, message_id, structure_number, _ = self._got
        return message_token(message_id, structure_number)

    @property
    def group_status(self) -> bytes:
        """GroupStatus: b"G" in a group, b"L" the last message of one, b" " in none."""
        return group_status(self._msg_flags)

    @property
    def segment_status(self) -> bytes:
        """SegmentStatus: b"S" a segment, b"L" the last or only one, b" " none."""
        return segment_status(self._msg_flags)

    @property
    def segmentation(self) -> bytes:
        """Segmentation: b"A" the message may be segmented further, b" " it may not."""
        return segmentation(self._msg_flags)

    @property
    def _msg_flags(self) -> int:
        return self.md.msg_flags if self.has_group else 0

    @property
    def md(self) -> MQMD:
        """The message's descriptor, as it was when the message was got."""
        # Made when somebody looks: its 28 fields cost more than all the rest of a get in a batch.
        if self._md is None:
            record, message_id, structure_number, now_ms = self._got
            self._md = decode_descriptor(record, message_number(message_id), structure_number, now_ms)
        return self._md

    def put_together(self, segments: Sequence[Message]) -> None:
        """Make it the logical message that it is the first segment of."""
        whole = reassembled([(segment.md, segment.body) for segment in segments])
        self._md, self.body, self.reason = whole.md, whole.body, whole.reason
        self.data_length = len(whole.body)

    def wrap(self, destination: bytes, remote_qmgr: bytes) -> None:
        """Give it the header of a transmission queue, as whoever gets messages from one expects."""
        self.body = as_transmitted(self.md, self.body, destination, remote_qmgr)
        self.data_length = len(self.body)


def get(connection: Connection, handle: Handle, md: MQMD, gmo: MQGMO, *, max_length: int = LENGTH_MAX) -> Message:
    """Take or browse one message.

    Args:
        md: what to match, where ``gmo.match_options`` asks for it.
        gmo: options; ``wait_interval`` in milliseconds, -1 for ever.
        max_length: longest body accepted, bytes.

    Raises:
        MQIError: 2033 nothing fits, and every other reason with MQCC_FAILED.
    """
    options = int(gmo.options)
    _check(connection, handle, gmo, options)
    if options & _IN_UNIT:
        check_unit_room(connection, 1)
    flush_pending(connection)
    selection = _selection(handle, md, gmo, options)
    may_wait = bool(options & _WAIT) and not selection.message_id
    wait_ms = gmo.wait_interval if may_wait else 0
    if options & _BROWSE:
        message = _browse(connection, handle, selection, options, max_length, wait_ms)
    else:
        message = _take(connection, handle, selection, options, 1, max_length, wait_ms)[0]
    gmo.resolved_q_name = handle.name.encode()
    if message.has_group:
        gmo.group_status, gmo.segment_status = message.group_status, message.segment_status
        gmo.segmentation = message.segmentation
    else:
        gmo.group_status = gmo.segment_status = gmo.segmentation = b" "
    if gmo.version >= _VERSION_WITH_TOKEN:
        gmo.msg_token, gmo.returned_length = message.msg_token, len(message.body)
    return message


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
    if options & _IN_UNIT:
        check_unit_room(connection, count)
    flush_pending(connection)
    wait_ms = gmo.wait_interval if options & _WAIT else 0
    return _take(connection, handle, ANY, options, count, max_length, wait_ms)


def commit_and_get(
    connection: Connection, handle: Handle, gmo: MQGMO, count: int = 1, *, max_length: int = LENGTH_MAX
) -> list[Message]:
    """MQCMIT and the next MQGET of any *count* (1..100) messages, in one round trip where all lives in one structure.

    Raises:
        MQIError: 2003 the commit failed and was backed out (nothing was taken); 2033 committed, nothing to get.
    """
    options = int(gmo.options)
    _check(connection, handle, gmo, options)
    _check_batch(handle, options, count, gmo.match_options)
    if options & _IN_UNIT and count > connection.max_uncommitted:
        raise error_for(MQRC.SYNCPOINT_LIMIT_REACHED, "MQGET", handle.object_name)
    wait_ms = gmo.wait_interval if options & _WAIT else 0
    if options & GROUPING:
        # What is retained decides what is got, and a commit that fails restores it: one after the other. But what
        # is refused anyhow commits nothing.
        _selection(handle, MQMD(version=2), gmo, options)
        connection.commit()
        return [get(connection, handle, MQMD(version=2), gmo, max_length=max_length)]
    if not options & _SYNCPOINT or handle.facts.is_get_inhibited:
        connection.commit()
        return _take(connection, handle, ANY, options, count, max_length, wait_ms)
    # The get belongs to the next unit of work, whose id follows from this one's.
    unit_id = connection.next_unit_id
    call = _get_call(connection, handle, ANY, options, count, max_length, _BEHIND_COMMIT, unit_id)
    reply = connection.commit(and_then=call, of=handle)
    return _take(connection, handle, ANY, options, count, max_length, wait_ms, first_reply=reply)


def _check_batch(handle: Handle, options: int, count: int, match_options: int) -> None:
    if (
        options & (_BROWSE | _UNDER_CURSOR)
        or not 1 <= count <= BATCH_MESSAGES
        or (options & GROUPING and count > 1)
        or match_options & GROUP_MATCHES
    ):
        detail = "a batch takes 1 to 100 messages, of any kind and in physical order"
        raise error_for(MQRC.OPTIONS_ERROR, "MQGET", handle.object_name, detail)


def _check(connection: Connection, handle: Handle, gmo: MQGMO, options: int) -> None:
    reason = check_get_options(options, gmo.match_options)
    if reason or options & ~_SUPPORTED:
        raise error_for(reason or MQRC.OPTIONS_ERROR, "MQGET", handle.object_name)
    is_browse = options & _BROWSE
    if (is_browse or options & _UNDER_CURSOR) and not handle.options & _OPEN_BROWSE:
        raise error_for(MQRC.NOT_OPEN_FOR_BROWSE, "MQGET", handle.object_name)
    if not is_browse and not handle.options & _INPUT:
        raise error_for(MQRC.NOT_OPEN_FOR_INPUT, "MQGET", handle.object_name)
    if options & _WAIT and gmo.wait_interval < UNLIMITED_WAIT:
        raise error_for(MQRC.WAIT_INTERVAL_ERROR, "MQGET", handle.object_name)
    if connection.is_quiescing and options & _FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQGET", handle.object_name)


def _selection(handle: Handle, md: MQMD, gmo: MQGMO, options: int) -> Selection:
    if options & (_UNDER_CURSOR | _BROWSE_UNDER_CURSOR):
        if not handle.cursor.message_id:
            raise error_for(MQRC.NO_MSG_UNDER_CURSOR, "MQGET", handle.object_name)
        if handle.order is UNUSED and not options & GROUPING:
            return Selection(message_id=handle.cursor.message_id, is_under_cursor=True)
    if options & GROUPING or gmo.match_options & GROUP_MATCHES or handle.order is not UNUSED:
        return ordered_selection(handle, md, gmo, options)
    return selection_for(handle, md, gmo)


# -- taking --------------------------------------------------------------------------------------------------------


def _take(
    connection: Connection,
    handle: Handle,
    selection: Selection,
    options: int,
    count: int,
    max_length: int,
    wait_ms: int,
    first_reply: Reply = None,
) -> list[Message]:
    def call(waiter: bytes, horizon: int) -> ScriptCall:
        unit_id = connection.unit.id
        return _get_call(connection, handle, selection, options, count, max_length, waiter, unit_id, horizon)

    reply = first_reply
    if reply is None and not wait_ms and not handle.facts.is_get_inhibited:
        reply = connection.call(*call(b"", 0))
    if reply is None or reply[0]:
        waiter = selection.waiter_text(is_browse=False)
        reply = _call_or_wait(connection, handle, options, call, waiter, wait_ms, reply)
    is_grouped = type(reply[2]) is list
    segments = int(reply[2][2]) if is_grouped else 0
    messages = _decode(handle, reply, max_length)
    # Where structure/get has looked, there is no member of a group.
    has_members = is_grouped and any(message.has_group for message in messages)
    taken = len(messages) if reply[0] != MQRC.TRUNCATED_MSG_FAILED else 0
    if options & _IN_UNIT:
        kept = segments or taken
        if options & _SYNCPOINT_IF_PERSISTENT:
            kept = sum(message.is_persistent for message in messages[:taken])
        if kept and taken:
            connection.unit.add(
                handle.structure.keys.name,
                handle.name,
                kept,
                operations=-(-kept // _OPERATION_MESSAGES),
                has_members=has_members,
            )
    if taken and (has_members or handle.order.gets is not NOTHING):
        _retain(connection, handle, options, messages)
    return messages


def _retain(connection: Connection, handle: Handle, options: int, messages: Sequence[Message]) -> None:
    if handle.facts.is_transmission:
        return
    warning = retain_got(connection, handle, options, [(message.md, message.data_length) for message in messages])
    first = messages[0]
    if warning and first.reason in (MQRC.NONE, MQRC.TRUNCATED_MSG_ACCEPTED):
        first.reason = warning


def _get_call(
    connection: Connection,
    handle: Handle,
    selection: Selection,
    options: int,
    count: int,
    max_length: int,
    waiter: bytes,
    unit_id: str,
    horizon: int = 0,
) -> ScriptCall:
    mode = 1 if options & _SYNCPOINT else 2 if options & _SYNCPOINT_IF_PERSISTENT else 0
    token = connection.token
    if handle.has_members or selection.is_grouped:
        return _grouped_call(
            connection, handle, selection, options, count, max_length, waiter, unit_id, str(mode), 0, horizon
        )
    return (
        "structure/get",
        handle.get_keys or _get_keys(handle, token),
        (
            token,
            handle.name,
            handle.version,
            count,
            unit_id,
            mode,
            max_length,
            1 if options & _ACCEPT_TRUNCATED else 0,
            BATCH_BYTES,
            waiter,
            connection.journal_max,
            *(() if selection is ANY else selection.arguments),
        ),
    )


def _grouped_call(
    connection: Connection,
    handle: Handle,
    selection: Selection,
    options: int,
    count: int,
    max_length: int,
    waiter: bytes,
    unit_id: str,
    mode: str,
    cursor: int,
    horizon: int,
) -> ScriptCall:
    token, queue = connection.token, handle.queue
    return (
        "structure/get_grouped",
        (*(handle.get_keys or _get_keys(handle, token)), queue.groups, queue.members),
        (
            token,
            handle.name,
            handle.version,
            count,
            unit_id,
            mode,
            max_length,
            1 if options & _ACCEPT_TRUNCATED else 0,
            BATCH_BYTES,
            waiter,
            connection.journal_max,
            cursor,
            horizon,
            *selection.grouped_arguments,
            1 if connection.unit.is_active or connection.pending else 0,
        ),
    )


def _get_keys(handle: Handle, token: str) -> tuple[str, ...]:
    keys, queue = handle.structure.keys, handle.queue
    handle.get_keys = (
        keys.owners,
        keys.messages,
        queue.queue,
        queue.available,
        queue.index,
        queue.waiters,
        keys.unit_of_work + token,
        keys.expiry,
        keys.wake + token,
        keys.journal,
        keys.wake,
    )
    return handle.get_keys


def _decode(handle: Handle, reply: Reply, max_length: int) -> list[Message]:
    if type(reply[2]) is list:
        return _decode_grouped(handle, reply, max_length)
    messages = _decode_records(handle, reply)
    if reply[0]:
        messages[0].reason = MQRC(int(reply[0]))
        messages[0].data_length = int(reply[1])
    return messages


def _decode_grouped(handle: Handle, reply: Reply, max_length: int) -> list[Message]:
    """Of structure/get_grouped; segments that belong together are put together."""
    reason, length, (_, left, segments), *records = reply
    handle.has_members = left not in (None, b"0")
    messages = _decode_records(handle, [b"", b"", *records])
    first = messages[0]
    if int(segments):
        first.put_together(messages)
        messages = [first]
    first.data_length = int(length)
    if first.data_length > max_length:
        first.body = first.body[:max_length]
        first.reason = MQRC(reason)
    return messages


def _decode_records(handle: Handle, reply: Sequence[bytes]) -> list[Message]:
    now_ms = int(time.time() * 1000)
    structure_number = handle.structure.number
    messages = [Message(reply[at + 1], reply[at], structure_number, now_ms) for at in range(2, len(reply), 2)]
    if handle.facts.is_transmission:
        # A part of the shared transmission queue holds what is addressed to the manager of its structure.
        remote_qmgr = handle.structure.keys.name.removeprefix("@").encode()
        for message, record in zip(messages, reply[3::2], strict=True):
            if record_flags(record) & RECORD_DESTINATION:
                message.wrap(record_destination(record), remote_qmgr)
    return messages


def message_number(message_id: bytes) -> int:
    """The number in a message id such as ``124.5x``."""
    return int(message_id.rstrip(b"x").partition(b".")[0])


# -- browsing ------------------------------------------------------------------------------------------------------


def _browse(
    connection: Connection, handle: Handle, selection: Selection, options: int, max_length: int, wait_ms: int
) -> Message:
    keys, queue, token = handle.structure.keys, handle.queue, connection.token
    cursor = 0
    if options & _BROWSE_NEXT:
        # In logical order a group stands where it begins, wherever its members are.
        cursor = handle.cursor.begins_at if selection.firsts else handle.cursor.score

    def call(waiter: bytes, horizon: int) -> ScriptCall:
        if handle.has_members or selection.is_grouped:
            return _grouped_call(
                connection, handle, selection, options, 1, max_length, waiter, "", "b", cursor, horizon
            )
        return (
            "structure/browse",
            (
                keys.owners,
                keys.messages,
                queue.queue,
                queue.available,
                queue.index,
                queue.waiters,
                keys.expiry,
                keys.wake + token,
                keys.journal,
            ),
            (
                token,
                handle.name,
                handle.version,
                cursor,
                max_length,
                waiter,
                connection.group.journal_max,
                *selection.arguments,
            ),
        )

    reply = _call_or_wait(connection, handle, options, call, selection.waiter_text(is_browse=True), wait_ms, None)
    if type(reply[2]) is list:
        score, message_id = int(reply[2][0]), reply[3]
    else:
        score, message_id, reply = int(reply[4]), reply[2], reply[:4]
    (message,) = _decode(handle, reply, max_length)
    message.data_length = int(reply[1])
    if message.data_length > max_length:
        is_accepted = options & _ACCEPT_TRUNCATED
        message.reason = MQRC.TRUNCATED_MSG_ACCEPTED if is_accepted else MQRC.TRUNCATED_MSG_FAILED
    if message.reason != MQRC.TRUNCATED_MSG_FAILED:
        if not options & _BROWSE_UNDER_CURSOR:
            handle.cursor.message_id, handle.cursor.score = message_id.decode(), score
        md = message.md if message.has_group else _NO_GROUP[message.is_persistent]
        retain_browsed(handle, options, md, message.data_length, score)
    return message


# -- waiting -------------------------------------------------------------------------------------------------------


def _call_or_wait(
    connection: Connection,
    handle: Handle,
    options: int,
    make_call: Callable[[bytes, int], ScriptCall],
    waiter: bytes,
    wait_ms: int,
    reply: Reply,
) -> Reply:
    """Call until something fits or the wait interval ends; the reply of the call that succeeded.

    Args:
        make_call: makes the script call, registering the given waiter text ("" registers none); the number is the
            place up to which this search has looked.
        reply: of a call made already without registering, or None.

    Raises:
        MQIError: 2033, 2016 (also while waiting), 2161, ...
    """
    wake_key = handle.structure.keys.wake + connection.token
    deadline_s = None if wait_ms == UNLIMITED_WAIT else time.monotonic() + wait_ms / 1000
    is_waiting, horizon = False, 0
    while True:
        left_s = BLOCK_MAX_S if deadline_s is None else min(BLOCK_MAX_S, deadline_s - time.monotonic())
        if reply is None:
            if handle.facts.is_get_inhibited and not refresh_definition(connection, handle):
                if is_waiting:
                    _stop_waiting(connection, handle)
                raise error_for(MQRC.GET_INHIBITED, "MQGET", handle.object_name)
            is_waiting = wait_ms != 0 and left_s > 0
            reply = connection.call(*make_call(waiter if is_waiting else b"", horizon))
        if not reply[0] or reply[0] in (MQRC.TRUNCATED_MSG_ACCEPTED, MQRC.TRUNCATED_MSG_FAILED):
            return reply
        if reply[0] == _STALE:
            take_definition(handle, reply)
        elif reply[0] == _GROUPED:
            handle.has_members = True
        elif reply[0] == _LOOK_AGAIN:
            horizon = int(reply[1] or 0)
        elif reply[0] == MQRC.NO_MSG_AVAILABLE and is_waiting:
            if connection.is_quiescing and options & _FAIL_IF_QUIESCING:
                _stop_waiting(connection, handle)
                raise error_for(MQRC.Q_MGR_QUIESCING, "MQGET", handle.object_name)
            if left_s <= 0:
                _stop_waiting(connection, handle)
                raise error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", handle.object_name, f"waited {wait_ms} ms")
            horizon = 0
            connection.waits_on(wake_key)
            try:
                # The wake-up and the next look are one write: see Link.block_then_call.
                _, reply = connection.block_then_call(wake_key, max(left_s, 0.001), *make_call(waiter, 0))
            finally:
                connection.waits_on(None)
            continue
        elif reply[0] != MQRC.NO_MSG_AVAILABLE:
            raise connection.error(reply[0], "MQGET", handle.object_name)
        elif wait_ms == 0 or left_s <= 0:
            raise error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", handle.object_name)
        else:
            horizon = 0
        reply = None


def _stop_waiting(connection: Connection, handle: Handle) -> None:
    keys, queue = handle.structure.keys, handle.queue
    connection.checked_call(
        "structure/unwait",
        [keys.owners, queue.queue, queue.available, queue.waiters, keys.wake + connection.token, keys.wake],
        [connection.token, handle.name],
    )
