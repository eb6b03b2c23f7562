"""The order in which a manager recovers the dead."""

from __future__ import annotations

from igq.manager.worker import BATCH, Backlog, TargetKind
from recovery.target import Target


def taken(backlog: Backlog) -> list[tuple[TargetKind, list[str]]]:
    found = []
    while (batch := backlog.take()) is not None:
        found.append((batch.kind, [target.token for target in batch.targets]))
    return found


def test_dead_managers_and_programs_wait_for_no_lost_connections() -> None:
    backlog = Backlog()
    lost = [f"QM1.1.7.{number}" for number in range(2 * BATCH)]
    for token in (*lost, "QM1.1.8", "QM2.4"):
        backlog.add(Target.parse(token))
    backlog.add_ended("QM1.1.9", 123)

    assert taken(backlog) == [
        (TargetKind.MANAGER, ["QM2.4"]),
        (TargetKind.SEEN_TO_END, ["QM1.1.9"]),
        (TargetKind.PROGRAM, ["QM1.1.8"]),
        (TargetKind.CONNECTION, lost[:BATCH]),
        (TargetKind.CONNECTION, lost[BATCH:]),
    ]


def test_later_deaths_come_before_the_rest() -> None:
    backlog = Backlog()
    for number in range(BATCH + 1):
        backlog.add(Target.parse(f"QM1.1.7.{number}"))
    assert backlog.take() is not None
    backlog.add(Target.parse("QM3.1"))
    assert taken(backlog) == [(TargetKind.MANAGER, ["QM3.1"]), (TargetKind.CONNECTION, [f"QM1.1.7.{BATCH}"])]


def test_a_target_seen_again_is_queued_once() -> None:
    backlog = Backlog()
    for _ in range(2):
        backlog.add(Target.parse("QM1.1.7"))
        backlog.add(Target.parse("!QM1.1.7"))
        backlog.add_ended("QM1.1.8", 123)
    batch = backlog.take()
    assert batch is not None
    assert batch.pids == [123]
    assert taken(backlog) == [(TargetKind.PROGRAM, ["QM1.1.7"])]
