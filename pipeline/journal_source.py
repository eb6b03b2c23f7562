"""`format("igq.journal")`: the message journal of a group as a table (batch).

    spark.dataSource.register(JournalSource)
    spark.read.format("igq.journal").option("url", "redis://127.0.0.1:6379").option("group", "QSG1").load()

Options: ``group`` and ``url`` (default: the settings), ``structures`` (comma-separated, default all),
``start`` and ``end`` (both included; a stream id, milliseconds since 1970 or an ISO 8601 time) and
``entriesPerPartition``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pipeline.errors import PipelineError
from pipeline.schemas import JOURNAL
from sharedq.deployment import Deployment
from sharedq.journal import (
    JournalError,
    JournalRow,
    clip,
    expand,
    parse_position,
    position_order,
    read_entries,
    read_extent,
    split,
    structure_numbers,
)
from sharedq.keys import structure_keys

#: Rows handed to Spark at a time.
BATCH_ROWS = 20_000
#: Entries in a partition, about, where events come evenly in time.
ENTRIES_PER_PARTITION = 50_000


@dataclass
class JournalPartition(InputPartition):
    """A range of stream ids of one structure. It holds the same entries however often it is read."""

    structure: str
    number: int
    start: str
    end: str


class JournalSource(DataSource):
    """The journal as a Spark data source."""

    @classmethod
    def name(cls) -> str:
        return "igq.journal"

    def schema(self) -> StructType:
        return JOURNAL

    def reader(self, schema: StructType) -> DataSourceReader:
        return JournalReader(schema, dict(self.options))


class JournalReader(DataSourceReader):
    """Plans ranges on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: dict[str, str]) -> None:
        # Spark may hand option names over in lower case.
        options = {name.lower(): value for name, value in options.items()}
        self._schema = schema
        self._group, self._url = options.get("group", ""), options.get("url", "")
        if not (self._group and self._url):
            self._complete_from_settings()
        names = options.get("structures", "")
        self._structures = {name.strip() for name in names.split(",") if name.strip()}
        try:
            self._start = parse_position(options.get("start", "-"))
            self._end = parse_position(options.get("end", "+"))
            self._entries = int(options.get("entriesperpartition", ENTRIES_PER_PARTITION))
        except ValueError as error:
            raise JournalError(str(error)) from None
        if self._entries < 1:
            raise JournalError(f"entriesPerPartition={self._entries}: allowed: 1 or more")

    def partitions(self) -> Sequence[InputPartition]:
        deployment = Deployment(self._url)
        numbers = structure_numbers(deployment, self._group)
        unknown = self._structures - set(numbers)
        if unknown:
            raise JournalError(f"group {self._group} has no structure {', '.join(sorted(unknown))}")
        return [
            JournalPartition(name, number, start, end)
            for name, number in numbers.items()
            if not self._structures or name in self._structures
            for start, end in self._ranges(deployment, name)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        arrow = to_arrow_schema(self._schema, timezone="UTC")
        if not isinstance(partition, JournalPartition):
            # What Spark makes of no partitions at all.
            yield _batch([], arrow)
            return
        keys = structure_keys(self._group, partition.structure)
        rows: list[JournalRow] = []
        with Deployment(self._url).client(keys.journal) as client:
            for entry in read_entries(client, keys, partition.start, partition.end):
                rows.extend(expand(entry, partition.structure, partition.number))
                if len(rows) >= BATCH_ROWS:
                    yield _batch(rows, arrow)
                    rows = []
        yield _batch(rows, arrow)

    def _complete_from_settings(self) -> None:
        # Imported in every worker otherwise, and most are told what they need.
        from config import load_settings

        settings = load_settings()
        self._group = self._group or settings.group
        self._url = self._url or settings.redis_url or ""
        if not self._url:
            raise JournalError("where is Redis? Give the option url, or set IGQ_REDIS_URL")

    def _ranges(self, deployment: Deployment, name: str) -> list[tuple[str, str]]:
        keys = structure_keys(self._group, name)
        with deployment.client(keys.journal) as client:
            extent = read_extent(client, keys)
        clipped = extent and clip(extent, self._start, self._end)
        if not extent or not clipped:
            return []
        return split(*clipped, parts=-(-extent.entries // self._entries))


def _batch(rows: list[JournalRow], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    order = [JournalRow._fields.index("time_us" if name == "time" else name) for name in schema.names]
    arrays = [pa.array(columns[at], type=field.type) for at, field in zip(order, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(frozen=True, slots=True)
class JournalPart:
    """Which journal to read: a group at a Redis URL, from *start* to *end*, both included."""

    group: str
    url: str
    start: str = "-"
    end: str = "+"

    def read(self, spark: SparkSession, start: str | None = None, end: str | None = None) -> DataFrame:
        """The events as a table."""
        spark.dataSource.register(JournalSource)
        return (
            spark.read.format("igq.journal")
            .options(group=self.group, url=self.url, start=start or self.start, end=end or self.end)
            .load()
        )


def stored_journal(spark: SparkSession, directory: Path, start: str, end: str) -> DataFrame:
    """The events of a journal that was stored as Parquet, from *start* to *end*, both included.

    Raises:
        PipelineError: it is no stored journal.
    """
    if not directory.is_dir():
        raise PipelineError(f"input {directory}: no such directory")
    try:
        table = spark.read.parquet(str(directory))
    except AnalysisException:
        raise PipelineError(f"input {directory}: holds no Parquet files") from None
    missing = set(JOURNAL.fieldNames()) - set(table.columns)
    if missing:
        raise PipelineError(f"input {directory}: is no journal, it has no column {min(missing)}")
    place = [F.split_part("stream_id", F.lit("-"), F.lit(part)).cast("decimal(20)") for part in (1, 2)]
    first, last = position_order(start, is_end=False), position_order(end, is_end=True)
    after = (place[0] > first[0]) | ((place[0] == first[0]) & (place[1] >= F.lit(first[1]).cast("decimal(20)")))
    before = (place[0] < last[0]) | ((place[0] == last[0]) & (place[1] <= F.lit(str(last[1])).cast("decimal(20)")))
    return table.select(*JOURNAL.fieldNames()).where(after & before)
