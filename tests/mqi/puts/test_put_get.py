"""MQPUT and MQGET: the plain paths, inside and outside units of work."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, MsgFlag, MsgType, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE


def reason_of(call: pytest.ExceptionInfo[MQIError]) -> MQRC:
    return call.value.reason


def test_messages_of_equal_priority_come_in_the_order_they_were_put(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    for body in (b"first", b"second", b"third"):
        queue.put(body)

    assert [queue.get().body for _ in range(3)] == [b"first", b"second", b"third"]
    with pytest.raises(MQIError) as caught:
        queue.get()
    assert reason_of(caught) == MQRC.NO_MSG_AVAILABLE


@pytest.mark.rule("mqi/order", "A queue delivers by priority, and first in, first out within one priority.")
def test_higher_priority_comes_first_and_fifo_within_it(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    for body, priority in ((b"a1", 1), (b"b9", 9), (b"c1", 1), (b"d9", 9)):
        queue.put(body, MQMD(priority=priority))

    assert [queue.get().body for _ in range(4)] == [b"b9", b"d9", b"a1", b"c1"]


def test_a_put_under_syncpoint_is_invisible_until_committed(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    putter, other = group.connect(), group.connect()
    queue, others = putter.open("ORDERS", BOTH), other.open("ORDERS", BOTH)
    queue.put(b"hidden", options=PutOption.SYNCPOINT)

    for side in (queue, others):
        with pytest.raises(MQIError) as caught:
            side.get()
        assert reason_of(caught) == MQRC.NO_MSG_AVAILABLE

    putter.commit()
    assert others.get().body == b"hidden"


@pytest.mark.rule("mqi/units", "A get with SYNCPOINT is final after MQCMIT; MQBACK returns the message to its place.")
def test_backout_removes_puts_and_returns_gets_with_the_count_raised(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)
    queue.put(b"one")
    queue.put(b"two")
    assert queue.get(GetOption.SYNCPOINT).body == b"one"
    queue.put(b"never", options=PutOption.SYNCPOINT)
    connection.backout()

    first, second = queue.get(), queue.get()
    assert (first.body, first.md.backout_count) == (b"one", 1)
    assert (second.body, second.md.backout_count) == (b"two", 0)
    with pytest.raises(MQIError):
        queue.get()


def test_a_unit_of_work_over_two_structures_commits_in_both(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    group.define_private("QM1", "LOCAL")
    connection = group.connect()
    shared, private = connection.open("ORDERS", BOTH), connection.open("LOCAL", BOTH)
    shared.put(b"s", options=PutOption.SYNCPOINT)
    private.put(b"p", options=PutOption.SYNCPOINT)
    connection.commit()

    assert (shared.get().body, private.get().body) == (b"s", b"p")


@pytest.mark.parametrize("count", [1, 3, 250])
def test_batches_keep_order_and_commit_as_one(group: TestGroup, count: int) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)
    sent = [b"%d" % n for n in range(count)]
    queue.put_many([(MQMD(), body) for body in sent], options=PutOption.SYNCPOINT)
    connection.commit()

    got: list[bytes] = []
    while len(got) < count:
        got += [message.body for message in queue.get_many(100, GetOption.SYNCPOINT)]
    connection.commit()
    assert got == sent


@pytest.mark.rule("mqi/units", "A large unit of work is applied in chunks of at most 500 messages.")
@pytest.mark.invariant(4)
def test_a_large_unit_of_work_is_applied_in_chunks(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)
    for _ in range(13):
        queue.put_many([(MQMD(), b"x")] * 100, options=PutOption.SYNCPOINT)
    connection.commit()
    assert group.repository("QM1").queue_status("ORDERS").depth == 1300


def test_asynchronous_puts_leave_with_the_commit(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)
    for n in range(120):
        queue.put(b"%d" % n, options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    connection.commit()
    assert [queue.get().body for _ in range(120)] == [b"%d" % n for n in range(120)]


@pytest.mark.rule(
    "mqi/async", "MQCMIT backs everything out and ends with 2003 if an asynchronous put of the unit of work failed."
)
def test_a_failed_asynchronous_put_backs_the_unit_of_work_out(group: TestGroup) -> None:
    group.define_shared("SMALL", max_depth=1)
    connection = group.connect()
    queue = connection.open("SMALL", BOTH)
    for _ in range(2):
        queue.put(b"x", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert reason_of(caught) == MQRC.BACKED_OUT
    queue.put(b"fits")
    assert queue.get().body == b"fits"


def test_commit_and_get_belong_to_two_units_of_work(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)
    queue.put(b"one")
    queue.put(b"two")
    queue.get(GetOption.SYNCPOINT)
    assert queue.commit_and_get(GetOption.SYNCPOINT).body == b"two"
    connection.backout()
    assert queue.get().body == b"two"


def test_a_batch_is_taken_after_the_commit_of_the_one_before(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH)
    queue.put_many([(MQMD(), b"%d" % number) for number in range(5)])
    assert [message.body for message in queue.commit_and_get_many(2, GetOption.SYNCPOINT)] == [b"0", b"1"]
    assert [message.body for message in queue.commit_and_get_many(2, GetOption.SYNCPOINT)] == [b"2", b"3"]
    connection.backout()
    assert [message.body for message in queue.get_many(100)] == [b"2", b"3", b"4"]


@pytest.mark.parametrize(("count", "options"), [(0, 0), (101, 0), (1, GetOption.BROWSE_FIRST)])
def test_a_batch_of_a_wrong_size_or_kind_is_refused_and_commits_nothing(
    group: TestGroup, count: int, options: int
) -> None:
    group.define_shared("ORDERS")
    connection = group.connect()
    queue = connection.open("ORDERS", BOTH | OpenOption.BROWSE)
    queue.put(b"one", options=PutOption.SYNCPOINT)
    with pytest.raises(MQIError) as caught:
        queue.commit_and_get_many(count, options)
    assert reason_of(caught) == MQRC.OPTIONS_ERROR
    connection.backout()
    with pytest.raises(MQIError) as caught:
        queue.get()
    assert reason_of(caught) == MQRC.NO_MSG_AVAILABLE


def test_get_by_correl_id_and_by_generated_and_given_msg_id(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    correl, given = b"C" * 24, b"M" * 24
    queue.put(b"plain")
    generated = queue.put(b"wanted").msg_id
    queue.put(b"correlated", MQMD(correl_id=correl))
    queue.put(b"given", MQMD(msg_id=given))

    by_msg_id = MatchOption.MATCH_MSG_ID
    assert queue.get(match=MQMD(msg_id=given), match_options=by_msg_id).body == b"given"
    assert queue.get(match=MQMD(correl_id=correl), match_options=MatchOption.MATCH_CORREL_ID).body == b"correlated"
    got = queue.get(match=MQMD(msg_id=generated), match_options=by_msg_id)
    assert (got.body, got.md.msg_id) == (b"wanted", generated)
    assert queue.get().body == b"plain"


@pytest.mark.rule("mqi/browse", "A browse takes nothing; a get with MSG_UNDER_CURSOR removes what was browsed last.")
def test_browse_walks_the_queue_and_takes_nothing(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    for body in (b"a", b"b"):
        queue.put(body)
    assert queue.get(GetOption.BROWSE_FIRST).body == b"a"
    assert queue.get(GetOption.BROWSE_NEXT).body == b"b"
    assert queue.get(GetOption.BROWSE_MSG_UNDER_CURSOR).body == b"b"
    assert queue.get(GetOption.MSG_UNDER_CURSOR).body == b"b"
    assert queue.get().body == b"a"


@pytest.mark.rule(
    "mqi/units",
    "Without ACCEPT_TRUNCATED_MSG a message that does not fit stays (2080); with it, the message is taken (2079).",
)
def test_truncation_without_and_with_acceptance(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    queue.put(b"long body")
    cut = queue.get(max_length=4)
    assert (cut.body, cut.reason, cut.data_length) == (b"long", MQRC.TRUNCATED_MSG_FAILED, 9)
    cut = queue.get(GetOption.ACCEPT_TRUNCATED_MSG, max_length=4)
    assert (cut.body, cut.reason, cut.data_length) == (b"long", MQRC.TRUNCATED_MSG_ACCEPTED, 9)
    with pytest.raises(MQIError):
        queue.get()


def test_full_queue_refuses_and_changes_nothing(group: TestGroup) -> None:
    group.define_shared("SMALL", max_depth=2)
    queue = group.connect().open("SMALL", BOTH)
    queue.put(b"1")
    with pytest.raises(MQIError) as caught:
        queue.put_many([(MQMD(), b"2"), (MQMD(), b"3")])
    assert reason_of(caught) == MQRC.Q_FULL
    queue.put(b"2")
    assert [queue.get().body, queue.get().body] == [b"1", b"2"]


def test_altered_attributes_count_from_the_next_call_on(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    queue.put(b"x")
    repository = group.repository("QM1")
    repository.alter("QLOCAL", "ORDERS", {"put": "DISABLED", "get": "DISABLED"})
    with pytest.raises(MQIError) as caught:
        queue.put(b"y")
    assert reason_of(caught) == MQRC.PUT_INHIBITED
    with pytest.raises(MQIError) as caught:
        queue.get()
    assert reason_of(caught) == MQRC.GET_INHIBITED
    repository.alter("QLOCAL", "ORDERS", {"put": "ENABLED", "get": "ENABLED", "def_priority": 7})
    assert queue.put(b"y").priority == 7
    assert queue.get().body == b"y"


def test_every_field_of_the_descriptor_travels(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    sent = MQMD(
        version=2,
        format=b"MQSTR",
        coded_char_set_id=1208,
        correl_id=b"c" * 24,
        reply_to_q=b"REPLIES",
        reply_to_q_mgr=b"QM9",
        appl_identity_data=b"identity",
        group_id=b"g" * 24,
        msg_seq_number=3,
        msg_flags=8,
        persistence=1,
        priority=4,
    )
    queue.put(b"x", sent)
    got = queue.get().md
    for name in ("format", "coded_char_set_id", "correl_id", "reply_to_q", "reply_to_q_mgr", "appl_identity_data"):
        assert getattr(got, name) == getattr(sent, name), name
    assert (got.group_id, got.msg_seq_number, got.msg_flags) == (b"g" * 24, 3, 8)
    assert (got.persistence, got.priority, got.msg_id) == (1, 4, sent.msg_id)
    assert len(got.put_date) == 8
    assert len(got.put_time) == 8


def test_expired_messages_are_never_returned(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    queue = group.connect().open("ORDERS", BOTH)
    queue.put(b"dead", MQMD(expiry=1))
    queue.put(b"alive", MQMD(expiry=600))
    group.wait_redis_ms(150)
    assert queue.get(GetOption.BROWSE_FIRST).body == b"alive"
    got = queue.get()
    assert got.body == b"alive"
    assert 0 < got.md.expiry <= 600


@pytest.mark.rule("mqi/units", "An MQOPEN beyond MAXHANDS, as it was at MQCONN, is refused with 2017.")
def test_a_connection_opens_maxhands_and_no_more(group: TestGroup) -> None:
    group.define_shared("ORDERS")
    repository = group.repository("QM1")
    repository.alter_qmgr("QM1", {"max_handles": 2})
    connection = group.connect()
    repository.alter_qmgr("QM1", {"max_handles": 20})
    first, _ = (connection.open("ORDERS", BOTH) for _ in range(2))
    with pytest.raises(MQIError) as caught:
        connection.open("ORDERS", BOTH)
    assert reason_of(caught) == MQRC.HANDLE_NOT_AVAILABLE
    first.close()
    connection.open("ORDERS", BOTH).put(b"there is room again")


@pytest.mark.parametrize("option", [OpenOption.INPUT_SHARED, OpenOption.INPUT_AS_Q_DEF, OpenOption.INPUT_EXCLUSIVE])
def test_a_queue_that_is_not_shareable_is_open_for_input_once(group: TestGroup, option: OpenOption) -> None:
    group.define_shared("ALONE", shareability="NOSHARE")
    first = group.connect().open("ALONE", OpenOption.INPUT_SHARED)
    group.connect().open("ALONE", OpenOption.BROWSE | OpenOption.OUTPUT)
    with pytest.raises(MQIError) as caught:
        group.connect().open("ALONE", option)
    assert caught.value.reason == MQRC.OBJECT_IN_USE
    first.close()
    group.connect().open("ALONE", option)


WHEN = [0, PutOption.SYNCPOINT, PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE]
#: Fields of a single message, and of members of a group.
GROUPED: list[dict[str, Any]] = [{}, {"group_id": b"g" * 24, "msg_flags": int(MsgFlag.MSG_IN_GROUP)}]


@pytest.mark.parametrize("fields", GROUPED, ids=["alone", "members"])
@pytest.mark.parametrize("options", WHEN)
def test_only_the_definition_in_force_fills_a_descriptor(
    group: TestGroup, options: int, fields: dict[str, Any]
) -> None:
    """The handle's one has filled in the first message when it refuses the second, which is long by that alone."""
    group.define_shared("Q", max_msg_length=10, def_priority=1)
    connection = group.connect()
    queue = connection.open("Q", BOTH)
    altered = {"max_msg_length": 100, "def_priority": 7, "def_persistence": "YES"}
    group.repository("QM1").alter("QLOCAL", "Q", altered)
    bodies = [b"1", b"2" * 50]
    numbers: list[dict[str, Any]] = [{"msg_seq_number": at + 1} if fields else {} for at in range(2)]
    messages = [(MQMD(version=2, **number, **fields), body) for number, body in zip(numbers, bodies, strict=True)]
    queue.put_many(messages, options=options)
    connection.commit()
    got = [queue.get() for _ in range(2)]
    assert [(message.md.priority, message.md.persistence) for message in got] == [(7, 1), (7, 1)]


@pytest.mark.parametrize("options", WHEN)
def test_a_put_that_fails_leaves_the_descriptor_as_it_was(group: TestGroup, options: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    md = MQMD(msg_type=int(MsgType.REQUEST))
    with pytest.raises(MQIError) as caught:
        queue.put(b"whom to answer?", md, options=options)
    assert caught.value.reason == MQRC.MISSING_REPLY_TO_Q
    assert md == MQMD(msg_type=int(MsgType.REQUEST))
