"""`format("igq")`, reading: ranges of a queue, planned on the driver and read in the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.pushdown import Filter, push
from igq.pipeline.datasource.worker import settle
from sharedq.reading.queue import ALL, QueuePart, Reader, ReadFilter, ReadRange
from sharedq.redis.deployment import Deployment

if TYPE_CHECKING:
    from sharedq.members.group import Group

#: Approximate number of messages in a partition.
ROWS_PER_PARTITION = 50_000
OPTIONS = ("queue", "qmgr", "columns", "rowsPerPartition", "pushFilters", "outage_s")


@dataclass
class QueuePartition(InputPartition):
    """A range of positions of one queue."""

    what: ReadRange


class QueueReader(DataSourceReader):
    """Plans ranges on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._schema = schema
        self._queue = options.required("queue", "the name of the queue to read")
        self._qmgr = options.managers()
        self._outage_s = options.outage_s()
        self._rows = options.number("rowsPerPartition", ROWS_PER_PARTITION)
        settings = options.settings()
        # No settings go to the workers: to import the modules for them takes longer than most tasks.
        self._options = options
        self._group, self._url = settings.group, str(settings.redis_url)
        self._wanted: ReadFilter = ALL

    def partitions(self) -> Sequence[InputPartition]:
        from sharedq.members.group import Group
        from sharedq.reading.plan import find_parts, plan_ranges

        group = Group(self._options.settings())
        try:
            places = self._places(group) if self._qmgr else find_parts(group, self._queue)
            return [QueuePartition(what) for what in plan_ranges(group, places, self._wanted, self._rows)]
        finally:
            group.leave()

    def _places(self, group: Group) -> list[QueuePart]:
        from igq.pipeline.claims.members import is_private, member_of
        from sharedq.reading.plan import find_parts

        here = member_of(group, self._qmgr)
        places = find_parts(group, self._queue, here)
        is_private(self._queue, self._qmgr, places, here)
        return places

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Import it here: the driver's processes only plan.
        from igq.pipeline.datasource.queue.arrow_batches import batch, batches

        settle()
        arrow = to_arrow_schema(self._schema, timezone="UTC")
        if not isinstance(partition, QueuePartition):
            # If there are no partitions, Spark makes one of its own.
            yield batch([], arrow)
            return
        has_data = "data" in self._schema.fieldNames()
        reader = Reader(
            Deployment(self._url), self._group, has_data=has_data, wanted=self._wanted, outage_s=self._outage_s
        )
        try:
            yield from batches(reader.read(partition.what), arrow)
        finally:
            reader.close()


class PushingQueueReader(QueueReader):
    """Passes to the server the filters of a query that it can apply."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's name
        self._wanted, left = push(filters)
        yield from left
