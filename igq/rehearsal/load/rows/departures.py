"""A departure: one input row of a load. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

#: The managers of a load in a ring: a departure of one is sent through IGQ to the next.
NEXT_QMGR = {"EWR": "JFK", "JFK": "LGA", "LGA": "EWR"}
QMGRS = tuple(NEXT_QMGR)


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
