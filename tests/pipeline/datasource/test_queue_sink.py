"""`format("igq")`, writing: against real queues, with tasks that fail, are tried again, or outlive their job."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from igq.pipeline.claims.write_jobs import jobs_in, release_job
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue import sink as queue_sink
from igq.pipeline.datasource.queue.sink import Prepared, QueueStreamWriter, QueueWriter, Sink
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.unit.in_doubt import UnitBatch, prepared_units
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.mqi.xa import XAError, XAReturn
from tests.pipeline.schemas import schema_of
from tests.support.backups import lose
from tests.support.groups import BOTH, LMIG, MIG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import stored

DATA = schema_of(data="binary")


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """An empty shared queue; another one is COPY."""
    group.define_structure()
    group.define_shared("ORDERS")
    group.define_shared("COPY")
    return group.connect().open("ORDERS", BOTH)


def options(where: TestGroup, **more: str) -> dict[str, str]:
    url = where.settings.redis_url
    assert url is not None
    return {"url": url, "group": where.group.name, "queue": "ORDERS", **more}


def write(table: DataFrame, where: TestGroup, **more: Any) -> None:
    table.sparkSession.dataSource.register(QueueSource)
    table.write.format("igq").options(**options(where, **more)).mode("append").save()


def writer(where: TestGroup, schema: StructType = DATA, **more: str) -> QueueWriter:
    return QueueWriter(schema, SourceOptions(options(where, **more), queue_sink.OPTIONS), overwrite=False)


def rows(*bodies: bytes) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"data": list(bodies)}, schema=to_arrow_schema(DATA))]


def prepared(job: QueueWriter, attempt: str, *bodies: bytes) -> Prepared:
    """The steps of a task of *job*."""
    return job._sink.prepare(rows(*bodies), job._run, f"{job._name}/{attempt}")


def in_doubt(where: TestGroup) -> int:
    return len(prepared_units(where.group))


# -- through Spark -----------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.share
def test_rows_become_messages(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    table = spark.range(0, 1000, numPartitions=3).select(
        F.col("id").cast("string").alias("data"), (F.col("id") % 10).cast("int").alias("priority")
    )

    write(table, group)

    assert sorted(int(body) for body in browse_all(orders)) == list(range(1000))
    first = orders.get().md
    assert (first.priority, first.put_appl_name, first.msg_id == NULL_ID) == (9, b"igq pipeline", False)
    assert in_doubt(group) == 0


@pytest.mark.spark
def test_a_queue_read_and_written_is_the_same_queue(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    """Except for fields that the queue sets. A descriptor has the put time in hundredths of a second."""
    for number in range(20):
        orders.put(b"%d" % number, MQMD(priority=number % 3, format=b"MQSTR", report=64, correl_id=b"c" * 24))
        put_member(orders, b"g", number + 1, b"m%d" % number, LMIG if number == 19 else MIG, persistence=1)
    orders.put(b"", MQMD(feedback=5))
    table = spark.read.format("igq").options(**options(group), columns="all").load()

    write(table.coalesce(1), group, queue="COPY")

    copy = spark.read.format("igq").options(**options(group, queue="COPY"), columns="all").load()
    left = ("queue", "position", "message_id", "put_at")
    assert [row.asDict() for row in copy.drop(*left).collect()] == [row.asDict() for row in table.drop(*left).collect()]


@pytest.mark.spark
@pytest.mark.share
def test_a_job_that_fails_leaves_nothing(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    group.define_shared("SMALL", max_depth=25)
    table = spark.range(0, 40, numPartitions=4).select(F.col("id").cast("string").alias("data"))

    with pytest.raises(Exception, match=r"SMALL: MQRC_Q_FULL \(2053\)"):
        write(table, group, queue="SMALL")

    assert orders.name == "ORDERS"
    assert in_doubt(group) == 0
    assert stored(group) == 0


@pytest.mark.spark
@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"queue": "NONE"}, r"NONE: MQRC_UNKNOWN_OBJECT_NAME \(2085\)"),
        ({"qmgr": "QM7"}, r"QM7: MQRC_Q_MGR_NAME_ERROR \(2058\)"),
        ({"jobId": "a/b"}, "jobId=a/b: allowed"),
        ({"job": "a"}, "unknown option job; allowed: group, url, queue, qmgr, jobId"),
        ({"url": "unix:///nowhere/at/all"}, r"MQRC_Q_MGR_NOT_AVAILABLE \(2059\), Redis cannot be reached"),
    ],
)
@pytest.mark.share
def test_an_impossible_write_is_one_clear_error(
    spark: SparkSession, group: TestGroup, orders: Queue, more: dict[str, str], what: str
) -> None:
    with pytest.raises(Exception, match=what):
        write(spark.sql("SELECT 'x' AS data"), group, **more)
    assert browse_all(orders) == []


@pytest.mark.spark
def test_a_queue_is_never_overwritten(spark: SparkSession, group: TestGroup, orders: Queue) -> None:
    orders.put(b"there")
    spark.dataSource.register(QueueSource)
    writing = spark.sql("SELECT 'x' AS data").write.format("igq").options(**options(group))
    with pytest.raises(Exception, match="can only be added to a queue"):
        writing.mode("overwrite").save()
    assert browse_all(orders) == [b"there"]


# -- tasks that are tried again, jobs that die -------------------------------------------------------------------------


@pytest.mark.share
def test_only_the_attempts_that_spark_chose_are_committed(group: TestGroup, orders: Queue) -> None:
    job = writer(group)
    first, lost = prepared(job, "0.1", b"1"), prepared(job, "1.2", b"2")
    second = prepared(job, "1.3", b"2")
    assert browse_all(orders) == []

    job.commit([first, second])

    assert browse_all(orders) == [b"1", b"2"]
    assert lost.xids != second.xids
    assert in_doubt(group) == 0
    assert stored(group) == 2


def test_an_attempt_that_outlives_its_job_leaves_nothing(group: TestGroup, orders: Queue) -> None:
    committed, aborted = writer(group), writer(group)
    committed.commit([prepared(committed, "0.1", b"1")])
    aborted.abort([prepared(aborted, "0.1", b"2"), None])
    for job in (committed, aborted):
        with pytest.raises(XAError) as caught:
            prepared(job, "0.9", b"late")
        assert caught.value.code == XAReturn.XAER_PROTO

    assert browse_all(orders) == [b"1"]
    assert in_doubt(group) == 0
    assert stored(group) == 1


@pytest.mark.share
def test_one_unit_of_work_that_is_gone_keeps_the_job_from_its_commit(group: TestGroup, orders: Queue) -> None:
    job = writer(group)
    done = [prepared(job, "0.1", b"1"), prepared(job, "1.2", b"2")]
    assert group.connect().backout_prepared(done[1].xids[0], qmgr=group.group.name)

    with pytest.raises(PipelineError, match="the job was ended while it ran"):
        job.commit(list(done))
    job.abort(list(done))

    assert browse_all(orders) == []
    assert in_doubt(group) == 0


@pytest.mark.usefixtures("orders")
def test_a_job_whose_queue_is_lost_before_its_commit_fails(group: TestGroup) -> None:
    job = writer(group)
    done: list[WriterCommitMessage | None] = [prepared(job, "0.1", b"1"), prepared(job, "1.2", b"2")]
    lose(group)

    with pytest.raises(MQIError, match="2 of 2") as caught:
        job.commit(done)
    job.abort(done)

    assert caught.value.reason == MQRC.OUTCOME_MIXED
    assert in_doubt(group) == 0


def test_a_task_with_more_than_a_unit_of_work_holds_prepares_several(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_sink, "UNIT_MESSAGES", 3)
    bodies = [b"%d" % number for number in range(8)]
    job = writer(group)
    done = prepared(job, "0.1", *bodies)
    assert len(done.xids) == 3

    job.commit([done])

    assert browse_all(orders) == bodies


@pytest.mark.share
def test_too_many_units_of_work_for_one_decision_are_refused_entirely(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_sink, "UNIT_MESSAGES", 1)
    monkeypatch.setattr(queue_sink, "TOGETHER_MAX", 3)
    job = writer(group)
    # The task with too many refuses before it puts more; or the driver does, if only all together are too many.
    with pytest.raises(
        PipelineError, match=r"4 units of work are too many .* \(at most 3\): .* MAXUMSGS of the managers"
    ):
        prepared(job, "0.1", b"1", b"2", b"3", b"4", b"5")
    assert in_doubt(group) == 0
    done: list[WriterCommitMessage | None] = [prepared(job, f"{task}.2", b"1", b"2") for task in range(2)]
    with pytest.raises(PipelineError, match="4 units of work are too many"):
        job.commit(done)
    job.abort(done)
    assert (in_doubt(group), stored(group), browse_all(orders)) == (0, 0, [])


@pytest.mark.share
def test_a_task_that_fails_backs_out_what_it_had_prepared(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_sink, "UNIT_MESSAGES", 2)
    job = writer(group)
    wrong = pa.RecordBatch.from_pydict({"data": [None]}, schema=to_arrow_schema(DATA))

    with pytest.raises(PipelineError, match="data is null"):
        job._sink.prepare([*rows(b"1", b"2", b"3"), wrong], job._run, f"{job._name}/0.1")

    assert in_doubt(group) == 0
    assert stored(group) == 0
    assert browse_all(orders) == []


@pytest.mark.share
def test_the_next_run_of_an_uncommitted_named_job_does_it_once(group: TestGroup, orders: Queue) -> None:
    left_alone = writer(group, jobId="nightly")
    left = prepared(left_alone, "0.1", b"1")
    assert in_doubt(group) == 1

    again = writer(group, jobId="nightly")
    assert in_doubt(group) == 0
    again.commit([prepared(again, "0.2", b"1")])
    # Neither the driver that seemed dead nor a third run changes anything.
    with pytest.raises(XAError):
        Sink.commit(left_alone._sink, UnitBatch("another"), left.xids)
    third = writer(group, jobId="nightly")
    third.commit([third.write(iter(rows(b"1")))])

    assert browse_all(orders) == [b"1"]
    assert in_doubt(group) == 0


@pytest.mark.parametrize("is_done", [False, True])
def test_the_next_run_backs_out_a_named_jobs_work_at_another_manager(
    group: TestGroup, orders: Queue, is_done: bool
) -> None:
    group.add_member("QM2")
    elsewhere = writer(group, jobId="nightly", qmgr="QM2")
    prepared(elsewhere, "0.1", b"1")
    if is_done:
        # As an earlier version ran, which did not check there.
        elsewhere._sink.commit(elsewhere._job, ())
    assert in_doubt(group) == 1

    again = writer(group, jobId="nightly", qmgr="QM1")
    assert in_doubt(group) == 0
    again.commit([again.write(iter(rows(b"1"))) if is_done else prepared(again, "0.2", b"1")])
    assert browse_all(orders) == ([] if is_done else [b"1"])


@pytest.mark.parametrize("is_done", [False, True])
def test_a_task_that_outlives_its_driver_adds_nothing_to_the_next_run(
    group: TestGroup, orders: Queue, is_done: bool
) -> None:
    earlier = writer(group, jobId="nightly")
    again = writer(group, jobId="nightly")
    if is_done:
        again.commit([prepared(again, "0.2", b"1")])
    with pytest.raises(XAError) as caught:
        prepared(earlier, "0.1", b"1")
    assert caught.value.code == XAReturn.XAER_PROTO
    if not is_done:
        again.commit([prepared(again, "0.2", b"1")])
    assert (browse_all(orders), in_doubt(group)) == ([b"1"], 0)


@pytest.mark.parametrize("name", ["", "nightly"])
@pytest.mark.share
def test_a_job_that_was_released_fails_and_leaves_nothing(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(queue_sink, "_attempt", lambda: "1.2")
    job, other = writer(group, jobId=name), writer(group, jobId="other")
    done = prepared(job, "0.1", b"1", b"2")
    kept = prepared(other, "0.1", b"3")
    found = {each.name: each for each in jobs_in(group.settings)}
    released = name or job._run.series.removeprefix("run/")
    assert sorted(found) == sorted(["other", released])
    assert (found[released].queues, found[released].units, found[released].messages) == (("ORDERS",), 1, 2)

    assert release_job(group.settings, released) == 2
    with pytest.raises(PipelineError, match="the job was ended while it ran"):
        job.write(iter(rows(b"late")))
    with pytest.raises(PipelineError, match="the job was ended while it ran"):
        job.commit([done])
    job.abort([done])
    assert (browse_all(orders), in_doubt(group)) == ([], 1)
    with pytest.raises(PipelineError, match="it has no messages in doubt"):
        release_job(group.settings, released)
    # It can be run again, and the other one goes on.
    again = writer(group, jobId=name)
    again.commit([prepared(again, "0.1", b"1", b"2")])
    other.commit([kept])
    assert (sorted(browse_all(orders)), in_doubt(group)) == ([b"1", b"2", b"3"], 0)


def test_a_job_whose_commit_had_no_answer_is_not_taken_for_released(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = writer(group)
    done = prepared(job, "0.1", b"1")
    commit = QueueManagerConnection.commit_prepared_together

    def without_answer(connection: QueueManagerConnection, *what: Any, **how: Any) -> bool:
        monkeypatch.undo()
        commit(connection, *what, **how)
        raise error_for(MQRC.CONNECTION_BROKEN, "MQCMIT", "QM1")

    monkeypatch.setattr(QueueManagerConnection, "commit_prepared_together", without_answer)
    job.commit([done])
    assert (browse_all(orders), in_doubt(group)) == ([b"1"], 0)


def test_the_batch_of_a_released_query_is_put_again(group: TestGroup, orders: Queue) -> None:
    sink, batch = writer(group)._sink, UnitBatch("query/0b1c", 7)
    first = sink.prepare(rows(b"1"), batch, f"{queue_sink._name_of(batch)}0.1")
    assert release_job(group.settings, "0b1c") == 1
    with pytest.raises(XAError):
        sink.commit(batch, first.xids)
    sink.commit(batch, sink.prepare(rows(b"1"), batch, f"{queue_sink._name_of(batch)}0.2").xids)
    assert (browse_all(orders), in_doubt(group)) == ([b"1"], 0)


def test_a_named_job_that_was_aborted_can_be_run_again(group: TestGroup, orders: Queue) -> None:
    failed = writer(group, jobId="nightly")
    failed.abort([prepared(failed, "0.1", b"1")])
    again = writer(group, jobId="nightly")
    again.commit([prepared(again, "0.2", b"1")])
    assert browse_all(orders) == [b"1"]


@pytest.mark.share
def test_a_named_job_that_was_done_before_says_so(
    group: TestGroup, orders: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    first = writer(group, jobId="nightly")
    first.commit([prepared(first, "0.1", b"1")])
    assert caplog.messages == []
    writer(group, jobId="nightly")
    assert caplog.messages == [f"job_done_before jobId=nightly queue={orders.name} put=nothing"]


class Task:
    """The properties that Spark gives a task of a streaming query."""

    def __init__(self, query: str, number: int) -> None:
        self._told = {"sql.streaming.queryId": query, "streaming.sql.batchId": str(number)}

    def getLocalProperty(self, name: str) -> str:  # noqa: N802 - Spark's name
        return self._told[name]

    def partitionId(self) -> int:  # noqa: N802 - Spark's name
        return 0

    def taskAttemptId(self) -> int:  # noqa: N802 - Spark's name
        return 0


def put_batch(
    where: TestGroup, patch: pytest.MonkeyPatch, number: int, *bodies: bytes, queue: str = "ORDERS", query: str = "q"
) -> None:
    """A batch of a streaming query, by its task and its driver."""
    patch.setattr(TaskContext, "get", lambda: Task(query, number))
    sink = QueueStreamWriter(DATA, SourceOptions(options(where, queue=queue), queue_sink.OPTIONS), overwrite=False)
    sink.commit([sink.write(iter(rows(*bodies)))], number)


@pytest.mark.share
def test_only_the_last_batch_is_passed_over(group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1, 2, 2):
        put_batch(group, monkeypatch, number, b"%d" % number)
    for number in (0, 1):
        with pytest.raises(PipelineError, match=rf"its batch 2 is on ORDERS already, and this is batch {number}: the"):
            put_batch(group, monkeypatch, number, b"new")
    put_batch(group, monkeypatch, 3, b"3")
    assert (browse_all(orders), in_doubt(group)) == ([b"0", b"1", b"2", b"3"], 0)


def test_a_copied_checkpoint_writes_to_another_queue(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        put_batch(group, monkeypatch, number, b"%d" % number)
    for number in (1, 2):
        put_batch(group, monkeypatch, number, b"%d" % number, queue="COPY")
    put_batch(group, monkeypatch, 0, b"0", query="another")
    assert browse_all(orders) == [b"0", b"1", b"2", b"0"]
    assert browse_all(group.connect().open("COPY", BOTH)) == [b"1", b"2"]


def test_a_batch_that_an_older_version_put_is_not_put_again(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its series did not name the queue."""
    group.connect().commit_prepared_together((), UnitBatch("query/q", 4))
    put_batch(group, monkeypatch, 4, b"4")
    put_batch(group, monkeypatch, 5, b"5")
    assert browse_all(orders) == [b"5"]


