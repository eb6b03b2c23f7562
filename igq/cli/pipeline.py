"""``igq pipeline``: Spark jobs, in a separate process."""

from __future__ import annotations

import os
import sys

import typer

from igq.processes.child import python_command


def add_to(app: typer.Typer) -> None:
    app.command(
        "pipeline",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(pipeline)


def pipeline(context: typer.Context) -> int:
    """Run a Spark job, such as audit. --help lists the jobs."""
    # Replace this process, so that signals and the exit status are the job's.
    os.execv(sys.executable, python_command("igq.pipeline", *(context.args or ["--help"])))
