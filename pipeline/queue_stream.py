"""`format("igq")`, streaming: a query that takes messages off a queue, each exactly once.

What a batch holds is claimed (``pipeline.claims``) before Spark writes the batch into its checkpoint, by names that
stand in the offset. A batch that is tried again reads the same claims. They are committed when Spark asks for what
comes behind them: by then it has noted that the batch is done. Spark's own ``commit`` comes later, or never for the
last batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from pipeline.arrow_batches import batches
from pipeline.claims import ClaimedUnit, Claims
from pipeline.errors import PipelineError
from pipeline.settling import settle
from pipeline.source_options import SourceOptions
from sharedq.deployment import Deployment
from sharedq.reading import Reader

OPTIONS = ("queue", "qmgr", "columns", "stream", "maxMessagesPerTrigger", "rowsPerPartition", "wholeGroups")
#: Messages in a batch, at most, and in each of its partitions.
MESSAGES_PER_TRIGGER, ROWS_PER_PARTITION = 100_000, 10_000
_NAME_MAX = 40

#: ``batch``: how many batches there were. ``claims``: of the last one. ``term``: in which the query began.
Offset = dict[str, Any]


@dataclass
class UnitsPartition(InputPartition):
    """Claimed units of work: it holds the same messages however often it is read."""

    units: list[ClaimedUnit]


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Claims batches on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._schema = schema
        name = options.required("stream", "a name for the query, unique in the group")
        if len(name) > _NAME_MAX or not (name.isascii() and name.isprintable()) or "/" in name:
            raise PipelineError(f"stream={name}: allowed: up to {_NAME_MAX} ASCII characters, no /")
        self._limit = options.number("maxMessagesPerTrigger", MESSAGES_PER_TRIGGER)
        self._rows = options.number("rowsPerPartition", ROWS_PER_PARTITION)
        self._settings = options.settings()
        self._claims = Claims(
            self._settings,
            options.required("queue", "the name of the queue to read"),
            options.required("qmgr", "the manager that messages are claimed at, always the same one"),
            name,
            self._rows,
            options.flag("wholeGroups", default=False),
        )
        #: With the trigger AvailableNow: what was there when it began, and is not claimed yet.
        self._left: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {"batch": 0, "claims": "", "term": self._claims.term()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._left = self._claims.depth()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        self._hold(start)
        self._claims.finish(start["claims"])
        # Claimed by a driver that died before Spark had written it down.
        self._claims.give_back(but=start["claims"])
        count = limit.max_rows if isinstance(limit, ReadMaxRows) else self._limit
        if self._left is not None:
            count = min(count, self._left)
            self._left -= count
        claims = self._claims.claim(count, start["term"])
        return start | {"batch": start["batch"] + 1, "claims": claims} if claims else start

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start == end:
            return []
        self._hold(end)
        return [UnitsPartition(units) for units in _parts(self._claims.units(end["claims"]), self._rows)]

    def _hold(self, offset: Offset) -> None:
        self._claims.hold()
        self._claims.check_term(offset["term"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        settle()
        assert isinstance(partition, UnitsPartition)
        assert self._settings.redis_url is not None
        has_data = "data" in self._schema.fieldNames()
        reader = Reader(Deployment(self._settings.redis_url), self._settings.group, has_data=has_data)
        try:
            found = (reader.read_unit(unit.place, unit.id) for unit in partition.units)
            yield from batches(chain.from_iterable(found), to_arrow_schema(self._schema, timezone="UTC"))
        finally:
            reader.close()

    def commit(self, end: Offset) -> None:
        self._claims.finish(end["claims"])

    def stop(self) -> None:
        self._claims.let_go()


def _parts(units: Sequence[ClaimedUnit], rows: int) -> Iterator[list[ClaimedUnit]]:
    """Units that follow each other: of *rows* messages at most, or one that has more."""
    part: list[ClaimedUnit] = []
    held = 0
    for unit in units:
        if part and held + unit.messages > rows:
            yield part
            part, held = [], 0
        part.append(unit)
        held += unit.messages
    if part:
        yield part
