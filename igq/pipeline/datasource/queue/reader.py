"""`format("igq")`, reading: ranges of a queue, planned on the driver and read in the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.layout import Layout
from igq.pipeline.datasource.queue.pushdown import Filter, push
from igq.pipeline.datasource.worker import settle
from sharedq.reading.queue import ALL, Reader, ReadFilter, ReadRange
from sharedq.redis.deployment import Deployment

#: Approximate number of messages in a partition.
ROWS_PER_PARTITION = 50_000
OPTIONS = (
    *("queue", "qmgr", "columns", "queues", "queuePattern", "properties", "selector"),
    *("rowsPerPartition", "minPartitions", "pushFilters", "outage_s"),
)


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
