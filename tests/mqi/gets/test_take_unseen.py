"""Messages taken without being fetched: the same ones that gets would take, in the same unit of work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from igq.pipeline.claims.units import get_messages
from sharedq.api import Queue
from sharedq.calls.unit.commit import backout, commit
from sharedq.calls.unit.in_doubt import end_prepared, prepare
from sharedq.messages.record import record_body
from sharedq.mqi.constants import MQRC, GetOption, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.reading.plan import find_parts
from sharedq.reading.queue import SLICE_MESSAGES, Reader, Slice
from tests.support.agents import drain
from tests.support.groups import BOTH, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import contents, on_queue, stored


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """250 messages, every third with a CorrelId."""
    group.define_structure()
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    queue.put_many([(MQMD(correl_id=b"c" * 24) if at % 3 == 0 else MQMD(), b"%d" % at) for at in range(250)])
    return queue


def taken(group: TestGroup, queue: Queue) -> list[bytes]:
    """Prepare the unit of work and read it."""
    return [record_body(record) for some in slices(group, queue) for record in some.records]


def slices(group: TestGroup, queue: Queue, *, has_data: bool = True) -> Iterator[Slice]:
    connection = queue.connection
    unit_id = connection.unit.id
    prepare(connection, b"taken")
    (place,) = find_parts(group.group, "ORDERS")
    reader = Reader(group.group.deployment(), group.group.name, has_data=has_data)
    yield from reader.read_unit(place, unit_id)
    reader.close()


def positions(some: Slice) -> list[int]:
    """A run of numbers may have only the first one there."""
    found = list(map(int, some.positions.split()))
    return found if len(found) == len(some.records) else [found[0] + at for at in range(len(some.records))]


def test_they_are_the_first_in_delivery_order_and_in_the_unit_of_work(group: TestGroup, orders: Queue) -> None:
    orders.put(b"first", MQMD(priority=9))
    assert orders.take_unseen(120) == 120
    assert browse_all(orders) == [b"%d" % at for at in range(119, 250)]
    assert taken(group, orders) == [b"first", *(b"%d" % at for at in range(119))]


def test_backed_out_they_are_back_in_their_places(group: TestGroup, orders: Queue) -> None:
    before = contents(group)
    assert orders.take_unseen(1_500) == 250
    backout(orders.connection)
    assert [body for body, _ in on_queue(group, "ORDERS")] == [b"%d" % at for at in range(250)]
    assert {count for _, count in on_queue(group, "ORDERS")} == {1}
    assert contents(group).keys() == before.keys()


def test_committed_they_are_gone(group: TestGroup, orders: Queue) -> None:
    assert orders.take_unseen(250) == 250
    commit(orders.connection)
    assert (stored(group), browse_all(orders)) == (0, [])


def test_a_lone_message_with_identifiers_is_taken_like_any_other(group: TestGroup, orders: Queue) -> None:
    orders.put(b"first", MQMD(priority=9, correl_id=b"c" * 24, msg_id=b"m" * 24))
    assert orders.take_unseen(1) == 1
    assert taken(group, orders) == [b"first"]
    with pytest.raises(MQIError, match="2033"):
        orders.get(match=MQMD(msg_id=b"m" * 24))


def test_a_message_that_is_not_plain_is_left_to_a_get(group: TestGroup, orders: Queue) -> None:
    assert orders.take_unseen(250) == 250
    put_member(orders, b"g", 1, b"member")
    assert orders.take_unseen(5) == 0
    assert orders.get_many(5, GetOption.SYNCPOINT)[0].body == b"member"
    assert taken(group, orders)[-1] == b"member"


@pytest.mark.parametrize("has_data", [True, False])
@pytest.mark.parametrize("replies", ["shared", "private"])
def test_a_message_with_a_report_is_left_to_a_get_and_its_report_unclaimed(
    group: TestGroup, orders: Queue, has_data: bool, replies: str
) -> None:
    if replies == "shared":
        group.define_shared("REPLIES")
    else:
        group.define_private("QM1", "REPLIES")
    asking = MQMD(report=int(Report.COD), reply_to_q=b"REPLIES")
    orders.put(b"asks", asking)
    orders.put(b"last")
    assert get_messages(orders, 1_000) == 252
    unit_id = orders.connection.unit.id

    found = [record for some in slices(group, orders, has_data=has_data) for record in some.records]

    assert (len(found), unit_id != orders.connection.unit.id) == (252, True)
    assert drain(group.connect(), "REPLIES") == []
    assert end_prepared(group.connect().connection, b"taken", "C")
    assert [report.md.correl_id for report in drain(group.connect(), "REPLIES")] == [asking.msg_id]
    assert stored(group) == 0


def test_a_claim_ends_where_reports_fill_its_unit_of_work(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    group.define_shared("REPLIES")
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 120})
    queue = group.connect().open("ORDERS", BOTH)
    queue.put_many([(MQMD(report=int(Report.COD), reply_to_q=b"REPLIES"), b"x") for _ in range(40)])
    queue.put_many([(MQMD(), b"y") for _ in range(100)])
    assert get_messages(queue, 120) == 100
    commit(queue.connection)
    assert len(drain(group.connect(), "REPLIES")) == 40


def test_nothing_expired_is_taken(group: TestGroup, orders: Queue) -> None:
    orders.take_unseen(250)
    commit(orders.connection)
    orders.put(b"gone", MQMD(expiry=1))
    orders.put(b"stays")
    group.wait_redis_ms(120)
    assert orders.take_unseen(2) == 1
    assert taken(group, orders) == [b"stays"]


def test_long_messages_are_no_matter(orders: Queue) -> None:
    orders.take_unseen(250)
    commit(orders.connection)
    for at in range(5):
        orders.put(bytes(600_000), MQMD(correl_id=b"c" * 24) if at % 2 else MQMD())
    got = 0
    while more := orders.take_unseen(5 - got):
        got += more
    assert (got, browse_all(orders)) == (5, [])


def test_no_more_than_a_unit_of_work_may_have(group: TestGroup, orders: Queue) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 10})
    queue = group.connect().open("ORDERS", BOTH)
    with pytest.raises(MQIError) as caught:
        queue.take_unseen(11)
    assert caught.value.reason == MQRC.SYNCPOINT_LIMIT_REACHED
    assert (queue.take_unseen(10), len(browse_all(orders))) == (10, 240)


@pytest.mark.parametrize("has_data", [True, False])
@pytest.mark.parametrize("priorities", [[0], [0, 9, 5]], ids=["a run of positions", "several runs"])
def test_every_message_is_read_once_with_its_position(
    group: TestGroup, orders: Queue, has_data: bool, priorities: list[int]
) -> None:
    bodies = [b"more %d" % at for at in range(1_300)]
    # So long that slices have few messages.
    long = bytes(40_000)
    orders.put_many(
        [(MQMD(priority=priorities[at % len(priorities)]), body + long * (at < 100)) for at, body in enumerate(bodies)]
    )
    keys = group.group.structure("APPL1")
    there: Any = group.group.client().zrange(keys.queue("ORDERS").available, 0, -1, withscores=True)
    first = [orders.get(GetOption.SYNCPOINT).body for _ in range(3)]
    assert first
    while orders.take_unseen(1_400):
        pass

    found = list(slices(group, orders, has_data=has_data))

    ids = [each for some in found for each in some.ids.split()]
    assert list(zip(ids, [each for some in found for each in positions(some)], strict=True)) == [
        (name, int(score)) for name, score in there
    ]
    assert max(len(some.records) for some in found) <= SLICE_MESSAGES
    assert stored(group) == len(ids) == 1_550


@pytest.mark.parametrize("after", range(1, 6))
def test_one_that_ends_while_it_is_read_is_no_shorter_one(group: TestGroup, orders: Queue, after: int) -> None:
    for _ in range(60):
        orders.take_unseen(4)
    reading = slices(group, orders)
    for _ in range(after * 10):
        next(reading)
    group.connect().backout_prepared(b"taken")
    with pytest.raises(MQIError) as caught:
        list(reading)
    assert caught.value.reason == MQRC.BACKED_OUT
