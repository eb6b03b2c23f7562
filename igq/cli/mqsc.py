"""``igq mqsc``: MQSC commands from a file, the command line or standard input."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from igq.cli.definitions import Lenient, read_commands
from igq.cli.standard_input import standard_input
from igq.errors import CommandError

#: Exit status if the commands could not be run at all.
COULD_NOT_RUN = 20


class _Mqsc(TyperCommand):
    """A command whose help ends with the commands of MQSC. Their table takes 40 ms to import, so only help does it."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from igq.mqsc.language.words import supported

        # One verb a line, however wide the terminal is.
        commands = "\n\n".join(supported())
        self.epilog = f"Commands, which may be shortened as in IBM MQ:\n\n{commands}"
        super().format_epilog(ctx, formatter)


def add_to(app: typer.Typer) -> None:
    app.command("mqsc", short_help="Run MQSC commands, for example DEFINE and DISPLAY.", cls=_Mqsc)(mqsc)


def mqsc(
    qmgr: Annotated[str, typer.Argument(metavar="QMGR", help="A running queue manager, not the group.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="File of commands; none, -: standard input.")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Option("-c", "--command", metavar="COMMAND", help="A command; may be repeated.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what each command would do, and change nothing.")
    ] = False,
    lenient: Lenient = None,
) -> int:
    """Run MQSC commands (DEFINE, ALTER, DELETE, DISPLAY, CLEAR ...).

    For objects of the group use any running manager: QSGDISP(SHARED) and (GROUP), CFSTRUCT, DISPLAY GROUP.

    With --dry-run the commands run on a copy of the definitions, one after the other. With --lenient the output of
    dmpmqcfg and of CSQUTIL MAKEDEF loads: each command and attribute that is not supported here gets a warning.

    Exit status: 0, all commands were done; 10, one failed; 20, the commands could not be run.
    """
    try:
        return _run(qmgr, file, command or [], lenient, is_dry_run=dry_run)
    except CommandError as error:
        raise CommandError(str(error), COULD_NOT_RUN) from None
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        raise CommandError(" ".join(str(error).split()) or type(error).__name__, COULD_NOT_RUN) from error


def _run(qmgr: str, file: Path | None, commands: list[str], lenient: bool | None, *, is_dry_run: bool) -> int:
    from igq.definitions.trial import run_trial
    from igq.mqsc.session import run_session
    from sharedq.settings.loader import load_settings

    if file is not None and commands:
        raise CommandError("FILE and -c exclude each other")
    settings = load_settings()
    is_lenient = settings.mqsc_lenient if lenient is None else lenient
    # A command may have several lines, as in a file.
    lines: Iterable[str] | None = [line for command in commands for line in _as_text(command).split("\n")]
    if not commands:
        lines = typed_lines() if file is None or str(file) == "-" else io.StringIO(read_commands(file))
    run = run_trial if is_dry_run else run_session
    return run(settings, qmgr, lines, sys.stdout, is_lenient=is_lenient)


def _as_text(command: str) -> str:
    """Return a command of the command line as UTF-8, which it is in any locale."""
    try:
        return os.fsencode(command).decode()
    except UnicodeError:
        return command


def typed_lines() -> Iterator[str] | None:
    """Return the lines of standard input as they come. None: it is a terminal."""
    given = standard_input("give FILE or -c")
    return None if given.isatty() else _decoded(given)


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise CommandError(f"standard input: line {number} is not UTF-8 text") from None
