"""The imports of the processes that Spark starts for each question to a source, and of workers for partitions."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import StructType

from igq.pipeline.datasource.journal import source as journal_source
from igq.pipeline.datasource.journal.source import JournalReader
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import reader as queue_reader
from igq.pipeline.datasource.queue.reader import QueueReader
from igq.pipeline.schemas import JOURNAL, QUEUE
from tests.pipeline.streams import Drivers, open_orders
from tests.support.members import TestGroup

#: Modules that take longer to import than thousands of rows take to make: settings, definitions, logs for people.
HEAVY = (
    "pydantic",
    "structlog",
    "rich",
    "sharedq.settings.values",
    "sharedq.session.connection",
    "sharedq.objects.definitions.queues",
)
#: Reads a partition as a worker does, and prints the number of rows and which of these modules it imported.
WORKER = f"""
import pickle, sys
reader, partition = pickle.load(sys.stdin.buffer)
rows = sum(batch.num_rows for batch in reader.read(partition))
print(rows, *(name for name in {HEAVY} if name in sys.modules))
"""


def read_elsewhere(reader: Any, partition: Any) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=pickle.dumps((reader, partition)),
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    return done.stdout.decode().strip()


def where(group: TestGroup) -> dict[str, str]:
    return {"url": str(group.settings.redis_url), "group": group.group.name}


@pytest.mark.parametrize("columns", [QUEUE.fieldNames(), ["msg_id"]])
def test_a_partition_of_a_queue(group: TestGroup, columns: list[str]) -> None:
    open_orders(group)
    schema = StructType([QUEUE[name] for name in columns])
    reader = QueueReader(schema, SourceOptions(where(group) | {"queue": "ORDERS"}, queue_reader.OPTIONS))
    (partition,) = reader.partitions()
    assert read_elsewhere(reader, partition) == "12"


def test_a_partition_of_a_stream(group: TestGroup, drivers: Drivers) -> None:
    open_orders(group)
    driver = drivers.start(rowsPerPartition="20")
    start = driver.initialOffset()
    (partition,) = driver.partitions(start, driver.latestOffset(start, ReadMaxRows(20)))
    # Spark makes a reader for the workers, which claims nothing.
    fresh = type(driver)(QUEUE, driver._options)
    assert read_elsewhere(fresh, partition) == "12"


def test_a_partition_of_the_journal(group: TestGroup) -> None:
    open_orders(group)
    reader = JournalReader(JOURNAL, SourceOptions(where(group), journal_source.OPTIONS))
    found = [read_elsewhere(reader, partition) for partition in reader.partitions()]
    assert found == ["12"]
