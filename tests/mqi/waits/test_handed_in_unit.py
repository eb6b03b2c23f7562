"""A get that waits under syncpoint, or for an identifier, is handed its message, and has got it from then on."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recovery.accounting.repair import repair
from sharedq import MQIError, Queue
from sharedq.calls.get.wait import stop_waiting
from sharedq.calls.handles.open import open_queue
from sharedq.calls.unit.commit import backout, commit
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQMD, MQOD
from sharedq.session.connection import Connection
from tests.recovery.scene import Died
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost, stored, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
IN_UNIT = GetOption.SYNCPOINT | GetOption.WAIT
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
LONG_MS = 60_000
CORREL_ID, MSG_ID = b"c" * 24, b"m" * 24


@pytest.fixture
def group(group: TestGroup) -> TestGroup:
    group.define_shared("Q")
    group.define_shared("OTHER")
    return group


def open_new(group: TestGroup) -> Queue:
    return group.connect().open("Q", BOTH)


def state_of(group: TestGroup, queue: Queue) -> bytes:
    found: Any = group.group.client().hget(group.group.structure("APPL1").owners, queue.connection.token)
    return bytes(found or b"")


def events(group: TestGroup) -> list[tuple[str, str]]:
    """Kinds of the journal's entries, and of each its unit of work."""
    entries: Any = group.group.client().xrange(group.group.structure("APPL1").journal)
    return [(fields[b"e"].decode(), fields.get(b"u", b"").decode()) for _, fields in entries]


def counters(group: TestGroup, name: str = "Q") -> tuple[int, int, int]:
    found = group.repository("QM1").queue_status(name)
    return found.depth, found.uncommitted_puts, found.uncommitted_gets


@pytest.fixture
def waiting(group: TestGroup) -> Iterator[Callable[..., Any]]:
    """Starts a call that waits on the queue, and returns when it does."""
    client, key = group.group.client(), group.group.structure("APPL1").queue("Q").waiters
    with ThreadPoolExecutor(8) as pool:

        def start(call: Callable[..., Any], options: GetOption, **more: Any) -> Any:
            count = int(client.zcard(key))
            future = pool.submit(call, options, wait_ms=LONG_MS, **more)
            until(lambda: client.zcard(key) == count + 1, "it waits")
            return future

        yield start


def put_at_once(queue: Queue, md: MQMD) -> None:
    queue.put(b"hello", md)


def put_in_unit(queue: Queue, md: MQMD) -> None:
    queue.put(b"hello", md, options=PutOption.SYNCPOINT)
    commit(queue.connection)


def put_buffered(queue: Queue, md: MQMD) -> None:
    queue.put(b"hello", md, options=LATER)
    commit(queue.connection)


def put_with_a_get(queue: Queue, md: MQMD) -> None:
    """The put and its commit are one script, together with the commit of a get."""
    other = Queue(queue.connection, open_queue(queue.connection, MQOD(object_name=b"OTHER"), int(BOTH)))
    other.put(b"other")
    other.get(GetOption.SYNCPOINT)
    put_buffered(queue, md)


WAYS = [put_at_once, put_in_unit, put_buffered, put_with_a_get]
#: The message that is put, and the selection of the get that waits for it.
ASKED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "any": ({}, {}),
    "any, with a CorrelId": ({"correl_id": CORREL_ID}, {}),
    "CorrelId": ({"correl_id": CORREL_ID}, {"correl_id": CORREL_ID}),
    "MsgId": ({"msg_id": MSG_ID}, {"msg_id": MSG_ID}),
    "both": ({"correl_id": CORREL_ID, "msg_id": MSG_ID},) * 2,
}


def match_of(asked: dict[str, Any]) -> dict[str, Any]:
    return {"match": MQMD(version=2, **asked)} if asked else {}


