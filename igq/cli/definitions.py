"""``igq export`` and ``igq diff``: the definitions of the group as MQSC, and how they differ from a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from igq.cli.standard_input import name_of, read_bytes
from igq.errors import CommandError
from sharedq.display.lines import say, tell

#: Exit statuses of ``igq diff``.
EQUAL, DIFFERENT, COULD_NOT_COMPARE = 0, 1, 2

#: The option of commands that read MQSC. None: the setting decides.
Lenient = Annotated[
    bool | None,
    typer.Option("--lenient/--strict", help="Pass over what IBM MQ has and igq does not; default: mqsc_lenient."),
]


def add_to(app: typer.Typer) -> None:
    app.command("export", short_help="Write the definitions of the group as MQSC commands.")(export)
    app.command("diff", short_help="Compare the definitions with a file of MQSC commands.")(diff)


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
    from igq.definitions.export import ExportSelection
    from igq.definitions.export import export as exported
    from sharedq.members.group import Group
    from sharedq.settings.loader import load_settings

    kinds = tuple(dict.fromkeys(each.upper() for each in type_ or ()))
    for kind in kinds:
        if kind not in KINDS:
            raise CommandError(f"{kind!r} is not a type of objects: give one of {', '.join(KINDS)}", 2)
    group = Group(load_settings())
    try:
        members = [member.name for member in group.members()]
        if not members:
            raise CommandError(f"no queue manager has joined group {group.name} yet: there are no definitions")
        if manager and manager not in members:
            raise CommandError(f"there is no queue manager {manager} in group {group.name}: {', '.join(members)}")
        selection = ExportSelection(manager, name, kinds, every, one_line)
        born = group.born()
        result = exported(group, read_catalog(group), selection)
        if group.born() != born:
            raise CommandError(f"Redis has lost group {group.name} meanwhile: nothing was written")
    finally:
        group.leave()
    _write(result.lines, file)
    if not result.missing and all(line.startswith("*") for line in result.lines):
        tell("igq: no definition fits")
    for line in result.missing:
        tell(f"igq: {line}")
    return int(bool(result.missing))


def diff(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="MQSC commands, as igq export writes; -: standard input.")
    ],
    qmgr: Annotated[
        str,
        typer.Option("-m", "--manager", metavar="QMGR", help="Where commands without CMDSCOPE run; default: any."),
    ] = "",
    prune: Annotated[
        bool, typer.Option("--prune", help="Also name the objects of the group that FILE does not define.")
    ] = False,
    lenient: Lenient = None,
) -> int:
    """Say what applying a file of MQSC commands would change, attribute by attribute. Nothing is changed.

    The commands run on a copy of the definitions, so each rule is that of the real commands. No queue manager needs to
    run. Objects SYSTEM.*, attributes of queue managers, copies of group objects and dynamic queues are never named by
    --prune.

    Exit status: 0, nothing would change; 1, something would; 2, a command would fail, or nothing could be compared.
    """
    from igq.definitions.trial import compare
    from igq.operations.shutdown import UP, state_now
    from sharedq.members.group import Group
    from sharedq.settings.loader import load_settings

    try:
        text = read_commands(file)
        settings = load_settings()
        group = Group(settings)
        try:
            members = group.members()
            known = [member.name for member in members]
            if not known:
                raise CommandError(f"no queue manager has joined group {group.name} yet")
            if qmgr and qmgr not in known:
                raise CommandError(f"there is no queue manager {qmgr} in group {group.name}: {', '.join(known)}")
            up = [member.name for member in members if state_now(group, member) in UP]
            group.adopt(group.read_record())
            found = compare(
                group,
                qmgr or (up or known)[0],
                text.splitlines(keepends=True),
                is_lenient=settings.mqsc_lenient if lenient is None else lenient,
                is_pruned=prune,
            )
        finally:
            group.leave()
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        raise CommandError(" ".join(str(error).split()) or type(error).__name__, COULD_NOT_COMPARE) from error
    for change in found.changes:
        for line in change.lines:
            say(line)
    for item in found.surplus:
        say(f"not in {file.name}: {item.title}")
    for line in (*found.warnings, *found.failures):
        tell(f"igq: {line}")
    if found.failures:
        return COULD_NOT_COMPARE
    return EQUAL if found.is_equal else DIFFERENT


def read_commands(file: Path) -> str:
    """Return the text of a file of MQSC commands. Raises CommandError: it cannot be read, or is TOML."""
    text = read_file(file)
    if _is_toml(text):
        raise CommandError(f"{file}: this is TOML, not MQSC; IGQ_CONFIG names a file of settings")
    return text


def read_file(file: Path) -> str:
    """Return the text of a file that a command line names; ``-`` is standard input.

    Raises:
        CommandError: the file is not there, or no text.
    """
    from sharedq.settings.text_files import NotTextError, decode_text

    try:
        return decode_text(read_bytes(file))
    except NotTextError as error:
        raise CommandError(f"{name_of(file)}: {error}") from None


def _is_toml(text: str) -> bool:
    import tomllib

    try:
        return bool(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _write(lines: Iterable[str], file: Path | None) -> None:
    """Write *lines* as UTF-8, to a file as a whole or not at all. A terminal gets only what is safe to show."""
    if file is None and sys.stdout.isatty():
        for line in lines:
            say(line)
        return
    content = "".join(f"{line}\n" for line in lines).encode()
    from igq.output.files import write_whole

    if file is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        write_whole(file, content)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
