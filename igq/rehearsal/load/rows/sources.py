"""The source of a load's rows, named by a text that a program can be started with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from igq.rehearsal.load.rows.departures import Departure, by_day


@dataclass(frozen=True, slots=True)
class Source:
    """``flights`` (the first *count* rows; None: all) or ``made-up`` (*count* rows from *seed*)."""

    kind: str
    count: int | None
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{'all' if self.count is None else self.count}:{self.seed}"

    @classmethod
    def parse(cls, text: str) -> Source:
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
            from igq.rehearsal.load.rows.made_up_rows import made_up_departures

            return by_day(made_up_departures(self.count or 0, self.seed))
        raise ValueError(f"no such source: {self.kind}")
