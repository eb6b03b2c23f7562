"""``igq fsck``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    app.command("fsck", short_help="Check the keys of the group in Redis, and repair them.")(fsck)


def fsck(
    repair: Annotated[bool, typer.Option("--repair", help="Repair the findings; a manager must be running.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False,
) -> int:
    """Check that every key of the group in Redis belongs to something that exists, and repair what does not.

    Managers and programs may be at work at the same time. Without --repair the command changes nothing. With it,
    entries without an owner are given back: locked messages go to their places, units of work end as was decided, and
    counters are corrected. Messages on no queue go to the queue that their record names, or to the agent. A fault that
    cannot be repaired without loss stays and is shown.

    Exit status: 0, nothing was found or everything was repaired; 1, something is left; 2, the group cannot be read or
    repaired.
    """
    from igq.operations.fsck import as_values, check, print_checked
    from sharedq.display.lines import say_json
    from sharedq.settings.loader import load_settings

    checked = check(load_settings(), is_repaired=repair)
    if as_json:
        say_json(as_values(checked), indent=2)
    else:
        print_checked(checked)
    return int(bool(checked.left))
