"""A getter that is woken by one message and takes another one leaves the first to the others that wait for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from sharedq import Queue
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import GetOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LOGICAL, MIG, WHOLE_GROUP, matching, put_member, take
from tests.support.members import TestGroup
from tests.support.waits import until_waiting, waits

CORREL, FIRST, SECOND = b"C" * 24, b"1" * 24, b"2" * 24


@pytest.fixture
def putter(group: TestGroup) -> Queue:
    group.define_shared("Q")
    return group.connect().open("Q", BOTH)


def put_together(putter: Queue, *messages: tuple[MQMD, bytes]) -> None:
    """All of them come in one moment."""
    for md, body in messages:
        putter.put(body, md, options=PutOption.SYNCPOINT)
    commit(putter.connection)


@pytest.mark.rule("mqi/waiting", "A getter that takes another message than the one that woke it passes the wake-up on.")
@pytest.mark.parametrize("options", [0, GetOption.SYNCPOINT, GetOption.COMPLETE_MSG, LOGICAL])
def test_of_two_that_wait_alike_the_second_gets_what_woke_the_first(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, options: int
) -> None:
    """The first takes what has woken the third one, because that has the higher priority."""
    alike = [waits(pool, group, options, **matching(correl_id=CORREL)) for _ in range(2)]
    third = waits(pool, group, options, **matching(msg_id=FIRST))
    put_together(
        putter,
        (MQMD(msg_id=SECOND, correl_id=CORREL, priority=0), b"second"),
        (MQMD(msg_id=FIRST, correl_id=CORREL, priority=5), b"first"),
    )
    until_waiting(group, "Q", 1)
    putter.put(b"late", MQMD(msg_id=FIRST, correl_id=CORREL))
    got = sorted(future.result(20).body for future in (*alike, third))
    assert got == [b"first", b"late", b"second"]


@pytest.mark.rule("mqi/waiting", "A getter that takes another message than the one that woke it passes the wake-up on.")
@pytest.mark.parametrize("beginning", [LOGICAL, WHOLE_GROUP])
def test_a_getter_of_a_member_leaves_the_plain_message_that_woke_it(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, beginning: int
) -> None:
    any_message, beginning_of_something = waits(pool, group, 0), waits(pool, group, beginning)
    member = MQMD(version=2, priority=5, group_id=b"g" * 24, msg_seq_number=2, msg_flags=MIG)
    putter.put_many([(MQMD(priority=0), b"plain"), (member, b"member")])
    assert any_message.result(20).body == b"member"
    assert beginning_of_something.result(20).body == b"plain"


@pytest.mark.rule("mqi/waiting", "A getter that takes another message than the one that woke it passes the wake-up on.")
def test_a_waiter_for_another_msg_id_leaves_a_member_to_its_groups_reader(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue
) -> None:
    group.define_shared("REQUESTS")
    requests = group.connect().open("REQUESTS", BOTH)
    msg_id = requests.put(b"request").msg_id
    reader = group.connect().open("Q", BOTH)
    put_member(putter, b"g", 1, b"1")
    assert take(reader, LOGICAL) == b"1"
    other = waits(pool, group, 0, **matching(msg_id=msg_id, correl_id=CORREL))
    following = waits(pool, group, LOGICAL, queue=reader)
    put_member(putter, b"g", 2, b"2", msg_id=msg_id)
    assert following.result(20).body == b"2"
    until_waiting(group, "Q", 1)
    putter.put(b"late", MQMD(msg_id=msg_id, correl_id=CORREL))
    assert other.result(20).body == b"late"


@pytest.mark.parametrize("options", [WHOLE_GROUP, GetOption.ALL_MSGS_AVAILABLE])
def test_a_group_that_is_complete_without_what_went_ends_a_wait(
    group: TestGroup, pool: ThreadPoolExecutor, putter: Queue, options: int
) -> None:
    """It had a message too many."""
    whole = waits(pool, group, options)
    too_many = put_member(putter, b"g", 2, b"2")
    put_member(putter, b"g", 1, b"1", LMIG)
    until_waiting(group, "Q", 1)
    assert take(putter, **matching(msg_id=too_many.msg_id)) == b"2"
    assert whole.result(20).body == b"1"
