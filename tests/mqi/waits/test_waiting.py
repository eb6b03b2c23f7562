"""MQGMO_WAIT: who is woken, when a wait ends, and that no wake-up is lost."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from sharedq import Message, MQIError, Queue
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal
from sharedq.session.connection import Connection
from tests.support.groups import matching, put_member
from tests.support.members import TestGroup
from tests.support.scenes import recover_lost, until
from tests.support.waits import LONG_MS, until_waiting

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE


def start_wait(pool: ThreadPoolExecutor, queue: Queue, match: MQMD | None = None, options: int = 0) -> Future[Message]:
    """A get that waits in a thread of its own."""
    match_options = None if match is None else MatchOption.MATCH_CORREL_ID
    return pool.submit(
        queue.get, int(GetOption.WAIT) | options, wait_ms=LONG_MS, match=match, match_options=match_options
    )


def reason_of(future: Future[Message]) -> MQRC:
    """Why a wait has failed."""
    error = future.exception(20)
    assert isinstance(error, MQIError)
    return error.reason


@pytest.mark.rule(
    "mqi/waiting", "A get with WAIT ends with the message that arrives, or with 2033 after its WaitInterval."
)
def test_a_waiting_get_takes_the_message_that_arrives(group: TestGroup) -> None:
    group.define_shared("Q")
    waiter, putter = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = start_wait(pool, waiter)
        until_waiting(group, "Q", 1)
        putter.put(b"hello")
        assert future.result(20).body == b"hello"
    until_waiting(group, "Q", 0)


@pytest.mark.rule("mqi/waiting", "A wait by MsgToken is ended by that message only.")
def test_a_wait_for_one_message_by_its_token_is_ended_by_that_alone(group: TestGroup) -> None:
    group.define_shared("Q")
    waiter, connection = group.connect().open("Q", BOTH), group.connect()
    holder = connection.open("Q", BOTH)
    holder.put(b"mine")
    token = holder.get(GetOption.SYNCPOINT).msg_token
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            waiter.get,
            GetOption.WAIT,
            wait_ms=LONG_MS,
            match_options=MatchOption.MATCH_MSG_TOKEN,
            msg_token=token,
        )
        until_waiting(group, "Q", 1)
        holder.put(b"another")
        connection.backout()
        assert future.result(20).body == b"mine"
    assert holder.get().body == b"another"
    until_waiting(group, "Q", 0)


@pytest.mark.parametrize("how", [GetOption.BROWSE_FIRST, GetOption.SYNCPOINT], ids=lambda how: how.name)
def test_a_getter_interrupted_before_it_blocks_waits_no_more(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, how: GetOption
) -> None:
    """Its connection is over, and not one whose other gets are refused because of that wait."""
    group.define_shared("Q")
    group.define_shared("OTHER")
    connection = group.connect()
    queue, other = connection.open("Q", BOTH), connection.open("OTHER", BOTH)

    def interrupt(*_: object) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "block_then_call", interrupt)
        patch.setattr(Connection, "block", interrupt)
        with pytest.raises(TimeoutError):
            queue.get(GetOption.WAIT | how, wait_ms=LONG_MS)
    with pytest.raises(MQIError) as caught:
        other.get()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    recover_lost(group, connection.connection.token)
    until_waiting(group, "Q", 0)


@pytest.mark.parametrize("how", [GetOption.NONE, GetOption.BROWSE_FIRST, GetOption.SYNCPOINT], ids=lambda how: how.name)
def test_a_wait_that_ends_because_its_handle_is_invalid_is_over(group: TestGroup, how: GetOption) -> None:
    """Its connection gets from other queues, and ends in good order."""
    for name in ("Q", "ELSEWHERE", "OTHER"):
        group.define_shared(name)
    group.define("QM1", QueueAlias(name="ALIAS", target="Q"))
    connection = group.connect()
    waiter = connection.open("ALIAS", OpenOption.INPUT_SHARED | OpenOption.BROWSE)
    other = connection.open("OTHER", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = start_wait(pool, waiter, options=int(how))
        until_waiting(group, "Q", 1)
        group.repository("QM1").alter("QALIAS", "ALIAS", {"target": "ELSEWHERE"})
        assert reason_of(future) == MQRC.OBJECT_CHANGED
    other.put(b"here")
    assert other.get().body == b"here"
    connection.disconnect()
    until_waiting(group, "Q", 0)


@pytest.mark.rule(
    "mqi/waiting", "A get with WAIT ends with the message that arrives, or with 2033 after its WaitInterval."
)
def test_an_interval_that_passes_ends_with_2033_and_leaves_no_waiter(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.get, GetOption.WAIT, wait_ms=1_000)
        until_waiting(group, "Q", 1)
        assert reason_of(waiting) == MQRC.NO_MSG_AVAILABLE
    until_waiting(group, "Q", 0)
    queue.put(b"x")
    assert queue.get(GetOption.WAIT, wait_ms=30).body == b"x"


#: The selection of a get that waits, and whether only a member of a group can fit it.
SPECIFIC: dict[str, tuple[dict[str, Any], bool]] = {
    "CorrelId": (matching(correl_id=b"C" * 24), False),
    "MsgId": (matching(msg_id=b"M" * 24), False),
    "both": (matching(msg_id=b"M" * 24, correl_id=b"C" * 24), False),
    "GroupId": (matching(b"g"), True),
    "place": (matching(b"g", 1, 0, correl_id=b"C" * 24), True),
}


@pytest.mark.rule("mqi/waiting", "A wait for a certain message is served before a wait for any message.")
@pytest.mark.parametrize(
    ("asked", "is_member"),
    [(asked, kind) for asked, of_group in SPECIFIC.values() for kind in (True, False) if kind or not of_group],
)
def test_a_specific_wait_is_served_before_a_general_one(
    group: TestGroup, asked: dict[str, Any], is_member: bool
) -> None:
    group.define_shared("Q")
    general, specific, putter = (group.connect().open("Q", BOTH) for _ in range(3))
    with ThreadPoolExecutor(2) as pool:
        any_message = start_wait(pool, general)
        that_message = pool.submit(specific.get, GetOption.WAIT, wait_ms=LONG_MS, **asked)
        until_waiting(group, "Q", 2)
        ids: dict[str, Any] = {"msg_id": b"M" * 24, "correl_id": b"C" * 24}
        if is_member:
            put_member(putter, b"g", 1, b"reply", **ids)
        else:
            putter.put(b"reply", MQMD(**ids))
        assert that_message.result(20).body == b"reply"
        until_waiting(group, "Q", 1)
        assert not any_message.done()
        putter.put(b"other")
        assert any_message.result(20).body == b"other"


@pytest.mark.rule("mqi/waiting", "A wait for a certain message is served before a wait for any message.")
@pytest.mark.parametrize("by", ["msg_id", "msg_token"])
def test_a_waiter_for_a_returned_message_is_served_first(group: TestGroup, by: str) -> None:
    group.define_shared("Q")
    connection = group.connect()
    general, specific, holder = (each.open("Q", BOTH) for each in (group.connect(), group.connect(), connection))
    holder.put(b"mine")
    held = holder.get(GetOption.SYNCPOINT)
    asked: dict[str, Any] = {"match": MQMD(msg_id=held.md.msg_id)}
    if by == "msg_token":
        asked = {"match_options": MatchOption.MATCH_MSG_TOKEN, "msg_token": held.msg_token}
    with ThreadPoolExecutor(2) as pool:
        any_message = start_wait(pool, general)
        that_message = pool.submit(specific.get, GetOption.WAIT, wait_ms=LONG_MS, **asked)
        until_waiting(group, "Q", 2)
        connection.backout()
        assert that_message.result(20).body == b"mine"
        until_waiting(group, "Q", 1)
        holder.put(b"other")
        assert any_message.result(20).body == b"other"


def test_a_batch_wakes_a_waiter_for_each_of_its_messages(group: TestGroup) -> None:
    group.define_shared("Q")
    waiters = [group.connect().open("Q", BOTH) for _ in range(5)]
    putter = group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(5) as pool:
        futures = [start_wait(pool, waiter) for waiter in waiters]
        until_waiting(group, "Q", 5)
        putter.put_many([(MQMD(), b"%d" % n) for n in range(5)])
        assert sorted(future.result(20).body for future in futures) == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.rule(
    "mqi/waiting",
    "A message that arrives wakes one waiting get and all waiting browses; one that is too late waits on.",
)
@pytest.mark.parametrize("take", [0, GetOption.SYNCPOINT])
@pytest.mark.parametrize(("browses", "gets"), [(3, 0), (0, 3), (3, 3), (1, 2)])
def test_all_browses_are_woken_and_one_get(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, browses: int, gets: int, take: int
) -> None:
    """Where a get takes the message before a browse sees it, that browse waits on."""
    group.define_shared("Q")
    waiters = [group.connect().open("Q", BOTH) for _ in range(browses + gets)]
    woken = [0] * len(waiters)

    def count(position: int, name: str) -> None:
        connection = waiters[position].connection
        block = getattr(connection, name)

        def counted(*arguments: Any) -> Any:
            result = block(*arguments)
            woken[position] += 1
            return result

        monkeypatch.setattr(connection, name, counted)

    for position in range(len(waiters)):
        count(position, "block")
        count(position, "block_then_call")
    options = [int(GetOption.BROWSE_FIRST)] * browses + [int(take)] * gets
    with ThreadPoolExecutor(len(waiters)) as pool:
        futures = [start_wait(pool, waiter, options=how) for waiter, how in zip(waiters, options, strict=True)]
        until_waiting(group, "Q", len(waiters))
        group.connect().open("Q", BOTH).put(b"x")
        key = group.group.structure("APPL1").queue("Q").waiters

        def are_settled() -> bool:
            return group.group.client().zcard(key) + sum(map(Future.done, futures)) == len(waiters)

        until(are_settled, "everyone is served or waits")
        served = [future.done() for future in futures]
        group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
        for future, is_served in zip(futures, served, strict=True):
            assert future.result(20).body == b"x" if is_served else reason_of(future) == MQRC.GET_INHIBITED
    assert sum(served[browses:]) == bool(gets)
    assert sum(served[:browses]) == browses or gets
    # A waiter that was not served was woken once more, by the end of its wait.
    by_the_put = [times - (not is_served) for times, is_served in zip(woken, served, strict=True)]
    assert by_the_put[:browses] == [1] * browses
    assert by_the_put[browses:] == [int(is_served) for is_served in served[browses:]]


@pytest.mark.rule("mqi/waiting", "A getter that is woken too late for the message waits for the rest of its interval.")
@pytest.mark.parametrize(
    "options",
    [GetOption.SYNCPOINT_IF_PERSISTENT, GetOption.BROWSE_FIRST, GetOption.SYNCPOINT | GetOption.LOGICAL_ORDER],
)
def test_a_getter_that_is_too_late_waits_for_the_rest_of_its_interval(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, options: int
) -> None:
    group.define_shared("Q")
    queue, thief = group.connect().open("Q", BOTH), group.connect().open("Q", BOTH)
    connection, clock, intervals_s = queue.connection, [1000.0], list[float]()
    block_then_call = connection.block_then_call

    def block(wake_key: str, timeout_s: float, *calls: Any) -> Any:
        """Forty seconds later it is woken, and somebody takes the message before it looks."""
        intervals_s.append(timeout_s)
        clock[0] += 40
        thief.put(b"x")
        assert group.group.client().llen(wake_key) == 1
        assert thief.get().body == b"x"
        return block_then_call(wake_key, 1, *calls)

    monkeypatch.setattr("sharedq.calls.get.wait.time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(connection, "block_then_call", block)
    with pytest.raises(MQIError) as caught:
        queue.get(options | GetOption.WAIT, wait_ms=100_000)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    assert intervals_s == [100, 60, 20]
    until_waiting(group, "Q", 0)


@pytest.mark.rule("mqi/waiting", "Gets stay inhibited until GET(ENABLED), whatever else of the queue is altered.")
@pytest.mark.parametrize("options", [0, GetOption.WAIT, GetOption.SYNCPOINT, GetOption.BROWSE_FIRST])
def test_inhibited_gets_stay_so_through_other_alters(group: TestGroup, options: int) -> None:
    group.define_shared("Q")
    queue, repository = group.connect().open("Q", BOTH), group.repository("QM1")
    queue.put(b"x")
    repository.alter("QLOCAL", "Q", {"get": "DISABLED"})
    for max_depth in (10, 20):
        with pytest.raises(MQIError) as caught:
            queue.get(options, wait_ms=LONG_MS)
        assert caught.value.reason == MQRC.GET_INHIBITED
        repository.alter("QLOCAL", "Q", {"max_depth": max_depth})
    repository.alter("QLOCAL", "Q", {"get": "ENABLED"})
    assert queue.get(options).body == b"x"


@pytest.mark.rule("mqi/waiting", "Inhibiting gets ends a waiting get or browse with 2016.")
def test_inhibiting_gets_ends_a_wait_with_2016(group: TestGroup) -> None:
    group.define_shared("Q")
    waiter = group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = start_wait(pool, waiter)
        until_waiting(group, "Q", 1)
        group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
        with pytest.raises(MQIError) as caught:
            future.result(20)
    assert caught.value.reason == MQRC.GET_INHIBITED


@pytest.mark.parametrize("disposition", ["SHARED", "QMGR", "GROUP"])
@pytest.mark.parametrize("how", ["ALTER", "DEFINE REPLACE"])
def test_inhibiting_gets_ends_a_wait_at_once(
    group: TestGroup, how: str, disposition: Literal["SHARED", "QMGR", "GROUP"]
) -> None:
    structure = "APPL1" if disposition == "SHARED" else ""
    definition = QueueLocal(name="Q", disposition=disposition, structure=structure)
    repository = group.repository("QM1")
    repository.define(definition)
    waiter = group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = start_wait(pool, waiter)
        until_waiting(group, "Q", 1, structure or "@QM1")
        if how == "ALTER":
            repository.alter("QLOCAL", "Q", {"get": "DISABLED"}, disposition)
        else:
            repository.define(definition.with_changes({"get": "DISABLED"}), replace=True)
        with pytest.raises(MQIError) as caught:
            future.result(20)
    assert caught.value.reason == MQRC.GET_INHIBITED


def test_commit_and_backout_wake_waiters(group: TestGroup) -> None:
    group.define_shared("Q")
    waiter, connection = group.connect().open("Q", BOTH), group.connect()
    worker = connection.open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = start_wait(pool, waiter)
        until_waiting(group, "Q", 1)
        worker.put(b"committed", options=2)
        assert not future.done()
        connection.commit()
        assert future.result(20).body == b"committed"

        worker.put(b"returned")
        assert worker.get(GetOption.SYNCPOINT).body == b"returned"
        future = start_wait(pool, waiter)
        until_waiting(group, "Q", 1)
        connection.backout()
        assert future.result(20).md.backout_count == 1


def test_many_putters_and_waiters_lose_no_wake_up(group: TestGroup) -> None:
    """Every message is got exactly once although each get waits for ever and each put wakes one."""
    group.define_shared("Q")
    messages_each, sides = 150, 4
    got: list[bytes] = []
    lock = threading.Lock()

    def drain(queue: Queue) -> None:
        for _ in range(messages_each):
            body = queue.get(GetOption.WAIT, wait_ms=LONG_MS).body
            with lock:
                got.append(body)

    def fill(queue: Queue, name: int) -> None:
        for n in range(messages_each):
            queue.put(b"%d/%d" % (name, n))

    getters = [group.connect().open("Q", BOTH) for _ in range(sides)]
    putters = [group.connect().open("Q", BOTH) for _ in range(sides)]
    with ThreadPoolExecutor(2 * sides) as pool:
        futures = [pool.submit(drain, queue) for queue in getters]
        futures += [pool.submit(fill, queue, name) for name, queue in enumerate(putters)]
        for future in futures:
            future.result(60)
    assert sorted(got) == sorted(b"%d/%d" % (name, n) for name in range(sides) for n in range(messages_each))
