"""`format("igq.journal")`: the message journal of a group as a table, and as a stream
(``igq.pipeline.datasource.journal.stream``).

    spark.dataSource.register(JournalSource)
    spark.read.format("igq.journal").option("url", "redis://127.0.0.1:6379").option("group", "QSG1").load()

Options: ``group`` and ``url`` (default: the settings), ``structures`` (comma-separated, default all),
``start`` and, of a table, ``end`` (both included; a stream id, milliseconds since 1970 or an ISO 8601 time; other names
are ``startingTimestamp`` and ``endingTimestamp``),
``entriesPerPartition``, ``failOnDataLoss`` (false: go on from the oldest event where *start* was trimmed away), and, of
a table that is read from its beginning, ``_trimmed`` (JSON: how many entries each structure's journal had lost when
somebody was told: one that had lost some may go on to lose its oldest, one that had lost none may not).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.datasource.journal import stream as journal_stream
from igq.pipeline.datasource.journal.ranges import COMMON_OPTIONS, JournalAccess, JournalPartition, place_of
from igq.pipeline.datasource.journal.stream import JournalStreamReader
from igq.pipeline.datasource.options import SourceOptions, check_chosen
from igq.pipeline.engine.choice import is_duckdb
from igq.pipeline.errors import PipelineError, why_a_job_ends
from igq.pipeline.schemas import JOURNAL
from sharedq.reading.journal import JournalTrimmedError, check_order, clip, errors_named, position_order, read_extent
from sharedq.reading.journal_reach import Reach, check_start, read_reach, read_reaches
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import StructureKeys

OPTIONS = (*COMMON_OPTIONS, "end", "endingTimestamp", "_trimmed")


class JournalSource(DataSource):
    """The journal as a Spark data source."""

    @classmethod
    def name(cls) -> str:
        return "igq.journal"

    def schema(self) -> StructType:
        return JOURNAL

    def reader(self, schema: StructType) -> DataSourceReader:
        check_chosen(schema, JOURNAL)
        return JournalReader(schema, SourceOptions(self.options, OPTIONS))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from igq.pipeline.datasource.refusals import made_or_refused

        def make() -> DataSourceStreamReader:
            check_chosen(schema, JOURNAL)
            return JournalStreamReader(schema, SourceOptions(self.options, journal_stream.OPTIONS))

        return made_or_refused(make)


class JournalReader(DataSourceReader):
    """Plans ranges on the driver and reads them in the workers.

    Attributes:
        journals: what is read, and how.
    """

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self.journals = JournalAccess(schema, options)
        self._end = place_of(options, "end", "endingTimestamp", "+")
        self._trimmed: dict[str, int] = json.loads(options.text("_trimmed", "{}"))
        check_order(self.journals.start, self._end)

    def partitions(self) -> Sequence[InputPartition]:
        try:
            with errors_named():
                return self._partitions()
        finally:
            self.journals.close()

    def _partitions(self) -> Sequence[InputPartition]:
        journals = self.journals
        found: list[JournalPartition] = []
        for name, number in journals.structures().items():
            keys = journals.keys(name)
            client = journals.client(keys.journal)
            if not journals.may_miss:
                self._check_start(keys, read_reach(client, keys))
            extent = read_extent(client, keys)
            clipped = extent and clip(extent, journals.start, self._end)
            if extent and clipped:
                ranges = journals.partitions(name, number, *clipped, extent.entries)
                for oldest in ranges[:1]:
                    oldest.may_shrink = journals.start == "-" and self._trimmed.get(name, 0) > 0
                found += ranges
        # Read ranges that may shrink first.
        return sorted(found, key=lambda each: not each.may_shrink)

    def _check_start(self, keys: StructureKeys, reach: Reach | None) -> None:
        """Raises JournalTrimmedError: some entries from *start* on are gone."""
        if self.journals.start != "-":
            check_start(keys, reach, self.journals.start)
        elif reach and reach.trimmed and self._trimmed.get(keys.name) == 0:
            raise JournalTrimmedError(
                f"the journal of {keys.name} was trimmed before it could be read from its beginning; read it again, or"
                " begin later"
            )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.journals.read(partition)


@dataclass(frozen=True, slots=True)
class JournalPart:
    """The journal to read, from *start* to *end*, both included: a group's at a Redis URL, or a stored one.

    Attributes:
        reaches: the extent of each journal, as it was shown to the user; None: read it when the table is made.
    """

    group: str
    url: str
    start: str = "-"
    end: str = "+"
    stored: Path | None = None
    reaches: Mapping[str, Reach] | None = None

    def read(self, spark: SparkSession, start: str | None = None, end: str | None = None) -> DataFrame:
        """The events as a table."""
        start, end = start or self.start, end or self.end
        if self.stored:
            return stored_journal(spark, self.stored, start, end)
        options = {"group": self.group, "url": self.url, "start": start, "end": end}
        if start == "-":
            # Spark plans later. Tell it what is trimmed now, so that it notices a journal that is trimmed by then.
            reaches = read_reaches(Deployment(self.url), self.group) if self.reaches is None else self.reaches
            options["_trimmed"] = json.dumps({name: reach.trimmed for name, reach in reaches.items()})
        if is_duckdb():
            return _in_this_process(spark, options)
        spark.dataSource.register(JournalSource)
        return spark.read.format("igq.journal").options(**options).load()


def _in_this_process(session: SparkSession, options: dict[str, str]) -> DataFrame:
    """The events as a table of DuckDB."""
    from igq.pipeline.engine.duckdb_tables import of_batches

    reader = JournalReader(JOURNAL, SourceOptions(options, OPTIONS))
    batches = (batch for partition in reader.partitions() for batch in reader.read(partition))
    table: DataFrame = of_batches(session, batches, to_arrow_schema(JOURNAL, timezone="UTC"))
    return table


def stored_journal(spark: SparkSession, directory: Path, start: str, end: str) -> DataFrame:
    """The events of a journal that was stored as Parquet, from *start* to *end*, both included.

    Raises:
        PipelineError: the directory holds no stored journal, or it cannot be read.
    """
    if not directory.is_dir():
        raise PipelineError(f"input {directory}: no such directory")
    try:
        table = spark.read.parquet(str(directory))
    except AnalysisException:
        raise PipelineError(f"input {directory}: holds no Parquet files") from None
    except (PySparkException, Py4JError) as error:
        raise PipelineError(f"input {directory}: {why_a_job_ends(error)}") from error
    if "chosen" not in table.columns:
        # The journal was stored before it had these columns. Then only the order on private queues can be judged.
        is_shared = ~F.startswith("structure", F.lit("@")) if "structure" in table.columns else F.lit(False)
        table = table.withColumns({"dead_letter": F.lit(False), "chosen": is_shared})
    if "logical" not in table.columns:
        table = table.withColumn("logical", F.lit(False))
    missing = set(JOURNAL.fieldNames()) - set(table.columns)
    if missing:
        raise PipelineError(f"input {directory}: is no journal, it has no column {min(missing)}")
    for name, kind in ((field.name, field.dataType) for field in JOURNAL.fields):
        found = table.schema[name].dataType
        if found != kind:
            what = f"its column {name} is {found.simpleString()}, not {kind.simpleString()}"
            raise PipelineError(f"input {directory}: is no journal, {what}")
    place = [F.split_part("stream_id", F.lit("-"), F.lit(part)).cast("decimal(20)") for part in (1, 2)]
    first, last = position_order(start, is_end=False), position_order(end, is_end=True)
    after = (place[0] > first[0]) | ((place[0] == first[0]) & (place[1] >= F.lit(first[1]).cast("decimal(20)")))
    before = (place[0] < last[0]) | ((place[0] == last[0]) & (place[1] <= F.lit(str(last[1])).cast("decimal(20)")))
    return table.select(*JOURNAL.fieldNames()).where(after & before)
