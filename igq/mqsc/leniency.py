"""Passes over what IBM MQ has and igq does not, so that the definitions of a real installation load. Pure.

A parameter is passed over if its keyword is not known here. A value that is wrong at IBM MQ too, such as a number out
of range, stays an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from igq.mqsc import messages
from igq.mqsc.actions.authority import AUTHORITIES
from igq.mqsc.language.attribute_values import find_parameter
from igq.mqsc.language.parser import Command, MqscSyntaxError, Parameter
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.inert_attributes import MODELS

#: Without these parameters of an authority record the command would be about something else: the parameter -> why.
_USERS_ONLY = "only authority records of users for queues and topics are supported here"
_SUBJECTS = {
    "OBJTYPE": _USERS_ONLY,
    "GROUP": _USERS_ONLY,
    "PROFILE": "igq has no such profile",
    "PRINCIPAL": "no message descriptor can name this user",
}
#: Parameters of a channel or listener that say of which kind it is.
_KINDS = {("CHANNEL", "CHLTYPE"), ("CHANNEL", "TRPTYPE"), ("LISTENER", "TRPTYPE")}
_CLIENTS_ONLY = "channels are for clients by TCP, because managers need none"
_CHANGES = ("AUTHADD", "AUTHRMV")
_NO_PARAMETER = "there is no such parameter here"


@dataclass(frozen=True, slots=True)
class PassedOver:
    """The warning, and what is left of the command: None, if all of it is passed over."""

    warning: str
    rest: Command | None


def pass_over(command: Command, error: MqscSyntaxError) -> PassedOver | None:
    """Return *command* without the parameter that is wrong. None: this error is no reason to pass over anything."""
    parameter = error.parameter
    if parameter is None:
        return None
    if command.object_type == "AUTHREC" and parameter.keyword in _SUBJECTS:
        what = f"{command.verb} {command.object_type} with {_shown(parameter)}"
        reason = _SUBJECTS[parameter.keyword]
        return PassedOver(messages.COMMAND_PASSED_OVER.format(parameter.line, what, reason), None)
    if (command.object_type, parameter.keyword) in _KINDS and error.unacceptable is not None:
        what = f"{command.verb} {command.object_type} with {_shown(parameter)}"
        return PassedOver(messages.COMMAND_PASSED_OVER.format(parameter.line, what, _CLIENTS_ONLY), None)
    if refused := _why_refused(command.object_type, parameter.keyword):
        return _without(command, parameter, refused)
    if error.unknown:
        # The values of a WHERE are not parameters.
        return _without(command, parameter, _NO_PARAMETER) if error.unknown == parameter.keyword else None
    if parameter.keyword in _CHANGES and command.object_type == "AUTHREC":
        return _without_authorities(command, parameter)
    return None


def _why_refused(kind: str, keyword: str) -> str:
    attribute = by_keyword(MODELS[kind]).get(keyword) if kind in MODELS else None
    return attribute.mqsc.refused if attribute is not None else ""


def _without(command: Command, parameter: Parameter, reason: str) -> PassedOver:
    rest = replace(command, parameters=tuple(each for each in command.parameters if each is not parameter))
    what = f"{command.verb} {command.object_type}" + (f"({command.name})" if command.name else "")
    warning = messages.PARAMETER_PASSED_OVER.format(parameter.line, what, _shown(parameter), reason)
    is_nothing_left = command.verb == "ALTER" and not rest.parameters
    return PassedOver(warning, None if is_nothing_left else rest)


def _without_authorities(command: Command, parameter: Parameter) -> PassedOver:
    """Keep the authorities that igq knows. A record of others only would say that the user may not put."""
    values = parameter.values or ()
    kind = find_parameter(command, "OBJTYPE")
    words = AUTHORITIES.get(kind.value if kind is not None else "", {})
    known = tuple(word for word in values if word in words)
    other = replace(parameter, values=tuple(word for word in values if word not in words))
    others = tuple(each for each in command.parameters if each is not parameter)
    reason = "only PUT, GET and BROWSE for queues, and PUB, SUB and RESUME for topics, are supported here"
    if not known and not any(each.keyword in _CHANGES for each in others):
        what = f"{command.verb} {command.object_type} with {_shown(other)}"
        return PassedOver(messages.COMMAND_PASSED_OVER.format(parameter.line, what, reason), None)
    what = f"{command.verb} {command.object_type}"
    warning = messages.PARAMETER_PASSED_OVER.format(parameter.line, what, _shown(other), reason)
    kept = (replace(parameter, values=known),) if known else ()
    return PassedOver(warning, replace(command, parameters=(*others, *kept)))


def _shown(parameter: Parameter) -> str:
    values = "" if parameter.values is None else f"({','.join(parameter.values)})"
    return parameter.keyword + values
