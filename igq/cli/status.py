"""``igq status``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("status")(status)


def status(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")] = False) -> int:
    """Show the group: managers, agents, recoveries and queues."""
    import json

    from igq.operations.status import read_status
    from igq.operations.status_tables import print_tables
    from sharedq.settings.loader import load_settings

    found = read_status(load_settings())
    if as_json:
        typer.echo(json.dumps(found.model_dump(mode="json"), indent=2))
    else:
        print_tables(found)
    return 0
