"""MQCB and MQCTL, call by call: structures in, completion code and reason code out. Nothing is raised."""

from __future__ import annotations

from sharedq.callbacks.consumers import Consumers
from sharedq.callbacks.structures import MQCBD, MQCTLO
from sharedq.logical import match_options_of
from sharedq.mqi.arguments import refuse_other, refuse_structure, whole
from sharedq.mqi.constants import MQCC, MQRC, GetOption, OpenOption
from sharedq.mqi.constants.callbacks import (
    FULL_MSG_LENGTH,
    CallbackOperation,
    CallbackOption,
    CallbackType,
    ControlOption,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.options import check_get_options
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.mqi.wire import GMO, MD
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.verbs import Outcome, check_usable, checked_connection, outcome_of

_REGISTER, _DEREGISTER = int(CallbackOperation.REGISTER), int(CallbackOperation.DEREGISTER)
_SUSPEND, _RESUME = int(CallbackOperation.SUSPEND), int(CallbackOperation.RESUME)
_START, _START_WAIT = int(CallbackOperation.START), int(CallbackOperation.START_WAIT)
_STOP = int(CallbackOperation.STOP)
_OPERATIONS = (_REGISTER, _REGISTER | _SUSPEND, _REGISTER | _RESUME, _DEREGISTER, _SUSPEND, _RESUME)
_OPTIONS = sum(CallbackOption)
_CONTROL_OPTIONS = sum(ControlOption)
_BROWSES = int(GetOption.BROWSE_FIRST | GetOption.BROWSE_NEXT)
_INPUT = int(OpenOption.INPUT_AS_Q_DEF | OpenOption.INPUT_SHARED | OpenOption.INPUT_EXCLUSIVE)
#: Options that are about one certain message, or that make no get.
_NOT_FOR_CONSUMERS = int(
    GetOption.MSG_UNDER_CURSOR | GetOption.BROWSE_MSG_UNDER_CURSOR | GetOption.UNLOCK | GetOption.SET_SIGNAL
)


def mqcb(
    connection: Connection,
    operation: int,
    cbd: MQCBD | None = None,
    handle: Handle | None = None,
    md: MQMD | None = None,
    gmo: MQGMO | None = None,
) -> Outcome:
    """MQCB: register, replace, deregister, suspend or resume a callback.

    Args:
        cbd: what is registered; needed for MQOP_REGISTER. Its type says otherwise whether *handle* counts.
        handle: of the queue to consume. An event handler is for the connection, and it is ignored.
        md, gmo: what is got, as for MQGET. With MQGMO_WAIT the consumer is told (2033) when its interval ends.
    """

    def call() -> None:
        connection.check()
        if whole(operation, MQRC.OPERATION_ERROR, "MQCB", "", "the operation") not in _OPERATIONS:
            raise error_for(MQRC.OPERATION_ERROR, "MQCB", connection.qmgr_name, f"operation {operation}")
        if cbd is not None:
            refuse_structure(MQCBD, MQRC.CBD_ERROR, cbd, "MQCB")
        refuse_other(Handle, MQRC.HOBJ_ERROR, handle, "MQCB")
        is_consumer = cbd is None or cbd.callback_type != CallbackType.EVENT_HANDLER
        target = handle if is_consumer else None
        if is_consumer and handle is None:
            raise error_for(MQRC.HOBJ_ERROR, "MQCB", connection.qmgr_name)
        if is_consumer and operation & _REGISTER:
            check_usable(connection, handle)
        consumers = connection.consumers
        if operation & _REGISTER:
            checked = _checked(connection, cbd)
            if target is not None:
                _check_get(target, md, gmo)
            if not isinstance(consumers, Consumers):
                consumers = connection.consumers = Consumers(connection)
            suspended = True if operation & _SUSPEND else False if operation & _RESUME else None
            consumers.register(checked, target, md or MQMD(), gmo or MQGMO(), suspended=suspended)
            return
        if not isinstance(consumers, Consumers):
            raise error_for(MQRC.CALLBACK_NOT_REGISTERED, "MQCB", connection.qmgr_name)
        if operation & _DEREGISTER:
            consumers.deregister(target)
        else:
            consumers.suspend_one(target, suspended=bool(operation & _SUSPEND))

    _, comp_code, reason = outcome_of(connection, call)
    return comp_code, reason


def mqctl(connection: Connection, operation: int, ctlo: MQCTLO | None = None) -> Outcome:
    """MQCTL: start, stop, suspend or resume the callbacks of a connection.

    While they are started, calls of other threads over this connection end with 2500. MQOP_START_WAIT returns when they
    are stopped (or suspended, 2521); the thread that calls it makes the callbacks. An operation that their state does
    not allow is refused with 2534.
    """
    options = MQCTLO() if ctlo is None else ctlo
    try:
        checked_connection(connection)
        refuse_structure(MQCTLO, MQRC.CTLO_ERROR, options, "MQCTL")
        known = (_START, _START_WAIT, _STOP, _SUSPEND, _RESUME)
        if whole(operation, MQRC.OPERATION_ERROR, "MQCTL", "", "the operation") not in known:
            raise error_for(MQRC.OPERATION_ERROR, "MQCTL", connection.qmgr_name, f"operation {operation}")
        if options.version != 1:
            raise error_for(MQRC.CTLO_ERROR, "MQCTL", connection.qmgr_name, f"version {options.version}")
        control = whole(options.options, MQRC.OPTIONS_ERROR, "MQCTL", "", "the options")
        if control & ~_CONTROL_OPTIONS:
            raise error_for(MQRC.OPTIONS_ERROR, "MQCTL", connection.qmgr_name, f"options {control}")
        if control & ControlOption.FAIL_IF_QUIESCING and connection.is_quiescing:
            raise error_for(MQRC.Q_MGR_QUIESCING, "MQCTL", connection.qmgr_name)
        consumers = connection.consumers
        if not isinstance(consumers, Consumers):
            with connection.lock:
                connection.check()
                consumers = connection.consumers = Consumers(connection)
        if operation in (_START, _START_WAIT):
            reason = consumers.start(options.connection_area, waits=operation == _START_WAIT)
        elif operation == _RESUME:
            reason = consumers.resume()
        else:
            if not consumers.is_started:
                with connection.lock:
                    connection.check()
            (consumers.stop if operation == _STOP else consumers.suspend)()
            reason = MQRC.NONE
    except MQIError as error:
        return error.comp_code, error.reason
    if reason == MQRC.CONNECTION_SUSPENDED:
        # MQOP_START_WAIT has returned, and can go on by MQOP_RESUME.
        return MQCC.WARNING, reason
    return (MQCC.FAILED, reason) if reason else (MQCC.OK, reason)


def _checked(connection: Connection, cbd: MQCBD | None) -> MQCBD:
    """A descriptor that can be registered."""
    name = connection.qmgr_name
    if cbd is None or cbd.version != 1:
        raise error_for(MQRC.CBD_ERROR, "MQCB", name)
    if cbd.callback_type not in tuple(CallbackType):
        raise error_for(MQRC.CALLBACK_TYPE_ERROR, "MQCB", name, f"type {cbd.callback_type}")
    if int(cbd.options) & ~_OPTIONS:
        raise error_for(MQRC.CBD_OPTIONS_ERROR, "MQCB", name, f"options {cbd.options}")
    if not callable(cbd.callback_function):
        raise error_for(MQRC.CALLBACK_ROUTINE_ERROR, "MQCB", name, "it is no function")
    if cbd.max_msg_length < FULL_MSG_LENGTH:
        raise error_for(MQRC.MAX_MSG_LENGTH_ERROR, "MQCB", name, f"length {cbd.max_msg_length}")
    if cbd.options & CallbackOption.FAIL_IF_QUIESCING and connection.is_quiescing:
        raise error_for(MQRC.Q_MGR_QUIESCING, "MQCB", name)
    return cbd


def _check_get(handle: Handle, md: MQMD | None, gmo: MQGMO | None) -> None:
    """Refuse a consumer whose gets would all be refused."""
    name = handle.object_name
    if md is None:
        raise error_for(MQRC.MD_ERROR, "MQCB", name)
    if gmo is None:
        raise error_for(MQRC.GMO_ERROR, "MQCB", name)
    MD.check(md, "MQCB", name)
    GMO.check(gmo, "MQCB", name)
    options = int(gmo.options)
    reason = check_get_options(options, match_options_of(gmo))
    if reason or options & _NOT_FOR_CONSUMERS:
        raise error_for(reason or MQRC.OPTIONS_ERROR, "MQCB", name)
    if handle.gets.parts is not None:
        raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "MQCB", name, "the queue has parts in several structures")
    if options & _BROWSES and not handle.options & OpenOption.BROWSE:
        raise error_for(MQRC.NOT_OPEN_FOR_BROWSE, "MQCB", name)
    if not options & _BROWSES and not handle.options & _INPUT:
        raise error_for(MQRC.NOT_OPEN_FOR_INPUT, "MQCB", name)
