"""``igq drill``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    app.command("drill", short_help="Rehearse a failure, and check that nothing was lost.")(drill)


def drill(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A drill, or random. Without NAME, or with list: list them."),
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="N", help="Number of runs, each with the next seed.")] = 1,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Seed: decides load and victims; default: a random one, printed.")
    ] = None,
    runs_all: Annotated[bool, typer.Option("--all", help="Run every drill, one after the other.")] = False,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0, help="Start new runs, each with the next seed, for M minutes.")
    ] = None,
    is_audited: Annotated[
        bool,
        typer.Option("--audit/--no-audit", help="Whether the audit judges each run, which takes some seconds."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="List the drills as JSON.")] = False,
) -> int:
    """Rehearse a failure: kill or pause something, and check that no message is lost, doubled or reordered.

    The verdict comes from `igq pipeline audit`, which compares the records of the run with the journal and writes
    verdict.json and report.html beside the records. The histories of the programs must agree with it. Exit status: 0,
    all runs were good; 1, one was not; 2, a run was not possible.
    """
    from igq.errors import CommandError
    from igq.rehearsal.drills.run import drill as run_drill
    from igq.rehearsal.drills.run import listed
    from sharedq.display.lines import say_json

    if as_json:
        if name not in (None, "list") or runs_all:
            raise CommandError("--json lists the drills: give no name and not --all", 2)
        say_json(listed())
        return 0
    if name == "list" and not runs_all:
        name = None
    return run_drill(name, repeat, seed, runs_all=runs_all, minutes=minutes, is_audited=is_audited)
