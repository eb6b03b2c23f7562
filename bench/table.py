"""The table: a line of the benchmark a row, both kinds of server side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from bench.rows import Row, bound, number


def make_table(by_fsync: Mapping[str, Sequence[Row]]) -> Table:
    """One table of all rows. A line that was measured on one server only leaves the other's cells empty."""
    table = Table(title="igq beside Redis Streams (streams = 1.0; higher is faster)", title_justify="left")
    table.add_column("what")
    table.add_column("floor", justify="right")
    for fsync in by_fsync:
        table.add_column(fsync, justify="right")
        table.add_column("igq / other", justify="right")
        table.add_column("redis-py", justify="right")
    table.add_column("commands a message", justify="right")
    table.add_column("met")
    for name in dict.fromkeys(row.name for rows in by_fsync.values() for row in rows):
        found = [next((row for row in rows if row.name == name), None) for rows in by_fsync.values()]
        known = [row for row in found if row is not None]
        cells: list[str] = []
        for row in found:
            cells += _cells(row)
        table.add_row(
            name,
            _floor(known[0]),
            *cells,
            _commands(known[0]),
            _met(known) if known[0].floor is not None else "",
        )
    return table


def _met(rows: Sequence[Row]) -> str:
    if all(row.is_met for row in rows):
        return "[green]yes[/]"
    if all(row.is_met or row.is_met_by_plain for row in rows):
        return "[yellow]redis-py[/]"
    return "[bold red]NO[/]"


def _cells(row: Row | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    both = " / ".join(part for part in (row.ours, row.theirs) if part)
    return number(row.value, row.unit), both, "" if row.plain is None else f"{row.plain:.2f}"


def _floor(row: Row) -> str:
    if row.floor is None:
        return ""
    return bound(row.floor, row)


def _commands(row: Row) -> str:
    return "" if row.commands is None else f"{row.commands[0]:.1f} / {row.commands[1]:.1f}"
