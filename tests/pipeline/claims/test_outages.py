"""Redis or a manager is away for a while: a query, its tasks and its sink go on, and nothing is lost or doubled."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.datasource.journal import stream as journal_stream
from igq.pipeline.datasource.journal.stream import JournalStreamReader
from igq.pipeline.datasource.options import SourceOptions
from igq.pipeline.datasource.queue.sink import Sink
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import JOURNAL
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import UnitBatch
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.outage import is_away, ride_out
from tests.pipeline.claims.test_other_manager import fail
from tests.pipeline.schemas import schema_of
from tests.pipeline.streams import EVERYTHING, Drivers, Watch, bodies, in_doubt, open_orders, rest
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup
from tests.support.scenes import stored
from tests.support.server import Server

FIVE = ReadMaxRows(5)
AWAY_S = 0.5


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(fsync="always")
    yield server
    server.close()


@pytest.fixture
def there(server: Server, tmp_path: Path) -> Iterator[TestGroup]:
    """A group with ORDERS on a server that a test kills."""
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.add_member("QM2")
    open_orders(group)
    yield group
    group.close()


@pytest.fixture
def reader(there: TestGroup) -> Iterator[QueueStreamReader]:
    drivers = Drivers(there)
    yield drivers.start(qmgr=there.group.name)
    drivers.close()


def away(server: Server) -> threading.Thread:
    """Kill the server. It comes back after a while."""

    def come_back() -> None:
        time.sleep(AWAY_S)
        server.start()

    server.kill()
    thread = threading.Thread(target=come_back)
    thread.start()
    return thread


def to_the_end(reader: QueueStreamReader, at: Offset, between: Callable[[], object] = lambda: None) -> list[bytes]:
    seen: list[bytes] = []
    while (end := reader.latestOffset(at, FIVE)) != at:
        between()
        seen += bodies(reader, at, end)
        at = end
    return seen


@pytest.mark.parametrize("step", ["before the batch", "before it is read", "while it is read", "before the next"])
def test_redis_is_away_and_the_query_goes_on(
    server: Server, there: TestGroup, reader: QueueStreamReader, step: str
) -> None:
    at = reader.initialOffset()
    with Watch(there):
        if step == "before the batch":
            away(server)
        end = reader.latestOffset(at, FIVE)
        if step == "before it is read":
            rest(reader)
            away(server)
        partitions, seen = reader.partitions(at, end), []
        for partition in partitions:
            for batch in reader.read(partition):
                seen += batch.column("data").to_pylist()
            if step == "while it is read":
                rest(reader)
                away(server).join()
        if step == "before the next":
            away(server)
        seen += to_the_end(reader, end)
    assert seen == EVERYTHING
    assert (in_doubt(there), stored(there)) == (0, 0)


def test_a_task_that_reads_asks_again_over_a_new_connection(
    server: Server, there: TestGroup, reader: QueueStreamReader
) -> None:
    at = reader.initialOffset()
    end = reader.latestOffset(at, ReadMaxRows(100))
    assert in_doubt(there) == len(EVERYTHING)
    (first, *others) = reader.partitions(at, end)
    away(server)
    # Redis is away when the task begins.
    seen = [
        body for partition in (first, *others) for batch in reader.read(partition) for body in batch["data"].to_pylist()
    ]
    assert seen == EVERYTHING


def test_an_outage_that_lasts_is_an_error(server: Server, there: TestGroup) -> None:
    reader = Drivers(there).start(outage_s="1")
    at = reader.initialOffset()
    server.kill()
    began_s = time.monotonic()
    with pytest.raises(MQIError, match=r"2009|2059"):
        reader.latestOffset(at, FIVE)
    assert time.monotonic() - began_s >= 0.5
    server.start()
    with Watch(there):
        reader.stop()


def test_the_first_step_of_a_query_waits_for_nobody(server: Server, there: TestGroup) -> None:
    """A wrong URL is told at once."""
    server.kill()
    began_s = time.monotonic()
    with pytest.raises(MQIError, match=r"2009|2059"):
        Drivers(there).start().initialOffset()
    assert time.monotonic() - began_s < 20
    server.start()


@pytest.mark.parametrize("qmgr", ["QM1,QM2", "QT01", "*QT01"])
def test_a_manager_dies_and_the_query_goes_on_at_another(group: TestGroup, drivers: Drivers, qmgr: str) -> None:
    open_orders(group)
    group.add_member("QM2")
    reader = drivers.start(qmgr=qmgr.replace("QT01", group.group.name))
    at = reader.initialOffset()
    end = reader.latestOffset(at, FIVE)
    assert reader._claims._held is not None
    assert reader._claims._held.qmgr_name == "QM1"
    seen = bodies(reader, at, end)
    rest(reader)
    fail(group, "QM1")
    reader._break_off()
    with Watch(group, but="QM1"):
        seen += to_the_end(reader, end)
    assert reader._claims._held.qmgr_name == "QM2"
    assert seen == EVERYTHING
    assert (in_doubt(group), stored(group)) == (0, 0)


def test_a_private_queue_has_one_manager(group: TestGroup, drivers: Drivers) -> None:
    open_orders(group)
    group.define_private("QM1", "OWN")
    for qmgr in ("QM1,QM2", group.group.name):
        with pytest.raises(PipelineError, match="OWN: is a private queue of QM1: say qmgr=QM1"):
            drivers.start(qmgr=qmgr, queue="OWN").initialOffset()
    assert drivers.start(qmgr="QM1", queue="OWN").initialOffset()["owner"] == "QM1"


# -- the sink ----------------------------------------------------------------------------------------------------------

DATA = schema_of(data="binary")


def sink_of(group: TestGroup, **more: Any) -> Sink:
    options = {"url": str(group.settings.redis_url), "group": group.group.name, "queue": "COPY", **more}
    return Sink.of(DATA, SourceOptions(options, ("queue", "qmgr", "outage_s")), overwrite=False)


def rows(count: int, before_each: Callable[[int], object]) -> Iterator[pa.RecordBatch]:
    for number in range(count):
        before_each(number)
        yield pa.RecordBatch.from_pydict({"data": [b"%d" % number]}, schema=to_arrow_schema(DATA))


@pytest.mark.parametrize("at", [0, 2, 5])
def test_a_task_puts_a_unit_of_work_again_after_an_outage(
    server: Server, there: TestGroup, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr("igq.pipeline.datasource.queue.sink.UNIT_MESSAGES", 2)
    sink, batch, name = sink_of(there), UnitBatch("query/q/COPY", 0), "igq.spark/q/0/0.1"
    copy = there.connect("QM2")
    with Watch(there):
        done = sink.prepare(rows(6, lambda number: away(server) if number == at else None), batch, name)
        assert len(done.xids) == 3
        away(server)
        assert sink.commit(batch, done.xids)
        sink.back_out("igq.spark/q/0/")
    del copy
    assert browse_all(there.connect("QM2").open("COPY", BOTH)) == [b"%d" % number for number in range(6)]
    assert in_doubt(there) == 0


def test_a_unit_prepared_without_an_answer_is_not_put_twice(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    open_orders(group)
    prepare, calls = QueueManagerConnection.prepare, iter([True])

    def without_answer(self: QueueManagerConnection, *what: Any, **how: Any) -> int:
        found = prepare(self, *what, **how)
        if next(calls, False):
            raise error_for(MQRC.CONNECTION_BROKEN, "", "QM1")
        return found

    monkeypatch.setattr(QueueManagerConnection, "prepare", without_answer)
    sink, batch = sink_of(group), UnitBatch("query/q/COPY", 0)
    done = sink.prepare(rows(3, lambda _: None), batch, "igq.spark/q/0/0.1")
    assert in_doubt(group) == 6
    sink.commit(batch, done.xids)
    sink.back_out("igq.spark/q/0/")
    assert browse_all(group.connect().open("COPY", BOTH)) == [b"0", b"1", b"2"]
    assert in_doubt(group) == 0


# -- the journal -------------------------------------------------------------------------------------------------------


def test_a_stream_of_the_journal_goes_on_after_an_outage(server: Server, there: TestGroup) -> None:
    options = {"url": str(there.settings.redis_url), "group": there.group.name, "entriesPerPartition": "2"}
    reader = JournalStreamReader(JOURNAL, SourceOptions(options, journal_stream.OPTIONS))
    at, seen = reader.initialOffset(), 0
    for _ in range(2):
        away(server)
        end = reader.latestOffset(at, ReadMaxRows(6))
        away(server)
        for partition in reader.partitions(at, end):
            seen += sum(batch.num_rows for batch in reader.read(partition))
        at = end
    reader.stop()
    assert seen >= 12


# -- the way to do it --------------------------------------------------------------------------------------------------


def test_only_an_outage_is_ridden_out() -> None:
    assert is_away(error_for(MQRC.CONNECTION_BROKEN, "", "QM1"))
    assert not is_away(error_for(MQRC.NOT_AUTHORIZED, "", "QM1"))
    assert not is_away(PipelineError("no"))
    steps = iter([error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", "QM1"), error_for(MQRC.CF_STRUC_IN_USE, "", "S"), None])

    def step() -> int:
        error = next(steps)
        if error is not None:
            raise error
        return os.getpid()

    losses: list[int] = []
    assert ride_out(5, step, lambda: losses.append(1)) == os.getpid()
    assert losses == [1, 1]
