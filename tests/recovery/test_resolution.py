"""The work that a dead manager, program or connection left, after its recovery."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from recovery.accounting.account import account
from recovery.claim import recoveries
from recovery.leftovers import RECOVERIES_KEPT
from recovery.resolution import Outcome, Phase, RecoveryReport
from recovery.structure import CHUNK_HANDLES
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.errors import MQIError
from tests.recovery.scene import BOTH, DEAD, LARGE, RESOLVED, TAG, Scene
from tests.support.groups import LSEG, SEG, drain, matching, put_member
from tests.support.waits import until_waiting

pytestmark = pytest.mark.share


@pytest.mark.invariant(5)
def test_everything_a_dead_manager_left_is_completed_or_backed_out(scene: Scene) -> None:
    scene.leave_everything()
    report = scene.recover()
    assert report.is_resolved
    assert scene.outcome() == RESOLVED


def test_the_wake_up_of_a_dead_waiter_goes_to_one_that_lives(scene: Scene) -> None:
    scene.leave_everything()
    scene.recover()
    assert scene.waiter is not None
    wake_key = scene.structure("APPL1").wake + scene.waiter.connection.token
    assert scene.test.group.client().llen(wake_key) == 1
    assert scene.waiter.get(GetOption.WAIT, wait_ms=1).body == b"late"


def test_more_handles_than_a_call_gives_back_are_all_given_back(scene: Scene) -> None:
    victim = scene.victim("opening")
    queues = [victim.open("HELD", BOTH) for _ in range(CHUNK_HANDLES + 1)]
    scene.expire(DEAD)
    handles = scene.structure("APPL1").queue("HELD").handles
    assert scene.test.group.client().hlen(handles) == len(queues)
    assert scene.recover().is_resolved
    assert scene.test.group.client().hlen(handles) == 0
    assert scene.left_of() == []


def test_a_dead_programs_locks_stay_until_its_recovery_serves_waiters(
    scene: Scene,
) -> None:
    scene.fill()
    scene.leave_locked()
    waiter = scene.test.connect("QM2").open("HELD", BOTH)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(waiter.get, GetOption.WAIT, wait_ms=60_000)
        until_waiting(scene.test, "HELD", 1)
        scene.expire(DEAD)
        assert scene.messages("APPL1", "HELD") == []
        assert not future.done()
        scene.recover()
        message = future.result(20)
    assert (message.body, message.md.backout_count) == (b"held", 0)
    assert scene.left_of() == []


@pytest.mark.rule("mqi/locks", "UNLOCK, MQCLOSE, MQDISC and the end of the program end a lock.")
def test_all_segments_that_a_dead_program_had_locked_come_back_together(scene: Scene) -> None:
    queue = scene.victim("locking").open("HELD", BOTH)
    for offset, flags in ((0, SEG), (1, SEG), (2, LSEG)):
        put_member(queue, b"s", 1, b"%d" % offset, flags, offset=offset, correl_id=b"C" * 24, expiry=10_000)
    assert queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK | GetOption.COMPLETE_MSG).body == b"012"
    scene.expire(DEAD)
    living = scene.test.connect("QM2").open("HELD", BOTH)
    assert drain(living) == []
    scene.recover()
    assert living.get(GetOption.COMPLETE_MSG, **matching(correl_id=b"C" * 24)).body == b"012"
    keys, client = scene.structure("APPL1"), scene.test.group.client()
    assert client.exists(keys.queue("HELD").locks, keys.queue("HELD").index, keys.expiry) == 0


@pytest.mark.rule(
    "igq/serialization", "The agent's tag is refused (2271) until every unit of work of its dead user is resolved."
)
@pytest.mark.invariant(6)
def test_the_tag_is_refused_until_its_dead_holders_work_is_resolved(scene: Scene) -> None:
    """IBM MQ for z/OS: serialization of applications across a queue-sharing group."""
    scene.leave_everything()
    refused: list[Phase] = []

    def try_tag(phase: Phase, _report: RecoveryReport) -> None:
        if phase is Phase.RESOLVED:
            return
        with pytest.raises(MQIError) as caught:
            scene.test.connect("QM3", tag=TAG)
        assert caught.value.reason == MQRC.CONN_TAG_IN_USE
        refused.append(phase)

    assert scene.recover(on_phase=try_tag).is_resolved
    assert set(refused) == {Phase.DETECTED, Phase.CLAIMED, Phase.FENCED, Phase.RESOLVING}
    scene.test.connect("QM3", tag=TAG)


@pytest.mark.rule(
    "igq/serialization", "A restarted manager runs while its past is recovered, but its agent's tag is refused (2271)."
)
def test_a_restarted_manager_runs_during_its_recovery_without_its_tag(scene: Scene) -> None:
    scene.leave_everything()
    scene.test.add_member("QM1")
    assert scene.test.connect("QM1").open("ORDERS", BOTH).get().body == b"3"
    with pytest.raises(MQIError) as caught:
        scene.test.connect("QM1", tag=TAG)
    assert caught.value.reason == MQRC.CONN_TAG_IN_USE

    assert scene.recover("QM1").is_resolved
    scene.test.connect("QM1", tag=TAG)
    member = scene.test.group.member("QM1")
    assert member is not None
    assert (member.incarnation, member.state) == (2, "RUNNING")


def test_the_phases_come_in_order_and_stand_in_the_status(scene: Scene) -> None:
    scene.leave_everything()
    phases: list[Phase] = []
    seen: list[str] = []

    def note(phase: Phase, _report: RecoveryReport) -> None:
        phases.append(phase)
        seen.extend(each.state for each in recoveries(scene.test.group))

    report = scene.recover(on_phase=note)

    assert list(dict.fromkeys(phases)) == [phase for phase in Phase if phase is not Phase.DELAYED]
    assert list(dict.fromkeys(seen)) == ["CLAIMED", "FENCED", "RESOLVING", "RESOLVED"]
    (recovery,) = recoveries(scene.test.group)
    assert recovery == report.recovery
    assert (recovery.failed, recovery.by, recovery.claims) == (DEAD, "QM2", 1)
    # decided (3 structures), undecided (2), half committed, half backed out: each is one unit of work.
    assert recovery.units_of_work == report.units_of_work == 4
    assert recovery.messages == report.messages == 3 + 3 + (LARGE - 500) + 100
    names, times = zip(*recovery.moments, strict=True)
    assert names == ("lease ended", "detected", "claimed", "fenced", "resolving", "resolved")
    assert list(times) == sorted(times)
    assert recovery.seconds == (times[-1] - times[1]) / 1000


def test_the_member_has_failed_then(scene: Scene) -> None:
    scene.expire(DEAD)
    scene.recover()
    member = scene.test.group.member("QM1")
    assert member is not None
    assert member.state == "FAILED"


def test_a_second_recovery_finds_nothing(scene: Scene) -> None:
    scene.leave_everything()
    scene.recover()
    before = scene.outcome()
    assert scene.recover("QM3").outcome is Outcome.NOTHING
    assert scene.recover("QM3", force=True).outcome is Outcome.NOTHING
    assert scene.outcome() == before


def test_the_manager_recovers_a_dead_program_and_its_neighbours_go_on(scene: Scene) -> None:
    scene.fill()
    scene.leave_undecided()
    neighbour = scene.test.connect("QM1")
    orders = neighbour.open("ORDERS", BOTH)
    orders.put(b"4", options=PutOption.SYNCPOINT)
    victim = scene.victims["undecided"].connection.process.token
    scene.expire(victim)

    assert scene.recover("QM1", victim).is_resolved

    neighbour.commit()
    assert scene.messages("APPL1", "ORDERS") == [(b"1", 1), (b"2", 0), (b"3", 0), (b"4", 0)]
    assert scene.left_of(victim) == []


def test_a_lost_connection_is_recovered_and_its_process_goes_on(scene: Scene) -> None:
    scene.fill()
    process = scene.test.process("QM1")
    lost, other = scene.test.connect("QM1", process), scene.test.connect("QM1", process)
    lost.open("ORDERS", BOTH).get(GetOption.SYNCPOINT)
    kept = other.open("ORDERS", BOTH)
    assert kept.get(GetOption.SYNCPOINT).body == b"2"
    group, keys = scene.test.group, scene.test.group.keys
    group.call("admin/abandon", [keys.leases, keys.owners, keys.fence], [lost.connection.token])

    assert scene.recover("QM1", lost.connection.token).is_resolved

    assert scene.messages("APPL1", "ORDERS") == [(b"1", 1), (b"3", 0)]
    other.backout()
    assert scene.messages("APPL1", "ORDERS") == [(b"1", 1), (b"2", 1), (b"3", 0)]
    assert scene.left_of(lost.connection.token) == []


def test_a_connection_of_a_claimed_process_gets_no_lease_of_its_own(scene: Scene) -> None:
    scene.fill()
    scene.leave_undecided()
    victim = scene.victims["undecided"].connection
    scene.expire(DEAD)
    group, keys = scene.test.group, scene.test.group.keys

    def abandon(phase: Phase, _report: RecoveryReport) -> None:
        if phase is Phase.FENCED:
            group.call("admin/abandon", [keys.leases, keys.owners, keys.fence], [victim.token])

    scene.recover(on_phase=abandon)
    assert scene.left_of() == []


def test_the_tag_of_a_lost_connection_may_have_a_new_holder_by_then(scene: Scene) -> None:
    process = scene.test.process("QM1")
    lost = scene.test.connect("QM1", process, tag=TAG).connection
    group, keys = scene.test.group, scene.test.group.keys
    group.call("admin/abandon", [keys.leases, keys.owners, keys.fence], [lost.token])
    scene.expire(process.token)

    def meanwhile(phase: Phase, _report: RecoveryReport) -> None:
        if phase is Phase.RESOLVING:
            assert scene.recover("QM1", lost.token, force=True).is_resolved
            scene.test.connect("QM3", tag=TAG)

    assert scene.recover("QM1", process.token, on_phase=meanwhile).is_resolved
    with pytest.raises(MQIError) as caught:
        scene.test.connect("QM2", tag=TAG)
    assert caught.value.reason == MQRC.CONN_TAG_IN_USE


def test_programs_of_a_dead_manager_lose_their_leases(scene: Scene) -> None:
    process = scene.test.process("QM1")
    scene.expire(DEAD)
    scene.recover()
    group, keys = scene.test.group, scene.test.group.keys
    held = group.call("admin/renew", [keys.leases, keys.members], [process.token, 60_000, "QM1", 0, 1])[0]
    assert held == 0


def test_a_manager_that_stops_recovers_itself_and_leaves_nothing(scene: Scene) -> None:
    scene.leave_everything_but_expiry()
    last = scene.test.connect("QM1")
    report = scene.recover_over(last.connection, DEAD, force=True, state="STOPPED")
    assert report.is_resolved
    last.disconnect()
    last.connection.process.end()

    assert scene.outcome() == RESOLVED
    member = scene.test.group.member("QM1")
    assert member is not None
    assert member.state == "STOPPED"
    assert scene.recover("QM2").outcome is Outcome.NOTHING


def test_the_fence_of_a_program_goes_with_its_recovery(scene: Scene) -> None:
    process = scene.test.process("QM1")
    connection = scene.test.connect("QM1", process)
    connection.open("ORDERS", BOTH)
    scene.expire(process.token)
    scene.recover("QM1", process.token)
    group = scene.test.group
    fences = [group.keys.fence, *(group.structure(name).fence for name in group.structure_names())]
    assert not any(group.client().exists(fence) for fence in fences)
    # Its late calls are refused, and leave nothing.
    with pytest.raises(MQIError) as refused:
        connection.connection.access("APPL2")
    assert refused.value.reason == MQRC.CONNECTION_BROKEN
    assert account(group) == []

    scene.expire(DEAD)
    scene.recover()
    assert [group.client().hgetall(fence) for fence in fences] == [{b"QM1": b"1"}] * len(fences)


def test_only_the_latest_recoveries_are_kept(scene: Scene) -> None:
    group = scene.test.group
    for number in range(RECOVERIES_KEPT + 5):
        record = {"failed": f"QM9.{number}", "by": "QM2", "state": "RESOLVED", "units_of_work": 0, "messages": 0}
        record |= {"claims": 1, "detected_ms": number, "resolved_ms": number}
        group.client().hset(group.keys.recoveries, f"QM9.{number}", json.dumps(record))
    scene.expire(DEAD)
    scene.recover()

    kept = recoveries(group)
    assert len(kept) == RECOVERIES_KEPT
    assert kept[0].failed == "QM9.6"
    assert kept[-1].failed == DEAD
