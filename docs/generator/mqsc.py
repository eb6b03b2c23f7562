"""The tables of MQSC: commands, their shortest forms, and the attributes of each kind of object."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from pydantic_core import PydanticUndefined

from docs.generator.markdown import code, table
from igq.mqsc.language.words import OBJECTS, TAKES, VERBS, Word
from sharedq.objects.definitions.attributes import Attribute, attributes_of
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.inert_attributes import INERT, MODELS

#: Characters of a cell, at most.
_CELL = 110
_YES = {True: "yes", False: "no"}


def command_table() -> str:
    """Each verb, with the objects that it takes."""
    rows = []
    for verb in VERBS:
        first, *others = wrap(", ".join(TAKES[verb.name]), _CELL) or [""]
        rows.append((code(verb.name), code(_shortest(verb)), first))
        rows += [("", "", each) for each in others]
    return table(("Verb", "Shortest", "Objects"), rows)


def word_table() -> str:
    """Each object, with its shortest form."""
    takes_name = {"required": "yes", "optional": "may have one", "none": "no"}
    rows = [(code(word.name), code(_shortest(word)), takes_name[word.operand]) for word in OBJECTS]
    return table(("Object", "Shortest", "Name in parentheses"), rows)


def attribute_sections() -> str:
    """A table of attributes for each kind of object."""
    parts = [f"### {kind}\n\n{_attribute_table(model)}" for kind, model in MODELS.items()]
    return "\n\n".join(parts)


def inert_table() -> str:
    """The attributes that do nothing here."""
    rows = [
        (", ".join(each.kinds), code(each.keyword), ", ".join(code(str(value)) for value in each.done), each.instead)
        for each in INERT
    ]
    return table(("Objects", "Attribute", "Values that do what they say", "Instead of the others"), rows)


def _shortest(word: Word) -> str:
    return word.name[: word.shortest]


def _attribute_table(model: type[ObjectDefinition]) -> str:
    rows = [
        (
            _keywords(attribute),
            _values(attribute),
            _default(model, attribute),
            "no" if attribute.mqsc.is_output else "yes",
        )
        for attribute in attributes_of(model)
        if attribute.keyword
    ]
    return table(("Keyword", "Values", "Default", "Can be set"), rows)


def _keywords(attribute: Attribute) -> str:
    return ", ".join(code(keyword) for keyword in attribute.keywords)


def _values(attribute: Attribute) -> str:
    if attribute.mqsc.is_bare:
        return ""
    if attribute.mqsc.words and not attribute.is_number:
        return ", ".join(code(word) for word in attribute.words)
    return attribute.expected.replace(" or ", ", ")


def _default(model: type[ObjectDefinition], attribute: Attribute) -> str:
    default: Any = model.model_fields[attribute.field].default
    if default is PydanticUndefined or default == "":
        return ""
    return code(attribute.text(default))
