"""Builds the command from its subcommands. Each imports what it needs when it runs, so ``igq --help`` is quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated

import typer

from igq import __version__
from igq.cli.help import show_help_alone

#: Each command and its module.
HOMES: Mapping[str, str] = {
    "demo": "igq.cli.demo",
    "group": "igq.cli.group",
    "upgrade": "igq.cli.group",
    "qmgr": "igq.cli.qmgr",
    "mqsc": "igq.cli.mqsc",
    "export": "igq.cli.definitions",
    "diff": "igq.cli.definitions",
    "put": "igq.cli.messages",
    "get": "igq.cli.messages",
    "browse": "igq.cli.shown.browse",
    "dlq": "igq.cli.tools.dead_letters",
    "unload": "igq.cli.tools.unload",
    "load": "igq.cli.tools.unload",
    "trace": "igq.cli.tools.trace",
    "events": "igq.cli.shown.events",
    "trigger-monitor": "igq.cli.tools.triggers",
    "status": "igq.cli.monitoring",
    "metrics": "igq.cli.monitoring",
    "health": "igq.cli.monitoring",
    "doctor": "igq.cli.monitoring",
    "fsck": "igq.cli.fsck",
    "drill": "igq.cli.drill",
    "console": "igq.cli.console.serve",
    "mqm": "igq.cli.mqm",
    "pipeline": "igq.cli.pipeline",
}


def build_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Build the ``igq`` command. If *arguments* begin with a command, only the module of that one is imported.

    The modules of the other commands take as long to import as a put takes.
    """
    app = typer.Typer(
        name="igq",
        help="Queue-sharing groups as IBM MQ for z/OS has them, on Redis or Valkey.",
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Settings: IGQ_GROUP (QSG1), IGQ_REDIS_URL (unset: an embedded server), IGQ_DATA_DIR, IGQ_CONFIG.",
    )
    app.callback(invoke_without_command=True)(_global_options)
    only = HOMES.get(arguments[0]) if arguments else None
    for home in [only] if only else dict.fromkeys(HOMES.values()):
        import_module(home).add_to(app)
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
