"""Drills as data: a scenario is a list of steps that a failing run prints and another run repeats. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Who(Enum):
    """Which processes of the victim a step is about. The victim, a manager's name, is drawn from the seed."""

    MANAGER = "the manager"
    AGENT = "its IGQ agent"
    PROGRAMS = "the putter and the consumers attached to it"
    EVERYTHING = "the manager, its agent and the programs attached to it"


@dataclass(frozen=True, slots=True)
class StartGroup:
    """Start the managers and define the queues."""


@dataclass(frozen=True, slots=True)
class StartLoad:
    """Start a putter and two consumers on every manager."""


@dataclass(frozen=True, slots=True)
class WaitForPuts:
    """Let the load run until *part* (0 to 1) of the messages were put."""

    part: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Have the victim's programs stop before a commit: their puts and gets stay uncommitted."""


@dataclass(frozen=True, slots=True)
class Release:
    """Let held programs try to commit."""


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL."""

    who: Who


@dataclass(frozen=True, slots=True)
class Pause:
    """SIGSTOP."""

    who: Who


@dataclass(frozen=True, slots=True)
class Resume:
    """SIGCONT."""

    who: Who


@dataclass(frozen=True, slots=True)
class WaitForBacklog:
    """Wait until *messages*, or all that the load has for it, are on the transmit queue."""

    messages: int


@dataclass(frozen=True, slots=True)
class WaitUntilRecovered:
    """Wait until everything that *who* left uncommitted is resolved."""

    who: Who


@dataclass(frozen=True, slots=True)
class WaitUntilReady:
    """Wait until the manager has joined its group again by itself."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start *who* again."""

    who: Who


@dataclass(frozen=True, slots=True)
class WaitForAgent:
    """Wait until a new agent has serialized and works."""


@dataclass(frozen=True, slots=True)
class ExpectInLog:
    """The victim's log must have a line with this message id."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Drain:
    """Wait until everything is put and delivered, then end the programs and stop the managers in good order."""


Step = (
    StartGroup
    | StartLoad
    | WaitForPuts
    | Hold
    | Release
    | Kill
    | Pause
    | Resume
    | WaitForBacklog
    | WaitUntilRecovered
    | WaitUntilReady
    | Start
    | WaitForAgent
    | ExpectInLog
    | Drain
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A drill. ``summary`` is one sentence; what must hold at the end is always the same and is checked."""

    name: str
    summary: str
    steps: tuple[Step, ...]
