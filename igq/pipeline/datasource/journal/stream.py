"""`format("igq.journal")`, streaming: every event of every structure once, in batches that can be read again.

A batch's offset has the place (``sharedq.reading.journal_reach``) that each structure's journal was read to. A batch
ends with entries that exist already, so a batch that is repeated has the same events. A structure that an offset does
not name is newer, and is read from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from igq.pipeline.datasource.journal.ranges import COMMON_OPTIONS, JournalAccess
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.errors import PipelineError
from sharedq.reading.journal import position_order
from sharedq.reading.journal_reach import (
    BEGINNING,
    Place,
    Reach,
    after,
    check_start,
    check_whole,
    count_to,
    first_place,
    place_before,
    read_reach,
)
from sharedq.redis.deployment import Deployment

OPTIONS = (*COMMON_OPTIONS, "maxEntriesPerTrigger")
#: Entries of a batch, at most.
ENTRIES_PER_TRIGGER = 200_000

#: Structure -> the place it was read to: ``after`` and ``entries``.
Offset = dict[str, dict[str, Any]]


class JournalStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Chooses batches on the driver and reads them in the workers."""

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._journals = JournalAccess(schema, options)
        self._limit = options.number("maxEntriesPerTrigger", ENTRIES_PER_TRIGGER)
        if self._journals.start == "+":
            raise PipelineError("start=+: give a time; a query that is started again would begin at another place")
        #: With the trigger AvailableNow: the ends of the journals when the query began.
        self._ends: dict[str, Place] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        deployment = self._journals.deployment()
        return _offset({name: self._first_place(deployment, name) for name in self._journals.structures(deployment)})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadMaxRows(self._limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._ends = {name: Place(reach.last, reach.added) for name, reach in self._reaches().items() if reach}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 - Spark's name
        deployment = self._journals.deployment()
        reaches = self._reaches(deployment)
        places = {name: self._place(deployment, start, name, reach) for name, reach in reaches.items()}
        ends = {name: Place(reach.last, reach.added) for name, reach in reaches.items() if reach}
        if self._ends is not None:
            ends = {name: end for name, end in self._ends.items() if name in reaches}
        ends = {name: end for name, end in ends.items() if end.entries > places[name].entries}
        if not ends:
            return start
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if most is not None and sum(end.entries - places[name].entries for name, end in ends.items()) > most:
            ends = self._cut(deployment, places, ends, most)
        return start | _offset(places | ends)

    def reportLatestOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """The current ends of the journals, for the query's progress."""
        return _offset({name: Place(reach.last, reach.added) for name, reach in self._reaches().items() if reach})

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        deployment = self._journals.deployment()
        numbers = self._journals.structures(deployment)
        found: list[InputPartition] = []
        for name, place in end.items():
            keys = self._journals.keys(name)
            with deployment.client(keys.journal) as client:
                reach = read_reach(client, keys)
            begin = self._place(deployment, start, name, reach)
            entries = place["entries"] - begin.entries
            if entries > 0:
                number, first = numbers[name], after(begin)
                found += self._journals.partitions(deployment, name, number, first, place["after"], entries)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._journals.read(partition)

    def commit(self, end: Offset) -> None:
        """Do nothing: only the checkpoint keeps the state of the query."""

    def _reaches(self, deployment: Deployment | None = None) -> dict[str, Reach | None]:
        deployment = deployment or self._journals.deployment()
        reaches = {}
        for name in self._journals.structures(deployment):
            keys = self._journals.keys(name)
            with deployment.client(keys.journal) as client:
                reaches[name] = read_reach(client, keys)
        return reaches

    def _first_place(self, deployment: Deployment, name: str) -> Place:
        keys, start = self._journals.keys(name), self._journals.start
        with deployment.client(keys.journal) as client:
            reach = read_reach(client, keys)
            if start == "-":
                return BEGINNING if reach is None else first_place(client, keys, reach)
            if not self._journals.may_miss:
                check_start(keys, reach, start)
            return place_before(client, keys, reach, start)

    def _place(self, deployment: Deployment, start: Offset, name: str, reach: Reach | None) -> Place:
        """The place that a structure was read to, by an offset; a later one if trimmed entries may be missed."""
        known = start.get(name)
        place = Place(known["after"], known["entries"]) if known else BEGINNING
        keys = self._journals.keys(name)
        with deployment.client(keys.journal) as client:
            return check_whole(client, keys, reach, place, may_miss=self._journals.may_miss)

    def _cut(
        self, deployment: Deployment, places: Mapping[str, Place], ends: Mapping[str, Place], most: int
    ) -> dict[str, Place]:
        """Ends for a batch of *most* entries, at one moment: each journal gets a share in proportion to its entries.

        So an event in one structure is not read long before its cause in another.
        """
        left, share = sum(end.entries - places[name].entries for name, end in ends.items()), {}
        for name, end in ends.items():
            waiting = end.entries - places[name].entries
            share[name] = -(-most * waiting // left)
            left, most = left - waiting, most - share[name]
        cuts = {name: self._count(deployment, name, places[name], share[name], end.after) for name, end in ends.items()}
        until_ms = min((_ms(cut) for name, cut in cuts.items() if cut.entries > places[name].entries), default=0)
        return {
            name: cut
            if _ms(cut) <= until_ms
            else self._count(deployment, name, places[name], share[name], str(until_ms))
            for name, cut in cuts.items()
        }

    def _count(self, deployment: Deployment, name: str, place: Place, most: int, until: str) -> Place:
        keys = self._journals.keys(name)
        with deployment.client(keys.journal) as client:
            return count_to(client, keys, place, most, until)


def _ms(place: Place) -> int:
    return position_order(place.after, is_end=False)[0]


def _offset(places: Mapping[str, Place]) -> Offset:
    return {name: place._asdict() for name, place in places.items()}
