"""A get by MsgId and CorrelId finds its message, at the same cost for any number of messages with its MsgId."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from sharedq import Queue
from sharedq.calls.unit.commit import backout
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.mqi.groups.test_groups_cost import commands
from tests.support.groups import BOTH, put_member, take
from tests.support.members import TestGroup
from tests.support.server import Server
from tests.support.waits import until_waiting

BATCH = b"BATCH".ljust(24, b".")
FEW, MANY = 5, 700
SYNCPOINT = int(GetOption.SYNCPOINT)


def of(number: int) -> MQMD:
    """The descriptor of one of the messages of the batch."""
    return MQMD(version=2, msg_id=BATCH, correl_id=b"%024d" % number)


def put_batch(group: TestGroup, name: str, count: int) -> Queue:
    group.define_shared(name)
    queue = group.connect().open(name, BOTH)
    queue.put_many([(of(number), b"%d" % number) for number in range(count)])
    return queue


@pytest.mark.rule(
    "mqi/match",
    "A get by MsgId and CorrelId finds its message, or is woken for it, however many messages share the MsgId.",
)
@pytest.mark.parametrize("has_members", [False, True])
def test_it_is_found_after_others_with_its_msg_id(group: TestGroup, *, has_members: bool) -> None:
    queue = put_batch(group, "Q", MANY)
    if has_members:
        put_member(queue, b"g", 1, b"member")
    last = of(MANY - 1)
    assert queue.get(GetOption.BROWSE_FIRST, match=last).body == b"%d" % (MANY - 1)
    assert queue.get(SYNCPOINT, match=last).body == b"%d" % (MANY - 1)
    backout(queue.connection)
    assert queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK, match=last).body == b"%d" % (MANY - 1)
    assert queue.get(GetOption.MSG_UNDER_CURSOR).body == b"%d" % (MANY - 1)
    assert take(queue, GetOption.BROWSE_FIRST, match=last) == b""
    assert take(queue, match=last) == b""


def test_a_member_of_a_group_is_found_so(group: TestGroup) -> None:
    queue = put_batch(group, "Q", MANY)
    put_member(queue, b"g", 1, b"member", msg_id=BATCH, correl_id=of(MANY).correl_id)
    assert queue.get(match=of(MANY)).body == b"member"
    assert take(queue, match=of(MANY)) == b""


@pytest.mark.rule(
    "mqi/match",
    "A get by MsgId and CorrelId finds its message, or is woken for it, however many messages share the MsgId.",
)
def test_an_arriving_message_wakes_only_its_own_waiter(group: TestGroup) -> None:
    queue, waiter = put_batch(group, "Q", MANY), group.connect().open("Q", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(waiter.get, GetOption.WAIT, wait_ms=60_000, match=of(MANY))
        until_waiting(group, "Q", 1)
        queue.put(b"another", of(MANY + 1))
        until_waiting(group, "Q", 1)
        queue.put(b"it", of(MANY))
        assert future.result(20).body == b"it"


CASES: dict[str, Callable[[Queue, MQMD], list[bytes]]] = {
    "get": lambda queue, md: [take(queue, SYNCPOINT, match=md)],
    "browse": lambda queue, md: [take(queue, GetOption.BROWSE_FIRST, match=md)],
    "in logical order": lambda queue, md: [take(queue, GetOption.LOGICAL_ORDER | SYNCPOINT, match=md)],
    "what is not there": lambda queue, md: [take(queue, match=replace(md, correl_id=b"?" * 24))],
}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[TestGroup, int]]]:
    """A batch on a queue, a short and a long one, on a server without other callers."""
    server, scenes = Server(), []
    for count in (FEW, MANY):
        group = TestGroup(server.url, tmp_path_factory.mktemp("data"))
        group.add_member("QM1")
        put_batch(group, "Q", count)
        scenes.append((group, count))
    yield scenes
    for group, _ in scenes:
        group.close()
    server.close()


@pytest.mark.rule("mqi/match", "A get by MsgId and CorrelId costs the same however many messages share the MsgId.")
@pytest.mark.parametrize("name", CASES)
def test_sharing_a_msg_id_does_not_change_the_commands(scenes: list[tuple[TestGroup, int]], name: str) -> None:
    counted = []
    for group, count in scenes:
        queue = group.connect().open("Q", BOTH)
        queue.get(GetOption.BROWSE_FIRST)
        found, issued = commands(group, partial(CASES[name], queue, of(count - 1)))
        assert found == ([b"%d" % (count - 1)] if name != "what is not there" else [b""])
        counted.append(issued)
        backout(queue.connection)
    assert counted[0] == counted[1]
