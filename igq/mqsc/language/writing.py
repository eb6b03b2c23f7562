"""Writes a command as text that `parse_command` reads back, for a person who wants to see or keep it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from igq.mqsc.language.parser import Command, Parameter

#: Values that need no quotes: the parser folds other letters to upper case.
_PLAIN = re.compile(r"[A-Z0-9._/%*$#@]+")


def command_text(command: Command) -> str:
    """Return a command in one line. Every character of its values must be printable."""
    name = f"{command.object_type}({_value(command.name)})" if command.name else command.object_type
    return " ".join([command.verb, name, *map(_parameter, command.parameters)])


def parameter(keyword: str, *values: str) -> Parameter:
    """Make a parameter ``KEYWORD(value, ...)``. An empty value is a blank, as MQSC has it."""
    return Parameter(keyword, tuple(value or " " for value in values), "")


def flag(keyword: str) -> Parameter:
    """Make a parameter that is only a keyword."""
    return Parameter(keyword, None, "")


def command(verb: str, kind: str, name: str = "", parameters: Sequence[Parameter] = ()) -> Command:
    """Make a command that no text was read for."""
    return Command(1, verb, kind, name, tuple(parameters))


def _parameter(each: Parameter) -> str:
    if each.values is None:
        return each.keyword
    return f"{each.keyword}({','.join(map(_value, each.values))})"


def _value(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else "'" + value.replace("'", "''") + "'"
