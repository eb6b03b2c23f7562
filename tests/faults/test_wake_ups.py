"""No wake-up is lost: not by a waiter that gives up, nor by one that the message does not fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import copy

import pytest

from sharedq import MQIError, Queue
from sharedq.getting import get
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.waiting import stop_waiting
from tests.recovery.scene import register_wait
from tests.support.members import TestGroup
from tests.support.scenes import keys_of, on_queue, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
CORREL = b"C" * 24


def waiters(group: TestGroup) -> int:
    return group.group.client().zcard(group.group.structure("APPL1").queue("Q").waiters)


def state_of(group: TestGroup, queue: Queue) -> object:
    """What the structure knows of a connection's waiting: "" not, "W"... waiting, "K"... woken, not yet back."""
    return group.group.client().hget(group.group.structure("APPL1").owners, queue.connection.token)


@pytest.mark.parametrize("waiter", [b"A", b"C" + CORREL], ids=["any message", "by CorrelId"])
def test_one_that_gives_up_passes_its_wake_up_on(group: TestGroup, waiter: bytes) -> None:
    """It was woken in the moment that its interval ended."""
    group.define_shared("Q")
    both = [group.connect().open("Q", BOTH) for _ in range(2)]
    for queue in both:
        register_wait(queue, waiter)
    group.connect().put1("Q", b"1", MQMD(correl_id=CORREL))
    woken, other = sorted(both, key=lambda queue: state_of(group, queue) != b"KQ")
    assert waiters(group) == 1

    stop_waiting(woken.connection, woken.handle)

    assert (state_of(group, woken), state_of(group, other)) == (b"", b"KQ")
    assert waiters(group) == 0
    assert other.get().body == b"1"


def test_one_that_gives_up_unwoken_wakes_nobody(group: TestGroup) -> None:
    group.define_shared("Q")
    first, second = (group.connect().open("Q", BOTH) for _ in range(2))
    register_wait(first, b"A")
    register_wait(second, b"A")
    stop_waiting(first.connection, first.handle)
    assert state_of(group, first) == b""
    assert waiters(group) == 1


def test_a_message_that_does_not_fit_whom_it_woke_wakes_the_next(group: TestGroup) -> None:
    """A MsgId that igq made names the message alone; whether the CorrelId fits is seen by whoever is woken."""
    group.define_shared("Q")
    putter, picky, general = (group.connect().open("Q", BOTH) for _ in range(3))
    md = putter.put(b"1", options=PutOption.SYNCPOINT)
    wanted = MQMD(msg_id=md.msg_id, correl_id=CORREL)
    match = MatchOption.MATCH_MSG_ID | MatchOption.MATCH_CORREL_ID
    with ThreadPoolExecutor(2) as pool:
        in_vain = pool.submit(picky.get, GetOption.WAIT, wait_ms=60_000, match=wanted, match_options=match)
        until(lambda: waiters(group) == 1, "the picky one waits")
        taken = pool.submit(general.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: waiters(group) == 2, "both wait")
        putter.connection.commit()
        assert taken.result(30).body == b"1"
        assert not in_vain.done()
        picky.connection.interrupt()
        with pytest.raises(MQIError):
            in_vain.result(30)


def test_a_wait_that_an_alter_ends_leaves_no_waiter(group: TestGroup) -> None:
    group.define_shared("Q")
    group.define_shared("OTHER")
    connection = group.connect()
    queue, other = connection.open("Q", BOTH), connection.open("OTHER", BOTH)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: waiters(group) == 1, "it waits")
        group.repository("QM1").alter("QLOCAL", "Q", {"get": "DISABLED"})
        with pytest.raises(MQIError) as caught:
            waiting.result(30)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert state_of(group, queue) == b""
    # A wait left behind would have this one refused with 2219.
    other.put(b"1")
    assert other.get(GetOption.WAIT, wait_ms=1).body == b"1"
    assert on_queue(group, "Q") == []


def test_a_queue_that_is_deleted_wakes_who_waits_there_without_a_handle(group: TestGroup) -> None:
    """As the agent does: the shared transmit queue can be deleted under it."""
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    handle = copy(queue.handle)
    queue.close()
    with ThreadPoolExecutor(1) as pool:
        gmo = MQGMO(options=GetOption.WAIT, wait_interval=60_000)
        waiting = pool.submit(get, queue.connection, handle, MQMD(), gmo)
        until(lambda: waiters(group) == 1, "it waits")
        group.repository("QM1").delete("QLOCAL", "Q")
        with pytest.raises(MQIError) as caught:
            waiting.result(30)
    assert caught.value.reason == MQRC.Q_DELETED
    assert state_of(group, queue) == b""
    assert keys_of(group, "?:Q") == []
