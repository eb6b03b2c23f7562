"""The source of a load's rows, named by a text that a program can be started with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from igq.rehearsal.load.rows.departures import QMGRS, Departure, by_day

_DAY_ROWS = 200
_AIRCRAFT = 90


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
        # Imported here because a load needs only one of them.
        if self.kind == "flights":
            from igq.rehearsal.load.rows.flights import read_flights

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
