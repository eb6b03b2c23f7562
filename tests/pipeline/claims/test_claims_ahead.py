"""While Spark processes a batch, the one before ends and the next one is claimed: each message comes once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows

from igq.pipeline.claims.claims import Claims, Ending, tag_of
from igq.pipeline.claims.release import release_stream
from igq.pipeline.claims.units import get_messages
from igq.pipeline.datasource.queue.stream import Offset, QueueStreamReader
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue
from sharedq.calls.handles.connect import is_tag_used
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD
from tests.pipeline.streams import EVERYTHING, Drivers, Watch, bodies, die, in_doubt, open_orders, rest, rows
from tests.support.groups import BOTH, LMIG, MIG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost, stored
from tests.support.server import Server

FIVE = ReadMaxRows(5)


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """Twelve messages, three of them a group."""
    return open_orders(group)


def begin(reader: QueueStreamReader, limit: ReadMaxRows = FIVE) -> tuple[Offset, Offset]:
    """The ends of the first batch, which was read. The background work is over."""
    start = reader.initialOffset()
    end = reader.latestOffset(start, limit)
    rest(reader)
    bodies(reader, start, end)
    return start, end


def to_the_end(reader: QueueStreamReader, at: Offset, limit: ReadMaxRows = FIVE) -> list[list[bytes]]:
    """Bodies of each batch after *at*."""
    found = []
    while (end := reader.latestOffset(at, limit)) != at:
        found.append(bodies(reader, at, end))
        at = end
    return found


def in_background() -> bool:
    return threading.current_thread() is not threading.main_thread()


def fail_in_background(monkeypatch: pytest.MonkeyPatch, fail: Callable[[], None], *, at_call: int = 1) -> None:
    """Let *fail* be called once, before unit of work number *at_call* is claimed ahead."""
    calls = iter(range(1, at_call + 1))

    def get(queue: Queue, count: int) -> int:
        if in_background() and next(calls, None) == at_call:
            fail()
        return get_messages(queue, count)

    monkeypatch.setattr("igq.pipeline.claims.claims.get_messages", get)


# -- claims ahead ------------------------------------------------------------------------------------------------------


@pytest.mark.share
def test_after_a_full_batch_the_next_one_is_claimed(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start()
    start, end = begin(reader)
    assert (in_doubt(group), len(browse_all(orders))) == (10, 2)
    assert bodies(reader, start, end) == EVERYTHING[:5]
    assert to_the_end(reader, end) == [EVERYTHING[5:10], EVERYTHING[10:]]
    assert (in_doubt(group), stored(group)) == (0, 0)


@pytest.mark.share
def test_an_offset_has_nothing_of_it(orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    _, end = begin(reader)
    assert sorted(end) == sorted(reader.latestOffset(end, FIVE)) == sorted(reader.initialOffset())


@pytest.mark.parametrize("limit", [13, 100])
@pytest.mark.share
def test_a_query_that_keeps_up_holds_no_more_than_its_batch(
    group: TestGroup, orders: Queue, drivers: Drivers, limit: int
) -> None:
    reader = drivers.start()
    _, end = begin(reader, ReadMaxRows(limit))
    assert reader._ahead._work is None
    orders.put(b"later")
    assert (in_doubt(group), browse_all(orders)) == (12, [b"later"])
    assert to_the_end(reader, end) == [[b"later"]]


def test_the_batch_before_is_over_while_this_one_is_processed(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    _, end = begin(reader)
    reader.latestOffset(end, FIVE)
    rest(reader)
    assert (in_doubt(group), stored(group)) == (7, 7)


def test_a_short_batch_is_filled(orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start()
    _, end = begin(reader, ReadMaxRows(8))
    for number in range(6):
        orders.put(b"new %d" % number)
    found = to_the_end(reader, end, ReadMaxRows(8))
    new = [b"new %d" % number for number in range(6)]
    assert found == [[*EVERYTHING[8:], *new[:4]], new[4:]]


def test_nothing_ahead_of_what_was_there_when_it_began(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start()
    reader.prepareForTriggerAvailableNow()
    for number in range(3):
        orders.put(b"later %d" % number, MQMD(priority=0))
    at, seen = reader.initialOffset(), []
    while (end := reader.latestOffset(at, FIVE)) != at:
        rest(reader)
        assert len(browse_all(orders)) >= 3
        seen += bodies(reader, at, end)
        at = end
    assert seen == EVERYTHING
    assert in_doubt(group) == 0


def test_nothing_ahead_of_a_last_batch_that_is_full(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    orders.put(b"with the others")
    reader = drivers.start()
    reader.prepareForTriggerAvailableNow()
    orders.put(b"later", MQMD(priority=0))
    _, end = begin(reader, ReadMaxRows(13))
    assert (in_doubt(group), browse_all(orders)) == (13, [b"later"])
    assert reader.latestOffset(end, ReadMaxRows(13)) == end


def test_a_smaller_limit_is_kept(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    assert orders.name == "ORDERS"
    reader = drivers.start()
    _, end = begin(reader)
    smaller = reader.latestOffset(end, ReadMaxRows(3))
    found = rows(reader, end, smaller)
    assert [(row["data"], row["backout_count"]) for row in found] == [(body, 1) for body in EVERYTHING[5:8]]
    assert to_the_end(reader, smaller) == [EVERYTHING[8:]]
    assert in_doubt(group) == 0


@pytest.mark.share
def test_groups_are_claimed_whole_ahead(group: TestGroup, drivers: Drivers) -> None:
    group.define_structure()
    group.define_shared("ORDERS")
    orders = group.connect().open("ORDERS", BOTH)
    for name in (b"a", b"b", b"c"):
        for number in range(1, 4):
            put_member(orders, name, number, b"%s%d" % (name, number), LMIG if number == 3 else MIG)
    put_member(orders, b"d", 1, b"d1", MIG)

    reader = drivers.start(wholeGroups="true", rowsPerPartition="2")
    start, end = begin(reader, ReadMaxRows(2))
    assert in_doubt(group) == 6
    assert bodies(reader, start, end) == [b"a1", b"a2", b"a3"]
    assert to_the_end(reader, end, ReadMaxRows(2)) == [[b"b1", b"b2", b"b3"], [b"c1", b"c2", b"c3"]]
    assert (in_doubt(group), browse_all(orders)) == (0, [b"d1"])


# -- the driver dies ---------------------------------------------------------------------------------------------------


@pytest.mark.share
def test_a_dead_drivers_claims_ahead_go_back(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    first = drivers.start()
    start, end = begin(first)
    orders.put(b"more urgent", MQMD(priority=9))

    second = drivers.start()
    assert bodies(second, start, end) == EVERYTHING[:5]
    found = rows(second, end, second.latestOffset(end, FIVE))

    assert [(row["data"], row["backout_count"]) for row in found] == [
        (b"more urgent", 0),
        *((body, 1) for body in EVERYTHING[5:9]),
    ]
    assert stored(group) == 8


def test_a_dead_drivers_claims_ahead_count_for_the_next_query(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    _, end = begin(drivers.start())
    second = drivers.start()
    second.prepareForTriggerAvailableNow()
    orders.put(b"later", MQMD(priority=0))
    assert to_the_end(second, end) == [EVERYTHING[5:10], EVERYTHING[10:]]
    assert (in_doubt(group), browse_all(orders)) == (0, [b"later"])


@pytest.mark.share
def test_dead_in_the_middle_of_claiming_ahead_it_has_claimed_nothing(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    fail_in_background(monkeypatch, fail, at_call=2)
    start, end = begin(drivers.start())
    assert in_doubt(group) == 8

    second = drivers.start()
    assert bodies(second, start, end) == EVERYTHING[:5]
    assert to_the_end(second, end) == [EVERYTHING[5:10], EVERYTHING[10:]]
    assert (in_doubt(group), browse_all(orders)) == (0, [])


@pytest.mark.invariant(3)
@pytest.mark.parametrize("done", [0, 1], ids=["nothing of it done", "half of it done"])
@pytest.mark.parametrize("recovered", ["first", "last"])
@pytest.mark.share
def test_a_decided_batch_does_not_come_again_after_a_death(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch, done: int, recovered: str
) -> None:
    """The next batch is in Spark's checkpoint already, and the group may be late."""
    owners: list[str] = []

    def die_in_between(ending: Ending) -> None:
        for unit in ending.units[:done]:
            ending.connection.complete_prepared(unit)
        owners.append(ending.connection.connection.token)
        ending.connection.connection.break_off()

    first = drivers.start()
    _, end = begin(first)
    monkeypatch.setattr(Ending, "carry_out", die_in_between)
    following = first.latestOffset(end, FIVE)
    die(first)
    monkeypatch.undo()
    assert (in_doubt(group), stored(group)) == (12 - 3 * done, 12 - 3 * done)
    assert {unit.outcome for unit in prepared_units(group.group)} == {"C", None}

    if recovered == "first":
        recover_lost(group, *owners)
    second = drivers.start()
    assert bodies(second, end, following) == EVERYTHING[5:10]
    assert to_the_end(second, following) == [EVERYTHING[10:]]
    if recovered == "last":
        recover_lost(group, *owners)

    assert (in_doubt(group), stored(group), browse_all(orders)) == (0, 0, [])


