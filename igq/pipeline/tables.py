"""Writes a job's tables as Parquet and shows their first rows on the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from igq.pipeline.engine.choice import is_duckdb
from igq.pipeline.errors import PipelineError
from sharedq.display.terminal import Terminal
from sharedq.display.text import visible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_tables(tables: Mapping[str, DataFrame], directory: Path) -> None:
    """Write each table as Parquet into a directory of its name."""
    from igq.pipeline.engine.frames import write

    for name, table in tables.items():
        write(table, directory / name)


def check_files(paths: Iterable[Path]) -> None:
    """Check that none of these Parquet files is empty, as a crash of a machine leaves a file.

    Spark skips an empty file without an error. For any other damage its error names the file.

    Raises:
        PipelineError: one of them is empty.
    """
    for path in paths:
        if not path.stat().st_size:
            raise PipelineError(f"{path}: is empty, its rows are lost; remove it to continue without them")


def print_table(name: str, table: DataFrame, rows: int, console: Terminal) -> None:
    """Show the first *rows* of a table, and whether there are more."""
    found = table.limit(rows + 1).collect()
    fields = table.schema.fields
    columns = {field.name: field.dataType.typeName() in _NUMBERS for field in fields}
    print_rows(
        name, columns, [[_cell(field.name, row[field.name]) for field in fields] for row in found[:rows]], console
    )
    if len(found) > rows:
        console.print(f"... and more; --rows shows more than {rows}")


def print_rows(name: str, columns: Mapping[str, bool], rows: Sequence[Sequence[str]], console: Terminal) -> None:
    """Show *rows* of text as a table. Show a table that is too wide for the terminal as records, one value on a line.

    Args:
        name: the title; "" for none.
        columns: the columns' names, and whether they hold numbers.
    """
    shown = Table(title=name or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column, is_number in columns.items():
        shown.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    width = console.measure(shown, options=console.options.update(width=_ANY_WIDTH)).maximum
    if not console.is_terminal and "COLUMNS" not in os.environ:
        # A program reads the output: write one line for each row.
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


#: Columns of numbers that are codes, and so have no thousands separator.
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
            # Spark's times have no zone; they are in that of this machine. DuckDB's are UTC.
            value = value.replace(tzinfo=UTC) if is_duckdb() else value
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"[:23]
        case int() if column not in _CODES:
            return f"{value:,}"
        case _:
            return str(value)
