"""`format("igq.journal")`, streaming: every event of every structure once, in batches that can be read again.

A batch's offset has the position (``sharedq.reading.journal_reach``) that each structure's journal was read to. A batch
ends with entries that exist already, so a batch that is repeated has the same events. A structure that an offset does
not name is newer, and is read from its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from igq.pipeline.datasource.journal.ranges import COMMON_OPTIONS, JournalAccess
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.errors import PipelineError
from sharedq.reading.journal import JournalError, errors_named, position_order
from sharedq.reading.journal_reach import (
    BEGINNING,
    JournalPosition,
    Reach,
    after,
    check_start,
    check_whole,
    count_to,
    first_position,
    position_before,
    read_reach,
)
from sharedq.redis.outage import is_away

OPTIONS = (*COMMON_OPTIONS, "maxEntriesPerTrigger")
#: Entries of a batch, at most.
ENTRIES_PER_TRIGGER = 200_000

_T = TypeVar("_T")

#: Structure -> the position it was read to: ``after`` and ``entries``.
Offset = dict[str, dict[str, Any]]


class JournalStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Chooses batches on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._journals = JournalAccess(schema, options)
        self._limit = options.number("maxEntriesPerTrigger", ENTRIES_PER_TRIGGER)
        if self._journals.start == "+":
            raise PipelineError("start=+: give a time; a query that is started again would begin at another position")
        #: A first step that fails shows a mistake rather than an outage.
        self._has_begun = False
        #: With the trigger AvailableNow: the ends of the journals when the query began.
        self._ends: dict[str, JournalPosition] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return self._ride_out(
            lambda: _offset({name: self._first_position(name) for name in self._journals.structures()})
        )

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._ends = self._ride_out(lambda: _ends(self._reaches()))

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        # Other limits than ours mean all that there is: for a query of one batch.
        return self._ride_out(lambda: self._latest(start, limit.max_rows if isinstance(limit, ReadMaxRows) else None))

    def _latest(self, start: Offset, most: int | None) -> Offset:
        reaches = self._reaches()
        positions = {name: self._position(start, name, reach) for name, reach in reaches.items()}
        ends = _ends(reaches)
        if self._ends is not None:
            ends = {name: end for name, end in self._ends.items() if name in reaches}
        ends = {name: end for name, end in ends.items() if end.entries > positions[name].entries}
        if not ends:
            return start
        if most is not None and sum(end.entries - positions[name].entries for name, end in ends.items()) > most:
            ends = self._cut(positions, ends, most)
        return start | _offset(positions | ends)

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802 - Spark's name
        """The current ends of the journals, for the query's progress."""
        try:
            return _offset(_ends(self._reaches()))
        except JournalError as error:
            if not is_away(error):
                raise
            # If Redis stays away, the query meets the error in its next step.
            return None

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self._ride_out(lambda: self._partitions(start, end))

    def _partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        numbers = self._journals.structures()
        found: list[InputPartition] = []
        for name, position in end.items():
            keys = self._journals.keys(name)
            begin = self._position(start, name, read_reach(self._journals.client(keys.journal), keys))
            entries = position["entries"] - begin.entries
            if entries > 0:
                found += self._journals.partitions(name, numbers[name], after(begin), position["after"], entries)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._journals.read(partition)

    def commit(self, end: Offset) -> None:
        """Do nothing: only the checkpoint keeps the state of the query."""

    def stop(self) -> None:
        self._journals.close()

    def _ride_out(self, step: Callable[[], _T]) -> _T:
        """Do a step of the driver, and repeat it while Redis is away."""
        if self._has_begun:
            return self._journals.ride_out(step)
        with errors_named():
            found = step()
        self._has_begun = True
        return found

    def _reaches(self) -> dict[str, Reach | None]:
        keys = {name: self._journals.keys(name) for name in self._journals.structures()}
        return {name: read_reach(self._journals.client(each.journal), each) for name, each in keys.items()}

    def _first_position(self, name: str) -> JournalPosition:
        keys, start = self._journals.keys(name), self._journals.start
        client = self._journals.client(keys.journal)
        reach = read_reach(client, keys)
        if start == "-":
            return BEGINNING if reach is None else first_position(client, keys, reach)
        if not self._journals.may_miss:
            check_start(keys, reach, start)
        return position_before(client, keys, reach, start)

    def _position(self, start: Offset, name: str, reach: Reach | None) -> JournalPosition:
        """The position that a structure was read to, by an offset; a later one if trimmed entries may be missed."""
        known = start.get(name)
        position = JournalPosition(known["after"], known["entries"]) if known else BEGINNING
        if reach is not None and position == (reach.last, reach.added):
            # Nothing was added, so nothing is missing.
            return position
        keys = self._journals.keys(name)
        return check_whole(self._journals.client(keys.journal), keys, reach, position, may_miss=self._journals.may_miss)

    def _cut(
        self, positions: Mapping[str, JournalPosition], ends: Mapping[str, JournalPosition], most: int
    ) -> dict[str, JournalPosition]:
        """Ends for a batch of *most* entries, at one moment: each journal gets a share in proportion to its entries.

        So an event in one structure is not read long before its cause in another.
        """
        left, share = sum(end.entries - positions[name].entries for name, end in ends.items()), {}
        for name, end in ends.items():
            waiting = end.entries - positions[name].entries
            share[name] = -(-most * waiting // left)
            left, most = left - waiting, most - share[name]
        cuts = {name: self._count(name, positions[name], share[name], end.after) for name, end in ends.items()}
        until_ms = min((_ms(cut) for name, cut in cuts.items() if cut.entries > positions[name].entries), default=0)
        return {
            name: cut if _ms(cut) <= until_ms else self._count(name, positions[name], share[name], str(until_ms))
            for name, cut in cuts.items()
        }

    def _count(self, name: str, position: JournalPosition, most: int, until: str) -> JournalPosition:
        keys = self._journals.keys(name)
        return count_to(self._journals.client(keys.journal), keys, position, most, until)


def _ends(reaches: Mapping[str, Reach | None]) -> dict[str, JournalPosition]:
    return {name: JournalPosition(reach.last, reach.added) for name, reach in reaches.items() if reach}


def _ms(position: JournalPosition) -> int:
    return position_order(position.after, is_end=False)[0]


def _offset(positions: Mapping[str, JournalPosition]) -> Offset:
    return {name: position._asdict() for name, position in positions.items()}
