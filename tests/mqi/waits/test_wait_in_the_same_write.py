"""A get whose handle had to wait before waits in the write of its call: nobody is left waiting, or keeps a word.

Counts and outcomes; the first wait of a handle is in a write of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis.exceptions import OutOfMemoryError

from sharedq import MQIError, Queue
from sharedq.calls.get import wait
from sharedq.calls.handles.open import open_queue
from sharedq.calls.unit.commit import backout, commit
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD, MQOD
from sharedq.redis.link import Link
from sharedq.session.connection import Connection
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue, recover_lost, stored, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
IN_UNIT = GetOption.SYNCPOINT | GetOption.WAIT
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
LONG_MS = 60_000
CORREL_ID = b"c" * 24


def get_outside(getter: Getter) -> bytes:
    return getter.queue.get(GetOption.WAIT, wait_ms=getter.wait_ms, **getter.match).body


def get_in_unit(getter: Getter) -> bytes:
    return getter.queue.get(IN_UNIT, wait_ms=getter.wait_ms, **getter.match).body


def put_and_get(getter: Getter) -> bytes:
    """The put, its commit, the get and the wait are one script."""
    getter.other.put(b"request", options=LATER)
    return getter.queue.commit_and_get(IN_UNIT, wait_ms=getter.wait_ms, **getter.match).body


def get_and_get(getter: Getter) -> bytes:
    """The get ends the unit of work of another get."""
    getter.other.put(b"request")
    getter.other.get(GetOption.SYNCPOINT)
    return getter.queue.commit_and_get(IN_UNIT, wait_ms=getter.wait_ms, **getter.match).body


def many_and_get(getter: Getter) -> bytes:
    """The commit is a script of its own, and the get leaves in the same write."""
    for priority in (1, 2):
        getter.other.put(b"request", MQMD(priority=priority, expiry=9000), options=PutOption.SYNCPOINT)
    return getter.queue.commit_and_get(IN_UNIT, wait_ms=getter.wait_ms, **getter.match).body


def far_and_get(getter: Getter) -> bytes:
    """The commit is in two structures."""
    getter.other.put(b"request", options=PutOption.SYNCPOINT)
    getter.far.put(b"request", options=PutOption.SYNCPOINT)
    return getter.queue.commit_and_get(IN_UNIT, wait_ms=getter.wait_ms, **getter.match).body


WAYS = [get_outside, get_in_unit, put_and_get, get_and_get, many_and_get, far_and_get]


class Getter:
    """A program whose last get had to wait."""

    def __init__(self, group: TestGroup, match: dict[str, Any]) -> None:
        self.group, self.match, self.wait_ms = group, match, LONG_MS
        self.queue = group.connect().open("Q", BOTH)
        self.connection: Connection = self.queue.connection
        self.other, self.far = self._open("OTHER"), self._open("FAR")
        assert reason_of(lambda: self.queue.get(GetOption.WAIT, wait_ms=1, **match)) == MQRC.NO_MSG_AVAILABLE
        assert self.queue.handle.gets.has_waited

    def _open(self, name: str) -> Queue:
        return Queue(self.connection, open_queue(self.connection, MQOD(object_name=name.encode()), int(BOTH)))

    @property
    def wake_list(self) -> list[bytes]:
        """The words that nobody has taken."""
        key = self.group.group.structure("APPL1").wake + self.connection.token
        found: Any = self.group.group.client().lrange(key, 0, -1)
        return list(found)


@pytest.fixture
def group(group: TestGroup) -> TestGroup:
    group.define_structure("APPL2")
    for name, structure in (("Q", "APPL1"), ("OTHER", "APPL1"), ("FAR", "APPL2")):
        group.define_shared(name, structure)
    return group


@pytest.fixture(params=["any", "CorrelId"])
def getter(group: TestGroup, request: pytest.FixtureRequest) -> Getter:
    return Getter(group, {"match": MQMD(version=2, correl_id=CORREL_ID)} if request.param == "CorrelId" else {})


@pytest.fixture
def waiting(getter: Getter) -> Iterator[Callable[..., Any]]:
    """Starts a call, and returns when it waits."""
    key = getter.group.group.structure("APPL1").queue("Q").waiters
    with ThreadPoolExecutor(1) as pool:

        def start(way: Callable[[Getter], bytes]) -> Any:
            future = pool.submit(way, getter)
            until(lambda: getter.group.group.client().zcard(key) == 1, "it waits")
            return future

        yield start


def put(group: TestGroup, body: bytes = b"hello", **fields: Any) -> None:
    with group.connect() as connection, connection.open("Q", OpenOption.OUTPUT) as queue:
        queue.put(body, MQMD(correl_id=CORREL_ID, **fields))


def commands(group: TestGroup) -> dict[str, int]:
    found: Any = group.group.client().info("commandstats")
    return {name: int(found.get(f"cmdstat_{name}", {}).get("calls", 0)) for name in ("evalsha", "blpop", "rpush")}


@pytest.mark.parametrize("way", WAYS)
def test_a_message_that_is_there_is_got_and_no_word_is_left(group: TestGroup, getter: Getter, way: Any) -> None:
    put(group)
    assert way(getter) == b"hello"
    assert not getter.wake_list
    assert not getter.queue.handle.gets.has_waited
    backout(getter.connection)
    assert bool(on_queue(group, "Q")) == (way is not get_outside)


@pytest.mark.parametrize("way", WAYS)
def test_a_message_that_comes_wakes_it(group: TestGroup, getter: Getter, waiting: Any, way: Any) -> None:
    future = waiting(way)
    put(group)
    assert future.result(20) == b"hello"
    assert not getter.wake_list
    assert getter.queue.handle.gets.has_waited
    backout(getter.connection)
    assert on_queue(group, "Q") == ([] if way is get_outside else [(b"hello", 1)])


@pytest.mark.parametrize("way", WAYS[:5])
def test_the_wait_is_in_the_write_of_the_call(group: TestGroup, monkeypatch: Any, way: Any) -> None:
    getter = Getter(group, {})
    getter.wait_ms = 50
    blocks, block = [], Link.block

    def noted_block(*arguments: Any) -> Any:
        # The threads that hear the news block, too.
        blocks.append(threading.get_ident())
        return block(*arguments)

    monkeypatch.setattr(Link, "block", noted_block)
    before = commands(group)
    assert reason_of(lambda: way(getter)) == MQRC.NO_MSG_AVAILABLE
    assert commands(group)["blpop"] == before["blpop"] + 1
    assert threading.get_ident() not in blocks
    assert not getter.wake_list


@pytest.mark.parametrize("way", WAYS)
def test_the_wait_goes_on_in_a_write_of_its_own(
    getter: Getter, group: TestGroup, waiting: Any, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    monkeypatch.setattr(wait, "_BLOCK_FIRST_S", 0.01)
    has_gone_on = threading.Event()
    block = Link.block

    def notice(link: Link, wake_key: str, timeout_s: float) -> bytes | None:
        has_gone_on.set()
        return block(link, wake_key, timeout_s)

    monkeypatch.setattr(Link, "block", notice)
    future = waiting(way)
    assert has_gone_on.wait(20)
    put(group)
    assert future.result(20) == b"hello"
    assert not getter.wake_list


@pytest.mark.parametrize("way", WAYS)
def test_scripts_that_redis_has_forgotten_are_called_again(group: TestGroup, getter: Getter, way: Any) -> None:
    put(group)
    group.group.client().script_flush()
    assert way(getter) == b"hello"
    getter.wait_ms = 50
    commit(getter.connection)
    assert reason_of(lambda: way(getter)) == MQRC.NO_MSG_AVAILABLE
    assert not getter.wake_list


@pytest.mark.parametrize("way", [put_and_get, get_and_get, many_and_get])
@pytest.mark.parametrize("trouble", ["full", "altered"])
def test_a_commit_that_fails_leaves_nobody_waiting(group: TestGroup, getter: Getter, way: Any, trouble: str) -> None:
    """Of a unit of work of gets alone nothing can fail so."""
    changes = {"max_depth": 0} if trouble == "full" else {"put": "DISABLED"}
    put(group)
    if way is not get_and_get:
        group.repository("QM1").alter("QLOCAL", "OTHER", changes)
        assert reason_of(lambda: way(getter)) in (MQRC.BACKED_OUT, MQRC.Q_FULL, MQRC.PUT_INHIBITED)
        assert on_queue(group, "Q") == [(b"hello", 0)]
        backout(getter.connection)
    assert not getter.wake_list
    assert group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters) == 0
    assert get_in_unit(getter) == b"hello"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", ["definition", "group", "mark"])
def test_a_queue_that_has_changed_is_looked_at_again(group: TestGroup, getter: Getter, way: Any, change: str) -> None:
    if change == "definition":
        group.repository("QM1").alter("QLOCAL", "Q", {"def_priority": 3})
        put(group)
    elif change == "group":
        put(group, group_id=b"G" * 24, msg_flags=24, version=2)
    else:
        put(group)
        with group.connect() as connection, connection.open("Q", BOTH | OpenOption.CO_OP) as queue:
            queue.get(GetOption.BROWSE_FIRST | GetOption.MARK_BROWSE_CO_OP)
            assert way(getter) == b"hello"
            assert not getter.wake_list
            return
    assert way(getter) == b"hello"
    assert not getter.wake_list


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("why", ["quiesces", "is canceled"])
def test_a_wait_that_is_over_before_it_begins_does_not_block(
    group: TestGroup, getter: Getter, way: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "quiesces":
        getter.connection.notice_quiescing()
        monkeypatch.setattr(wait, "_FAIL_IF_QUIESCING", int(GetOption.WAIT))
        expected = MQRC.Q_MGR_QUIESCING
    else:
        getter.connection.is_wait_canceled = lambda: True
        expected = MQRC.NO_MSG_AVAILABLE
    before = commands(group)
    assert reason_of(lambda: way(getter)) == expected
    assert commands(group)["blpop"] == before["blpop"]
    assert getter.connection._waiting_on is None
    assert not getter.wake_list


@pytest.mark.parametrize("way", WAYS)
def test_a_cancel_ends_the_first_wait(getter: Getter, waiting: Any, way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "_BLOCK_FIRST_S", 30.0)
    canceled = threading.Event()
    getter.connection.is_wait_canceled = canceled.is_set
    future = waiting(way)
    canceled.set()
    getter.connection.look_again()
    assert reason_of(lambda: future.result(20)) == MQRC.NO_MSG_AVAILABLE
    assert not getter.wake_list


@pytest.mark.invariant(2)
@pytest.mark.parametrize("way", WAYS[:4])
def test_a_connection_that_was_recovered_leaves_no_word(
    group: TestGroup, getter: Getter, way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recoverer has shut it out. Nobody would remove the word."""
    monkeypatch.setattr(wait, "_BLOCK_FIRST_S", 0.01)
    put(group)
    for structure in ("APPL1", "APPL2"):
        group.group.client().hdel(group.group.structure(structure).owners, getter.connection.token)
    assert reason_of(lambda: way(getter)) in (MQRC.CONNECTION_BROKEN, MQRC.BACKED_OUT)
    assert not getter.wake_list
    assert (b"hello", 0) in on_queue(group, "Q")


