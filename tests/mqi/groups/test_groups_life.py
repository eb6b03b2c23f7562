"""Members of groups in everything that happens to messages: depth, clear, delete, expiry, the hop, recovery."""

from __future__ import annotations

from typing import Any

import pytest

from recovery.resolution import recover
from sharedq import MQIError, Queue
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.agents import transfer_call
from tests.support.expiry import discard_expired
from tests.support.groups import (
    BOTH,
    LMIG,
    LOGICAL,
    LSEG,
    MAY_SEGMENT,
    MIG,
    SEG,
    WHOLE_GROUP,
    browse_all,
    drain,
    matching,
    put_member,
    take,
)
from tests.support.members import TestGroup
from tests.support.scenes import keys_of, stored


def put_two_groups(queue: Queue) -> None:
    """g is complete, and h lacks its last message. A plain message is between them."""
    put_member(queue, b"g", 2, b"g2", LMIG)
    put_member(queue, b"h", 1, b"h1")
    queue.put(b"plain")
    put_member(queue, b"g", 1, b"g1a", MIG | SEG)
    put_member(queue, b"g", 1, b"g1b", MIG | LSEG, offset=3)


def left_of(group: TestGroup) -> list[bytes]:
    """Keys that hold something of messages."""
    return [key for kind in "airg" for key in keys_of(group, f"{kind}:Q")] + keys_of(group, "x")


@pytest.mark.rule("mqi/groups", "CURDEPTH counts the messages of incomplete groups.")
def test_the_depth_counts_what_cannot_be_got_yet(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"h", 1, b"h1")
    put_member(queue, b"h", 3, b"h3", LMIG)
    assert take(queue, WHOLE_GROUP) == b""
    depth = IntSelector.CURRENT_Q_DEPTH
    assert queue.inquire(depth) == {depth: 2}
    status = group.repository("QM1").queue_status("Q")
    assert (status.depth, status.available) == (2, 2)


def test_members_count_for_maxdepth(group: TestGroup) -> None:
    group.define_shared("Q", max_depth=2)
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"1")
    queue.put(b"plain")
    for flags in (0, MIG):
        with pytest.raises(MQIError) as caught:
            put_member(queue, b"g", 2, b"2", flags)
        assert caught.value.reason == MQRC.Q_FULL
    assert drain(queue) == [b"1", b"plain"]


@pytest.mark.parametrize("how", ["clear", "purge"])
def test_nothing_is_left_of_what_was_cleared(group: TestGroup, how: str) -> None:
    group.define_shared("Q")
    repository = group.repository("QM1")
    queue = group.connect().open("Q", BOTH)
    put_two_groups(queue)
    put_member(queue, b"x", 1, b"expires", expiry=600)
    queue.close()
    with pytest.raises(MQIError) as caught:
        repository.delete("QLOCAL", "Q")
    assert caught.value.reason == MQRC.Q_NOT_EMPTY
    if how == "clear":
        repository.clear("Q")
    else:
        repository.delete("QLOCAL", "Q", purge=True)
        group.define_shared("Q")
    assert left_of(group) == []
    assert stored(group) == 0
    assert repository.queue_status("Q").depth == 0
    again = group.connect().open("Q", BOTH)
    put_two_groups(again)
    assert drain(again, WHOLE_GROUP) == [b"plain", b"g1a", b"g1b", b"g2"]


