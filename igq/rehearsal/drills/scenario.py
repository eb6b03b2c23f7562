"""Drills as data: a scenario is a list of steps. A failing run prints it and another run repeats it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class StepRole(Enum):
    """The processes of a step. If not said otherwise, those of the victim, a manager that the seed draws."""

    MANAGER = "the manager"
    AGENT = "its IGQ agent"
    PROGRAMS = "the putter and the consumers attached to it"
    PUTTER = "the putter attached to it"
    DRAINERS = "the consumers of the shared queue, at every manager"
    CHANNEL = "its channel server"
    CLIENTS = "the programs that are clients of its channel"
    EVERYTHING = "the manager, its agent and the programs attached to it"
    RECOVERER = "the manager that recovers it"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a function of `igq.rehearsal.drills.steps`, and its arguments by name."""

    function: Callable[..., None]
    arguments: tuple[tuple[str, Any], ...]

    @property
    def name(self) -> str:
        """The name of the function, as "start_group"."""
        return self.function.__name__

    def perform(self, stage: object) -> None:
        """Perform it. Raises CommandError: the step is impossible, or what it waits for does not happen."""
        self.function(stage, **dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A drill. ``summary`` is one sentence. The conditions at the end are the same for all drills.

    Attributes:
        lease_ms: the group's leases, if those of the settings are too short or too long for it.
        load: the size of the load, in usual loads.
        has_machines: every manager runs on its own machine, and so does Redis.
    """

    name: str
    summary: str
    steps: tuple[Step, ...]
    lease_ms: int | None = None
    load: int = 1
    has_machines: bool = False

    @property
    def loses_structure(self) -> bool:
        """Whether messages in it are lost and come again, as a backup promises."""
        return any(step.name == "lose_structure" for step in self.steps)
