"""Turns the parameters of a command into fields of a definition. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from igq.mqsc.language.parser import Command, Parameter
from sharedq.objects.definitions.attributes import by_keyword

#: Other keywords for the same attribute.
_SYNONYMS = {"TARGQ": "TARGET"}


def meant_by(keyword: str) -> str:
    """Return the keyword of the attribute that *keyword* names."""
    return _SYNONYMS.get(keyword, keyword)


def read_values(command: Command, model: type[BaseModel], options: Iterable[str]) -> dict[str, Any]:
    """Return the fields that a command sets. *options* are keywords that the caller reads itself.

    Raises:
        MqscSyntaxError: a parameter is not an attribute of the object, or has an invalid value.
    """
    known, options = by_keyword(model), set(options)
    values: dict[str, Any] = {}
    for parameter in command.parameters:
        if parameter.keyword in options:
            continue
        attribute = known.get(meant_by(parameter.keyword))
        if attribute is None or attribute.mqsc.is_output:
            settable = [keyword for keyword, each in known.items() if not each.mqsc.is_output]
            expected = f"an attribute that {command.verb} {command.object_type} sets"
            raise command.unknown(parameter, expected, [*settable, *_SYNONYMS, *options])
        if attribute.field in values:
            raise command.error(parameter, f"one of {' and '.join(attribute.keywords)}")
        if attribute.mqsc.is_bare:
            if parameter.values is not None:
                raise command.error(parameter, f"{parameter.keyword} without a value")
            values[attribute.field] = parameter.keyword
            continue
        if parameter.values is None:
            raise command.error(parameter, f"{parameter.keyword}({attribute.expected})")
        try:
            listed = ",".join(each.strip() for each in parameter.values if each.strip())
            values[attribute.field] = attribute.parse(listed if attribute.mqsc.is_list else parameter.value)
        except ValueError:
            why = f", because {attribute.mqsc.refused}" if attribute.mqsc.refused else ""
            raise command.error(parameter, f"{parameter.keyword}({attribute.expected}){why}") from None
    return values


def read_flag(command: Command, yes: str, no: str) -> bool:
    """Whether *yes* is among the parameters. *no* means the same as neither.

    Raises:
        MqscSyntaxError: both are given, or one has a value.
    """
    found = [parameter for parameter in command.parameters if parameter.keyword in (yes, no)]
    for parameter in found:
        if parameter.values is not None or len(found) > 1:
            raise command.error(parameter, f"{yes} or {no}")
    return bool(found) and found[0].keyword == yes


def read_choice(command: Command, keyword: str, choices: Iterable[str], default: str) -> str:
    """Return the value of *keyword*, one of *choices*, or *default* if the command has no such parameter.

    A keyword without a value asks DISPLAY to show the attribute, and chooses nothing.

    Raises:
        MqscSyntaxError: the keyword has another value.
    """
    choices = tuple(choices)
    parameter = find_parameter(command, keyword)
    if parameter is None or (parameter.values is None and command.verb == "DISPLAY"):
        return default
    if parameter.value not in choices:
        raise command.error(parameter, f"{keyword}({'|'.join(choices)})")
    return parameter.value


def find_parameter(command: Command, keyword: str) -> Parameter | None:
    """Return the parameter *keyword*, or None. One with a value is preferred to one without."""
    found = [parameter for parameter in command.parameters if parameter.keyword == keyword]
    return min(found, key=lambda parameter: parameter.values is None, default=None)
