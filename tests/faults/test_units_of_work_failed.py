"""Units of work over a structure that fails: what depended on it is backed out, and nothing is half done."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq.admin.backup.restoration import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from tests.support.backups import lose, persistent
from tests.support.groups import drain
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import recover_lost

pytestmark = pytest.mark.share

ALL = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE | OpenOption.SET


def work_in_both(connection: QueueManagerConnection, options: int = 0) -> tuple[Queue, Queue]:
    queue, other = connection.open("Q", ALL), connection.open("OTHER", ALL)
    queue.get(GetOption.SYNCPOINT)
    for each in (queue, other):
        each.put(b"work", persistent(), options=PutOption.SYNCPOINT | options)
    return queue, other


@pytest.mark.rule(
    "mqi/reasons", "MQCMIT of a unit of work that touched a failed structure backs out everywhere (2003)."
)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_recovered", [False, True])
def test_a_unit_of_work_that_did_something_there_is_backed_out_everywhere(
    used: TestGroup, is_recovered: bool, is_async: bool
) -> None:
    connection = used.connect()
    queue, other = work_in_both(connection, int(PutOption.ASYNC_RESPONSE) if is_async else 0)
    lose(used)
    if is_recovered:
        recover(used.group, "APPL1")
    assert reason_of(lambda: queue.put(b"more", options=PutOption.SYNCPOINT)) == MQRC.CF_STRUC_FAILED
    other.put(b"more", options=PutOption.SYNCPOINT)
    assert reason_of(connection.commit) == MQRC.BACKED_OUT

    other.put(b"next", options=PutOption.SYNCPOINT)
    connection.commit()
    assert drain(other) == [b"next"]
    if not is_recovered:
        recover(used.group, "APPL1")
    with connection.open("Q", ALL) as anew:
        assert drain(anew) == [b"kept"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_unit_of_work_that_did_nothing_elsewhere_is_backed_out(used: TestGroup, is_async: bool) -> None:
    connection = used.connect()
    with connection.open("Q", ALL) as queue:
        queue.put(b"work", options=PutOption.SYNCPOINT | (PutOption.ASYNC_RESPONSE if is_async else 0))
        lose(used)
        assert reason_of(connection.commit) == MQRC.BACKED_OUT
        connection.commit()


def test_the_end_of_a_unit_of_work_in_gets_is_a_backout_too(used: TestGroup) -> None:
    connection = used.connect()
    queue = connection.open("Q", ALL)
    queue.get(GetOption.SYNCPOINT)
    lose(used)
    assert reason_of(lambda: queue.commit_and_get(GetOption.SYNCPOINT)) == MQRC.BACKED_OUT
    recover(used.group, "APPL1")
    with connection.open("Q", ALL) as anew:
        assert drain(anew) == [b"kept"]


@pytest.mark.rule("mqi/reasons", "A commit that finds one of several structures failed ends with 2123.")
def test_a_commit_that_finds_it_failed_says_that_a_part_of_it_is_lost(used: TestGroup) -> None:
    connection = used.connect()
    _, other = work_in_both(connection)
    lose(used)
    assert reason_of(connection.commit) == MQRC.OUTCOME_MIXED
    other.put(b"next", options=PutOption.SYNCPOINT)
    connection.commit()
    assert drain(other) == [b"work", b"next"]
    connection.disconnect()
    decisions = used.group.keys.decisions
    assert used.group.command(decisions, "HLEN", decisions) == 0


def test_messages_of_the_get_sent_with_such_a_commit_are_put_back(used: TestGroup) -> None:
    """The program only learns of the commit: it would never see that message."""
    connection = used.connect()
    queue, other = connection.open("Q", ALL), connection.open("OTHER", ALL)
    for body in (b"first", b"second"):
        other.put(body)
    assert other.get(GetOption.SYNCPOINT).body == b"first"
    queue.put(b"lost", options=PutOption.SYNCPOINT)
    lose(used)
    assert reason_of(lambda: other.commit_and_get(GetOption.SYNCPOINT)) == MQRC.OUTCOME_MIXED
    connection.commit()
    assert drain(other) == [b"second"]


@pytest.mark.parametrize("is_handed", [False, True])
def test_a_wait_that_began_with_such_a_commit_is_over(
    used: TestGroup, monkeypatch: pytest.MonkeyPatch, is_handed: bool
) -> None:
    """A message that came for it in that moment is for others: the program learns of the commit alone."""
    connection, putter = used.connect(), used.connect()
    queue, other = connection.open("Q", ALL), connection.open("OTHER", ALL)
    other.put(b"first")
    assert other.get(GetOption.SYNCPOINT).body == b"first"
    queue.put(b"lost", options=PutOption.SYNCPOINT)
    lose(used)
    call_apart = connection.connection.call_apart
    waiters = used.group.structure(other.handle.structure.keys.name).queue("OTHER").waiters

    def call_and_put(calls: Any) -> Any:
        replies = call_apart(calls)
        assert used.group.client().zcard(waiters) == 1
        if is_handed:
            putter.put1("OTHER", b"second")
        return replies

    monkeypatch.setattr(connection.connection, "call_apart", call_and_put)
    wait = GetOption.SYNCPOINT | GetOption.WAIT
    assert reason_of(lambda: other.commit_and_get(wait, wait_ms=60_000)) == MQRC.OUTCOME_MIXED
    assert used.group.client().zcard(waiters) == 0
    monkeypatch.undo()
    connection.commit()
    assert drain(other) == ([b"second"] if is_handed else [])


@pytest.mark.parametrize("end", ["MQBACK", "MQDISC"])
def test_mqback_and_mqdisc_end_it(used: TestGroup, end: str) -> None:
    connection = used.connect()
    work_in_both(connection)
    lose(used)
    if end == "MQBACK":
        connection.backout()
        connection.commit()
        connection.disconnect()
    else:
        assert reason_of(connection.disconnect) == MQRC.OUTCOME_MIXED
    assert connection.connection.is_ended
    with used.connect().open("OTHER", ALL) as other:
        assert drain(other) == ([] if end == "MQBACK" else [b"work"])
    assert not used.group.command(
        used.group.keys.owners, "HEXISTS", used.group.keys.owners, connection.connection.token
    )


def test_prepare_is_refused(used: TestGroup) -> None:
    connection = used.connect()
    queue, _ = work_in_both(connection)
    lose(used)
    assert reason_of(queue.get) == MQRC.CF_STRUC_FAILED
    assert reason_of(lambda: connection.prepare(b"xid")) == MQRC.BACKED_OUT
    assert connection.recover() == []


def test_a_fenced_program_learns_of_the_fence_not_of_the_structure(used: TestGroup) -> None:
    connection = used.connect()
    queue = connection.open("Q", ALL)
    token = connection.connection.token
    admin = used.group.keys

    def shut_out(token: str) -> None:
        used.group.call("admin/abandon", [admin.leases, admin.owners, admin.fence], [token])

    shut_out(token)
    lose(used)
    assert reason_of(queue.get) == MQRC.CONNECTION_BROKEN
    assert connection.connection.is_ended

    other = used.connect()
    queue = other.open("OTHER", ALL)
    shut_out(other.connection.token)
    recover_lost(used, other.connection.token)
    lose(used, "APPL2")
    assert reason_of(queue.get) == MQRC.CONNECTION_BROKEN


def test_a_dead_programs_work_in_other_structures_is_backed_out(used: TestGroup) -> None:
    connection = used.connect()
    work_in_both(connection)
    lose(used)
    connection.connection.break_off()
    recover_lost(used, connection.connection.token)
    recover(used.group, "APPL1")
    for name, expected in (("Q", [b"kept"]), ("OTHER", [])):
        with used.connect().open(name, ALL) as queue:
            assert drain(queue) == expected


def test_old_handles_and_work_are_gone_even_if_registrations_are_left(used: TestGroup) -> None:
    """Not everything was lost: an owner that was registered there still is, with a unit of work."""
    connection = used.connect()
    queue, _ = work_in_both(connection)
    keys = used.group.structure("APPL1")
    used.group.client().delete(keys.queue("Q").queue, keys.messages, keys.sequence)
    recover(used.group, "APPL1")
    assert reason_of(connection.commit) == MQRC.OUTCOME_MIXED
    assert reason_of(queue.get) == MQRC.CF_STRUC_FAILED
    with connection.open("Q", ALL) as anew:
        anew.put(b"anew", options=PutOption.SYNCPOINT)
        connection.commit()
        assert drain(anew) == [b"kept", b"anew"]
        state = used.group.client().hgetall(keys.queue("Q").queue)
        assert {name: state[name] for name in (b"pu", b"gu") if int(state.get(name, 0))} == {}
