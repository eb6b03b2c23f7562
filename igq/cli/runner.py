"""Runs a command of ``igq``. Only this module turns errors into a line and an exit status."""

from __future__ import annotations

import os
import sys

import typer

from igq.arguments import checked_command, misuse
from igq.cli.app import build_app
from igq.errors import CommandError
from igq.output.silence import silence_ends
from sharedq.display.lines import prepare_streams, tell

#: Exit status of a command that failed, and of a command that Ctrl-C ended.
FAILED, INTERRUPTED = 1, 130
#: Characters to show of an argument that is no text.
_SHOWN = 100


def run(arguments: list[str] | None) -> int:
    """Run one command and return its exit status. Results go to standard output, the rest to standard error."""
    prepare_streams()
    with silence_ends():
        return _run(arguments)


def _run(arguments: list[str] | None) -> int:
    if sys.stdout is None:
        # The caller closed it. A message that a get returned would be lost, and nobody would have seen it.
        os.write(2, b"igq: standard output is closed\n") if sys.stderr is not None else None
        return FAILED
    try:
        command = checked_command(build_app(sys.argv[1:] if arguments is None else arguments))
        result = command(args=arguments, standalone_mode=False, prog_name="igq")
        return result if isinstance(result, int) else 0
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        tell(f"igq: {misuse(error)}")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough, for example `head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except CommandError as error:
        tell(f"igq: {error}")
        return error.status
    except Exception as error:  # noqa: BLE001 - a user gets one line, never a traceback
        tell(f"igq: {_one_line(error)}")
        return FAILED


def _one_line(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        # An argument with bytes that are no text: Python's own words name its code, and no argument.
        return f"{error.object[:_SHOWN]!r} is not UTF-8 text"
    text = " ".join(str(error).split())
    return text or type(error).__name__
