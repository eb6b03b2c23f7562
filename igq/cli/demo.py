"""``igq demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.errors import CommandError


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("demo")(demo)


def demo(
    messages: Annotated[str, typer.Option(metavar="N|all", help="Departures to send.")] = "30000",
) -> int:
    """Run the main job: a year's flights through three queue managers, one of which is killed on the way."""
    from igq.demo.run import demo as run_demo

    if messages == "all":
        return run_demo(messages=None)
    if not messages.isdecimal() or int(messages) < 1:
        raise CommandError(f"--messages {messages}: a number of at least 1, or all", 2)
    return run_demo(messages=int(messages))
