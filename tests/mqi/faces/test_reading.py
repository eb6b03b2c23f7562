"""Reading a queue without a handle: the messages, their order, and messages that are not shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from sharedq import MessageHandle
from sharedq.api import Queue
from sharedq.calls.unit.commit import commit
from sharedq.messages.message import message_number
from sharedq.messages.record import (
    decode_descriptor,
    record_body,
    record_destination,
    record_length,
    record_put_time_ms,
)
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.limits import NULL_ID
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.reading import queue as reading
from sharedq.reading.plan import find_parts, plan_ranges
from sharedq.reading.queue import ALL, Reader, ReadFilter, Slice
from sharedq.redis.deployment import Deployment
from sharedq.selectors.selector import selector_for
from tests.support.groups import BOTH, LMIG, LSEG, MAY_SEGMENT, MIG, SEG, browse_all, put_member
from tests.support.members import TestGroup
from tests.support.scenes import contents

pytestmark = pytest.mark.share

QUEUE = "ORDERS"
Row = dict[str, Any]


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """An empty shared queue, open for everything."""
    group.define_structure()
    group.define_shared(QUEUE)
    return group.connect().open(QUEUE, BOTH)


def read(
    group: TestGroup,
    queue: str = QUEUE,
    qmgr: str = "",
    wanted: ReadFilter = ALL,
    per_range: int = 100,
    *,
    has_data: bool = True,
) -> list[Row]:
    """Rows as a browse returns them: the fields of the descriptor, besides place and data."""
    places = find_parts(group.group, queue, qmgr)
    reader = Reader(group.group.deployment(), group.group.name, has_data=has_data, wanted=wanted)
    found = []
    for each in plan_ranges(group.group, places, wanted, per_range):
        for some in reader.read(each):
            found += rows_of(some)
    reader.close()
    return found


def rows_of(some: Slice) -> list[Row]:
    ids, lengths = some.ids.split(), some.lengths.split() or [b"%d" % record_length(each) for each in some.records]
    return [
        asdict(decode_descriptor(record, message_number(message_id), some.place.number, some.now_ms))
        | {"position": int(position), "length": int(length), "data": record_body(record)}
        | {"put_ms": record_put_time_ms(record), "destination": record_destination(record)}
        | {"structure": some.place.structure}
        for message_id, position, length, record in zip(ids, some.positions.split(), lengths, some.records, strict=True)
    ]


def bodies(group: TestGroup, **how: Any) -> list[bytes]:
    return [row["data"] for row in read(group, **how)]


def test_every_field_of_the_descriptor_is_read(group: TestGroup, orders: Queue) -> None:
    md = MQMD(
        version=2,
        report=64,
        msg_type=1,
        expiry=36_000,
        feedback=258,
        encoding=273,
        coded_char_set_id=850,
        format=b"MQSTR",
        priority=7,
        persistence=1,
        msg_id=b"M" * 24,
        correl_id=b"C" * 24,
        reply_to_q=b"REPLIES",
        reply_to_q_mgr=b"QM9",
        group_id=b"G" * 24,
        msg_seq_number=3,
        offset=0,
        msg_flags=MIG,
    )
    orders.put(b"body", md)

    (row,) = read(group)

    for name in ("report", "msg_type", "feedback", "encoding", "coded_char_set_id", "priority", "persistence"):
        assert row[name] == getattr(md, name), name
    assert (row["format"], row["reply_to_q"], row["reply_to_q_mgr"]) == (b"MQSTR", b"REPLIES", b"QM9")
    assert (row["msg_id"], row["correl_id"], row["group_id"]) == (b"M" * 24, b"C" * 24, b"G" * 24)
    assert (row["msg_seq_number"], row["offset"], row["msg_flags"], row["version"]) == (3, 0, MIG, 2)
    assert 35_000 < row["expiry"] <= 36_000
    assert (row["data"], row["length"]) == (b"body", 4)
    assert (row["structure"], row["destination"]) == ("APPL1", b"")
    browsed = orders.get(GetOption.BROWSE_FIRST).md
    assert (row["put_date"], row["put_time"]) == (browsed.put_date, browsed.put_time)
    assert row["put_ms"] // 10 % 100 == int(browsed.put_time[6:])
    assert row["user_identifier"] == browsed.user_identifier


def test_identifiers_are_null_and_generated_msg_ids_are_shown(group: TestGroup, orders: Queue) -> None:
    md = orders.put(b"1")

    (row,) = read(group)

    assert (row["msg_id"], row["correl_id"], row["group_id"]) == (md.msg_id, NULL_ID, NULL_ID)


@pytest.mark.parametrize("per_range", [1, 7, 1000])
def test_ranges_hold_everything_once_in_the_order_of_a_browse(group: TestGroup, orders: Queue, per_range: int) -> None:
    """Members of groups are in another set, and messages of several priorities are mixed."""
    for number in range(40):
        body = b"%02d" % number
        if number % 5 == 0:
            put_member(orders, b"group %d" % (number // 10), number % 10 + 1, body, LMIG if number % 10 else MIG)
        elif number % 7 == 0:
            put_member(orders, b"segments %d" % number, 1, body, SEG | LSEG)
        else:
            orders.put(body, MQMD(priority=number % 3))

    assert bodies(group, per_range=per_range) == browse_all(orders)


def test_a_slice_goes_on_where_the_last_one_ended(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SLICE_MESSAGES", 3)
    for number in range(10):
        orders.put(b"%d" % number, MQMD(correl_id=b"same".ljust(24, b"\0")))
        put_member(orders, b"g", number + 1, b"m%d" % number, correl_id=b"same".ljust(24, b"\0"))

    everything = browse_all(orders)

    assert len(everything) == 20
    assert bodies(group) == everything
    assert bodies(group, wanted=ReadFilter(correl_id=b"same".ljust(24, b"\0"))) == everything
    assert bodies(group, wanted=ReadFilter(group_id=b"g".ljust(24, b"."))) == everything[1::2]


def test_long_messages_come_one_a_slice_and_heads_without_them(
    group: TestGroup, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SLICE_BYTES", 50_000)
    sizes = [40_000, 10, 60_000, 45_000, 5]
    for size in sizes:
        orders.put(b"x" * size)

    assert [len(body) for body in bodies(group)] == sizes
    assert [row["length"] for row in read(group, has_data=False)] == sizes
    assert {row["data"] for row in read(group, has_data=False)} == {b""}


def test_uncommitted_locked_and_expired_messages_are_not_seen(group: TestGroup, orders: Queue) -> None:
    for body in (b"got", b"locked", b"stays"):
        orders.put(body)
    orders.put(b"expires", MQMD(expiry=1))
    other = group.connect().open(QUEUE, BOTH)
    assert other.get(GetOption.SYNCPOINT).body == b"got"
    other.put(b"put", options=PutOption.SYNCPOINT)
    put_member(other, b"g", 1, b"member", options=PutOption.SYNCPOINT)
    locker = group.connect().open(QUEUE, BOTH)
    assert locker.get(GetOption.BROWSE_FIRST | GetOption.LOCK).body == b"locked"
    group.wait_redis_ms(120)

    assert bodies(group) == [b"stays"]

    commit(other.connection)
    locker.unlock()
    assert bodies(group) == [b"locked", b"stays", b"put", b"member"]


def test_messages_put_after_the_planning_are_not_read(group: TestGroup, orders: Queue) -> None:
    orders.put(b"before", MQMD(priority=0))
    ranges = plan_ranges(group.group, find_parts(group.group, QUEUE), ALL, 10)
    orders.put(b"later, and ahead of it", MQMD(priority=9))
    reader = Reader(group.group.deployment(), group.group.name)

    assert [row["data"] for each in ranges for some in reader.read(each) for row in rows_of(some)] == [b"before"]


def test_reading_changes_nothing(group: TestGroup, orders: Queue) -> None:
    orders.put(b"1", MQMD(correl_id=b"c" * 24, expiry=1))
    put_member(orders, b"g", 1, b"2")
    group.wait_redis_ms(120)
    before = contents(group)

    assert bodies(group) == [b"2"]
    assert bodies(group, wanted=ReadFilter(correl_id=b"c" * 24)) == []
    assert contents(group) == before


# -- selection -----------------------------------------------------------------------------------------------


def put_a_mixture(orders: Queue) -> list[MQMD]:
    """Twelve messages that differ in identifiers and priority. Some are in a group, some only have its GroupId."""
    mds = []
    for number in range(12):
        md = MQMD(
            version=2,
            priority=number % 4,
            correl_id=(b"c%d" % (number % 3)).ljust(24, b"\0") if number % 4 else NULL_ID,
            msg_id=(b"m%d" % (number % 2)).ljust(24, b"\0") if number % 3 else NULL_ID,
            group_id=NULL_ID if number % 4 == 2 else b"g".ljust(24, b"\0"),
            msg_seq_number=number + 1 if number % 2 else 1,
            msg_flags=MIG if number % 2 else 0 if number % 4 else MAY_SEGMENT,
        )
        mds.append(orders.put(b"%d" % number, md))
    return mds


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (ReadFilter(correl_id=b"c1".ljust(24, b"\0")), lambda row: row["correl_id"] == b"c1".ljust(24, b"\0")),
        (ReadFilter(msg_id=b"m1".ljust(24, b"\0")), lambda row: row["msg_id"] == b"m1".ljust(24, b"\0")),
        (ReadFilter(group_id=b"g".ljust(24, b"\0")), lambda row: row["group_id"] == b"g".ljust(24, b"\0")),
        (
            ReadFilter(msg_id=b"m1".ljust(24, b"\0"), correl_id=b"c1".ljust(24, b"\0")),
            lambda row: row["correl_id"] == b"c1".ljust(24, b"\0") and row["msg_id"] == b"m1".ljust(24, b"\0"),
        ),
        (
            ReadFilter(group_id=b"g".ljust(24, b"\0"), correl_id=b"c1".ljust(24, b"\0"), priority_max=2),
            lambda row: (
                row["correl_id"] == b"c1".ljust(24, b"\0") and row["group_id"] != NULL_ID and row["priority"] <= 2
            ),
        ),
        (ReadFilter(priority_min=2), lambda row: row["priority"] >= 2),
        (ReadFilter(priority_min=1, priority_max=2), lambda row: 1 <= row["priority"] <= 2),
        (ReadFilter(correl_id=b"c9".ljust(24, b"\0")), lambda _: False),
    ],
)
def test_a_selection_equals_a_comparison_of_all_messages(
    group: TestGroup, orders: Queue, wanted: ReadFilter, fits: Callable[[Row], bool]
) -> None:
    put_a_mixture(orders)

    everything = read(group)

    assert len(everything) == 12
    assert read(group, wanted=wanted, per_range=2) == [row for row in everything if fits(row)]


def test_a_generated_msg_id_leads_to_its_message(group: TestGroup, orders: Queue) -> None:
    mds = put_a_mixture(orders)
    for number in (0, 3, 6, 9):
        assert bodies(group, wanted=ReadFilter(msg_id=mds[number].msg_id)) == [b"%d" % number]
    # The same number in the MsgId of another message: a program may have copied it.
    orders.put(b"copy", MQMD(msg_id=mds[0].msg_id))
    assert bodies(group, wanted=ReadFilter(msg_id=mds[0].msg_id)) == [b"0", b"copy"]


@pytest.mark.usefixtures("orders")
def test_put_times_are_compared_in_milliseconds_and_both_ends_are_included(group: TestGroup) -> None:
    connection = group.connect()
    setter = connection.open(QUEUE, BOTH | OpenOption.SET_ALL_CONTEXT)
    for second in range(4):
        md = MQMD(put_date=b"20260101", put_time=b"0000%02d00" % second)
        setter.put(b"%d" % second, md, options=PutOption.SET_ALL_CONTEXT)
    setter.put(b"no date", MQMD(put_date=b"sometime", put_time=b"or other"), options=PutOption.SET_ALL_CONTEXT)
    first_ms = read(group)[0]["put_ms"]

    assert read(group)[-1]["put_ms"] == 0
    assert bodies(group, wanted=ReadFilter(put_from_ms=first_ms + 1000, put_until_ms=first_ms + 2000)) == [b"1", b"2"]
    assert bodies(group, wanted=ReadFilter(put_from_ms=first_ms + 1001)) == [b"2", b"3"]
    assert bodies(group, wanted=ReadFilter(put_until_ms=first_ms)) == [b"0"]


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("orders")
def test_private_queues_aliases_and_the_transmission_queue(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_private("QM1", "LOCAL")
    group.define("QM1", QueueAlias(name="OTHER", target=QUEUE))
    connection = group.connect()
    connection.put1("LOCAL", b"private")
    connection.put1(QUEUE, b"shared")
    group.define_private("QM2", "THERE")
    connection.put1("THERE", b"to QM2", qmgr_name="QM2")
    transmit = "SYSTEM.QSG.TRANSMIT.QUEUE"

    assert bodies(group, queue="LOCAL", qmgr="QM1") == [b"private"]
    assert bodies(group, queue="OTHER", qmgr="QM1") == [b"shared"]
    (row,) = read(group, queue=transmit)
    assert (row["data"], row["destination"], row["structure"]) == (b"to QM2", b"THERE", "@QM2")
    assert bodies(group, queue=transmit, qmgr="QM1") == []


@pytest.mark.parametrize(
    ("queue", "qmgr", "reason"),
    [
        ("NONE", "", MQRC.UNKNOWN_OBJECT_NAME),
        ("LOCAL", "", MQRC.UNKNOWN_OBJECT_NAME),
        (QUEUE, "QM9", MQRC.Q_MGR_NAME_ERROR),
        ("REMOTE", "QM1", MQRC.OPTION_NOT_VALID_FOR_TYPE),
        ("CLOSED", "", MQRC.GET_INHIBITED),
        ("CLOSEDALIAS", "QM1", MQRC.GET_INHIBITED),
        ("DANGLING", "QM1", MQRC.UNKNOWN_ALIAS_BASE_Q),
    ],
)
@pytest.mark.usefixtures("orders")
def test_an_unreadable_queue_has_its_reason(group: TestGroup, queue: str, qmgr: str, reason: MQRC) -> None:
    group.define_private("QM1", "LOCAL")
    group.define_shared("CLOSED", get="DISABLED")
    group.define("QM1", QueueAlias(name="CLOSEDALIAS", target=QUEUE, get="DISABLED"))
    group.define("QM1", QueueAlias(name="DANGLING", target="NOTHING"))
    group.define("QM1", QueueRemote(name="REMOTE", remote_queue="R", remote_qmgr="QM8"))

    with pytest.raises(MQIError) as caught:
        find_parts(group.group, queue, qmgr)

    assert caught.value.reason == reason


def test_a_group_that_never_was_is_not_available(group: TestGroup) -> None:
    from sharedq.members.group import Group

    nobody = Group(group.settings.model_copy(update={"group": "NONE"}))
    with pytest.raises(MQIError) as caught:
        find_parts(nobody, QUEUE)
    assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE


@pytest.mark.usefixtures("orders")
def test_a_server_that_is_gone_breaks_the_reading(group: TestGroup) -> None:
    (what,) = plan_ranges(group.group, find_parts(group.group, QUEUE), ALL, 10)
    reader = Reader(Deployment("unix:///nowhere/at/all"), group.group.name)
    with pytest.raises(MQIError) as caught:
        list(reader.read(what))
    assert caught.value.reason == MQRC.CONNECTION_BROKEN


# -- selectors ---------------------------------------------------------------------------------------------------------


def selecting(text: str, **more: Any) -> ReadFilter:
    selector = selector_for(text)
    assert selector is not None
    return ReadFilter(selector=selector.text, **more)


@pytest.mark.parametrize("per_range", [7, 1000])
def test_a_selector_reads_what_it_is_true_of_in_order(group: TestGroup, orders: Queue, per_range: int) -> None:
    for number in range(60):
        handle = MessageHandle()
        handle.set("number", number)
        orders.put(b"", MQMD(priority=number % 3, correl_id=b"%02d" % (number % 4)), properties=handle)
    whole = selector_for("number >= 20 AND Root.MQMD.Priority = 1")
    assert whole is not None
    rows = read(group, wanted=ReadFilter(selector=whole.text), per_range=per_range)
    wanted = [number for number in range(20, 60) if number % 3 == 1]
    assert [int(row["correl_id"][:2]) for row in rows] == [number % 4 for number in wanted]
    both = read(group, wanted=ReadFilter(selector=whole.text, correl_id=b"01".ljust(24, b"\0")), per_range=per_range)
    assert len(both) == sum(number % 4 == 1 for number in wanted)


def test_a_selector_sees_the_msg_id_that_was_generated(group: TestGroup, orders: Queue) -> None:
    mds = [orders.put(b"%d" % number) for number in range(5)]
    text = f'Root.MQMD.MsgId = "0x{mds[3].msg_id.hex()}"'
    assert bodies(group, wanted=selecting(text)) == [b"3"]


def test_a_selector_with_much_work_goes_on_in_further_slices(group: TestGroup, orders: Queue) -> None:
    """Each call works for a few milliseconds, and tells where to go on."""
    filler = "x" * 20_000
    for number in range(40):
        handle = MessageHandle()
        handle.set("text", f"{filler}{number}")
        orders.put(b"%d" % number, properties=handle)
    (place,) = find_parts(group.group, QUEUE)
    wanted = selecting("text LIKE '%x%x%x%5'")
    reader = Reader(group.group.deployment(), group.group.name, wanted=wanted)
    (what,) = plan_ranges(group.group, [place], wanted, 1000)
    found = [record for some in reader.read(what) for record in some.records]
    reader.close()
    assert len(found) == 4
    assert sorted(body.rpartition(b"</usr>")[2].strip() for body in map(record_body, found)) == [
        b"15",
        b"25",
        b"35",
        b"5",
    ]


def test_a_selector_passes_over_what_is_not_shown(group: TestGroup, orders: Queue) -> None:
    orders.put(b"open", options=PutOption.SYNCPOINT)
    orders.put(b"shown")
    with group.connect() as other:
        taken = other.open(QUEUE, BOTH)
        orders.put(b"locked")
        taken.get(GetOption.SYNCPOINT)
        assert bodies(group, wanted=selecting("Root.MQMD.Priority >= 0")) == [b"locked"]
        other.backout()
