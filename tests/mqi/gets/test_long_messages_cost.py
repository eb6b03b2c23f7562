"""A batch of gets reads only the bodies that it returns. A queue of short messages pays nothing for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.get import get as getting
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.redis.keys import structure_keys
from tests.support.groups import BOTH, put_member
from tests.support.members import TestGroup
from tests.support.server import Server

MEBIBYTE = 1 << 20
LONG = 10 * 1024
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


@pytest.fixture
def group(tmp_path: Path) -> Iterator[TestGroup]:
    """A group on a server without other callers."""
    server = Server("--appendonly", "no")
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_structure("APPL1")
    for name in ("Q", "OTHER"):
        group.define_shared(name, max_msg_length=4 * MEBIBYTE)
    yield group
    group.close()
    server.close()


def commands_of(group: TestGroup, act: Callable[[], object]) -> list[list[str]]:
    """The commands that Redis ran for *act*, also in scripts, with their arguments."""
    client: redis.Redis = group.group.client()
    with client.monitor() as monitor:
        act()
        client.echo("the end")
        found: list[list[str]] = []
        for line in monitor.listen():
            words = line["command"].split(" ")
            if words[0].lower() == "echo":
                return found
            found.append([words[0].lower(), *words[1:]])
    raise AssertionError("the connection ended")


def bodies_read(commands: list[list[str]]) -> int:
    """The number of records that were read whole."""
    return sum(len(words) - 2 for words in commands if words[0] in ("hmget", "hget") and words[1].endswith(":m"))


def is_marked(group: TestGroup, name: str) -> bool:
    key = structure_keys(group.group.name, "APPL1").queue(name).queue
    return bool(group.group.client().hexists(key, "lg"))


@pytest.mark.parametrize("options", [GetOption.NO_SYNCPOINT, GetOption.SYNCPOINT, GetOption.SYNCPOINT_IF_PERSISTENT])
def test_a_batch_of_long_messages_reads_those_that_it_returns(group: TestGroup, options: GetOption) -> None:
    queue = group.connect().open("Q", BOTH)
    bodies = [b"%02d" % number * (MEBIBYTE // 4) for number in range(40)]
    for body in bodies:
        queue.put(body, MQMD(persistence=1))
    got: list[bytes] = []

    def take() -> None:
        got.extend(message.body for message in queue.get_many(40, options))

    commands = commands_of(group, take)

    # Two of half a mebibyte fill a batch, except for their descriptors.
    assert got == bodies[:1]
    assert bodies_read(commands) == 1
    while len(got) < len(bodies):
        take()
    assert got == bodies


def test_a_batch_where_members_of_groups_are_ends_by_its_bytes_too(group: TestGroup) -> None:
    queue = group.connect().open("Q", BOTH)
    bodies = [b"%d" % number * (MEBIBYTE // 3) for number in range(5)]
    for body in bodies:
        queue.put(body, MQMD(priority=9))
    put_member(queue, b"g", 1, b"member")
    batches = [[message.body for message in queue.get_many(100, GetOption.SYNCPOINT)] for _ in range(2)]
    assert batches == [bodies[:3], [*bodies[3:], b"member"]]


def test_a_batch_where_members_of_groups_are_ends_before_what_does_not_fit(group: TestGroup) -> None:
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"member")
    for body in (b"1", b"2", b"much too long", b"3"):
        queue.put(body)
    found = getting.get_many(queue.connection, queue.handle, MQGMO(), 9, max_length=9)
    assert [message.body for message in found] == [b"member", b"1", b"2"]
    put_member(queue, b"g", 1, b"another")
    (cut,) = getting.get_many(queue.connection, queue.handle, MQGMO(), 9, max_length=9)
    assert (cut.body, cut.data_length, cut.reason) == (b"much too ", 13, MQRC.TRUNCATED_MSG_FAILED)
    assert [message.body for message in queue.get_many(9)] == [b"much too long", b"3", b"another"]


def test_a_queue_of_short_messages_asks_for_no_length(group: TestGroup) -> None:
    queue = group.connect().open("Q", BOTH)
    queue.put_many([(MQMD(), bytes(LONG - 500))] * 100)

    commands = commands_of(group, lambda: queue.get_many(100))

    assert not [words for words in commands if words[0] == "hstrlen"]
    assert not is_marked(group, "Q")


def put_now(connection: QueueManagerConnection, queue: Queue, body: bytes) -> None:
    del connection
    queue.put(body)


def put_among_others(connection: QueueManagerConnection, queue: Queue, body: bytes) -> None:
    del connection
    queue.put_many([(MQMD(), b"short"), (MQMD(), body)])


def put_with_identifier(connection: QueueManagerConnection, queue: Queue, body: bytes) -> None:
    del connection
    queue.put(body, MQMD(correl_id=b"C" * 24))


def put_in_unit(connection: QueueManagerConnection, queue: Queue, body: bytes) -> None:
    queue.put(body, options=PutOption.SYNCPOINT)
    connection.commit()


def put_with_commit_of_gets(connection: QueueManagerConnection, queue: Queue, body: bytes) -> None:
    with connection.open("OTHER", BOTH) as other:
        other.put(b"got")
        other.get(GetOption.SYNCPOINT)
        queue.put(body, options=LATER)
        connection.commit()


@pytest.mark.parametrize("put", [put_now, put_among_others, put_with_identifier, put_in_unit, put_with_commit_of_gets])
def test_the_queue_knows_of_a_long_message_until_it_is_empty(
    group: TestGroup, put: Callable[[QueueManagerConnection, Queue, bytes], None]
) -> None:
    connection, other = group.connect(), group.connect()
    queue, others = connection.open("Q", BOTH), other.open("Q", BOTH)
    put(connection, queue, bytes(LONG))
    assert is_marked(group, "Q")

    # Another program got it, whose unit of work may return it.
    count = len(others.get_many(10, GetOption.SYNCPOINT))
    fails_with_nothing(lambda: queue.get_many(10))
    assert is_marked(group, "Q")
    other.backout()
    assert len(queue.get_many(10)) == count
    fails_with_nothing(lambda: queue.get_many(10))
    assert not is_marked(group, "Q")


def fails_with_nothing(act: Callable[[], Any]) -> None:
    with pytest.raises(MQIError) as caught:
        act()
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
