"""Units of work without an explicit end: MQDISC commits them, and the end of the program backs them out."""

from __future__ import annotations

import pytest

from recovery.resolution import recover
from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, GetOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LOGICAL, MIG, WHOLE_GROUP, drain, put_logical, put_member, take
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

IN_UNIT = int(GetOption.SYNCPOINT)


@pytest.fixture(autouse=True)
def queues(group: TestGroup) -> None:
    """In two structures."""
    group.define_shared("SHARED")
    group.define_private("QM1", "PRIVATE")


def contents(group: TestGroup) -> list[list[bytes]]:
    """The messages that another program can get from each."""
    with group.connect() as connection:
        return [drain(connection.open(name, BOTH)) for name in ("SHARED", "PRIVATE")]


def begin(connection: QueueManagerConnection) -> None:
    """Get a message, and put one on each queue; also leave a group unfinished."""
    shared, private = (connection.open(name, BOTH) for name in ("SHARED", "PRIVATE"))
    shared.put(b"request")
    assert shared.get(IN_UNIT).body == b"request"
    shared.put(b"answer", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    put_logical(private, b"1", MIG, options=int(PutOption.SYNCPOINT), persistence=1)


@pytest.mark.rule("mqi/units", "MQDISC commits what is uncommitted, in every structure.")
def test_mqdisc_commits_what_is_outstanding(group: TestGroup) -> None:
    connection = group.connect()
    begin(connection)
    assert verbs.mqdisc(connection.connection) == (MQCC.OK, MQRC.NONE)
    assert contents(group) == [[b"answer"], [b"1"]]


@pytest.mark.rule("mqi/units", "A `with` block of the native API that is left by an exception backs out.")
def test_a_block_that_is_left_by_an_exception_is_backed_out(group: TestGroup) -> None:
    def fail() -> None:
        with group.connect() as connection:
            begin(connection)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert contents(group) == [[b"request"], []]


@pytest.mark.rule(
    "mqi/units", "The end of a program backs its unit of work out, and raises the BackoutCount of each message got."
)
def test_each_end_of_a_program_counts_as_a_backout(group: TestGroup) -> None:
    """The count is part of the message, and outlives the program that raised it."""
    queue = group.connect().open("SHARED", BOTH)
    queue.put(b"poison", MQMD(persistence=1))
    for deaths in range(3):
        assert queue.get(GetOption.BROWSE_FIRST).md.backout_count == deaths
        connection = group.connect()
        assert connection.open("SHARED", BOTH).get(IN_UNIT).md.backout_count == deaths
        process = connection.connection.process
        process.stop_renewing()
        assert recover(group.group, group.connect().connection, process.token, force=True).is_resolved
    assert queue.get().md.backout_count == 3


@pytest.mark.rule("mqi/units", "MQBACK restores what the handle knew of its groups before the unit of work.")
def test_a_group_goes_on_over_units_of_work_of_which_one_is_backed_out(group: TestGroup) -> None:
    connection = group.connect()
    queue, reader = connection.open("SHARED", BOTH), group.connect().open("SHARED", BOTH)
    options = int(PutOption.SYNCPOINT)
    first = put_logical(queue, b"1", MIG, options=options)
    connection.commit()
    assert put_logical(queue, b"lost", MIG, options=options).msg_seq_number == 2
    connection.backout()
    again = put_logical(queue, b"2", LMIG, options=options)
    assert (again.group_id, again.msg_seq_number) == (first.group_id, 2)
    connection.commit()
    assert drain(reader, LOGICAL | GetOption.ALL_MSGS_AVAILABLE) == [b"1", b"2"]


@pytest.mark.rule("mqi/units", "MQBACK leaves what the handle did with groups outside the unit of work.")
def test_a_group_begun_outside_the_unit_goes_on_after_its_backout(group: TestGroup) -> None:
    connection = group.connect()
    queue = connection.open("SHARED", BOTH)
    put_logical(queue, b"undone", LMIG, options=int(PutOption.SYNCPOINT))
    first = put_logical(queue, b"1", MIG)
    connection.backout()
    second = put_logical(queue, b"2", LMIG)
    assert (second.group_id, second.msg_seq_number) == (first.group_id, 2)
    assert drain(group.connect().open("SHARED", BOTH), WHOLE_GROUP) == [b"1", b"2"]


@pytest.mark.rule("mqi/units", "MQBACK leaves what the handle did with groups outside the unit of work.")
def test_a_group_entered_outside_the_unit_is_continued_after_a_backout(group: TestGroup) -> None:
    connection = group.connect()
    queue = connection.open("SHARED", BOTH)
    for name in (b"a", b"b"):
        for seq in (1, 2):
            put_member(queue, name, seq, b"%s%d" % (name, seq), LMIG if seq == 2 else MIG)
    assert [take(queue, LOGICAL | IN_UNIT) for _ in range(2)] == [b"a1", b"a2"]
    assert take(queue, LOGICAL) == b"b1"
    connection.backout()
    assert drain(queue, LOGICAL) == [b"b2", b"a1", b"a2"]


@pytest.mark.rule("mqi/units", "MQBACK leaves what the handle did with groups outside the unit of work.")
@pytest.mark.parametrize("is_begun_before", [False, True])
def test_a_put_outside_does_not_keep_a_group_from_the_backout(group: TestGroup, is_begun_before: bool) -> None:
    """It is in no group, so the handle has no new state to retain."""
    connection = group.connect()
    queue = connection.open("SHARED", BOTH)
    options = int(PutOption.SYNCPOINT)
    if is_begun_before:
        put_logical(queue, b"1", MIG, options=options)
        connection.commit()
    put_logical(queue, b"undone", LMIG, options=options)
    put_logical(queue, b"alone", LMIG)
    connection.backout()
    last = put_logical(queue, b"last", LMIG, options=options)
    assert last.msg_seq_number == (2 if is_begun_before else 1)
