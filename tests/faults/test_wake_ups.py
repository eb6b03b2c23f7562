"""No wake-up is lost: neither by a waiter that gives up, nor by one that the message does not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from typing import Any

import pytest
import redis

from recovery.resolution import recover
from sharedq import MQIError, Queue
from sharedq.calls.get.get import get
from sharedq.calls.get.wait import stop_waiting
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.redis.link import Argument
from tests.recovery.scene import register_wait
from tests.support.members import TestGroup
from tests.support.scenes import keys_of, on_queue, recover_lost, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
CORREL = b"C" * 24


def waiters(group: TestGroup) -> int:
    return group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters)


def state_of(group: TestGroup, queue: Queue) -> object:
    """The waiting state of a connection in the structure: "" none, "W"... waiting, "K"... woken and not yet back."""
    return group.group.client().hget(group.group.structure("APPL1").owners, queue.connection.token)


@pytest.mark.parametrize("waiter", [b"A", b"C" + CORREL], ids=["any message", "by CorrelId"])
def test_one_that_gives_up_passes_its_wake_up_on(group: TestGroup, waiter: bytes) -> None:
    """It was woken in the moment in which its interval ended."""
    group.define_shared("Q")
    both = [group.connect().open("Q", BOTH) for _ in range(2)]
    for queue in both:
        register_wait(queue, waiter)
    group.connect().put1("Q", b"1", MQMD(correl_id=CORREL))
    woken, other = sorted(both, key=lambda queue: state_of(group, queue) != b"KQ")
    assert waiters(group) == 1

    stop_waiting(woken.connection, woken.handle)

    assert (state_of(group, woken), state_of(group, other)) == (b"", b"KQ")
    assert waiters(group) == 0
    assert other.get().body == b"1"


def test_a_waiter_that_gives_up_unwoken_wakes_no_other(group: TestGroup) -> None:
    group.define_shared("Q")
    first, second = (group.connect().open("Q", BOTH) for _ in range(2))
    register_wait(first, b"A")
    register_wait(second, b"A")
    stop_waiting(first.connection, first.handle)
    assert state_of(group, first) == b""
    assert waiters(group) == 1


def test_a_message_that_does_not_fit_whom_it_woke_wakes_the_next(group: TestGroup) -> None:
    """A MsgId that igq made identifies the message alone. The woken waiter checks whether the CorrelId fits."""
    group.define_shared("Q")
    putter, picky, general = (group.connect().open("Q", BOTH) for _ in range(3))
    md = putter.put(b"1", options=PutOption.SYNCPOINT)
    wanted = MQMD(msg_id=md.msg_id, correl_id=CORREL)
    match = MatchOption.MATCH_MSG_ID | MatchOption.MATCH_CORREL_ID
    with ThreadPoolExecutor(2) as pool:
        in_vain = pool.submit(picky.get, GetOption.WAIT, wait_ms=60_000, match=wanted, match_options=match)
        until(lambda: waiters(group) == 1, "the picky one waits")
        taken = pool.submit(general.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: waiters(group) == 2, "both wait")
        commit(putter.connection)
        assert taken.result(30).body == b"1"
        assert not in_vain.done()
        picky.connection.interrupt()
        with pytest.raises(MQIError):
            in_vain.result(30)


def test_a_wait_that_an_alter_ends_leaves_no_waiter(group: TestGroup) -> None:
    group.define_shared("Q")
    group.define_shared("OTHER")
    connection = group.connect()
    queue, other = connection.open("Q", BOTH), connection.open("OTHER", BOTH)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: waiters(group) == 1, "it waits")
        group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
        with pytest.raises(MQIError) as caught:
            waiting.result(30)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert state_of(group, queue) == b""
    # After a wait that was left, this one would be refused with 2219.
    other.put(b"1")
    assert other.get(GetOption.WAIT, wait_ms=1).body == b"1"
    assert on_queue(group, "Q") == []


def test_a_deleted_queue_wakes_a_waiter_without_a_handle(group: TestGroup) -> None:
    """The agent does the same: the shared transmit queue can be deleted while it waits."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    handle = copy(queue.handle)
    queue.close()
    with ThreadPoolExecutor(1) as pool:
        gmo = MQGMO(options=GetOption.WAIT, wait_interval=60_000)
        waiting = pool.submit(get, queue.connection, handle, MQMD(), gmo)
        until(lambda: waiters(group) == 1, "it waits")
        group.repository("QM1").delete("QLOCAL", "Q")
        with pytest.raises(MQIError) as caught:
            waiting.result(30)
    assert caught.value.reason == MQRC.Q_DELETED
    assert state_of(group, queue) == b""
    assert keys_of(group, "?:Q") == []


def register_many(queue: Queue, first: int, count: int, waiter: bytes) -> list[str]:
    """The entries of this many connections that wait on the queue; their tokens, in the order of their entries."""
    process = queue.connection.process.token
    return [register_one(queue, f"{process}.{number}", waiter) for number in range(first, first + count)]


