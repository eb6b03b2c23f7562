"""A put of many script calls is refused halfway: the unit of work is as it was before the call."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.requests.put import undo_call
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection
from tests.support.backups import lose
from tests.support.groups import BOTH, MAY_SEGMENT, MIG, drain, put_logical
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import contents, keys_of, on_queue, recover_lost, stored, until

SYNCPOINT = int(PutOption.SYNCPOINT)
COMPLETE = int(GetOption.COMPLETE_MSG)
GET = int(GetOption.SYNCPOINT)
#: More messages than one script call stores, if all must be stored or none.
SEGMENTS = 1300
BODY = bytes(range(250)) * (16 * SEGMENTS // 250)
LONG = bytes(16 * SEGMENTS)


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    """Its queue takes messages of up to sixteen bytes."""
    group.define_structure("APPL2")
    group.define_shared("Q", max_msg_length=16)
    group.define_shared("OTHER", "APPL2", max_msg_length=16)
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH)


def put_long(queue: Queue, options: int = SYNCPOINT, **fields: Any) -> MQMD:
    """Put a message that the queue manager splits into more segments than one call stores."""
    return queue.put(LONG, MQMD(version=2, msg_flags=MAY_SEGMENT, **fields), options=options)


def in_its_middle(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], script: str = "structure/put") -> None:
    """Do something before the third call of *script*."""
    call_many, seen = Connection.call_many, [0]

    def or_act(self: Connection, calls: Sequence[ScriptCall]) -> list[Any]:
        seen[0] += calls[0][0] == script
        if calls[0][0] == script and seen[0] == 3:
            act()
        return call_many(self, calls)

    monkeypatch.setattr(Connection, "call_many", or_act)


def refuse(reason: MQRC) -> Callable[[], object]:
    """Let Redis refuse it."""

    def act() -> None:
        raise error_for(reason, "", "", "refused")

    return act


def held(group: TestGroup) -> dict[bytes, object]:
    """The group's contents. Numbers are used up, and the journal shows what was undone."""
    left_out = (b":seq", b":journal")
    return {key: value for key, value in contents(group).items() if not key.endswith(left_out)}


def known(connection: QueueManagerConnection) -> object:
    """The connection's view of its unit of work."""
    unit = connection.connection.unit
    parts = {
        name: (part.operations, part.has_puts, part.has_members, list(part.queues)) for name, part in unit.parts.items()
    }
    return unit.id, unit.messages, parts, connection.connection.put_failure


def journaled(group: TestGroup) -> Counter[str]:
    """Messages by event."""
    found = Counter[str]()
    entries: Any = group.group.client().xrange(group.group.structure("APPL1").journal)
    for _, fields in entries:
        found[fields[b"e"].decode()] += len(fields.get(b"i", b"").split())
    return found


def alter(group: TestGroup, **attributes: Any) -> Callable[[], object]:
    return lambda: group.repository("QM1").alter("QLOCAL", "Q", attributes)


REFUSALS: dict[str, tuple[MQRC, Callable[[TestGroup], Callable[[], object]]]] = {
    "full": (MQRC.Q_FULL, lambda group: alter(group, max_depth=500)),
    "inhibited": (MQRC.PUT_INHIBITED, lambda group: alter(group, put="DISABLED")),
    "no segments any more": (MQRC.MSG_TOO_BIG_FOR_Q, lambda group: alter(group, max_msg_length=15)),
    "no room in Redis": (MQRC.STORAGE_MEDIUM_FULL, lambda _: refuse(MQRC.STORAGE_MEDIUM_FULL)),
    "a checked definition": (MQRC.OBJECT_CHANGED, lambda _: refuse(MQRC.OBJECT_CHANGED)),
}


