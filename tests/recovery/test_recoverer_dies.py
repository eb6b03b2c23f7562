"""The recoverer dies after each of its scripts, or is overtaken there; in the end everything is right."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from recovery.resolution import Outcome, RecoveryReport
from sharedq.mqi.constants import MQRC, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection
from tests.recovery.scene import BOTH, DEAD, RESOLVED, Died, Scene, after_call, die_after_call

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


@pytest.mark.parametrize("is_over", [True, False])
def test_an_overtaken_recoverer_leaves_no_fence(scene: Scene, is_over: bool) -> None:
    """It is overtaken after each of its scripts, by a recoverer that has finished, or that has all but finished."""
    worker = scene.victim("worker")
    worker.open("ORDERS", BOTH).put(b"never", options=PutOption.SYNCPOINT)
    process = worker.connection.process
    process.stop_renewing()
    scene.expire(process.token)
    for number in again_and_again(scene):
        rivals: list[Rival] = []

        def overtake(rivals: list[Rival] = rivals) -> None:
            scene.expire_all(f"!{process.token}")
            rivals.append(Rival(scene, process.token))
            if is_over:
                rivals[0].finish()

        first = scene.recoverer("QM1")
        after_call(first, number, overtake)
        with suppress(MQIError):
            scene.recover_over(first, process.token)
        if not rivals:
            break
        rivals[0].finish()
        for name in ("CSQ_ADMIN", *scene.test.group.structure_names()):
            fences: Any = scene.test.group.client().hkeys(scene.structure(name).fence)
            assert fences == [], f"{name}, overtaken at call {number}"
    assert number > len(scene.test.group.structure_names())


class Rival:
    """A recoverer that stops before the last script of its recovery, until it is told to finish."""

    def __init__(self, scene: Scene, target: str) -> None:
        self._is_there, self._may_finish = threading.Event(), threading.Event()
        self._scene, self._target, self._connection = scene, target, scene.recoverer("QM1")
        unfenced = count(1)
        number_of_structures = len(scene.test.group.structure_names())

        def pause(calls: Sequence[ScriptCall]) -> list[Any]:
            replies = call_many(calls)
            if calls[0][0] == "structure/unfence" and next(unfenced) == number_of_structures:
                self._is_there.set()
                self._may_finish.wait()
            return replies

        call_many = self._connection.call_many
        self._connection.call_many = pause  # type: ignore[method-assign]  # the one door to the scripts
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._is_there.wait()

    def _run(self) -> None:
        try:
            self._scene.recover_over(self._connection, self._target)
        finally:
            self._is_there.set()

    def finish(self) -> None:
        """Let it finish, and wait until it has."""
        self._may_finish.set()
        self._thread.join()


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
