"""The longest logical messages, and the largest groups, do not hold Redis."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, Feedback, GetOption, MsgType, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.lua.redis_time import Meter
from tests.support.groups import BOTH, LMIG, LOGICAL, LSEG, MIG, SEG, WHOLE_GROUP, matching
from tests.support.members import TestGroup
from tests.support.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.invariant(4)]

COMPLETE, SYNCPOINT = int(GetOption.COMPLETE_MSG), int(GetOption.SYNCPOINT)
LOCK, FIRST = int(GetOption.LOCK), int(GetOption.BROWSE_FIRST)
#: Segments that one MQGET puts together. With identifiers, with a lock and of reports each time half as many.
MOST = 2000
NUMBERS = itertools.count(1)


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
    yield group
    group.close()


@pytest.fixture
def connection(group: TestGroup) -> Iterator[QueueManagerConnection]:
    connection = group.connect()
    yield connection
    connection.disconnect()


@pytest.fixture
def queue(group: TestGroup, connection: QueueManagerConnection) -> Queue:
    name = f"Q{next(NUMBERS)}"
    group.define_shared(name, max_depth=999_999_999, max_msg_length=104_857_600)
    return connection.open(name, BOTH | OpenOption.BROWSE)


def put(queue: Queue, messages: list[tuple[MQMD, bytes]]) -> None:
    for from_ in range(0, len(messages), 500):
        queue.put_many(messages[from_ : from_ + 500])


def descriptor(number: int, **fields: Any) -> MQMD:
    """With each identifier that the index holds."""
    its_own = b"%024d" % number
    return MQMD(version=2, msg_id=its_own, correl_id=its_own, expiry=600_000, **fields)


def plain_descriptor(_: int, **fields: Any) -> MQMD:
    return MQMD(version=2, **fields)


def segments(count: int, make: Callable[..., MQMD] = descriptor, **fields: Any) -> list[tuple[MQMD, bytes]]:
    def segment(at: int) -> MQMD:
        flags = LSEG if at == count - 1 else SEG
        return make(at, group_id=b"g" * 24, msg_seq_number=1, offset=2 * at, msg_flags=flags, **fields)

    return [(segment(at), b"ab") for at in range(count)]


def reports(count: int) -> list[tuple[MQMD, bytes]]:
    """Of two types, in turns, so that each segment has two reports at its place."""
    both = [
        segments(count, msg_type=int(MsgType.REPORT), feedback=int(feedback), original_length=2)
        for feedback in (Feedback.COA, Feedback.COD)
    ]
    return [each for pair in zip(*both, strict=True) for each in pair]


KINDS: dict[str, Callable[[int], list[tuple[MQMD, bytes]]]] = {
    "plain": lambda count: segments(count, plain_descriptor),
    "with identifiers": segments,
    "the last one first": lambda count: segments(count)[::-1],
    "reports": reports,
}


@pytest.mark.parametrize(
    ("kind", "how", "count"),
    [
        ("plain", "get", MOST),
        ("plain", "in a unit of work", MOST),
        ("plain", "browse and lock", MOST // 2),
        ("with identifiers", "back out", MOST // 2),
        ("with identifiers", "browse and lock", MOST // 4),
        ("the last one first", "get", MOST // 2),
        ("reports", "back out", MOST // 4),
        ("reports", "browse and lock", MOST // 8),
    ],
)
def test_a_message_of_many_segments_does_not_hold_redis(
    connection: QueueManagerConnection, queue: Queue, server: Server, kind: str, how: str, count: int
) -> None:
    def act() -> None:
        # New each time: a put gives a descriptor its MsgId.
        messages = KINDS[kind](count)
        put(queue, messages)
        if how == "browse and lock":
            for _ in range(3):
                assert len(queue.get(COMPLETE | FIRST | LOCK).body) == 2 * count
        if how == "back out":
            queue.get(COMPLETE | SYNCPOINT)
            connection.backout()
        for _ in range(len(messages) // count):
            options = COMPLETE | SYNCPOINT if how == "in a unit of work" else COMPLETE
            assert len(queue.get(options).body) == 2 * count
        connection.commit()

    Meter(server).check(act)


def test_a_message_of_too_many_segments_is_not_put_together(queue: Queue) -> None:
    put(queue, segments(MOST + 1, plain_descriptor))
    for options in (COMPLETE, COMPLETE | SYNCPOINT, COMPLETE | FIRST):
        with pytest.raises(MQIError) as refused:
            queue.get(options)
        assert refused.value.reason == MQRC.RESOURCE_PROBLEM
    bodies = [queue.get(LOGICAL | int(GetOption.ALL_SEGMENTS_AVAILABLE)).body for _ in range(MOST + 1)]
    assert bodies == [b"ab"] * (MOST + 1)


def test_a_group_of_many_messages_does_not_hold_redis(
    connection: QueueManagerConnection, queue: Queue, server: Server
) -> None:
    count = 5000

    def act() -> None:
        put(
            queue,
            [
                (descriptor(n, group_id=b"g" * 24, msg_seq_number=n, msg_flags=LMIG if n == count else MIG), b"x")
                for n in range(1, count + 1)
            ],
        )
        for _ in range(300):
            queue.get(WHOLE_GROUP | SYNCPOINT)
        connection.backout()
        for _ in range(100):
            queue.get(LOGICAL | FIRST)
        with contextlib.suppress(MQIError):
            while queue.get_many(100):
                pass

    Meter(server).check(act)


def test_many_groups_with_gaps_do_not_hold_redis(queue: Queue, server: Server) -> None:
    gaps = [
        (descriptor(n, group_id=b"%024d" % n, msg_seq_number=seq, msg_flags=LMIG if seq == 3 else MIG), b"x")
        for n in range(5000)
        for seq in (1, 3)
    ]
    put(queue, gaps)
    correl = b"c" * 24

    def act() -> None:
        whole = [
            (MQMD(version=2, correl_id=correl, group_id=b"w" * 24, msg_seq_number=seq, msg_flags=flags), b"y")
            for seq, flags in ((1, MIG), (2, LMIG))
        ]
        put(queue, whole)
        for options in (int(GetOption.ALL_MSGS_AVAILABLE) | FIRST, COMPLETE | FIRST, WHOLE_GROUP, LOGICAL):
            queue.get(options)

    Meter(server).check(act)


@pytest.mark.parametrize("flags", [MIG, SEG])
def test_many_members_at_one_place_do_not_hold_redis(queue: Queue, server: Server, flags: int) -> None:
    """A mistake of a program, or a GroupId that is used again and again."""
    end = LMIG if flags == MIG else LSEG
    place = {"group_id": b"g" * 24, "msg_flags": flags, "msg_seq_number": 1}
    last: dict[str, Any] = {**place, "msg_flags": end, **({"msg_seq_number": 2} if flags == MIG else {"offset": 1})}
    put(queue, [(descriptor(number, **place), b"x") for number in range(5000)])

    def act() -> None:
        put(queue, [(MQMD(version=2, msg_id=b"last" * 6, **last), b"x")])
        queue.get(**matching(msg_id=b"last" * 6))

    Meter(server).check(act)
