"""How much a batch has: `minMessagesPerTrigger`, `maxTriggerDelay` and `minPartitions`."""

from __future__ import annotations

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import reader as queue_reader
from igq.pipeline.datasource.queue.reader import QueueReader
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import QUEUE
from sharedq.api import Queue
from sharedq.mqi.structures import MQMD
from tests.pipeline.streams import Drivers, bodies, in_doubt, open_orders, rest
from tests.support.groups import browse_all
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

MANY = ReadMaxRows(100)


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """Twelve messages."""
    return open_orders(group)


def test_a_batch_waits_for_so_many_messages(orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start(minMessagesPerTrigger="14")
    at = reader.initialOffset()
    assert reader.latestOffset(at, MANY) == at
    assert len(browse_all(orders)) == 12
    orders.put(b"13")
    assert reader.latestOffset(at, MANY) == at
    orders.put(b"14")
    end = reader.latestOffset(at, MANY)
    assert len(bodies(reader, at, end)) == 14
    assert reader.latestOffset(end, MANY) == end


def test_a_batch_does_not_wait_longer_than_the_delay(orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start(minMessagesPerTrigger="20", maxTriggerDelay="10m")
    at = reader.initialOffset()
    assert reader.latestOffset(at, MANY) == at
    reader._claimed_s -= 601
    end = reader.latestOffset(at, MANY)
    assert len(bodies(reader, at, end)) == 12
    # From this batch on it waits again.
    orders.put(b"more")
    assert reader.latestOffset(end, MANY) == end


def test_what_is_left_after_a_full_batch_waits_too(orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start(minMessagesPerTrigger="10", maxMessagesPerTrigger="10")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadMaxRows(10))
    rest(reader)
    assert len(bodies(reader, at, end)) == 10
    # Nothing is claimed ahead: it stays on the queue while the batch waits.
    assert len(browse_all(orders)) == 2
    assert reader.latestOffset(end, ReadMaxRows(10)) == end


@pytest.mark.parametrize("is_now", [True, False], ids=["AvailableNow", "Once"])
def test_a_query_that_ends_by_itself_does_not_wait(
    group: TestGroup, orders: Queue, drivers: Drivers, is_now: bool
) -> None:
    reader = drivers.start(minMessagesPerTrigger="50")
    if is_now:
        reader.prepareForTriggerAvailableNow()
    at = reader.initialOffset()
    end = reader.latestOffset(at, MANY if is_now else ReadAllAvailable())
    assert len(bodies(reader, at, end)) == 12
    assert browse_all(orders) == []
    assert in_doubt(group) == 12


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"minMessagesPerTrigger": "0"}, "minMessagesPerTrigger=0: allowed: whole numbers from 1 on"),
        (
            {"minMessagesPerTrigger": "6", "maxMessagesPerTrigger": "5"},
            "minMessagesPerTrigger=6: is more than maxMessagesPerTrigger=5",
        ),
        ({"maxTriggerDelay": "15"}, "maxTriggerDelay=15: allowed: a whole number with ms, s, m, h or d, such as 15m"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay=soon: allowed"),
        ({"wholeGroups": "true", "selector": "a = 1"}, "wholeGroups and selector: allowed: one of them"),
        ({"minPartitions": "-1"}, "minPartitions=-1: allowed: whole numbers from 1 on"),
    ],
)
def test_wrong_values_are_one_clear_error(orders: Queue, drivers: Drivers, more: dict[str, str], what: str) -> None:
    assert orders.name == "ORDERS"
    with pytest.raises(PipelineError, match=what):
        drivers.start(**more)


@pytest.mark.parametrize(("text", "seconds"), [("15m", 900), ("250ms", 0.25), ("2 h", 7200), ("1d", 86400), ("3s", 3)])
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert SourceOptions({"maxTriggerDelay": text}, ("maxTriggerDelay",)).seconds("maxTriggerDelay", "1s") == seconds


# -- partitions --------------------------------------------------------------------------------------------------------


def fill(orders: Queue, count: int) -> None:
    orders.put_many([(MQMD(), b"%d" % number) for number in range(count)])


@pytest.mark.parametrize(("least", "partitions"), [(1, 1), (4, 4), (12, 12), (50, 12)])
def test_a_batch_has_so_many_partitions(orders: Queue, drivers: Drivers, least: int, partitions: int) -> None:
    everything = browse_all(orders)
    reader = drivers.start(minPartitions=str(least), rowsPerPartition="1000")
    at = reader.initialOffset()
    end = reader.latestOffset(at, MANY)
    assert len(reader.partitions(at, end)) == partitions
    assert sorted(bodies(reader, at, end)) == sorted(everything)
    rest(reader)
    fill(orders, 200)
    later = reader.latestOffset(end, ReadMaxRows(150))
    assert len(reader.partitions(end, later)) >= min(least, 150)


@pytest.mark.parametrize(("least", "partitions"), [(1, 1), (4, 4), (12, 12)])
def test_a_table_has_so_many_partitions(group: TestGroup, orders: Queue, least: int, partitions: int) -> None:
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "queue": "ORDERS"}
    orders.get_many(100)
    fill(orders, 240)
    reader = QueueReader(QUEUE, SourceOptions(told | {"minPartitions": str(least)}, queue_reader.OPTIONS))
    found = reader.partitions()
    assert len(found) == partitions
    assert sum(batch.num_rows for each in found for batch in reader.read(each)) == 240
