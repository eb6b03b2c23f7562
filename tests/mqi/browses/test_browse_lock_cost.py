"""Locked messages in front cost other handles nothing, and calls without locks pay nothing: commands are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from sharedq import Queue
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.mqi.groups.test_groups_cost import commands
from tests.support.groups import BOTH, matching
from tests.support.members import TestGroup
from tests.support.server import Server

FEW, MANY = 10, 2_000
CORREL = b"C" * 24
LOCK_FIRST = int(GetOption.BROWSE_FIRST | GetOption.LOCK)
LOCK_NEXT = int(GetOption.BROWSE_NEXT | GetOption.LOCK)
SYNCPOINT = int(GetOption.SYNCPOINT)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, TestGroup]]:
    """Queues with few and with many messages locked in front, each by its own handle."""
    server = Server()
    filled = {}
    for count in (FEW, MANY):
        group = filled[count] = TestGroup(server.url, tmp_path_factory.mktemp("data"))
        group.add_member("QM1")
        group.define_structure("APPL1")
        group.define_shared("Q")
        group.repository("QM1").alter_qmgr("QM1", {"max_handles": 2 * MANY})
        connection = group.connect()
        lockers = [connection.open("Q", BOTH) for _ in range(count)]
        lockers[0].put_many([(MQMD(correl_id=CORREL), b"%d" % number) for number in range(count + 3)])
        bodies = [locker.get(LOCK_FIRST).body for locker in lockers]
        assert bodies == [b"%d" % number for number in range(count)]
    yield filled
    for group in filled.values():
        group.close()
    server.close()


def got(options: int, **asked: object) -> Callable[[Queue], list[bytes]]:
    """One call, and its result after the locked messages."""

    def call(queue: Queue) -> list[bytes]:
        return [queue.get(options, **asked).body[-1:]]  # type: ignore[arg-type]  # what matching() returns

    return call


def lock_and_unlock(queue: Queue) -> list[bytes]:
    bodies = [queue.get(LOCK_FIRST).body[-1:], queue.get(LOCK_NEXT).body[-1:]]
    assert queue.unlock()
    return bodies


def lock_and_take(queue: Queue) -> list[bytes]:
    queue.get(LOCK_FIRST)
    return [queue.get(GetOption.MSG_UNDER_CURSOR | SYNCPOINT).body[-1:]]


def lock_and_close(queue: Queue) -> list[bytes]:
    queue.get(LOCK_FIRST)
    queue.close()
    return []


CASES: dict[str, Callable[[Queue], list[bytes]]] = {
    "browse": got(int(GetOption.BROWSE_FIRST)),
    "browse by CorrelId": got(int(GetOption.BROWSE_FIRST), **matching(correl_id=CORREL)),
    "get": got(SYNCPOINT),
    "get by CorrelId": got(SYNCPOINT, **matching(correl_id=CORREL)),
    "lock, lock the next, unlock": lock_and_unlock,
    "lock and get": lock_and_take,
    "lock and close": lock_and_close,
}


@pytest.mark.parametrize("name", CASES)
def test_locks_do_not_change_the_commands_of_a_call(scenes: dict[int, TestGroup], name: str) -> None:
    outcomes = []
    for group in scenes.values():
        connection = group.connect()
        outcomes.append(commands(group, partial(CASES[name], connection.open("Q", BOTH))))
        connection.backout()
    assert outcomes[0] == outcomes[1]


#: The commands of one call without locks, marks and groups. The journal is one command more.
PLAIN = {
    "put": {"evalsha": 1, "hexists": 1, "hmget": 1, "incrby": 1, "hset": 1, "zadd": 1, "xadd": 1},
    "get": {"evalsha": 1, "hget": 1, "hmget": 2, "zpopmin": 1, "hdel": 1, "xadd": 1},
    "browse": {"evalsha": 1, "hget": 2, "hmget": 1, "zrangebyscore": 1},
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_call_issues_the_commands_it_always_did(scenes: dict[int, TestGroup], name: str) -> None:
    group = scenes[FEW]
    group.define_shared(name.upper())
    queue = group.connect().open(name.upper(), BOTH)
    for _ in range(2):
        queue.put(b"x")
    calls: dict[str, Callable[[], object]] = {
        "put": lambda: queue.put(b"x"),
        "get": queue.get,
        "browse": partial(queue.get, GetOption.BROWSE_FIRST),
    }
    calls[name]()

    def call() -> list[bytes]:
        calls[name]()
        return []

    counted = {command.removeprefix("cmdstat_"): times for command, times in commands(group, call)[1].items()}
    assert counted == PLAIN[name]
