"""Phases of a recovery, from a timeline's events."""

from __future__ import annotations

from typing import Any

from igq.pipeline.audit.recovery_timeline import recoveries


def event(t_ms: int, name: str, qmgr: str = "JFK", by: str = "") -> dict[str, Any]:
    return {"t_ms": t_ms, "event": name, "qmgr": qmgr, "by": by}


def test_phases_are_measured_from_the_failure_and_from_the_phase_before() -> None:
    (recovery,) = recoveries(
        [
            event(0, "started"),
            event(1_000, "killed", by="demo"),
            event(6_000, "detected", by="LGA"),
            event(6_010, "claimed", by="LGA"),
            event(6_500, "resolved", by="LGA"),
            event(9_000, "restarted"),
        ]
    )

    assert recovery.qmgr == "JFK"
    assert [(phase.event, phase.since_failure_ms, phase.duration_ms) for phase in recovery.phases] == [
        ("killed", 0, 0),
        ("detected", 5_000, 5_000),
        ("claimed", 5_010, 10),
        ("resolved", 5_500, 490),
        ("restarted", 8_000, 2_500),
    ]
    assert recovery.total_ms == 8_000


def test_failures_of_several_managers_and_of_one_again_are_kept_apart() -> None:
    found = recoveries(
        [
            event(0, "killed", "JFK"),
            event(1, "killed", "EWR"),
            event(5, "detected", "EWR"),
            event(6, "detected", "JFK"),
            event(7, "detected", "JFK"),
            event(8, "restarted", "JFK"),
            event(20, "killed", "JFK"),
            event(25, "detected", "JFK"),
        ]
    )

    assert [(each.qmgr, [phase.t_ms for phase in each.phases]) for each in found] == [
        ("JFK", [0, 6, 8]),
        ("EWR", [1, 5]),
        ("JFK", [20, 25]),
    ]


def test_an_unrecorded_failure_begins_with_its_detection() -> None:
    (recovery,) = recoveries([event(10, "detected"), event(12, "claimed"), event(30, "drained", "")])

    assert [phase.event for phase in recovery.phases] == ["detected", "claimed"]


def test_without_a_failure_there_is_no_recovery() -> None:
    assert recoveries([event(0, "started"), event(1, "restarted")]) == []
