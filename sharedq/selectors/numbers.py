"""Numbers of selectors: 64-bit floating-point numbers, and whole numbers of 64 bits that these cannot hold exactly."""

from __future__ import annotations

from typing import Final

#: Up to here a ``float`` is exact for every whole number.
MOST_EXACT: Final = 1 << 53


def number_of(value: int) -> float:
    """A whole number as it is compared: itself if no ``float`` is exact for it and it has 64 bits; else a ``float``."""
    return value if abs(value) > MOST_EXACT and -(1 << 63) <= value < 1 << 63 else float(value)
