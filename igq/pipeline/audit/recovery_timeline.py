"""The recovery of each failed manager as phases, from the run's timeline. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Phases in the order in which they follow each other; other events are shown but not measured.
PHASES = ("killed", "detected", "claimed", "fenced", "resolved", "restarted", "serialized")


@dataclass(frozen=True, slots=True)
class RecoveryPhase:
    """One step. ``duration_ms`` is the time since the step before it; 0 for the first."""

    event: str
    t_ms: int
    by: str
    detail: str
    since_failure_ms: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class RecoveryTimes:
    """One failure of one manager and what followed, in order of time."""

    qmgr: str
    phases: tuple[RecoveryPhase, ...]

    @property
    def total_ms(self) -> int:
        """From the failure to the last phase."""
        return self.phases[-1].since_failure_ms


def recoveries(events: Iterable[Mapping[str, Any]]) -> list[RecoveryTimes]:
    """The failures in *events* (lines of timeline.jsonl, by time), each with the first of every phase.

    A failure begins with ``killed``, or with ``detected`` if no kill was recorded.
    """
    open_failures: dict[str, list[Mapping[str, Any]]] = {}
    done: list[list[Mapping[str, Any]]] = []
    for event in sorted(events, key=lambda event: int(event["t_ms"])):
        qmgr, name = str(event.get("qmgr") or ""), str(event["event"])
        if name not in PHASES:
            continue
        steps = open_failures.get(qmgr)
        if name == "killed" or (name == "detected" and (steps is None or _has(steps, "restarted"))):
            steps = open_failures[qmgr] = []
            done.append(steps)
        if steps is not None and not _has(steps, name):
            steps.append(event)
    return [_recovery(steps) for steps in done]


def _has(steps: list[Mapping[str, Any]], name: str) -> bool:
    return any(step["event"] == name for step in steps)


def _recovery(steps: list[Mapping[str, Any]]) -> RecoveryTimes:
    began_ms = int(steps[0]["t_ms"])
    phases = []
    before_ms = began_ms
    for step in steps:
        t_ms = int(step["t_ms"])
        by, detail = (str(step.get(name) or "") for name in ("by", "detail"))
        phases.append(RecoveryPhase(str(step["event"]), t_ms, by, detail, t_ms - began_ms, t_ms - before_ms))
        before_ms = t_ms
    return RecoveryTimes(str(steps[0].get("qmgr") or ""), tuple(phases))
