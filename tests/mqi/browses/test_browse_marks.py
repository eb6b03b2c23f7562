"""Browsing with marks: the messages that UNMARKED_BROWSE_MSG passes over, for which handles, and the end of a mark."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from sharedq import Queue
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.commit import backout, commit
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption
from sharedq.mqi.structures import MQMD
from tests.mqi.groups.test_groups_cost import commands
from tests.support.groups import BOTH, LSEG, MIG, SEG, drain, matching, put_member, reason_of, take
from tests.support.members import TestGroup
from tests.support.scenes import recover_lost
from tests.support.waits import until_waiting

FIRST, NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR)
MARK, UNMARK = int(GetOption.MARK_BROWSE_HANDLE), int(GetOption.UNMARK_BROWSE_HANDLE)
MARK_ALL, UNMARK_ALL = int(GetOption.MARK_BROWSE_CO_OP), int(GetOption.UNMARK_BROWSE_CO_OP)
UNMARKED, WAIT = int(GetOption.UNMARKED_BROWSE_MSG), int(GetOption.WAIT)
BY_HANDLE, TOGETHER = int(GetOption.BROWSE_HANDLE), int(GetOption.BROWSE_CO_OP)
CO_OP = BOTH | OpenOption.CO_OP
NEVER = -1


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    """A queue with the messages 1 to 4."""
    group.define_shared("Q")
    opened = group.connect().open("Q", BOTH)
    for number in range(1, 5):
        opened.put(b"%d" % number)
    return opened


def co_op(group: TestGroup, mark_ms: int = NEVER) -> Queue:
    """A handle of the co-operating set. Its manager's MARKINT is set first."""
    group.repository("QM1").alter_qmgr("QM1", {"mark_interval_ms": mark_ms})
    return group.connect().open("Q", CO_OP)


def dispatch(queue: Queue, options: int, count: int = 100) -> list[bytes]:
    """Bodies that a dispatcher gets, which always browses from the start."""
    bodies: list[bytes] = []
    while len(bodies) < count and (body := take(queue, options)):
        bodies.append(body)
    return bodies


def left_of_marks(group: TestGroup) -> list[bytes]:
    """Keys that concern marks."""
    names = group.group.structure("APPL1").queue("Q")
    found: Any = group.group.client().keys(names.marks.replace("{", "[{]") + "*")
    state = group.group.client().hget(names.queue, "mk")
    assert bool(state) == (names.marks.encode() in found)
    return sorted(found)


