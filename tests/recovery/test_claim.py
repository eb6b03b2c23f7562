"""One recoverer for a target: the winner, a take-over, and the calls of a recoverer that lost."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest

from recovery.claim import CHUNK_FIELDS, ClaimLostError, RecoveryClaims, recoveries
from recovery.resolution import Outcome, Phase, RecoveryReport
from recovery.target import Target
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import ConnectionBroken, MQIError
from tests.recovery.scene import DEAD, RESOLVED, TAG, Died, Scene, die_after, dying

pytestmark = pytest.mark.share


def test_a_lease_in_force_is_respected_and_says_for_how_long(scene: Scene) -> None:
    report = scene.recover()
    assert report.outcome is Outcome.NOT_YET
    assert report.wait_ms is not None
    assert 0 < report.wait_ms <= scene.test.settings.lease_ms
    assert recoveries(scene.test.group) == []


def test_a_target_without_a_lease_needs_no_recovery(scene: Scene) -> None:
    assert scene.recover(target="QM1.77").outcome is Outcome.NOTHING


def test_of_two_recoverers_one_wins_whenever_the_other_comes(scene: Scene) -> None:
    scene.leave_everything()
    outcomes: dict[Phase, Outcome | None] = {}

    def rival(phase: Phase, _report: RecoveryReport) -> None:
        if phase not in (Phase.DETECTED, *outcomes):
            outcomes[phase] = scene.recover("QM3").outcome

    assert scene.recover("QM2", on_phase=rival).is_resolved

    assert outcomes == {
        Phase.CLAIMED: Outcome.NOT_YET,
        Phase.FENCED: Outcome.NOT_YET,
        Phase.RESOLVING: Outcome.NOT_YET,
        Phase.RESOLVED: Outcome.NOTHING,
    }
    assert scene.outcome() == RESOLVED


def test_a_claim_that_ran_out_is_taken_over_and_the_first_one_stops(scene: Scene) -> None:
    scene.leave_everything()
    second: list[RecoveryReport] = []

    def pause_past_the_claim(phase: Phase, _report: RecoveryReport) -> None:
        if phase is Phase.FENCED:
            scene.expire(f"!{DEAD}")
            second.append(scene.recover("QM3"))

    first = scene.recover("QM2", on_phase=pause_past_the_claim)

    assert first.outcome is Outcome.TAKEN_OVER
    assert second[0].is_resolved
    assert scene.outcome() == RESOLVED
    (recovery,) = recoveries(scene.test.group)
    assert (recovery.by, recovery.claims) == ("QM3", 2)


def test_a_manager_whose_connection_broke_claims_again_at_once(scene: Scene) -> None:
    scene.leave_everything()
    broken = scene.recoverer("QM2")
    die_after(broken, "structure/fence")
    with dying():
        scene.recover_over(broken)

    assert scene.recover("QM3").outcome is Outcome.NOT_YET
    assert scene.recover("QM2").is_resolved
    assert scene.outcome() == RESOLVED


def test_a_program_is_left_to_its_manager_while_that_lives(scene: Scene) -> None:
    process = scene.test.process("QM1")
    scene.expire(process.token)
    assert scene.recover("QM2", process.token).outcome is Outcome.NOT_YET
    assert scene.recover("QM1", process.token).is_resolved


def test_a_program_whose_manager_is_being_recovered_is_left_to_that(scene: Scene) -> None:
    process = scene.test.process("QM1")
    scene.expire(DEAD)
    scene.expire(process.token)
    outcomes: list[Outcome | None] = []

    def rival(phase: Phase, _report: RecoveryReport) -> None:
        if phase is Phase.CLAIMED:
            outcomes.append(scene.recover("QM3", process.token).outcome)

    assert scene.recover("QM2", on_phase=rival).is_resolved
    assert outcomes == [Outcome.NOT_YET]
    assert scene.recover("QM3", process.token).outcome is Outcome.NOTHING


def test_a_dead_recoverer_claims_nothing(scene: Scene) -> None:
    zombie = scene.recoverer("QM2")
    scene.expire("QM2.1")
    assert scene.recover("QM3", "QM2.1").is_resolved

    scene.expire(DEAD)
    with pytest.raises(MQIError) as caught:
        scene.recover_over(zombie)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert [recovery.failed for recovery in recoveries(scene.test.group)] == ["QM2.1"]


def test_a_recoverer_whose_connection_was_recovered_claims_nothing(scene: Scene) -> None:
    """Its fence went with the end of that recovery, and its claim would make others wait for a lease."""
    zombie = scene.recoverer("QM2")
    assert scene.recover("QM3", zombie.process.token, force=True).is_resolved
    scene.expire(DEAD)
    with pytest.raises(MQIError) as caught:
        RecoveryClaims(scene.test.group, zombie).win([Target.parse(DEAD)], force=False, state="FAILED")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert scene.recover("QM3").is_resolved


def test_a_recoverer_whose_connection_was_recovered_keeps_no_claim(scene: Scene) -> None:
    scene.expire(DEAD)
    claims = won(scene, "QM2")
    zombie = claims._connection
    assert scene.recover("QM3", zombie.process.token, force=True).is_resolved
    with pytest.raises(ClaimLostError):
        claims.report("FENCED")
    scene.expire(f"!{DEAD}")
    assert scene.recover("QM3").is_resolved


@pytest.mark.parametrize("phase", [Phase.CLAIMED, Phase.RESOLVING])
def test_a_dead_recoverer_is_fenced_out_of_the_structures(scene: Scene, phase: Phase) -> None:
    scene.leave_everything()
    zombie = scene.recoverer("QM2")

    with pytest.raises(MQIError) as caught:
        scene.recover_over(zombie, on_phase=partial(bury_recoverer, scene, phase))

    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    check_recovered_without_qm2(scene)


def test_a_dead_recoverer_keeps_no_claim(scene: Scene) -> None:
    scene.leave_everything()
    # The recoverer learns of its end by its claim, or is told of it first.
    with suppress(ConnectionBroken):
        report = scene.recover_over(scene.recoverer("QM2"), on_phase=partial(bury_recoverer, scene, Phase.FENCED))
        assert report.outcome is Outcome.TAKEN_OVER
    check_recovered_without_qm2(scene)


def bury_recoverer(scene: Scene, when: Phase, reached: Phase, _report: RecoveryReport) -> None:
    """The recoverer's own manager stalls, and is recovered before its claim has run out."""
    if reached is when:
        scene.expire("QM2.1")
        assert scene.recover("QM3", "QM2.1").is_resolved


