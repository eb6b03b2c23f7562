"""`format("igq")`, reading: ranges of a queue, planned on the driver and read in the workers.

The server applies the filters of a query that `sharedq.reading.queue` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.layout import Layout
from igq.pipeline.datasource.worker import settle
from sharedq.mqi.limits import MAX_PRIORITY, NULL_ID
from sharedq.reading.queue import ALL, Reader, ReadFilter, ReadRange
from sharedq.redis.deployment import Deployment

__all__ = ["Filter", "push"]
_IDENTIFIERS = ("msg_id", "correl_id", "group_id")
#: With a value that is no null both are true of the same rows.
_EQUAL = (EqualTo, EqualNullSafe)
#: Approximate number of messages in a partition.
ROWS_PER_PARTITION = 50_000
OPTIONS = (
    *("queue", "qmgr", "columns", "queues", "queuePattern", "properties", "selector"),
    *("rowsPerPartition", "minPartitions", "pushFilters", "outage_s"),
)


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


@dataclass
class QueuePartition(InputPartition):
    """A range of positions of one queue."""

    what: ReadRange


class QueueReader(DataSourceReader):
    """Plans ranges on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._layout = Layout.of(schema, options)
        self._queues = options.queues()
        self._qmgr = options.managers()
        self._outage_s = options.outage_s()
        self._rows = options.number("rowsPerPartition", ROWS_PER_PARTITION)
        self._partitions = options.number("minPartitions", 1)
        selector = options.selector()
        self._wanted = ALL
        if selector is not None:
            self._wanted = ReadFilter(selector.msg_id, selector.correl_id, selector.group_id, selector=selector.text)
        settings = options.settings()
        # No settings go to the workers: to import the modules for them takes longer than most tasks.
        self._options = options
        self._group, self._url = settings.group, str(settings.redis_url)

    def partitions(self) -> Sequence[InputPartition]:
        from igq.pipeline.claims.members import member_of
        from igq.pipeline.claims.queues import places_of
        from sharedq.members.group import Group
        from sharedq.reading.plan import counts_available, plan_ranges

        group = Group(self._options.settings())
        try:
            here = member_of(group, self._qmgr) if self._qmgr else ""
            places, rows = places_of(group, self._queues, self._qmgr, here), self._rows
            if self._partitions > 1:
                rows = rows_for(self._partitions, rows, sum(counts_available(group, places).values()))
            return [QueuePartition(what) for what in plan_ranges(group, places, self._wanted, rows)]
        finally:
            group.leave()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Import it here: the driver's processes only plan.
        from igq.pipeline.datasource.queue.arrow_batches import batch, batches

        settle()
        layout = self._layout
        if not isinstance(partition, QueuePartition):
            # If there are no partitions, Spark makes one of its own.
            yield batch([], layout.arrow)
            return
        reader = Reader(
            Deployment(self._url), self._group, has_data=layout.has_data, wanted=self._wanted, outage_s=self._outage_s
        )
        try:
            yield from batches(reader.read(partition.what), layout.arrow, takes_properties=layout.takes_properties)
        finally:
            reader.close()


class PushingQueueReader(QueueReader):
    """Passes to the server the filters of a query that it can apply."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's name
        self._wanted, left = push(filters, self._wanted)
        yield from left


def rows_for(partitions: int, rows: int, messages: int) -> int:
    """The most messages in a partition: *rows*, or fewer so that there are so many partitions."""
    return max(1, min(rows, -(-messages // partitions)))
