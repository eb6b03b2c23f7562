"""MQSTAT: the outcomes of asynchronous puts, counted in MQPUTs, not in script calls or segments."""

from __future__ import annotations

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, GetOption, IntSelector, MsgFlag, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQSTS
from sharedq.objects.definitions.queues import QueueAlias
from tests.support.groups import BOTH, MAY_SEGMENT, drain
from tests.support.members import TestGroup

LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


def status(queue: Queue) -> tuple[int, int, MQCC, MQRC, bytes]:
    """Successes, failures, and the first failure."""
    sts = MQSTS()
    assert verbs.mqstat(queue.connection, sts) == (MQCC.OK, MQRC.NONE)
    return sts.put_success_count, sts.put_failure_count, MQCC(sts.comp_code), MQRC(sts.reason), sts.object_name


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q", max_msg_length=64)
    group.define_shared("FULL", max_depth=1)
    return group.connect()


@pytest.mark.rule("mqi/async", "MQSTAT counts each asynchronous put since the last MQSTAT once.")
@pytest.mark.parametrize("count", [1, 7, 250])
def test_each_put_counts_once(connection: QueueManagerConnection, count: int) -> None:
    queue = connection.open("Q", BOTH)
    for _ in range(count):
        queue.put(b"x", options=LATER)
    assert status(queue) == (count, 0, MQCC.OK, MQRC.NONE, b"")
    assert status(queue) == (0, 0, MQCC.OK, MQRC.NONE, b"")


@pytest.mark.parametrize("others", [0, 1])
def test_puts_that_leave_with_the_commit_count(connection: QueueManagerConnection, others: int) -> None:
    queue = connection.open("Q", BOTH)
    for _ in range(3):
        queue.put(b"x", options=LATER)
    for _ in range(others):
        # But not for that one call.
        queue.put(b"y", MQMD(correl_id=b"C" * 24), options=LATER)
    connection.commit()
    assert status(queue)[:2] == (3 + others, 0)


