"""Large messages: 100 MB, the largest that IBM MQ knows, and one byte more; many bytes in a unit of work."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sharedq import MQIError, Queue
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, PutOption
from sharedq.mqi.limits import MAX_MSG_LENGTH
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, MAY_SEGMENT
from tests.support.members import TestGroup
from tests.support.server import Server

#: Redis holds it, its reply and a script's copies at the same time, and the program the same again.
NEEDED_KIB = 3 * 1024 * 1024


def _available_kib() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    return 0


@pytest.fixture
def large_group(tmp_path: Path) -> Iterator[TestGroup]:
    """A group on its own server, whose data does not go to a disk."""
    server = Server("--appendonly", "no")
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_structure("APPL1")
    yield group
    group.close()
    server.close()


@pytest.mark.rule(
    "mqi/units", "One step of a backout covers at most 256 KiB of messages, or one message, however large they are."
)
def test_a_backout_holds_redis_for_a_quarter_of_a_mebibyte_at_once(large_group: TestGroup) -> None:
    """Each message got is written again, with its BackoutCount raised."""
    large_group.define_shared("Q", max_msg_length=MAX_MSG_LENGTH)
    connection = large_group.connect()
    queue = connection.open("Q", BOTH)
    bodies = [b"%d" % number * 300_000 for number in range(8)]
    for body in bodies:
        queue.put(body)
    for body in bodies:
        assert queue.get(GetOption.SYNCPOINT).body == body

    before = scripts_run(large_group)
    connection.backout()

    assert scripts_run(large_group) - before == 8
    assert [queue.get(GetOption.SYNCPOINT).body for _ in bodies] == bodies
    connection.backout()
    assert [queue.get().md.backout_count for _ in bodies] == [2] * 8


@pytest.mark.rule(
    "mqi/units", "One step of a backout covers at most 256 KiB of messages, or one message, however large they are."
)
def test_a_backout_of_one_batch_ends_in_the_middle_of_it(large_group: TestGroup) -> None:
    large_group.define_shared("Q")
    connection = large_group.connect()
    queue = connection.open("Q", BOTH)
    bodies = [b"%03d" % number + bytes(4096) for number in range(100)]
    # Two priorities in turns: the places are no run.
    queue.put_many([(MQMD(priority=number % 2), body) for number, body in enumerate(bodies)])
    expected = bodies[1::2] + bodies[::2]
    assert [message.body for message in queue.get_many(100, GetOption.SYNCPOINT)] == expected

    before = scripts_run(large_group)
    connection.backout()

    # Twenty-five at a time, until there is a quarter of a mebibyte.
    assert scripts_run(large_group) - before == 2
    again = queue.get_many(100, GetOption.SYNCPOINT)
    assert [message.body for message in again] == expected
    assert {message.md.backout_count for message in again} == {1}
    connection.commit()
    state = large_group.repository("QM1").queue_status("Q")
    assert (state.depth, state.uncommitted_gets) == (0, 0)


def depth(queue: Queue) -> int:
    found = queue.inquire(IntSelector.CURRENT_Q_DEPTH)[int(IntSelector.CURRENT_Q_DEPTH)]
    assert isinstance(found, int)
    return found


def scripts_run(group: TestGroup) -> int:
    """Scripts that the server has run since it started."""
    stats: Any = group.group.client().info("commandstats")
    calls: int = stats["cmdstat_evalsha"]["calls"]
    return calls


@pytest.mark.rule(
    "mqi/units",
    "A message of 100 MB goes through a queue with MAXMSGL(104857600), or in segments; one byte more is 2030.",
)
@pytest.mark.slow
@pytest.mark.skipif(_available_kib() < NEEDED_KIB, reason="needs three gigabytes of memory")
@pytest.mark.parametrize("max_length", [MAX_MSG_LENGTH, 8 << 20], ids=["whole", "in segments"])
def test_a_message_of_a_hundred_megabytes(large_group: TestGroup, max_length: int) -> None:
    large_group.define_shared("Q", max_msg_length=max_length)
    connection = large_group.connect()
    queue = connection.open("Q", BOTH)
    body = random.Random(1).randbytes(MAX_MSG_LENGTH)
    flags, whole = (0, 0) if max_length == MAX_MSG_LENGTH else (MAY_SEGMENT, int(GetOption.COMPLETE_MSG))

    queue.put(body, MQMD(version=2, msg_flags=flags), options=PutOption.SYNCPOINT)
    connection.commit()
    assert depth(queue) == -(-MAX_MSG_LENGTH // max_length)
    browse = whole | GetOption.BROWSE_FIRST | GetOption.ACCEPT_TRUNCATED_MSG
    assert len(queue.get(browse, max_length=10).body) == 10
    assert queue.get(whole | GetOption.SYNCPOINT).body == body
    connection.backout()
    message = queue.get(whole | GetOption.SYNCPOINT)
    connection.commit()

    assert (message.data_length, message.md.backout_count) == (MAX_MSG_LENGTH, 1)
    assert hashlib.sha256(message.body).digest() == hashlib.sha256(body).digest()
    with pytest.raises(MQIError) as caught:
        queue.put(body + b"x")
    assert caught.value.reason == MQRC.MSG_TOO_BIG_FOR_Q
