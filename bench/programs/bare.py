"""Bare Python readers and writers, two processes beside Spark's two partitions: the same calls, the same Arrow batches.

A reader requests the next slice while it makes a batch of the last one, as a pipelining client does.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from bench.harness import BODY
from igq.pipeline.datasource.journal.source import JournalReader
from igq.pipeline.datasource.queue.arrow_batches import batches
from igq.pipeline.datasource.queue.reader import QueuePartition
from igq.pipeline.schemas import QUEUE
from sharedq.api import Queue, connect
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.reading.queue import Reader
from sharedq.redis.deployment import Deployment
from sharedq.settings.values import Settings

PROCESSES = 2
#: Messages in a unit of work of a bare writer.
UNIT = 50
#: Messages in a unit of work of the one that writes Parquet, and what it keeps of each beside the data.
UNIT_ARCHIVED = 10_000
ARCHIVED = ("msg_id", "correl_id", "put_date", "put_time", "priority", "persistence", "format")
#: The most slices that a reader has fetched and not made into batches.
_AHEAD = 8

_T = TypeVar("_T")


class Processes:
    """Two processes that wait for work, their modules imported."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn"))

    def browse(self, settings: Settings, partitions: Sequence[InputPartition]) -> int:
        """Read the partitions of a queue, half of them each. Returns the number of rows."""
        return self._rows([self._pool.submit(_browse, settings, list(partitions[at::2])) for at in range(PROCESSES)])

    def journal(self, reader: JournalReader, partitions: Sequence[InputPartition]) -> int:
        """Read the partitions of a journal, half of them each. Returns the number of rows."""
        return self._rows([self._pool.submit(_journal, reader, list(partitions[at::2])) for at in range(PROCESSES)])

    def put(self, settings: Settings, queue_name: str, count: int) -> int:
        """Put *count* messages in units of work, half of them each."""
        return self._rows([self._pool.submit(_put, settings, queue_name, count // PROCESSES) for _ in range(PROCESSES)])

    def archive(self, settings: Settings, queue_name: str, directory: Path) -> int:
        """Move a queue's messages into Parquet files, by one process. Returns the number of messages."""
        return self._pool.submit(_archive, settings, queue_name, directory).result()

    def _rows(self, results: Sequence[Future[int]]) -> int:
        return sum(result.result() for result in results)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown()


def _browse(settings: Settings, partitions: Sequence[InputPartition]) -> int:
    reader = Reader(Deployment(str(settings.redis_url)), settings.group)
    schema, rows = to_arrow_schema(QUEUE, timezone="UTC"), 0
    try:
        for partition in partitions:
            assert isinstance(partition, QueuePartition)
            rows += sum(batch.num_rows for batch in batches(_ahead(reader.read(partition.what)), schema))
    finally:
        reader.close()
    return rows


def _journal(reader: JournalReader, partitions: Sequence[InputPartition]) -> int:
    # Entries handed from a thread to the one that makes batches of them are no faster where an entry has a hundred
    # events, and half as fast where it has one: both threads are Python's then.
    return sum(batch.num_rows for partition in partitions for batch in _ahead(reader.read(partition)))


def _put(settings: Settings, queue_name: str, count: int) -> int:
    options = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    with connect("QM1", settings=settings) as connection:
        target = connection.open(queue_name, OpenOption.OUTPUT)
        for _ in range(0, count, UNIT):
            target.put_many([(MQMD(persistence=1), BODY) for _ in range(UNIT)], options=options)
            connection.commit()
    return count


def _archive(settings: Settings, queue_name: str, directory: Path) -> int:
    directory.mkdir()
    taken = 0
    with connect("QM1", settings=settings) as connection:
        source = connection.open(queue_name, OpenOption.INPUT_SHARED)
        while messages := _unit(source):
            descriptors = [message.md for message in messages]
            columns = {name: [getattr(md, name) for md in descriptors] for name in ARCHIVED}
            table = pa.table(columns | {"data": [message.body for message in messages]})
            parquet.write_table(table, directory / f"{taken:09}.parquet")
            connection.commit()
            taken += len(messages)
    return taken


def _unit(source: Queue) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < UNIT_ARCHIVED:
        try:
            messages += source.get_many(100, GetOption.SYNCPOINT)
        except NoMsgAvailable:
            break
    return messages


def _ahead(values: Iterator[_T]) -> Iterator[_T]:
    """The values, fetched by a separate thread in advance."""
    fetched: queue.Queue[_T | None] = queue.Queue(_AHEAD)

    def fetch() -> None:
        for value in values:
            fetched.put(value)
        fetched.put(None)

    threading.Thread(target=fetch, daemon=True).start()
    while (value := fetched.get()) is not None:
        yield value
