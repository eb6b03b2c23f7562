"""A Spark source that reads next to nothing: the best result that a line about another source could reach.

It has the columns of the journal and its first batch, which it hands over again and again, so that all but what Spark
itself does with each row is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from igq.pipeline.datasource.journal.source import OPTIONS, JournalReader
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.schemas import JOURNAL


class RepeatedJournalSource(DataSource):
    """The journal's first batch, over and over. Options: those of the journal, ``rows`` and ``partitions``."""

    @classmethod
    def name(cls) -> str:
        return "repeated"

    def schema(self) -> StructType:
        return JOURNAL

    def reader(self, schema: StructType) -> DataSourceReader:
        options = dict(self.options)
        partitions, rows = int(options.pop("partitions")), int(options.pop("rows"))
        return _Reader(JournalReader(schema, SourceOptions(options, OPTIONS)), partitions, rows // partitions)


class _Reader(DataSourceReader):
    def __init__(self, journal: JournalReader, partitions: int, rows: int) -> None:
        self._journal, self._rows = journal, rows
        self._partitions = partitions

    def partitions(self) -> Sequence[InputPartition]:
        first = next(part for part in self._journal.partitions() if getattr(part, "structure", "") == "APPL1")
        return [first] * self._partitions

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batch = next(iter(self._journal.read(partition)))
        left = self._rows
        while left > 0:
            yield batch.slice(0, min(left, batch.num_rows))
            left -= batch.num_rows
