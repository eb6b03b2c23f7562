"""MQGMO_LOCK and MQGMO_UNLOCK: the handles that a lock keeps out, the calls that end it, and calls that ignore it."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sharedq import MQIError, Queue, verbs
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.commit import backout, commit
from sharedq.mqi.constants import MQCC, MQRC, GetOption, IntSelector, MatchOption, OpenOption, PutOption
from sharedq.mqi.structures import MQGMO, MQMD
from tests.support.groups import BOTH, LOGICAL, browse_all, drain, matching, reason_of
from tests.support.locks import locked
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.waits import until_waiting

pytestmark = pytest.mark.share

FIRST, NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
UNDER_CURSOR, TAKE_UNDER_CURSOR = int(GetOption.BROWSE_MSG_UNDER_CURSOR), int(GetOption.MSG_UNDER_CURSOR)
LOCK, TRUNCATED = int(GetOption.LOCK), int(GetOption.ACCEPT_TRUNCATED_MSG)
LOCK_FIRST, LOCK_NEXT = FIRST | LOCK, NEXT | LOCK
WAIT = int(GetOption.WAIT)


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    """A queue with the messages 1 to 4, opened by a program that browses."""
    group.define_shared("Q")
    opened = group.connect().open("Q", BOTH)
    for number in range(1, 5):
        opened.put(b"%d" % number)
    return opened


@pytest.fixture
def other(group: TestGroup, queue: Queue) -> Queue:
    """The same queue, opened by another program."""
    return group.connect().open(queue.name, BOTH)


# -- handles that a lock keeps out -------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/locks", "A message that a handle has locked is invisible to every other handle, even of the same connection."
)
@pytest.mark.parametrize("how", [LOCK_FIRST, LOCK_NEXT])
def test_a_locked_message_is_invisible_to_other_handles(queue: Queue, other: Queue, how: int) -> None:
    assert queue.get(how).body == b"1"
    assert browse_all(other) == [b"2", b"3", b"4"]
    assert drain(other) == [b"2", b"3", b"4"]


@pytest.mark.rule(
    "mqi/locks", "A message that a handle has locked is invisible to every other handle, even of the same connection."
)
def test_another_handle_of_the_same_connection_is_another_handle(queue: Queue) -> None:
    queue.get(LOCK_FIRST)
    assert browse_all(queue) == [b"1", b"2", b"3", b"4"]
    queue.get(LOCK_FIRST)
    assert browse_all(QueueManagerConnection(queue.connection).open("Q", BOTH)) == [b"2", b"3", b"4"]


@pytest.mark.rule("mqi/locks", "No other handle finds a locked message, by whatever identifier it asks.")
@pytest.mark.parametrize("by", ["msg_id", "correl_id", "token"])
def test_no_other_handle_finds_it_by_what_it_is(group: TestGroup, by: str) -> None:
    group.define_shared("Q")
    queue, other = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    put = queue.put(b"1", MQMD(correl_id=b"C" * 24))
    browsed = queue.get(LOCK_FIRST)
    asked: dict[str, dict[str, Any]] = {
        "msg_id": {"match": MQMD(msg_id=put.msg_id), "match_options": MatchOption.MATCH_MSG_ID},
        "correl_id": {"match": MQMD(correl_id=b"C" * 24), "match_options": MatchOption.MATCH_CORREL_ID},
        "token": {"msg_token": browsed.msg_token, "match_options": MatchOption.MATCH_MSG_TOKEN},
    }
    assert reason_of(other, 0, **asked[by]) == MQRC.NO_MSG_AVAILABLE
    assert reason_of(other, FIRST, **asked[by]) == MQRC.NO_MSG_AVAILABLE
    assert queue.get(0, **asked[by]).body == b"1"
    assert locked(group) == 0


def test_a_cursor_of_another_handle_that_stands_on_it_is_on_nothing(queue: Queue, other: Queue) -> None:
    other.get(FIRST)
    queue.get(LOCK_FIRST)
    assert reason_of(other, UNDER_CURSOR) == MQRC.NO_MSG_UNDER_CURSOR
    assert reason_of(other, TAKE_UNDER_CURSOR) == MQRC.NO_MSG_UNDER_CURSOR
    queue.unlock()
    assert other.get(UNDER_CURSOR).body == b"1"


def test_it_counts_for_the_depth_and_for_the_place(queue: Queue, other: Queue) -> None:
    queue.get(LOCK_FIRST)
    assert other.inquire(IntSelector.CURRENT_Q_DEPTH) == {IntSelector.CURRENT_Q_DEPTH: 4}
    queue.put(b"urgent", MQMD(priority=9))
    queue.unlock()
    assert drain(other) == [b"urgent", b"1", b"2", b"3", b"4"]


def test_a_full_queue_stays_full_when_a_message_is_locked(group: TestGroup) -> None:
    group.define_shared("Q", max_depth=1)
    queue = group.connect().open("Q", BOTH)
    queue.put(b"1")
    queue.get(LOCK_FIRST)
    with pytest.raises(MQIError) as caught:
        queue.put(b"2")
    assert caught.value.reason == MQRC.Q_FULL


@pytest.mark.rule("mqi/locks", "LOCK needs a handle that is open for browse, and nothing more.")
def test_a_lock_needs_the_queue_open_for_browse_and_nothing_more(group: TestGroup) -> None:
    group.define_shared("Q")
    group.connect().put1("Q", b"1")
    browser = group.connect().open("Q", OpenOption.BROWSE)
    assert browser.get(LOCK_FIRST).body == b"1"
    assert browser.unlock()
    getter = group.connect().open("Q", OpenOption.INPUT_SHARED)
    assert reason_of(getter, LOCK_FIRST) == MQRC.NOT_OPEN_FOR_BROWSE


@pytest.mark.rule("mqi/locks", "A handle locks one message at a time.")
def test_only_one_message_is_locked_for_a_handle(group: TestGroup, queue: Queue, other: Queue) -> None:
    for body in (b"1", b"2", b"3"):
        assert queue.get(LOCK_NEXT).body == body
        assert locked(group) == 1
    assert browse_all(other) == [b"1", b"2", b"4"]


def test_every_handle_has_a_lock_of_its_own(group: TestGroup, queue: Queue, other: Queue) -> None:
    assert (queue.get(LOCK_FIRST).body, other.get(LOCK_FIRST).body) == (b"1", b"2")
    assert locked(group) == 2
    queue.close()
    assert browse_all(group.connect().open("Q", BOTH)) == [b"1", b"3", b"4"]


# -- calls of its own handle -------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "mqi/locks", "The handle that locked a message can remove it, with MSG_UNDER_CURSOR or with any other get."
)
def test_its_own_handle_takes_it_from_under_the_cursor(group: TestGroup, queue: Queue, other: Queue) -> None:
    queue.get(LOCK_NEXT)
    queue.get(LOCK_NEXT)
    assert queue.get(TAKE_UNDER_CURSOR).body == b"2"
    assert locked(group) == 0
    assert drain(other) == [b"1", b"3", b"4"]


@pytest.mark.rule(
    "mqi/locks", "The handle that locked a message can remove it, with MSG_UNDER_CURSOR or with any other get."
)
def test_its_own_handle_takes_it_by_any_other_get(group: TestGroup, queue: Queue) -> None:
    queue.get(LOCK_FIRST)
    assert queue.get().body == b"1"
    assert locked(group) == 0
    queue.get(LOCK_FIRST)
    assert [message.body for message in queue.get_many(3)] == [b"2", b"3", b"4"]
    assert locked(group) == 0


def test_a_get_of_another_message_leaves_the_lock(group: TestGroup, queue: Queue, other: Queue) -> None:
    put = other.put(b"5")
    queue.get(LOCK_FIRST)
    assert queue.get(match=MQMD(msg_id=put.msg_id)).body == b"5"
    assert (locked(group), browse_all(other)) == (1, [b"2", b"3", b"4"])
    assert reason_of(queue, match=MQMD(msg_id=put.msg_id)) == MQRC.NO_MSG_AVAILABLE
    assert locked(group) == 1


def test_a_get_whose_buffer_is_too_small_leaves_the_lock(group: TestGroup, queue: Queue) -> None:
    queue.get(LOCK_FIRST)
    assert queue.get(TAKE_UNDER_CURSOR, max_length=0).reason == MQRC.TRUNCATED_MSG_FAILED
    assert locked(group) == 1
    assert queue.get(TAKE_UNDER_CURSOR | TRUNCATED, max_length=0).reason == MQRC.TRUNCATED_MSG_ACCEPTED
    assert locked(group) == 0


@pytest.mark.rule("mqi/locks", "A lock is not part of a unit of work: neither MQCMIT nor MQBACK ends it.")
def test_the_lock_is_no_part_of_a_unit_of_work(group: TestGroup, queue: Queue, other: Queue) -> None:
    queue.put(b"5", options=PutOption.SYNCPOINT)
    queue.get(LOCK_FIRST)
    commit(queue.connection)
    assert locked(group) == 1
    queue.put(b"6", options=PutOption.SYNCPOINT)
    backout(queue.connection)
    assert (locked(group), browse_all(other)) == (1, [b"2", b"3", b"4", b"5"])


@pytest.mark.rule(
    "mqi/locks", "A message that was locked and then got under syncpoint comes back unlocked after MQBACK."
)
def test_a_locked_message_got_under_syncpoint_comes_back_unlocked(group: TestGroup, queue: Queue, other: Queue) -> None:
    queue.get(LOCK_FIRST)
    queue.get(TAKE_UNDER_CURSOR | GetOption.SYNCPOINT)
    assert locked(group) == 0
    backout(queue.connection)
    assert browse_all(other) == [b"1", b"2", b"3", b"4"]
    assert other.get().md.backout_count == 1


def test_a_commit_and_the_next_get_in_one_write_know_of_the_lock(group: TestGroup, queue: Queue) -> None:
    queue.put(b"5", options=PutOption.SYNCPOINT)
    queue.get(LOCK_FIRST)
    assert queue.commit_and_get(GetOption.SYNCPOINT).body == b"1"
    assert locked(group) == 0
    QueueManagerConnection(queue.connection).backout()
    assert drain(queue) == [b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.rule("mqi/units", "A browse does not raise the BackoutCount.")
def test_a_browse_does_not_count_as_a_backout(queue: Queue, other: Queue) -> None:
    queue.get(LOCK_FIRST)
    queue.unlock()
    assert other.get().md.backout_count == 0


# -- calls that end a lock ---------------------------------------------------------------------------------------------

SMALL = {"max_length": 0}
NOBODY: dict[str, Any] = {"match": MQMD(correl_id=b"?" * 24), "match_options": MatchOption.MATCH_CORREL_ID}
WRONG_NUMBER: dict[str, Any] = matching(seq=7)


def disconnect(queue: Queue) -> MQRC:
    """MQDISC, which closes the handle."""
    QueueManagerConnection(queue.connection).disconnect()
    return MQRC.NONE


#: The next call of the handle that locked message 2, its outcome, and the messages that are locked then.
ENDINGS: dict[str, tuple[Callable[[Queue], MQRC], MQRC, bytes]] = {
    # A browse from a place ends the lock, whether or not it locks the message that it returns.
    "first": (lambda queue: reason_of(queue, FIRST), MQRC.NONE, b""),
    "next": (lambda queue: reason_of(queue, NEXT), MQRC.NONE, b""),
    "first, lock": (lambda queue: reason_of(queue, LOCK_FIRST), MQRC.NONE, b"1"),
    "next, lock": (lambda queue: reason_of(queue, LOCK_NEXT), MQRC.NONE, b"3"),
    # Also with a warning, unless that is 2080: then nothing is unlocked, and nothing is locked.
    "next, 2079": (lambda queue: reason_of(queue, NEXT | TRUNCATED, **SMALL), MQRC.TRUNCATED_MSG_ACCEPTED, b""),
    "next, lock, 2079": (
        lambda queue: reason_of(queue, LOCK_NEXT | TRUNCATED, **SMALL),
        MQRC.TRUNCATED_MSG_ACCEPTED,
        b"3",
    ),
    "first, 2080": (lambda queue: reason_of(queue, FIRST, **SMALL), MQRC.TRUNCATED_MSG_FAILED, b"2"),
    "next, 2080": (lambda queue: reason_of(queue, NEXT, **SMALL), MQRC.TRUNCATED_MSG_FAILED, b"2"),
    "next, lock, 2080": (lambda queue: reason_of(queue, LOCK_NEXT, **SMALL), MQRC.TRUNCATED_MSG_FAILED, b"2"),
    # A browse that fails keeps the lock, unless it fails with 2033.
    "next, 2259": (lambda queue: reason_of(queue, NEXT | LOGICAL), MQRC.INCONSISTENT_BROWSE, b"2"),
    "next, lock, 2259": (lambda queue: reason_of(queue, LOCK_NEXT | LOGICAL), MQRC.INCONSISTENT_BROWSE, b"2"),
    "first, 2247": (lambda queue: reason_of(queue, FIRST | LOGICAL, **WRONG_NUMBER), MQRC.MATCH_OPTIONS_ERROR, b"2"),
    "first, 2046": (lambda queue: reason_of(queue, FIRST | NEXT), MQRC.OPTIONS_ERROR, b"2"),
    "next, 2090": (lambda queue: reason_of(queue, NEXT | WAIT, wait_ms=-2), MQRC.WAIT_INTERVAL_ERROR, b"2"),
    "first, 2033": (lambda queue: reason_of(queue, FIRST, **NOBODY), MQRC.NO_MSG_AVAILABLE, b""),
    "next, lock, 2033": (lambda queue: reason_of(queue, LOCK_NEXT, **NOBODY), MQRC.NO_MSG_AVAILABLE, b""),
    "next, lock, wait, 2033": (
        lambda queue: reason_of(queue, LOCK_NEXT | WAIT, wait_ms=20, **NOBODY),
        MQRC.NO_MSG_AVAILABLE,
        b"",
    ),
    "first, 2033 without a look": (
        lambda queue: reason_of(queue, FIRST, msg_token=b"\xff" * 16, match_options=MatchOption.MATCH_MSG_TOKEN),
        MQRC.NO_MSG_AVAILABLE,
        b"",
    ),
    # Under the cursor the message is returned. Without LOCK it is unlocked then, unless the reason is 2080.
    "under cursor": (lambda queue: reason_of(queue, UNDER_CURSOR), MQRC.NONE, b""),
    "under cursor, 2079": (
        lambda queue: reason_of(queue, UNDER_CURSOR | TRUNCATED, **SMALL),
        MQRC.TRUNCATED_MSG_ACCEPTED,
        b"",
    ),
    "under cursor, 2080": (lambda queue: reason_of(queue, UNDER_CURSOR, **SMALL), MQRC.TRUNCATED_MSG_FAILED, b"2"),
    "under cursor, lock": (lambda queue: reason_of(queue, UNDER_CURSOR | LOCK), MQRC.NONE, b"2"),
    "under cursor, lock, 2080": (
        lambda queue: reason_of(queue, UNDER_CURSOR | LOCK, **SMALL),
        MQRC.TRUNCATED_MSG_FAILED,
        b"2",
    ),
    # A get of another message, and a get that finds nothing.
    "get": (lambda queue: reason_of(queue, 0), MQRC.NONE, b"2"),
    "get, 2033": (lambda queue: reason_of(queue, 0, **NOBODY), MQRC.NO_MSG_AVAILABLE, b"2"),
    "get, wait, 2033": (lambda queue: reason_of(queue, WAIT, wait_ms=20, **NOBODY), MQRC.NO_MSG_AVAILABLE, b"2"),
    "get under cursor": (lambda queue: reason_of(queue, TAKE_UNDER_CURSOR), MQRC.NONE, b""),
    "unlock": (lambda queue: MQRC.NONE if queue.unlock() else MQRC.NO_MSG_LOCKED, MQRC.NONE, b""),
    "close": (lambda queue: queue.close(), MQRC.NONE, b""),
    "disconnect": (disconnect, MQRC.NONE, b""),
}


@pytest.mark.rule(
    "mqi/locks", "BROWSE_FIRST and BROWSE_NEXT end the handle's lock on success, 2033 or any warning but 2080."
)
@pytest.mark.rule("mqi/locks", "BROWSE_MSG_UNDER_CURSOR with LOCK keeps the message locked.")
@pytest.mark.rule(
    "mqi/locks", "BROWSE_MSG_UNDER_CURSOR without LOCK unlocks the message, unless the call fails or ends with 2080."
)
@pytest.mark.rule("mqi/locks", "UNLOCK, MQCLOSE, MQDISC and the end of the program end a lock.")
@pytest.mark.parametrize("name", ENDINGS)
def test_calls_that_end_a_lock(group: TestGroup, queue: Queue, other: Queue, name: str) -> None:
    act, reason, still_locked = ENDINGS[name]
    queue.get(FIRST)
    assert queue.get(LOCK_NEXT).body == b"2"
    before = set(browse_all(other))
    assert before == {b"1", b"3", b"4"}
    assert act(queue) == reason
    assert locked(group) == bool(still_locked)
    there = {b"1", b"2", b"3", b"4"} - {b"2" if name == "get under cursor" else b"1" if name == "get" else b""}
    assert set(browse_all(other)) == there - {still_locked}


def test_a_failed_browse_moves_neither_cursor_nor_lock(queue: Queue) -> None:
    queue.get(LOCK_FIRST)
    assert reason_of(queue, LOCK_NEXT, **SMALL) == MQRC.TRUNCATED_MSG_FAILED
    assert queue.get(UNDER_CURSOR | LOCK).body == b"1"
    assert queue.get(LOCK_NEXT).body == b"2"


@pytest.mark.rule("mqi/locks", "BROWSE_MSG_UNDER_CURSOR with LOCK locks the message if it was not locked.")
def test_the_message_under_the_cursor_is_locked_when_nothing_was(group: TestGroup, queue: Queue, other: Queue) -> None:
    assert reason_of(queue, UNDER_CURSOR | LOCK) == MQRC.NO_MSG_UNDER_CURSOR
    queue.get(FIRST)
    assert queue.get(UNDER_CURSOR | LOCK, max_length=0).reason == MQRC.TRUNCATED_MSG_FAILED
    assert locked(group) == 0
    assert queue.get(UNDER_CURSOR | LOCK).body == b"1"
    assert browse_all(other) == [b"2", b"3", b"4"]


@pytest.mark.rule("mqi/locks", "BROWSE_MSG_UNDER_CURSOR with LOCK ends with 2034 if the message has gone.")
def test_the_message_under_the_cursor_may_be_gone(group: TestGroup, queue: Queue, other: Queue) -> None:
    queue.get(FIRST)
    other.get()
    assert reason_of(queue, UNDER_CURSOR | LOCK) == MQRC.NO_MSG_UNDER_CURSOR
    assert locked(group) == 0
    assert queue.get(LOCK_NEXT).body == b"2"


@pytest.mark.rule("mqi/locks", "A call that fails, or ends with 2080, locks nothing.")
def test_a_failed_call_locks_nothing(group: TestGroup, queue: Queue) -> None:
    for asked in (SMALL, NOBODY):
        assert reason_of(queue, LOCK_FIRST, **asked) != MQRC.NONE
        assert locked(group) == 0
        assert not queue.handle.gets.may_hold_lock


def test_a_handle_that_was_closed_cannot_unlock(queue: Queue) -> None:
    queue.get(LOCK_FIRST)
    queue.close()
    outcome = verbs.mqget(queue.connection, queue.handle, MQMD(), MQGMO(options=int(GetOption.UNLOCK)), 0)
    assert outcome[2:] == (MQCC.FAILED, MQRC.HOBJ_ERROR)


# -- MQGMO_UNLOCK ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("mqi/locks", "UNLOCK returns no message and changes neither descriptor nor buffer.")
@pytest.mark.parametrize("with_it", [0, int(GetOption.NO_WAIT), int(GetOption.NO_SYNCPOINT)])
def test_unlock_returns_no_message_and_changes_no_descriptor(group: TestGroup, queue: Queue, with_it: int) -> None:
    queue.get(LOCK_FIRST)
    md, gmo = MQMD(version=2, msg_id=b"m" * 24, priority=7), MQGMO(version=2, options=int(GetOption.UNLOCK) | with_it)
    # A length that no get would accept is not checked.
    outcome = verbs.mqget(queue.connection, queue.handle, md, gmo, -1)
    assert outcome == (b"", 0, MQCC.OK, MQRC.NONE)
    assert md == MQMD(version=2, msg_id=b"m" * 24, priority=7)
    assert locked(group) == 0
    assert verbs.mqget(queue.connection, queue.handle, md, gmo, 0) == (b"", 0, MQCC.WARNING, MQRC.NO_MSG_LOCKED)


@pytest.mark.rule("mqi/locks", "UNLOCK is a warning (2209) if the handle has nothing locked.")
def test_a_handle_that_never_locked_anything_is_warned_too(group: TestGroup, queue: Queue, other: Queue) -> None:
    queue.get(LOCK_FIRST)
    assert not other.unlock()
    assert locked(group) == 1
    only_for_output = group.connect().open("Q", OpenOption.OUTPUT)
    assert not only_for_output.unlock()


# -- waiting -----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("mqi/locks", "A get that waits gives up its handle's lock before it waits.")
def test_the_unlock_comes_before_the_wait(group: TestGroup, queue: Queue, other: Queue) -> None:
    drain(other)
    queue.put(b"1")
    queue.get(LOCK_FIRST)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(queue.get, LOCK_NEXT | WAIT, wait_ms=60_000)
        until_waiting(group, "Q", 1)
        # It still waits, and its locked message is free for every handle.
        assert locked(group) == 0
        assert other.get().body == b"1"
        assert not future.done()
        other.put(b"2")
        assert future.result(20).body == b"2"
    assert locked(group) == 1


def test_an_unlocked_message_serves_its_waiter(group: TestGroup, queue: Queue, other: Queue) -> None:
    drain(other)
    queue.put(b"1")
    for end in (queue.unlock, lambda: reason_of(queue, NEXT), queue.close):
        queue.get(LOCK_FIRST)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(other.get, WAIT, wait_ms=60_000)
            until_waiting(group, "Q", 1)
            end()
            assert future.result(20).body == b"1"
        if not queue.handle.is_closed:
            queue.put(b"1")


@pytest.mark.rule("mqi/locks", "A waiting browse with LOCK counts as a get: an arriving message wakes one of them.")
@pytest.mark.parametrize("count", [1, 3])
def test_of_several_browses_that_lock_one_is_activated(group: TestGroup, count: int) -> None:
    """A browse with LOCK counts as a get when waiters are chosen. Other browses are all activated."""
    group.define_shared("Q")
    putter = group.connect().open("Q", BOTH)
    lockers = [group.connect().open("Q", BOTH) for _ in range(count)]
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(each.get, LOCK_FIRST | WAIT, wait_ms=60_000) for each in lockers]
        until_waiting(group, "Q", count)
        putter.put(b"1")
        until(lambda: any(future.done() for future in futures), "one is served")
        until_waiting(group, "Q", count - 1)
        assert [future.done() for future in futures].count(True) == 1
        for _ in range(count - 1):
            putter.put(b"1")
        assert {future.result(20).body for future in futures} == {b"1"}
    assert locked(group) == count


def test_a_browse_that_locks_and_a_get_share_what_comes(group: TestGroup) -> None:
    group.define_shared("Q")
    putter, locker, getter = (group.connect().open("Q", BOTH) for _ in range(3))
    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(locker.get, LOCK_FIRST | WAIT, wait_ms=60_000),
            pool.submit(getter.get, WAIT, wait_ms=60_000),
        ]
        until_waiting(group, "Q", 2)
        putter.put(b"1")
        putter.put(b"2")
        assert {future.result(20).body for future in futures} == {b"1", b"2"}


@pytest.mark.parametrize("asked", [{}, matching(correl_id=b"C" * 24)])
def test_a_wake_up_before_a_cursor_goes_to_waiters_that_can_use_it(group: TestGroup, asked: dict[str, Any]) -> None:
    """A message before the cursors does not fit two browses that lock, but does fit the get after them."""
    group.define_shared("Q")
    putter = group.connect().open("Q", BOTH)
    putter.put(b"seen", MQMD(priority=0, correl_id=b"C" * 24))
    lockers = [group.connect().open("Q", BOTH) for _ in range(2)]
    getter = group.connect().open("Q", BOTH)
    for locker in lockers:
        locker.get(FIRST)
    putter.get()
    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(each.get, LOCK_NEXT | WAIT, wait_ms=60_000, **asked) for each in lockers]
        until_waiting(group, "Q", 2)
        taken = pool.submit(getter.get, WAIT, wait_ms=60_000, **asked)
        until_waiting(group, "Q", 3)
        putter.put(b"in front", MQMD(priority=9, correl_id=b"C" * 24))
        assert taken.result(20).body == b"in front"
        until_waiting(group, "Q", 2)
        for _ in lockers:
            putter.put(b"after", MQMD(priority=0, correl_id=b"C" * 24))
        assert [future.result(20).body for future in futures] == [b"after"] * 2
    until_waiting(group, "Q", 0)


def test_locking_browses_that_find_nothing_do_not_wake_each_other(group: TestGroup) -> None:
    group.define_shared("Q")
    putter = group.connect().open("Q", BOTH)
    putter.put(b"seen", MQMD(priority=0))
    lockers = [group.connect().open("Q", BOTH) for _ in range(2)]
    for locker in lockers:
        locker.get(FIRST)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(reason_of, each, LOCK_NEXT | WAIT, wait_ms=1_500) for each in lockers]
        until_waiting(group, "Q", 2)
        putter.put(b"in front", MQMD(priority=9))
        time.sleep(0.3)
        before = calls_of(group)
        time.sleep(0.3)
        # Leases are renewed meanwhile, at most a few times a second.
        assert calls_of(group) - before < 30
        assert [future.result(20) for future in futures] == [MQRC.NO_MSG_AVAILABLE] * 2


def calls_of(group: TestGroup) -> int:
    """The number of script calls of this server."""
    stats: Any = group.group.client().info("commandstats")
    return int(stats["cmdstat_evalsha"]["calls"])
