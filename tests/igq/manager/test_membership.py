"""A manager takes its name, keeps it, and gives it up."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from igq.errors import CommandError
from igq.manager.incarnation import Incarnation, IncarnationEnd
from igq.manager.membership import LOOK, Membership
from recovery.resolution import recover
from recovery.target import due
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from tests.support.members import LEASE_MS, TestGroup
from tests.support.scenes import until
from tests.support.server import Server

pytestmark = pytest.mark.share

INFO = {"pid": 1, "host": "here"}


@pytest.fixture
def empty(redis_server: Server, tmp_path: Path) -> Iterator[Group]:
    """A group without a member, with short leases."""
    test_group = TestGroup(redis_server.url, tmp_path, lease_ms=600)
    yield test_group.group
    test_group.close()


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Group]:
    """A group without a member, on its own server, whose commands are counted."""
    server = Server()
    test_group = TestGroup(server.url, tmp_path)
    yield test_group.group
    test_group.close()
    server.close()


class Waiting:
    """Waits by Redis' clock, by which leases are judged."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.waited_s: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waited_s.append(seconds)
        self._group.client().blpop([f"{self._group.keys.tag}:nobody"], timeout=seconds)


def refuse_to_wait(seconds: float) -> None:
    raise AssertionError(f"there was nothing to wait for, but it waited {seconds} s")


def test_the_first_start_takes_the_name_at_once(empty: Group) -> None:
    membership = Membership.join(empty, "QM1", INFO, refuse_to_wait)

    assert membership.token == "QM1.1"
    member = empty.member("QM1")
    assert member is not None
    assert (member.state, member.incarnation) == ("STARTING", 1)


def test_a_start_waits_for_the_lease_of_a_predecessor_that_renews_no_more(empty: Group) -> None:
    Membership.join(empty, "QM1", INFO, refuse_to_wait)
    waiting = Waiting(empty)

    assert Membership.join(empty, "QM1", INFO, waiting).incarnation == 2
    assert 0 < sum(waiting.waited_s) <= 0.7


def test_a_start_is_refused_while_another_one_renews(empty: Group) -> None:
    first = Membership.join(empty, "QM1", INFO, refuse_to_wait)
    waiting = Waiting(empty)

    def wait_while_the_other_works(seconds: float) -> None:
        waiting(seconds)
        assert first.renew((), look=False).is_held

    with pytest.raises(CommandError, match=r"QM1 is already running \(incarnation 1, pid 1 on here\)"):
        Membership.join(empty, "QM1", INFO, wait_while_the_other_works)


def test_a_late_renewal_of_an_own_earlier_incarnation_refuses_nothing(empty: Group) -> None:
    """It gave up because Redis did not answer. Its last call may arrive while it joins again."""
    first = Membership.join(empty, "QM1", INFO, refuse_to_wait)
    waiting = Waiting(empty)

    def wait_while_the_last_renewal_arrives(seconds: float) -> None:
        waiting(seconds)
        if len(waiting.waited_s) == 1:
            assert first.renew((), look=False).is_held

    second = Membership.join(empty, "QM1", INFO, wait_while_the_last_renewal_arrives, own_incarnation=first.incarnation)
    assert second.incarnation == 2
    assert len(waiting.waited_s) > 1


def test_the_lease_is_renewed_while_a_slow_start_goes_on(empty: Group) -> None:
    membership = Membership.join(empty, "QM1", INFO, refuse_to_wait)
    opened: list[str] = []

    def prepare() -> str:
        Waiting(empty)(2 * empty.settings.lease_ms / 1000)
        return "prepared"

    def open_for_business(prepared: str) -> None:
        opened.append(prepared)
        assert membership.renew((), look=False).is_held
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", "QM1", "enough")

    incarnation = Incarnation(membership, queue.SimpleQueue(), lambda *_, **__: None)
    assert incarnation.run(prepare, open_for_business) is IncarnationEnd.LEASE_LOST
    assert opened == ["prepared"]
    assert incarnation.lost_why.endswith("enough")


def test_a_start_that_may_succeed_is_tried_again_by_the_same_incarnation(empty: Group) -> None:
    membership = Membership.join(empty, "QM1", INFO, refuse_to_wait)
    passing = [MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE]
    said: list[str] = []

    def prepare() -> None:
        if passing:
            raise error_for(passing.pop(), "", "QM1", "a node is away")

    def open_for_business(_prepared: None) -> None:
        raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "", "QM1", "enough")

    incarnation = Incarnation(membership, queue.SimpleQueue(), lambda message_id, **_: said.append(message_id))
    assert incarnation.run(prepare, open_for_business) is IncarnationEnd.LEASE_LOST
    # The connection was lost, a node is away, a structure is in use.
    assert [each for each in said if each.startswith("IGQ000")] == ["IGQ0005E", "IGQ0005E", "IGQ0003E"]
    assert passing == []


