"""``igq export`` and ``igq diff``: the definitions of the group as MQSC, and how they differ from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from igq.errors import CommandError
from sharedq.display.lines import tell
from sharedq.display.text import visible

#: Exit statuses of ``igq diff``.
EQUAL, DIFFERENT, COULD_NOT_COMPARE = 0, 1, 2


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("export")(export)


def export(
    name: Annotated[str, typer.Option("-n", "--name", metavar="PATTERN", help="A name, or its beginning and *.")] = "*",
    type_: Annotated[
        list[str] | None,
        typer.Option("-t", "--type", metavar="TYPE", help="QLOCAL, QALIAS, CFSTRUCT, QMGR, AUTHREC ...; repeatable."),
    ] = None,
    manager: Annotated[
        str, typer.Option("-m", "--manager", metavar="QMGR", help="Only what belongs to this queue manager.")
    ] = "",
    every: Annotated[
        bool, typer.Option("-a", "--all", help="Also write attributes that have their default value.")
    ] = False,
    one_line: Annotated[bool, typer.Option("--one-line", help="Write a command a line.")] = False,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", metavar="FILE", help="Write to FILE; default: standard output.")
    ] = None,
) -> int:
    """Write the definitions of the group as MQSC commands, as dmpmqcfg does in IBM MQ.

    Without options the command writes everything: structures, queues, group objects, the private objects and attributes
    of each queue manager, and authority records. igq mqsc QMGR FILE, with any running manager, defines it all again.
    The same definitions give the same text, so keep it under version control.

    No queue manager needs to run. Messages are not exported, and neither are dynamic queues.

    Exit status: 0, everything was written; 1, queues of a failed structure are missing, or nothing could be read.
    """
    from igq.definitions.catalog import KINDS, read_catalog
    from igq.definitions.export import Selection
    from igq.definitions.export import export as exported
    from sharedq.members.group import Group
    from sharedq.settings.loader import load_settings

    kinds = tuple(dict.fromkeys(each.upper() for each in type_ or ()))
    for kind in kinds:
        if kind not in KINDS:
            raise CommandError(f"{kind!r} is not a type of objects: give one of {', '.join(KINDS)}")
    group = Group(load_settings())
    try:
        members = [member.name for member in group.members()]
        if not members:
            raise CommandError(f"no queue manager has joined group {group.name} yet: there are no definitions")
        if manager and manager not in members:
            raise CommandError(f"there is no queue manager {manager} in group {group.name}: {', '.join(members)}")
        selection = Selection(manager, name, kinds, every, one_line)
        result = exported(group, read_catalog(group), selection)
    finally:
        group.leave()
    _write(result.lines, file)
    for line in result.missing:
        tell(f"igq: {line}")
    return int(bool(result.missing))


def _write(lines: Iterable[str], file: Path | None) -> None:
    """Write *lines* as UTF-8, to a file as a whole or not at all. A terminal gets only what is safe to show."""
    if file is None and sys.stdout.isatty():
        for line in lines:
            print(visible(line))
        return
    content = "".join(f"{line}\n" for line in lines).encode()
    if file is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    new = file.with_name(f"{file.name}.new")
    try:
        new.write_bytes(content)
        new.replace(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
