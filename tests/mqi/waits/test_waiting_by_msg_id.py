"""Waiting for, and getting, a message by a MsgId that igq generated: it names a number, and is more than that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sharedq import Queue
from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LOGICAL, matching, put_member, take
from tests.support.members import TestGroup
from tests.support.waits import until_waiting, waits

SYNCPOINT = int(GetOption.SYNCPOINT)


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BOTH)


def request(group: TestGroup) -> bytes:
    """MsgId of a request that is on its way: put on a queue of the same structure, and got."""
    group.define_shared("REQUESTS")
    requests = group.connect().open("REQUESTS", BOTH)
    requests.put(b"request")
    return bytes(requests.get().md.msg_id)


@pytest.mark.rule("mqi/waiting", "A reply with the MsgId of its request ends the wait for that MsgId.")
@pytest.mark.parametrize("is_grouped", [False, True])
@pytest.mark.parametrize("is_member", [False, True])
@pytest.mark.parametrize("correl_id", [b"", b"C" * 24])
def test_a_reply_with_the_msg_id_of_its_request_ends_the_wait_for_it(
    group: TestGroup,
    pool: ThreadPoolExecutor,
    queue: Queue,
    is_grouped: bool,
    is_member: bool,
    correl_id: bytes,
) -> None:
    msg_id = request(group)
    asked: dict[str, Any] = {"correl_id": correl_id} if correl_id else {}
    others = [waits(pool, group, 0), waits(pool, group, 0, **matching(msg_id=msg_id[:-1] + b"\xff"))]
    client = waits(pool, group, LOGICAL if is_grouped else 0, **matching(msg_id=msg_id, **asked))
    ids: dict[str, Any] = {"msg_id": msg_id, "correl_id": b"C" * 24}
    if is_member:
        put_member(queue, b"g", 1, b"reply", LMIG, **ids)
    else:
        queue.put(b"reply", MQMD(**ids))
    assert client.result(20).body == b"reply"
    until_waiting(group, "Q", 2)
    queue.put(b"other")
    assert others[0].result(20).body == b"other"
    queue.put(b"another", MQMD(msg_id=msg_id[:-1] + b"\xff"))
    assert others[1].result(20).body == b"another"


@pytest.mark.rule(
    "mqi/waiting", "Of several waits for one MsgId with different CorrelIds, the one that matches is served."
)
@pytest.mark.parametrize("is_explicit", [False, True])
@pytest.mark.parametrize("has_members", [False, True])
def test_each_waiter_for_one_number_is_asked(
    group: TestGroup, pool: ThreadPoolExecutor, queue: Queue, is_explicit: bool, has_members: bool
) -> None:
    """The message comes back; the CorrelId that the first one asks for is another one."""
    if has_members:
        put_member(queue, b"g", 1, b"member", priority=0)
    correl_id = b"R" * 24
    md = queue.put(b"reply", MQMD(correl_id=correl_id, priority=1))
    msg_id = bytes(md.msg_id)
    if is_explicit:
        assert queue.get().body == b"reply"
        queue.put(b"reply", MQMD(msg_id=msg_id, correl_id=correl_id, priority=1))
    holder = group.connect()
    assert holder.open("Q", BOTH).get(SYNCPOINT, **matching(msg_id=msg_id)).body == b"reply"
    wrong = [waits(pool, group, 0, **matching(msg_id=msg_id, correl_id=b"W" * 24)) for _ in range(2)]
    right = waits(pool, group, 0, **matching(msg_id=msg_id, correl_id=correl_id))
    holder.backout()
    assert right.result(20).body == b"reply"
    until_waiting(group, "Q", 2)
    for _ in wrong:
        queue.put(b"late", MQMD(msg_id=msg_id, correl_id=b"W" * 24))
    assert [future.result(20).body for future in wrong] == [b"late", b"late"]


@pytest.mark.parametrize("options", [0, LOGICAL])
def test_a_msg_id_of_another_group_does_not_match_by_its_number(queue: Queue, options: int) -> None:
    generated = bytes(queue.put(b"mine").msg_id)
    foreign = generated[:4] + b"ELSE".ljust(12) + generated[16:]
    assert take(queue, options, **matching(msg_id=foreign)) == b""
    assert take(queue, options | GetOption.BROWSE_FIRST, **matching(msg_id=foreign)) == b""
    queue.put(b"theirs", MQMD(msg_id=foreign))
    assert take(queue, options, **matching(msg_id=foreign)) == b"theirs"
    assert take(queue, options, **matching(msg_id=generated)) == b"mine"


@pytest.mark.parametrize(
    "fields",
    [
        {"correl_id": b"C" * 24},
        {"expiry": 10_000},
        {"correl_id": b"C" * 24, "expiry": 10_000, "version": 2, "group_id": b"G" * 24, "msg_flags": LMIG},
    ],
)
@pytest.mark.parametrize("options", [0, LOGICAL])
def test_any_message_is_found_by_its_generated_msg_id(queue: Queue, fields: dict[str, Any], options: int) -> None:
    msg_id = bytes(queue.put(b"it", MQMD(**fields)).msg_id)
    assert take(queue, options, **matching(msg_id=msg_id[:15] + b"X" + msg_id[16:])) == b""
    assert take(queue, options, **matching(msg_id=msg_id)) == b"it"