@pytest.mark.parametrize("is_in_unit", [True, False], ids=["syncpoint", "outside"])
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("way", WAYS)
def test_it_gets_the_message_without_a_call_of_its_own(
    group: TestGroup, waiting: Any, way: Any, name: str, is_in_unit: bool
) -> None:
    fields, asked = ASKED[name]
    getter, putter = open_new(group), open_new(group)
    future = waiting(getter.get, IN_UNIT if is_in_unit else GetOption.WAIT, **match_of(asked))
    way(putter, MQMD(**fields))
    message = future.result(20)
    assert (message.body, message.md.backout_count) == (b"hello", 0)
    assert {field: getattr(message.md, field) for field in fields} == fields
    assert state_of(group, getter) == b"HQ"
    assert counters(group) == (0, 0, int(is_in_unit))
    keys = group.group.structure("APPL1")
    assert group.group.client().exists(keys.wake + getter.connection.token, keys.queue("Q").index) == 0
    got = [unit for event, unit in events(group) if event == "get"][-1]
    assert got == (getter.connection.unit.id if is_in_unit else "")
    backout(getter.connection)
    assert on_queue(group, "Q") == ([(b"hello", 1)] if is_in_unit else [])
    if is_in_unit:
        assert putter.get(GetOption.SYNCPOINT, **match_of(asked)).body == b"hello"
        commit(putter.connection)
    assert stored(group) == 0


def test_it_is_one_of_the_gets_of_its_unit_of_work(group: TestGroup, waiting: Any) -> None:
    getter, putter = open_new(group), open_new(group)
    putter.put(b"first")
    assert getter.get(IN_UNIT, wait_ms=LONG_MS).body == b"first"
    future = waiting(getter.get, IN_UNIT)
    putter.put(b"second")
    assert future.result(20).body == b"second"
    getter.put(b"reply", options=PutOption.SYNCPOINT)
    assert counters(group) == (1, 1, 2)
    backout(getter.connection)
    assert on_queue(group, "Q") == [(b"first", 1), (b"second", 1)]
    assert [getter.get(GetOption.SYNCPOINT).body for _ in range(2)] == [b"first", b"second"]
    commit(getter.connection)
    assert stored(group) == 0


def test_the_first_of_those_that_fit_is_handed_over(group: TestGroup, waiting: Any) -> None:
    """One commit brings several. The get must have the one of the highest priority, by whichever it was woken."""
    for asked in ({}, {"correl_id": CORREL_ID}):
        getter, putter = open_new(group), open_new(group)
        future = waiting(getter.get, IN_UNIT, **match_of(asked))
        for priority in (1, 7, 4):
            putter.put(b"%d" % priority, MQMD(priority=priority, correl_id=CORREL_ID), options=LATER)
        commit(putter.connection)
        assert future.result(20).body == b"7"
        commit(getter.connection)
        assert [putter.get().body for _ in range(2)] == [b"4", b"1"]


@pytest.mark.parametrize(
    "fields", [{"expiry": 60_000}, {"report": int(Report.COD), "reply_to_q": b"OTHER"}], ids=["expires", "report"]
)
def test_what_must_be_looked_at_is_got_by_the_getter(group: TestGroup, waiting: Any, fields: dict[str, Any]) -> None:
    getter, putter = open_new(group), open_new(group)
    for asked in ({}, {"correl_id": CORREL_ID}):
        future = waiting(getter.get, IN_UNIT, **match_of(asked))
        putter.put(b"hello", MQMD(correl_id=CORREL_ID, **fields))
        assert future.result(20).body == b"hello"
        assert state_of(group, getter) == b""
        commit(getter.connection)
    assert counters(group) == (0, 0, 0)