def test_nothing_is_left_of_what_was_got(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_two_groups(queue)
    assert len(drain(queue)) == 5
    assert left_of(group) == []
    assert stored(group) == 0


def test_a_member_that_expires_is_no_longer_there(group: TestGroup) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    put_member(queue, b"g", 1, b"g1", expiry=1)
    put_member(queue, b"g", 2, b"g2", LMIG)
    put_member(queue, b"s", 1, b"abc", SEG)
    put_member(queue, b"s", 1, b"def", LSEG, offset=3, expiry=1)
    group.wait_redis_ms(150)
    assert take(queue, WHOLE_GROUP | GetOption.BROWSE_FIRST) == b""
    assert take(queue, GetOption.COMPLETE_MSG, **matching(b"s")) == b""
    assert drain(queue) == [b"g2", b"abc"]
    assert left_of(group) == []


def test_the_expiry_job_discards_members(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    put_member(queue, b"g", 1, b"g1", expiry=1)
    put_member(queue, b"g", 2, b"g2", LMIG)
    group.wait_redis_ms(150)
    assert discard_expired(connection.connection, "APPL1") == 1
    assert take(queue, WHOLE_GROUP) == b""
    assert drain(queue) == [b"g2"]
    assert left_of(group) == []


def test_the_hop_moves_members_in_physical_order_and_they_stay_a_group(group: TestGroup) -> None:
    """The agent's part of the transmit queue treats members like other messages."""
    group.define_private("QM1", "Q")
    sender = group.connect()
    source = group.group.structure("@QM1").queue("SYSTEM.QSG.TRANSMIT.QUEUE")
    transmit = sender.open("SYSTEM.QSG.TRANSMIT.QUEUE", BOTH)
    put_two_groups(transmit)
    assert group.group.client().zcard(source.available) == 5
    assert take(transmit, GetOption.BROWSE_FIRST) == b"g2"
    queue = sender.open("Q", BOTH)
    reply = sender.connection.checked_call(*transfer_call(sender.connection, transmit.handle, queue.handle))
    assert reply[1:3] == [5, 0]
    assert browse_all(queue) == [b"g2", b"h1", b"plain", b"g1a", b"g1b"]
    assert drain(queue, WHOLE_GROUP) == [b"plain", b"g1a", b"g1b", b"g2"]


@pytest.mark.parametrize("is_decided", [True, False])
def test_recovery_puts_members_where_they_belong(group: TestGroup, is_decided: bool) -> None:
    group.define_shared("Q")
    group.define_structure("APPL2")
    group.define_shared("R", "APPL2")
    dead = group.connect()
    queue = dead.open("Q", BOTH)
    put_two_groups(queue)
    assert queue.get(LOGICAL | GetOption.SYNCPOINT, **matching(b"g")).body == b"g1a"
    put_member(queue, b"h", 2, b"h2", LMIG, options=PutOption.SYNCPOINT)
    dead.open("R", BOTH).put(b"r", options=PutOption.SYNCPOINT)
    if is_decided:
        connection = dead.connection
        keys = group.group.keys
        owner = (connection.token, "QM1", connection.process.incarnation, connection.process.token)
        args: list[Any] = [*owner, connection.unit.id, " ".join(connection.unit.parts)]
        connection.checked_call("admin/decide", [keys.fence, keys.decisions, keys.owners], args)
    process = dead.connection.process
    process.stop_renewing()
    assert recover(group.group, group.connect().connection, process.token, force=True).is_resolved
    other = group.connect().open("Q", BOTH)
    if is_decided:
        assert drain(other, WHOLE_GROUP) == [b"h1", b"h2", b"plain"]
        assert drain(other) == [b"g2", b"g1b"]
    else:
        assert other.get(LOGICAL | GetOption.BROWSE_FIRST, **matching(b"g")).md.backout_count == 1
        assert drain(other, WHOLE_GROUP) == [b"plain", b"g1a", b"g1b", b"g2"]
        assert drain(other) == [b"h1"]


def test_a_large_group_is_committed_and_backed_out_in_chunks(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    count = 1200
    messages = [(MQMD(version=2, msg_flags=LMIG if n == count - 1 else MIG), b"%d" % n) for n in range(count)]
    queue.put_many(messages, options=PutOption.LOGICAL_ORDER | PutOption.SYNCPOINT)
    connection.commit()
    got: list[bytes] = []
    while len(got) < count:
        got += [message.body for message in queue.get_many(100, GetOption.SYNCPOINT)]
    connection.backout()
    assert take(queue, WHOLE_GROUP | GetOption.BROWSE_FIRST) == b"0"
    assert queue.get(**matching(messages[0][0].group_id, count)).body == b"%d" % (count - 1)
    assert take(queue, WHOLE_GROUP) == b""


@pytest.mark.rule(
    "mqi/groups", "A message whose MsgFlags say that it is in no group does not count for the group of its GroupId."
)
@pytest.mark.parametrize("number", [1, 5])
def test_a_message_in_no_group_may_have_a_complete_groups_id(group: TestGroup, number: int) -> None:
    """MsgFlags decide what is in a group. Other messages come and go without a trace, as they are."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    for _ in range(number):
        put_member(queue, b"g", 1, b"early", MAY_SEGMENT, priority=8)
    put_member(queue, b"g", 1, b"1")
    put_member(queue, b"g", 2, b"2", LMIG)
    for _ in range(number):
        put_member(queue, b"g", 1, b"late", MAY_SEGMENT, priority=9)
    assert take(queue, GetOption.BROWSE_FIRST, **matching(b"g")) == b"late"
    assert take(queue, **matching(b"g", 2)) == b"2"
    assert drain(queue, GetOption.ALL_MSGS_AVAILABLE) == [b"late"] * number + [b"early"] * number
    put_member(queue, b"g", 2, b"2", LMIG)
    assert drain(queue, GetOption.ALL_MSGS_AVAILABLE) == [b"1"]
    assert drain(queue) == [b"2"]
    assert left_of(group) == []


def test_many_beginnings_of_one_group_leave_nothing(group: TestGroup) -> None:
    """A program counts wrongly. The last message of the group moves all of them to another level."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    firsts = [put_member(queue, b"g", 1, b"%d" % number, MIG, correl_id=b"C" * 24).msg_id for number in range(103)]
    put_member(queue, b"g", 2, b"last", LMIG)
    assert take(queue, WHOLE_GROUP, **matching(correl_id=b"C" * 24)) == b"0"
    queue = group.connect().open("Q", BOTH)
    for msg_id in reversed(firsts[1:]):
        assert take(queue, **matching(msg_id=msg_id))
    assert take(queue) == b"last"
    assert group.group.client().zcard(queue.handle.queue.index) == 0
    assert take(queue, LOGICAL) == b""
    put_member(queue, b"h", 1, b"new", LMIG)
    assert take(queue, LOGICAL) == b"new"


@pytest.mark.parametrize("options", [LOGICAL, int(GetOption.COMPLETE_MSG), int(GetOption.ALL_MSGS_AVAILABLE)])
@pytest.mark.parametrize("first", ["segment", "whole"])
@pytest.mark.parametrize("goes", ["segment", "whole"])
def test_a_whole_message_and_a_segment_at_one_place_are_both_there(
    group: TestGroup, options: int, first: str, goes: str
) -> None:
    """If either goes, the other one can be got in every way, and both leave nothing in the index."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    flags = {"segment": LSEG | LMIG, "whole": LMIG}
    ids = {}
    for priority, which in enumerate(sorted(flags, key=lambda which: which == first)):
        ids[which] = put_member(queue, b"g", 1, which.encode(), flags[which], priority=priority).msg_id
    assert take(queue, **matching(msg_id=ids.pop(goes))) == goes.encode()
    (left,) = ids
    # Another handle: this one may be within a group.
    queue = group.connect().open("Q", BOTH)
    assert take(queue, options | GetOption.BROWSE_FIRST) == left.encode()
    assert take(queue, options) == left.encode()
    assert group.group.client().zcard(queue.handle.queue.index) == 0
