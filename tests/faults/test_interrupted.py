"""Ctrl-C in the middle of a call ends the connection, and a recovery resolves its work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sharedq.calls.unit import put_buffer
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.redis.link import Link
from sharedq.session.connection import Connection
from tests.support.members import TestGroup
from tests.support.scenes import keys_of, on_queue, recover_lost, until

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE


def waiters(group: TestGroup) -> int:
    return group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters)


def interrupt_when(is_true: Callable[[], object]) -> threading.Thread:
    """Press Ctrl-C when *is_true* is."""
    main = threading.main_thread().ident
    assert main is not None

    def press() -> None:
        until(is_true, "the moment for Ctrl-C")
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def test_an_interrupted_wait_ends_its_connection_and_leaves_nothing(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    pressing = interrupt_when(lambda: waiters(group) == 1)
    with pytest.raises(KeyboardInterrupt):
        queue.get(GetOption.WAIT, wait_ms=-1)
    pressing.join()

    with pytest.raises(MQIError) as caught:
        queue.get()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert queue.connection.is_ended

    token = queue.connection.token
    recover_lost(group, token)
    assert waiters(group) == 0
    state = group.group.client().hgetall(group.group.structure("APPL1").queue("Q").queue)
    assert [int(state.get(name, 0)) for name in (b"nw", b"ip", b"op")] == [0, 0, 0]
    assert [key for key in keys_of(group) if key.decode().endswith(token)] == []


def test_a_wake_up_for_one_that_was_interrupted_goes_to_another(group: TestGroup) -> None:
    group.define_shared("Q")
    interrupted = group.connect().open("Q", BOTH)
    pressing = interrupt_when(lambda: waiters(group) == 1)
    with pytest.raises(KeyboardInterrupt):
        interrupted.get(GetOption.WAIT, wait_ms=-1)
    pressing.join()

    found: list[bytes] = []
    other = group.connect().open("Q", BOTH)
    waiting = threading.Thread(target=lambda: found.append(other.get(GetOption.WAIT, wait_ms=60_000).body))
    waiting.start()
    until(lambda: waiters(group) == 2, "both wait")
    # Either of the two may be woken. If it is the interrupted one, its recovery passes the wake-up on.
    with group.connect() as connection:
        connection.put1("Q", b"for whoever lives")
    recover_lost(group, interrupted.connection.token)
    waiting.join(30)
    assert found == [b"for whoever lives"]
    assert on_queue(group, "Q") == []


@pytest.mark.invariant(9)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("call", ["get", "commit", "back out"])
def test_a_call_cut_short_is_never_taken_for_one_that_failed(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, call: str, moment: str
) -> None:
    """Interrupted after Redis did the call and before the connection noted it, or before it was sent."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"1")
    if call != "get":
        queue.get(GetOption.SYNCPOINT)
    call_many = Connection.call_many

    def cut(self: Connection, calls: object) -> object:
        if moment == "after":
            call_many(self, calls)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(Connection, "call_many", cut)
    calls = {
        "get": lambda: queue.get(GetOption.SYNCPOINT),
        "commit": connection.commit,
        "back out": connection.backout,
    }
    with pytest.raises(KeyboardInterrupt):
        calls[call]()
    monkeypatch.undo()

    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    recover_lost(group, connection.connection.token)
    assert on_queue(group, "Q") == (
        [] if (call, moment) == ("commit", "after") else [(b"1", int((call, moment) != ("get", "before")))]
    )


@pytest.mark.invariant(9)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, AttributeError, MemoryError])
@pytest.mark.parametrize("call", ["get", "browse", "commit", "back out", "asynchronous put"])
def test_an_exception_ends_the_connection_once_its_call_has_begun_something(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, call: str, error: type[Exception], moment: str
) -> None:
    """A signal handler may raise any exception at any moment."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"0", options=PutOption.SYNCPOINT)
    queue.put(b"1", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    has_begun = moment == "after" or call in ("commit", "back out")
    exchange = Link._exchange_all

    def cut(self: Link, exchanges: Any, **pace: Any) -> Any:
        is_own = self is connection.connection._link
        found = exchange(self, exchanges, **pace) if moment == "after" or not is_own else None
        if is_own:
            raise error
        return found

    def cut_buffer(*arguments: Any) -> None:
        if moment == "after":
            buffer(*arguments)
        raise error

    buffer = put_buffer._buffer
    monkeypatch.setattr(put_buffer, "_buffer", cut_buffer)
    monkeypatch.setattr(Link, "_exchange_all", cut)
    later = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: queue.get(GetOption.SYNCPOINT),
        "browse": lambda: queue.get(GetOption.BROWSE_FIRST),
        "commit": connection.commit,
        "back out": connection.backout,
        "asynchronous put": lambda: queue.put(b"2", options=later),
    }
    with pytest.raises(error):
        calls[call]()
    monkeypatch.undo()
    if call in ("get", "browse"):
        # The asynchronous put is taken out of the buffer before it is sent.
        has_begun = True
    assert connection.connection.is_ended == has_begun
    if has_begun:
        recover_lost(group, connection.connection.token)
    else:
        connection.commit()
    is_committed = not has_begun or (call, moment) == ("commit", "after")
    assert on_queue(group, "Q") == ([(b"0", 0), (b"1", 0)] if is_committed else [])


@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, MemoryError])
def test_an_exception_before_anything_was_sent_changes_nothing(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"1", options=PutOption.SYNCPOINT)

    def cut(self: Connection, calls: object) -> object:  # noqa: ARG001 - as the call that it replaces
        raise error

    monkeypatch.setattr(Connection, "call_many", cut)
    for call in (queue.get, lambda: queue.put(b"2")):
        with pytest.raises(error):
            call()
    monkeypatch.undo()
    connection.commit()
    assert on_queue(group, "Q") == [(b"1", 0)]


def test_leaving_a_with_block_by_ctrl_c_backs_out(group: TestGroup) -> None:
    """A connection that is interrupted between two calls still ends cleanly."""
    group.define_shared("Q")

    def work() -> None:
        with group.connect() as connection:
            connection.open("Q", BOTH).put(b"never", options=PutOption.SYNCPOINT)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert on_queue(group, "Q") == []
    assert group.group.client().hlen(group.group.structure("APPL1").messages) == 0
