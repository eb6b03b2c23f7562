"""A request and its reply between two programs: what they cost in scripts, writes and wake-ups. Counts, no timings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.redis.link import Link
from tests.support.members import TestGroup
from tests.support.scenes import stored, until
from tests.support.server import Server

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
IN_UNIT = GetOption.SYNCPOINT | GetOption.WAIT
LONG_MS = 60_000
ROUNDS = 20
CORREL_ID = b"R" * 24


@dataclass
class Program:
    """One side: what it gets comes on one queue, and what it puts goes on the other."""

    connection: QueueManagerConnection
    source: Queue
    target: Queue


class Pair:
    """A requester and a server that takes its requests."""

    def __init__(self, group: TestGroup, pool: ThreadPoolExecutor) -> None:
        self.group, self._pool = group, pool
        for name in ("REQUESTS", "REPLIES"):
            group.define_shared(name)
        self.requester, self.server = self._program("REPLIES", "REQUESTS"), self._program("REQUESTS", "REPLIES")

    def _program(self, source: str, target: str) -> Program:
        connection = self.group.connect()
        return Program(connection, connection.open(source, BOTH), connection.open(target, BOTH))

    def serve(self, way: Callable[[Program], object]) -> Future[object]:
        """Run the server until its queue is inhibited."""

        def run() -> object:
            try:
                return way(self.server)
            except MQIError as error:
                return error.reason

        return self._pool.submit(run)

    def until_served(self) -> None:
        """Return when the server waits for a request: what it put is committed."""
        until(lambda: self._waiters("REQUESTS") == 1, "the server waits")

    def end(self, serving: Future[object]) -> None:
        """End the server; nothing but what the requester has not committed is left."""
        self.group.repository("QM1").alter("QLOCAL", "REQUESTS", {"get": "DISABLED"})
        assert serving.result(30) == MQRC.GET_INHIBITED

    def _waiters(self, name: str) -> int:
        return self.group.group.client().zcard(self.group.group.structure("APPL1").queue(name).waiters)

    def counts(self) -> dict[str, int]:
        """The calls that the server has run so far, but for those of this test."""
        found: Any = self.group.group.client().info("commandstats")
        return {name: int(found.get(f"cmdstat_{name}", {}).get("calls", 0)) for name in ("evalsha", "blpop", "lpush")}


@pytest.fixture
def pair(group: TestGroup) -> Iterator[Pair]:
    with ThreadPoolExecutor(2) as pool:
        yield Pair(group, pool)


def serve_in_units(server: Program) -> None:
    message = server.source.get(IN_UNIT, wait_ms=LONG_MS)
    while True:
        server.target.put(message.body, MQMD(correl_id=message.md.correl_id), options=LATER)
        message = server.source.commit_and_get(IN_UNIT, wait_ms=LONG_MS)


def serve_outside(server: Program) -> None:
    while True:
        message = server.source.get(GetOption.WAIT, wait_ms=LONG_MS)
        server.target.put(message.body, MQMD(correl_id=message.md.correl_id))


def ask_in_units(requester: Program, md: MQMD) -> bytes:
    requester.target.put(b"request", md, options=LATER)
    match = MQMD(version=2, correl_id=md.correl_id)
    return requester.source.commit_and_get(IN_UNIT, wait_ms=LONG_MS, match=match).body


def ask_apart(requester: Program, md: MQMD) -> bytes:
    requester.target.put(b"request", md, options=LATER)
    requester.connection.commit()
    return requester.source.get(IN_UNIT, wait_ms=LONG_MS, match=MQMD(version=2, correl_id=md.correl_id)).body


def ask_outside(requester: Program, md: MQMD) -> bytes:
    requester.target.put(b"request", md)
    return requester.source.get(GetOption.WAIT, wait_ms=LONG_MS, match=MQMD(version=2, correl_id=md.correl_id)).body


#: How a server serves, how a requester asks, and the scripts of a round, each of which takes one write.
WAYS = [
    # The server's commit, its look and its wait are one script, and so are the requester's.
    (serve_in_units, ask_in_units, 2),
    (serve_in_units, ask_apart, 3),
    # A put and a get on each side. Nobody looks again after a wait.
    (serve_outside, ask_outside, 4),
]


@pytest.mark.parametrize("correl_id", [bytes(24), CORREL_ID], ids=["any reply", "by CorrelId"])
@pytest.mark.parametrize(("serve", "ask", "scripts"), WAYS)
def test_a_request_and_its_reply_take_as_few_scripts_as_they_have_calls(
    pair: Pair, serve: Any, ask: Any, scripts: int, correl_id: bytes
) -> None:
    serving = pair.serve(serve)
    pair.until_served()
    # The first unit of work of each side is another one than those that follow.
    ask(pair.requester, MQMD(correl_id=correl_id))
    pair.until_served()
    before = pair.counts()
    for _ in range(ROUNDS):
        assert ask(pair.requester, MQMD(correl_id=correl_id)) == b"request"
        pair.until_served()
    after = pair.counts()

    assert after["evalsha"] - before["evalsha"] == scripts * ROUNDS
    if ask is ask_in_units:
        # One wake-up on each side, which brings the message.
        assert after["lpush"] - before["lpush"] == 2 * ROUNDS
    pair.requester.connection.commit()
    pair.end(serving)
    assert stored(pair.group) == 0


@pytest.mark.parametrize("correl_id", [bytes(24), CORREL_ID], ids=["any reply", "by CorrelId"])
@pytest.mark.parametrize(("serve", "ask", "writes"), WAYS)
def test_the_wait_for_a_request_or_a_reply_is_no_write_of_its_own(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, serve: Any, ask: Any, writes: int, correl_id: bytes
) -> None:
    """So the server reads once, and syncs once, for each script."""
    serving = pair.serve(serve)
    for _ in range(2):
        pair.until_served()
        ask(pair.requester, MQMD(correl_id=correl_id))
    pair.until_served()
    links = {id(each.connection.connection._link) for each in (pair.requester, pair.server)}
    counts = Counter[str]()

    def count(name: str) -> None:
        call = getattr(Link, name)

        def counting(link: Link, *args: Any, **options: Any) -> Any:
            counts[name] += id(link) in links
            return call(link, *args, **options)

        monkeypatch.setattr(Link, name, counting)

    count("_exchange_all")
    # A wait that lasts longer than the first one goes on in another write.
    count("block")
    for _ in range(ROUNDS):
        assert ask(pair.requester, MQMD(correl_id=correl_id)) == b"request"
        pair.until_served()
    monkeypatch.undo()
    assert counts["_exchange_all"] - counts["block"] == writes * ROUNDS
    pair.requester.connection.commit()
    pair.end(serving)


@pytest.mark.parametrize("correl_id", [bytes(24), CORREL_ID], ids=["any reply", "by CorrelId"])
def test_a_request_and_its_reply_are_two_syncs_of_the_server(
    pair: Pair, always_synced: Server, correl_id: bytes
) -> None:
    """The message that ends a wait leaves the wake list in the turn of the server that puts it there.

    Only in units of work is the reply never there before the requester waits. A get that finds its message at once
    lets the next wait be a write of its own, which then may pop the message in a turn, and a sync, of its own.
    """
    serving = pair.serve(serve_in_units)
    for _ in range(2):
        pair.until_served()
        ask_in_units(pair.requester, MQMD(correl_id=correl_id))
    pair.until_served()
    before = syncs(always_synced)
    for _ in range(ROUNDS):
        assert ask_in_units(pair.requester, MQMD(correl_id=correl_id)) == b"request"
        pair.until_served()

    assert syncs(always_synced) - before == 2 * ROUNDS
    pair.requester.connection.commit()
    pair.end(serving)


@pytest.fixture
def always_synced(redis_server: Server) -> Iterator[Server]:
    """The server, which writes and syncs its file at the end of each turn that changed something."""
    with redis_server.client() as client:
        before = client.config_get("appendfsync")["appendfsync"]
        client.config_set("appendfsync", "always")
        yield redis_server
        client.config_set("appendfsync", before)


def syncs(server: Server) -> int:
    """How often the server has written to its file. It writes to sockets and to the file alone, and syncs each time."""
    with server.client() as client:
        to_sockets = int(client.info("stats")["total_writes_processed"])
    found = dict(line.split(": ") for line in Path(f"/proc/{server.pid}/io").read_text().splitlines())
    return int(found["syscw"]) - to_sockets


@pytest.mark.parametrize("correl_id", [bytes(24), CORREL_ID], ids=["any reply", "by CorrelId"])
def test_the_first_request_is_put_and_committed_and_waits_in_one_script(pair: Pair, correl_id: bytes) -> None:
    serving = pair.serve(serve_in_units)
    pair.until_served()
    before = pair.counts()
    assert ask_in_units(pair.requester, MQMD(correl_id=correl_id)) == b"request"
    pair.until_served()
    assert pair.counts()["evalsha"] - before["evalsha"] == 2
    pair.requester.connection.backout()
    match = MQMD(version=2, correl_id=correl_id)
    assert pair.requester.source.get(match=match).md.backout_count == 1
    pair.end(serving)


def test_the_getters_own_commit_wakes_nobody(pair: Pair) -> None:
    for number in range(ROUNDS):
        pair.server.target.put(b"%d" % number)
    reply = pair.requester.source.get(GetOption.SYNCPOINT)
    before = pair.counts()
    for number in range(1, ROUNDS):
        reply = pair.requester.source.commit_and_get(IN_UNIT, wait_ms=LONG_MS)
        assert reply.body == b"%d" % number
    pair.requester.connection.commit()
    after = pair.counts()
    assert after["evalsha"] - before["evalsha"] == ROUNDS
    assert (after["lpush"], after["blpop"]) == (before["lpush"], before["blpop"])


def test_a_commit_and_get_of_an_empty_queue_is_one_call(pair: Pair) -> None:
    pair.requester.target.put(b"request", options=LATER)
    before = pair.counts()
    with pytest.raises(MQIError) as caught:
        pair.requester.source.commit_and_get(GetOption.SYNCPOINT)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    assert pair.counts()["evalsha"] - before["evalsha"] == 1
    assert pair.server.source.get().body == b"request"
