"""What a job leaves: its tables as Parquet, and their first rows on the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from igq.pipeline.errors import PipelineError
from sharedq.display.terminal import Terminal
from sharedq.display.text import visible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_tables(tables: Mapping[str, DataFrame], directory: Path) -> None:
    """Each table as Parquet in a directory of its name."""
    for name, table in tables.items():
        table.write.parquet(str(directory / name))


def check_files(paths: Iterable[Path]) -> None:
    """Raises PipelineError: one of these Parquet files is empty, as a crash of its machine leaves it.

    Spark passes over such a file; of any other damage it says the file's name.
    """
    for path in paths:
        if not path.stat().st_size:
            raise PipelineError(f"{path}: is empty, what was in it is lost; remove it to go on without that")


def print_table(name: str, table: DataFrame, rows: int, console: Terminal) -> None:
    """The first *rows* of a table, and whether there are more."""
    found = table.limit(rows + 1).collect()
    fields = table.schema.fields
    columns = {field.name: field.dataType.typeName() in _NUMBERS for field in fields}
    print_rows(
        name, columns, [[_cell(field.name, row[field.name]) for field in fields] for row in found[:rows]], console
    )
    if len(found) > rows:
        console.print(f"... and more; --rows shows more than {rows}")


def print_rows(name: str, columns: Mapping[str, bool], rows: Sequence[Sequence[str]], console: Terminal) -> None:
    """Show *rows* of text as a table; one that is too wide for the terminal as records, a value a line. Nothing is cut.

    Args:
        name: what stands above; nothing where it is empty.
        columns: the names, and whether they hold numbers.
    """
    shown = Table(title=name or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column, is_number in columns.items():
        shown.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    width = console.measure(shown, options=console.options.update(width=_ANY_WIDTH)).maximum
    if not console.is_terminal and "COLUMNS" not in os.environ:
        # Read by a program: one line a row.
        console.width = max(console.width, width)
    if width <= console.width or not rows:
        console.print(shown)
    else:
        _print_records(name, list(columns), rows, console)
    if not rows:
        console.print("(none)")


def _print_records(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]], console: Terminal) -> None:
    if name:
        console.print(Text(name, style="italic"))
    longest = max(map(len, columns))
    for row in rows:
        console.print()
        for column, cell in zip(columns, row, strict=True):
            if cell:
                console.print(Text.assemble((f"{column:<{longest}}", "bold"), f"  {visible(cell)}"), soft_wrap=True)


#: Wider than any row.
_ANY_WIDTH = 100_000
_NUMBERS = ("integer", "long", "double", "float", "short", "byte")


#: Numbers that are codes, and counted by nobody.
_CODES = ("reason",)


def _cell(column: str, value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else ""
        case bytes() | bytearray():
            return bytes(value).hex()
        case datetime():
            # Spark gives times without a zone, in the one of this machine.
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"[:23]
        case int() if column not in _CODES:
            return f"{value:,}"
        case _:
            return str(value)
