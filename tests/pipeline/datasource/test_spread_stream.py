"""A stream of an alias with SPREAD reads every queue that the alias stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader, UnitsPartition
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.pipeline.streams import Drivers, Watch, bodies, die, in_doubt, rest
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored

PARTS = ("PART.1", "PART.2", "PART.3")


@pytest.fixture(autouse=True)
def _spread(group: TestGroup) -> None:
    """An alias SPREAD over three queues in three structures."""
    for number, name in enumerate(PARTS):
        group.define_structure(f"S{number}")
        group.define_shared(name, f"S{number}")
    alias = QueueAlias(name="SPREAD", target=PARTS[0], spread=",".join(PARTS[1:]))
    group.repository("QM1").define(alias)


def fill(group: TestGroup, *counts: int) -> list[bytes]:
    """Put so many messages on each part."""
    with group.connect() as connection:
        for name, count in zip(PARTS, counts, strict=True):
            queue = connection.open(name, OpenOption.OUTPUT)
            queue.put_many([(MQMD(), f"{name} {number}".encode()) for number in range(count)]) if count else None
    return [f"{name} {number}".encode() for name, count in zip(PARTS, counts, strict=True) for number in range(count)]


def start(drivers: Drivers, **more: str) -> QueueStreamReader:
    return drivers.start(queue="SPREAD", **more)


def to_the_end(reader: QueueStreamReader, at: Offset, limit: int = 10) -> list[list[bytes]]:
    batches = []
    while (end := reader.latestOffset(at, ReadMaxRows(limit))) != at:
        batches.append(bodies(reader, at, end))
        at = end
    return batches


def left(group: TestGroup) -> list[int]:
    with group.connect() as connection:
        return [len(browse_all(connection.open(name, BOTH))) for name in PARTS]


@pytest.mark.parametrize("counts", [(10, 10, 10), (30, 0, 0), (0, 1, 25), (1, 1, 1)])
@pytest.mark.parametrize("is_now", [True, False])
def test_every_message_of_every_part_comes_once(
    group: TestGroup, drivers: Drivers, counts: tuple[int, ...], is_now: bool
) -> None:
    everything, reader = fill(group, *counts), start(drivers)
    if is_now:
        reader.prepareForTriggerAvailableNow()
    batches = to_the_end(reader, reader.initialOffset())
    assert sorted(body for batch in batches for body in batch) == sorted(everything)
    assert [len(batch) for batch in batches] == [10] * (len(everything) // 10) + [len(everything) % 10] * bool(
        len(everything) % 10
    )
    assert (left(group), in_doubt(group)) == ([0, 0, 0], 0)


def test_each_part_has_spark_partitions_of_its_own(group: TestGroup, drivers: Drivers) -> None:
    fill(group, 12, 12, 12)
    reader = start(drivers, rowsPerPartition="3")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadMaxRows(18))
    partitions = reader.partitions(at, end)
    places = []
    for partition in partitions:
        assert isinstance(partition, UnitsPartition)
        (place,) = {place.queue for place, _ in partition.units}
        places.append(place)
    assert places == [name for name in PARTS for _ in range(2)]


def test_a_part_keeps_its_order(group: TestGroup, drivers: Drivers) -> None:
    everything, reader = fill(group, 5, 20, 9), start(drivers)
    seen = [body for batch in to_the_end(reader, reader.initialOffset(), 7) for body in batch]
    for name in PARTS:
        of_part = [body for body in seen if body.startswith(name.encode())]
        assert of_part == [body for body in everything if body.startswith(name.encode())]


def test_messages_put_later_on_one_part_take_no_turn_of_another(group: TestGroup, drivers: Drivers) -> None:
    everything, reader = fill(group, 2, 8, 2), start(drivers)
    reader.prepareForTriggerAvailableNow()
    with group.connect() as connection:
        connection.open(PARTS[0], OpenOption.OUTPUT).put_many([(MQMD(), b"later %d" % n) for n in range(20)])
    batches = to_the_end(reader, reader.initialOffset(), 5)
    assert sorted(body for batch in batches for body in batch) == sorted(everything)
    assert left(group) == [20, 0, 0]


def test_claims_of_a_dead_driver_come_again_to_the_next(group: TestGroup, drivers: Drivers) -> None:
    everything, first = fill(group, 9, 9, 9), start(drivers)
    at = first.initialOffset()
    end = first.latestOffset(at, ReadMaxRows(6))
    rest(first)
    assert in_doubt(group) == 12
    die(first)
    second = start(drivers)
    second.prepareForTriggerAvailableNow()
    seen = bodies(second, at, end)
    seen += [body for batch in to_the_end(second, end, 6) for body in batch]
    assert sorted(seen) == sorted(everything)
    assert (left(group), in_doubt(group), stored(group)) == ([0, 0, 0], 0, 0)


def test_the_progress_shows_the_skew(group: TestGroup, drivers: Drivers) -> None:
    fill(group, 1, 30, 0)
    reader = start(drivers)
    at = reader.initialOffset()
    depths = dict(zip(PARTS, (1, 30, 0), strict=True))
    told = reader.reportLatestOffset()
    assert told is not None
    ages = told.pop("oldest_s")
    assert told == {"depth": 31, "min": 0, "avg": 10.3, "max": 30, "queues": depths}
    assert sorted(ages) == ["PART.1", "PART.2"]
    reader.latestOffset(at, ReadMaxRows(100))
    none = dict.fromkeys(PARTS, 0)
    assert reader.reportLatestOffset() == {"depth": 0, "min": 0, "avg": 0.0, "max": 0, "queues": none}


def test_a_query_of_one_batch_takes_all_that_there_is(group: TestGroup, drivers: Drivers) -> None:
    """Spark's trigger Once, or AvailableNow beside a source that does not know it."""
    everything, reader = fill(group, 40, 3, 500), start(drivers, rowsPerPartition="100")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadAllAvailable())
    assert sorted(bodies(reader, at, end)) == sorted(everything)
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert in_doubt(group) == 0


def test_an_alias_that_gets_another_part_is_noticed(group: TestGroup, drivers: Drivers) -> None:
    group.define_shared("PART.4", "S0")
    reader = start(drivers)
    at = reader.initialOffset()
    assert reader.latestOffset(at, ReadMaxRows(10)) == at
    group.repository("QM1").alter("QALIAS", "SPREAD", {"spread": "PART.2,PART.3,PART.4"})
    with group.connect() as connection:
        connection.open("PART.4", OpenOption.OUTPUT).put(b"new")
    end = reader.latestOffset(at, ReadMaxRows(10))
    assert bodies(reader, at, end) == [b"new"]
    group.repository("QM1").alter("QALIAS", "SPREAD", {"get": "DISABLED"})
    with pytest.raises(MQIError) as caught:
        reader.latestOffset(end, ReadMaxRows(10))
    assert caught.value.reason == MQRC.GET_INHIBITED


@pytest.mark.spark
def test_a_query_of_an_alias_ends_with_nothing_left(spark: SparkSession, group: TestGroup, tmp_path: Path) -> None:
    everything = fill(group, 150, 20, 300)
    spark.dataSource.register(QueueSource)
    at = {"url": str(group.settings.redis_url), "group": group.group.name, "qmgr": group.group.name}
    source = spark.readStream.format("igq").options(**at, queue="SPREAD", stream="all", maxMessagesPerTrigger="100")
    sink = source.load().select("data").writeStream.format("parquet").option("path", str(tmp_path / "out"))
    sink = sink.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with Watch(group):
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(bytes(row.data) for row in rows) == sorted(everything)
    assert (left(group), in_doubt(group)) == ([0, 0, 0], 0)
