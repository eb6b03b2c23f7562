"""The contents of event messages: queue, header and parameters of each event, as IBM defines them. Pure.

Events of our own have reasons from 65536 on, which IBM leaves to applications, and the same form.
Source: IBM MQ reference, "Event message reference".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from sharedq.members.event_notes import Giver
from sharedq.mqi.constants import MQCC, MQRC, CharSelector, IntSelector, ObjectType
from sharedq.mqi.constants.pcf import (
    EventOrigin,
    PCFCommand,
    PCFControl,
    PCFParameter,
    PCFType,
    ReasonQualifier,
)
from sharedq.mqi.limits import MAX_COUNT
from sharedq.mqi.pcf.structures import MQCFBS, MQCFGR, MQCFH, MQCFIN, MQCFST, Parameter, PCFMessage
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.parameters import as_parameter

QMGR_QUEUE: Final = "SYSTEM.ADMIN.QMGR.EVENT"
PERFM_QUEUE: Final = "SYSTEM.ADMIN.PERFM.EVENT"
COMMAND_QUEUE: Final = "SYSTEM.ADMIN.COMMAND.EVENT"
CONFIG_QUEUE: Final = "SYSTEM.ADMIN.CONFIG.EVENT"
CHANNEL_QUEUE: Final = "SYSTEM.ADMIN.CHANNEL.EVENT"
#: The queue for each kind of event, by MQCFH's Command.
QUEUES: Final = {
    PCFCommand.Q_MGR_EVENT: QMGR_QUEUE,
    PCFCommand.PERFM_EVENT: PERFM_QUEUE,
    PCFCommand.COMMAND_EVENT: COMMAND_QUEUE,
    PCFCommand.CONFIG_EVENT: CONFIG_QUEUE,
    PCFCommand.CHANNEL_EVENT: CHANNEL_QUEUE,
}

#: MQAT_UNIX and MQAT_QMGR.
_APPL_TYPE, APPL_TYPE_QMGR = 6, 7
_CONNECTION_NAME_LENGTH, _CHANNEL_NAME_LENGTH = 264, 20
#: MQSC's words for objects that are no queues. IBM MQ has no type for a subscription.
_OBJECT_TYPES: Final[Mapping[str, ObjectType]] = {
    "QMGR": ObjectType.Q_MGR,
    "CFSTRUCT": ObjectType.CF_STRUC,
    "NAMELIST": ObjectType.NAMELIST,
    "CHANNEL": ObjectType.CHANNEL,
    "LISTENER": ObjectType.LISTENER,
    "PROCESS": ObjectType.PROCESS,
    "TOPIC": ObjectType.TOPIC,
    "SUB": ObjectType.NONE,
}


class OwnReason(IntEnum):
    """Reasons of events that IBM MQ does not have."""

    RECOVERY_BEGUN = 65536
    RECOVERY_ENDED = 65537
    AGENT_IN_RETRY = 65538
    AGENT_LEFT_RETRY = 65539
    STRUCTURE_USABLE = 65540


@dataclass(frozen=True, slots=True)
class RefusalEvent:
    """A call that was refused, as its process noted it. ``queue``: empty for an MQCONN.

    Attributes:
        channel: by which its program came, and ``address`` is where that is; empty for a program that needs none.
    """

    reason: int
    queue: str
    qmgr_of_queue: str
    base: str
    appl: str
    user: str
    options: int
    channel: str = ""
    address: str = ""


#: Kind of a note about a queue -> the reason of its event.
PERFORMANCE: Final = {
    "high": MQRC.Q_DEPTH_HIGH,
    "low": MQRC.Q_DEPTH_LOW,
    "max": MQRC.Q_FULL,
    "late": MQRC.Q_SERVICE_INTERVAL_HIGH,
    "prompt": MQRC.Q_SERVICE_INTERVAL_OK,
}


def performance_event(kind: str, qmgr: str, queue: str, since_s: int, depth: int, put: int, got: int) -> PCFMessage:
    """Queue Depth High, Low, Queue Full, Queue Service Interval High or OK, by *kind* (`PERFORMANCE`).

    Args:
        since_s: seconds since the counts were reset, by an event or by RESET QSTATS.
        depth: most messages on the queue since then.
        put, got: messages put and got since then.
    """
    return _message(
        PCFCommand.PERFM_EVENT,
        PERFORMANCE[kind],
        [
            text(CharSelector.Q_MGR_NAME, qmgr, 48),
            text(CharSelector.BASE_Q_NAME, queue, 48),
            _count(IntSelector.TIME_SINCE_RESET, since_s),
            _count(IntSelector.HIGH_Q_DEPTH, depth),
            _count(IntSelector.MSG_ENQ_COUNT, put),
            _count(IntSelector.MSG_DEQ_COUNT, got),
        ],
    )


def _count(parameter: int, number: int) -> MQCFIN:
    return MQCFIN(parameter, min(number, MAX_COUNT))


def active(qmgr: str) -> PCFMessage:
    """Queue Manager Active."""
    return _qmgr_event(MQRC.Q_MGR_ACTIVE, qmgr)


def not_active(qmgr: str, *, is_immediate: bool) -> PCFMessage:
    """Queue Manager Not Active."""
    why = ReasonQualifier.Q_MGR_STOPPING if is_immediate else ReasonQualifier.Q_MGR_QUIESCING
    return _qmgr_event(MQRC.Q_MGR_NOT_ACTIVE, qmgr, MQCFIN(PCFParameter.REASON_QUALIFIER, why))


def refusal(qmgr: str, it: RefusalEvent) -> PCFMessage:
    """Not Authorized (type 1 for MQCONN, type 2 for a queue), Put or Get Inhibited, Unknown Object Name and its kin."""
    appl: list[Parameter] = [MQCFIN(IntSelector.APPL_TYPE, _APPL_TYPE), text(PCFParameter.APPL_NAME, it.appl, 28)]
    if it.channel:
        appl += [
            text(PCFParameter.CONNECTION_NAME, it.address, _CONNECTION_NAME_LENGTH),
            text(PCFParameter.CHANNEL_NAME, it.channel, _CHANNEL_NAME_LENGTH),
        ]
    parameters: list[Parameter] = []
    if it.reason == MQRC.NOT_AUTHORIZED and not it.queue:
        why = MQCFIN(PCFParameter.REASON_QUALIFIER, ReasonQualifier.CONN_NOT_AUTHORIZED)
        return _qmgr_event(it.reason, qmgr, why, text(PCFParameter.USER_IDENTIFIER, it.user, 12), *appl)
    if it.reason == MQRC.NOT_AUTHORIZED:
        parameters += [
            MQCFIN(PCFParameter.REASON_QUALIFIER, ReasonQualifier.OPEN_NOT_AUTHORIZED),
            MQCFIN(PCFParameter.OPEN_OPTIONS, it.options),
            text(PCFParameter.USER_IDENTIFIER, it.user, 12),
        ]
    parameters.append(text(CharSelector.Q_NAME, it.queue, 48))
    if it.base:
        parameters.append(text(CharSelector.BASE_Q_NAME, it.base, 48))
    parameters += appl
    if it.qmgr_of_queue:
        parameters.append(text(PCFParameter.OBJECT_Q_MGR_NAME, it.qmgr_of_queue, 48))
    return _qmgr_event(it.reason, qmgr, *parameters)


def channel_started(qmgr: str, channel: str) -> PCFMessage:
    """Channel Started: by a command, because clients that come cause no event."""
    return _channel_event(MQRC.CHANNEL_STARTED, qmgr, channel)


def channel_stopped_by_user(qmgr: str, channel: str) -> PCFMessage:
    """Channel Stopped By User."""
    why = MQCFIN(PCFParameter.REASON_QUALIFIER, ReasonQualifier.CHANNEL_STOPPED_DISABLED)
    return _channel_event(MQRC.CHANNEL_STOPPED_BY_USER, qmgr, channel, why)


def of_group(reason: int, qmgr: str, name: str = "", detail: str = "") -> PCFMessage:
    """Events of our own, and a failed structure: *name* is the member, program or structure that it is about."""
    structures = (MQRC.CF_STRUC_FAILED, OwnReason.STRUCTURE_USABLE)
    selector = CharSelector.CF_STRUC_NAME if reason in structures else PCFParameter.OBJECT_NAME
    parameters = [text(selector, name, 48)] if name else []
    if detail:
        parameters.append(text(PCFParameter.ACTIVITY_DESC, detail))
    return _qmgr_event(reason, qmgr, *parameters)


def command_by_text(qmgr: str, giver: Giver, mqsc: str, number: int) -> PCFMessage:
    """MQSC Command: the command as it was given. *number* is MQCMD_*, 0 where there is none."""
    return _command(MQRC.COMMAND_MQSC, qmgr, giver, number, (text(PCFParameter.COMMAND_MQSC, mqsc),))


def command_by_message(qmgr: str, giver: Giver, request: PCFMessage) -> PCFMessage:
    """PCF Command: the elements of the request."""
    return _command(MQRC.COMMAND_PCF, qmgr, giver, request.header.command, request.parameters)


def _command(reason: MQRC, qmgr: str, giver: Giver, number: int, data: tuple[Parameter, ...]) -> PCFMessage:
    context = (*_context(qmgr, giver), MQCFIN(PCFParameter.COMMAND, number))
    parameters = [MQCFGR(PCFParameter.COMMAND_CONTEXT, context), MQCFGR(PCFParameter.COMMAND_DATA, data)]
    return _message(PCFCommand.COMMAND_EVENT, reason, parameters, version=3)


def configuration(
    action: str, qmgr: str, giver: Giver, before: ObjectDefinition | None, after: ObjectDefinition | None
) -> list[PCFMessage]:
    """Create, Change, Delete or Refresh Object. A change is two messages: what was, and what is.

    Args:
        action: ``create``, ``change``, ``delete`` or ``refresh``.
    """
    reason = {
        "create": MQRC.CONFIG_CREATE_OBJECT,
        "change": MQRC.CONFIG_CHANGE_OBJECT,
        "delete": MQRC.CONFIG_DELETE_OBJECT,
        "refresh": MQRC.CONFIG_REFRESH_OBJECT,
    }[action]
    told = [definition for definition in (before, after) if definition is not None]
    return [
        _message(
            PCFCommand.CONFIG_EVENT,
            reason,
            [*_context(qmgr, giver), *_object(definition)],
            number=position,
            control=PCFControl.LAST if position == len(told) else PCFControl.NOT_LAST,
            version=2,
        )
        for position, definition in enumerate(told, 1)
    ]


def text(parameter: int, value: str, length: int = 0) -> MQCFST:
    """A string parameter, at most *length* bytes of UTF-8, cut after a whole character."""
    data = value.encode("utf-8", "backslashreplace")
    if length:
        data = data[:length].decode("utf-8", "ignore").encode()
    return MQCFST(parameter, data)


def _object(definition: ObjectDefinition) -> Iterable[Parameter]:
    """Type and name of an object, and each of its attributes."""
    yield MQCFIN(PCFParameter.OBJECT_TYPE, int(_OBJECT_TYPES.get(definition.kind, ObjectType.Q)))
    for attribute in definition.attributes():
        if attribute.mqsc.selector is not None:
            yield as_parameter(attribute, getattr(definition, attribute.field))


def _context(qmgr: str, giver: Giver) -> Iterable[Parameter]:
    """Yield the context of a command. Only a message has an accounting token, identity data and origin data."""
    is_message = giver.origin == EventOrigin.MSG
    yield text(PCFParameter.EVENT_USER_ID, giver.user, 12)
    yield MQCFIN(PCFParameter.EVENT_ORIGIN, giver.origin)
    yield text(PCFParameter.EVENT_Q_MGR, qmgr, 48)
    if is_message:
        yield MQCFBS(PCFParameter.EVENT_ACCOUNTING_TOKEN, bytes.fromhex(giver.accounting_token))
        yield text(PCFParameter.EVENT_APPL_IDENTITY, giver.identity_data, 32)
    yield MQCFIN(PCFParameter.EVENT_APPL_TYPE, giver.appl_type)
    yield text(PCFParameter.EVENT_APPL_NAME, giver.appl, 28)
    if is_message:
        yield text(PCFParameter.EVENT_APPL_ORIGIN, giver.appl_origin, 4)


def _qmgr_event(reason: int, qmgr: str, *parameters: Parameter) -> PCFMessage:
    return _message(PCFCommand.Q_MGR_EVENT, reason, [text(CharSelector.Q_MGR_NAME, qmgr, 48), *parameters])


def _channel_event(reason: MQRC, qmgr: str, channel: str, *before: Parameter) -> PCFMessage:
    names = text(CharSelector.Q_MGR_NAME, qmgr, 48), text(PCFParameter.CHANNEL_NAME, channel, _CHANNEL_NAME_LENGTH)
    return _message(PCFCommand.CHANNEL_EVENT, reason, [names[0], *before, names[1]])


def _message(
    kind: PCFCommand,
    reason: int,
    parameters: Sequence[Parameter],
    *,
    number: int = 1,
    control: int = PCFControl.LAST,
    version: int = 1,
) -> PCFMessage:
    header = MQCFH(PCFType.EVENT, version, kind, number, control, MQCC.WARNING, int(reason))
    return PCFMessage(header, tuple(parameters))
