"""Sums over forgotten lives, stored as JSON. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

#: Slices of latency for each factor of ten: a percentile is known to three hundredths of itself.
FINE_SLICES_PER_DECADE = 80

#: Numbers by name, as deep as it takes.
Sums = dict[str, Any]


@dataclass
class Totals:
    """Sums over the lives that are over.

    Attributes:
        structures: structure -> events, first_ms, last_ms, first_number, last_number, has_hops, has_recovery.
        counts: path -> finding -> messages.
        spans: path -> first_put_ms, last_get_ms, max_ms.
        latencies: path -> slice (``FINE_SLICES_PER_DECADE``) -> messages.
        happened: what -> beginning of its minute, ms -> messages.
        peer_work: failed and recovering manager -> as ``verdict.PeerWork``.
    """

    group: str
    structures: dict[str, Sums] = field(default_factory=dict)
    counts: Sums = field(default_factory=dict)
    spans: Sums = field(default_factory=dict)
    latencies: Sums = field(default_factory=dict)
    happened: Sums = field(default_factory=dict)
    peer_work: dict[str, Sums] = field(default_factory=dict)

    @property
    def last_ms(self) -> int:
        """The time of the latest event; 0 if there was none."""
        return max((each["last_ms"] for each in self.structures.values()), default=0)

    @property
    def first_numbers(self) -> dict[str, int]:
        """Structure -> the number of the first message whose put was seen."""
        return {name: of["first_number"] for name, of in self.structures.items() if of["first_number"] is not None}

    @property
    def numbers(self) -> dict[str, tuple[int, int]]:
        """Structure -> the first and the last message whose put was seen."""
        return {name: (first, self.structures[name]["last_number"]) for name, first in self.first_numbers.items()}

    @property
    def has_hops(self) -> bool:
        """Whether a message was got from the transmit queue."""
        return any(each["has_hops"] for each in self.structures.values())

    def copy(self) -> Totals:
        """A copy that can be added to."""
        return Totals(**json.loads(json.dumps(asdict(self))))

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Totals:
        """The stored sums. An older igq stored more of them."""
        known = {each.name for each in fields(cls)}
        return cls(**{name: of for name, of in json.loads(path.read_text(encoding="utf-8")).items() if name in known})


def add(into: Sums, more: Mapping[Any, Any]) -> None:
    """Add numbers to the totals of the same name. A name with ``first_`` keeps the smallest, with ``last_`` or ``max_``
    the largest, with ``has_`` whether one was true. None adds nothing."""
    for key, value in more.items():
        name = str(key)
        if isinstance(value, Mapping):
            add(into.setdefault(name, {}), value)
        elif into.get(name) is None:
            into[name] = value
        elif value is not None:
            into[name] = _together(name)(into[name], value)


def percentile(slices: Mapping[str, int], part: float) -> int:
    """Milliseconds within which *part* of the messages were delivered: the end of their slice."""
    left = part * sum(slices.values())
    for number in sorted(map(int, slices)):
        left -= slices[str(number)]
        if left <= 0:
            return round(10 ** ((number + 1) / FINE_SLICES_PER_DECADE))
    return 0


def _together(name: str) -> Any:
    if name.startswith("first_"):
        return min
    if name.startswith(("last_", "max_", "has_")):
        return max
    return lambda one, other: one + other
