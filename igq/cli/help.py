"""The help of a command that was called without one of its subcommands."""

from __future__ import annotations

import typer


def show_help_alone(context: typer.Context) -> None:
    """Show the help of a command that was called without a subcommand."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit
