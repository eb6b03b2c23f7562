"""Drills as data: a scenario is a list of steps. A failing run prints it and another run repeats it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """The processes of a step. If not said otherwise, those of the victim, a manager that the seed draws."""

    MANAGER = "the manager"
    AGENT = "its IGQ agent"
    PROGRAMS = "the putter and the consumers attached to it"
    PUTTER = "the putter attached to it"
    DRAINERS = "the consumers of the shared queue, at every manager"
    EVERYTHING = "the manager, its agent and the programs attached to it"
    RECOVERER = "the manager that recovers it"


@dataclass(frozen=True, slots=True)
class StartGroup:
    """Start the managers and define the queues. *shared* names another structure, for the queue that all drain."""

    shared: str = ""


@dataclass(frozen=True, slots=True)
class StartLoad:
    """Start a putter and two consumers on every manager."""


@dataclass(frozen=True, slots=True)
class WaitForPuts:
    """Let the load run until *part* (0 to 1) of the messages has been put.

    Attributes:
        pace_s: from then on, the pause of a putter before its next unit of work, and twice as long before each one
            after it, so that the load outlasts what follows.
    """

    part: float
    pace_s: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitForPutter:
    """Wait until the victim's putter has committed more messages than before, or has put all it had."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw another victim for the steps that follow."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Make the victims' programs stop before a commit, so that their puts and gets stay uncommitted."""

    managers: int = 1
    who: Role = Role.PROGRAMS


@dataclass(frozen=True, slots=True)
class Release:
    """Let the victim's held programs try to commit."""

    who: Role = Role.PROGRAMS


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the victim's held programs prepare their work as for an external coordinator, so that it is in doubt."""


@dataclass(frozen=True, slots=True)
class ExpectInDoubt:
    """Expect that everything prepared is in doubt, whatever has died since, and that no part of it has ended."""


@dataclass(frozen=True, slots=True)
class Resolve:
    """RESOLVE INDOUBT: the seed decides whether to commit or back out each unit, which must end so everywhere.

    Attributes:
        is_by_peer: resolve only one unit, which the seed draws, at another manager while the victim is down.
    """

    is_by_peer: bool = False


@dataclass(frozen=True, slots=True)
class HoldBulk:
    """Start a program at the victim that puts this many messages, 10,000 in each unit of work, and commits none."""

    messages: int


@dataclass(frozen=True, slots=True)
class ReleaseBulk:
    """Let that program try to commit: the commit must be refused, and none of its messages may be left."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Send SIGKILL to all victims at once."""

    who: Role
    managers: int = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """Send SIGSTOP to all victims at once."""

    who: Role
    managers: int = 1


@dataclass(frozen=True, slots=True)
class HangAgent:
    """Send SIGSTOP to the victim's agent and never SIGCONT: only its manager can end it."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Send SIGCONT."""

    who: Role


@dataclass(frozen=True, slots=True)
class WaitForBacklog:
    """Wait until *messages*, or all that the load has for the queue, are on the transmit queue."""

    messages: int


@dataclass(frozen=True, slots=True)
class WaitForRecoverer:
    """Wait until a peer resolves what the victim left, and catch that peer before it is done, if it is slow enough."""


@dataclass(frozen=True, slots=True)
class WaitUntilRecovered:
    """Wait until everything that *who* left uncommitted is resolved."""

    who: Role
    managers: int = 1


@dataclass(frozen=True, slots=True)
class WaitForRetry:
    """Wait until the victim's agent is in the state of retry because its connection tag was refused."""


@dataclass(frozen=True, slots=True)
class LetLeasePass:
    """Do nothing for longer than one lease, or this many *leases*."""

    leases: float = 1.2


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut the victim's machine, with its programs, off the network: packets are lost silently."""


@dataclass(frozen=True, slots=True)
class Heal:
    """Put the victim's machine back on the network."""


@dataclass(frozen=True, slots=True)
class ExpectUnharmed:
    """Expect the same incarnation of the victim as before the cut, with the same agent and no recovery."""


@dataclass(frozen=True, slots=True)
class WaitUntilReady:
    """Wait until the manager has rejoined its group by itself."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start *who* again."""

    who: Role
    managers: int = 1


@dataclass(frozen=True, slots=True)
class WaitForAgent:
    """Wait until a new agent has its connection tag and works."""


@dataclass(frozen=True, slots=True)
class KillRedis:
    """Send SIGKILL to the embedded server. It is started again and reads its append-only file."""


@dataclass(frozen=True, slots=True)
class FlushScripts:
    """SCRIPT FLUSH, this many times, while the load goes on."""

    times: int


@dataclass(frozen=True, slots=True)
class AlterIgq:
    """``ALTER QMGR IGQ(...)`` on the victim: programs that have a queue open through it must reopen it."""

    value: str


@dataclass(frozen=True, slots=True)
class LimitMemory:
    """Let Redis use no more memory than it uses now, or, with *is_lifted*, lift the limit."""

    is_lifted: bool = False


@dataclass(frozen=True, slots=True)
class BackUp:
    """BACKUP CFSTRUCT of the shared queue's structure, which is in use. *has_log*: keep a log of it from then on."""

    has_log: bool = False


@dataclass(frozen=True, slots=True)
class LoseStructure:
    """Delete all keys of that structure at once."""


@dataclass(frozen=True, slots=True)
class CutOffRecovery:
    """RECOVER CFSTRUCT by a process that dies halfway, at a place that the seed decides."""


@dataclass(frozen=True, slots=True)
class Recover:
    """RECOVER CFSTRUCT."""


@dataclass(frozen=True, slots=True)
class WaitForRefusal:
    """Wait until a program's call was refused with *reason* after the last fault, if the load lasts that long.

    Attributes:
        is_certain: programs that wait for messages are refused too, so the refusal does not depend on the load.
    """

    reason: int
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class ExpectShutOut:
    """Expect that nothing was done under the victim's old incarnation after every structure had shut it out."""


@dataclass(frozen=True, slots=True)
class ExpectInLog:
    """Expect a line with this message id in the victim's log."""

    message_id: str


@dataclass(frozen=True, slots=True)
class WaitForLogs:
    """Wait until the log of every manager has a line with this message id."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Drain:
    """Wait until everything is put and delivered, then end the programs and stop the managers in good order."""


Step = (
    StartGroup
    | StartLoad
    | WaitForPuts
    | WaitForPutter
    | Draw
    | Hold
    | Release
    | Prepare
    | ExpectInDoubt
    | Resolve
    | HoldBulk
    | ReleaseBulk
    | Kill
    | Pause
    | HangAgent
    | Resume
    | WaitForBacklog
    | WaitForRecoverer
    | WaitUntilRecovered
    | WaitForRetry
    | LetLeasePass
    | Cut
    | Heal
    | ExpectUnharmed
    | ExpectShutOut
    | WaitUntilReady
    | Start
    | WaitForAgent
    | KillRedis
    | FlushScripts
    | AlterIgq
    | LimitMemory
    | BackUp
    | LoseStructure
    | CutOffRecovery
    | Recover
    | WaitForRefusal
    | ExpectInLog
    | WaitForLogs
    | Drain
)


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
        return any(isinstance(step, LoseStructure) for step in self.steps)
