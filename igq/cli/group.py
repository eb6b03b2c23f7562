"""``igq group start``: several managers under one supervisor."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Several queue managers at once.", callback=show_help_alone, invoke_without_command=True)
    group.command("start")(start)
    app.add_typer(group, name="group")


def start(
    manager: Annotated[
        list[str], typer.Option("-m", "--manager", metavar="QMGR", help="A queue manager; repeat it for each.")
    ],
) -> int:
    """Start queue managers in the foreground. Ctrl-C stops them in good order, twice at once."""
    from config.loading import load_settings
    from igq.supervisor import Supervisor

    return Supervisor(load_settings(), manager).run()
