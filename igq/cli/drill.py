"""``igq drill``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("drill")(drill)


def drill(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A drill, or random; none lists them.")] = None,
    repeat: Annotated[int, typer.Option(metavar="N", help="How many runs, each with the next seed.")] = 1,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Decides load and victims; default: drawn and printed.")
    ] = None,
    runs_all: Annotated[bool, typer.Option("--all", help="Every drill, one after the other.")] = False,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0, help="Begin runs, each with the next seed, for so long.")
    ] = None,
    is_audited: Annotated[bool, typer.Option("--audit", help="Have the Spark audit judge each run, too.")] = False,
) -> int:
    """Rehearse a failure: something is killed or paused, and nothing may be lost, doubled or reordered."""
    from igq.drills.run import drill as run_drill

    return run_drill(name, repeat, seed, runs_all=runs_all, minutes=minutes, is_audited=is_audited)
