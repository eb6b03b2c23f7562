"""Ranges of a structure's journal as partitions of a query: planned on the driver, read in the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.worker import settle
from igq.pipeline.errors import PipelineError
from sharedq.reading.journal import (
    JournalEntry,
    JournalError,
    errors_named,
    parse_position,
    read_entries,
    split,
    structure_numbers_at,
)
from sharedq.reading.journal_reach import first_from
from sharedq.redis.deployment import Deployment
from sharedq.redis.keys import StructureKeys, admin_keys, structure_keys
from sharedq.redis.outage import ride_out

#: Options of the batch and of the stream.
COMMON_OPTIONS = ("structures", "start", "startingTimestamp", "entriesPerPartition", "failOnDataLoss", "outage_s")
#: About how many entries a partition has, if events come evenly in time.
ENTRIES_PER_PARTITION = 50_000

_T = TypeVar("_T")


@dataclass
class JournalPartition(InputPartition):
    """A range of stream ids of one structure, which begins with an entry. Every read gives the same entries.

    Attributes:
        may_shrink: it begins with the oldest entry of a journal that is being trimmed. Entries that are trimmed before
            it is read do not count as part of it.
    """

    structure: str
    number: int
    start: str
    end: str
    may_shrink: bool = False


class JournalAccess:
    """The journals that the options of a query choose.

    Raises:
        PipelineError, JournalError: an option cannot be used.
    """

    def __init__(self, schema: StructType, options: SourceOptions) -> None:
        self._schema = schema
        self.group, self.url = options.text("group"), options.text("url")
        if not (self.group and self.url):
            settings = options.settings()
            self.group, self.url = settings.group, str(settings.redis_url)
        self._names = {name.strip() for name in options.text("structures").split(",") if name.strip()}
        self.start = place_of(options, "start", "startingTimestamp", "-")
        self.per_partition = options.number("entriesPerPartition", ENTRIES_PER_PARTITION)
        self.may_miss = not options.flag("failOnDataLoss", default=True)
        self.outage_s = options.outage_s()
        self._deployment: Deployment | None = None
        self._clients: dict[str, Any] = {}

    def client(self, key: str) -> Any:
        """The kept client of the server that holds *key*. Raises an error of Redis: the server is not known."""
        if self._deployment is None:
            self._deployment = Deployment(self.url)
        if key not in self._clients:
            self._clients[key] = self._deployment.client(key)
        return self._clients[key]

    def ride_out(self, step: Callable[[], _T]) -> _T:
        """Do a step that may be repeated, and repeat it while Redis is away."""

        def named() -> _T:
            with errors_named():
                return step()

        return ride_out(self.outage_s, named, self.close, what="journal")

    def close(self) -> None:
        """Close the connections, and forget the servers. The next question finds both anew.

        Spark copies a reader to its workers. Connections, and the locks of a deployment, cannot be copied.
        """
        clients, self._clients, self._deployment = self._clients, {}, None
        for client in clients.values():
            client.close()

    def keys(self, structure: str) -> StructureKeys:
        """A structure's keys."""
        return structure_keys(self.group, structure)

    def structures(self) -> dict[str, int]:
        """The structures to read, with their numbers. Raises JournalError: one does not exist."""
        numbers = structure_numbers_at(self.client(admin_keys(self.group).structures), self.group)
        unknown = self._names - set(numbers)
        if unknown:
            raise JournalError(f"group {self.group} has no structure {', '.join(sorted(unknown))}")
        return {name: number for name, number in numbers.items() if not self._names or name in self._names}

    def partitions(self, structure: str, number: int, start: str, end: str, entries: int) -> list[JournalPartition]:
        """Partitions that together hold the range from *start* to *end*, about *entries* entries."""
        keys = self.keys(structure)
        client = self.client(keys.journal)
        # Each begins with an entry. If that entry exists when the partition is read, nothing of it was trimmed.
        found = [
            (first_from(client, keys, first, last), last)
            for first, last in split(start, end, parts=max(1, -(-entries // self.per_partition)))
        ]
        return [JournalPartition(structure, number, first, last) for first, last in found if first is not None]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A partition's rows."""
        settle()
        if isinstance(partition, JournalPartition):
            yield from self.rows(self.entries(partition), partition)
        else:
            # If there are no partitions, Spark makes one of its own.
            yield from self.rows((), JournalPartition("", 0, "", ""))

    def entries(self, partition: JournalPartition) -> Iterator[JournalEntry]:
        """A partition's entries, as they are stored."""
        keys = self.keys(partition.structure)

        def connect() -> Any:
            self.close()
            return self.client(keys.journal)

        try:
            yield from read_entries(
                self.ride_out(lambda: self.client(keys.journal)),
                keys,
                partition.start,
                partition.end,
                is_first_there=not partition.may_shrink,
                may_miss=self.may_miss,
                outage_s=self.outage_s,
                reconnect=connect,
            )
        finally:
            self.close()

    def rows(self, entries: Iterable[JournalEntry], partition: JournalPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition's *entries*."""
        # Import it here: the driver's processes only plan.
        from igq.pipeline.datasource.journal.columns import journal_batches

        arrow = to_arrow_schema(self._schema, timezone="UTC")
        return journal_batches(entries, partition.structure, partition.number, arrow)


def place_of(options: SourceOptions, name: str, timestamp: str, default: str) -> str:
    """An option that is a place in the journal. *timestamp* is its name in Spark's source for Kafka.

    Raises:
        JournalError: it is not one.
        PipelineError: it is given under both names.
    """
    if options.text(name) and options.text(timestamp):
        raise PipelineError(f"{name} and {timestamp}: allowed: one of them")
    try:
        return parse_position(options.text(name) or options.text(timestamp) or default)
    except ValueError as error:
        raise JournalError(str(error)) from None