# -- marks of a handle -------------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/marks",
    "Browsing from the start with UNMARKED_BROWSE_MSG returns each message once, also one that arrives in front.",
)
def test_each_message_comes_once_from_the_start(queue: Queue) -> None:
    assert dispatch(queue, BY_HANDLE) == [b"1", b"2", b"3", b"4"]
    queue.put(b"urgent", MQMD(priority=9))
    queue.put(b"5")
    assert dispatch(queue, BY_HANDLE) == [b"urgent", b"5"]
    assert drain(queue) == [b"urgent", b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.rule("mqi/marks", "A mark that MARK_BROWSE_HANDLE sets counts for its own handle only.")
def test_marks_of_a_handle_are_that_handles_only(group: TestGroup, queue: Queue) -> None:
    other = group.connect().open("Q", BOTH)
    assert dispatch(queue, BY_HANDLE, 2) == [b"1", b"2"]
    assert dispatch(other, BY_HANDLE, 3) == [b"1", b"2", b"3"]
    assert dispatch(queue, BY_HANDLE) == [b"3", b"4"]


def test_a_browse_without_the_unmarked_option_sees_all(queue: Queue) -> None:
    dispatch(queue, BY_HANDLE)
    assert queue.get(FIRST).body == b"1"
    assert queue.get(NEXT | MARK).body == b"2"
    assert reason_of(queue, FIRST | UNMARKED) == MQRC.NO_MSG_AVAILABLE
    assert reason_of(queue, UNDER_CURSOR | UNMARKED) == MQRC.NO_MSG_UNDER_CURSOR


def test_browsing_on_passes_over_marked_ones_too(queue: Queue) -> None:
    queue.get(FIRST)
    queue.get(NEXT | MARK)
    assert queue.get(FIRST | UNMARKED).body == b"1"
    assert queue.get(NEXT | UNMARKED).body == b"3"
    assert queue.get(UNDER_CURSOR | MARK).body == b"3"
    assert queue.get(FIRST | UNMARKED).body == b"1"
    assert queue.get(NEXT | UNMARKED).body == b"4"


@pytest.mark.rule("mqi/marks", "UNMARK_BROWSE_HANDLE ends a mark; it succeeds also if the message is not marked.")
def test_a_message_is_unmarked_by_browsing_it_again(queue: Queue) -> None:
    dispatch(queue, BY_HANDLE)
    token = queue.get(FIRST).msg_token
    asked: dict[str, Any] = {"msg_token": token, "match_options": MatchOption.MATCH_MSG_TOKEN}
    assert queue.get(FIRST | UNMARK, **asked).body == b"1"
    # Also when it is not marked.
    assert queue.get(UNDER_CURSOR | UNMARK).body == b"1"
    assert dispatch(queue, BY_HANDLE) == [b"1"]


def test_a_browse_that_fails_or_is_cut_off_marks_nothing(queue: Queue) -> None:
    assert queue.get(FIRST | MARK, max_length=0).reason == MQRC.TRUNCATED_MSG_FAILED
    assert dispatch(queue, BY_HANDLE, 1) == [b"1"]
    truncated = FIRST | MARK | UNMARKED | int(GetOption.ACCEPT_TRUNCATED_MSG)
    assert queue.get(truncated, max_length=0).reason == MQRC.TRUNCATED_MSG_ACCEPTED
    assert dispatch(queue, BY_HANDLE) == [b"3", b"4"]


@pytest.mark.rule("mqi/marks", "MQCLOSE ends the marks of its handle.")
def test_a_close_ends_the_marks_of_the_handle(group: TestGroup, queue: Queue) -> None:
    dispatch(queue, BY_HANDLE)
    assert left_of_marks(group)
    queue.close()
    assert left_of_marks(group) == []


@pytest.mark.rule("mqi/marks", "The end of a program ends the marks of its handles.")
def test_a_dead_program_leaves_no_marks(group: TestGroup, queue: Queue) -> None:
    dispatch(queue, BY_HANDLE)
    together = co_op(group)
    dispatch(together, TOGETHER)
    for lost in (queue, together):
        lost.connection.break_off()
        recover_lost(group, lost.connection.token)
    assert left_of_marks(group) == []
    assert dispatch(co_op(group), TOGETHER) == [b"1", b"2", b"3", b"4"]


@pytest.mark.rule("mqi/marks", "A get ends the marks of its message, even if the get is backed out.")
@pytest.mark.parametrize("syncpoint", [0, int(GetOption.SYNCPOINT)])
def test_a_get_ends_the_marks_of_its_message_also_when_it_is_backed_out(
    group: TestGroup, queue: Queue, syncpoint: int
) -> None:
    other = group.connect().open("Q", BOTH)
    dispatch(queue, BY_HANDLE)
    assert other.get(syncpoint or int(GetOption.NO_SYNCPOINT)).body == b"1"
    if syncpoint:
        backout(other.connection)
    assert dispatch(queue, BY_HANDLE) == ([b"1"] if syncpoint else [])
    drain(other)
    assert left_of_marks(group) == []
    # And then queues are as before.
    assert reason_of(other, FIRST) == MQRC.NO_MSG_AVAILABLE
    other.put(b"x")
    assert other.get().body == b"x"
    assert not other.handle.gets.may_meet_marks


def test_a_batch_and_a_get_after_a_commit_end_marks_too(group: TestGroup, queue: Queue) -> None:
    other = group.connect().open("Q", BOTH)
    dispatch(queue, BY_HANDLE)
    other.put(b"5", options=2)
    assert other.commit_and_get(GetOption.SYNCPOINT).body == b"1"
    backout(other.connection)
    assert dispatch(queue, BY_HANDLE) == [b"1", b"5"]
    assert len(other.get_many(100)) == 5
    assert left_of_marks(group) == []


def test_an_expired_message_has_no_marks(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    queue.put(b"short", MQMD(expiry=1))
    queue.put(b"long")
    assert dispatch(queue, BY_HANDLE) == [b"short", b"long"]
    group.wait_redis_ms(150)
    assert reason_of(queue, FIRST | UNMARKED) == MQRC.NO_MSG_AVAILABLE
    assert queue.get(FIRST).body == b"long"
    queue.get()
    assert left_of_marks(group) == []


def test_a_lock_hides_a_marked_message_and_its_marks(group: TestGroup, queue: Queue) -> None:
    locker = group.connect().open("Q", BOTH)
    dispatch(queue, BY_HANDLE)
    locker.get(FIRST | int(GetOption.LOCK))
    queue.put(b"5")
    assert dispatch(queue, BY_HANDLE) == [b"5"]
    locker.unlock()
    assert dispatch(queue, BY_HANDLE) == []
    locker.get(FIRST | int(GetOption.LOCK))
    queue.close()
    locker.unlock()
    drain(locker)
    assert left_of_marks(group) == []


def test_members_of_groups_are_marked_like_others(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"g1", MIG)
    queue.put(b"plain")
    put_member(queue, b"s", 1, b"s1", SEG)
    put_member(queue, b"s", 1, b"s2", LSEG, offset=2)
    assert dispatch(queue, BY_HANDLE, 3) == [b"g1", b"plain", b"s1"]
    put_member(queue, b"g", 2, b"urgent", MIG, priority=9)
    assert dispatch(queue, BY_HANDLE) == [b"urgent", b"s2"]
    drain(queue)
    assert left_of_marks(group) == []


def test_marks_count_where_messages_are_selected(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for number in range(400):
        queue.put(b"%d" % number, MQMD(correl_id=b"C" * 24))
    asked: dict[str, Any] = {"match": MQMD(correl_id=b"C" * 24), "match_options": MatchOption.MATCH_CORREL_ID}
    bodies = [queue.get(BY_HANDLE, **asked).body for _ in range(400)]
    assert bodies == [b"%d" % number for number in range(400)]
    assert reason_of(queue, BY_HANDLE, **asked) == MQRC.NO_MSG_AVAILABLE


# -- marks of the co-operating set -------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/marks", "Handles opened with MQOO_CO_OP pass over what MARK_BROWSE_CO_OP has marked for one of them."
)
def test_co_operating_handles_share_the_messages(group: TestGroup, queue: Queue) -> None:
    one, other = co_op(group), co_op(group)
    assert [take(each, TOGETHER) for each in (one, other, one, other, one)] == [b"1", b"2", b"3", b"4", b""]
    # A handle outside the set ignores its marks.
    assert dispatch(queue, FIRST | UNMARKED | MARK) == [b"1", b"2", b"3", b"4"]


@pytest.mark.rule("mqi/marks", "MARK_BROWSE_CO_OP on a message that is marked already ends with 2200.")
def test_a_message_marked_by_the_set_cannot_be_marked_again(group: TestGroup, queue: Queue) -> None:
    one, other = co_op(group), co_op(group)
    assert one.get(TOGETHER).body == b"1"
    assert reason_of(other, FIRST | MARK_ALL) == MQRC.MSG_MARKED_BROWSE_CO_OP
    # That did not move the cursor.
    assert reason_of(other, UNDER_CURSOR) == MQRC.NO_MSG_UNDER_CURSOR
    assert other.get(FIRST).body == b"1"
    assert queue.get(FIRST).body == b"1"


@pytest.mark.rule("mqi/marks", "UNMARK_BROWSE_CO_OP ends a mark for all co-operating handles.")
def test_any_of_the_set_unmarks_for_all_and_marks_of_handles_stay(group: TestGroup, queue: Queue) -> None:
    one, other = co_op(group), co_op(group)
    assert one.get(TOGETHER | MARK).body == b"1"
    assert other.get(FIRST | UNMARK_ALL).body == b"1"
    assert take(one, FIRST | UNMARKED) == b"2"
    assert take(other, TOGETHER) == b"1"
    assert queue.get(FIRST | UNMARKED).body == b"1"


def test_two_kinds_of_marks_are_both_passed_over(group: TestGroup, queue: Queue) -> None:
    one, other = co_op(group), co_op(group)
    for number in range(5, 41):
        queue.put(b"%d" % number)
    for number in range(1, 40):
        # Marked in turns by the set and by the handle.
        how = FIRST if number == 1 else NEXT
        assert other.get(how | MARK_ALL).body == b"%d" % number if number % 2 else other.get(how).body
        one.get(how | (0 if number % 2 else MARK))
    assert one.get(FIRST | UNMARKED).body == b"40"
    assert other.get(FIRST | UNMARKED).body == b"2"


@pytest.mark.parametrize("option", [MARK_ALL, UNMARK_ALL])
def test_marks_of_the_set_need_a_handle_of_the_set(queue: Queue, option: int) -> None:
    assert reason_of(queue, FIRST | option) == MQRC.OPTIONS_ERROR


@pytest.mark.parametrize("option", [MARK, MARK_ALL, UNMARK, UNMARK_ALL, UNMARKED])
def test_marks_go_with_browsing_only(group: TestGroup, queue: Queue, option: int) -> None:
    handle = co_op(group)
    assert reason_of(handle, option) == MQRC.OPTIONS_ERROR
    assert reason_of(handle, option | int(GetOption.MSG_UNDER_CURSOR)) == MQRC.OPTIONS_ERROR
    for other in (GetOption.LOCK, GetOption.LOGICAL_ORDER, GetOption.COMPLETE_MSG, GetOption.ALL_MSGS_AVAILABLE):
        assert reason_of(handle, FIRST | option | int(other)) == MQRC.OPTIONS_ERROR
    assert reason_of(handle, FIRST | option) == MQRC.NONE
    assert queue.get().body == b"1"


def test_nothing_is_marked_on_a_transmission_queue(group: TestGroup) -> None:
    group.define_shared("X", usage="XMITQ")
    queue = group.connect().open("X", BOTH)
    assert reason_of(queue, BY_HANDLE) == MQRC.OPTIONS_ERROR


@pytest.mark.rule("mqi/marks", "The marks of co-operating handles end when the last of these handles is closed.")
def test_the_marks_of_the_set_end_when_its_last_handle_is_closed(group: TestGroup, queue: Queue) -> None:
    one, other = co_op(group), co_op(group)
    dispatch(one, TOGETHER)
    one.close()
    assert take(other, TOGETHER) == b""
    QueueManagerConnection(other.connection).disconnect()
    assert left_of_marks(group) == []
    assert dispatch(co_op(group), TOGETHER) == [b"1", b"2", b"3", b"4"]
    assert queue.get().body == b"1"


@pytest.mark.rule("mqi/marks", "A mark of co-operating handles ends after the manager's MARKINT.")
def test_a_mark_of_the_set_ends_with_the_managers_mark_interval(group: TestGroup, queue: Queue) -> None:
    short, unlimited = co_op(group, 150), co_op(group, NEVER)
    assert (take(short, TOGETHER | MARK), take(unlimited, TOGETHER)) == (b"1", b"2")
    assert take(unlimited, FIRST | UNMARKED) == b"3"
    group.wait_redis_ms(200)
    assert take(unlimited, FIRST | UNMARKED) == b"1"
    # The mark of the handle has no end.
    assert take(short, FIRST | UNMARKED) == b"3"
    assert queue.get(FIRST).body == b"1"


@pytest.mark.rule("mqi/marks", "A browse that waits for unmarked messages is served when a mark ends.")
def test_a_waiter_is_served_when_a_mark_ends(group: TestGroup, queue: Queue) -> None:
    drain(queue)
    queue.put(b"1")
    one, other = co_op(group, 300), co_op(group, 300)
    assert take(one, TOGETHER) == b"1"
    with ThreadPoolExecutor(1) as pool:
        # The end of this interval would serve it, too.
        assert pool.submit(other.get, TOGETHER | WAIT, wait_ms=120_000).result(20).body == b"1"


@pytest.mark.rule("mqi/marks", "A browse that waits for unmarked messages is served when a mark ends.")
def test_a_waiter_is_served_when_a_message_is_unmarked(group: TestGroup, queue: Queue) -> None:
    drain(queue)
    queue.put(b"1")
    one, other = co_op(group), co_op(group)
    assert take(one, TOGETHER) == b"1"
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(other.get, TOGETHER | WAIT, wait_ms=60_000)
        until_waiting(group, "Q", 1)
        one.get(UNDER_CURSOR | UNMARK_ALL)
        assert future.result(20).body == b"1"


def test_more_marks_than_one_call_ends_are_all_ended(group: TestGroup, queue: Queue) -> None:
    drain(queue)
    queue.put_many([(MQMD(), b"%d" % number) for number in range(1_200)])
    one, two = co_op(group), co_op(group)
    dispatch(one, TOGETHER | MARK, 1_200)
    one.close()
    two.close()
    again = co_op(group)
    assert dispatch(again, TOGETHER | MARK, 1_200) == [b"%d" % number for number in range(1_200)]
    assert take(again, FIRST | UNMARKED) == b""
    drain(queue)
    assert left_of_marks(group) == []


@pytest.mark.rule(
    "mqi/marks", "Marks that end by MARKINT count no more, even if there are more of them than one call clears."
)
def test_none_counts_any_more_of_more_marks_than_one_call_ends(group: TestGroup, queue: Queue) -> None:
    """Their interval is over."""
    drain(queue)
    queue.put_many([(MQMD(), b"%d" % number) for number in range(1_200)])
    last = queue.put(b"last")
    one, two = co_op(group, 3_600_000), co_op(group, 3_600_000)
    dispatch(one, TOGETHER, 1_201)
    assert reason_of(two, FIRST | UNMARKED) == MQRC.NO_MSG_AVAILABLE
    times = one.handle.queue.marks_of + "C\nt"
    client = group.group.client()
    marked: Any = client.zrange(times, 0, -1)
    client.zadd(times, dict.fromkeys(marked, 1), xx=True)
    assert take(two, FIRST | MARK_ALL, **matching(msg_id=last.msg_id)) == b"last"
    assert client.zcard(times) == 1


# -- costs, and a comparison with a look at everything -----------------------------------------------------------------


def test_marked_messages_in_front_are_passed_over_by_halving(group: TestGroup) -> None:
    counted = []
    for name, count in (("FEW", 16), ("MANY", 4_096)):
        group.define_shared(name)
        queue = group.connect().open(name, BOTH)
        queue.put_many([(MQMD(), b"x") for _ in range(count)])
        dispatch(queue, BY_HANDLE, count)
        queue.put(b"new")
        body, times = commands(group, partial(dispatch, queue, FIRST | UNMARKED, 1))
        assert body == [b"new"]
        counted.append(sum(times.values()))
    # 256 times as many: eight steps more, of two commands each, and the renewals of leases.
    assert counted[1] - counted[0] <= 40


@pytest.mark.parametrize("seed", range(5))
def test_random_marks_agree_with_looking_at_everything(group: TestGroup, seed: int) -> None:
    chance = random.Random(seed)
    group.define_shared("Q")
    handles = [co_op(group) for _ in range(2)]
    other = group.connect().open("Q", BOTH)
    there: list[tuple[int, int, bytes]] = []
    marks: dict[object, set[bytes]] = {0: set(), 1: set(), "set": set()}

    def kinds(number: int) -> list[tuple[int, list[object]]]:
        return [(BY_HANDLE, [number]), (TOGETHER, ["set"]), (TOGETHER | MARK, [number, "set"])]

    def unmarked(number: int) -> bytes:
        return next((body for *_, body in sorted(there) if body not in marks[number] | marks["set"]), b"")

    def put(number: int) -> None:
        priority, body = chance.randrange(3), b"%d" % number
        handles[0].put(body, MQMD(priority=priority, expiry=10_000 if chance.random() < 0.3 else -1))
        there.append((9 - priority, number, body))

    def get(_: int) -> None:
        body = take(other, int(GetOption.SYNCPOINT))
        assert body == (min(there)[2] if there else b"")
        for each in marks.values():
            each.discard(body)
        if body and chance.random() < 0.5:
            backout(other.connection)
        else:
            commit(other.connection)
            there[:] = sorted(there)[1:]

    def mark(_: int) -> None:
        number = chance.randrange(2)
        options, holders = chance.choice(kinds(number))
        body = take(handles[number], options)
        assert body == unmarked(number)
        for holder in holders:
            if body:
                marks[holder].add(body)

    def unmark(_: int) -> None:
        number = chance.randrange(2)
        body = take(handles[number], FIRST | UNMARK | UNMARK_ALL)
        for holder in (number, "set"):
            marks[holder].discard(body)

    steps: list[Callable[[int], None]] = [put, put, put, mark, mark, mark, get, unmark]
    for number in range(150):
        chance.choice(steps)(number)
    for number in (0, 1):
        assert take(handles[number], FIRST | UNMARKED) == unmarked(number)
    drain(other)
    assert left_of_marks(group) == []
