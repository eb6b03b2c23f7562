"""Does the command in a message, and returns its responses: what a command server does with each request.

A command event tells the elements of the request in its own character set.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from igq.mqsc.actions.scope import EVERYWHERE, active_members, scope_of
from igq.mqsc.executor import Commands, Executor, ManagerControl
from igq.mqsc.language.parser import Command, MqscSyntaxError
from igq.mqsc.language.parser import Parameter as Keyword
from igq.mqsc.session import SessionRepository
from igq.operations.command_log import CommandNote
from igq.pcf.faults import COMMAND_TYPES, RequestError
from igq.pcf.requests import Request, read_request
from igq.pcf.responses import Answered, answered, extended, standard
from sharedq.members.event_notes import Giver
from sharedq.members.group import Group
from sharedq.messages.context import user_identifier
from sharedq.mqi.character_sets import Representation
from sharedq.mqi.constants import MQRC, Format
from sharedq.mqi.constants.pcf import MQRCCF, EventOrigin, PCFControl, PCFType
from sharedq.mqi.errors import MQIError
from sharedq.mqi.pcf import structures as pcf
from sharedq.mqi.pcf.reading import HEADER_LENGTH, read
from sharedq.mqi.pcf.structures import MQCFH, PCFError, PCFMessage
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.authorities import Authorities
from sharedq.objects.system import SYSTEM_ADMIN_COMMAND_QUEUE
from sharedq.settings.redis_url import mask_urls

#: A request is told up to this length, in bytes: further elements are left out.
LENGTH_MAX: Final = 32_768
#: A request that was backed out so often has ended its server each time: it is refused unread.
BACKOUTS_MAX: Final = 3


def replica(request: pcf.PCFMessage, representation: Representation) -> pcf.PCFMessage:
    """Return *request*, which came in *representation*, as it is told. Passwords in URLs are masked."""
    told: list[pcf.Parameter] = []
    length = HEADER_LENGTH
    for parameter in request.parameters:
        copied = _copied(parameter, representation)
        length += len(write(pcf.PCFMessage(request.header, (copied,)))) - HEADER_LENGTH
        if length > LENGTH_MAX:
            break
        told.append(copied)
    return replace(request, parameters=tuple(told))


def _copied(parameter: pcf.Parameter, representation: Representation) -> pcf.Parameter:
    match parameter:
        case pcf.MQCFGR():
            return replace(parameter, parameters=tuple(_copied(each, representation) for each in parameter.parameters))
        case pcf.MQCFST():
            return replace(parameter, string=_string(parameter.string, parameter.ccsid, representation), ccsid=0)
        case pcf.MQCFSL():
            strings = tuple(_string(each, parameter.ccsid, representation) for each in parameter.strings)
            return replace(parameter, strings=strings, ccsid=0)
        case pcf.MQCFSF():
            value = _string(parameter.filter_value, parameter.ccsid, representation)
            return replace(parameter, filter_value=value, ccsid=0)
        case _:
            return parameter


def _string(string: bytes, ccsid: int, representation: Representation) -> bytes:
    try:
        return mask_urls(pcf.text_of(string, ccsid, representation)).encode()
    except pcf.PCFError:
        return string


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a request.

    Attributes:
        replies: the bodies of its responses, in `sharedq.mqi.pcf.structures.NATIVE`.
        malformed: why it is no PCF command; 0 if it is one.
    """

    replies: list[bytes]
    malformed: int = 0


