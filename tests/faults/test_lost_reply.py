"""A call or its reply is lost: 2009, nothing is sent twice, and the state fits one of two outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.session.connection import Connection
from tests.support.each import one_of
from tests.support.members import TestGroup
from tests.support.proxy import Proxy
from tests.support.scenes import on_queue, recover_lost, stored
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
TAG = "GTAG"
Contents = tuple[tuple[bytes, int], ...]

FIRST: Contents = ((b"1", 0), (b"2", 0))


@dataclass
class Lossy:
    """A group, and one connection to it through a proxy."""

    group: TestGroup
    proxy: Proxy
    connection: QueueManagerConnection
    queue: Queue
    other: Queue
    empty: Queue


@pytest.fixture
def lossy(group: TestGroup, redis_server: Server, tmp_path: Path) -> Iterator[Lossy]:
    proxy = Proxy(redis_server.socket, tmp_path)
    group.define_structure("APPL2")
    group.define_shared("Q")
    group.define_shared("EMPTY")
    group.define_shared("OTHER", "APPL2")
    with group.connect() as connection:
        for body, _ in FIRST:
            connection.put1("Q", body)
    seen_through = TestGroup(proxy.url, tmp_path, group=group.group.name)
    through = seen_through.connect()
    yield Lossy(group, proxy, through, *[through.open(name, BOTH) for name in ("Q", "OTHER", "EMPTY")])
    seen_through.close()
    proxy.close()


@dataclass(frozen=True)
class Case:
    """A call, and what the queues hold in the end when it was done and when it was not.

    ``before`` is what the program did before that call. Once its work is recovered, what it got and did not
    commit is back with its count raised.
    """

    script: str
    call: Callable[[Lossy], object]
    done: Contents
    undone: Contents = FIRST
    before: Callable[[Lossy], object] = lambda _: None
    other_done: Contents = ()


def take(lossy: Lossy) -> None:
    lossy.queue.get(GetOption.SYNCPOINT)


def take_marked(lossy: Lossy) -> None:
    lossy.queue.get(GetOption.SYNCPOINT | GetOption.MARK_SKIP_BACKOUT)


def put_uncommitted(lossy: Lossy) -> None:
    lossy.queue.put(b"3", options=PutOption.SYNCPOINT)


def work_in_two_structures(lossy: Lossy) -> None:
    take(lossy)
    lossy.other.put(b"4", options=PutOption.SYNCPOINT)


def take_and_put_later(lossy: Lossy) -> None:
    take(lossy)
    lossy.queue.put(b"3", options=LATER)


def wait_for_more(lossy: Lossy) -> None:
    """On an empty queue: the commit, the look and the wait are one write."""
    lossy.empty.commit_and_get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=60_000)


def take_and_fill(lossy: Lossy) -> None:
    """From now on a put of many messages is refused after its first call."""
    take(lossy)
    lossy.group.repository("QM1").alter("QLOCAL", "Q", {"max_depth": 150})


def put_too_many(lossy: Lossy) -> None:
    lossy.queue.put_many([(MQMD(), b"x")] * 200, options=PutOption.SYNCPOINT)


BACK: Contents = ((b"1", 1), (b"2", 0))
CASES = {
    "put": Case("structure/put_plain", lambda s: s.queue.put(b"3"), done=(*FIRST, (b"3", 0))),
    "put with a CorrelId": Case(
        "structure/put", lambda s: s.queue.put(b"3", MQMD(correl_id=b"C" * 24)), done=(*FIRST, (b"3", 0))
    ),
    "put under syncpoint": Case("structure/put", put_uncommitted, done=FIRST),
    "put with a CorrelId under syncpoint": Case(
        "structure/put",
        lambda s: s.queue.put(b"3", MQMD(correl_id=b"C" * 24), options=PutOption.SYNCPOINT),
        done=FIRST,
    ),
    "get": Case("structure/get", lambda s: s.queue.get(), done=((b"2", 0),)),
    "get under syncpoint": Case("structure/get", take, done=BACK),
    "browse": Case("structure/browse", lambda s: s.queue.get(GetOption.BROWSE_FIRST), done=FIRST),
    "commit of a get": Case("structure/commit", lambda s: s.connection.commit(), ((b"2", 0),), BACK, before=take),
    "commit of a put": Case(
        "structure/commit", lambda s: s.connection.commit(), (*FIRST, (b"3", 0)), before=put_uncommitted
    ),
    "back out": Case("structure/backout", lambda s: s.connection.backout(), BACK, BACK, before=take),
    "back out around a marked get": Case(
        "structure/backout", lambda s: s.connection.backout(), BACK, BACK, before=take_marked
    ),
    "undoing a put": Case("structure/undo_puts", put_too_many, BACK, BACK, before=take_and_fill),
    "commit of a put and get": Case(
        "structure/commit",
        lambda s: s.queue.commit_and_get(GetOption.SYNCPOINT),
        ((b"1", 1), (b"2", 0), (b"3", 0)),
        before=put_uncommitted,
    ),
    "commit of a get and get": Case(
        "structure/get",
        lambda s: s.queue.commit_and_get(GetOption.SYNCPOINT),
        ((b"2", 1),),
        BACK,
        before=take,
    ),
    "asynchronous put and its commit": Case(
        "structure/put_plain",
        lambda s: s.connection.commit(),
        (*FIRST, (b"3", 0)),
        before=lambda s: s.queue.put(b"3", options=LATER),
    ),
    "get, asynchronous put, commit": Case(
        "structure/commit_put",
        lambda s: s.connection.commit(),
        ((b"2", 0), (b"3", 0)),
        BACK,
        before=take_and_put_later,
    ),
    "get, asynchronous put, commit and a wait": Case(
        "structure/commit_put", wait_for_more, ((b"2", 0), (b"3", 0)), BACK, before=take_and_put_later
    ),
    "asynchronous put, commit and a wait": Case(
        "structure/commit_put",
        wait_for_more,
        (*FIRST, (b"3", 0)),
        before=lambda s: s.queue.put(b"3", options=LATER),
    ),
    "commit of a get and a wait": Case("structure/get", wait_for_more, ((b"2", 0),), BACK, before=take),
    "commit of a put and a wait": Case("structure/commit", wait_for_more, (*FIRST, (b"3", 0)), before=put_uncommitted),
    "decision of two structures": Case(
        "admin/decide", lambda s: s.connection.commit(), ((b"2", 0),), BACK, work_in_two_structures, ((b"4", 0),)
    ),
    "first structure of two, decided": Case(
        "structure/commit",
        lambda s: s.connection.commit(),
        ((b"2", 0),),
        ((b"2", 0),),
        work_in_two_structures,
        ((b"4", 0),),
    ),
    "open": Case("structure/open", lambda s: s.connection.open("Q", BOTH), FIRST),
    "close": Case("structure/close", lambda s: s.queue.close(), FIRST),
    "leaving a structure": Case("structure/detach", lambda s: s.connection.disconnect(), FIRST),
    "disconnect": Case("admin/disconnect", lambda s: s.connection.disconnect(), FIRST),
}


@pytest.mark.invariant(3, 9)
@pytest.mark.parametrize("is_done", [True, False], ids=["reply lost", "call lost"])
@pytest.mark.parametrize("name", one_of(3, CASES, pytest.mark.share))
def test_a_lost_call_ends_with_2009_and_happened_once_or_not_at_all(lossy: Lossy, name: str, is_done: bool) -> None:
    case = CASES[name]
    case.before(lossy)
    (lossy.proxy.lose_reply if is_done else lossy.proxy.lose_request)(case.script)

    with pytest.raises(MQIError) as caught:
        case.call(lossy)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert lossy.proxy.calls == 1
    with pytest.raises(MQIError) as caught:
        lossy.queue.put(b"after")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN

    if (name, is_done) != ("disconnect", True):
        recover_lost(lossy.group, lossy.connection.connection.token)
    other = case.other_done if is_done or case.done == case.undone else ()
    assert on_queue(lossy.group, "Q") == list(case.done if is_done else case.undone)
    assert on_queue(lossy.group, "OTHER", "APPL2") == list(other)
    assert not lossy.group.group.client().exists(lossy.empty.handle.queue.waiters)
    assert stored(lossy.group) == len(on_queue(lossy.group, "Q"))
    assert stored(lossy.group, "APPL2") == len(other)


@pytest.mark.invariant(6)
@pytest.mark.parametrize("is_done", [True, False], ids=["reply lost", "call lost"])
def test_a_lost_mqconnx_leaves_its_tag_to_the_recovery(lossy: Lossy, is_done: bool) -> None:
    (lossy.proxy.lose_reply if is_done else lossy.proxy.lose_request)("admin/connect")
    process, through = lossy.connection.connection.process, lossy.connection.connection.group
    with pytest.raises(MQIError) as caught:
        Connection(through, process, tag=TAG, is_internal=True)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN

    holder: Any = lossy.group.group.client().hget(lossy.group.group.keys.tags, TAG[1:])
    assert (holder is not None) == is_done
    if holder is not None:
        recover_lost(lossy.group, holder.decode()[1:])
    lossy.group.connect(tag=TAG).disconnect()


def test_a_lost_registration_of_a_program_holds_nothing(lossy: Lossy) -> None:
    """Its lease runs out, and its token is unknown."""
    before = set(lossy.group.group.client().zrange(lossy.group.group.keys.leases, 0, -1))
    lossy.proxy.lose_reply("admin/register_process")
    with pytest.raises(MQIError) as caught:
        Process.register(lossy.connection.connection.group, "QM1")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert lossy.proxy.calls == 1
    after = set(lossy.group.group.client().zrange(lossy.group.group.keys.leases, 0, -1))
    assert len(after - before) == 1
