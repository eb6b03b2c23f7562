"""The tables of a terminal or a pipe."""

from __future__ import annotations

import os

from rich import box
from rich.table import Table

from sharedq.display.terminal import Terminal


def new_table(title: str, *columns: str) -> Table:
    """Make an empty table, as narrow as possible. Nothing in it is ever cut. ``title``: empty for none."""
    # No more blanks than necessary: the managers fit into 60 columns.
    table = Table(
        title=title or None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
    )
    for column in columns:
        # Fold instead of cutting: half a name is another name.
        table.add_column(column, overflow="fold")
    return table


def widen(console: Terminal, width: int) -> None:
    """If a program reads the output, make room for *width* columns, so that a row is one line."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, width)
