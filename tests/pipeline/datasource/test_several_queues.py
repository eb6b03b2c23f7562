"""The options `queues` and `queuePattern`: one query reads several queues, in one process over one connection."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from igq.pipeline.claims import claims
from igq.pipeline.claims.release import Released, release_stream
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader, UnitsPartition
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.backout_queue import back_out_batch
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from tests.pipeline.streams import Checkpoint, Drivers, Watch, die, in_doubt, rest, rows, table_rows
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup

#: Queues, each with its structure.
QUEUES = {"SALES.1": "S0", "SALES.2": "S1", "SALES.3": "S0", "STOCK": "S1"}
TEN = ReadMaxRows(10)
NAMES = "SALES.1, SALES.3,STOCK"


@pytest.fixture(autouse=True)
def _queues(group: TestGroup) -> None:
    for structure in ("S0", "S1"):
        group.define_structure(structure)
    for name, structure in QUEUES.items():
        group.define_shared(name, structure)


def fill(group: TestGroup, **counts: int) -> list[bytes]:
    """Put so many messages on each queue; of its name an underscore is a dot."""
    found = []
    with group.connect() as connection:
        for word, count in counts.items():
            name = word.replace("_", ".")
            bodies = [f"{name} {number}".encode() for number in range(count)]
            if bodies:
                connection.open(name, OpenOption.OUTPUT).put_many([(MQMD(), body) for body in bodies])
            found += bodies
    return found


def left(group: TestGroup) -> dict[str, int]:
    with group.connect() as connection:
        return {name: len(browse_all(connection.open(name, BOTH))) for name in QUEUES}


def to_the_end(reader: QueueStreamReader, at: Offset, limit: ReadMaxRows = TEN) -> list[list[tuple[str, bytes]]]:
    batches = []
    while (end := reader.latestOffset(at, limit)) != at:
        batches.append([(row["queue"], row["data"]) for row in rows(reader, at, end)])
        at = end
    return batches


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.share
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"queues": NAMES}, ["SALES.1", "SALES.3", "STOCK"]),
        ({"queues": "STOCK"}, ["STOCK"]),
        ({"queues": "STOCK,STOCK,SALES.1"}, ["SALES.1", "STOCK"]),
        ({"queuePattern": "SALES.*"}, ["SALES.1", "SALES.2", "SALES.3"]),
        ({"queuePattern": "S*.?"}, ["SALES.1", "SALES.2", "SALES.3"]),
        ({"queuePattern": "*"}, sorted(QUEUES)),
        ({"queuePattern": "STOCK"}, ["STOCK"]),
    ],
)
def test_a_table_of_several_queues_tells_the_queue_of_each_row(
    group: TestGroup, options: dict[str, str], names: list[str]
) -> None:
    everything = fill(group, SALES_1=3, SALES_2=4, SALES_3=5, STOCK=6)
    found = table_rows(group, **options)
    assert sorted({row["queue"] for row in found}) == names
    assert [row for row in found if row["data"].split()[0].decode() != row["queue"]] == []
    assert sorted(row["data"] for row in found) == sorted(
        body for body in everything if body.split()[0].decode() in names
    )
    assert sum(left(group).values()) == 18


def test_a_queue_that_two_names_mean_is_read_once(group: TestGroup, drivers: Drivers) -> None:
    group.repository("QM1").define(QueueAlias(name="BOTH", target="SALES.1", spread="STOCK"))
    everything = fill(group, SALES_1=3, STOCK=4)
    found = table_rows(group, queues="BOTH,STOCK", qmgr="QM1")
    assert sorted(row["data"] for row in found) == sorted(everything)
    reader = drivers.start(queues="BOTH,STOCK,SALES.1")
    batches = to_the_end(reader, reader.initialOffset())
    assert sorted(body for batch in batches for _, body in batch) == sorted(everything)


def test_a_pattern_finds_private_queues_at_one_manager_alone(group: TestGroup) -> None:
    group.define_private("QM1", "SALES.OWN")
    group.define_shared("SALES.XMIT", "S0", usage="XMITQ")
    fill(group, SALES_1=1, SALES_OWN=2)
    assert Counter(row["queue"] for row in table_rows(group, queuePattern="SALES.*", qmgr="QM1")) == {
        "SALES.1": 1,
        "SALES.OWN": 2,
    }
    for qmgr in ("", group.group.name):
        assert {row["queue"] for row in table_rows(group, queuePattern="SALES.*", qmgr=qmgr)} == {"SALES.1"}
    with pytest.raises(PipelineError, match=r"queue SALES.OWN: is a private queue of QM1: say qmgr=QM1"):
        table_rows(group, queues="SALES.1,SALES.OWN", qmgr=group.group.name)


@pytest.mark.share
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "the option queue is missing"),
        ({"queue": "STOCK", "queues": "STOCK"}, "queue and queues: allowed: one of queue, queues, queuePattern"),
        ({"queues": "STOCK", "queuePattern": "S*"}, "queues and queuePattern: allowed: one of"),
        ({"queue": "STOCK,SALES.1"}, "queue=STOCK,SALES.1: allowed: one name; the option queues takes several"),
        ({"queues": "STOCK,,SALES.1"}, "queues=STOCK,,SALES.1: allowed: names separated by commas"),
        ({"queues": "STOCK,S*"}, r"queues=STOCK,S\*: allowed: names; the option queuePattern takes"),
        ({"queuePattern": r"SALES\..+"}, r"queuePattern=SALES.*: allowed: a name with \* for any"),
        ({"queuePattern": "NONE.*"}, r"queuePattern=NONE.\*: no local queue has such a name"),
    ],
)
@pytest.mark.parametrize("kind", ["table", "stream"])
def test_wrong_queues_are_one_clear_error(
    group: TestGroup, drivers: Drivers, options: dict[str, str], what: str, kind: str
) -> None:
    def ask() -> object:
        return table_rows(group, **options) if kind == "table" else drivers.start(**told).initialOffset()

    told = {"queue": "", **options}
    with pytest.raises(PipelineError, match=what) as caught:
        ask()
    assert "\n" not in str(caught.value)


def test_a_queue_that_does_not_exist_is_named(group: TestGroup) -> None:
    with pytest.raises(MQIError, match="NONE") as caught:
        table_rows(group, queues="STOCK,NONE")
    assert caught.value.reason == MQRC.UNKNOWN_OBJECT_NAME


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.share
@pytest.mark.parametrize("is_now", [True, False])
@pytest.mark.parametrize("options", [{"queues": ",".join(QUEUES)}, {"queuePattern": "S*"}])
def test_every_message_of_every_queue_comes_once(
    group: TestGroup, drivers: Drivers, options: dict[str, str], is_now: bool
) -> None:
    everything = fill(group, SALES_1=25, SALES_2=0, SALES_3=3, STOCK=12)
    reader = drivers.start(**options)
    if is_now:
        reader.prepareForTriggerAvailableNow()
    batches = to_the_end(reader, reader.initialOffset())
    seen = [row for batch in batches for row in batch]
    assert sorted(body for _, body in seen) == sorted(everything)
    assert [row for row in seen if row[1].split()[0].decode() != row[0]] == []
    assert (left(group), in_doubt(group)) == (dict.fromkeys(QUEUES, 0), 0)


def test_several_queues_take_one_connection_and_a_spark_partition_each(group: TestGroup, drivers: Drivers) -> None:
    fill(group, SALES_1=5, SALES_2=5, SALES_3=5, STOCK=5)
    one = drivers.start(queue="STOCK", stream="one")
    at = one.initialOffset()
    one.latestOffset(at, ReadMaxRows(5))
    rest(one)
    connections = len(group.group.client().hkeys(group.group.keys.owners))
    die(one)
    reader = drivers.start(queuePattern="S*", rowsPerPartition="100")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadMaxRows(20))
    rest(reader)
    assert len(group.group.client().hkeys(group.group.keys.owners)) == connections
    places = []
    for partition in reader.partitions(at, end):
        assert isinstance(partition, UnitsPartition)
        places += [*{place.queue for place, _ in partition.units}]
    assert sorted(places) == ["SALES.1", "SALES.2", "SALES.3"]


def test_a_small_batch_does_not_take_from_the_same_queue_each_time(group: TestGroup, drivers: Drivers) -> None:
    fill(group, SALES_1=20, SALES_2=20, SALES_3=20, STOCK=20)
    reader = drivers.start(queuePattern="S*")
    batches = to_the_end(reader, reader.initialOffset(), ReadMaxRows(2))[:8]
    assert {name for batch in batches for name, _ in batch} == set(QUEUES)


def test_a_pattern_finds_queues_that_come_while_the_query_runs(
    group: TestGroup, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_PLACES_S", 0.0)
    reader = drivers.start(queuePattern="S*")
    at = reader.initialOffset()
    assert reader.latestOffset(at, TEN) == at
    group.define_shared("SALES.4", "S1")
    fill(group, SALES_4=2, STOCK=1)
    end = reader.latestOffset(at, TEN)
    assert sorted(row["queue"] for row in rows(reader, at, end)) == ["SALES.4", "SALES.4", "STOCK"]
    assert reader.latestOffset(end, TEN) == end
    told = reader.reportLatestOffset()
    assert told is not None
    assert sorted(told["queues"]) == ["SALES.1", "SALES.2", "SALES.3", "SALES.4", "STOCK"]


@pytest.mark.share
@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ({"queues": NAMES}, {"queues": "SALES.1,STOCK"}, "of queue SALES.1,SALES.3,STOCK, not of SALES.1,STOCK"),
        ({"queues": NAMES}, {"queuePattern": "S*"}, r"of queue SALES.1,SALES.3,STOCK, not of S\*"),
        ({"queuePattern": "S*"}, {"queuePattern": "SALES.*"}, r"of queue S\*, not of SALES.\*"),
    ],
)
def test_a_checkpoint_belongs_to_one_set_of_queues(
    drivers: Drivers, first: dict[str, str], second: dict[str, str], what: str
) -> None:
    at = drivers.start(**first).initialOffset()
    with pytest.raises(PipelineError, match=what):
        drivers.start(**second).latestOffset(at, TEN)


def test_the_order_of_the_names_does_not_matter(group: TestGroup, drivers: Drivers) -> None:
    everything = fill(group, SALES_1=8, STOCK=8)
    first = drivers.start(queues="STOCK,SALES.1")
    at = first.initialOffset()
    end = first.latestOffset(at, TEN)
    seen = rows(first, at, end)
    rest(first)
    second = drivers.start(queues="SALES.1, STOCK")
    assert rows(second, at, end) == seen
    batches = to_the_end(second, end)
    found = [row["data"] for row in seen] + [body for batch in batches for _, body in batch]
    assert sorted(found) == sorted(everything)


def test_a_query_of_one_batch_takes_all_of_all_queues(group: TestGroup, drivers: Drivers) -> None:
    everything = fill(group, SALES_1=40, SALES_2=3, STOCK=200)
    reader = drivers.start(queuePattern="S*", rowsPerPartition="50")
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadAllAvailable())
    assert sorted(row["data"] for row in rows(reader, at, end)) == sorted(everything)


# -- the commands ------------------------------------------------------------------------------------------------------


def begin(drivers: Drivers, checkpoint: Checkpoint) -> tuple[Offset, Offset]:
    """A batch that a sink has failed with."""
    reader = drivers.start(queues=NAMES)
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadMaxRows(100))
    rows(reader, at, end)
    rest(reader)
    reader.stop()
    checkpoint.begin(0, end)
    return at, end


def test_a_release_gives_each_queue_its_own_back(group: TestGroup, drivers: Drivers, checkpoint: Checkpoint) -> None:
    fill(group, SALES_1=3, SALES_3=4, STOCK=5)
    begin(drivers, checkpoint)
    found = release_stream(group.settings, "billing", checkpoint=checkpoint.path, begun="undone")
    assert (found, in_doubt(group)) == (Released(12, 0), 0)
    assert left(group) == {"SALES.1": 3, "SALES.2": 0, "SALES.3": 4, "STOCK": 5}


def test_a_failing_batch_moves_to_the_backout_queue_of_each(
    group: TestGroup, drivers: Drivers, checkpoint: Checkpoint
) -> None:
    everything = fill(group, SALES_1=3, SALES_3=4, STOCK=5)
    group.define_shared("SALES.BACKOUT", "S1")
    group.define_shared("STOCK.BACKOUT", "S0")
    for name in ("SALES.1", "SALES.3"):
        group.repository("QM1").alter("QLOCAL", name, {"backout_requeue_q_name": "SALES.BACKOUT"})
    at, end = begin(drivers, checkpoint)
    with pytest.raises(PipelineError, match="queue STOCK: has no BOQNAME"):
        back_out_batch(group.settings, "billing", checkpoint.path)
    group.repository("QM1").alter("QLOCAL", "STOCK", {"backout_requeue_q_name": "STOCK.BACKOUT"})
    assert back_out_batch(group.settings, "billing", checkpoint.path) == (12, "SALES.BACKOUT, STOCK.BACKOUT")
    with group.connect() as connection:
        moved = [browse_all(connection.open(name, BOTH)) for name in ("SALES.BACKOUT", "STOCK.BACKOUT")]
    assert [len(bodies) for bodies in moved] == [7, 5]
    assert sorted(moved[0] + moved[1]) == sorted(everything)
    assert rows(drivers.start(queues=NAMES), at, end) == []
    assert (left(group), in_doubt(group)) == (dict.fromkeys(QUEUES, 0), 0)


# -- with Spark --------------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_a_query_moves_several_queues_to_the_queues_that_its_rows_name(
    spark: SparkSession, group: TestGroup, tmp_path: Path
) -> None:
    everything = fill(group, SALES_1=30, SALES_2=20, STOCK=10)
    for name in QUEUES:
        group.define_shared(f"COPY.OF.{name}", "S0")
    spark.dataSource.register(QueueSource)
    at = {"url": str(group.settings.redis_url), "group": group.group.name, "qmgr": "QM1"}
    told = {"queuePattern": "S*", "stream": "several", "maxMessagesPerTrigger": "25"}
    table = spark.readStream.format("igq").options(**at, **told).load()
    moved = table.selectExpr("concat('COPY.OF.', queue) AS queue", "data").writeStream.format("igq")
    moved = moved.options(**at).option("checkpointLocation", str(tmp_path / "checkpoint"))
    with Watch(group):
        moved.trigger(availableNow=True).start().awaitTermination()
    assert (left(group), in_doubt(group)) == (dict.fromkeys(QUEUES, 0), 0)
    found = []
    with group.connect() as connection:
        for name in QUEUES:
            bodies = browse_all(connection.open(f"COPY.OF.{name}", BOTH))
            assert {body.split()[0].decode() for body in bodies} <= {name}
            found += bodies
    assert sorted(found) == sorted(everything)
