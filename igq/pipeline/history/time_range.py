"""Selects rows by time."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

#: The first and the last millisecond since 1970, both included; None leaves it open.
Moments = tuple[int | None, int | None]


def is_between(column: str, moments: Moments) -> Column:
    """Whether a timestamp is in the range. A null timestamp is, only if both ends are open."""
    first, last = moments
    ms = F.unix_millis(F.col(column))
    after = F.lit(True) if first is None else ms >= first
    before = F.lit(True) if last is None else ms <= last
    return after & before
