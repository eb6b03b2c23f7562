"""MQPUT: the decisions before a message is stored, and the report that confirms its arrival."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Final, TypeVar

from sharedq.calls.handles.open import find_queue
from sharedq.calls.handles.ways import by_way, common_key, for_length, places_for, put_on_any
from sharedq.calls.put.confirmations import CONFIRMS_ARRIVAL, confirm_arrival
from sharedq.calls.put.properties import put_with_properties
from sharedq.calls.put.store import Messages, check_unit_room, store_many, store_one
from sharedq.calls.unit.put_buffer import flush_pending, put_later
from sharedq.messages.context import IDENTITY, Context, context_of, give_context
from sharedq.messages.message import Message
from sharedq.mqi.constants import MQRC, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.options import PUT_CONTEXT, check_put_context, check_put_options, told
from sharedq.mqi.structures import MQMD, MQPMO, copied
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle

# Plain integers: an operation on IntFlag members costs about a microsecond, and these are tested on every call.
_SYNCPOINT = int(PutOption.SYNCPOINT)
_ASYNC_RESPONSE = int(PutOption.ASYNC_RESPONSE)
_SYNC_RESPONSE = int(PutOption.SYNC_RESPONSE)
_FAIL_IF_QUIESCING = int(PutOption.FAIL_IF_QUIESCING)
_PASS_ALL = int(PutOption.PASS_ALL_CONTEXT)
#: The options with which a message gets the context of another one.
PASSES = int(PutOption.PASS_IDENTITY_CONTEXT) | _PASS_ALL
_SET_ALL, _SET_IDENTITY = int(PutOption.SET_ALL_CONTEXT), int(PutOption.SET_IDENTITY_CONTEXT)
_OUTPUT = int(OpenOption.OUTPUT)
_SAVE_CONTEXT = int(OpenOption.SAVE_ALL_CONTEXT)
T = TypeVar("T")
#: The reports about an arrival and a delivery: both are there already.
_TOLD: Final = ~int(Report.COA_WITH_FULL_DATA | Report.COD_WITH_FULL_DATA)


def put(connection: Connection, handle: Handle, md: MQMD, pmo: MQPMO, body: bytes) -> MQRC:
    """Put one message; ``md`` returns its identifiers.

    Returns:
        ``MQRC.NONE``, or the reason of a warning (2049).

    Raises:
        MQIError: the message was not put, or (2009) its fate is unknown.
    """
    options = int(pmo.options)
    in_unit = _check(connection, handle, options, 1)
    if options & PASSES:
        # With a lambda, every put would make cells for its variables.
        return pass_context(connection, [md], pmo, partial(put_checked, connection, handle, md, pmo, body, in_unit))
    if handle.puts.binding or handle.is_intra_group:
        return put_checked(connection, handle, md, pmo, body, in_unit)
    return _put_here(connection, handle, md, pmo, body, in_unit)


def put_checked(connection: Connection, handle: Handle, md: MQMD, pmo: MQPMO, body: bytes, in_unit: bool) -> MQRC:
    """Put one message by options that were checked, with its context in *md*."""
    if handle.puts.binding or handle.is_intra_group:
        put_on = partial(_put_here, connection, md=md, pmo=pmo, body=body, in_unit=in_unit)
        if handle.puts.binding:
            return put_on_any(connection, handle, places_for(connection, handle, md, int(pmo.options)), in_unit, put_on)
        return by_way(connection, handle, for_length(connection, handle, len(body)), in_unit, put_on)
    return _put_here(connection, handle, md, pmo, body, in_unit)


def _put_here(connection: Connection, handle: Handle, md: MQMD, pmo: MQPMO, body: bytes, in_unit: bool) -> MQRC:
    is_confirmed = md.report & CONFIRMS_ARRIVAL
    options = int(pmo.options)
    if in_unit and not is_confirmed and (options & _ASYNC_RESPONSE or _is_asynchronous(connection, handle, options)):
        return put_later(connection, handle, [(md, body)], options)
    if connection.pending:
        flush_pending(connection)
    warning, stored = store_one(connection, handle, md, pmo, body, in_unit)
    if is_confirmed:
        confirm_arrival(connection, handle, stored, in_unit=in_unit)
    return warning


def _is_asynchronous(connection: Connection, handle: Handle, options: int) -> bool:
    if options & (_ASYNC_RESPONSE | _SYNC_RESPONSE):
        return bool(options & _ASYNC_RESPONSE)
    # A manager's own programs act on the outcome of each put, whatever DEFPRESP says.
    return handle.definition.facts.is_asynchronous and not connection.is_internal


def put_many(connection: Connection, handle: Handle, messages: Messages, pmo: MQPMO) -> MQRC:
    """Put messages on one queue: each script call's batch is stored whole or not at all.

    Under syncpoint, or when they fit one call (100 messages, 1 MiB), all of them are put or none: a refusal leaves the
    unit of work as it was. Of an alias with SPREAD that holds for each run of messages that belong together; messages
    that may go anywhere go to one queue.

    Raises:
        MQIError: as for ``put``.
    """
    in_unit = _check(connection, handle, int(pmo.options), len(messages))

    def call() -> MQRC:
        return _put_many(connection, handle, messages, pmo, in_unit)

    return pass_context(connection, [md for md, _ in messages], pmo, call) if int(pmo.options) & PASSES else call()


def _put_many(connection: Connection, handle: Handle, messages: Messages, pmo: MQPMO, in_unit: bool) -> MQRC:
    def put_on(way: Handle, messages: Messages = messages) -> MQRC:
        return _put_many_here(connection, way, messages, pmo, in_unit)

    if not handle.puts.binding or not messages:
        # One way for all of them, which keeps their order.
        longest = max([len(body) for _, body in messages], default=0) if handle.is_intra_group else 0
        return by_way(connection, handle, for_length(connection, handle, longest), in_unit, put_on)
    warning = MQRC.NONE
    for _, group in groupby(messages, key=lambda each: common_key(handle, each[0])):
        run = list(group)
        places = places_for(connection, handle, run[0][0], int(pmo.options))
        # Outside a unit of work a refusal may come after some were stored, so only one queue is tried.
        tried = places if in_unit else islice(places, 1)
        warned = put_on_any(connection, handle, tried, in_unit, partial(put_on, messages=run))
        warning = warning or warned
    return warning


def _put_many_here(connection: Connection, handle: Handle, messages: Messages, pmo: MQPMO, in_unit: bool) -> MQRC:
    options = int(pmo.options)
    reports = [md.report for md, _ in messages]
    is_confirmed = any(reports) and any(report & CONFIRMS_ARRIVAL for report in reports)
    if in_unit and not is_confirmed and _is_asynchronous(connection, handle, options):
        return put_later(connection, handle, messages, options)
    if connection.pending:
        flush_pending(connection)
    if is_confirmed:
        messages = _apart(messages)
    kept: list[tuple[MQMD, bytes]] = []
    try:
        warning, stored = store_many(connection, handle, messages, pmo, in_unit, is_whole=False, kept=kept)
    except MQIError:
        if is_confirmed and kept and not connection.is_ended:
            # The messages that were stored before the failure have arrived.
            confirm_arrival(connection, handle, kept, in_unit=in_unit)
        raise
    if is_confirmed:
        confirm_arrival(connection, handle, stored, in_unit=in_unit)
    return warning


def pass_context(connection: Connection, mds: Sequence[MQMD], pmo: MQPMO, call: Callable[[], T]) -> T:
    """Make the *call* with the context that came with a message, as though the program set that itself.

    Raises:
        MQIError: 2097, 2098, or what *call* raises; then the descriptors have the context that they had.
    """
    options, passed = int(pmo.options), _saved_context(connection, pmo.context)
    asked = [context_of(md) for md in mds]
    is_all = options & _PASS_ALL
    for md in mds:
        give_context(md, passed, len(passed) if is_all else IDENTITY)
    pmo.options = options & ~PASSES | (_SET_ALL if is_all else _SET_IDENTITY)
    try:
        return call()
    except BaseException:
        for md, was in zip(mds, asked, strict=True):
            give_context(md, was)
        raise
    finally:
        pmo.options = options


def _saved_context(connection: Connection, number: int) -> Context:
    source = connection.handles.get(number)
    if source is None or not source.options & _SAVE_CONTEXT:
        detail = f"{number} is no handle that was opened with MQOO_SAVE_ALL_CONTEXT"
        raise error_for(MQRC.CONTEXT_HANDLE_ERROR, "MQPUT", connection.qmgr_name, detail)
    if source.gets.saved_context is None:
        raise error_for(MQRC.CONTEXT_NOT_AVAILABLE, "MQPUT", source.object_name)
    return source.gets.saved_context


def _apart(messages: Messages) -> Messages:
    """Give each message a descriptor of its own: its reports name the MsgId there, and no other message's."""
    seen: set[int] = set()
    apart = []
    for md, body in messages:
        apart.append((copied(md) if id(md) in seen else md, body))
        seen.add(id(md))
    return apart


