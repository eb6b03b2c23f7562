"""Warnings about attributes that a command gave a value with which they do nothing here. Pure."""

from __future__ import annotations

from igq.mqsc import messages
from igq.mqsc.language.parser import Command
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.inert_attributes import MODELS, inert_value

_VERBS = ("ALTER", "DEFINE")


def inert_warnings(command: Command) -> list[str]:
    """Return a line for each attribute of a command that was done which changes nothing but what is shown."""
    model = MODELS.get(command.object_type)
    if command.verb not in _VERBS or model is None:
        return []
    lines = []
    for parameter in command.parameters:
        attribute = by_keyword(model).get(parameter.keyword)
        if attribute is None or not attribute.mqsc.instead:
            continue
        text = ",".join(parameter.values or ()) if attribute.mqsc.is_list else parameter.value
        value = parameter.keyword if attribute.mqsc.is_bare else attribute.parse(text)
        inert = inert_value(command.object_type, parameter.keyword, value)
        if inert is not None:
            lines.append(messages.INERT.format(parameter.line, attribute.show(value), inert.instead))
    return lines