@pytest.mark.rule(
    "mqi/put-groups", "A put of many segments that is refused in the middle leaves the unit of work as it was."
)
@pytest.mark.invariant(1)
@pytest.mark.parametrize("end", ["commit", "back out", "disconnect"])
@pytest.mark.parametrize("why", REFUSALS)
def test_its_unit_of_work_is_as_it_was(
    group: TestGroup,
    connection: QueueManagerConnection,
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    why: str,
    end: str,
) -> None:
    for body in (b"1", b"2", b"3"):
        queue.put(body)
    assert queue.get(GET).body == b"1"
    queue.put(b"with it", options=SYNCPOINT)
    assert queue.get(GET | GetOption.MARK_SKIP_BACKOUT).body == b"2"
    connection.open("OTHER", BOTH).put(b"elsewhere", options=SYNCPOINT)
    before, knew = held(group), known(connection)

    reason, act = REFUSALS[why]
    md, asked = MQMD(version=2, msg_flags=MAY_SEGMENT), MQMD(version=2, msg_flags=MAY_SEGMENT)
    in_its_middle(monkeypatch, act(group))
    assert reason_of(lambda: queue.put(LONG, md, options=SYNCPOINT)) == reason
    monkeypatch.undo()

    assert known(connection) == knew
    assert md == asked
    alter(group, max_depth=999_999_999, put="ENABLED", max_msg_length=16)()
    after = held(group)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert all(key.endswith((b":q:Q", b"CSQ_ADMIN}:objects")) for key in changed), changed
    queue.put(b"after it", options=SYNCPOINT)
    if end == "commit":
        connection.commit()
        assert on_queue(group, "Q") == [(b"3", 0), (b"with it", 0), (b"after it", 0)]
    elif end == "disconnect":
        connection.disconnect()
        assert on_queue(group, "Q") == [(b"3", 0), (b"with it", 0), (b"after it", 0)]
    else:
        connection.backout()
        assert on_queue(group, "Q") == [(b"1", 1), (b"3", 0)]
        connection.commit()
    assert on_queue(group, "OTHER", "APPL2") == ([] if end == "back out" else [(b"elsewhere", 0)])
    assert stored(group) == (2 if end == "back out" else 3)
    assert keys_of(group, "u:*") == []


@pytest.mark.rule(
    "mqi/put-groups", "A put of many segments that is refused in the middle leaves the unit of work as it was."
)
@pytest.mark.parametrize("options", [0, SYNCPOINT])
def test_there_is_no_unit_of_work_where_none_was(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue, options: int
) -> None:
    alter(group, max_depth=SEGMENTS - 1)()
    before, knew = held(group), known(connection)
    assert reason_of(lambda: put_long(queue, options, persistence=1)) == MQRC.Q_FULL
    assert held(group) == before
    assert known(connection) == knew
    assert not connection.connection.has_unit
    connection.commit()
    assert drain(queue) == []


@pytest.mark.parametrize("options", [0, SYNCPOINT])
def test_a_put_of_many_is_undone_too(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue, options: int
) -> None:
    """Under syncpoint. Outside, the batch of each call is separate."""
    alter(group, max_depth=250)()
    queue.put(b"with it", options=SYNCPOINT)
    before, knew = held(group), known(connection)
    mds = [MQMD() for _ in range(300)]
    assert reason_of(lambda: queue.put_many([(md, b"many") for md in mds], options=options)) == MQRC.Q_FULL
    if options:
        assert (held(group), known(connection)) == (before, knew)
        assert mds == [MQMD() for _ in range(300)]
    connection.commit()
    assert drain(queue).count(b"many") == (0 if options else 200)