def test_a_message_that_is_split_is_one_put(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", BOTH)
    queue.put(bytes(1000), MQMD(version=2, msg_flags=MAY_SEGMENT), options=LATER)
    assert status(queue)[:2] == (1, 0)


@pytest.mark.rule(
    "mqi/async",
    "MQSTAT names the object of the first asynchronous put that failed, before and after the failed commit.",
)
@pytest.mark.parametrize("asked_first", [True, False])
def test_a_failure_is_reported_before_and_after_the_failed_commit(
    connection: QueueManagerConnection, asked_first: bool
) -> None:
    queue, full = connection.open("Q", BOTH), connection.open("FULL", BOTH)
    full.put(b"there")
    queue.put(b"x", options=LATER)
    for _ in range(2):
        full.put(b"y", options=LATER)
    expected = (1, 2, MQCC.FAILED, MQRC.Q_FULL, b"FULL")
    if asked_first:
        assert status(queue) == expected
    with pytest.raises(MQIError, match="BACKED_OUT"):
        connection.commit()
    if not asked_first:
        assert status(queue) == expected
    # It was reported, and its unit of work has ended.
    assert status(queue) == (0, 0, MQCC.OK, MQRC.NONE, b"")
    connection.commit()


@pytest.mark.rule(
    "mqi/async", "An ALTER of the queue fails the asynchronous puts that were not sent yet, and none after them."
)
@pytest.mark.parametrize("company", ["alone", "with a get", "on two queues", "in a group"])
def test_an_alter_fails_the_puts_that_were_not_sent_and_none_later(
    group: TestGroup, connection: QueueManagerConnection, company: str
) -> None:
    queue, other = connection.open("Q", BOTH), connection.open("FULL", BOTH)

    def do_work(body: bytes) -> None:
        md = MQMD(version=2, msg_flags=int(MsgFlag.LAST_MSG_IN_GROUP) if company == "in a group" else 0)
        if company == "with a get":
            other.put(b"request")
            assert other.get(GetOption.SYNCPOINT).body == b"request"
        queue.put(body, md, options=LATER)
        if company == "on two queues":
            other.put(body, options=LATER)

    do_work(b"lost")
    group.repository("QM1").alter("QLOCAL", "Q", {"description": "altered"})
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.BACKED_OUT
    drain(other)
    do_work(b"kept")
    connection.commit()
    assert drain(queue) == [b"kept"]
    # The attributes that it learns of count now.
    group.repository("QM1").alter("QLOCAL", "Q", {"put": "DISABLED"})
    queue.put(b"lost", options=LATER)
    with pytest.raises(MQIError):
        connection.commit()
    with pytest.raises(MQIError) as caught:
        queue.put(b"refused", options=LATER)
    assert caught.value.reason == MQRC.PUT_INHIBITED


@pytest.mark.rule("mqi/async", "MQSTAT says why a put failed that left with its commit.")
@pytest.mark.parametrize("cause", [MQRC.Q_FULL, MQRC.OBJECT_CHANGED])
@pytest.mark.parametrize("has_got", [False, True], ids=["alone", "with a get"])
def test_mqstat_says_why_a_put_that_left_with_its_commit_failed(
    group: TestGroup, connection: QueueManagerConnection, cause: MQRC, *, has_got: bool
) -> None:
    queue, full = connection.open("Q", BOTH), connection.open("FULL", BOTH)
    queue.put(b"request")
    if has_got:
        queue.get(GetOption.SYNCPOINT)
    full.put(b"y", options=LATER)
    if cause == MQRC.Q_FULL:
        group.connect().put1("FULL", b"there")
    else:
        group.repository("QM1").alter("QLOCAL", "FULL", {"description": "altered"})
    with pytest.raises(MQIError, match=cause.name) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.BACKED_OUT
    assert status(full) == (0, 1, MQCC.FAILED, cause, b"FULL")


@pytest.mark.rule("mqi/async", "A new definition that a handle learns of does not change asynchronous puts under way.")
@pytest.mark.parametrize("learns", ["by MQSET", "by a longer message"])
def test_a_new_definition_does_not_change_puts_under_way(
    group: TestGroup, connection: QueueManagerConnection, learns: str
) -> None:
    queue = connection.open("Q", BOTH | OpenOption.SET)
    queue.put(b"early", MQMD(priority=9), options=LATER)
    if learns == "by MQSET":
        queue.set({IntSelector.INHIBIT_PUT: 1})
    else:
        group.repository("QM1").alter("QLOCAL", "Q", {"max_msg_length": 100, "msg_delivery_sequence": "FIFO"})
        queue.put(bytes(100), options=LATER)
    # It would be placed by a sequence, or put despite an attribute, that is no longer in force.
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.BACKED_OUT
    assert drain(queue) == []


def test_after_a_commit_that_failed_no_put_goes_by_what_was_altered_before(group: TestGroup) -> None:
    """Also a put that was never sent, because another one had failed."""
    for name in ("FIRST", "SECOND"):
        group.define_shared(name)
    connection = group.connect()
    first, second = (connection.open(name, BOTH) for name in ("FIRST", "SECOND"))
    for queue in (first, second):
        queue.put(b"lost", options=LATER)
        group.repository("QM1").alter("QLOCAL", queue.name, {"description": "altered"})
        if queue is first:
            # This call sends it.
            assert status(first)[1] == 1
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.BACKED_OUT
    for queue in (first, second):
        queue.put(b"kept", options=LATER)
    connection.commit()
    assert drain(first) == drain(second) == [b"kept"]


@pytest.mark.rule("mqi/async", "MQINQ counts the connection's own asynchronous puts in CURDEPTH.")
@pytest.mark.parametrize("end", ["commit", "back out"])
def test_the_depth_counts_them(connection: QueueManagerConnection, end: str) -> None:
    """MQINQ counts it like other uncommitted puts."""
    queue, depth = connection.open("Q", BOTH), IntSelector.CURRENT_Q_DEPTH
    queue.put(b"x", options=PutOption.SYNCPOINT)
    for _ in range(2):
        queue.put(b"x", options=LATER)
    assert queue.inquire(IntSelector.MAX_Q_DEPTH, depth)[depth] == 3
    if end == "commit":
        connection.commit()
    else:
        connection.backout()
    assert queue.inquire(depth)[depth] == (3 if end == "commit" else 0)


@pytest.mark.rule("mqi/async", "MQSTAT of a reconnection is for clients (2012); what is no type of status is 2430.")
def test_other_types_of_status_are_refused_and_take_nothing(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", BOTH)
    queue.put(b"x", options=LATER)
    for status_type, reason in ((1, MQRC.ENVIRONMENT_ERROR), (2, MQRC.ENVIRONMENT_ERROR), (3, MQRC.STAT_TYPE_ERROR)):
        assert verbs.mqstat(queue.connection, MQSTS(), status_type) == (MQCC.FAILED, reason)
    assert status(queue)[:2] == (1, 0)


@pytest.mark.rule("mqi/async", "DEFPRESP(ASYNC) makes puts under syncpoint asynchronous, unless they say otherwise.")
@pytest.mark.parametrize("way", ["Q", "ALIAS"])
@pytest.mark.parametrize(
    ("options", "is_asynchronous"),
    [
        (PutOption.SYNCPOINT, True),
        (PutOption.SYNCPOINT | PutOption.SYNC_RESPONSE, False),
        (PutOption.NO_SYNCPOINT, False),
    ],
)
def test_the_response_that_the_queue_says(
    group: TestGroup, way: str, options: PutOption, is_asynchronous: bool
) -> None:
    group.define_shared("Q", def_put_response="ASYNC" if way == "Q" else "SYNC")
    group.define("QM1", QueueAlias(name="ALIAS", target="Q", def_put_response="ASYNC"))
    queue = group.connect().open(way, OpenOption.OUTPUT)
    queue.connection.is_internal = False
    queue.put(b"x", options=options)
    assert status(queue)[:2] == (int(is_asynchronous), 0)
    # A manager's own program.
    queue.connection.is_internal = True
    queue.put(b"x", options=options)
    assert status(queue)[:2] == (0, 0)
