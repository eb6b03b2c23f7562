"""The recoverer dies after each of its scripts, or is overtaken there; in the end everything is right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from recovery.resolve import Outcome, RecoveryReport
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.session.connection import Connection
from tests.recovery.scene import DEAD, RESOLVED, Died, Scene, after_call, die_after_call

#: A whole recovery of the scene takes more scripts than this. A shorter loop has missed some.
SCRIPTS_MIN = 40
DONE = (Outcome.RESOLVED, Outcome.NOTHING)


def again_and_again(scene: Scene) -> Iterator[int]:
    """1, 2, 3 ...; each time the group is again as it is now."""
    dumped = scene.dump()
    for number in count(1):
        yield number
        scene.restore(dumped)


@pytest.mark.invariant(3)
def test_killed_after_any_script_a_peer_does_the_rest(scene: Scene) -> None:
    scene.leave_everything()
    for number in again_and_again(scene):
        first = scene.recoverer("QM2")
        die_after_call(first, number)
        try:
            assert scene.recover_over(first).is_resolved
            break
        except Died:
            scene.expire_all(f"!{DEAD}")
            assert scene.recover("QM3").outcome in DONE, f"dead after call {number}"
            assert scene.outcome() == RESOLVED, f"dead after call {number}"
    assert number > SCRIPTS_MIN
    assert scene.outcome() == RESOLVED


@pytest.mark.invariant(8)
def test_overtaken_at_any_script_by_a_peer_nothing_is_done_twice(scene: Scene) -> None:
    scene.leave_everything()
    for number in again_and_again(scene):
        overtakings: list[RecoveryReport] = []

        def overtake(overtakings: list[RecoveryReport] = overtakings) -> None:
            # The first one stalls until its claim has run out and the second one has finished.
            scene.expire_all(f"!{DEAD}")
            overtakings.append(scene.recover("QM3"))

        first = scene.recoverer("QM2")
        after_call(first, number, overtake)
        try:
            report = scene.recover_over(first)
            assert report.outcome in (Outcome.RESOLVED, Outcome.TAKEN_OVER, Outcome.NOTHING), f"at call {number}"
        except MQIError as error:
            # None of those that it was just resolving is dead any more.
            if error.reason != MQRC.CONNECTION_BROKEN or not overtakings:
                raise
        assert scene.outcome() == RESOLVED, f"overtaken at call {number}"
        if not overtakings:
            break
        assert overtakings[0].outcome in DONE, f"overtaken at call {number}"
    assert number > SCRIPTS_MIN


def test_a_manager_killed_while_it_stops_is_finished_by_its_peers(scene: Scene) -> None:
    scene.leave_everything_but_expiry()
    for number in again_and_again(scene):
        last = stopping(scene)
        die_after_call(last, number)
        try:
            assert scene.recover_over(last, DEAD, force=True, state="STOPPED").is_resolved
            break
        except Died:
            scene.expire_all(DEAD, f"!{DEAD}")
            report = scene.recover("QM2")
            assert report.outcome in DONE, f"dead after call {number}"
            # It died after the last script but one: the rest is its own, and ends with its lease.
            if report.outcome is Outcome.NOTHING:
                scene.expire_all(last.process.token)
                assert scene.recover("QM2", last.process.token).is_resolved
            assert scene.outcome() == RESOLVED, f"dead after call {number}"
    assert number > SCRIPTS_MIN


def stopping(scene: Scene) -> Connection:
    """The connection that a stopping manager keeps to the end."""
    return scene.test.connect("QM1").connection
