"""How many publications a connection has put for each subscription, until the group is told. Thread-safe."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Final

#: Seconds between two reports to the group. A publication makes the report that is due.
INTERVAL_S: Final = 1.0
#: Subscriptions that one call tells of.
_AT_ONCE: Final = 250


class Delivered:
    """Counts that the group does not know yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[int, int]] = {}
        self._told_s = float("-inf")

    def add(self, numbers: Iterable[str]) -> None:
        """Count one publication for each of these subscriptions."""
        now_ms = int(time.time() * 1000)
        with self._lock:
            for number in numbers:
                self._found[number] = self._found.get(number, (0, 0))[0] + 1, now_ms

    @property
    def is_waiting(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._found)

    @property
    def is_due(self) -> bool:
        """Whether the group is to be told now."""
        return bool(self._found) and time.monotonic() - self._told_s >= INTERVAL_S

    def take(self) -> list[list[tuple[str, int, int]]]:
        """Return the counts to tell, call by call: number, messages, the time of the last one (ms since 1970)."""
        with self._lock:
            found, self._found = self._found, {}
        self._told_s = time.monotonic()
        counts = [(number, *each) for number, each in found.items()]
        return [counts[first : first + _AT_ONCE] for first in range(0, len(counts), _AT_ONCE)]
