"""``igq demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from igq.errors import CommandError


def add_to(app: typer.Typer) -> None:
    app.command("demo", short_help="Run the demo: three queue managers, one of them killed.")(demo)


def demo(
    messages: Annotated[
        str, typer.Option(metavar="N|all", help="Number of departures to send; each becomes two messages.")
    ] = "30000",
    kill: Annotated[str, typer.Option(metavar="QMGR", help="The queue manager to kill: EWR, JFK or LGA.")] = "LGA",
    data_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory of the run; default: a new one in IGQ_DATA_DIR.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed for the moment of the kill, near the middle.")] = 2013,
) -> int:
    """Run the demonstration: a year's flights pass through three queue managers, one of which is killed on the way.

    The exit status is 0 only if the audit finds no message lost, duplicated or out of sequence.
    """
    from igq.rehearsal.demo.run import demo as run_demo

    count = int(messages) if messages.isdecimal() else 0
    if messages != "all" and count < 1:
        raise CommandError(f"--messages {messages}: give a number of at least 1, or all", 2)
    return run_demo(messages=None if messages == "all" else count, kill=kill, data_dir=data_dir, seed=seed)