def test_messages_put_for_another_manager_are_undone_too(
    group: TestGroup, connection: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.add_member("QM2")
    group.define_private("QM2", "IN")
    queue = connection.open("IN", OpenOption.OUTPUT, qmgr_name="QM2")
    queue.put(b"kept", options=SYNCPOINT)
    knew, there = known(connection), stored(group, "@QM2")
    in_its_middle(monkeypatch, lambda: group.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"}))
    messages = [(MQMD(), b"many") for _ in range(350)]
    assert reason_of(lambda: queue.put_many(messages, options=SYNCPOINT)) == MQRC.OBJECT_CHANGED
    assert (known(connection), stored(group, "@QM2")) == (knew, there)
    connection.commit()
    assert on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2") == [(b"kept", 0)]


@pytest.mark.rule("mqi/put-groups", "A message is split anew if MAXMSGL is altered during its put.")
def test_a_smaller_maxmsgl_meanwhile_splits_it_again(
    group: TestGroup, connection: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter(group, max_msg_length=32)()
    queue = connection.open("Q", BOTH)
    in_its_middle(monkeypatch, alter(group, max_msg_length=16))
    # One MQGET puts at most 2,000 segments together.
    body = BODY + BODY[: len(BODY) // 2]
    queue.put(body, MQMD(version=2, msg_flags=MAY_SEGMENT), options=SYNCPOINT)
    connection.commit()
    got = queue.get(COMPLETE)
    assert got.body == body
    assert stored(group) == 0
    assert journaled(group)["put"] - journaled(group)["undo"] == journaled(group)["get"] == len(body) // 16 + 1


@pytest.mark.rule("mqi/put-groups", "A put of many segments that is refused in the middle leaves its group as it was.")
def test_its_group_goes_on_where_it_was(group: TestGroup, connection: QueueManagerConnection, queue: Queue) -> None:
    first = put_logical(queue, b"first", MIG, options=SYNCPOINT)
    alter(group, max_depth=SEGMENTS - 1)()
    assert reason_of(lambda: put_logical(queue, LONG, MIG | MAY_SEGMENT, options=SYNCPOINT)) == MQRC.Q_FULL
    second = put_logical(queue, b"second", MIG, options=SYNCPOINT)
    assert (second.group_id, second.msg_seq_number) == (first.group_id, 2)
    connection.commit()
    assert drain(queue) == [b"first", b"second"]


def test_the_journal_shows_undone_puts(group: TestGroup, connection: QueueManagerConnection, queue: Queue) -> None:
    alter(group, max_depth=SEGMENTS)()
    queue.put(b"with it", options=SYNCPOINT)
    assert reason_of(lambda: put_long(queue)) == MQRC.Q_FULL
    connection.commit()
    entries: Any = group.group.client().xrange(group.group.structure("APPL1").journal)
    put, undone = set[bytes](), set[bytes]()
    for _, fields in entries:
        assert fields[b"u"] == connection.connection.token.encode() + b"/0"
        if fields[b"e"] in (b"put", b"undo"):
            assert fields[b"q"] == b"Q"
            (put if fields[b"e"] == b"put" else undone).update(fields[b"i"].split())
    assert len(put) == 1 + SEGMENTS - 100
    assert len(put - undone) == 1
    assert undone < put
    assert entries[-1][1][b"n"] == b"1"


@pytest.mark.rule(
    "mqi/put-groups", "A waiting getter sees nothing of a put of many segments that is refused in the middle."
)
def test_a_waiter_sees_nothing_of_it_and_gets_later_messages(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    waiters = [group.connect().open("Q", BOTH) for _ in range(2)]
    got: list[bytes] = []

    def wait(waiter: Queue, options: int) -> None:
        got.append(waiter.get(options | GetOption.WAIT, wait_ms=-1).body)

    threads = [threading.Thread(target=wait, args=each) for each in zip(waiters, (0, COMPLETE), strict=True)]
    for thread in threads:
        thread.start()
    until(lambda: group.group.client().zcard(queue.handle.queue.waiters) == 2, "both wait")
    alter(group, max_depth=SEGMENTS - 1)()
    for options in (0, SYNCPOINT):
        assert reason_of(lambda options=options: put_long(queue, options)) == MQRC.Q_FULL  # type: ignore[misc]
    connection.commit()
    assert group.group.client().zcard(queue.handle.queue.waiters) == 2
    for body in (b"a", b"b"):
        queue.put(body, options=SYNCPOINT)
    connection.commit()
    for thread in threads:
        thread.join()
    assert sorted(got) == [b"a", b"b"]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_failed_structure_loses_only_earlier_work_there(
    group: TestGroup,
    connection: QueueManagerConnection,
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    is_first: bool,
) -> None:
    connection.open("OTHER", BOTH).put(b"elsewhere", options=SYNCPOINT)
    if not is_first:
        queue.put(b"with it", options=SYNCPOINT)
    in_its_middle(monkeypatch, lambda: lose(group))
    assert reason_of(lambda: put_long(queue)) == MQRC.CF_STRUC_FAILED
    monkeypatch.undo()
    if is_first:
        connection.commit()
    else:
        assert reason_of(connection.commit) == MQRC.BACKED_OUT
    assert on_queue(group, "OTHER", "APPL2") == ([(b"elsewhere", 0)] if is_first else [])


def test_a_unit_of_work_that_lost_its_structure_is_under_way_until_its_end(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    """So a message that needs its own unit of work cannot be put: its end would be taken for that one's."""
    other = connection.open("OTHER", BOTH)
    queue.put(b"lost", options=SYNCPOINT)
    lose(group)
    assert reason_of(lambda: queue.put(b"lost")) == MQRC.CF_STRUC_FAILED
    for _ in range(2):
        assert reason_of(lambda: put_long(other, 0)) == MQRC.UOW_NOT_AVAILABLE
    assert reason_of(connection.commit) == MQRC.BACKED_OUT
    put_long(other, 0)
    assert other.get(COMPLETE).body == LONG


def refuse_script(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Have every call of *script* refused (2035) before it is sent."""
    call_many = Connection.call_many

    def or_refuse(self: Connection, calls: Sequence[ScriptCall]) -> list[Any]:
        if calls[0][0] == script:
            raise error_for(MQRC.NOT_AUTHORIZED, "", "", "refused")
        return call_many(self, calls)

    monkeypatch.setattr(Connection, "call_many", or_refuse)


@pytest.mark.parametrize("options", [0, SYNCPOINT])
def test_a_unit_of_work_with_a_put_not_undone_is_never_committed(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue, monkeypatch: pytest.MonkeyPatch, options: int
) -> None:
    alter(group, max_depth=SEGMENTS - 1)()
    if options:
        queue.put(b"with it", options=SYNCPOINT)
    refuse_script(monkeypatch, "structure/undo_puts")
    assert reason_of(lambda: put_long(queue, options)) == MQRC.Q_FULL
    if options:
        assert reason_of(connection.commit) == MQRC.BACKED_OUT
    assert stored(group) == 0
    queue.put(b"later", options=SYNCPOINT)
    connection.commit()
    assert drain(queue) == [b"later"]


def test_a_refusal_of_its_own_unit_of_work_leaves_nothing(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_script(monkeypatch, "structure/commit")
    md = MQMD(version=2, msg_flags=MAY_SEGMENT)
    assert reason_of(lambda: queue.put(LONG, md)) == MQRC.NOT_AUTHORIZED
    monkeypatch.undo()
    assert md == MQMD(version=2, msg_flags=MAY_SEGMENT)
    connection.commit()
    assert stored(group) == 0


def test_nothing_of_another_unit_of_work_is_undone(connection: QueueManagerConnection, queue: Queue) -> None:
    queue.put(b"before", options=SYNCPOINT)
    connection.commit()
    name, keys, args = undo_call(connection.connection, queue.handle, 1)
    queue.put(b"kept", options=SYNCPOINT)
    late = [f"{connection.connection.token}/0" if part == connection.connection.unit.id else part for part in args]
    assert connection.connection.checked_call(name, keys, late) == [0, 0]
    connection.commit()
    assert drain(queue) == [b"before", b"kept"]


class Died(BaseException):
    """The program is gone."""


@pytest.mark.rule(
    "mqi/put-groups",
    "A program that dies in the middle of a put of many segments has its whole unit of work backed out.",
)
@pytest.mark.parametrize("options", [0, SYNCPOINT])
def test_killed_after_any_script_its_unit_of_work_is_backed_out_whole(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, options: int
) -> None:
    group.define_shared("Q", max_msg_length=16, max_depth=SEGMENTS - 1)
    call_many = Connection.call_many
    number, is_dead = 0, True
    while is_dead:
        number, is_dead, seen = number + 1, False, [0]
        connection = group.connect()
        queue = connection.open("Q", BOTH)
        queue.put(b"there")
        if options:
            assert queue.get(GET).body == b"there"
            queue.put(b"with it", options=SYNCPOINT)

        def or_die(self: Connection, calls: Sequence[ScriptCall]) -> list[Any]:
            replies = call_many(self, calls)
            seen[0] += 1  # noqa: B023 - called within this round only
            if seen[0] == number:  # noqa: B023
                raise Died
            return replies

        monkeypatch.setattr(Connection, "call_many", or_die)
        try:
            assert reason_of(lambda: put_long(queue, options)) == MQRC.Q_FULL  # noqa: B023
        except Died:
            is_dead = True
        monkeypatch.undo()
        if is_dead:
            connection.connection.break_off()
            recover_lost(group, connection.connection.token)
            assert on_queue(group, "Q") == [(b"there", 1 if options else 0)], number
        else:
            connection.commit()
            assert on_queue(group, "Q") == [(b"with it" if options else b"there", 0)]
        assert stored(group) == 1, number
        assert keys_of(group, "u:*") == []
        assert group.connect().open("Q", BOTH).get().md is not None
    # The puts, and the calls that undo them.
    assert number > SEGMENTS // 100