def register_one(queue: Queue, token: str, waiter: bytes) -> str:
    """One connection that waits: a browse for ``B``, a get for a CorrelId."""
    connection, handle, keys, names = queue.connection, queue.handle, queue.handle.structure.keys, queue.handle.queue
    process = connection.process
    owner: list[Argument] = [token, process.qmgr, process.incarnation, process.token]
    connection.checked_call("structure/attach", [keys.owners, keys.fence], owner)
    places = [names.queue, names.available, names.index, names.waiters]
    own = keys.wake + token
    if waiter == b"B":
        script, script_keys = "structure/browse", [*places, keys.expiry, own, keys.journal]
        arguments: list[Argument] = [0, 1000, waiter + token.encode(), "0", "", "", b"", b"", b""]
    else:
        script = "structure/get"
        script_keys = [*places, keys.unit_of_work + token, keys.expiry, own, keys.journal, keys.wake]
        arguments = [1, 0, 1000, 0, 1000, "0", "", waiter + token.encode(), "", "", waiter, b"", waiter[1:]]
    reply = connection.call(
        script, [keys.owners, keys.messages, *script_keys], [token, handle.name, handle.definition.version, *arguments]
    )
    assert reply[0] in (0, MQRC.NO_MSG_AVAILABLE)
    return token


def states(group: TestGroup, tokens: list[str]) -> list[bytes]:
    """The first letters of their waiting states in the structure."""
    owners = group.group.structure("APPL1").owners
    found: Any = group.group.client().hmget(owners, tokens)
    return [(state or b"")[:1] for state in found]


@pytest.mark.unaccounted("those who wait are written by hand")
def test_all_browses_are_woken_however_many(group: TestGroup) -> None:
    """A script wakes 256. Each one that comes back wakes the next, and a new wait takes no other's turn."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    tokens = register_many(queue, 1000, 600, b"B")
    putter = group.connect().open("Q", BOTH)
    putter.put(b"1")
    assert states(group, tokens) == [b"K"] * 256 + [b"W"] * 344
    putter.get()
    for token in tokens[:2]:
        register_one(queue, token, b"B")
    assert states(group, tokens) == [b"W"] * 2 + [b"K"] * 598
    # New waits, and waiters that came meanwhile, do not count for that.
    putter.put(b"2")
    assert states(group, tokens) == [b"K"] * 600
    assert group.group.client().hmget(group.group.structure("APPL1").queue("Q").queue, "nw", "wk") == [b"0", None]


@pytest.mark.unaccounted("those who wait are written by hand")
def test_a_put_while_browses_are_being_woken_wakes_all_of_them(group: TestGroup) -> None:
    """Also waiters that were woken before it, and wait again."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    tokens = register_many(queue, 1000, 600, b"B")
    putter = group.connect().open("Q", BOTH)
    putter.put(b"1")
    putter.get()
    register_one(queue, tokens[0], b"B")
    assert states(group, tokens) == [b"W"] + [b"K"] * 511 + [b"W"] * 88
    late = register_many(queue, 5000, 200, b"B")
    putter.put(b"2")
    assert states(group, tokens + late) == [b"W"] + [b"K"] * (599 + 256 - 88) + [b"W"] * 32
    putter.get()
    register_one(queue, tokens[1], b"B")
    assert states(group, tokens + late) == [b"W", b"W"] + [b"K"] * (598 + 200)
    register_one(queue, tokens[2], b"B")
    assert states(group, tokens[:3]) == [b"K", b"K", b"W"]


@pytest.mark.unaccounted("those who wait are written by hand")
def test_a_dead_waiters_wake_up_reaches_a_fitting_waiter(group: TestGroup) -> None:
    """Its purpose is unknown, so every waiter looks: the woken ones wake the rest."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    fitting = register_many(queue, 1000, 2, b"C" + b"z" * 24)
    others = register_many(queue, 2000, 300, b"C" + b"a" * 24)
    group.connect().put1("Q", b"1", MQMD(correl_id=b"z" * 24))
    assert states(group, fitting) == [b"K", b"W"]

    group.group.client().zadd(group.group.keys.leases, {fitting[0]: 1})
    assert recover(group.group, group.connect().connection, fitting[0]).is_resolved

    assert states(group, others) == [b"K"] * 256 + [b"W"] * 44
    register_one(queue, others[7], b"C" + b"a" * 24)
    assert states(group, fitting[1:]) == [b"K"]
    register_one(queue, fitting[1], b"C" + b"z" * 24)
    assert on_queue(group, "Q") == []


_RUN = """
local begun = redis.call("TIME")
repeat local now = redis.call("TIME") until (now[1] - begun[1]) * 1000000 + now[2] - begun[2] > 1500000
"""


@contextmanager
def busy(client: redis.Redis) -> Iterator[None]:
    """Another program's script runs for a second and a half. Every call in the block is refused with BUSY."""
    before = client.config_get("busy-reply-threshold")["busy-reply-threshold"]
    client.config_set("busy-reply-threshold", 20)
    other = threading.Thread(target=client.eval, args=(_RUN, 0))
    other.start()

    def is_busy() -> bool:
        try:
            client.ping()
        except redis.ResponseError:
            return True
        return False

    try:
        until(is_busy, "Redis is busy")
        yield
        assert is_busy()
    finally:
        other.join()
        client.config_set("busy-reply-threshold", str(before))


def test_what_a_last_connection_held_is_told_once_redis_listens(group: TestGroup) -> None:
    """Its process ends with it. Unless it tells again, the message would be kept until its lease runs out."""
    group.define_shared("Q")
    process = group.process()
    queue = group.connect(process=process).open("Q", BOTH)
    queue.put(b"1")
    queue.get(GetOption.SYNCPOINT)
    token = queue.connection.token

    with busy(group.group.client()):
        process.abandon(token)
        process.end()

    recover_lost(group, token)
    assert on_queue(group, "Q") == [(b"1", 1)]
    leases = group.group.keys.leases
    until(lambda: group.group.client().zscore(leases, process.token) is None, "the end is told")
