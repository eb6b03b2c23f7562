"""A query that ends for good, by the notes in its checkpoint: processed messages leave the queue for ever."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadMaxRows
from typer.testing import CliRunner

from igq.pipeline.claims.release import BegunBatch, Released, claims_in, processed_claims, release_stream
from igq.pipeline.cli.app import build_app
from igq.pipeline.datasource.queue.source import QueueSource
from igq.pipeline.datasource.queue.stream import Offset
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue
from tests.pipeline.streams import EVERYTHING, Checkpoint, Drivers, Watch, bodies, in_doubt, open_orders, rest
from tests.support.groups import browse_all
from tests.support.members import TestGroup


def offset(claims: str, stream: str | None = "billing") -> Offset:
    found: Offset = {"batch": 1, "claims": claims, "term": 0}
    return found if stream is None else found | {"stream": stream}


def test_the_claims_of_the_last_batch_that_is_noted_count(checkpoint: Checkpoint) -> None:
    checkpoint.begin(8, offset("a:2"))
    checkpoint.end(8)
    checkpoint.begin(9, offset("b:1"), offset("other:3", "orders"))
    checkpoint.end(9)
    assert processed_claims(checkpoint.path, "billing") == {"b:1"}
    assert processed_claims(checkpoint.path, "orders") == {"other:3"}


def test_a_batch_begun_and_not_noted_needs_a_decision(checkpoint: Checkpoint) -> None:
    """Spark notes a batch after its sink has it, so the sink may have it already."""
    checkpoint.begin(8, offset("a:2"))
    checkpoint.end(8)
    checkpoint.begin(9, offset("b:1"))
    with pytest.raises(PipelineError, match="batch 9 was begun and is not noted as processed"):
        processed_claims(checkpoint.path, "billing")
    assert processed_claims(checkpoint.path, "billing", begun="undone") == {"a:2"}
    assert processed_claims(checkpoint.path, "billing", begun="done") == {"b:1"}


def test_a_checkpoint_that_is_damaged_is_not_taken_for_one_of_nothing(checkpoint: Checkpoint) -> None:
    checkpoint.begin(8, offset("a:2"))
    checkpoint.end(9)
    with pytest.raises(PipelineError, match="batch 9 is noted as processed, but its offsets are gone"):
        processed_claims(checkpoint.path, "billing")
    (checkpoint.path / "commits" / "9").unlink()
    (checkpoint.path / "commits").rmdir()
    (checkpoint.path / "commits").write_text("")
    with pytest.raises(PipelineError, match="commits: cannot be read"):
        processed_claims(checkpoint.path, "billing")
    (checkpoint.path / "commits").unlink()
    checkpoint.begin(8, offset("a:2") | {"claims": 7})
    with pytest.raises(PipelineError, match="8: cannot be read"):
        processed_claims(checkpoint.path, "billing")


def test_the_checkpoint_of_an_earlier_query_of_that_name_is_refused(checkpoint: Checkpoint) -> None:
    checkpoint.begin(0, offset("a:2"))
    checkpoint.end(0)
    with pytest.raises(PipelineError, match="is of a released query of that name"):
        processed_claims(checkpoint.path, "billing", term=1)


def test_another_stream_of_the_query_may_have_begun_in_an_earlier_term(checkpoint: Checkpoint) -> None:
    checkpoint.begin(0, offset("a:2") | {"term": 1}, offset("b:1", "orders"))
    checkpoint.end(0)
    assert processed_claims(checkpoint.path, "billing", term=1) == {"a:2"}
    with pytest.raises(PipelineError, match="is of a released query of that name"):
        processed_claims(checkpoint.path, "orders", term=1)


@pytest.mark.parametrize(("name", "value"), [("queue", "BILLS"), ("stream", "orders")])
def test_a_query_with_the_checkpoint_of_another_takes_nothing(
    group: TestGroup, drivers: Drivers, name: str, value: str
) -> None:
    open_orders(group)
    reader = drivers.start()
    start = reader.initialOffset() | {name: value}
    with pytest.raises(PipelineError, match=f"stream billing: the checkpoint is of {name} {value}, not of "):
        reader.latestOffset(start, ReadMaxRows(5))
    assert in_doubt(group) == 0


def test_before_its_first_batch_is_over_nothing_is_processed(checkpoint: Checkpoint) -> None:
    checkpoint.begin(0, offset("a:2"))
    assert processed_claims(checkpoint.path, "billing", begun="undone") == set()


def test_an_offset_of_an_older_version_is_taken_for_the_querys(checkpoint: Checkpoint) -> None:
    checkpoint.begin(0, offset("a:2", None))
    checkpoint.end(0)
    assert processed_claims(checkpoint.path, "billing") == {"a:2"}


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        ([], "its query reads no queue"),
        ([offset("a:1", "orders")], "is not of stream billing: it is of orders"),
        (None, "is not the checkpoint of a streaming query"),
    ],
)
def test_another_directory_is_refused_and_nothing_happens(
    group: TestGroup, drivers: Drivers, checkpoint: Checkpoint, offsets: list[Offset] | None, why: str
) -> None:
    open_orders(group)
    reader = drivers.start()
    reader.latestOffset(reader.initialOffset(), ReadMaxRows(5))
    reader.stop()
    if offsets is not None:
        checkpoint.begin(0, *offsets)
    with pytest.raises(PipelineError, match=why):
        release_stream(group.settings, "billing", checkpoint=checkpoint.path)
    assert in_doubt(group) == 5
    # Its term has not ended, so it can go on.
    assert drivers.start().initialOffset()["term"] == 0


@pytest.mark.parametrize("is_noted", [True, False])
@pytest.mark.parametrize("is_down", [True, False])
def test_processed_messages_leave_the_queue_and_the_rest_returns(
    group: TestGroup, drivers: Drivers, checkpoint: Checkpoint, is_noted: bool, is_down: bool
) -> None:
    orders = open_orders(group)
    group.add_member("QM2")
    reader = drivers.start()
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadMaxRows(5))
    assert bodies(reader, start, end) == EVERYTHING[:5]
    checkpoint.begin(0, end)
    if is_noted:
        checkpoint.end(0)
    # As by kill -9: five more were claimed ahead.
    rest(reader)
    reader._ahead._work = None
    reader.stop()
    if is_down:
        keys = group.group.keys
        group.group.client().zadd(keys.leases, {"QM1.1": 1}, xx=True)
        member = group.group.member("QM1")
        assert member is not None
        state = '{"state":"FAILED"}'
        group.group.call("admin/member_state", [keys.members, keys.fence], ["QM1", member.incarnation, state])

    if not is_noted:
        with pytest.raises(PipelineError, match="batch 0 was begun"):
            release_stream(group.settings, "billing", checkpoint=checkpoint.path)
        assert in_doubt(group) == 10
    begun: BegunBatch = "" if is_noted else "undone"
    released = release_stream(group.settings, "billing", checkpoint=checkpoint.path, begun=begun)

    assert released == (Released(5, 5) if is_noted else Released(10, 0))
    assert (in_doubt(group), claims_in(group.settings)) == (0, [])
    assert sorted(browse_all(orders)) == sorted(EVERYTHING[5:] if is_noted else EVERYTHING)
    # An interrupted release that is repeated changes nothing.
    again = release_stream(group.settings, "billing", checkpoint=checkpoint.path, begun=begun, force=True)
    assert again == Released(0, 0)


@pytest.mark.spark
def test_a_query_that_is_stopped_and_released_has_taken_each_message_once(
    spark: SparkSession, group: TestGroup, tmp_path: Path
) -> None:
    orders = open_orders(group)
    spark.dataSource.register(QueueSource)
    told = {"group": group.group.name, "url": str(group.settings.redis_url), "qmgr": "QM1"}
    source = spark.readStream.format("igq").options(**told, queue="ORDERS", stream="billing", maxMessagesPerTrigger="5")
    checkpoint, copied = tmp_path / "checkpoint", tmp_path / "copied"
    sink = source.load().select("data").writeStream.format("parquet").option("path", str(copied))
    with Watch(group):
        query = sink.option("checkpointLocation", str(checkpoint)).start()
        until = time.monotonic() + 60
        while not (checkpoint / "commits" / "1").exists():
            assert time.monotonic() < until
            assert query.exception() is None
            time.sleep(0.05)
        query.stop()
        arguments = ["release", "billing", "--checkpoint", str(checkpoint)]
        at, env = ["--group", told["group"], "--url", told["url"]], {"IGQ_DATA_DIR": str(tmp_path)}
        while (result := CliRunner().invoke(build_app(), [*arguments, *at], env=env)).exit_code:
            assert time.monotonic() < until
            if "batch 2 was begun" in result.output:
                is_there = (copied / "_spark_metadata" / "2").exists()
                arguments += ["--begun", "done" if is_there else "undone"]
                continue
            # Spark ends the process that holds the query's name at some later time.
            assert "a driver of it is running" in result.output
            time.sleep(0.2)

    taken = [row["data"] for row in spark.read.parquet(str(copied)).collect()]
    assert in_doubt(group) == 0
    assert sorted(taken + left(orders)) == sorted(EVERYTHING)
    assert len(taken) >= 10


def left(queue: Queue) -> list[bytes]:
    """The messages that can still be got; check that they can."""
    return [queue.get().body for _ in range(len(browse_all(queue)))]
