"""Batches that Spark notes as processed although nothing has read them: their messages stay on the queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.streaming.readwriter import DataStreamWriter
from typer.testing import CliRunner, Result

from igq.pipeline.claims.release import Released, release_stream
from igq.pipeline.cli.app import build_app
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue
from sharedq.calls.unit.in_doubt import prepared_units
from tests.pipeline.streams import EVERYTHING, Checkpoint, Drivers, Watch, bodies, in_doubt, open_orders, rest
from tests.support.groups import browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored

FIVE = ReadMaxRows(5)
UNREAD = "Spark has noted a batch as processed that nothing has read"


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    return open_orders(group)


def test_a_batch_that_nothing_has_read_stays_claimed(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, FIVE)
    first.partitions(start, end)
    reader = first
    for _ in range(2):
        with pytest.raises(PipelineError, match=UNREAD):
            reader.latestOffset(end, FIVE)
        rest(reader)
        reader.stop()
        assert (in_doubt(group), sorted(browse_all(orders))) == (5, sorted(EVERYTHING[5:]))
        reader = drivers.start()
    # Its sink reads it after all.
    assert bodies(reader, start, end) == EVERYTHING[:5]
    assert reader.latestOffset(end, FIVE) != end
    assert EVERYTHING[0] not in browse_all(orders)


@pytest.mark.parametrize("is_read", [True, False])
def test_a_query_with_a_new_checkpoint_leaves_what_one_before_it_has_read(
    group: TestGroup, orders: Queue, drivers: Drivers, tmp_path: Path, is_read: bool
) -> None:
    """It may have been processed, so this query would repeat it."""
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, FIVE)
    if is_read:
        bodies(first, start, end)
    first.stop()
    second = drivers.start()
    if not is_read:
        assert bodies(second, start, second.latestOffset(second.initialOffset(), FIVE))[:1] == EVERYTHING[:1]
        return
    with pytest.raises(PipelineError, match="this one has a new checkpoint: they would come twice"):
        second.latestOffset(second.initialOffset(), FIVE)
    second.stop()
    assert (in_doubt(group), sorted(browse_all(orders))) == (5, sorted(EVERYTHING[5:]))

    checkpoint = Checkpoint(tmp_path / "checkpoint")
    checkpoint.begin(0, end)
    checkpoint.end(0)
    assert release_stream(group.settings, "billing", checkpoint=checkpoint.path) == Released(0, 5)
    third = drivers.start()
    start = third.initialOffset()
    assert bodies(third, start, third.latestOffset(start, FIVE)) == EVERYTHING[5:10]


@pytest.mark.parametrize("part", [0, 1])
def test_a_sink_that_reads_some_of_a_batch_has_read_it(orders: Queue, drivers: Drivers, part: int) -> None:
    """For example a function that checks whether there is anything, or takes the first rows."""
    assert orders.name == "ORDERS"
    reader = drivers.start()
    start = reader.initialOffset()
    end = reader.latestOffset(start, FIVE)
    next(iter(reader.read(reader.partitions(start, end)[part])))
    assert reader.latestOffset(end, FIVE) != end


def test_messages_read_by_an_earlier_driver_count_as_read(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    """It died after its sink, which skips the batch when it comes again."""
    assert orders.name == "ORDERS"
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, FIVE)
    bodies(first, start, end)
    second = drivers.start()
    second.partitions(start, end)
    second.latestOffset(end, FIVE)
    rest(second)
    assert stored(group) == 7


@pytest.mark.parametrize("begun", ["undone", "done"])
def test_an_operator_says_what_became_of_it(
    group: TestGroup, orders: Queue, drivers: Drivers, tmp_path: Path, begun: str
) -> None:
    reader = drivers.start()
    end = reader.latestOffset(reader.initialOffset(), FIVE)
    reader.stop()
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    checkpoint.begin(0, end)
    checkpoint.end(0)
    with pytest.raises(PipelineError, match="noted as processed, but nothing has read it") as caught:
        release_stream(group.settings, "billing", checkpoint=checkpoint.path)
    assert "\n" not in str(caught.value)
    # Nothing has happened: its term has not ended either.
    assert (in_doubt(group), drivers.start().initialOffset()["term"]) == (5, 0)
    drivers.close()

    released = release_stream(
        group.settings, "billing", checkpoint=checkpoint.path, begun="done" if begun == "done" else "undone"
    )
    assert released == (Released(0, 5) if begun == "done" else Released(5, 0))
    assert sorted(browse_all(orders)) == sorted(EVERYTHING[5:] if begun == "done" else EVERYTHING)


def query(spark: SparkSession, group: TestGroup, checkpoint: Path) -> DataStreamWriter:
    spark.dataSource.register(QueueSource)
    told = {"group": group.group.name, "url": str(group.settings.redis_url), "qmgr": "QM1", "queue": "ORDERS"}
    source = spark.readStream.format("igq").options(**told, stream="billing", maxMessagesPerTrigger="5").load()
    sink = source.select("data").writeStream.option("checkpointLocation", str(checkpoint))
    return sink.trigger(availableNow=True)


def to_files(spark: SparkSession, group: TestGroup, checkpoint: Path, target: Path) -> None:
    query(spark, group, checkpoint).format("parquet").option("path", str(target)).start().awaitTermination()


def release(group: TestGroup, checkpoint: Path, tmp_path: Path, *more: str) -> Result:
    at = ["--group", group.group.name, "--url", str(group.settings.redis_url)]
    arguments = ["release", "billing", "--checkpoint", str(checkpoint), *at, *more]
    return CliRunner().invoke(build_app(), arguments, env={"IGQ_DATA_DIR": str(tmp_path)})


@pytest.mark.spark
def test_a_new_checkpoint_with_an_old_file_sink_directory_loses_nothing(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with Watch(group):
        to_files(spark, group, old, tmp_path / "taken")
        for body in EVERYTHING:
            orders.put(b"new " + body)
        with pytest.raises(StreamingQueryException, match=UNREAD):
            to_files(spark, group, new, tmp_path / "taken")
        assert stored(group) == len(EVERYTHING)

        result = release(group, new, tmp_path)
        while "a driver of it is running" in result.output:
            result = release(group, new, tmp_path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "nothing has read it" in result.stderr
        result = release(group, new, tmp_path, "--begun", "undone")
        assert "5 messages are back on their queue; 0 had been processed" in result.stdout
        to_files(spark, group, tmp_path / "newer", tmp_path / "taken again")

    taken = [row["data"] for place in ("taken", "taken again") for row in read(spark, tmp_path / place)]
    assert sorted(taken) == sorted([*EVERYTHING, *(b"new " + body for body in EVERYTHING)])
    assert (in_doubt(group), stored(group)) == (0, 0)


def read(spark: SparkSession, place: Path) -> list[dict[str, bytes]]:
    return [row.asDict() for row in spark.read.parquet(str(place)).collect()]


@pytest.mark.spark
@pytest.mark.parametrize("looks", [True, False])
def test_a_sink_that_does_not_look_takes_nothing(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path, looks: bool
) -> None:
    def look(batch: DataFrame, _: int) -> None:
        if looks:
            assert not batch.isEmpty()

    assert orders.name == "ORDERS"
    running = query(spark, group, tmp_path / "checkpoint").foreachBatch(look)
    with Watch(group):
        if looks:
            running.start().awaitTermination()
        else:
            with pytest.raises(StreamingQueryException, match=UNREAD):
                running.start().awaitTermination()
    assert stored(group) == (0 if looks else len(EVERYTHING))
    assert len(prepared_units(group.group)) == (0 if looks else 1)
