"""``igq drill``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("drill")(drill)


def drill(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A drill; none lists them.")] = None,
) -> int:
    """Rehearse a failure: something is killed, and nothing may be lost, doubled or reordered."""
    from igq.drills.run import run_drill

    return run_drill(name)
