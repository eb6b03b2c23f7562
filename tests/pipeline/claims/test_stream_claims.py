"""Groups that a streaming query claims whole, and queries that are released."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from typer.testing import CliRunner, Result

from igq.pipeline.claims.release import Released, claims_in, is_running, release_stream
from igq.pipeline.cli.app import build_app
from igq.pipeline.datasource.queue.stream import QueueStreamReader
from igq.pipeline.errors import PipelineError
from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError
from tests.pipeline.streams import EVERYTHING, Drivers, bodies, in_doubt, open_orders, rest, rows
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG, browse_all, matching, put_member, take
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored

WHOLE = {"wholeGroups": "true", "rowsPerPartition": "4"}


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """An empty queue."""
    group.define_structure()
    group.define_shared("ORDERS")
    return group.connect().open("ORDERS", BOTH)


def put_group(queue: Queue, name: bytes, size: int, *, without: int = 0, priority: int = -1) -> None:
    """A group of *size* messages, without the one that is named."""
    for number in range(1, size + 1):
        if number != without:
            body = b"%s%d" % (name, number)
            put_member(queue, name, number, body, LMIG if number == size else MIG, priority=priority)


def read_all(reader: QueueStreamReader, limit: int) -> list[list[list[bytes]]]:
    """Bodies by batch and partition, until the queue is empty."""
    at, found = reader.initialOffset(), list[list[list[bytes]]]()
    while (end := reader.latestOffset(at, ReadMaxRows(limit))) != at:
        parts = [
            [row["data"] for batch in reader.read(part) for row in batch.to_pylist()]
            for part in reader.partitions(at, end)
        ]
        found.append(parts)
        at = end
    return found


# -- whole groups ------------------------------------------------------------------------------------------------------


def test_a_group_is_claimed_whole_in_one_partition_and_in_order(orders: Queue, drivers: Drivers) -> None:
    chance = random.Random(5)
    sizes = {b"%c" % letter: chance.randint(1, 9) for letter in b"abcdefghijkl"}
    members = [(name, number) for name, size in sizes.items() for number in range(1, size + 1)]
    chance.shuffle(members)
    for name, number in members:
        put_member(orders, name, number, b"%s%d" % (name, number), LMIG if number == sizes[name] else MIG)
        if chance.random() < 0.3:
            orders.put(b"alone")

    batches = read_all(drivers.start(**WHOLE), 7)

    assert len(batches) > 5
    partitions = [part for batch in batches for part in batch]
    for name, size in sizes.items():
        (home,) = [part for part in partitions if any(body.startswith(name) for body in part if body != b"alone")]
        own = [body for body in home if body.startswith(name) and body != b"alone"]
        assert own == [b"%s%d" % (name, number) for number in range(1, size + 1)]
    assert browse_all(orders) == []


def test_an_incomplete_group_waits_and_holds_nothing_up(orders: Queue, drivers: Drivers) -> None:
    put_group(orders, b"a", 3, without=2, priority=9)
    orders.put(b"alone")
    put_group(orders, b"b", 2)
    reader = drivers.start(**WHOLE)

    assert read_all(reader, 100) == [[[b"alone", b"b1", b"b2"]]]
    assert browse_all(orders) == [b"a1", b"a3"]
    put_member(orders, b"a", 2, b"a2")
    assert read_all(reader, 100) == [[[b"a1", b"a2", b"a3"]]]
    assert [count for _, count in on_queue(drivers.group, "ORDERS")] == []


def test_segments_stay_together(orders: Queue, drivers: Drivers) -> None:
    put_member(orders, b"s", 1, b"first ", SEG)
    orders.put(b"between")
    put_member(orders, b"s", 1, b"second", SEG | LSEG, offset=6)
    put_member(orders, b"t", 1, b"no last", SEG)

    assert read_all(drivers.start(wholeGroups="true", rowsPerPartition="1"), 100) == [
        [[b"first ", b"second"], [b"between"]]
    ]


def test_a_group_that_does_not_fit_after_others_begins_a_unit(
    group: TestGroup, orders: Queue, drivers: Drivers
) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 8})
    orders.put(b"alone")
    put_group(orders, b"a", 8)
    orders.put(b"last")

    batches = read_all(drivers.start(**WHOLE), 100)

    assert [[len(part) for part in batch] for batch in batches] == [[1, 8, 1]]
    assert batches[0][1] == [b"a%d" % number for number in range(1, 9)]


def test_a_group_longer_than_a_unit_of_work_is_named(group: TestGroup, orders: Queue, drivers: Drivers) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 5})
    put_group(orders, b"a", 6)
    reader = drivers.start(**WHOLE)
    with pytest.raises(MQIError, match="a group has more than 5 messages: raise MAXUMSGS") as caught:
        reader.latestOffset(reader.initialOffset(), ReadMaxRows(100))
    assert caught.value.reason == MQRC.SYNCPOINT_LIMIT_REACHED
    assert (len(browse_all(orders)), in_doubt(group)) == (6, 0)


def test_a_group_whose_end_another_program_takes_is_left(
    group: TestGroup, orders: Queue, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.put(b"alone")
    put_group(orders, b"a", 3)
    thief = group.connect().open("ORDERS", BOTH)
    get = Queue.get

    def get_after_the_thief(queue: Queue, *args: int, **kwargs: object) -> object:
        found = get(queue, *args, **kwargs)  # type: ignore[arg-type]
        if found.body == b"a1":
            monkeypatch.setattr(Queue, "get", get)
            take(thief, **matching(b"a", 3))
        return found

    monkeypatch.setattr(Queue, "get", get_after_the_thief)
    assert read_all(drivers.start(**WHOLE), 100) == [[[b"alone"]]]
    assert browse_all(orders) == [b"a1", b"a2"]


# -- release -----------------------------------------------------------------------------------------------------------


def test_claims_are_listed_and_released(group: TestGroup, drivers: Drivers) -> None:
    orders = open_orders(group)
    reader = drivers.start()
    start = reader.initialOffset()
    reader.latestOffset(start, ReadMaxRows(5))
    # Five for the batch, and five for the next one.
    rest(reader)

    (found,) = claims_in(group.settings)
    assert (found.name, found.qmgr, found.queues, found.units, found.messages) == (
        *("billing", "QM1"),
        *(("ORDERS",), 4, 10),
    )
    assert is_running(group.settings, found.name)
    with pytest.raises(PipelineError, match="a driver of it is running"):
        release_stream(group.settings, "billing")
    assert in_doubt(group) == 10

    reader.stop()
    assert not is_running(group.settings, found.name)
    assert release_stream(group.settings, "billing") == Released(5, 0)
    assert claims_in(group.settings) == []
    assert [body for body in browse_all(orders) if len(body) == 1] == EVERYTHING[:9]
    # A release killed after its first step would repeat that.
    assert release_stream(group.settings, "billing") == Released(0, 0)


@pytest.mark.invariant(8)
@pytest.mark.parametrize("step", ["batch written down", "batch done", "nothing claimed", "planned"])
def test_a_query_that_comes_back_after_its_release_does_nothing(group: TestGroup, drivers: Drivers, step: str) -> None:
    orders = open_orders(group)
    late = drivers.start()
    start = late.initialOffset()
    end = start if step == "nothing claimed" else late.latestOffset(start, ReadMaxRows(5))
    parts = late.partitions(start, end)
    release_stream(group.settings, "billing", force=True)
    rest(late)
    before = sorted(browse_all(orders))
    assert len(before) == 12

    go_on: Callable[[], object] = {
        "batch written down": lambda: late.partitions(start, end),
        "planned": lambda: list(late.read(parts[0])),
    }.get(step, lambda: late.latestOffset(end, ReadMaxRows(5)))
    with pytest.raises((PipelineError, MQIError), match=r"it was released|2003") as caught:
        go_on()

    assert "\n" not in str(caught.value)
    assert sorted(browse_all(orders)) == before
    assert (in_doubt(group), stored(group)) == (0, 12)


def test_released_while_it_claims_it_claims_no_more(
    group: TestGroup, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = open_orders(group)
    reader = drivers.start()
    start, get = reader.initialOffset(), Queue.get_many

    def release_then_get(queue: Queue, count: int, options: GetOption) -> object:
        monkeypatch.setattr(Queue, "get_many", get)
        release_stream(group.settings, "billing", force=True)
        return get(queue, count, options)

    monkeypatch.setattr(Queue, "get_many", release_then_get)
    with pytest.raises(PipelineError, match="stream billing: it was released"):
        reader.latestOffset(start, ReadMaxRows(5))
    assert (len(browse_all(orders)), in_doubt(group)) == (12, 0)


def test_messages_processed_by_a_released_query_come_again(group: TestGroup, drivers: Drivers) -> None:
    open_orders(group)
    first = drivers.start()
    start = first.initialOffset()
    end = first.latestOffset(start, ReadMaxRows(5))
    assert bodies(first, start, end) == EVERYTHING[:5]
    first.stop()
    release_stream(group.settings, "billing")

    second = drivers.start()
    start = second.initialOffset()
    assert start["term"] == 1
    end = second.latestOffset(start, ReadMaxRows(100))
    found = rows(second, start, end)
    assert [row["data"] for row in found] == EVERYTHING
    # The claims ahead, too.
    assert [row["backout_count"] for row in found] == [1] * 10 + [0, 0]
    with pytest.raises(PipelineError, match="it was released"):
        second._claims.check_term(0)


def test_claims_of_a_manager_that_is_down_are_released_by_another(group: TestGroup, drivers: Drivers) -> None:
    orders = open_orders(group)
    group.add_member("QM2")
    reader = drivers.start()
    reader.latestOffset(reader.initialOffset(), ReadMaxRows(5))
    reader.stop()
    keys = group.group.keys
    group.group.client().zadd(keys.leases, {"QM1.1": 1}, xx=True)
    member = group.group.member("QM1")
    assert member is not None
    group.group.call(
        "admin/member_state", [keys.members, keys.fence], ["QM1", member.incarnation, '{"state":"FAILED"}']
    )
    assert release_stream(group.settings, "billing") == Released(5, 0)
    assert (len(browse_all(orders)), in_doubt(group)) == (12, 0)


@pytest.fixture
def run(group: TestGroup) -> Callable[..., Result]:
    def invoke(*arguments: str) -> Result:
        at = ("--group", group.group.name, "--url", str(group.settings.redis_url))
        # As into a pipe, whose width is unknown.
        environment = {"IGQ_DATA_DIR": str(group.settings.data_dir), "COLUMNS": None}
        return CliRunner().invoke(build_app(), [*arguments, *at], env=environment)

    return invoke


def test_the_commands_list_and_release(group: TestGroup, drivers: Drivers, run: Callable[..., Result]) -> None:
    open_orders(group)
    assert run("claims").output.strip() == "(none)"
    name = "billing [b] of all that came by the gate"
    reader = drivers.start(stream=name)
    reader.latestOffset(reader.initialOffset(), ReadMaxRows(5))
    rest(reader)

    head, line = (text.rstrip() for text in run("claims").output.splitlines())
    assert head.split() == ["stream", "manager", "queue", "messages", "units", "claimed", "read", "driver"]
    assert line.removeprefix(name).split()[:4] == ["QM1", "ORDERS", "10", "4"]
    assert line.endswith("running")
    refused = run("release", name)
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert "a driver of it is running" in refused.output

    reader.stop()
    assert run("release", name).output == f"stream {name}: 5 messages are back on their queue\n"
    unknown = run("release", "nobody")
    assert (unknown.exit_code, unknown.output.count("\n")) == (2, 1)
    assert "there is no such query" in unknown.output
    nothing = run("backout", name, "--checkpoint", "nowhere")
    assert (nothing.exit_code, nothing.output.count("\n")) == (2, 1)
    assert "is not the checkpoint of a streaming query" in nothing.output