class Missed:
    """A connection whose first wait ends in vain, in the moment when something was put: nothing wakes it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, queue: Queue, meanwhile: Callable[[], object]) -> None:
        self.times = 0
        block = Connection.block

        def miss(connection: Connection, wake_key: str, timeout_s: float) -> bytes | None:
            if connection is not queue.connection or self.times:
                return block(connection, wake_key, timeout_s)
            self.times += 1
            meanwhile()
            return None

        monkeypatch.setattr(Connection, "block", miss)


@pytest.mark.invariant(1, 8)
@pytest.mark.parametrize("interval_ms", [LONG_MS, 50], ids=["goes on", "its interval has ended"])
@pytest.mark.parametrize("name", ["any", "CorrelId"])
def test_one_that_blocked_in_vain_finds_what_it_was_handed(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str, interval_ms: int
) -> None:
    fields, asked = ASKED[name]
    getter, putter = open_new(group), open_new(group)

    def put() -> None:
        putter.put(b"hello", MQMD(**fields))
        assert counters(group) == (0, 0, 1)
        threading.Event().wait(0.1)

    missed = Missed(monkeypatch, getter, put)
    assert getter.get(IN_UNIT, wait_ms=interval_ms, **match_of(asked)).body == b"hello"
    assert missed.times == 1
    assert counters(group) == (0, 0, 1)
    # It was got once: what it is handed in its unit of work is its own at once.
    assert Counter(event for event, _ in events(group)) == {"put": 1, "get": 1}
    backout(getter.connection)
    assert on_queue(group, "Q") == [(b"hello", 1)]


@pytest.mark.invariant(8)
def test_one_that_is_told_to_end_in_that_moment_has_its_message(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its manager quiesces while the message is on its way: the get has succeeded before that."""
    getter, putter = open_new(group), open_new(group)

    def quiesce() -> None:
        putter.put(b"hello")
        getter.connection.notice_quiescing()

    waits_on = Connection.waits_on

    def wait_then_quiesce(connection: Connection, wake_key: str | None, for_s: float = 0.0) -> None:
        waits_on(connection, wake_key, for_s)
        if connection is getter.connection and wake_key and not connection.is_quiescing:
            quiesce()

    monkeypatch.setattr(Connection, "waits_on", wait_then_quiesce)
    assert getter.get(IN_UNIT | GetOption.FAIL_IF_QUIESCING, wait_ms=LONG_MS).body == b"hello"
    assert (state_of(group, getter), counters(group)) == (b"", (0, 0, 1))
    commit(getter.connection)
    assert stored(group) == 0


def test_one_that_was_handed_nothing_ends_as_it_is_told(group: TestGroup, waiting: Any) -> None:
    getter = open_new(group)
    future = waiting(getter.get, IN_UNIT | GetOption.FAIL_IF_QUIESCING)
    getter.connection.notice_quiescing()
    with pytest.raises(MQIError) as caught:
        future.result(20)
    assert caught.value.reason == MQRC.Q_MGR_QUIESCING
    assert stop_waiting(getter.connection, getter.handle) is None
    assert state_of(group, getter) == b""


@pytest.mark.invariant(1, 2, 8)
@pytest.mark.parametrize("name", ["any", "CorrelId"])
@pytest.mark.parametrize("is_commit", [True, False], ids=["commit and get", "get"])
def test_what_a_dead_getter_was_handed_goes_back(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str, is_commit: bool
) -> None:
    """It dies after the script that registered it: what it had committed stays so, and what it waited for is back."""
    fields, asked = ASKED[name]
    getter, putter, next_one = open_new(group), open_new(group), open_new(group)
    if is_commit:
        other = Queue(getter.connection, open_queue(getter.connection, MQOD(object_name=b"OTHER"), int(BOTH)))
        other.put(b"taken")
        other.get(GetOption.SYNCPOINT)
        other.put(b"request", options=LATER)

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(getter.connection, "block", die)
    with pytest.raises(Died):
        (getter.commit_and_get if is_commit else getter.get)(IN_UNIT, wait_ms=LONG_MS, **match_of(asked))
    assert state_of(group, getter)[:2] == b"WQ"
    putter.put(b"first", MQMD(**fields))
    putter.put(b"second", MQMD(**fields))
    assert state_of(group, getter) == b"HQ"
    assert counters(group) == (1, 0, 1)
    assert on_queue(group, "Q") == [(b"second", 0)]

    recover_lost(group, getter.connection.token)

    # It has seen neither.
    assert on_queue(group, "Q") == [(b"first", 0), (b"second", 0)]
    assert on_queue(group, "OTHER") == ([(b"request", 0)] if is_commit else [])
    assert counters(group) == (2, 0, 0)
    assert [next_one.get(**match_of(asked)).body for _ in range(2)] == [b"first", b"second"]
    assert group.group.client().exists(group.group.structure("APPL1").wake + getter.connection.token) == 0


@pytest.mark.invariant(2)
def test_a_dead_getter_that_still_waits_is_handed_nothing(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    getter, putter = open_new(group), open_new(group)

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(getter.connection, "block", die)
    with pytest.raises(Died):
        getter.get(IN_UNIT, wait_ms=LONG_MS)
    recover_lost(group, getter.connection.token)
    putter.put(b"hello")
    assert on_queue(group, "Q") == [(b"hello", 0)]
    assert group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters) == 0


