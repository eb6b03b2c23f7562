"""How tables look on a terminal and on a pipe."""

from __future__ import annotations

import os

from rich import box
from rich.table import Table

from sharedq.display.terminal import Terminal


def new_table(title: str, *columns: str) -> Table:
    """An empty table, as narrow as it can be; nothing in it is ever cut. ``title``: empty for none."""
    # No more blanks than it takes: the managers fit into 60 columns.
    table = Table(
        title=title or None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
    )
    for column in columns:
        # Folded, never cut: half a name is another name.
        table.add_column(column, overflow="fold")
    return table


def widen(console: Terminal, width: int) -> None:
    """Where a program reads it, make room for *width* columns: a row is one line then."""
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = max(console.width, width)
