"""Commands about the objects that the group has by name: process definitions, namelists, channels, listeners.

Source: IBM MQ reference, "DEFINE PROCESS", "DISPLAY PROCESS", "DEFINE NAMELIST", "DISPLAY NAMELIST", "DEFINE CHANNEL",
"DISPLAY CHANNEL", "DEFINE LISTENER", "DISPLAY LISTENER".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice, read_flag, read_values
from igq.mqsc.language.parameters import keywords
from igq.mqsc.language.parser import Command
from igq.mqsc.records import Shown, found_or_nothing, read_request, shown, shown_attributes, two_columns
from sharedq.objects.configuration_notes import noting
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.base import NamedObject, parse_definition
from sharedq.objects.definitions.namelists import Namelist
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.repository import NAMED_OBJECTS, Repository

_SCOPES = ("QSGDISP", "CMDSCOPE")
_DISPOSITIONS = ("QMGR", "COPY", "GROUP", "PRIVATE", "LIVE", "ALL")


def define_named(command: Command, repository: Repository) -> list[str]:
    """DEFINE. Every definition is the group's: QSGDISP is read, and makes no difference."""
    values = _values(command, ("LIKE", "REPLACE", "NOREPLACE"))
    like = find_parameter(command, "LIKE")
    definition = parse_definition(NAMED_OBJECTS[command.object_type], values | {"name": command.name})
    is_replace = read_flag(command, "REPLACE", "NOREPLACE")
    with noting(repository, "create", command.object_type, command.name):
        repository.named_objects(command.object_type).define(
            definition, replace=is_replace, like=like.value if like else ""
        )
    return []


def alter_named(command: Command, repository: Repository) -> list[str]:
    """ALTER."""
    values = _values(command, ())
    with noting(repository, "change", command.object_type, command.name):
        repository.named_objects(command.object_type).alter(command.name, values)
    return []


def delete_named(command: Command, repository: Repository) -> list[str]:
    """DELETE."""
    command.check_keywords(_SCOPES)
    with noting(repository, "delete", command.object_type, command.name):
        repository.named_objects(command.object_type).delete(command.name)
    return []


def display_named(command: Command, repository: Repository) -> list[str]:
    """DISPLAY."""
    kind = command.object_type
    read_choice(command, "QSGDISP", _DISPOSITIONS, "")
    known = (*by_keyword(NAMED_OBJECTS[kind]), *(keywords(kind) if kind == Namelist.kind else ()))
    request = read_request(command, _SCOPES, known, all_by_default=not is_generic(command.name))
    lines: list[str] = []
    for definition in repository.named_objects(kind).all():
        record = sorted(_record(definition), key=lambda each: each.keywords[0] != kind)
        if matches(command.name, definition.name) and request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=1))]
    return found_or_nothing(lines, command)


def _record(definition: NamedObject) -> Iterator[Shown]:
    yield from shown_attributes(definition)
    if isinstance(definition, Namelist):
        yield shown("NAMCOUNT", definition.name_count)


def _values(command: Command, options: Iterable[str]) -> dict[str, Any]:
    read_choice(command, "QSGDISP", _DISPOSITIONS, "")
    return read_values(command, NAMED_OBJECTS[command.object_type], (*options, *_SCOPES))


#: Verb and object -> the function that does the command.
COMMANDS: dict[tuple[str, str], Callable[[Command, Repository], list[str]]] = {
    (verb, kind): function
    for verb, function in (("DEFINE", define_named), ("ALTER", alter_named), ("DELETE", delete_named))
    for kind in NAMED_OBJECTS
}