@pytest.mark.invariant(1, 8)
@pytest.mark.parametrize("way", WAYS)
def test_an_interrupted_wait_gives_its_message_back(group: TestGroup, getter: Getter, way: Any) -> None:
    """The signal comes after the message was handed over, and before the program has it."""
    exchange = getter.connection._link._exchange_all

    def interrupt(exchanges: Any, *args: Any, **pace: Any) -> Any:
        if b"BLPOP" not in exchanges[0][1]:
            return exchange(exchanges, *args, **pace)
        wire, packed, _ = exchanges[0]
        wire.send(packed)
        key = group.group.structure("APPL1").queue("Q").waiters
        until(lambda: group.group.client().zcard(key) == 1, "it waits")
        put(group)
        getter.connection._link.close()
        raise KeyboardInterrupt

    getter.connection._link._exchange_all = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        way(getter)
    recover_lost(group, getter.connection.token)
    if way is get_outside:
        # Outside a unit of work the server had sent the message already, or it goes back.
        assert stored(group) in (0, 1)
    else:
        assert (b"hello", 1) in on_queue(group, "Q") or (b"hello", 0) in on_queue(group, "Q")
    assert not getter.wake_list


def test_a_refused_commit_is_told_and_can_be_repeated(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis refuses the script, which cannot end the wait: the wait is short."""
    getter = Getter(group, {})
    monkeypatch.setattr(wait, "_BLOCK_FIRST_S", 0.01)
    send, refusals = Link._send, []

    def refuse(link: Link, key: str, packed: bytes, count: int, block: bytes = b"") -> Any:
        replies = send(link, key, b"" if block else packed, 0 if block else count, block)
        if block:
            refusals.append(1)
            replies = [OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")] * count + replies
        return replies

    monkeypatch.setattr(Link, "_send", refuse)
    with pytest.raises(MQIError) as caught:
        put_and_get(getter)
    assert caught.value.reason == MQRC.STORAGE_MEDIUM_FULL
    assert refusals
    monkeypatch.setattr(Link, "_send", send)
    commit(getter.connection)
    assert on_queue(group, "OTHER") == [(b"request", 0)]
    assert not getter.wake_list
