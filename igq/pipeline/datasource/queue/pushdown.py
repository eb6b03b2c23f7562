"""Chooses the filters of a query that the server can apply, for `sharedq.reading.queue`. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)

from sharedq.mqi.limits import MAX_PRIORITY, NULL_ID
from sharedq.reading.queue import ALL, ReadFilter

__all__ = ["Filter", "push"]

_IDENTIFIERS = ("msg_id", "correl_id", "group_id")
#: With a value that is no null both are true of the same rows.
_EQUAL = (EqualTo, EqualNullSafe)


def push(filters: Iterable[Filter], wanted: ReadFilter = ALL) -> tuple[ReadFilter, list[Filter]]:
    """The request to the server, and the filters that Spark must still apply to the rows that it returns.

    All of *filters* must hold. A filter is left to Spark if the server cannot apply it, or may return too much for it.

    Args:
        wanted: the request without them.
    """
    left = []
    for each in filters:
        narrowed = _narrowed(wanted, each)
        wanted = narrowed or wanted
        if narrowed is None or _may_be_too_much(each):
            left.append(each)
    return wanted, left


def _may_be_too_much(each: Filter) -> bool:
    """Whether the server may return messages that do not pass this filter."""
    column = _column(each)
    if column == "priority":
        # The server does not distinguish the highest priority from values above it.
        low, high = _bounds(each, each.value, each.value) or (None, None)  # type: ignore[attr-defined]
        return (low or 0) > MAX_PRIORITY or (high or 0) >= MAX_PRIORITY
    # The server compares only the message number of a MsgId that igq generated.
    return column == "msg_id"


def _column(each: Filter) -> str:
    path: tuple[str, ...] = getattr(each, "attribute", ())
    return ".".join(path)


def _narrowed(wanted: ReadFilter, each: Filter) -> ReadFilter | None:
    """*wanted* with this filter added; None if the server cannot apply it."""
    column, value = _column(each), getattr(each, "value", None)
    if column in _IDENTIFIERS:
        return _with_identifier(wanted, each, column, value)
    if column == "priority" and type(value) is int:
        low, high = _bounds(each, value, value) or (None, None)
        return None if low is high is None else _with_priority(wanted, low, high)
    if column == "put_at" and isinstance(value, datetime) and value.tzinfo is not None:
        return _with_put_time(wanted, each, value)
    return None


def _with_identifier(wanted: ReadFilter, each: Filter, column: str, value: Any) -> ReadFilter | None:
    # The server takes one identifier of each kind. A second one is left to Spark.
    is_one = isinstance(each, _EQUAL) and isinstance(value, bytes | bytearray) and len(value) == len(NULL_ID)
    if not is_one or getattr(wanted, column):
        return None
    identifier = bytes(value)
    match column:
        case "msg_id":
            return replace(wanted, msg_id=identifier)
        case "correl_id":
            return replace(wanted, correl_id=identifier)
        case _:
            return replace(wanted, group_id=identifier)


def _with_priority(wanted: ReadFilter, low: int | None, high: int | None) -> ReadFilter:
    return replace(
        wanted,
        priority_min=wanted.priority_min if low is None else max(min(low, MAX_PRIORITY), wanted.priority_min),
        priority_max=wanted.priority_max if high is None else min(high, wanted.priority_max),
    )


def _with_put_time(wanted: ReadFilter, each: Filter, value: datetime) -> ReadFilter | None:
    # The column has whole milliseconds; the value may have microseconds.
    whole_s, micros = int(value.replace(microsecond=0).timestamp()), value.microsecond
    floor_ms, rest = whole_s * 1000 + micros // 1000, micros % 1000
    if isinstance(each, _EQUAL) and rest:
        return None
    bounds = _bounds(each, floor_ms + (rest > 0), floor_ms, above=floor_ms + 1, below=floor_ms - (not rest))
    if bounds is None:
        return None
    low, high = bounds
    starts = [ms for ms in (low, wanted.put_from_ms) if ms is not None]
    ends = [ms for ms in (high, wanted.put_until_ms) if ms is not None]
    return replace(wanted, put_from_ms=max(starts, default=None), put_until_ms=min(ends, default=None))


def _bounds(
    each: Filter, least: int, most: int, *, above: int | None = None, below: int | None = None
) -> tuple[int | None, int | None] | None:
    """The first and the last value that pass a comparison; None for another kind of filter.

    Args:
        least, most: the first value not below the operand, and the last value not above it.
        above, below: the first value above the operand, and the last below it; default: the next whole numbers.
    """
    match each:
        case EqualTo() | EqualNullSafe():
            return least, most
        case GreaterThanOrEqual():
            return least, None
        case GreaterThan():
            return most + 1 if above is None else above, None
        case LessThanOrEqual():
            return None, most
        case LessThan():
            return None, least - 1 if below is None else below
        case _:
            return None
