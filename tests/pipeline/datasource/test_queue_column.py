"""The columns `queue` and `qmgr` of the sink: each row goes to its queue, all rows by one decision."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import sink as queue_sink
from igq.pipeline.datasource.queue.sink import Prepared, QueueStreamWriter, QueueWriter
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from tests.pipeline.datasource.test_queue_sink import Task
from tests.pipeline.schemas import schema_of
from tests.pipeline.streams import Watch, in_doubt
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored

NAMED = schema_of(data="binary", queue="string")
NAMES = ("ORDERS", "COPY", "STOCK")


@pytest.fixture(autouse=True)
def _queues(group: TestGroup) -> None:
    """Three queues in two structures."""
    for structure in ("APPL1", "APPL2"):
        group.define_structure(structure)
    for name in NAMES:
        group.define_shared(name, "APPL2" if name == "STOCK" else "APPL1")


def there(group: TestGroup) -> dict[str, list[bytes]]:
    with group.connect() as connection:
        return {name: browse_all(connection.open(name, BOTH)) for name in NAMES}


def writer(group: TestGroup, schema: StructType = NAMED, **more: str) -> QueueWriter:
    told = {"url": str(group.settings.redis_url), "group": group.group.name, **more}
    return QueueWriter(schema, SourceOptions(told, queue_sink.OPTIONS), overwrite=False)


def batch(schema: StructType = NAMED, /, **columns: list[Any]) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict(columns, schema=to_arrow_schema(schema))]


def prepared(job: QueueWriter, batches: list[pa.RecordBatch], attempt: str = "0.1") -> Prepared:
    return job._sink.prepare(batches, job._run, f"{job._name}/{attempt}")


ROWS: dict[str, list[Any]] = {
    "data": [b"1", b"2", b"3", b"4", b"5"],
    "queue": ["ORDERS", "COPY", "STOCK", "ORDERS", None],
}


@pytest.mark.share
def test_each_row_goes_to_its_queue_by_one_decision(group: TestGroup) -> None:
    job = writer(group, queue="COPY")
    done = prepared(job, batch(**ROWS))
    assert len(done.xids) == 1
    assert there(group) == {name: [] for name in NAMES}
    job.commit([done])
    assert there(group) == {"ORDERS": [b"1", b"4"], "COPY": [b"2", b"5"], "STOCK": [b"3"]}
    assert in_doubt(group) == 0


def test_a_job_that_fails_leaves_nothing_on_any_queue(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_sink, "UNIT_MESSAGES", 2)
    job = writer(group, queue="COPY")
    with pytest.raises(MQIError, match="NONE") as caught:
        prepared(job, batch(data=[b"1", b"2", b"3"], queue=["ORDERS", "STOCK", "NONE"]))
    assert caught.value.reason == MQRC.UNKNOWN_OBJECT_NAME
    aborted = prepared(job, batch(**ROWS), "0.2")
    job.abort([aborted])
    assert there(group) == {name: [] for name in NAMES}
    assert (in_doubt(group), stored(group), stored(group, "APPL2")) == (0, 0, 0)


@pytest.mark.share
def test_without_a_queue_it_is_refused(group: TestGroup) -> None:
    with pytest.raises(
        PipelineError, match=r"the option queue is missing: .*; or give each row one, in a column queue"
    ):
        writer(group, schema_of(data="binary"))
    with pytest.raises(PipelineError, match="column queue is int, must be string"):
        writer(group, schema_of(data="binary", queue="integer"))
    job = writer(group)
    with pytest.raises(PipelineError, match="queue is null in a row, and the option queue is missing"):
        prepared(job, batch(**ROWS))
    assert there(group) == {name: [] for name in NAMES}
    job.commit([prepared(job, batch(data=[b"1"], queue=["STOCK"]), "0.2")])
    assert there(group) == {"ORDERS": [], "COPY": [], "STOCK": [b"1"]}


def test_a_row_may_name_a_manager(group: TestGroup) -> None:
    group.define_private("QM1", "OWN")
    schema = schema_of(data="binary", queue="string", qmgr="string")
    job = writer(group, schema, qmgr="QM1", queue="COPY")
    rows: dict[str, list[Any]] = {
        "data": [b"1", b"2", b"3"],
        "queue": ["OWN", "ORDERS", None],
        "qmgr": ["QM1", None, None],
    }
    job.commit([prepared(job, batch(schema, **rows))])
    assert there(group) == {"ORDERS": [b"2"], "COPY": [b"3"], "STOCK": []}
    assert browse_all(group.connect().open("OWN", BOTH)) == [b"1"]
    with pytest.raises(MQIError) as caught:
        prepared(job, batch(schema, data=[b"4"], queue=["OWN"], qmgr=["NOBODY"]), "0.3")
    assert caught.value.reason == MQRC.UNKNOWN_REMOTE_Q_MGR


def test_a_task_has_a_bounded_number_of_queues_open(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_sink, "_OPEN_MAX", 2)
    monkeypatch.setattr(queue_sink, "_PUT_MESSAGES", 2)
    job = writer(group)
    bodies = [b"%d" % number for number in range(30)]
    done = prepared(job, batch(data=bodies, queue=[NAMES[number % 3] for number in range(30)]))
    job.commit([done])
    assert there(group) == {name: bodies[at::3] for at, name in enumerate(NAMES)}


@pytest.mark.share
def test_where_a_message_was_read_is_not_where_it_goes(group: TestGroup) -> None:
    """A table that was read has the column too, beside `message_id`: then the option counts, if it is there."""
    schema = schema_of(data="binary", queue="string", message_id="string")
    rows: dict[str, list[Any]] = {"data": [b"1", b"2"], "queue": ["ORDERS", "STOCK"], "message_id": ["1", "2"]}
    job = writer(group, schema, queue="COPY")
    job.commit([prepared(job, batch(schema, **rows))])
    assert there(group) == {"ORDERS": [], "COPY": [b"1", b"2"], "STOCK": []}
    back = writer(group, schema)
    back.commit([prepared(back, batch(schema, **rows))])
    assert there(group) == {"ORDERS": [b"1"], "COPY": [b"1", b"2"], "STOCK": [b"2"]}


@pytest.mark.share
@pytest.mark.parametrize("queue", ["COPY", ""])
def test_a_stream_passes_over_a_batch_that_is_on_all_queues(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    told = {"url": str(group.settings.redis_url), "group": group.group.name, "queue": queue}

    def put_batch(number: int) -> None:
        monkeypatch.setattr(TaskContext, "get", lambda: Task("q", number))
        sink = QueueStreamWriter(NAMED, SourceOptions(told, queue_sink.OPTIONS), overwrite=False)
        rows = batch(data=[b"%d" % number] * 3, queue=list(NAMES))
        sink.commit([sink.write(iter(rows))], number)

    for number in (0, 1, 1):
        put_batch(number)
    with pytest.raises(PipelineError, match=r"its batch 1 is on .* already, and this is batch 0"):
        put_batch(0)
    assert there(group) == {name: [b"0", b"1"] for name in NAMES}
    assert in_doubt(group) == 0


@pytest.mark.spark
def test_a_table_is_distributed_through_spark(spark: SparkSession, group: TestGroup) -> None:
    spark.dataSource.register(QueueSource)
    table = spark.range(0, 90, numPartitions=3).selectExpr(
        "CAST(id AS STRING) AS data", f"element_at(array{NAMES}, CAST(id % 3 AS INT) + 1) AS queue"
    )
    at = {"url": str(group.settings.redis_url), "group": group.group.name}
    with Watch(group):
        table.write.format("igq").options(**at).mode("append").save()
    found = there(group)
    assert {name: sorted(map(int, bodies)) for name, bodies in found.items()} == {
        name: list(range(first, 90, 3)) for first, name in enumerate(NAMES)
    }


def test_rows_of_several_queues_have_the_defaults_of_their_own(group: TestGroup) -> None:
    """Rows that share a descriptor: what one queue fills in there is not meant for the other."""
    for name, priority in (("ORDERS", 3), ("COPY", 7)):
        group.repository("QM1").alter("QLOCAL", name, {"def_priority": priority})
    job = writer(group)
    job.commit([prepared(job, batch(data=[b"1", b"2", b"3", b"4"], queue=["ORDERS", "COPY"] * 2))])
    for name, priority in (("ORDERS", 3), ("COPY", 7)):
        found = group.connect().open(name, BOTH).get_many(10)
        assert [message.md.priority for message in found] == [priority] * 2
        assert len({message.md.msg_id for message in found}) == 2
