"""``igq pipeline``: Spark jobs, in a process of their own."""

from __future__ import annotations

import os
import sys

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        "pipeline",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    )(pipeline)


def pipeline(context: typer.Context) -> int:
    """Run a Spark job, such as audit; --help lists them."""
    # Replaces this process: signals and exit status are the job's own.
    os.execv(sys.executable, [sys.executable, "-m", "igq.pipeline", *(context.args or ["--help"])])
