"""What a job leaves: its tables as Parquet, and their first rows on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table


def write_tables(tables: Mapping[str, DataFrame], directory: Path) -> None:
    """Each table as Parquet in a directory of its name."""
    for name, table in tables.items():
        table.write.parquet(str(directory / name))


def print_table(name: str, table: DataFrame, rows: int, console: Console) -> None:
    """The first *rows* of a table, and whether there are more."""
    found = table.limit(rows + 1).collect()
    shown = Table(title=name, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for field in table.schema.fields:
        shown.add_column(field.name, justify="right" if field.dataType.typeName() in _NUMBERS else "left")
    for row in found[:rows]:
        shown.add_row(*(_cell(value) for value in row))
    console.print(shown)
    if not found:
        console.print("(none)")
    if len(found) > rows:
        console.print(f"... and more; --rows shows more than {rows}")


_NUMBERS = ("integer", "long", "double", "float", "short", "byte")


def _cell(value: Any) -> str:
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
        case int():
            return f"{value:,}"
        case _:
            return str(value)
