"""The command line: ``igq``. `main` is the one place that turns errors into a line and an exit status."""

from __future__ import annotations

import os
import sys

from igq.cli.app import build_app
from igq.errors import CommandError

#: Exit status of a command that failed, and of one that Ctrl-C ended.
FAILED, INTERRUPTED = 1, 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit status. Results go to standard output, the rest to standard error."""
    import click

    try:
        result = build_app()(args=arguments, standalone_mode=False, prog_name="igq")
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except CommandError as error:
        print(f"igq: {error}", file=sys.stderr)
        return error.status
    except Exception as error:  # noqa: BLE001 - a user gets one line, never a traceback
        print(f"igq: {_one_line(error)}", file=sys.stderr)
        return FAILED


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__
