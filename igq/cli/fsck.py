"""``igq fsck``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("fsck")(fsck)


def fsck(
    repair: Annotated[bool, typer.Option("--repair", help="Repair what is found; some manager must run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for scripts.")] = False,
) -> int:
    """Check that everything the group has in Redis is explained by what exists, and repair what is not.

    Managers and programs may be at work meanwhile. Without --repair nothing is changed. With it, what nobody owns is
    given back: locked messages go to their places, units of work end as was decided, counters are set right. What
    cannot be repaired without losing something is left, and shown.

    Exit status: 0 nothing was found, or all of it is repaired; 1 something is left; 2 the group cannot be read, or
    repaired.
    """
    from igq.operations.fsck import check, print_checked, to_json
    from sharedq.settings.loader import load_settings

    checked = check(load_settings(), is_repaired=repair)
    if as_json:
        typer.echo(to_json(checked))
    else:
        print_checked(checked)
    return int(bool(checked.left))
