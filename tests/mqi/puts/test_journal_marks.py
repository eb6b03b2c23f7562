"""Marks of the journal that no place shows: whether a get chose its message, and whether it is a dead letter."""

from __future__ import annotations

import pytest

from sharedq.api import Queue
from sharedq.mqi.constants import Format, GetOption
from sharedq.mqi.structures import MQMD
from sharedq.reading.journal import JournalRow, expand, read_entries
from tests.support.groups import BOTH, LMIG, LOGICAL, MIG, matching, put_member
from tests.support.members import TestGroup

FIRST, UNDER_CURSOR = int(GetOption.BROWSE_FIRST), int(GetOption.MSG_UNDER_CURSOR)
SYNCPOINT, COMPLETE = int(GetOption.SYNCPOINT), int(GetOption.COMPLETE_MSG)
ALL_THERE, LOCK = int(GetOption.ALL_MSGS_AVAILABLE), int(GetOption.LOCK)


@pytest.fixture
def queue(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BOTH)


def rows(group: TestGroup, event: str) -> list[JournalRow]:
    entries = read_entries(group.group.client(), group.group.structure("APPL1"))
    return [row for entry in entries for row in expand(entry, "APPL1", 1) if row.event == event]


@pytest.mark.parametrize("options", [0, SYNCPOINT])
def test_a_get_of_the_first_message_has_not_chosen(group: TestGroup, queue: Queue, options: int) -> None:
    for body in (b"one", b"two", b"three", b"four"):
        queue.put(body, MQMD(correl_id=b"C" * 24))
    queue.get(options)
    queue.get_many(2, options)
    put_member(queue, b"g", 1, b"member", MIG | LMIG)
    # Also if members of groups make the get look closely.
    queue.get(options)
    queue.get(options)
    assert [row.chosen for row in rows(group, "get")] == [False] * 5


@pytest.mark.parametrize("options", [0, SYNCPOINT])
@pytest.mark.parametrize("is_grouped", [False, True], ids=["plain", "grouped"])
def test_a_get_by_identifier_has_chosen(group: TestGroup, queue: Queue, options: int, *, is_grouped: bool) -> None:
    if is_grouped:
        put_member(queue, b"g", 1, b"member", MIG)
    md = queue.put(b"one", MQMD(correl_id=b"C" * 24))
    queue.put(b"two", MQMD(correl_id=b"D" * 24))
    queue.get(options, **matching(correl_id=b"D" * 24))
    queue.get(options, **matching(msg_id=md.msg_id))
    assert [row.chosen for row in rows(group, "get")] == [True, True]


@pytest.mark.parametrize("options", [LOGICAL, COMPLETE, ALL_THERE], ids=["logical", "complete", "all there"])
def test_a_get_that_skips_incomplete_messages_has_chosen(group: TestGroup, queue: Queue, options: int) -> None:
    put_member(queue, b"g", 2, b"late", MIG)
    queue.put(b"plain")
    queue.get(options)
    assert [row.chosen for row in rows(group, "get")] == [True]


@pytest.mark.parametrize("lock", [0, LOCK], ids=["plain", "locked"])
def test_a_get_under_the_cursor_has_chosen(group: TestGroup, queue: Queue, lock: int) -> None:
    queue.put(b"one")
    queue.get(FIRST | lock)
    queue.get(UNDER_CURSOR)
    assert [row.chosen for row in rows(group, "get")] == [True]


def test_a_message_with_a_dead_letter_header_says_so(group: TestGroup, queue: Queue) -> None:
    for persistence in (0, 1):
        queue.put(b"plain", MQMD(persistence=persistence))
        queue.put(b"letter", MQMD(persistence=persistence, format=Format.DEAD_LETTER_HEADER))
    found = [(row.persistent, row.dead_letter) for row in rows(group, "put")]
    assert found == [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("given", [b"L37", b"L37".ljust(24, b"\0")])
def test_an_identifier_has_one_spelling(group: TestGroup, queue: Queue, given: bytes) -> None:
    queue.put(b"one", MQMD(correl_id=given))
    queue.put(b"two", MQMD(correl_id=b"\0\0"))
    assert [row.correl_id for row in rows(group, "put")] == [b"L37".hex().ljust(48, "0"), None]


def test_a_get_in_logical_order_is_marked(group: TestGroup, queue: Queue) -> None:
    for number in (1, 2, 3):
        put_member(queue, b"g", number, b"%d" % number, LMIG if number == 3 else MIG)
    queue.get(LOGICAL)
    queue.get(LOGICAL)
    queue.get(**matching(group_id=b"g".ljust(24, b"\0"), seq=3))
    assert [(row.chosen, row.logical) for row in rows(group, "get")] == [(True, False), (True, True), (True, False)]


def test_a_message_that_skips_a_backout_was_got_before_it(group: TestGroup, queue: Queue) -> None:
    connection = group.connect()
    own = connection.open("Q", BOTH)
    queue.put(b"one")
    queue.put(b"two")
    own.get(SYNCPOINT)
    own.get(SYNCPOINT | GetOption.MARK_SKIP_BACKOUT)
    connection.backout()
    connection.commit()
    queue.get()
    first, kept, again, last = rows(group, "get")
    assert (first.message_number, kept.message_number) == (last.message_number, again.message_number)
    assert [row.chosen for row in (first, kept, again, last)] == [False, False, True, False]