# -- streaming ---------------------------------------------------------------------------------------------------------


def stream(spark: SparkSession, where: TestGroup, source: Path, checkpoint: Path) -> None:
    spark.dataSource.register(QueueSource)
    table = spark.readStream.schema("data STRING").option("maxFilesPerTrigger", 1).json(str(source))
    query = (
        table.writeStream.format("igq")
        .options(**options(where))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


@pytest.mark.spark
def test_a_batch_that_is_repeated_changes_nothing(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    for number in range(3):
        (source / f"{number}.json").write_text("".join(f'{{"data": "{number}-{row}"}}\n' for row in range(10)))
    expected = sorted(b"%d-%d" % (number, row) for number in range(3) for row in range(10))
    stream(spark, group, source, checkpoint)
    assert sorted(browse_all(orders)) == expected

    # As a crash leaves it after the sink's commit and before Spark's note.
    (checkpoint / "commits" / "2").unlink()
    (checkpoint / "commits" / ".2.crc").unlink(missing_ok=True)
    stream(spark, group, source, checkpoint)

    assert sorted(browse_all(orders)) == expected
    assert in_doubt(group) == 0
    # Another query is not affected.
    shutil.rmtree(checkpoint)
    stream(spark, group, source, checkpoint)
    assert len(browse_all(orders)) == 2 * len(expected)
    assert orders.get(GetOption.SYNCPOINT).body
