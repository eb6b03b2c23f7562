"""Calls that cannot be done in one step: none of them is half done in the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from igq.agent.queues.transmit_part import TransmitPart
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.parts import own_part
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection
from sharedq.session.unit_of_work import CHUNK_MESSAGES
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost, stored

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
MANY = CHUNK_MESSAGES + 1


def refuse(monkeypatch: pytest.MonkeyPatch, script: str, number: int, reason: MQRC) -> None:
    """Redis refuses the *number*-th call of *script*, which then does nothing."""
    call_many, seen = Connection.call_many, [0]

    def or_refuse(self: Connection, calls: Sequence[ScriptCall]) -> list[object]:
        seen[0] += sum(name == script for name, _, _ in calls)
        if seen[0] >= number and any(name == script for name, _, _ in calls):
            raise error_for(reason, "", "", "refused")
        return call_many(self, calls)

    call_apart = Connection.call_apart

    def or_refuse_one(self: Connection, calls: Sequence[ScriptCall]) -> list[object]:
        replies: list[object] = []
        for call in calls:
            seen[0] += call[0] == script
            is_refused = call[0] == script and seen[0] >= number
            replies += [[int(reason)]] if is_refused else call_apart(self, [call])
        return replies

    monkeypatch.setattr(Connection, "call_many", or_refuse)
    monkeypatch.setattr(Connection, "call_apart", or_refuse_one)


@pytest.mark.invariant(3)
@pytest.mark.parametrize("number", [1, 2])
def test_the_group_completes_a_decided_commit_that_a_structure_refuses(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The commit must not be repeated or backed out: one structure may have applied it."""
    group.define_structure("APPL2")
    group.define_shared("Q")
    group.define_shared("OTHER", "APPL2")
    connection = group.connect()
    for queue in ("Q", "OTHER"):
        connection.open(queue, BOTH).put(b"1", options=PutOption.SYNCPOINT)
    refuse(monkeypatch, "structure/commit", number, MQRC.STORAGE_MEDIUM_FULL)
    for call in (connection.commit, connection.backout):
        with pytest.raises(MQIError) as caught:
            call()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
    monkeypatch.undo()

    recover_lost(group, connection.connection.token)
    assert on_queue(group, "Q") == [(b"1", 0)]
    assert on_queue(group, "OTHER", "APPL2") == [(b"1", 0)]


