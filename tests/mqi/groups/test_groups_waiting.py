"""Waiting for groups: a waiter is woken when it can take something, and no wake-up is lost on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from itertools import islice
from typing import Any

import pytest

from sharedq import Message, MQIError, Queue
from sharedq.calls.get.get import LENGTH_MAX
from sharedq.calls.requests.get import GetRequest, Selection
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection
from tests.support.groups import BOTH, LMIG, LOGICAL, LSEG, MIG, SEG, WHOLE_GROUP, matching, put_member, take
from tests.support.members import TestGroup
from tests.support.waits import LONG_MS, until_waiting, waits

CORREL = b"C" * 24


@pytest.fixture
def putter(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BOTH)


def test_a_get_of_whole_groups_is_woken_when_one_is_complete(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    future = waits(pool, group, WHOLE_GROUP)
    put_member(putter, b"g", 2, b"2", LMIG)
    put_member(putter, b"h", 1, b"h1")
    until_waiting(group, "Q", 1)
    put_member(putter, b"g", 1, b"1")
    assert future.result(20).body == b"1"


def test_a_get_in_logical_order_is_woken_by_what_begins_something(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    future = waits(pool, group, LOGICAL)
    put_member(putter, b"g", 2, b"2", LMIG)
    until_waiting(group, "Q", 1)
    put_member(putter, b"g", 1, b"1")
    assert future.result(20).body == b"1"
    plain = waits(pool, group, WHOLE_GROUP)
    putter.put(b"plain")
    assert plain.result(20).body == b"plain"


def test_the_next_segment_wakes_the_reader_of_its_logical_message(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    queue, others = group.connect().open("Q", BOTH), waits(pool, group, WHOLE_GROUP)
    put_member(putter, b"s", 1, b"12", SEG)
    assert take(queue, LOGICAL) == b"12"
    future = pool.submit(queue.get, LOGICAL | GetOption.WAIT, wait_ms=LONG_MS)
    until_waiting(group, "Q", 2)
    put_member(putter, b"s", 1, b"5", LSEG, offset=4)
    until_waiting(group, "Q", 2)
    put_member(putter, b"s", 1, b"34", SEG, offset=2)
    assert future.result(20).body == b"34"
    assert take(queue, LOGICAL) == b"5"
    putter.put(b"plain")
    assert others.result(20).body == b"plain"


def test_the_next_message_wakes_the_reader_of_its_group(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    futures = {}
    for name in (b"g", b"h"):
        queue = group.connect().open("Q", BOTH)
        put_member(putter, name, 1, name + b"1")
        assert take(queue, LOGICAL) == name + b"1"
        futures[name] = pool.submit(queue.get, LOGICAL | GetOption.WAIT, wait_ms=LONG_MS)
        until_waiting(group, "Q", len(futures))
    put_member(putter, b"g", 3, b"g3", LMIG)
    until_waiting(group, "Q", 2)
    for name in (b"h", b"g"):
        put_member(putter, name, 2, name + b"2")
        assert futures[name].result(20).body == name + b"2"


def test_a_get_of_whole_messages_is_woken_by_the_last_segment(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    future = waits(pool, group, int(GetOption.COMPLETE_MSG))
    put_member(putter, b"s", 1, b"def", LSEG, offset=3)
    put_member(putter, b"s", 1, b"abc", SEG)
    assert future.result(20).body == b"abcdef"


def test_inside_a_group_a_whole_message_is_waited_for(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    queue = group.connect().open("Q", BOTH)
    put_member(putter, b"g", 1, b"1")
    assert take(queue, LOGICAL) == b"1"
    future = pool.submit(queue.get, LOGICAL | GetOption.COMPLETE_MSG | GetOption.WAIT, wait_ms=LONG_MS)
    until_waiting(group, "Q", 1)
    put_member(putter, b"g", 2, b"a", LMIG | SEG)
    put_member(putter, b"g", 2, b"b", LMIG | LSEG, offset=1)
    assert future.result(20).body == b"ab"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_useless_wake_up_goes_to_a_waiter_that_can_take_it(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, order: tuple[int, ...]
) -> None:
    """A message without the CorrelId of the wait completes the group."""
    asked: list[tuple[int, dict[str, Any]]] = [
        (WHOLE_GROUP, matching(correl_id=b"other".ljust(24))),
        (WHOLE_GROUP, matching(correl_id=CORREL)),
        (int(GetOption.ALL_MSGS_AVAILABLE), matching(b"nobody")),
    ]
    futures: dict[int, Future[Message]] = {}
    for which in order:
        options, kwargs = asked[which]
        futures[which] = waits(pool, group, options, **kwargs)
    put_member(putter, b"g", 1, b"1", correl_id=CORREL)
    put_member(putter, b"g", 2, b"2", LMIG)
    assert futures[1].result(20).body == b"1"
    until_waiting(group, "Q", 2)
    group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
    for which in (0, 2):
        with pytest.raises(MQIError) as caught:
            futures[which].result(20)
        assert caught.value.reason == MQRC.GET_INHIBITED


def test_a_general_get_takes_what_the_particular_ones_do_not_want(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    particular = [waits(pool, group, WHOLE_GROUP, **matching(b"g")) for _ in range(2)]
    general = waits(pool, group, 0)
    put_member(putter, b"h", 2, b"h2")
    assert general.result(20).body == b"h2"
    until_waiting(group, "Q", 2)
    put_member(putter, b"g", 1, b"g1", LMIG)
    put_member(putter, b"g", 1, b"g1 too", LMIG)
    assert sorted(future.result(20).body for future in particular) == [b"g1", b"g1 too"]


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_commit_or_a_back_out_that_completes_a_group_wakes(
    group: TestGroup, pool: ThreadPoolExecutor, is_committed: bool
) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put_member(queue, b"g", 1, b"1")
    if is_committed:
        put_member(queue, b"g", 2, b"2", LMIG, options=PutOption.SYNCPOINT)
    else:
        put_member(queue, b"g", 2, b"2", LMIG)
        assert queue.get(GetOption.SYNCPOINT, **matching(b"g", 2)).body == b"2"
    future = waits(pool, group, WHOLE_GROUP)
    if is_committed:
        connection.commit()
    else:
        connection.backout()
    assert future.result(20).body == b"1"


def test_many_consumers_of_groups_lose_no_wake_up(group: TestGroup, pool: ThreadPoolExecutor, putter: Queue) -> None:
    groups, size = 12, 3

    def consume() -> list[list[bytes]]:
        connection = group.connect()
        queue, got = connection.open("Q", BOTH), list[list[bytes]]()
        while True:
            whole = list[bytes]()
            while len(whole) < size:
                options = WHOLE_GROUP | GetOption.WAIT | GetOption.SYNCPOINT
                body = queue.get(options, wait_ms=LONG_MS).body
                if body == b"stop":
                    connection.commit()
                    return got
                whole.append(body)
            connection.commit()
            got.append(whole)

    consumers = [pool.submit(consume) for _ in range(3)]
    for seq in (2, 3, 1):
        for number in range(groups):
            put_member(putter, b"%d" % number, seq, b"%d/%d" % (number, seq), LMIG if seq == size else 8)
    for _ in consumers:
        putter.put(b"stop")
    got = [whole for consumer in consumers for whole in consumer.result(60)]
    assert sorted(got) == sorted([b"%d/%d" % (number, seq) for seq in (1, 2, 3)] for number in range(groups))


def test_an_interval_that_passes_leaves_no_waiter(group: TestGroup, putter: Queue) -> None:
    put_member(putter, b"g", 2, b"2", LMIG)
    with pytest.raises(MQIError) as caught:
        putter.get(WHOLE_GROUP | GetOption.WAIT, wait_ms=30)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    until_waiting(group, "Q", 0)


def test_a_search_past_many_that_do_not_fit_ends_and_waits(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    """No index has an Offset alone: the search takes several calls, and messages that come meanwhile count."""
    for number in range(600):
        put_member(putter, b"%d" % number, 1, b"x", SEG)
    put_member(putter, b"far", 1, b"after all", LSEG, offset=5)
    assert take(putter, **matching(offset=5)) == b"after all"
    assert take(putter, GetOption.BROWSE_FIRST, **matching(offset=5)) == b""
    future = waits(pool, group, 0, **matching(offset=5))
    put_member(putter, b"near", 1, b"before all", LSEG, offset=5, priority=9)
    assert future.result(20).body == b"before all"


def test_a_message_arriving_before_a_searchs_place_ends_the_wait(
    group: TestGroup, putter: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many have another Offset, so one look does not see them all."""
    members = [MQMD(version=2, group_id=b"%024d" % number, msg_flags=SEG) for number in range(300)]
    putter.put_many([(member, b"no") for member in members])
    queue, call_many, looks = group.connect().open("Q", BOTH), Connection.call_many, []

    def then_put(self: Connection, calls: Sequence[ScriptCall]) -> list[Any]:
        replies = call_many(self, calls)
        if self is queue.connection and calls[0][0] == "structure/get_grouped":
            looks.append(replies[0][0])
            if looks == [2]:
                put_member(putter, b"near", 1, b"yes", LSEG, offset=5, priority=9)
        return replies

    monkeypatch.setattr(Connection, "call_many", then_put)
    queue.handle.gets.has_members = True
    assert queue.get(GetOption.WAIT, wait_ms=LONG_MS, **matching(offset=5)).body == b"yes"
    assert looks == [2, 0]


