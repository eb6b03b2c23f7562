"""The figures of a line of the benchmark, and whether they meet their floors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.harness import Cost


@dataclass(frozen=True, slots=True)
class Row:
    """One figure on one kind of server.

    Attributes:
        name: what was done.
        value: the figure; its unit is ``unit`` ("x": a ratio).
        floor: the least allowed, or with ``is_limit`` the most; None where nothing is promised.
        ours, theirs: what the figure was made from, in words.
        plain: ratio to redis-py's ordinary client, where that was measured.
        commands: Redis commands a message, ours and theirs.
        growth: where the figure compares many with one: the thing that is many, and how many.
    """

    name: str
    value: float
    unit: str = "x"
    floor: float | None = None
    is_limit: bool = False
    ours: str = ""
    theirs: str = ""
    plain: float | None = None
    commands: tuple[float, float] | None = None
    growth: tuple[str, int] | None = None

    @property
    def is_met(self) -> bool:
        """Whether the floor is met; true without a floor."""
        return self._meets(self.value)

    @property
    def is_met_by_plain(self) -> bool:
        """Whether it is met in comparison with redis-py's ordinary client."""
        return self.plain is not None and self._meets(self.plain)

    def _meets(self, value: float) -> bool:
        if self.floor is None:
            return True
        return value <= self.floor if self.is_limit else value >= self.floor


def ratio_row(name: str, floor: float | None, costs: Mapping[str, Cost]) -> Row:
    """Streams = 1.0, higher is faster. *costs* has ``igq``, ``streams`` and perhaps ``redis-py``."""
    igq, streams = costs["igq"], costs["streams"]
    plain = costs.get("redis-py")
    return Row(
        name,
        streams.us / igq.us,
        floor=floor,
        ours=f"{igq.us:.1f} us",
        theirs=f"{streams.us:.1f} us",
        plain=None if plain is None else plain.us / igq.us,
        commands=(igq.commands, streams.commands),
    )


def limit_row(name: str, limit: float, ours: Cost, theirs: Cost, growth: tuple[str, int] | None = None) -> Row:
    """How much more something costs in one case than in another, in time and in commands; at most *limit*."""
    return Row(
        name,
        ours.us / theirs.us,
        floor=limit,
        is_limit=True,
        ours=f"{ours.us:.1f} us",
        theirs=f"{theirs.us:.1f} us",
        commands=(ours.commands, theirs.commands),
        growth=growth,
    )


def number(value: float, unit: str) -> str:
    """A figure as the tables show it."""
    if unit == "x":
        return f"{value:.2f}"
    return f"{value:,.0f} {unit}" if value >= 20 else f"{value:.1f} {unit}"


def bound(value: float, row: Row) -> str:
    """A floor or a goal of *row*, with its direction."""
    return ("<= " if row.is_limit else ">= ") + number(value, row.unit)