class Processor:
    """Does commands of the manager *qmgr* in the calling thread.

    Args:
        group: joined for this purpose; commands connect over it.
        control: does START QMGR and STOP QMGR.
    """

    def __init__(self, group: Group, qmgr: str, control: ManagerControl) -> None:
        self._group, self._qmgr, self._control = group, qmgr, control

    def process(self, md: MQMD, body: bytes) -> Done:
        """Do the command of a message.

        Raises:
            MQIError: 2009, Redis cannot be reached, and whether the command was done is unknown.
        """
        header = _header(md, body)
        is_extended = header.type != PCFType.COMMAND
        malformed = 0
        try:
            sets, scope_at = self._answers(md, _message(md, body))
        except (RequestError, PCFError) as error:
            malformed = int(error.reason) if isinstance(error, PCFError) else 0
            fault = error if isinstance(error, RequestError) else RequestError(error.reason, str(error))
            sets, scope_at = [Answered(self._qmgr, fault=fault)], ""
        except MQIError as error:
            if error.reason == MQRC.CONNECTION_BROKEN:
                raise
            sets, scope_at = [Answered(self._qmgr, fault=RequestError(MQRC(error.reason), str(error)))], ""
        except Exception as error:  # noqa: BLE001 - no request ends the server
            structlog.get_logger().exception("command_failed", command=header.command)
            sets, scope_at = [Answered(self._qmgr, fault=RequestError(MQRCCF.UNEXPECTED_ERROR, repr(error)))], ""
        make = extended(header.command, sets, scope_at) if is_extended else standard(header.command, sets)
        return Done([write(each) for each in make], malformed)

    def _answers(self, md: MQMD, message: PCFMessage) -> tuple[Sequence[Answered], str]:
        giver = _giver(md)
        if md.backout_count >= BACKOUTS_MAX:
            detail = f"the request was backed out {md.backout_count} times"
            raise RequestError(MQRCCF.COMMAND_FAILED, detail)
        self._check_authority(giver.user)
        repository = SessionRepository(self._group, self._qmgr, giver=giver)
        representation = Representation(md.coded_char_set_id, md.encoding)
        request = read_request(message, representation, lambda name: _kind_of(repository, name))
        scope = _scope(request, request.command, repository)
        names = active_members(repository) if scope == EVERYWHERE else [scope]
        note = CommandNote(
            self._group,
            self._qmgr,
            request.command.shown,
            giver,
            runs_at=names,
            number=message.header.command,
            is_display=request.command.verb == "DISPLAY",
            request=replica(message, representation),
        )
        sets = [self._answer(request, request.command, repository, name) for name in names]
        faults = [each.fault for each in sets if each.fault is not None]
        note.end(f"failed: {faults[0].detail}" if faults else "done")
        return sets, self._qmgr if request.scope else ""

    def _answer(self, request: Request, command: Command, repository: SessionRepository, qmgr: str) -> Answered:
        at = repository if qmgr == self._qmgr else repository.at(qmgr)
        answer = Commands(Executor(at, self._control), at).answer_parsed(command)
        if isinstance(answer.error, MQIError) and answer.error.reason == MQRC.CONNECTION_BROKEN:
            raise answer.error
        return answered(qmgr, request, answer)

    def _check_authority(self, user: str) -> None:
        """Refuse a user that may not put on the command queue, where there are authority records.

        Raises:
            RequestError: 2035.
        """
        if user == _text(user_identifier()):
            return
        table = Authorities(self._group).table()
        if table and not table.may_put(user, SYSTEM_ADMIN_COMMAND_QUEUE):
            detail = f"{user} may not put on {SYSTEM_ADMIN_COMMAND_QUEUE}"
            raise RequestError(MQRC.NOT_AUTHORIZED, detail)


def _giver(md: MQMD) -> Giver:
    """Return on whose behalf a request comes, and its context."""
    return Giver(
        _text(md.user_identifier),
        socket.gethostname(),
        _text(md.put_appl_name),
        origin=int(EventOrigin.MSG),
        appl_type=md.put_appl_type,
        accounting_token=md.accounting_token.hex(),
        identity_data=_text(md.appl_identity_data),
        appl_origin=_text(md.appl_origin_data),
    )


def _message(md: MQMD, body: bytes) -> PCFMessage:
    """Read a request. Raises PCFError: it is none."""
    if md.format.rstrip(b" \0") != Format.ADMIN.rstrip():
        raise PCFError(MQRCCF.MD_FORMAT_ERROR, f"format {_text(md.format)}")
    message = read(body, Representation(md.coded_char_set_id, md.encoding))
    header = message.header
    for is_right, reason, detail in (
        (header.type in COMMAND_TYPES, MQRCCF.CFH_TYPE_ERROR, f"Type {header.type}"),
        (header.msg_seq_number == 1, MQRCCF.CFH_MSG_SEQ_NUMBER_ERR, f"MsgSeqNumber {header.msg_seq_number}"),
        (header.control == PCFControl.LAST, MQRCCF.CFH_CONTROL_ERROR, f"Control {header.control}"),
    ):
        if not is_right:
            raise PCFError(reason, detail, 0)
    return message


def _header(md: MQMD, body: bytes) -> MQCFH:
    """Return the header of a request as far as it can be read: for the form and the command of the answer."""
    try:
        front = body[:HEADER_LENGTH]
        # Without its parameters, whose count must be zero then.
        return read(front[:-4] + bytes(4), Representation(md.coded_char_set_id, md.encoding)).header
    except PCFError:
        return MQCFH(PCFType.COMMAND_XR)


def _scope(request: Request, command: Command, repository: SessionRepository) -> str:
    """Return the manager that a command is for, or `EVERYWHERE`.

    Raises:
        RequestError: 3225, it names no member, or this command cannot be for all of them.
    """
    if not request.scope:
        return repository.qmgr or ""
    scope = Keyword("CMDSCOPE", (request.scope,), "")
    try:
        return scope_of(replace(command, parameters=(*command.parameters, scope)), repository)
    except MqscSyntaxError as error:
        raise RequestError(MQRCCF.COMMAND_SCOPE_ERROR, f"{error.expected} expected") from None


def _kind_of(repository: SessionRepository, name: str) -> str | None:
    located = repository.lookup(name)
    return None if located is None else located.definition.kind


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").rstrip(" \0")