def test_the_group_completes_a_large_commit_after_its_first_chunk(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put_many([(MQMD(), b"%d" % n) for n in range(MANY)], options=PutOption.SYNCPOINT)
    refuse(monkeypatch, "structure/commit", 2, MQRC.STORAGE_MEDIUM_FULL)
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    monkeypatch.undo()

    recover_lost(group, connection.connection.token)
    assert [body for body, _ in on_queue(group, "Q")] == [b"%d" % n for n in range(MANY)]


def test_a_commit_that_was_not_decided_can_be_tried_again(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group.define_structure("APPL2")
    group.define_shared("Q")
    group.define_shared("OTHER", "APPL2")
    connection = group.connect()
    for queue in ("Q", "OTHER"):
        connection.open(queue, BOTH).put(b"1", options=PutOption.SYNCPOINT)
    refuse(monkeypatch, "admin/decide", 1, MQRC.STORAGE_MEDIUM_FULL)
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.STORAGE_MEDIUM_FULL
    monkeypatch.undo()
    assert on_queue(group, "Q") == []
    connection.commit()
    assert on_queue(group, "Q") == on_queue(group, "OTHER", "APPL2") == [(b"1", 0)]


def two_structures(group: TestGroup) -> QueueManagerConnection:
    """A connection whose unit of work has puts on Q and on OTHER."""
    group.define_structure("APPL2")
    group.define_shared("Q", max_depth=2)
    group.define_shared("OTHER", "APPL2")
    connection = group.connect()
    for queue in ("OTHER", "Q"):
        connection.open(queue, BOTH).put(b"1", options=PutOption.SYNCPOINT)
    return connection


@pytest.mark.invariant(3)
@pytest.mark.parametrize("number", [1, 2])
def test_a_backout_that_a_structure_refuses_is_completed_by_the_group(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Its changes elsewhere are already undone, so no recoverer may commit the rest."""
    connection = two_structures(group)
    refuse(monkeypatch, "structure/backout", number, MQRC.CF_STRUC_IN_USE)
    with pytest.raises(MQIError) as caught:
        connection.backout()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    monkeypatch.undo()
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN

    recover_lost(group, connection.connection.token)
    assert on_queue(group, "Q") == on_queue(group, "OTHER", "APPL2") == []
    assert stored(group) == stored(group, "APPL2") == 0


@pytest.mark.invariant(3)
@pytest.mark.parametrize("number", [1, 2])
def test_a_failed_commit_is_not_repeated_if_a_structure_refuses_to_undo_it(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """One of its asynchronous puts was refused, which is unknown after that commit."""
    connection = two_structures(group)
    full = connection.open("Q", BOTH)
    for _ in range(3):
        full.put(b"2", options=LATER)
    refuse(monkeypatch, "structure/backout", number, MQRC.CF_STRUC_IN_USE)
    for _ in range(2):
        with pytest.raises(MQIError) as caught:
            connection.commit()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
        monkeypatch.undo()

    recover_lost(group, connection.connection.token)
    assert on_queue(group, "Q") == on_queue(group, "OTHER", "APPL2") == []
    assert stored(group) == stored(group, "APPL2") == 0


@pytest.mark.invariant(1)
@pytest.mark.parametrize("end", ["commit", "disconnect", "back out"])
def test_a_put_of_many_that_a_full_queue_cut_off_leaves_nothing(group: TestGroup, end: str) -> None:
    group.define_shared("Q", max_depth=150)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"kept", options=PutOption.SYNCPOINT)
    with pytest.raises(MQIError) as caught:
        queue.put_many([(MQMD(), b"x")] * 200, options=PutOption.SYNCPOINT)
    assert caught.value.reason == MQRC.Q_FULL
    {"commit": connection.commit, "disconnect": connection.disconnect, "back out": connection.backout}[end]()
    assert connection.connection.is_ended == (end == "disconnect")
    assert on_queue(group, "Q") == ([] if end == "back out" else [(b"kept", 0)])
    assert stored(group) == len(on_queue(group, "Q"))


@pytest.mark.invariant(5)
def test_an_alter_in_the_middle_of_a_put_of_many_counts_from_there_on(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that the program set stay set: the context, and fields that it left to the queue."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH | OpenOption.SET_ALL_CONTEXT)
    call_many, is_altered = Connection.call_many, [False]

    def then_alter(self: Connection, calls: Sequence[ScriptCall]) -> list[object]:
        replies = call_many(self, calls)
        if calls[0][0].startswith("structure/put") and not is_altered[0]:
            is_altered[0] = True
            group.repository("QM1").alter("QLOCAL", "Q", {"def_priority": 5})
        return replies

    monkeypatch.setattr(Connection, "call_many", then_alter)
    batch = [(MQMD(put_appl_name=b"mine", user_identifier=b"me"), b"%d" % n) for n in range(150)]
    queue.put_many(batch, options=PutOption.SET_ALL_CONTEXT)
    monkeypatch.undo()

    found = [queue.get() for _ in range(150)]
    assert [message.md.priority for message in found] == [5] * 50 + [0] * 100
    assert [message.body for message in found] == [b"%d" % n for n in (*range(100, 150), *range(100))]
    assert {message.md.put_appl_name.rstrip(b" \0") for message in found} == {b"mine"}
    assert {message.md.user_identifier.rstrip(b" \0") for message in found} == {b"me"}


def test_work_that_a_connection_does_not_know_of_is_left_to_its_recovery(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A get was done, but its reply could not be read."""
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"1")

    def fail(*_: object) -> None:
        raise ValueError("not a record")

    monkeypatch.setattr("sharedq.calls.get.get.decode", fail)
    with pytest.raises(ValueError, match="not a record"):
        queue.get(GetOption.SYNCPOINT)
    monkeypatch.undo()
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    connection.disconnect()
    recover_lost(group, connection.connection.token)
    assert on_queue(group, "Q") == [(b"1", 1)]


def test_a_commit_and_get_of_an_inhibited_queue_commits_and_takes_nothing(group: TestGroup) -> None:
    group.define_shared("Q", get="DISABLED")
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    queue.put(b"1", options=PutOption.SYNCPOINT)
    with pytest.raises(MQIError) as caught:
        queue.commit_and_get(GetOption.SYNCPOINT)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert on_queue(group, "Q") == [(b"1", 0)]


def test_a_message_that_came_through_igq_is_found_by_its_msg_id(group: TestGroup) -> None:
    """Its id carries the code of its destination, and no index has it."""
    group.add_member("QM2")
    group.define_private("QM2", "IN")
    sender, agent = group.connect("QM1"), group.connect("QM2")
    mds = [sender.put1("IN", b"%d" % n, MQMD(persistence=1), qmgr_name="QM2") for n in range(3)]
    transmit = TransmitPart(agent.connection, own_part("QM2"))
    moved = 0
    while moved < 3:
        moved += transmit.move().count
    queue = group.connect("QM2").open("IN", BOTH)
    for n in (1, 0, 2):
        match = MQMD(msg_id=mds[n].msg_id)
        assert queue.get(match=match, match_options=MatchOption.MATCH_MSG_ID).body == b"%d" % n
