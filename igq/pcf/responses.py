"""Writes the answer to a command as PCF responses. Pure.

IBM MQ for z/OS answers MQCFT_COMMAND_XR with sets of extended responses, and so does igq: an item for each object that
is shown, a message for each text and each failure, and a summary. MQCFT_COMMAND gets standard responses, as other
platforms send them. The texts of messages (CSQ...) are in MQCACF_STRING_DATA.

Source: IBM MQ, "Extended responses"; "Definitions of the programmable command formats".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from igq.mqsc.executor import Answer
from igq.mqsc.language.parameters import shown_by
from igq.mqsc.language.parser import Command
from igq.mqsc.records import RecordLine, Shown, records_in
from igq.pcf.faults import RequestError, fault_of
from igq.pcf.requests import Request
from sharedq.messages.context import new_identifier
from sharedq.mqi.constants import MQCC
from sharedq.mqi.constants.pcf import MQRCCF, CommandInfo, PCFControl, PCFParameter, PCFType
from sharedq.mqi.pcf.structures import MQCFBS, MQCFH, MQCFIL, MQCFIN, MQCFSL, Parameter, PCFMessage
from sharedq.objects.definitions import words
from sharedq.objects.definitions.attributes import Attribute, Mqsc
from sharedq.objects.definitions.parameters import as_parameter

_NAME_LENGTH: Final = 48
_EXTENDED_VERSION, _STANDARD_VERSION = 3, 1
#: Ids of messages: nothing was found; each object; the end of a command; a structure whose objects cannot be shown.
_NOTHING: Final = ("CSQM297I", "CSQV419I", "CSQV420I")
_FRAME: Final = ("CSQM201I", "CSQ9022I", "CSQ9023E", "CSQV401I", "CSQV436I")
_LEFT_OUT: Final = "CSQM112E"
#: Id of a message -> how far the command is.
_INFO: Final = {"CSQE131I": CommandInfo.RECOVER_COMPLETED}
_RESPONSE_QMGR: Final = Attribute("", Mqsc("", PCFParameter.RESPONSE_Q_MGR_NAME, length=_NAME_LENGTH), is_number=False)
_TEXT: Final = Attribute("", Mqsc("", PCFParameter.STRING_DATA), is_number=False)


@dataclass(frozen=True, slots=True)
class Response:
    """One response, before it has its place in a set."""

    type: PCFType
    parameters: tuple[Parameter, ...] = ()
    comp_code: int = MQCC.OK
    reason: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of one manager.

    Attributes:
        fault: why the command was not done; None if it was.
    """

    qmgr: str
    responses: tuple[Response, ...] = ()
    fault: RequestError | None = None


def answered(qmgr: str, request: Request, answer: Answer) -> Answered:
    """Return the answer of *qmgr* to a command that was given there."""
    command = request.command
    responses = [*_items(command, request, answer.lines), *_texts(answer)]
    fault = None
    if answer.fault:
        fault = fault_of(answer, command.verb, command.object_type, request.given)
    elif any(line.startswith(_NOTHING) for line in answer.lines):
        fault = RequestError(MQRCCF.NONE_FOUND, answer.lines[0])
    return Answered(qmgr, tuple(responses), fault)


def extended(command: int, sets: Sequence[Answered], scope_at: str = "") -> list[PCFMessage]:
    """Return the extended responses to a command.

    Args:
        command: MQCMD_*, as in the request.
        sets: the answers of the managers. Without a scope there is one.
        scope_at: the manager that had the request, if that has a CMDSCOPE.
    """
    if not scope_at:
        return list(_set(command, sets[0].qmgr, _identifier(sets[0].qmgr), _whole(sets[0])))
    ids = [_identifier(each.qmgr) for each in sets]
    last = _identifier(scope_at)
    begun = Response(
        PCFType.XR_MSG,
        (
            MQCFIN(PCFParameter.COMMAND_INFO, CommandInfo.CMDSCOPE_ACCEPTED),
            MQCFIN(PCFParameter.CMDSCOPE_Q_MGR_COUNT, len(sets)),
            *(MQCFBS(PCFParameter.RESPONSE_SET, each) for each in (*ids, last)),
        ),
    )
    ended = Response(PCFType.XR_MSG, (MQCFIN(PCFParameter.COMMAND_INFO, CommandInfo.CMDSCOPE_COMPLETED),))
    messages = list(_set(command, scope_at, _identifier(scope_at), [begun]))
    for each, set_id in zip(sets, ids, strict=True):
        messages += _set(command, each.qmgr, set_id, _whole(each))
    messages += _set(command, scope_at, last, [ended, _summary(any(each.fault for each in sets))])
    return messages


