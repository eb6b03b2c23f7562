"""A small made-up load for drills: the same rows for the same seed, in the shape of the demo's. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator

from igq.rehearsal.load.rows.departures import QMGRS, Departure

_DAY_ROWS = 200
_AIRCRAFT = 90


def made_up_departures(count: int, seed: int) -> Iterator[Departure]:
    """Yield *count* departures: some aircraft with several on one day, some rows without a tail number."""
    generator = random.Random(seed)
    for row in range(count):
        number = generator.randrange(_AIRCRAFT + 2)
        aircraft = f"N{number:03d}IG" if number < _AIRCRAFT else ""
        source = generator.choice(QMGRS)
        departs = f"{generator.randrange(5, 24):02d}{generator.randrange(60):02d}"
        fields = {"row": str(row), "origin": source, "tailnum": aircraft, "sched_dep_time": departs, "pad": "." * 120}
        yield Departure(row, source, aircraft, f"day {row // _DAY_ROWS}", departs, fields)
