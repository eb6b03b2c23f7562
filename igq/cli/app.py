"""Builds the command from its subcommands. Each imports what it needs when it runs, so ``igq --help`` is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from igq import __version__
from igq.cli import definitions, demo, drill, fsck, group, messages, monitoring, mqsc, pipeline, qmgr
from igq.cli.console import serve as console
from igq.cli.help import show_help_alone
from igq.cli.shown import browse, events
from igq.cli.tools import dead_letters, trace, triggers, unload


def build_app() -> typer.Typer:
    """Build the ``igq`` command with all its subcommands."""
    app = typer.Typer(
        name="igq",
        help="Queue-sharing groups as IBM MQ for z/OS has them, on Redis or Valkey.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Settings: IGQ_GROUP (QSG1), IGQ_REDIS_URL (unset: an embedded server), IGQ_DATA_DIR, IGQ_CONFIG.",
    )
    app.callback(invoke_without_command=True)(_global_options)
    people = (mqsc, definitions, messages, browse, dead_letters, unload, trace, events, triggers, monitoring)
    for command in (demo, group, qmgr, *people, fsck, drill, console, pipeline):
        command.add_to(app)
    return app


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"igq {__version__}")
        raise typer.Exit


def _global_options(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Queue-sharing groups as IBM MQ for z/OS has them, on Redis or Valkey."""
    show_help_alone(context)