def test_the_completing_message_may_have_two_waiters(group: TestGroup, pool: ThreadPoolExecutor, putter: Queue) -> None:
    """One waits for the second message of a whole group, the other for any logical message that is whole."""
    put_member(putter, b"g", 1, b"abc", MIG | SEG)
    put_member(putter, b"g", 2, b"2", LMIG)
    second = waits(pool, group, GetOption.ALL_MSGS_AVAILABLE, **matching(seq=2))
    whole = waits(pool, group, LOGICAL | GetOption.ALL_SEGMENTS_AVAILABLE)
    put_member(putter, b"g", 1, b"def", MIG | LSEG, offset=3)
    assert (second.result(30).body, whole.result(30).body) == (b"2", b"abc")


def test_a_woken_getter_that_stops_waiting_leaves_the_rest_to_others(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    put_member(putter, b"g", 1, b"abc", MIG | SEG)
    put_member(putter, b"g", 2, b"2", LMIG)
    late = group.connect().open("Q", BOTH)
    # Its interval ends when it is woken: it looks once more, and does not wait after that.
    connection, asked = late.connection, Selection(seq=2, level=2, is_grouped=True)
    call = GetRequest(connection, late.handle, asked, 0, 1, LENGTH_MAX, connection.unit.id).call(b"V")
    assert connection.call(*call)[0] == MQRC.NO_MSG_AVAILABLE
    whole = waits(pool, group, LOGICAL | GetOption.ALL_SEGMENTS_AVAILABLE)
    put_member(putter, b"g", 1, b"def", MIG | LSEG, offset=3)
    until_waiting(group, "Q", 1)
    assert take(late, GetOption.ALL_MSGS_AVAILABLE, **matching(seq=2)) == b"2"
    assert whole.result(30).body == b"abc"


@pytest.mark.rule(
    "mqi/waiting",
    "A getter that is woken and may not have the message, or has no room for it, passes it to another waiter.",
)
def test_a_woken_waiter_without_room_leaves_it_to_another(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    # Of equal waiters the first connection is woken.
    narrow = waits(pool, group, LOGICAL, max_length=1)
    wide = waits(pool, group, LOGICAL)
    put_member(putter, b"g", 1, b"long")
    assert narrow.result(30).reason == MQRC.TRUNCATED_MSG_FAILED
    assert wide.result(30).body == b"long"


#: For no certain message: any, any that is whole, any of a whole group, a first one, or a whole group.
GENERAL = (0, GetOption.COMPLETE_MSG, GetOption.ALL_MSGS_AVAILABLE, LOGICAL, WHOLE_GROUP)
CERTAIN: dict[str, tuple[int, dict[str, Any]]] = {
    "of the group": (0, matching(b"g")),
    "whole, of the group": (int(GetOption.COMPLETE_MSG), matching(b"g")),
    "in order, of the group": (int(LOGICAL), matching(b"g")),
    "by its place": (0, matching(seq=1)),
    "by its offset": (0, matching(offset=0)),
    "whole, by CorrelId": (int(GetOption.COMPLETE_MSG), matching(correl_id=CORREL)),
    "in order, by CorrelId": (int(LOGICAL), matching(correl_id=CORREL)),
    "by both": (int(GetOption.ALL_MSGS_AVAILABLE), matching(correl_id=CORREL, msg_id=b"M" * 24)),
}


@pytest.mark.rule("mqi/waiting", "A wait for a certain message is served before a wait for any message.")
@pytest.mark.parametrize("general", GENERAL)
@pytest.mark.parametrize("certain", CERTAIN)
def test_a_waiter_for_one_message_precedes_waiters_for_any(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, general: int, certain: str
) -> None:
    any_message = waits(pool, group, general)
    options, asked = CERTAIN[certain]
    that_message = waits(pool, group, options, **asked)
    put_member(putter, b"g", 1, b"that", LMIG, correl_id=CORREL, msg_id=b"M" * 24)
    assert that_message.result(20).body == b"that"
    until_waiting(group, "Q", 1)
    putter.put(b"other")
    assert any_message.result(20).body == b"other"


def test_waiters_for_any_message_pass_a_wake_up_on_once(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    """The completing message is for a waiter for whole groups, and the rest for the next waiter that can take it."""
    put_member(putter, b"g", 2, b"2", LMIG)
    of_groups = [waits(pool, group, int(GetOption.ALL_MSGS_AVAILABLE)) for _ in range(2)]
    beginning = waits(pool, group, LOGICAL)
    put_member(putter, b"g", 1, b"1")
    assert beginning.result(20).body == b"1"
    until_waiting(group, "Q", 1)
    putter.put(b"plain")
    assert sorted(future.result(20).body for future in of_groups) == [b"2", b"plain"]


def test_a_useless_wake_up_passes_through_all_waiters_and_ends(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    waiting = [
        waits(pool, group, GetOption.ALL_MSGS_AVAILABLE),
        waits(pool, group, GetOption.COMPLETE_MSG),
        waits(pool, group, 0, **matching(b"nobody")),
        waits(pool, group, WHOLE_GROUP),
    ]
    put_member(putter, b"s", 1, b"abc", SEG)
    until_waiting(group, "Q", 4)
    put_member(putter, b"g", 1, b"1")
    assert waiting[1].result(20).body == b"1"
    until_waiting(group, "Q", 3)
    put_member(putter, b"nobody", 1, b"1", LMIG)
    # It is woken first. But the waiter for the next message may take the message before it gets there.
    assert waiting[2].result(20).body == b"1"
    putter.put(b"plain")
    putter.put(b"plain")
    assert [waiting[number].result(20).body for number in (0, 3)] == [b"plain", b"plain"]


@pytest.mark.rule(
    "mqi/waiting", "A message that counts because its duplicate has gone ends a wait, as if it had just arrived."
)
@pytest.mark.parametrize("options", [GetOption.COMPLETE_MSG, LOGICAL | GetOption.ALL_MSGS_AVAILABLE])
@pytest.mark.parametrize("goes", ["got", "locked", "expired"])
def test_a_message_that_counts_after_its_twin_went_ends_a_wait(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, options: int, goes: str
) -> None:
    """Of segments at one place the first counts. It has another length than the next one, which completes the whole."""
    put_member(putter, b"s", 1, b"1234", SEG, expiry=1 if goes == "expired" else -1, priority=9)
    put_member(putter, b"s", 1, b"12345678", SEG, priority=8)
    put_member(putter, b"s", 1, b"9", LSEG, offset=8)
    whole = waits(pool, group, options)
    other = group.connect().open("Q", BOTH)
    if goes == "got":
        assert take(other) == b"1234"
    elif goes == "locked":
        assert take(other, GetOption.BROWSE_FIRST | GetOption.LOCK) == b"1234"
    else:
        group.wait_redis_ms(150)
        assert take(other, GetOption.BROWSE_FIRST, **matching(b"s", offset=0)) == b"12345678"
    assert whole.result(20).body == (b"123456789" if options == GetOption.COMPLETE_MSG else b"12345678")


@pytest.mark.rule(
    "mqi/waiting", "A message that counts because its duplicate has gone ends a wait, as if it had just arrived."
)
def test_a_reader_that_begins_a_group_leaves_its_duplicate(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    for _ in range(2):
        put_member(putter, b"s", 1, b"abc", SEG)
    beginning = [waits(pool, group, WHOLE_GROUP) for _ in range(3)]
    put_member(putter, b"s", 1, b"def", LSEG, offset=3)
    # Two of them have been woken, but need not have got it already.
    assert [future.result().body for future in islice(as_completed(beginning, 20), 2)] == [b"abc", b"abc"]
    until_waiting(group, "Q", 1)
    assert [take(putter, LOGICAL) for _ in range(2)] == [b"", b""]
    putter.put(b"plain")
    assert sorted(future.result(20).body for future in beginning) == [b"abc", b"abc", b"plain"]


def test_a_waiter_with_a_locked_duplicate_wakes_no_other_for_its_twin(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    """Each look takes the lock off and locks again. The messages that this uncovers were there all the time."""
    waiting = [waits(pool, group, GetOption.COMPLETE_MSG)]
    for _ in range(2):
        put_member(putter, b"s", 1, b"abc", SEG, priority=9)
    until_waiting(group, "Q", 1)
    locking = group.connect().open("Q", BOTH)
    assert take(locking, GetOption.BROWSE_FIRST | GetOption.LOCK) == b"abc"
    waiting.append(waits(pool, group, GetOption.COMPLETE_MSG, queue=locking))
    put_member(putter, b"t", 1, b"in vain", SEG)
    until_waiting(group, "Q", 2)
    putter.put(b"one")
    putter.put(b"two")
    assert sorted(future.result(20).body for future in waiting) == [b"one", b"two"]


@pytest.mark.parametrize("options", [LOGICAL | GetOption.COMPLETE_MSG, GetOption.COMPLETE_MSG])
def test_a_group_complete_with_the_handles_locked_message_ends_its_wait(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, options: int
) -> None:
    put_member(putter, b"s", 1, b"abc", SEG)
    other = waits(pool, group, options)
    locking = group.connect().open("Q", BOTH)
    assert take(locking, GetOption.BROWSE_FIRST | GetOption.LOCK) == b"abc"
    whole = waits(pool, group, options, queue=locking)
    put_member(putter, b"s", 1, b"def", LSEG, offset=3)
    assert whole.result(20).body == b"abcdef"
    putter.put(b"plain")
    assert other.result(20).body == b"plain"


def too_many_for_its_unit(group: TestGroup) -> tuple[Queue, int]:
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 1})
    return group.connect().open("Q", BOTH), int(GetOption.COMPLETE_MSG | GetOption.SYNCPOINT)


def outside_its_unit(group: TestGroup) -> tuple[Queue, int]:
    group.define_shared("ELSEWHERE")
    connection = group.connect()
    connection.open("ELSEWHERE", BOTH).put(b"under way", options=PutOption.SYNCPOINT)
    return connection.open("Q", BOTH), int(GetOption.COMPLETE_MSG)


@pytest.mark.rule(
    "mqi/waiting",
    "A getter that is woken and may not have the message, or has no room for it, passes it to another waiter.",
)
@pytest.mark.parametrize(
    ("refused", "reason"),
    [(too_many_for_its_unit, MQRC.SYNCPOINT_LIMIT_REACHED), (outside_its_unit, MQRC.UOW_NOT_AVAILABLE)],
)
@pytest.mark.parametrize("asked", [{}, {"options": int(LOGICAL)}, matching(b"s")])
def test_a_woken_waiter_that_must_not_have_it_leaves_it_to_another(
    group: TestGroup,
    pool: ThreadPoolExecutor,
    putter: Queue,
    refused: Callable[[TestGroup], tuple[Queue, int]],
    reason: MQRC,
    asked: dict[str, Any],
) -> None:
    queue, options = refused(group)
    order, match = asked.get("options", 0), {name: value for name, value in asked.items() if name != "options"}
    # Of equal waiters the first connection is woken.
    not_for_it = waits(pool, group, options | order, queue=queue, **match)
    for_it = waits(pool, group, GetOption.COMPLETE_MSG | order, **match)
    put_member(putter, b"s", 1, b"def", LSEG, offset=3, persistence=1)
    until_waiting(group, "Q", 2)
    put_member(putter, b"s", 1, b"abc", SEG, persistence=1)
    with pytest.raises(MQIError) as caught:
        not_for_it.result(20)
    assert caught.value.reason == reason
    assert for_it.result(20).body == b"abcdef"


@pytest.mark.rule(
    "mqi/waiting", "A reader of a group that may not have the next message of the group passes it to another waiter."
)
@pytest.mark.parametrize(
    "asked",
    [{}, {"options": int(GetOption.ALL_SEGMENTS_AVAILABLE)}, matching(seq=2)],
    ids=["any", "whole", "its place"],
)
@pytest.mark.parametrize("reason", [MQRC.MATCH_OPTIONS_ERROR, MQRC.INCONSISTENT_UOW])
def test_the_next_of_a_group_that_its_reader_must_not_have_goes_to_another(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, reason: MQRC, asked: dict[str, Any]
) -> None:
    reader = group.connect().open("Q", BOTH)
    put_member(putter, b"g", 1, b"1")
    assert take(reader, LOGICAL) == b"1"
    if reason == MQRC.MATCH_OPTIONS_ERROR:
        not_for_it = waits(pool, group, LOGICAL, queue=reader, **matching(msg_id=b"M" * 24))
    else:
        not_for_it = waits(pool, group, LOGICAL | GetOption.SYNCPOINT_IF_PERSISTENT, queue=reader)
    for_it = waits(pool, group, **{"options": 0, **asked})
    put_member(putter, b"g", 2, b"2", LMIG, persistence=1)
    with pytest.raises(MQIError) as caught:
        not_for_it.result(20)
    assert caught.value.reason == reason
    assert for_it.result(20).body == b"2"
