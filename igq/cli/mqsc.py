"""``igq mqsc``: MQSC commands from a file, the command line or standard input."""

from __future__ import annotations

import io
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from igq.errors import CommandError
from igq.mqsc.words import supported

#: Exit status if the commands could not be run at all.
COULD_NOT_RUN = 20


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    # One verb a line, however wide the terminal is.
    commands = "\n\n".join(supported())
    app.command("mqsc", epilog=f"Commands, which may be shortened as in IBM MQ:\n\n{commands}")(mqsc)


def mqsc(
    qmgr: Annotated[str, typer.Argument(metavar="QMGR", help="A running queue manager, not the group.")],
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="File of commands; none: standard input.")] = None,
    command: Annotated[
        list[str] | None, typer.Option("-c", "--command", metavar="COMMAND", help="A command; may be repeated.")
    ] = None,
) -> int:
    """Run MQSC commands (DEFINE, ALTER, DELETE, DISPLAY, CLEAR ...).

    For objects of the group use any running manager: QSGDISP(SHARED) and (GROUP), CFSTRUCT, DISPLAY GROUP.

    Exit status: 0, all commands were done; 10, one failed; 20, the commands could not be run.
    """
    try:
        return _run(qmgr, file, command or [])
    except CommandError as error:
        raise CommandError(str(error), COULD_NOT_RUN) from None
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        raise CommandError(" ".join(str(error).split()) or type(error).__name__, COULD_NOT_RUN) from error


def _run(qmgr: str, file: Path | None, commands: list[str]) -> int:
    from igq.mqsc.session import run_session
    from sharedq.settings.loader import load_settings

    if file is not None and commands:
        raise CommandError("FILE and -c exclude each other")
    settings = load_settings()
    if commands:
        return run_session(settings, qmgr, io.StringIO("\n".join(commands) + "\n"), sys.stdout)
    if file is None:
        return run_session(settings, qmgr, sys.stdin, sys.stdout)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{file}: this is not UTF-8 text") from None
    if _is_toml(text):
        raise CommandError(f"{file}: this is TOML, not MQSC; IGQ_CONFIG names a file of settings")
    return run_session(settings, qmgr, io.StringIO(text), sys.stdout)


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