def test_a_start_that_cannot_succeed_ends_cleanly(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    full = error_for(MQRC.STORAGE_MEDIUM_FULL, "", "QM2", "no memory")

    def prepare() -> None:
        raise full

    def never(_prepared: None) -> None:
        raise AssertionError("it opened")

    incarnation = Incarnation(membership, queue.SimpleQueue(), lambda *_, **__: None)
    assert incarnation.run(prepare, never) is IncarnationEnd.STOPPED
    assert incarnation.failure is full
    member = group.group.member("QM2")
    assert member is not None
    assert member.state == "STOPPED"
    assert group.group.client().zscore(group.group.keys.leases, "QM2.1") is None


def test_what_a_fail_over_interrupts_is_done_again(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """The group has told of a change, and its new settings could not be read."""
    membership, inbox = (
        Membership.join(group.group, "QM2", INFO, refuse_to_wait),
        queue.SimpleQueue[Callable[[], None]](),
    )
    tries: queue.SimpleQueue[str] = queue.SimpleQueue()

    def learn(_: Incarnation) -> None:
        tries.put("a try")
        if tries.qsize() == 1:
            raise error_for(MQRC.CONNECTION_BROKEN, "", "QM2", "Redis fails over")

    monkeypatch.setattr(Incarnation, "_learn_settings", learn)
    incarnation = Incarnation(membership, inbox, lambda *_, **__: None)
    incarnation._structures_due_s = time.monotonic() + 3600
    told = incarnation._failures_told + 1
    for expected in (1, 2, 2):
        incarnation._look_at_structures(told)
        incarnation.worker.submit(lambda: inbox.put(lambda: None))
        until(lambda: not inbox.empty(), "the worker has done it")
        while not inbox.empty():
            inbox.get()()
        until(lambda expected=expected: tries.qsize() == expected, "it was tried")  # type: ignore[misc]
    incarnation.worker.end()
    incarnation._peers.close()


@pytest.mark.invariant(2)
def test_a_replaced_incarnation_is_recovered_and_never_renewed(group: TestGroup) -> None:
    """It was paused past its lease, and no peer had claimed it when the next start took the name."""
    keys = group.group.keys
    first = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    process, _ = first.new_process("manager")
    first.tell(state="RUNNING")
    program = group.process("QM2")
    group.group.client().zadd(keys.leases, {first.token: 1})
    second = Membership.join(group.group, "QM2", INFO, refuse_to_wait)

    for look, ask in ((False, True), (True, False), (True, True)):
        renewal = first.renew([process.token], look=look, ask=ask)
        assert not renewal.is_held
        assert renewal.lost == [process.token]
    reply = group.group.call("admin/renew", [keys.leases, keys.members], [program.token, LEASE_MS, "QM2", 0, 1])
    assert reply[0] == 0
    renewal = second.renew((), look=True)
    assert renewal.is_held
    assert [target.token for target in due(renewal.leases, renewal.now_ms, second.token)] == [first.token]
    assert recover(group.group, group.connect("QM1").connection, first.token).is_resolved


def test_one_call_renews_the_manager_and_its_processes(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    process, _ = membership.new_process("IGQ agent")
    key = group.group.keys.leases
    group.group.client().zadd(key, {membership.token: 1, process.token: 1})

    renewal = membership.renew([process.token, "QM2.1.999"], look=True)

    assert renewal.is_held
    assert renewal.lost == ["QM2.1.999"]
    assert renewal.member["incarnation"] == 1
    leases = dict(renewal.leases)
    assert leases[membership.token] == leases[process.token] == renewal.now_ms + group.settings.lease_ms


def watched(membership: Membership) -> list[str]:
    """The targets that the watch of a manager would recover now."""
    renewal = membership.renew((), look=True)
    assert [at for _, at in renewal.leases if at > renewal.now_ms], "nothing to plan the next look by"
    return [target.token for target in due(renewal.leases, renewal.now_ms, membership.token)]


def test_programs_of_a_living_peer_do_not_hide_a_dead_one(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    group.add_member("QM3")
    client, key = group.group.client(), group.group.keys.leases
    client.zadd(key, {f"QM1.1.{900 + n}": 1 for n in range(2 * LOOK)})
    client.zadd(key, {f"!QM1.1.{800 + n}": 1 for n in range(LOOK)})
    assert watched(membership) == []
    client.zadd(key, {"QM3.1": 2} | {f"QM2.1.{900 + n}": 1 for n in range(LOOK)})
    assert watched(membership) == ["QM3.1", *(f"QM2.1.{900 + n}" for n in range(LOOK))]
    client.zadd(key, {f"QM3.1.{900 + n}": 1 for n in range(LOOK)})
    assert watched(membership)[0] == "QM3.1"


def test_hundreds_that_have_run_out_are_shown_by_one_look(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    lost = [f"QM2.1.7.{number}" for number in range(400)]
    group.group.client().zadd(group.group.keys.leases, dict.fromkeys(lost, 1))
    assert sorted(watched(membership)) == sorted(lost)


def test_a_dead_peer_after_any_number_of_leases_is_found_by_a_look(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    group.add_member("QM3")
    group.group.client().zadd(group.group.keys.leases, {"QM3.1": 2} | {f"QM1.1.{900 + n}": 1 for n in range(600)})
    until(lambda: watched(membership) == ["QM3.1"], "the dead manager is found")


def cost_of_a_beat(membership: Membership, processes: list[str], **what: bool) -> int:
    """Commands of Redis, with those of the script."""

    def commands() -> int:
        return sum(int(each["calls"]) for each in client.info("commandstats").values())

    client = membership.group.client()
    # Two renewals within one millisecond change no deadline, and the second one checks whether there is any.
    time.sleep(0.002)
    before = commands()
    assert membership.renew(processes, **what).is_held
    # INFO counts itself after it has answered.
    return commands() - before - 1


@pytest.mark.parametrize("others", [2, 63])
def test_a_beat_costs_no_more_in_a_larger_group(counted: Group, others: int) -> None:
    membership = Membership.join(counted, "QM1", INFO, refuse_to_wait)
    process, _ = membership.new_process("IGQ agent")
    for number in range(others):
        other = Membership.join(counted, f"QM{number + 2}", INFO, refuse_to_wait)
        other.new_process("manager")
        other.new_process("IGQ agent")
    processes = [process.token]
    membership.renew(processes, look=True)
    assert cost_of_a_beat(membership, processes, look=False, ask=True) == 4
    assert cost_of_a_beat(membership, processes, look=True, ask=False) == 4
    assert cost_of_a_beat(membership, processes, look=True, ask=True) == 5


def test_a_look_knows_of_what_the_same_call_renews(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    process, _ = membership.new_process("IGQ agent")
    key = group.group.keys.leases
    now_ms = membership.renew([process.token], look=False).now_ms
    soon_ms = now_ms + LEASE_MS // 4
    group.group.client().zadd(key, {membership.token: soon_ms, process.token: soon_ms, "QM1.1.7": soon_ms + 1})
    renewal = membership.renew([process.token], look=True, ask=False)
    leases = dict(renewal.leases)
    assert leases[membership.token] == leases[process.token] == renewal.now_ms + LEASE_MS
    assert min(leases.values()) == leases["QM1.1.7"] == soon_ms + 1


def test_a_lease_that_a_peer_has_claimed_cannot_be_renewed(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    group.group.client().zrem(group.group.keys.leases, membership.token)

    assert not membership.renew((), look=False).is_held


def test_a_manager_does_not_leave_while_a_program_uses_it(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    own, _ = membership.new_process("manager")
    membership.tell(state="RUNNING")
    program = group.process("QM2")

    assert membership.programs([own.token]) == [program.token]
    assert not membership.leave([own.token])
    program.end()
    assert membership.programs([own.token]) == []
    assert membership.leave([own.token])


def test_no_process_registers_under_an_ended_incarnation(group: TestGroup) -> None:
    membership = Membership.join(group.group, "QM2", INFO, refuse_to_wait)
    membership.tell(state="RUNNING")
    assert membership.leave([])

    with pytest.raises(MQIError) as caught:
        Process.register(group.group, "QM2")

    assert caught.value.reason == MQRC.Q_MGR_NOT_AVAILABLE
    member = group.group.member("QM2")
    assert member is not None
    assert member.state == "STOPPED"


def test_a_later_incarnation_is_not_spoken_for_by_an_earlier_one(empty: Group) -> None:
    first = Membership.join(empty, "QM1", INFO, refuse_to_wait)
    Membership.join(empty, "QM1", INFO, Waiting(empty))

    for act in (lambda: first.tell(state="RUNNING"), lambda: first.leave([])):
        with pytest.raises(MQIError) as caught:
            act()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN


def test_housekeeping_is_done_by_one_manager_of_the_group(group: TestGroup) -> None:
    def claim(job: str, interval_ms: int) -> int:
        return int(group.group.call("admin/claim_job", [group.group.keys.group], [job, interval_ms]))

    assert [claim("expiry", 60_000), claim("expiry", 60_000), claim("other", 60_000)] == [1, 0, 1]
    assert claim("expiry", 0) == 1
