"""PCF requests to a processor, as programs write them, and the responses as they read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from igq.operations.listeners import told_of
from igq.pcf.processor import Processor
from sharedq.messages.context import user_identifier
from sharedq.mqi.constants import MQRC, CharSelector
from sharedq.mqi.constants.pcf import MQRCCF, PCFCommand, PCFControl, PCFParameter, PCFType
from sharedq.mqi.errors import error_for
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import (
    MQCFBS,
    MQCFH,
    MQCFIL,
    MQCFIN,
    MQCFSL,
    MQCFST,
    NATIVE,
    Parameter,
    PCFMessage,
)
from sharedq.mqi.pcf.writing import write
from sharedq.mqi.structures import MQMD
from sharedq.scripts.members import member_state_call
from tests.support.members import TestGroup

Values = Mapping[int, Any]


class NoControl:
    """Managers of tests are not started and stopped."""

    def __init__(self) -> None:
        self.stopped: list[tuple[str, str]] = []

    def is_running(self, qmgr: str) -> bool:
        return bool(qmgr)

    def start(self, qmgr: str) -> None:
        raise error_for(MQRC.FUNCTION_NOT_SUPPORTED, "", qmgr)

    def stop(self, qmgr: str, mode: str) -> None:
        self.stopped.append((qmgr, mode))


def parameter(number: int, value: Any) -> Parameter:
    """The structure for a value: number, text, bytes, list of numbers or of texts."""
    match value:
        case int():
            return MQCFIN(number, value)
        case str():
            return MQCFST(number, value.encode())
        case bytes():
            return MQCFBS(number, value)
        case list() if value and isinstance(value[0], str):
            return MQCFSL(number, tuple(each.encode() for each in value))
        case list():
            return MQCFIL(number, tuple(value))
    raise TypeError(value)


def request(
    command: int, values: Values | None = None, *extra: Parameter, kind: int = PCFType.COMMAND_XR, **header: int
) -> bytes:
    """The bytes of a request."""
    parameters = [parameter(int(number), value) for number, value in (values or {}).items()]
    front = MQCFH(kind, 3 if kind == PCFType.COMMAND_XR else 1, int(command), **header)
    return write(PCFMessage(front, (*parameters, *extra)))


def descriptor(**fields: Any) -> MQMD:
    """The descriptor of a request."""
    values: dict[str, Any] = {
        "format": b"MQADMIN ",
        "encoding": NATIVE.encoding,
        "coded_char_set_id": NATIVE.ccsid,
        "user_identifier": user_identifier(),
    }
    return MQMD(**(values | fields))


def plain(one: Parameter) -> Any:
    """A parameter's value, text without the blanks at its end."""
    match one:
        case MQCFIN():
            return one.value
        case MQCFIL():
            return list(one.values)
        case MQCFST():
            return one.string.decode().rstrip(" ")
        case MQCFSL():
            return [each.decode().rstrip(" ") for each in one.strings]
        case MQCFBS():
            return one.string
    raise TypeError(one)


def answer_of(message: PCFMessage) -> dict[int, Any]:
    """A response's parameters by number."""
    return {each.parameter: plain(each) for each in message.parameters}


def tell_of_listener(group: TestGroup, name: str) -> None:
    """Let the group know of QM1 that this listener could not start."""
    member = group.group.member("QM1")
    assert member is not None
    told = json.dumps(told_of({name: {"state": "STOPPED"}}))
    assert group.group.call(*member_state_call(group.group.keys, "QM1", member.incarnation, told))[0] == 0


class Asked:
    """Asks the processor of QM1."""

    def __init__(self, group: TestGroup, qmgr: str = "QM1") -> None:
        self.group, self.control = group, NoControl()
        self.processor = Processor(group.group, qmgr, self.control)

    def messages(
        self, command: int, values: Values | None = None, *extra: Parameter, **header: int
    ) -> list[PCFMessage]:
        """All responses to a command, checked for their place in their sets."""
        done = self.processor.process(descriptor(), request(command, values, *extra, **header))
        found = [read(body) for body in done.replies]
        number = 0
        for message in found:
            number += 1
            assert message.header.command == command
            assert message.header.msg_seq_number == number
            if message.header.control == PCFControl.LAST:
                number = 0
        assert number == 0, "the last response of a set says so"
        return found

    def items(self, command: int, values: Values | None = None, *extra: Parameter) -> list[dict[int, Any]]:
        """The items of an answer to a command that must be done."""
        found = self.messages(command, values, *extra)
        assert [each.header.reason for each in found if each.header.comp_code] == [], _texts(found)
        return [answer_of(each) for each in found if each.header.type == PCFType.XR_ITEM]

    def reason(self, command: int, values: Values | None = None, *extra: Parameter) -> tuple[int, int]:
        """Reason of a command that must fail, and the parameter that it is about, or 0."""
        *_, error, summary = self.messages(command, values, *extra)
        assert (error.header.type, error.header.comp_code) == (PCFType.XR_MSG, 2)
        assert (summary.header.type, summary.header.reason) == (PCFType.XR_SUMMARY, MQRCCF.COMMAND_FAILED)
        return error.header.reason, answer_of(error).get(PCFParameter.PARAMETER_ID, 0)

    def queue(self, name: str) -> dict[int, Any]:
        """One queue as INQUIRE_Q shows it."""
        (item,) = self.items(PCFCommand.INQUIRE_Q, {CharSelector.Q_NAME: name})
        return item


def _texts(found: list[PCFMessage]) -> list[Any]:
    return [answer_of(each).get(PCFParameter.STRING_DATA) for each in found]
