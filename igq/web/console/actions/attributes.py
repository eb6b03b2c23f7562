"""Forms of attributes, from the table of attributes that MQSC, PCF and the reference pages read too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from igq.mqsc.language.parser import Parameter
from igq.mqsc.language.writing import flag, parameter
from igq.web.access.gate import Refused
from igq.web.console.actions.action import FormField
from sharedq.objects.definitions.attributes import Attribute
from sharedq.objects.definitions.base import ObjectDefinition


def settable(model: type[ObjectDefinition], without: Sequence[str] = ()) -> list[Attribute]:
    """Return the attributes that a command sets, in the order of the model."""
    return [
        each
        for each in model.attributes()
        if each.keyword and not each.mqsc.is_output and each.keyword not in without and not each.mqsc.refused
    ]


def attribute_fields(
    model: type[ObjectDefinition], first: Sequence[str], known: ObjectDefinition | None, without: Sequence[str] = ()
) -> list[FormField]:
    """Return a field for each attribute.

    Args:
        first: the keywords of those that are shown at once, in this order.
        known: the object that is altered. None: a new one.
    """
    fields = [_field(model, each, known, is_further=each.keyword not in first) for each in settable(model, without)]
    places = {keyword: place for place, keyword in enumerate(first)}
    return sorted(fields, key=lambda each: places.get(each.name, len(places)))


def _field(
    model: type[ObjectDefinition], each: Attribute, known: ObjectDefinition | None, *, is_further: bool
) -> FormField:
    value = "" if known is None else each.text(getattr(known, each.field))
    choices = () if each.is_number or not each.mqsc.words else each.words
    if choices and known is None:
        # Nothing chosen: as the default object says.
        choices = ("", *choices)
    return FormField(
        each.keyword, each.keyword, _help(model, each), value, choices, is_further=is_further, is_attribute=True
    )


def _help(model: type[ObjectDefinition], each: Attribute) -> str:
    """Return what the attribute is, the values that it can have, and its default."""
    words = " ".join(_WHOLE.get(word, word) for word in each.field.split("_"))
    told = words[:1].upper() + words[1:]
    if each.is_number:
        told += f": {each.expected}"
    elif not each.mqsc.words and each.mqsc.length:
        told += f": at most {each.mqsc.length} characters"
    default = model.model_fields[each.field].default
    if isinstance(default, (str, int)) and default != "":
        told += f". Default: {each.text(default)}"
    return f"{told}. No effect here: {each.mqsc.instead}." if each.mqsc.instead else f"{told}."


#: The short words in the names of fields, written in full.
_WHOLE = {"def": "default", "max": "maximum", "msg": "message", "q": "queue", "cap": "limit of", "ms": "(ms)"}


def changed(known: ObjectDefinition, told: Mapping[str, str], without: Sequence[str] = ()) -> list[Parameter]:
    """Return the parameters for the attributes whose value is not that of *known*."""
    parameters = _parameters(type(known), told, without)
    return [made for each, value, made in parameters if value != each.text(getattr(known, each.field))]


def given(model: type[ObjectDefinition], told: Mapping[str, str], without: Sequence[str] = ()) -> list[Parameter]:
    """Return the parameters for the attributes that have a value."""
    return [made for _, _, made in _parameters(model, {key: value for key, value in told.items() if value}, without)]


def _parameters(
    model: type[ObjectDefinition], told: Mapping[str, Any], without: Sequence[str]
) -> Iterator[tuple[Attribute, str, Parameter]]:
    known = {each.keyword: each for each in settable(model, without)}
    for keyword, value in told.items():
        if keyword not in known:
            raise Refused(400, f"{model.kind} has no attribute {keyword[:20]} that a command sets")
        yield known[keyword], value, _parameter(known[keyword], value)


def _parameter(each: Attribute, value: str) -> Parameter:
    if each.mqsc.is_bare:
        if value not in each.words:
            raise Refused(400, f"{each.keyword} is one of {', '.join(each.words)}")
        return flag(value)
    return parameter(each.keyword, *(value.split(",") if each.mqsc.is_list else [value]))
