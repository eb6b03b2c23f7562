"""`format("igq")`, streaming: messages are taken off a queue exactly once, whatever dies meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from igq.pipeline.claims import claims
from igq.pipeline.claims import tag as alone
from igq.pipeline.claims.units import get_messages
from igq.pipeline.datasource.journal.source import JournalSource
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue
from sharedq.calls.handles.connect import is_tag_used
from sharedq.mqi.constants import Report
from sharedq.mqi.structures import MQMD
from sharedq.redis.wire import Wire
from tests.pipeline.streams import EVERYTHING, Drivers, Watch, bodies, in_doubt, open_orders, rest, rows
from tests.support.agents import drain
from tests.support.groups import BOTH, LMIG, MIG, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored, until

LIMIT = ReadMaxRows(5)


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """Twelve messages, three of them a group."""
    return open_orders(group)


# -- the driver's calls, in Spark's order, cut off where a driver can die ----------------------------------------------


@pytest.mark.share
def test_batches_follow_each_other_and_end_with_nothing_left(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start()
    at, seen = reader.initialOffset(), list[bytes]()
    for _ in range(3):
        end = reader.latestOffset(at, LIMIT)
        assert len(reader.partitions(at, end)) <= 2
        seen += bodies(reader, at, end)
        at = end
    rest(reader)
    assert seen == EVERYTHING
    assert browse_all(orders) == []
    assert in_doubt(group) == 2
    assert reader.latestOffset(at, LIMIT) == at
    assert (in_doubt(group), stored(group)) == (0, 0)
    assert reader.partitions(at, at) == []


def test_a_partition_has_as_many_units_of_work_as_fit_in_it(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 2})
    reader = drivers.start(rowsPerPartition="5")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(100))

    parts = reader.partitions(start, end)

    read = [[row["data"] for batch in reader.read(part) for row in batch.to_pylist()] for part in parts]
    assert [len(part) for part in read] == [4, 4, 4]
    assert [body for part in read for body in part] == EVERYTHING
    assert in_doubt(group) == len(EVERYTHING)


@pytest.mark.parametrize("replies", ["private", "shared"])
def test_deliveries_are_confirmed_when_their_batch_is_decided(
    group: TestGroup, orders: Queue, drivers: Drivers, replies: str
) -> None:
    if replies == "private":
        group.define_private("QM1", "REPLIES")
    else:
        group.define_shared("REPLIES")
    asking = [MQMD(report=int(Report.COD), reply_to_q=b"REPLIES", priority=9) for _ in range(4)]
    for number, md in enumerate(asking):
        orders.put(b"asks %d" % number, md)
    reader = drivers.start()
    at = reader.initialOffset()
    end = reader.latestOffset(at, LIMIT)
    assert bodies(reader, at, end) == [b"asks 0", b"asks 1", b"asks 2", b"asks 3", EVERYTHING[0]]
    rest(reader)
    assert drain(group.connect(), "REPLIES") == []

    after = reader.latestOffset(end, LIMIT)

    assert bodies(reader, end, after) == EVERYTHING[1:6]
    rest(reader)
    assert [each.md.correl_id for each in drain(group.connect(), "REPLIES")] == [md.msg_id for md in asking]


def test_rows_are_whole(orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    start = reader.initialOffset()
    first, *_, last = rows(reader, start, reader.latestOffset(start, ReadMaxRows(100)))
    assert (first["queue"], first["structure"], first["length"]) == ("ORDERS", "APPL1", 1)
    assert (first["correl_id"], first["backout_count"]) == (b"c0".ljust(24, b"\0"), 0)
    assert (last["group_id"], last["msg_seq_number"], last["msg_flags"]) == (b"g".ljust(24, b"."), 3, LMIG | MIG)
    assert first["position"] < last["position"]


@pytest.mark.share
def test_a_batch_is_the_same_however_often_it_is_tried(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, LIMIT)
    seen = rows(first, start, end)
    # The driver dies with the batch in Spark's log. Meanwhile the queue changes.
    orders.put(b"ahead", MQMD(priority=9))
    second = drivers.start()
    assert rows(second, start, end) == seen
    third = drivers.start()
    assert rows(third, start, end) == seen
    # It is done, and Spark asks for the next one.
    assert bodies(third, end, third.latestOffset(end, LIMIT)) == [b"ahead", *EVERYTHING[5:9]]
    assert stored(group) == 13 - 5


@pytest.mark.share
def test_claims_that_spark_never_wrote_down_go_back(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, LIMIT)
    bodies(first, start, end)
    lost = first.latestOffset(end, LIMIT)
    assert lost["batch"] == 2
    rest(first)
    assert browse_all(orders) == []

    second = drivers.start()
    again = second.latestOffset(end, LIMIT)

    found = rows(second, end, again)
    assert [(row["data"], row["backout_count"]) for row in found] == [(body, 1) for body in EVERYTHING[5:10]]
    rest(second)
    assert in_doubt(group) == 7
    with pytest.raises(PipelineError, match="were ended by others"):
        second.partitions(end, lost)


@pytest.mark.share
def test_killed_while_it_claims_it_has_claimed_nothing(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = drivers.start()
    start = first.initialOffset()
    calls = iter(range(2))
    get = get_messages

    def die_at_the_second(queue: Queue, count: int) -> int:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return get(queue, count)

    monkeypatch.setattr("igq.pipeline.claims.claims.get_messages", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        first.latestOffset(start, ReadMaxRows(12))
    monkeypatch.setattr("igq.pipeline.claims.claims.get_messages", get)
    assert in_doubt(group) == 6

    second = drivers.start()
    assert bodies(second, start, second.latestOffset(start, ReadMaxRows(12))) == EVERYTHING
    assert browse_all(orders) == []


@pytest.mark.share
def test_one_driver_at_a_time_has_the_name(
    orders: Queue, drivers: Drivers, group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert orders.name == "ORDERS"
    monkeypatch.setattr(alone, "WAIT_S", 0.1)
    reader, other = drivers.start(), Drivers(group).start()
    start = reader.initialOffset()
    reader.latestOffset(start, LIMIT)
    with pytest.raises(PipelineError, match=r"stream billing: another driver of that name is at work.*\(2271\)"):
        other.latestOffset(start, LIMIT)
    # Another query is not affected.
    rest(reader)
    another = Drivers(group).start(stream="shipping")
    start = another.initialOffset()
    end = another.latestOffset(start, LIMIT)
    assert bodies(another, start, end) == EVERYTHING[10:]
    another.stop()


def test_messages_that_an_operator_put_back_are_not_passed_over_in_silence(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    start = reader.initialOffset()
    end = reader.latestOffset(start, LIMIT)
    rest(reader)
    assert reader._claims.give_back() == 10
    with pytest.raises(PipelineError, match="were put back on ORDERS"):
        reader.latestOffset(end, LIMIT)
    assert in_doubt(group) == 0


def test_available_now_takes_what_was_there_when_it_began(orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start()
    reader.prepareForTriggerAvailableNow()
    orders.put(b"later", MQMD())
    at = reader.initialOffset()
    seen: list[bytes] = []
    while (end := reader.latestOffset(at, ReadMaxRows(5))) != at:
        seen += bodies(reader, at, end)
        at = end
    assert len(seen) == 12
    assert len(browse_all(orders)) == 1


def test_a_query_of_one_batch_takes_more_units_than_fit_together(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "TOGETHER_MAX", 4)
    reader = drivers.start(rowsPerPartition="1", maxMessagesPerTrigger="2")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadAllAvailable())
    assert bodies(reader, at, end) == EVERYTHING
    assert (in_doubt(group), browse_all(orders)) == (12, [])


def test_a_poll_of_an_empty_queue_asks_two_questions_and_connects_never(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.get_many(100)
    reader = drivers.start()
    at = reader.initialOffset()
    for _ in range(2):
        assert reader.latestOffset(at, LIMIT) == at
    client, asked = group.group.client(), list[str]()
    send = Wire.send

    def counted(wire: Wire, packed: bytes) -> None:
        if threading.current_thread() is threading.main_thread():
            asked.append(packed.split(b"\r\n")[2].decode())
        send(wire, packed)

    monkeypatch.setattr(Wire, "send", counted)
    connections = client.info("stats")["total_connections_received"]
    for _ in range(10):
        assert reader.latestOffset(at, LIMIT) == at
        assert reader.reportLatestOffset() == {"depth": 0}
    # Once a second it looks whether the query was released.
    assert len(asked) <= 2 * 10 + 5
    assert client.info("stats")["total_connections_received"] == connections


@pytest.mark.share
def test_an_older_copy_of_a_checkpoint_takes_nothing_twice(orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    at = reader.initialOffset()
    older = reader.latestOffset(at, LIMIT)
    bodies(reader, at, older)
    later = reader.latestOffset(older, LIMIT)
    assert bodies(reader, older, later) == EVERYTHING[5:10]
    with pytest.raises(PipelineError, match="this one has an older copy of the checkpoint: they would come twice"):
        drivers.start().latestOffset(older, LIMIT)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"stream": ""}, "the option stream is missing"),
        ({"stream": "a/b"}, "stream=a/b: allowed"),
        ({"qmgr": ""}, "the option qmgr is missing"),
        ({"maxMessagesPerTrigger": "0"}, "maxMessagesPerTrigger=0: allowed"),
        ({"pushFilters": "true"}, "unknown option pushfilters"),
    ],
)
@pytest.mark.share
def test_a_wrong_option_is_named(group: TestGroup, drivers: Drivers, more: dict[str, str], what: str) -> None:
    assert group.group.name
    with pytest.raises(PipelineError, match=what):
        drivers.start(**more)


# -- with Spark --------------------------------------------------------------------------------------------------------


def stream(spark: SparkSession, group: TestGroup, checkpoint: Path) -> None:
    """Move the messages from ORDERS to COPY."""
    spark.dataSource.register(QueueSource)
    at = {"url": str(group.settings.redis_url), "group": group.group.name, "qmgr": "QM1"}
    source = spark.readStream.format("igq").options(**at, queue="ORDERS", stream="move", maxMessagesPerTrigger="5")
    sink = source.load().select("data", "correl_id", "priority").writeStream.format("igq")
    sink = sink.options(**at, queue="COPY").option("checkpointLocation", str(checkpoint))
    sink.trigger(availableNow=True).start().awaitTermination()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "options", "what"),
    [
        ("igq", {"qmgr": "QM1", "queue": "ORDERS"}, "stream is missing"),
        ("igq", {"qmgr": "QM1", "queue": "ORDERS", "stream": "a/b"}, "stream=a/b: allowed"),
        ("igq.journal", {"end": "1"}, "unknown option end"),
    ],
)
def test_the_error_is_the_last_line_of_a_query(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path, kind: str, options: dict[str, str], what: str
) -> None:
    assert orders.name == "ORDERS"
    spark.dataSource.register(QueueSource)
    spark.dataSource.register(JournalSource)
    at = {"url": str(group.settings.redis_url), "group": group.group.name}
    table = spark.readStream.format(kind).options(**at, **options).load()
    sink = table.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException) as caught:
        sink.start().awaitTermination()
    assert what in str(caught.value)
    assert "UnboundLocalError" not in str(caught.value)


@pytest.mark.spark
@pytest.mark.share
def test_a_query_moves_everything_once_and_goes_on_where_it_ended(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    copy = group.connect().open("COPY", BOTH)
    with Watch(group):
        stream(spark, group, tmp_path)
        assert sorted(browse_all(copy)) == sorted(EVERYTHING)
        assert (browse_all(orders), in_doubt(group)) == ([], 0)
        orders.put(b"more")
        stream(spark, group, tmp_path)
    assert sorted(browse_all(copy)) == sorted([*EVERYTHING, b"more"])
    assert (in_doubt(group), stored(group)) == (0, 13)


@pytest.mark.spark
def test_a_query_that_is_stopped_keeps_its_batch_and_nothing_else(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """Spark ends the process of the source by a signal."""
    assert orders.name == "ORDERS"
    spark.dataSource.register(QueueSource)
    at = {"url": str(group.settings.redis_url), "group": group.group.name, "qmgr": "QM1"}
    source = spark.readStream.format("igq").options(**at, queue="ORDERS", stream="move", maxMessagesPerTrigger="5")
    sink = source.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = sink.trigger(processingTime="1 hour").start()
    until(lambda: in_doubt(group) == 10, "one batch is claimed, and one ahead", 120)
    query.stop()
    until(lambda: not is_tag_used(group.group, claims.tag_of("move")), "the query's name is free", 60)
    assert in_doubt(group) == 5
    assert browse_all(orders) == EVERYTHING[5:]


def test_the_progress_says_how_many_messages_wait_and_how_long(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    reader = drivers.start()
    start = reader.initialOffset()
    told = reader.reportLatestOffset()
    assert told is not None
    assert (told["depth"], list(told["oldest_s"])) == (12, ["ORDERS"])
    assert 0 <= told["oldest_s"]["ORDERS"] < 600
    end = reader.latestOffset(start, ReadMaxRows(100))
    assert reader.reportLatestOffset() == {"depth": 0}
    assert len(bodies(reader, start, end)) == 12
    orders.put(b"later", MQMD())
    told = reader.reportLatestOffset()
    assert told is not None
    assert told["depth"] == 1
    group.repository("QM1").alter("QLOCAL", "ORDERS", {"get": "DISABLED"})
    assert reader.reportLatestOffset() is None
