"""`format("igq")`, streaming: a query that takes messages off a queue, each exactly once.

The reader claims the messages of a batch (``igq.pipeline.claims.claims``) before Spark writes the batch into its
checkpoint; the offset holds the names of the claims. A batch that is repeated reads the same claims. The reader commits
them when Spark asks for the next batch: by then Spark has noted that this one is done. Spark's own ``commit`` comes
later, and for the last batch never: its claims end when the query goes on, or by `igq pipeline release`.

If a batch is full, the next one is claimed while Spark processes it (``igq.pipeline.claims.prefetch``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.worker import end_in_good_order, end_undisturbed, settle
from igq.pipeline.errors import PipelineError
from sharedq.mqi.errors import MQIError
from sharedq.reading.queue import Place, Reader
from sharedq.redis.deployment import Deployment

if TYPE_CHECKING:
    from igq.pipeline.claims.claims import ClaimedUnit, Claims
    from igq.pipeline.claims.prefetch import Ahead

OPTIONS = ("queue", "qmgr", "columns", "stream", "maxMessagesPerTrigger", "rowsPerPartition", "wholeGroups")
#: The most messages in a batch, and in each of its partitions.
MESSAGES_PER_TRIGGER, ROWS_PER_PARTITION = 100_000, 50_000
_NAME_MAX = 40

#: ``batch``: number of batches so far. ``claims``: those of the last batch. ``term``: that in which the query began.
#: ``stream``: its name. ``queue``: the queue. ``owner``: the manager or group that owns the queue. ``group``.
Offset = dict[str, Any]


@dataclass
class UnitsPartition(InputPartition):
    """Claimed units of work and the places of their messages. Each read gives the same messages.

    Attributes:
        xid: external id of the first unit, where it is noted that the partition was read.
    """

    units: list[tuple[Place, str]]
    xid: bytes


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Claims batches on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._schema = schema
        name = options.required("stream", "a name for the query, unique in the group")
        if len(name) > _NAME_MAX or not (name.isascii() and name.isprintable()) or "/" in name:
            raise PipelineError(f"stream={name}: allowed: up to {_NAME_MAX} ASCII characters, no /")
        self._limit = options.number("maxMessagesPerTrigger", MESSAGES_PER_TRIGGER)
        self._rows = options.number("rowsPerPartition", ROWS_PER_PARTITION)
        self._name, self._options = name, options
        self._queue = options.required("queue", "the name of the queue to read")
        options.required("qmgr", "the manager that messages are claimed at")
        self._whole_groups = options.flag("wholeGroups", default=False)
        settings = options.settings()
        self._group, self._url = settings.group, str(settings.redis_url)
        self._qmgr = options.manager(self._group)
        #: With the trigger AvailableNow: messages that were there at its beginning and are not claimed yet.
        self._left: int | None = None
        self._has_claimed = False

    # Only the driver claims. A worker would need longer to import the modules for that than to read.

    @cached_property
    def _claims(self) -> Claims:
        from igq.pipeline.claims.claims import Claims

        settings = self._options.settings()
        return Claims(settings, self._queue, self._qmgr, self._name, self._rows, self._whole_groups)

    @cached_property
    def _ahead(self) -> Ahead:
        from igq.pipeline.claims.prefetch import Ahead

        return Ahead(self._claims)

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {"batch": 0, "claims": "", "term": self._claims.term(), **self._identity}

    @cached_property
    def _identity(self) -> dict[str, str]:
        """The group, queue and stream of a query. It can continue at another manager that has the same queue."""
        owner = self._claims.owner()
        return {"group": self._group, "stream": self._name, "queue": self._queue, "owner": owner}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        # Wait for the recovery of a dead driver first: messages that it was about to claim go back to the queue.
        self._claims.hold()
        self._left = self._claims.depth()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        self._hold(start)
        done, term = start["claims"], start["term"]
        limit_rows = limit.max_rows if isinstance(limit, ReadMaxRows) else self._limit
        ahead = self._ahead.take(done, self._at_most(limit_rows))
        if ahead is None:
            self._claims.finish(done)
            self._give_back(done)
        count = self._at_most(limit_rows)
        if ahead is None:
            claimed = self._claims.claim(count, term)
        elif ahead.messages < count:
            claimed = self._claims.claim(count - ahead.messages, term, after=ahead)
        else:
            claimed = ahead
        ending = self._claims.decide(done) if ahead else None
        if self._left is not None:
            self._left -= count
        if not claimed.messages:
            return start
        # A full batch means that there are more messages. Redis has time to claim them while Spark is at work.
        following = self._at_most(limit_rows) if claimed.messages >= count else 0
        self._ahead.begin(claimed.name, ending, following, term)
        return start | {"batch": start["batch"] + 1, "claims": claimed.name}

    def reportLatestOffset(self) -> dict[str, int] | None:  # noqa: N802 - Spark's name
        """The number of waiting messages, for the query's progress."""
        try:
            return {"depth": self._claims.depth()}
        except MQIError:
            # If the error lasts, the query meets it in its next step.
            return None

    def _give_back(self, done: str) -> None:
        """Give back messages that a driver claimed and died before Spark noted them, or that this one cannot use."""
        messages = self._claims.give_back(but=done)
        if self._left is not None and not self._has_claimed:
            # They count as there at the query's beginning, though they were not on the queue.
            self._left += messages
        self._has_claimed = True

    def _at_most(self, count: int) -> int:
        return count if self._left is None else min(count, self._left)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        if start == end:
            return []
        self._hold(end)
        parts = _parts(self._claims.units(end["claims"]), self._rows)
        return [UnitsPartition([(unit.place, unit.id) for unit in units], units[0].xid) for units in parts]

    def _hold(self, offset: Offset) -> None:
        for name, own in self._identity.items():
            if offset.get(name, own) != own:
                what = "a queue of" if name == "owner" else name
                raise PipelineError(f"stream {self._name}: the checkpoint is of {what} {offset[name]}, not of {own}")
        # Otherwise Spark would never call `stop`.
        end_in_good_order(self.stop)
        self._claims.hold()
        self._claims.check_term(offset["term"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Import it here: the driver's process only claims.
        from igq.pipeline.datasource.queue.arrow_batches import batches

        settle()
        assert isinstance(partition, UnitsPartition)
        has_data = "data" in self._schema.fieldNames()
        reader = Reader(Deployment(self._url), self._group, has_data=has_data)
        try:
            reader.note_read(self._group, partition.xid)
            found = (reader.read_unit(*unit) for unit in partition.units)
            yield from batches(chain.from_iterable(found), to_arrow_schema(self._schema, timezone="UTC"))
        finally:
            reader.close()

    def commit(self, end: Offset) -> None:
        """Do nothing: the claims up to *end* were decided when Spark asked for the next batch."""

    def stop(self) -> None:
        # It may be called again after an interruption: see end_in_good_order.
        end_undisturbed()
        try:
            self._ahead.end()
        finally:
            self._claims.let_go()


def _parts(units: Sequence[ClaimedUnit], rows: int) -> Iterator[list[ClaimedUnit]]:
    """Group units that follow each other: at most *rows* messages, or one unit with more."""
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
