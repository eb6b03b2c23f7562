"""Commands about process definitions.

Source: IBM MQ reference, "DEFINE PROCESS", "DISPLAY PROCESS".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from igq.mqsc import messages
from igq.mqsc.language.attribute_values import find_parameter, read_choice, read_flag, read_values
from igq.mqsc.language.parser import Command
from igq.mqsc.records import read_request, shown_attributes, two_columns
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.attributes import by_keyword
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.names import is_generic, matches
from sharedq.objects.definitions.processes import Process
from sharedq.objects.repository import Repository

_SCOPES = ("QSGDISP", "CMDSCOPE")
_DISPOSITIONS = ("QMGR", "COPY", "GROUP", "PRIVATE", "LIVE", "ALL")


def define_process(command: Command, repository: Repository) -> list[str]:
    """DEFINE PROCESS. Every definition is the group's: QSGDISP is read, and makes no difference."""
    values = _values(command, ("LIKE", "REPLACE", "NOREPLACE"))
    like = find_parameter(command, "LIKE")
    process = parse_definition(Process, values | {"name": command.name})
    is_replace = read_flag(command, "REPLACE", "NOREPLACE")
    repository.processes.define(process, replace=is_replace, like=like.value if like else "")
    return []


def alter_process(command: Command, repository: Repository) -> list[str]:
    """ALTER PROCESS."""
    repository.processes.alter(command.name, _values(command, ()))
    return []


def delete_process(command: Command, repository: Repository) -> list[str]:
    """DELETE PROCESS."""
    command.check_keywords(_SCOPES)
    repository.processes.delete(command.name)
    return []


def display_process(command: Command, repository: Repository) -> list[str]:
    """DISPLAY PROCESS."""
    read_choice(command, "QSGDISP", _DISPOSITIONS, "")
    request = read_request(command, _SCOPES, by_keyword(Process), all_by_default=not is_generic(command.name))
    lines: list[str] = []
    for process in repository.processes.all():
        record = sorted(shown_attributes(process), key=lambda each: each.keywords[0] != Process.kind)
        if matches(command.name, process.name) and request.where(record):
            lines += [messages.details(command), *two_columns(request.select(record, always=1))]
    if lines:
        return lines
    if not is_generic(command.name) and find_parameter(command, "WHERE") is None:
        raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", command.name)
    return [messages.NOTHING_FOUND.format(command.object_type)]


def _values(command: Command, options: Iterable[str]) -> dict[str, Any]:
    read_choice(command, "QSGDISP", _DISPOSITIONS, "")
    return read_values(command, Process, (*options, *_SCOPES))


#: Verb and object -> the function that does the command.
COMMANDS: dict[tuple[str, str], Callable[[Command, Repository], list[str]]] = {
    ("DEFINE", Process.kind): define_process,
    ("ALTER", Process.kind): alter_process,
    ("DELETE", Process.kind): delete_process,
}
