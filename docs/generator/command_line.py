"""Every command of the command line, with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.main import get_command

from docs.generator.markdown import code, table
from igq.cli.app import build_app
from igq.pipeline.cli.app import build_app as build_pipeline_app

#: The placeholder of a type, which the meaning tells too; of a choice only the words.
_TYPE = re.compile(r"(?: <(?:str|path|list\[str\]|int range)>|<(?:list\[)?([^<>\]]*)\]?>)")


def sections() -> str:
    """A section for each command that does something."""
    found = [
        *_sections(get_command(build_app()), "igq", 2),
        *_sections(get_command(build_pipeline_app()), "igq pipeline", 3),
    ]
    return "\n\n".join(found)


def _sections(command: Any, name: str, level: int, parent: Any = None) -> Iterator[str]:
    context = typer.Context(command, info_name=name, parent=parent)
    subcommands = getattr(command, "commands", {})
    if name != "igq":
        yield _section(command, context, name, level)
    for word, subcommand in subcommands.items():
        # The command of this name only starts the other program, whose commands are listed.
        if not subcommand.hidden and word != "pipeline":
            yield from _sections(subcommand, f"{name} {word}", min(level + (name != "igq"), 3))


def _section(command: Any, context: Any, name: str, level: int) -> str:
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"{'#' * level} {name}", f"```\n{usage}\n```", _help_of(command)]
    rows = [row for row in (_row(parameter, context) for parameter in command.params) if row]
    if rows:
        parts.append(table(("Argument or option", "Meaning"), rows))
    return "\n\n".join(part for part in parts if part)


def _help_of(command: Any) -> str:
    """The help without the marks that keep its line breaks in a terminal."""
    return str(command.help or "").replace("\b", "").strip()


def _row(parameter: Any, context: Any) -> tuple[str, str] | None:
    record = parameter.get_help_record(context)
    if parameter.hidden or record is None:
        return None
    names, meaning = record
    return code(_TYPE.sub(r"\1", names)), " ".join(meaning.split())