def test_a_driver_without_the_name_takes_nothing_from_its_successor(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    first = drivers.start()
    _, end = begin(first)
    work = first._ahead._work

    second = drivers.start()
    following = second.latestOffset(end, FIVE)
    rest(second)
    held = in_doubt(group)
    first._ahead._work = work
    first.stop()

    assert in_doubt(group) == held == 7
    assert bodies(second, end, following) == EVERYTHING[5:10]
    assert browse_all(orders) == []


# -- the driver ends cleanly -------------------------------------------------------------------------------------------


@pytest.mark.share
def test_a_stopping_driver_gives_back_its_claims_ahead(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    reader = drivers.start()
    begin(reader)
    reader.stop()
    assert in_doubt(group) == 5
    assert on_queue(group, "ORDERS") == [(body, 1) for body in EVERYTHING[5:9]]
    assert browse_all(orders) == EVERYTHING[5:]


def test_a_stopping_driver_waits_for_running_work(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_claiming, may_go_on = threading.Event(), threading.Event()

    def wait() -> None:
        is_claiming.set()
        assert may_go_on.wait(60)

    fail_in_background(monkeypatch, wait)
    reader = drivers.start()
    reader.latestOffset(reader.initialOffset(), FIVE)
    assert is_claiming.wait(60)
    stopping = threading.Thread(target=reader.stop)
    stopping.start()
    assert is_tag_used(group.group, tag_of("billing"))
    may_go_on.set()
    stopping.join(60)
    assert (in_doubt(group), len(browse_all(orders))) == (5, 7)


# -- failures in the background ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_call", [1, 2])
def test_failed_background_work_is_done_again(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch, at_call: int
) -> None:
    def fail() -> None:
        raise error_for(MQRC.STORAGE_MEDIUM_FULL, "MQGET", "ORDERS")

    fail_in_background(monkeypatch, fail, at_call=at_call)
    reader = drivers.start()
    _, end = begin(reader)
    assert to_the_end(reader, end) == [EVERYTHING[5:10], EVERYTHING[10:]]
    assert (in_doubt(group), browse_all(orders)) == (0, [])


def test_a_permanent_failure_is_reported(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = drivers.start()
    _, end = begin(reader)

    def fail(*_: object) -> int:
        raise error_for(MQRC.GET_INHIBITED, "MQGET", "ORDERS")

    following = reader.latestOffset(end, FIVE)
    rest(reader)
    bodies(reader, end, following)
    monkeypatch.setattr("igq.pipeline.claims.claims.get_messages", fail)
    orders.put(b"more")
    with pytest.raises(MQIError) as caught:
        reader.latestOffset(following, FIVE)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert stored(group) == 8


def test_claims_made_before_a_failure_go_back_if_the_query_stops_then(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error_for(MQRC.STORAGE_MEDIUM_FULL, "MQGET", "ORDERS")

    fail_in_background(monkeypatch, fail, at_call=2)
    reader = drivers.start()
    begin(reader)
    reader.stop()
    assert (in_doubt(group), browse_all(orders)) == (5, EVERYTHING[5:])


@pytest.mark.share
def test_claims_of_a_batch_that_fails_go_back(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter("123")

    def get(queue: Queue, count: int) -> int:
        if next(calls) == "3":
            raise error_for(MQRC.STORAGE_MEDIUM_FULL, "MQGET", "ORDERS")
        return get_messages(queue, count)

    monkeypatch.setattr("igq.pipeline.claims.claims.get_messages", get)
    reader = drivers.start()
    with pytest.raises(MQIError, match="2192"):
        reader.latestOffset(reader.initialOffset(), ReadMaxRows(100))
    reader.stop()
    assert (in_doubt(group), browse_all(orders)) == (0, EVERYTHING)


def test_claims_ahead_go_back_if_the_next_batch_fails(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Ending:
        raise error_for(MQRC.CONNECTION_BROKEN, "", "QM1")

    reader = drivers.start(outage_s="0")
    _, end = begin(reader)
    monkeypatch.setattr(Claims, "decide", fail)
    with pytest.raises(MQIError, match="2009"):
        reader.latestOffset(end, FIVE)
    reader.stop()
    assert (in_doubt(group), browse_all(orders)) == (5, EVERYTHING[5:])


def test_redis_killed_while_it_claims_ahead_nothing_is_lost(server: Server, tmp_path: Path) -> None:
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    open_orders(group)
    reader = Drivers(group).start()
    with pytest.MonkeyPatch.context() as patching:

        def restart() -> None:
            server.kill()
            server.start()

        fail_in_background(patching, restart, at_call=2)
        with Watch(group):
            start, end = begin(reader)
            assert bodies(reader, start, end) == EVERYTHING[:5]
            assert to_the_end(reader, end) == [EVERYTHING[5:10], EVERYTHING[10:]]
    assert (in_doubt(group), stored(group)) == (0, 0)
    reader.stop()
    group.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that a test kills, and that has synced its answers."""
    server = Server(fsync="always")
    yield server
    server.close()


# -- release -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["ahead", "claiming ahead"])
def test_released_while_messages_are_claimed_ahead_all_go_back(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def release() -> None:
        # A claim that is not prepared yet comes back on its own.
        assert release_stream(group.settings, "billing", force=True).given_back == (10 if step == "ahead" else 8)

    if step == "claiming ahead":
        fail_in_background(monkeypatch, release, at_call=2)
    reader = drivers.start()
    start = reader.initialOffset()
    end = reader.latestOffset(start, FIVE)
    rest(reader)
    if step == "ahead":
        release()
    assert (in_doubt(group), len(browse_all(orders))) == (0, 12)

    for again in (lambda: reader.latestOffset(end, FIVE), lambda: reader.partitions(start, end)):
        with pytest.raises(PipelineError, match="it was released"):
            again()
    reader.stop()
    assert (in_doubt(group), len(browse_all(orders))) == (0, 12)


def test_processed_messages_put_back_are_reported_with_claims_ahead_too(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    reader = drivers.start()
    _, end = begin(reader)
    assert reader._claims.give_back_only(end["claims"]) == 5
    with pytest.raises(PipelineError, match="were put back on ORDERS"):
        reader.latestOffset(end, FIVE)
    die(reader)
    assert Claims(group.settings, "ORDERS", "QM1", "billing", 3).give_back() == 5
    assert len(browse_all(orders)) == 12
