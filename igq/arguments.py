"""The arguments of a command line: the refusal of empty ones, and what a user is told of wrong ones."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command


def checked_command(app: typer.Typer) -> Any:
    """Make the command of an application, which refuses options that are given empty.

    A script that says ``--correl-id "$ID"`` means one message. With a variable that is not set it would mean all.
    """
    command = get_command(app)
    _check_options(command)
    return command


def _check_options(command: Any) -> None:
    for each in getattr(command, "commands", {}).values():
        _check_options(each)
    for option in command.params:
        if option.param_type_name == "option" and not option.is_flag and not option.count:
            vars(option)["process_value"] = _Checked(option)


class _Checked:
    """Takes the value of an option, but for an empty one of the command line."""

    def __init__(self, option: Any) -> None:
        self._option, self._process = option, option.process_value

    def __call__(self, context: Any, value: Any) -> Any:
        is_given = context.get_parameter_source(self._option.name).name == "COMMANDLINE"
        if is_given and "" in (value if isinstance(value, tuple | list) else (value,)):
            raise typer.BadParameter("it is empty; give a value, or leave it out", context, self._option)
        return self._process(context, value)


def misuse(error: typer.TyperException) -> str:
    """Say what is wrong with the arguments, and which help to read."""
    text = " ".join(error.format_message().split()).rstrip(".")
    # The words of the library that converts values.
    text = text.replace("Value error, ", "").replace("Input should be", "it must be")
    context = getattr(error, "ctx", None)
    return text if context is None else f"{text} (see {context.command_path} --help)"
