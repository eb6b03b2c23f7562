"""``igq fsck``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("fsck")(fsck)


def fsck(as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for scripts.")] = False) -> int:
    """Check that everything the group has in Redis is explained by what exists.

    Managers and programs may be at work meanwhile. Nothing is changed.

    Exit status: 0 nothing was found, 1 something was, 2 the group cannot be read.
    """
    from config.loading import load_settings
    from igq.checking import check, print_findings, to_json

    findings = check(load_settings())
    if as_json:
        typer.echo(to_json(findings))
    else:
        print_findings(findings)
    return int(bool(findings))