def check_recovered_without_qm2(scene: Scene) -> None:
    scene.expire(f"!{DEAD}")
    assert scene.recover("QM3").is_resolved
    # The waiting program of the scene was QM2's, and is gone with it.
    assert scene.outcome() == {**RESOLVED, "counters": {**RESOLVED["counters"], "LATE": {}}}


def test_a_fenced_manager_cannot_stop_cleanly_after_its_recovery(scene: Scene) -> None:
    zombie = scene.recoverer("QM1")
    # It has entered every structure already, so that only the claim can stop it.
    for name in scene.test.group.structure_names():
        zombie.access(name)
    scene.expire(DEAD)
    peer = scene.recoverer("QM2")
    die_after(peer, "admin/claim")
    with dying():
        scene.recover_over(peer)
    scene.expire(f"!{DEAD}")

    with pytest.raises(MQIError) as caught:
        scene.recover_over(zombie, DEAD, force=True, state="STOPPED")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert scene.recover("QM3").is_resolved


def test_a_manager_without_a_lease_cannot_stop_cleanly(scene: Scene) -> None:
    zombie = scene.recoverer("QM1")
    group = scene.test.group
    group.client().zrem(group.keys.leases, DEAD)
    with pytest.raises(MQIError) as caught:
        scene.recover_over(zombie, DEAD, force=True, state="STOPPED")
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert recoveries(group) == []


@pytest.mark.parametrize("second", ["QM2", "QM3"])
def test_a_claim_belongs_to_one_connection(scene: Scene, second: str) -> None:
    scene.expire(DEAD)
    lost = won(scene, "QM2")
    scene.expire(f"!{DEAD}")
    kept = won(scene, second)

    with pytest.raises(ClaimLostError):
        lost.report("FENCED")
    assert lost.finish({DEAD: []}) == []
    kept.report("FENCED", {DEAD: (1, 2)})
    assert kept.finish({DEAD: []}) == [DEAD]
    with pytest.raises(ClaimLostError):
        kept.report("FENCED")
    (recovery,) = recoveries(scene.test.group)
    assert (recovery.by, recovery.state, recovery.units_of_work, recovery.messages) == (second, "RESOLVED", 1, 2)


def test_reporting_keeps_the_claim(scene: Scene) -> None:
    scene.expire(DEAD)
    claim = won(scene, "QM2")
    scene.expire(f"!{DEAD}")
    claim.report("FENCED")
    assert scene.recover("QM3").outcome is Outcome.NOT_YET


def test_a_tag_that_has_a_living_holder_again_is_not_freed(scene: Scene) -> None:
    """The holder changed between the recoverer's look and its last script."""
    scene.expire(DEAD)
    claim = won(scene, "QM2")
    holder = scene.test.connect("QM3", tag=TAG).connection.token
    claim.finish({DEAD: [("tag", TAG[1:])]})
    assert scene.test.group.client().hget(scene.test.group.keys.tags, TAG[1:]) == f"G{holder}".encode()


def test_more_than_one_call_can_hold_is_forgotten_in_several(scene: Scene) -> None:
    group = scene.test.group
    fields = [f"{DEAD}.{number}" for number in range(2 * CHUNK_FIELDS + 1)]
    group.client().hset(group.keys.processes, mapping=dict.fromkeys(fields, "{}"))
    group.client().zadd(group.keys.leases, dict.fromkeys(fields, 10**15))
    scene.expire(DEAD)
    assert scene.recover().is_resolved
    assert scene.left_of() == []


def won(scene: Scene, by: str) -> RecoveryClaims:
    """A claim on QM1's incarnation, over a new connection."""
    claims = RecoveryClaims(scene.test.group, scene.recoverer(by))
    assert claims.win([Target.parse(DEAD)], force=False, state="FAILED") == {}
    return claims


def test_dying_helpers_notice_a_survivor() -> None:
    with pytest.raises(AssertionError, match="it lives"), dying():
        pass
    with dying():
        raise Died
