"""A process stops before its lease ends, counted from before its last renewal was sent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from sharedq.members import lease
from sharedq.members import process as owner
from sharedq.members.lease import RENEWALS_PER_LEASE, SAFETY_PART
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.links import Links
from tests.support.members import LEASE_MS, TestGroup
from tests.support.scenes import dump, until

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
LEASE_S = LEASE_MS / 1000
SAFE_S = LEASE_S * (1 - SAFETY_PART)


@dataclass
class Clock:
    """A monotonic clock that a test sets."""

    now_s: float = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (owner, lease):
        monkeypatch.setattr(module, "time", clock)
    return clock


def renew(process: Process) -> None:
    """The work of the lease's thread when it is due."""
    process._renew()


def while_renewing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something between the moment a renewal is sent and its reply."""
    call = Links.call

    def call_then_act(self: Links, name: str, keys: object, args: object) -> object:
        reply = call(self, name, keys, args)  # type: ignore[arg-type]
        if name == "admin/renew":
            act()
        return reply

    monkeypatch.setattr(Links, "call", call_then_act)


def test_calls_are_refused_before_the_lease_can_have_ended(
    group: TestGroup, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.define_shared("Q")
    process = group.process()
    # A call asks for a renewal first, which would revive the process.
    monkeypatch.setattr(process, "_renew", lambda: False)
    connection = group.connect(process=process)
    queue = connection.open("Q", BOTH)
    clock.now_s += SAFE_S - 0.001
    queue.put(b"in time")
    clock.now_s += 0.001
    assert clock.now_s < 1000.0 + LEASE_S
    before = dump(group, without=("leases",))
    for call in (lambda: queue.put(b"late"), connection.commit, lambda: queue.get(GetOption.SYNCPOINT)):
        with pytest.raises(MQIError) as caught:
            call()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert dump(group, without=("leases",)) == before
    assert not process.is_alive


@pytest.mark.invariant(2)
def test_time_counts_from_before_the_renewal_was_sent(
    group: TestGroup, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = group.process()

    def reply_takes_long() -> None:
        clock.now_s += SAFE_S / 2

    while_renewing(monkeypatch, reply_takes_long)
    clock.now_s += SAFE_S / 2
    renew(process)
    assert process.is_alive
    clock.now_s += SAFE_S / 2 - 0.001
    assert process.is_alive
    clock.now_s += 0.001
    assert not process.is_alive


def test_a_renewal_answered_too_late_is_repeated(
    group: TestGroup, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis stood still for longer than the lease is safe, but no longer: the process goes on."""
    process = group.process()
    answers: list[float] = [SAFE_S, SAFE_S + 1, 0.0]

    def reply_takes_long() -> None:
        clock.now_s += answers.pop(0)

    while_renewing(monkeypatch, reply_takes_long)
    clock.now_s += SAFE_S
    process.check()
    assert answers == []
    assert process.is_alive


def test_a_renewal_that_fails_prolongs_nothing(group: TestGroup, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    process = group.process()

    def fail(*_: object) -> object:
        raise error_for(MQRC.CONNECTION_BROKEN, "", "", "nobody answers")

    monkeypatch.setattr(Links, "call", fail)
    for _ in range(RENEWALS_PER_LEASE):
        clock.now_s += SAFE_S / RENEWALS_PER_LEASE
        renew(process)
    assert not process.is_alive


def test_a_late_start_of_the_clock_is_not_assumed(group: TestGroup, clock: Clock) -> None:
    """Registering takes time too. The lease began when Redis wrote it, no earlier than the request was sent."""
    sent_at_s = clock.now_s
    process = group.process()
    clock.now_s = sent_at_s + SAFE_S
    assert not process.is_alive


@pytest.mark.unaccounted("a lease is taken away by hand")
def test_a_claimed_lease_ends_running_calls_at_once(group: TestGroup) -> None:
    """The renewal finds the lease gone: a program that waits in Redis is told, even if the clock says there is time."""
    group.define_shared("Q")
    process = group.process()
    queue = group.connect(process=process).open("Q", BOTH)
    client, keys = group.group.client(), group.group.keys
    client.zrem(keys.leases, process.token)
    assert process.is_alive
    waiters = group.group.structure("APPL1").queue("Q").waiters

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.get, GetOption.WAIT, wait_ms=-1)
        until(lambda: client.zcard(waiters) == 1, "it waits")
        renew(process)
        with pytest.raises(MQIError) as caught:
            waiting.result(30)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert not process.is_alive


def test_a_lost_connection_is_reported_before_the_next_renewal(group: TestGroup) -> None:
    process = group.process()
    connection = group.connect(process=process).connection
    connection.break_off()
    until(lambda: group.group.client().zscore(group.group.keys.leases, connection.token) is not None, "it is told")
    assert process.is_alive


def test_a_connection_that_misses_the_quiesce_does_not_end_the_renewals(group: TestGroup) -> None:
    process = group.process()
    told: list[str] = []

    class Deaf:
        def interrupt(self) -> None:
            told.append("interrupt")

        def notice_quiescing(self) -> None:
            told.append("quiescing")
            raise redis.ConnectionError("nobody answers")

        def look_again(self) -> None:
            told.append("structures")

        def shut_out(self, token: str) -> None:
            told.append(f"shut out {token}")

        def keep_alive(self) -> None:
            told.append("kept alive")

        def end_if_silent(self, limit_s: float, _period_s: float) -> None:
            told.append(f"silent for {limit_s} s")

    deaf = Deaf()
    process.add(deaf)
    client, keys = group.group.client(), group.group.keys
    member: Any = client.hget(keys.members, "QM1")
    client.hset(keys.members, "QM1", member.replace(b"RUNNING", b"QUIESCING"))
    renew(process)
    # The call is made in its own thread.
    until(lambda: told, "it is told")
    assert told == ["quiescing"]
    assert process.is_quiescing
    assert process.is_alive


def test_a_process_without_its_lease_ends_without_waiting_for_redis(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis may be out of reach, and each attempt to connect to it takes seconds."""
    process = group.process()
    connection = group.connect(process=process)
    process._lose("a test")
    monkeypatch.setattr(Links, "call", lambda *_: pytest.fail("it asks Redis"))
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    connection.disconnect()
    process.end()
