"""`format("igq")`: reads the messages of a queue as a table and leaves them there; writes rows as messages.

    spark.dataSource.register(QueueSource)
    spark.read.format("igq").option("queue", "ORDERS").option("columns", "msg_id, priority, length").load()

The modules ``reader`` and ``stream`` read; ``sink`` writes.
docs/reference/data-sources.md describes the options.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions, check_chosen
from igq.pipeline.schemas import QUEUE_AND_PROPERTIES

if TYPE_CHECKING:
    from sharedq.settings.values import Settings


_FILTERS_PROGRAM = "pyspark.sql.worker.data_source_pushdown_filters"


class QueueSource(DataSource):
    """Queues as a Spark data source."""

    @classmethod
    def name(cls) -> str:
        return "igq"

    def schema(self) -> StructType:
        from igq.pipeline.datasource.queue.layout import chosen

        options = dict(self.options)
        return chosen(options.get("columns", ""), options.get("properties", ""))

    # Spark starts a process for each question to a source, so each method imports only what it needs.

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from igq.pipeline.datasource.queue.sink import OPTIONS, QueueWriter

        return QueueWriter(schema, SourceOptions(dict(self.options), OPTIONS), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from igq.pipeline.datasource.queue.sink import OPTIONS, QueueStreamWriter

        options = SourceOptions(dict(self.options), (*OPTIONS, "checkpointLocation"))
        return QueueStreamWriter(schema, options, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from igq.pipeline.datasource.queue.stream import OPTIONS, QueueStreamReader
        from igq.pipeline.datasource.refusals import made_or_refused

        def make() -> DataSourceStreamReader:
            check_chosen(schema, QUEUE_AND_PROPERTIES)
            return QueueStreamReader(schema, SourceOptions(dict(self.options), OPTIONS))

        return made_or_refused(make)

    def reader(self, schema: StructType) -> DataSourceReader:
        from igq.pipeline.datasource.queue.reader import OPTIONS, PushingQueueReader, QueueReader

        check_chosen(schema, QUEUE_AND_PROPERTIES)
        options = SourceOptions(dict(self.options), OPTIONS)
        kind = PushingQueueReader if options.flag("pushFilters", default=_has_filters()) else QueueReader
        return kind(schema, options)


def _has_filters() -> bool:
    """Whether Spark asks for a reader that takes filters: its program for filters runs this process.

    Spark refuses such a reader while ``spark.sql.python.filterPushdown.enabled`` is off.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _FILTERS_PROGRAM in sys.modules or getattr(main, "name", "") == _FILTERS_PROGRAM


def queue_table(
    spark: SparkSession, settings: Settings, queue: str, qmgr: str = "", *, columns: Sequence[str] = ()
) -> DataFrame:
    """A queue as a table, for the jobs. *columns*: in the table's order; empty for all."""
    spark.dataSource.register(QueueSource)
    return (
        spark.read.format("igq")
        .options(
            group=settings.group, url=settings.redis_url, queue=queue, qmgr=qmgr, columns=",".join(columns) or "all"
        )
        .load()
    )