def test_it_wakes_another_when_it_is_backed_out_by_a_recovery(group: TestGroup, waiting: Any) -> None:
    getter, other, putter = open_new(group), open_new(group), open_new(group)
    future = waiting(getter.get, IN_UNIT)
    putter.put(b"hello")
    assert future.result(20).body == b"hello"
    future = waiting(other.get, IN_UNIT)
    getter.connection.break_off()
    recover_lost(group, getter.connection.token)
    message = future.result(20)
    assert (message.body, message.md.backout_count) == (b"hello", 1)


@pytest.mark.invariant(3, 8)
@pytest.mark.parametrize("trouble", ["full", "altered"])
def test_where_the_commit_is_refused_nobody_waits(group: TestGroup, trouble: str) -> None:
    getter = open_new(group)
    other = Queue(getter.connection, open_queue(getter.connection, MQOD(object_name=b"OTHER"), int(BOTH)))
    other.put(b"taken")
    other.get(GetOption.SYNCPOINT)
    other.put(b"request", options=LATER)
    changes = {"max_depth": 0} if trouble == "full" else {"def_priority": 3}
    group.repository("QM1").alter("QLOCAL", "OTHER", changes)
    with pytest.raises(MQIError) as caught:
        getter.commit_and_get(IN_UNIT, wait_ms=LONG_MS)
    assert caught.value.reason == MQRC.BACKED_OUT
    assert (state_of(group, getter), counters(group)) == (b"", (0, 0, 0))
    assert on_queue(group, "OTHER") == [(b"taken", 1)]
    assert group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters) == 0


def test_a_commit_over_two_structures_waits_in_its_own_call(group: TestGroup, waiting: Any) -> None:
    group.define_structure("APPL2")
    group.define_shared("FAR", "APPL2")
    getter, putter = open_new(group), open_new(group)
    far = Queue(getter.connection, open_queue(getter.connection, MQOD(object_name=b"FAR"), int(BOTH)))
    putter.put(b"taken")
    for number in range(3):
        assert getter.get(IN_UNIT, wait_ms=LONG_MS).body == (b"taken" if not number else b"again")
        far.put(b"%d" % number, options=PutOption.SYNCPOINT)
        future = waiting(getter.commit_and_get, IN_UNIT)
        putter.put(b"hello")
        assert future.result(20).body == b"hello"
        assert state_of(group, getter) == b"HQ"
        putter.put(b"again")
    backout(getter.connection)
    assert on_queue(group, "FAR", "APPL2") == [(b"0", 0), (b"1", 0), (b"2", 0)]


@pytest.mark.parametrize("name", ["any", "CorrelId"])
def test_a_commit_and_get_of_the_queue_that_it_puts_to(group: TestGroup, name: str) -> None:
    """Its own message is the one that it waits for."""
    fields, asked = ASKED[name]
    queue = open_new(group)
    for _ in range(3):
        queue.put(b"mine", MQMD(**fields), options=LATER)
        assert queue.commit_and_get(IN_UNIT, wait_ms=LONG_MS, **match_of(asked)).body == b"mine"
    commit(queue.connection)
    assert (stored(group), counters(group)) == (0, (0, 0, 0))


def test_fsck_gives_back_what_the_entry_of_an_unknown_getter_hides(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    getter = open_new(group)

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(getter.connection, "block", die)
    with pytest.raises(Died):
        getter.get(IN_UNIT, wait_ms=LONG_MS, match=MQMD(version=2, correl_id=CORREL_ID))
    keys, client, token = group.group.structure("APPL1"), group.group.client(), getter.connection.token
    assert client.zrange(keys.queue("Q").waiters, 0, -1) == [b"C%b+%b/0" % (CORREL_ID, token.encode())]
    recover_lost(group, token)
    client.zadd(keys.queue("Q").waiters, {b"C%b+%b/0" % (CORREL_ID, token.encode()): 0})
    client.hincrby(keys.queue("Q").queue, "nw", 1)
    found, left = repair(group.group, group.connect().connection)
    assert found
    assert not left
    assert client.zcard(keys.queue("Q").waiters) == 0