def standard(command: int, sets: Sequence[Answered]) -> list[PCFMessage]:
    """Return the standard responses to a command."""
    found = [
        replace(each, type=PCFType.RESPONSE)
        for one in sets
        for each in (*(each for each in one.responses if each.type == PCFType.XR_ITEM), *_failure(one.fault))
    ]
    return list(_numbered(command, _STANDARD_VERSION, found or [Response(PCFType.RESPONSE)]))


def _whole(one: Answered) -> list[Response]:
    return [*one.responses, *_failure(one.fault), _summary(one.fault is not None)]


def _failure(fault: RequestError | None) -> Iterator[Response]:
    if fault is None:
        return
    parameters: list[Parameter] = [as_parameter(_TEXT, fault.detail)]
    if fault.parameter:
        parameters.insert(0, MQCFIN(PCFParameter.PARAMETER_ID, fault.parameter))
    yield Response(PCFType.XR_MSG, tuple(parameters), MQCC.FAILED, int(fault.reason))


def _summary(has_failed: bool) -> Response:
    if has_failed:
        return Response(PCFType.XR_SUMMARY, (), MQCC.FAILED, MQRCCF.COMMAND_FAILED)
    return Response(PCFType.XR_SUMMARY)


def _set(command: int, qmgr: str, set_id: bytes, responses: Iterable[Response]) -> Iterator[PCFMessage]:
    front = (MQCFBS(PCFParameter.RESPONSE_ID, set_id), as_parameter(_RESPONSE_QMGR, qmgr, is_padded=True))
    return _numbered(
        command, _EXTENDED_VERSION, [replace(each, parameters=(*front, *each.parameters)) for each in responses]
    )


def _numbered(command: int, version: int, responses: Sequence[Response]) -> Iterator[PCFMessage]:
    for number, each in enumerate(responses, 1):
        control = PCFControl.LAST if number == len(responses) else PCFControl.NOT_LAST
        header = MQCFH(each.type, version, command, number, control, each.comp_code, each.reason)
        yield PCFMessage(header, each.parameters)


def _identifier(qmgr: str) -> bytes:
    return new_identifier(qmgr.encode())


def _items(command: Command, request: Request, lines: list[str]) -> Iterator[Response]:
    records = list(records_in(lines))
    if request.names:
        if records:
            yield Response(PCFType.XR_ITEM, tuple(_names(request.names, records)))
        return
    known = shown_by(command.object_type)
    for record in records:
        yield Response(PCFType.XR_ITEM, tuple(_parameters(known, record)))


def _parameters(known: Mapping[str, Attribute], record: Sequence[Shown]) -> Iterator[Parameter]:
    for each in record:
        attribute = known.get(each.keywords[0])
        if attribute is not None and attribute.mqsc.selector is not None:
            yield as_parameter(attribute, each.value, is_padded=True)


def _names(parameter: int, records: Sequence[Sequence[Shown]]) -> Iterator[Parameter]:
    """Return the names, and the types of queues and the dispositions of all but structures."""
    by_keyword = [{each.keywords[0]: str(each.value) for each in record} for record in records]
    names = tuple(str(record[0].value).encode().ljust(_NAME_LENGTH) for record in records)
    yield MQCFSL(parameter, names)
    if parameter == PCFParameter.Q_NAMES:
        yield MQCFIL(PCFParameter.Q_TYPES, tuple(words.QUEUE_TYPE[each["TYPE"]] for each in by_keyword))
    if parameter != PCFParameter.CF_STRUC_NAMES:
        yield MQCFIL(PCFParameter.QSG_DISPS, tuple(words.DISPOSITION[each["QSGDISP"]] for each in by_keyword))


def _texts(answer: Answer) -> Iterator[Response]:
    """Return what else the command says, without the lines that only begin and end an answer."""
    for line in answer.lines if not answer.fault else answer.lines[1:]:
        identifier = line.partition(":")[0]
        if isinstance(line, RecordLine) or identifier in (*_FRAME, *_NOTHING):
            continue
        info = (MQCFIN(PCFParameter.COMMAND_INFO, _INFO[identifier]),) if identifier in _INFO else ()
        # An object that cannot be shown is no failure of the command.
        code = MQCC.WARNING if identifier == _LEFT_OUT else MQCC.OK
        yield Response(PCFType.XR_MSG, (*info, as_parameter(_TEXT, line)), code)
