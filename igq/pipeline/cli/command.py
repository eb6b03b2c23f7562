"""Runs a job of `igq pipeline`, and turns wrong arguments into one line and an exit status."""

from __future__ import annotations

import logging
import sys

import typer

from igq.arguments import checked_command, misuse
from igq.pipeline.cli.app import build_app
from igq.pipeline.cli.runner import COULD_NOT_RUN
from sharedq.display.lines import prepare_streams, tell

INTERRUPTED = 130


def run(arguments: list[str] | None) -> int:
    """Run one job and return its exit status. Wrong arguments are told in one line on standard error."""
    prepare_streams()
    # Py4J logs the traceback of an interrupted call. Python prints it where no handler is installed.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        given = sys.argv[1:] if arguments is None else arguments
        result = checked_command(build_app(given))(args=given, standalone_mode=False, prog_name="igq pipeline")
        return result if isinstance(result, int) else 0
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        tell(f"igq pipeline: {misuse(error)}")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a user gets one line, never a traceback; and 1 is a verdict
        tell(f"igq pipeline: {type(error).__name__}: {' '.join(str(error).split())}")
        return COULD_NOT_RUN
