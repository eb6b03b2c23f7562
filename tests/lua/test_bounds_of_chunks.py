"""The largest chunks of messages, owners and queues that callers ask for do not hold Redis."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Literal

import pytest

from recovery.resolution import recover
from recovery.structure import CHUNK_OWNERS
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.scripts.events import arm_queues_call
from sharedq.scripts.members import abandon_call, renew_call, suspect_call, tell_news_call
from sharedq.scripts.objects import publishing_call
from sharedq.scripts.recovery import claim_call, fence_call
from tests.lua.redis_time import Meter
from tests.support.expiry import discard_expired
from tests.support.members import TestGroup
from tests.support.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.invariant(4)]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server("--appendonly", "no")
    yield server
    server.close()


@pytest.fixture(scope="module")
def group(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestGroup]:
    """A group on a server without other callers."""
    group = TestGroup(server.url, tmp_path_factory.mktemp("bounds"))
    group.add_member("QM1")
    group.define_shared("Q", max_depth=999_999_999, max_msg_length=104_857_600)
    yield group
    group.close()


@pytest.fixture
def connection(group: TestGroup) -> Iterator[QueueManagerConnection]:
    connection = group.connect()
    yield connection
    connection.disconnect()


def get_all(queue: Queue, options: int = 0) -> None:
    with contextlib.suppress(MQIError):
        while queue.get_many(100, options):
            pass


#: Messages of one unit of work: as many as it may have, or as many bytes as a call takes.
UNITS = {"short": (10_000, 10), "of 1 KB": (10_000, 1000), "of 100 KB": (200, 100_000), "of 1 MB": (20, 1_000_000)}


@pytest.mark.parametrize("ends_with", ["commit", "backout"])
@pytest.mark.parametrize("kind", UNITS)
def test_units_of_work_do_not_hold_redis(
    connection: QueueManagerConnection, server: Server, kind: str, ends_with: Literal["commit", "backout"]
) -> None:
    count, length = UNITS[kind]
    messages = [(MQMD(persistence=1), b"x" * length)] * count
    queue = connection.open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)

    def act() -> None:
        queue.put_many(messages, options=PutOption.SYNCPOINT)
        getattr(connection, ends_with)()
        if ends_with == "backout":
            queue.put_many(messages)
        get_all(queue, GetOption.SYNCPOINT)
        getattr(connection, ends_with)()
        get_all(queue)

    Meter(server).check(act)


@pytest.mark.parametrize("kind", UNITS)
def test_a_recovery_does_not_hold_redis(
    group: TestGroup, connection: QueueManagerConnection, server: Server, kind: str
) -> None:
    count, length = UNITS[kind]
    queue = connection.open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)

    def act() -> None:
        process = group.process()
        dead = group.connect(process=process).open("Q", OpenOption.OUTPUT | OpenOption.INPUT_SHARED)
        dead.put_many([(MQMD(persistence=1), b"x" * length)] * count)
        get_all(dead, GetOption.SYNCPOINT)
        process.stop_renewing()
        recover(group.group, connection.connection, process.token, force=True)
        get_all(queue)

    Meter(server).check(act)


@pytest.mark.parametrize("how", ["clear", "expire", "look"])
def test_many_messages_do_not_hold_redis(
    group: TestGroup, connection: QueueManagerConnection, server: Server, how: str
) -> None:
    """100,000 messages that a command clears, that expire, or that a program passes over."""
    expiry = -1 if how == "clear" else 1
    messages = [(MQMD(persistence=1, expiry=expiry), b"x" * 10)] * 100_000

    def act() -> None:
        with connection.open("Q", OpenOption.OUTPUT) as queue:
            queue.put_many(messages)
        group.wait_redis_ms(120)
        if how == "look":
            with connection.open("Q", OpenOption.INPUT_SHARED | OpenOption.BROWSE) as queue:
                for options in (GetOption.BROWSE_FIRST, GetOption.BROWSE_NEXT, GetOption.SYNCPOINT, 0):
                    with contextlib.suppress(MQIError):
                        queue.get(options)
        if how == "expire":
            discard_expired(connection.connection, "APPL1")
        group.repository("QM1").clear("Q")

    Meter(server).check(act)


def test_commands_about_many_queues_do_not_hold_redis(group: TestGroup, server: Server) -> None:
    repository, names = group.repository("QM1"), [f"N{number}" for number in range(300)]
    for name in names:
        group.define_shared(name)

    def act() -> None:
        queues = repository.display_queues("N*")
        repository.oldest_ages_ms(queues)
        repository.reset_counts(queues)
        managers = [f"QM{number:02}" for number in range(32)]
        group.group.call(*arm_queues_call(group.group.structure("APPL1"), managers, names[:100]))

    Meter(server).check(act)


def _suspect_many(group: TestGroup) -> object:
    keys = group.group.keys
    suspects = [f"QM9.{number}" for number in range(250)]
    group.group.client().zadd(keys.leases, dict.fromkeys(["QM8.1", *suspects], 1e15))
    return group.group.call(*suspect_call(keys, "QM8.1", 500, "look", 60, suspects))


def _owners(count: int) -> list[str]:
    return [f"QM9.1.{number}.1" for number in range(count)]


CHUNKS: dict[str, Callable[[TestGroup, QueueManagerConnection], object]] = {
    "fence": lambda group, connection: connection.connection.call(
        *fence_call(
            group.group.structure("APPL1"),
            connection.connection.token,
            [(token, 5) for token in _owners(CHUNK_OWNERS)],
            _owners(CHUNK_OWNERS),
        )
    ),
    "claim": lambda group, connection: group.group.call(
        *claim_call(
            group.group.keys,
            "QM1",
            60_000,
            "FAILED",
            connection.connection.token,
            [(f"QM9.{number}", "QM9", number) for number in range(500)],
            force=True,
        )
    ),
    "renew": lambda group, connection: group.group.call(
        *renew_call(group.group.keys, connection.connection.process.token, 600_000, "QM1", 500, _owners(500), ask=True)
    ),
    "abandon": lambda group, _: group.group.call(*abandon_call(group.group.keys, _owners(2000))),
    "suspect": lambda group, _: _suspect_many(group),
    "tell_news": lambda group, _: group.group.call(*tell_news_call(group.group.keys, "x" * 1000, 60, _owners(250))),
}


@pytest.mark.parametrize("script", CHUNKS)
def test_chunks_of_owners_do_not_hold_redis(
    group: TestGroup, connection: QueueManagerConnection, server: Server, script: str
) -> None:
    connection.open("Q", OpenOption.OUTPUT)
    Meter(server).check(lambda: CHUNKS[script](group, connection))


@pytest.mark.parametrize("length", [5, 10_000])
def test_topics_that_are_open_do_not_hold_redis(group: TestGroup, server: Server, length: int) -> None:
    """A connection tells no more topic strings than have room; it still opens and closes more."""
    connection = group.connect()
    keys, token = group.group.keys, connection.connection.token
    client = group.group.client()
    info = json.loads(client.hget(keys.owners, token) or b"")
    info["topics"] = {f"{number:0{length}}": 1 for number in range(240_000 // (length + 5))}
    client.hset(keys.owners, token, json.dumps(info))

    def act() -> None:
        for change in (1, -1):
            for number in range(30):
                call = publishing_call(keys, token, f"{number}/{'a' * 10_000}", change, is_authorized=True)
                assert connection.connection.call(*call) == [0]

    Meter(server).check(act)
    assert client.hstrlen(keys.owners, token) < 265_000
    connection.disconnect()
