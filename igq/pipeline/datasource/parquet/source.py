"""`format("igq.parquet")`: takes messages off a queue into Parquet files, each message once.

    spark.dataSource.register(ParquetSource)
    files = spark.readStream.format("igq.parquet").options(queue="ORDERS", qmgr="QSG1", stream="lake", path="/lake")
    files.load().writeStream.format("igq.parquet").option("checkpointLocation", "/checkpoint").start()

A worker writes the messages of its partition into a file, so they do not cross to Java and back; Spark's row is the
name of the file. The files of a batch lie in a directory that readers of Parquet pass over. The sink moves them from
there into the table when Spark commits the batch.

A file is named after its claims (``igq.pipeline.claims.claims``). A batch that is repeated has the same claims, so its
files replace those of the first try. The claims end after Spark has noted the batch, as those of `format("igq")` do.
"""

from __future__ import annotations

from typing import NoReturn

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, DataSourceStreamWriter
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import PARQUET_FILES


class ParquetSource(DataSource):
    """A queue as Parquet files that a streaming query writes."""

    @classmethod
    def name(cls) -> str:
        return "igq.parquet"

    def schema(self) -> StructType:
        return PARQUET_FILES

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from igq.pipeline.datasource.parquet.stream import PARQUET_OPTIONS, ParquetStreamReader
        from igq.pipeline.datasource.queue.layout import chosen
        from igq.pipeline.datasource.refusals import made_or_refused

        def make() -> DataSourceStreamReader:
            if schema.fieldNames() != PARQUET_FILES.fieldNames():
                raise PipelineError("schema: igq.parquet has its own; the option columns chooses those of the files")
            options = SourceOptions(dict(self.options), PARQUET_OPTIONS)
            return ParquetStreamReader(chosen(options.text("columns"), options.text("properties")), options)

        return made_or_refused(make)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        from igq.pipeline.datasource.parquet.sink import ParquetStreamWriter

        SourceOptions(dict(self.options), ("checkpointLocation",))
        return ParquetStreamWriter(schema, overwrite=overwrite)

    def reader(self, schema: StructType) -> NoReturn:
        del schema
        raise PipelineError("igq.parquet is for streams: read its files by format parquet, and a queue by format igq")

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        del schema, overwrite
        raise PipelineError("igq.parquet is for streams: write a table by format parquet, and to a queue by format igq")
