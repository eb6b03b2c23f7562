"""``igq drill``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("drill")(drill)


def drill(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A drill, or random; none, or list, lists them.")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="N", help="How many runs, each with the next seed.")] = 1,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Decides load and victims; default: drawn and printed.")
    ] = None,
    runs_all: Annotated[bool, typer.Option("--all", help="Every drill, one after the other.")] = False,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0, help="Begin runs, each with the next seed, for so long.")
    ] = None,
    is_audited: Annotated[
        bool,
        typer.Option("--audit/--no-audit", help="Whether the Spark audit judges each run; it takes some 15 seconds."),
    ] = True,
) -> int:
    """Rehearse a failure: something is killed or paused, and nothing may be lost, doubled or reordered.

    The verdict is that of `igq pipeline audit` over what the run has recorded and the journal, which leaves
    verdict.json and report.html beside the records; and what the programs themselves saw must agree with it. Exit
    status: 0 all runs were good; 1 one was not; 2 it could not run.
    """
    from igq.rehearsal.drills.run import drill as run_drill

    if name == "list" and not runs_all:
        name = None
    return run_drill(name, repeat, seed, runs_all=runs_all, minutes=minutes, is_audited=is_audited)