def _check(connection: Connection, handle: Handle, options: int, count: int) -> bool:
    """Refuse calls that are wrong by any definition. Returns whether the puts belong to the unit of work."""
    if handle.structure.has_failed and not handle.puts.binding:
        connection.check_usable(handle)
    # Most puts of a handle have the options of the one before.
    if options != handle.puts.checked:
        reason = check_put_options(options)
        if not reason and not handle.options & _OUTPUT:
            reason = MQRC.NOT_OPEN_FOR_OUTPUT
        if not reason and options & PUT_CONTEXT:
            reason = check_put_context(options & PUT_CONTEXT, handle.options)
        if reason:
            detail = told(PutOption(options)) if reason == MQRC.OPTIONS_ERROR else ""
            raise error_for(reason, "MQPUT", handle.object_name, detail)
        handle.puts.checked = options
    if connection.is_quiescing and options & _FAIL_IF_QUIESCING:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQPUT", handle.object_name)
    if not options & _SYNCPOINT:
        return False
    check_unit_room(connection, count)
    return True


def restore(
    connection: Connection, handle: Handle, messages: Sequence[Message], properties: MessageHandle | None = None
) -> None:
    """Put messages on the queue of *handle* again: after the others, with their identifiers and their context.

    Args:
        properties: those that were taken out of the one message.

    Raises:
        MQIError: as for ``put``; nothing is put then.
    """
    target = find_queue(connection, handle.name.encode(), b"", handle.opened_at)
    target.options |= int(OpenOption.SET_ALL_CONTEXT)
    pmo = MQPMO(options=int(PutOption.NO_SYNCPOINT | PutOption.SET_ALL_CONTEXT))
    again = [(copied(each.md, version=2, report=each.md.report & _TOLD), each.body) for each in messages]
    if properties:
        ((md, body),) = again

        def send(sent: MQMD, data: bytes) -> MQRC:
            return put(connection, target, sent, pmo, data)

        put_with_properties(send, handle.name, md, pmo, body, new=properties)
    else:
        put_many(connection, target, again, pmo)
