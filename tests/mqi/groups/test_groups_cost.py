"""Incomplete groups in front do not change the cost of a get: commands are counted, not time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from sharedq import Queue
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LOGICAL, LSEG, MIG, SEG, WHOLE_GROUP, matching, put_member
from tests.support.members import TestGroup
from tests.support.server import Server

#: A few are more than a get examines one by one before it asks for complete ones.
FEW, MANY = 100, 5_000
CORREL = b"C" * 24

#: Commands of the count itself, and of the link by which the process waits for news: its thread may connect meanwhile.
_ALWAYS = (
    "cmdstat_info",
    "cmdstat_config",
    "cmdstat_script|exists",
    "cmdstat_client",
    "cmdstat_hello",
    "cmdstat_blpop",
)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, TestGroup]]:
    """Queues with few and with many incomplete groups in front, on a server without other callers."""
    server = Server()
    filled = {}
    for count in (FEW, MANY):
        group = filled[count] = TestGroup(server.url, tmp_path_factory.mktemp("data"))
        group.add_member("QM1")
        group.define_structure("APPL1")
        for name, in_front in (("Q", messages_in_front(count)), ("SEGMENTS", segments_in_front(count))):
            group.define_shared(name)
            queue = group.connect().open(name, BOTH)
            queue.put_many(in_front)
            for each in (b"a", b"b"):
                queue.put_many(complete(each))
    yield filled
    for group in filled.values():
        group.close()
    server.close()


def messages_in_front(count: int) -> list[tuple[MQMD, bytes]]:
    """Groups without their last message, and logical messages without their last segment, in turns."""
    return [
        (
            MQMD(
                version=2,
                group_id=b"%024d" % number,
                msg_flags=MIG if number % 2 else SEG,
                correl_id=CORREL if number % 3 else bytes(24),
            ),
            b"incomplete",
        )
        for number in range(count)
    ]


def segments_in_front(count: int) -> list[tuple[MQMD, bytes]]:
    """Logical messages without their first or their last segment, in turns."""
    return [
        (
            MQMD(
                version=2,
                group_id=b"%024d" % number,
                msg_seq_number=1 + number % 3,
                offset=2 * (number % 2),
                msg_flags=MIG | (LSEG if number % 2 else SEG),
                correl_id=CORREL,
            ),
            b"incomplete",
        )
        for number in range(count)
    ]


def complete(name: bytes) -> list[tuple[MQMD, bytes]]:
    """A group of two messages, the second one in two segments."""
    fields: dict[str, Any] = {"version": 2, "group_id": name.ljust(24, b"."), "correl_id": CORREL}
    return [
        (MQMD(**fields, msg_seq_number=2, offset=2, msg_flags=LMIG | LSEG), b"2b"),
        (MQMD(**fields, msg_seq_number=1, msg_flags=MIG), b"1"),
        (MQMD(**fields, msg_seq_number=2, msg_flags=LMIG | SEG), b"2a"),
    ]


SYNCPOINT = int(GetOption.SYNCPOINT)


def walk(queue: Queue) -> list[bytes]:
    return [queue.get(WHOLE_GROUP | SYNCPOINT).body for _ in range(3)]


def whole(queue: Queue) -> list[bytes]:
    return [queue.get(WHOLE_GROUP | GetOption.COMPLETE_MSG | SYNCPOINT).body for _ in range(2)]


def browsed(queue: Queue) -> list[bytes]:
    bodies = [queue.get(WHOLE_GROUP | GetOption.BROWSE_FIRST).body]
    return bodies + [queue.get(WHOLE_GROUP | GetOption.BROWSE_NEXT).body for _ in range(2)]


def one(options: int = 0, **asked: Any) -> Callable[[Queue], list[bytes]]:
    """One get, which will be backed out."""
    return lambda queue: [queue.get(options | SYNCPOINT, **asked).body]


CASES: dict[str, Callable[[Queue], list[bytes]]] = {
    "a group in logical order": walk,
    "a group of whole messages": whole,
    "a group browsed in logical order": browsed,
    "by CorrelId": one(WHOLE_GROUP, **matching(correl_id=CORREL)),
    "by GroupId": one(LOGICAL, **matching(b"a")),
    "by place": one(**matching(b"a", 2, 2)),
    "by number": one(**matching(seq=2)),
    "the first of a complete group in physical order": one(GetOption.ALL_MSGS_AVAILABLE),
    "the first segment of a complete message": one(GetOption.ALL_SEGMENTS_AVAILABLE, **matching(seq=2)),
    "the first complete message": one(GetOption.COMPLETE_MSG, **matching(seq=2)),
    "any message": one(),
}
ALL_MSGS, ALL_SEGMENTS = int(GetOption.ALL_MSGS_AVAILABLE), int(GetOption.ALL_SEGMENTS_AVAILABLE)
COMPLETE = int(GetOption.COMPLETE_MSG)


def browsed_next(options: int, **asked: Any) -> Callable[[Queue], list[bytes]]:
    return lambda queue: [queue.get(options | GetOption.BROWSE_NEXT, **asked).body for _ in range(2)]


#: Gets of complete groups in physical order, and their results.
OF_COMPLETE_GROUPS: dict[str, tuple[Callable[[Queue], list[bytes]], list[bytes]]] = {
    "whole messages": (one(ALL_MSGS | COMPLETE), [b"1"]),
    "by CorrelId": (one(ALL_MSGS, **matching(correl_id=CORREL)), [b"2b"]),
    "by CorrelId and number": (one(ALL_MSGS, **matching(seq=1, correl_id=CORREL)), [b"1"]),
    "by number": (one(ALL_MSGS, **matching(seq=2)), [b"2b"]),
    "by Offset": (one(ALL_MSGS, **matching(offset=2)), [b"2b"]),
    "by Offset 0": (one(ALL_MSGS, **matching(offset=0)), [b"1"]),
    "by number and Offset": (one(ALL_MSGS, **matching(seq=2, offset=0)), [b"2a"]),
    "whole messages by CorrelId": (one(ALL_MSGS | COMPLETE, **matching(correl_id=CORREL)), [b"1"]),
    "whole messages by number": (one(ALL_MSGS | COMPLETE, **matching(seq=2)), [b"2a2b"]),
    "browsed after the cursor": (browsed_next(ALL_MSGS), [b"2b", b"1"]),
    "browsed by number after the cursor": (browsed_next(ALL_MSGS, **matching(seq=2)), [b"2b", b"2a"]),
}
#: The same of complete logical messages.
OF_COMPLETE_MESSAGES: dict[str, tuple[Callable[[Queue], list[bytes]], list[bytes]]] = {
    "any": (one(ALL_SEGMENTS), [b"2b"]),
    "by CorrelId": (one(ALL_SEGMENTS, **matching(correl_id=CORREL)), [b"2b"]),
    "by number": (one(ALL_SEGMENTS, **matching(seq=2)), [b"2b"]),
    "by Offset": (one(ALL_SEGMENTS, **matching(offset=2)), [b"2b"]),
    "by Offset 0": (one(ALL_SEGMENTS, **matching(offset=0)), [b"1"]),
    "by number and Offset": (one(ALL_SEGMENTS, **matching(seq=2, offset=2)), [b"2b"]),
    "whole messages": (one(COMPLETE), [b"1"]),
    "whole messages by CorrelId": (one(COMPLETE, **matching(correl_id=CORREL)), [b"1"]),
    "whole messages by number": (one(COMPLETE, **matching(seq=2)), [b"2a2b"]),
    "browsed after the cursor": (browsed_next(ALL_SEGMENTS), [b"2b", b"1"]),
    "whole messages browsed after the cursor": (browsed_next(COMPLETE), [b"1", b"2a2b"]),
}
IN_PHYSICAL_ORDER = [("Q", name, *case) for name, case in OF_COMPLETE_GROUPS.items()] + [
    ("SEGMENTS", f"{what}: {name}", *case)
    for what, cases in (("groups", OF_COMPLETE_GROUPS), ("messages", OF_COMPLETE_MESSAGES))
    for name, case in cases.items()
]


def commands(group: TestGroup, call: Callable[[], list[bytes]]) -> tuple[list[bytes], dict[str, int]]:
    """The result of *call*, and the number of each command that the server ran meanwhile."""
    client = group.group.client()
    client.config_resetstat()
    found = call()
    stats: dict[str, Any] = client.info("commandstats")
    return found, {name: int(each["calls"]) for name, each in stats.items() if not name.startswith(_ALWAYS)}


@pytest.mark.rule("mqi/match", "A get costs the same at any depth, whatever stands in front of its message.")
@pytest.mark.parametrize("name", CASES)
def test_messages_in_front_do_not_change_the_commands_of_a_get(scenes: dict[int, TestGroup], name: str) -> None:
    outcomes = []
    for group in scenes.values():
        connection = group.connect()
        queue = connection.open("Q", BOTH)
        queue.get(GetOption.BROWSE_FIRST)
        outcomes.append(commands(group, partial(CASES[name], queue)))
        connection.backout()
    assert outcomes[0] == outcomes[1]


@pytest.mark.rule(
    "mqi/match",
    "Without logical order too, a get of complete groups or messages costs the same whatever stands in front.",
)
@pytest.mark.parametrize(
    ("queue_name", "call", "expected"),
    [pytest.param(queue, *case, id=f"{queue}, {name}") for queue, name, *case in IN_PHYSICAL_ORDER],
)
def test_the_same_commands_find_complete_messages_in_physical_order(
    scenes: dict[int, TestGroup], queue_name: str, call: Callable[[Queue], list[bytes]], expected: list[bytes]
) -> None:
    counted = []
    for group in scenes.values():
        connection = group.connect()
        queue = connection.open(queue_name, BOTH)
        queue.get(GetOption.BROWSE_FIRST)
        found, issued = commands(group, partial(call, queue))
        assert found == expected
        counted.append(issued)
        connection.backout()
    assert counted[0] == counted[1]


def test_a_put_that_completes_a_group_issues_the_same_commands_too(scenes: dict[int, TestGroup]) -> None:
    counted = []
    for group in scenes.values():
        queue = group.connect().open("Q", BOTH)
        counted.append(commands(group, partial(complete_one, queue))[1])
    assert counted[0] == counted[1]


def complete_one(queue: Queue) -> list[bytes]:
    """Put the last message of the second group in front, and get that group."""
    put_member(queue, b"%024d" % 1, 2, b"last", LMIG)
    return [queue.get(LOGICAL | GetOption.ALL_MSGS_AVAILABLE).body for _ in range(2)]
