"""``igq status``."""

from __future__ import annotations

from typing import Annotated

import typer

#: The shortest and the longest time between two looks, seconds.
_LEAST_S, _MOST_S = 0.1, 86_400.0


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("status")(status)


def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is wrong, one line each; the exit status is the answer.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[
        float, typer.Option("--every", min=_LEAST_S, max=_MOST_S, metavar="S", help="Seconds between two looks.")
    ] = 2.0,
    queue: Annotated[
        str, typer.Option("--queue", metavar="NAME", help="Only this queue; NAME* shows those that begin with NAME.")
    ] = "",
    manager: Annotated[
        str, typer.Option("--manager", metavar="QMGR", help="Only this queue manager and what is its own.")
    ] = "",
) -> int:
    """Show the group: managers, agents, recoveries, structures and queues.

    With --watch, a terminal shows the latest look; into a pipe each look is printed, with --json as one line.

    Exit status: 0; with --check 1 if something is wrong, and 2 if the group cannot be read.
    """
    from igq.operations.look import Wanted, look
    from sharedq.settings.loader import load_settings

    wanted = Wanted(queue=queue, manager=manager, is_json=as_json, is_check=check)
    return look(load_settings(), wanted, every_s=every if watch else None)
