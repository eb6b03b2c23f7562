"""Runs a job of `igq pipeline`, and turns what is wrong with the arguments into a line and an exit status."""

from __future__ import annotations

import logging

import typer

from igq.pipeline.cli import app
from igq.pipeline.cli.runner import COULD_NOT_RUN
from sharedq.display.lines import tell

INTERRUPTED = 130


def run(arguments: list[str] | None) -> int:
    """Run one job; its exit status. What is wrong with the arguments is one line on standard error."""
    # Py4J logs calls that are interrupted, with their tracebacks; who sets no logger up would see them.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        result = app(args=arguments, standalone_mode=False, prog_name="igq pipeline")
        return result if isinstance(result, int) else 0
    except typer.Exit as error:
        return error.exit_code
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        where = "" if context is None else f" (see {context.command_path} --help)"
        tell(f"igq pipeline: {' '.join(error.format_message().split()).rstrip('.')}{where}")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a user gets one line, never a traceback; and 1 is a verdict
        tell(f"igq pipeline: {type(error).__name__}: {' '.join(str(error).split())}")
        return COULD_NOT_RUN
