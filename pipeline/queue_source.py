"""`format("igq")`: the messages of a queue as a table (batch), browsed and left where they are; and rows as messages.

    spark.dataSource.register(QueueSource)
    spark.read.format("igq").option("queue", "ORDERS").option("columns", "msg_id, priority, length").load()

What writes is in ``pipeline.queue_sink``. docs/pipeline.md describes the options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from config.settings import Settings
from pipeline.errors import PipelineError
from pipeline.pushing import Filter, push
from pipeline.schemas import QUEUE
from pipeline.source_options import SourceOptions
from sharedq.deployment import Deployment
from sharedq.group import Group
from sharedq.reading import ALL, Reader, ReadRange, Wanted, find_places, plan_ranges

#: Messages in a partition, about.
ROWS_PER_PARTITION = 50_000
READ_OPTIONS = ("queue", "qmgr", "columns", "rowsPerPartition", "pushFilters")


@dataclass
class QueuePartition(InputPartition):
    """A range of positions of one queue."""

    what: ReadRange


class QueueSource(DataSource):
    """Queues as a Spark data source."""

    @classmethod
    def name(cls) -> str:
        return "igq"

    def schema(self) -> StructType:
        return _chosen(dict(self.options).get("columns", ""))

    # Spark starts a process for each thing that it asks a source: only what that needs is imported there.

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from pipeline.queue_sink import OPTIONS, QueueWriter

        return QueueWriter(schema, SourceOptions(dict(self.options), OPTIONS), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from pipeline.queue_sink import OPTIONS, QueueStreamWriter

        options = SourceOptions(dict(self.options), (*OPTIONS, "checkpointLocation"))
        return QueueStreamWriter(schema, options, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from pipeline.queue_stream import OPTIONS, QueueStreamReader

        _check_schema(schema)
        return QueueStreamReader(schema, SourceOptions(dict(self.options), OPTIONS))

    def reader(self, schema: StructType) -> DataSourceReader:
        options = SourceOptions(dict(self.options), READ_OPTIONS)
        # Spark refuses a reader that takes filters while its own setting for that is off.
        kind = PushingQueueReader if options.flag("pushFilters", default=False) else QueueReader
        return kind(schema, options)


class QueueReader(DataSourceReader):
    """Plans ranges on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        _check_schema(schema)
        self._schema = schema
        self._queue = options.required("queue", "the name of the queue to read")
        self._qmgr = options.text("qmgr")
        self._rows = options.number("rowsPerPartition", ROWS_PER_PARTITION)
        self._settings = options.settings()
        self._wanted: Wanted = ALL

    def partitions(self) -> Sequence[InputPartition]:
        group = Group(self._settings)
        try:
            places = find_places(group, self._queue, self._qmgr)
            return [QueuePartition(what) for what in plan_ranges(group, places, self._wanted, self._rows)]
        finally:
            group.leave()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from pipeline.arrow_batches import batch, batches

        arrow = to_arrow_schema(self._schema, timezone="UTC")
        if not isinstance(partition, QueuePartition):
            # What Spark makes of no partitions at all.
            yield batch([], arrow)
            return
        assert self._settings.redis_url is not None
        has_data = "data" in self._schema.fieldNames()
        deployment = Deployment(self._settings.redis_url)
        reader = Reader(deployment, self._settings.group, has_data=has_data, wanted=self._wanted)
        try:
            yield from batches(reader.read(partition.what), arrow)
        finally:
            reader.close()


class PushingQueueReader(QueueReader):
    """Has the server look for what the query's filters ask for, as far as it can."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's name
        self._wanted, left = push(filters)
        yield from left


def _chosen(columns: str) -> StructType:
    """The columns that an option names, in the table's order; all of them where it is empty."""
    names = [name.strip() for name in columns.split(",") if name.strip()]
    unknown = [name for name in names if name not in QUEUE.fieldNames()]
    if unknown:
        raise PipelineError(f"columns: there is no {unknown[0]}; allowed: {', '.join(QUEUE.fieldNames())}")
    return StructType([field for field in QUEUE.fields if not names or field.name in names])


def _check_schema(schema: StructType) -> None:
    """A schema may be given to ``spark.read`` instead of the option: some of the table's columns, in any order."""
    types = {field.name: field.dataType for field in QUEUE.fields}
    for field in schema.fields:
        if field.name not in types:
            raise PipelineError(f"schema: there is no column {field.name}; allowed: {', '.join(types)}")
        if field.dataType != types[field.name]:
            raise PipelineError(f"schema: {field.name} is {types[field.name].simpleString()}")


def queue_table(
    spark: SparkSession, settings: Settings, queue: str, qmgr: str = "", *, columns: Sequence[str] = ()
) -> DataFrame:
    """A queue as a table, for the jobs; *columns* in the table's order, none: all."""
    spark.dataSource.register(QueueSource)
    return (
        spark.read.format("igq")
        .options(group=settings.group, url=settings.redis_url, queue=queue, qmgr=qmgr, columns=",".join(columns))
        .load()
    )
