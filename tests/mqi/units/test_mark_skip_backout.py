"""MQGMO_MARK_SKIP_BACKOUT: MQBACK leaves the message got, in the next unit of work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recovery.resolution import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LSEG, MIG, SEG, put_member, reason_of
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import keys_of, on_queue, stored

pytestmark = pytest.mark.share

MARKED = int(GetOption.SYNCPOINT | GetOption.MARK_SKIP_BACKOUT)
SYNCPOINT = int(GetOption.SYNCPOINT)
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q")
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    """It has three messages."""
    queue = connection.open("Q", BOTH)
    for body in (b"1", b"2", b"3"):
        queue.put(body)
    return queue


def units(group: TestGroup) -> list[bytes]:
    return keys_of(group, "u:*")


@pytest.mark.rule(
    "mqi/skip-backout", "With MARK_SKIP_BACKOUT, MQBACK undoes everything else and the message stays got."
)
def test_mqback_undoes_everything_else_and_the_message_stays_got(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    assert queue.get(SYNCPOINT).body == b"1"
    assert queue.get(MARKED).body == b"2"
    queue.put(b"answer", options=PutOption.SYNCPOINT)
    connection.backout()
    assert on_queue(group, "Q") == [(b"1", 1), (b"3", 0)]
    assert stored(group) == 3
    # The next unit of work may decide where it goes, as for a message that cannot be processed.
    queue.put(b"reject", options=PutOption.SYNCPOINT)
    connection.commit()
    assert on_queue(group, "Q") == [(b"1", 1), (b"3", 0), (b"reject", 0)]
    assert stored(group) == 3
    assert units(group) == []


@pytest.mark.rule(
    "mqi/skip-backout",
    "After MQBACK, the message that was skipped belongs to the next unit of work as by an ordinary get.",
)
def test_it_is_an_ordinary_get_of_the_unit_of_work_that_follows(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    queue.get(MARKED)
    connection.backout()
    connection.backout()
    assert on_queue(group, "Q") == [(b"1", 1), (b"2", 0), (b"3", 0)]
    assert units(group) == []


@pytest.mark.rule("mqi/skip-backout", "MQCMIT removes a message that was got with MARK_SKIP_BACKOUT like any other.")
def test_a_commit_removes_it_like_any_other(group: TestGroup, connection: QueueManagerConnection, queue: Queue) -> None:
    queue.get(MARKED)
    connection.commit()
    connection.backout()
    assert on_queue(group, "Q") == [(b"2", 0), (b"3", 0)]
    assert stored(group) == 2


@pytest.mark.rule("mqi/skip-backout", "One get of a unit of work can have MARK_SKIP_BACKOUT; a second is 2062.")
def test_one_message_of_a_unit_of_work_can_be_marked(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    queue.get(MARKED)
    assert reason_of(queue, MARKED) == MQRC.SECOND_MARK_NOT_ALLOWED
    with pytest.raises(MQIError, match="SECOND_MARK_NOT_ALLOWED"):
        queue.get_many(1, MARKED)
    assert on_queue(group, "Q") == [(b"2", 0), (b"3", 0)]
    # The mark of the last unit of work does not count in this one.
    connection.backout()
    assert queue.get(MARKED).body == b"2"
    connection.backout()
    assert on_queue(group, "Q") == [(b"1", 1), (b"3", 0)]


@pytest.mark.parametrize(
    "options", [0, GetOption.NO_SYNCPOINT, GetOption.SYNCPOINT_IF_PERSISTENT, GetOption.BROWSE_FIRST]
)
def test_it_needs_syncpoint(queue: Queue, options: int) -> None:
    assert reason_of(queue, GetOption.MARK_SKIP_BACKOUT | options) == MQRC.OPTIONS_ERROR


def test_a_batch_cannot_be_marked(queue: Queue) -> None:
    with pytest.raises(MQIError, match="OPTIONS_ERROR"):
        queue.get_many(2, MARKED)


def test_a_message_that_was_not_got_is_not_marked(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    assert reason_of(queue, MARKED, max_length=0) == MQRC.TRUNCATED_MSG_FAILED
    assert queue.get(MARKED).body == b"1"
    connection.backout()
    assert on_queue(group, "Q") == [(b"2", 0), (b"3", 0)]


def test_under_the_cursor_and_by_identifier(group: TestGroup, connection: QueueManagerConnection, queue: Queue) -> None:
    queue.put(b"4", MQMD(correl_id=b"C" * 24))
    assert queue.get(MARKED, match=MQMD(version=2, correl_id=b"C" * 24)).body == b"4"
    connection.backout()
    connection.commit()
    queue.get(GetOption.BROWSE_FIRST)
    queue.get(GetOption.BROWSE_NEXT)
    assert queue.get(MARKED | GetOption.MSG_UNDER_CURSOR).body == b"2"
    connection.backout()
    assert on_queue(group, "Q") == [(b"1", 0), (b"3", 0)]


def test_a_large_unit_of_work_is_backed_out_around_it(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    count = 1500
    queue.put_many([(MQMD(), b"%d" % number) for number in range(count)])
    for _ in range(7):
        queue.get_many(100, SYNCPOINT)
    marked = queue.get(MARKED).body
    for _ in range(7):
        queue.get_many(100, SYNCPOINT)
    before = stored(group)
    connection.backout()
    assert stored(group) == before
    assert len(on_queue(group, "Q")) == before - 1
    connection.commit()
    assert stored(group) == before - 1
    assert marked not in [body for body, _ in on_queue(group, "Q")]
    assert [backouts for _, backouts in on_queue(group, "Q")] == [1] * 1400 + [0] * (before - 1401)


@pytest.mark.rule("mqi/skip-backout", "With COMPLETE_MSG, MARK_SKIP_BACKOUT covers all segments of the message.")
def test_a_logical_message_stays_got_in_all_its_segments(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    segments = 250
    queue.put_many(
        [
            (
                MQMD(version=2, priority=9, group_id=b"S" * 24, offset=10 * at, msg_flags=LSEG if at == 249 else SEG),
                b"%010d" % at,
            )
            for at in range(segments)
        ]
    )
    whole = queue.get(MARKED | GetOption.COMPLETE_MSG)
    assert whole.data_length == 10 * segments
    queue.get(SYNCPOINT)
    connection.backout()
    assert on_queue(group, "Q") == [(b"1", 1), (b"2", 0), (b"3", 0)]
    assert stored(group) == 3 + segments
    connection.backout()
    again = queue.get(GetOption.COMPLETE_MSG)
    assert again.body == whole.body
    assert again.md.backout_count == 1
    assert stored(group) == 3


def test_in_a_unit_of_work_of_two_structures(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    group.define_structure("APPL2")
    group.define_shared("OTHER", "APPL2")
    other = connection.open("OTHER", BOTH)
    other.put(b"a")
    queue.get(MARKED)
    other.get(SYNCPOINT)
    connection.backout()
    assert on_queue(group, "OTHER", "APPL2") == [(b"a", 1)]
    assert on_queue(group, "Q") == [(b"2", 0), (b"3", 0)]
    other.put(b"b", options=PutOption.SYNCPOINT)
    connection.commit()
    assert [body for body, _ in on_queue(group, "OTHER", "APPL2")] == [b"a", b"b"]
    assert stored(group) == 2


def test_asynchronous_puts_beside_it(group: TestGroup, connection: QueueManagerConnection, queue: Queue) -> None:
    queue.get(MARKED)
    queue.put(b"never", options=LATER)
    connection.backout()
    queue.get(MARKED)
    queue.put(b"later", options=LATER)
    connection.commit()
    assert on_queue(group, "Q") == [(b"3", 0), (b"later", 0)]
    assert stored(group) == 2


@pytest.mark.rule(
    "mqi/skip-backout", "A commit that fails, and the end of the program, back out a get with MARK_SKIP_BACKOUT too."
)
def test_a_commit_that_fails_undoes_it_too(group: TestGroup, connection: QueueManagerConnection, queue: Queue) -> None:
    group.define_shared("FULL", max_depth=1)
    full = connection.open("FULL", BOTH)
    full.put(b"x")
    queue.get(MARKED)
    full.put(b"y", options=LATER)
    with pytest.raises(MQIError, match="BACKED_OUT"):
        connection.commit()
    assert on_queue(group, "Q") == [(b"1", 1), (b"2", 0), (b"3", 0)]


def get_and_fail(group: TestGroup) -> None:
    with group.connect() as connection:
        connection.open("Q", BOTH).get(MARKED)
        raise ZeroDivisionError


@pytest.mark.usefixtures("queue")
def test_a_block_that_an_exception_ends_undoes_it_too(group: TestGroup) -> None:
    with pytest.raises(ZeroDivisionError):
        get_and_fail(group)
    assert on_queue(group, "Q") == [(b"1", 1), (b"2", 0), (b"3", 0)]


def test_commit_and_get_can_mark_what_it_gets(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    queue.get(MARKED)
    assert queue.commit_and_get(MARKED).body == b"2"
    connection.backout()
    assert on_queue(group, "Q") == [(b"3", 0)]
    assert stored(group) == 2


def test_a_group_is_got_on_with_where_the_unit_of_work_began(
    group: TestGroup, connection: QueueManagerConnection, queue: Queue
) -> None:
    """MQBACK restores the handle's retained state, even if the message of that state stays got."""
    put_member(queue, b"G", 1, b"g1", MIG, priority=9)
    put_member(queue, b"G", 2, b"g2", MIG | 16, priority=9)
    assert queue.get(MARKED | GetOption.LOGICAL_ORDER).body == b"g1"
    connection.backout()
    assert queue.get(SYNCPOINT | GetOption.LOGICAL_ORDER).body == b"1"
    connection.backout()
    assert [body for body, _ in on_queue(group, "Q")] == [b"1", b"2", b"3"]


def got(program: Program) -> None:
    assert program.does("get marked") == "1"


def got_and_backed_out(program: Program) -> None:
    got(program)
    assert program.does("back out") == "ok"


@pytest.mark.rule(
    "mqi/skip-backout", "A commit that fails, and the end of the program, back out a get with MARK_SKIP_BACKOUT too."
)
@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("dies", [got, got_and_backed_out])
def test_a_killed_program_leaves_it_to_others(group: TestGroup, dies: Callable[[Program], None]) -> None:
    program = Program(group.settings)
    try:
        assert program.does("put uncommitted") == "ok"
        dies(program)
    finally:
        program.close()
    assert on_queue(group, "Q") == [(b"2", 0), (b"3", 0)]
    process_token = program.token.rpartition(".")[0]
    assert recover(group.group, group.connect().connection, process_token, force=True).is_resolved
    assert on_queue(group, "Q") == [(b"1", 1), (b"2", 0), (b"3", 0)]
    assert stored(group) == 3
    assert units(group) == []
