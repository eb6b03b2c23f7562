"""Drills as data: a scenario is a list of steps that a failing run prints and another run repeats. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Who(Enum):
    """Which processes a step is about: of the victim, a manager drawn from the seed, unless it says otherwise."""

    MANAGER = "the manager"
    AGENT = "its IGQ agent"
    PROGRAMS = "the putter and the consumers attached to it"
    PUTTER = "the putter attached to it"
    DRAINERS = "the consumers of the shared queue, at every manager"
    EVERYTHING = "the manager, its agent and the programs attached to it"
    RECOVERER = "the manager that recovers it"


@dataclass(frozen=True, slots=True)
class StartGroup:
    """Start the managers and define the queues; with *shared*, the one that all drain in a structure of that name."""

    shared: str = ""


@dataclass(frozen=True, slots=True)
class StartLoad:
    """Start a putter and two consumers on every manager."""


@dataclass(frozen=True, slots=True)
class WaitForPuts:
    """Let the load run until *part* (0 to 1) of the messages were put.

    Attributes:
        pace_s: what putters wait from then on before their next unit of work, and twice as long before each one behind
            it, so that the load outlasts what follows.
    """

    part: float
    pace_s: float = 0.0


@dataclass(frozen=True, slots=True)
class WaitForPutter:
    """Wait until the victim's putter has committed messages, more than it had before, or has put all it had."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw another victim, for what happens from here on."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Have the victims' programs stop before a commit: their puts and gets stay uncommitted."""

    managers: int = 1
    who: Who = Who.PROGRAMS


@dataclass(frozen=True, slots=True)
class Release:
    """Let the victim's held programs try to commit."""

    who: Who = Who.PROGRAMS


@dataclass(frozen=True, slots=True)
class Prepare:
    """Have the victim's held programs prepare what they hold, as for an external coordinator: it is in doubt then."""


@dataclass(frozen=True, slots=True)
class ExpectInDoubt:
    """What they prepared must be in doubt, whoever has died, with nothing of it ended."""


@dataclass(frozen=True, slots=True)
class Resolve:
    """RESOLVE INDOUBT: each unit of work is committed or backed out, as the seed says, and must end so everywhere.

    Attributes:
        is_by_peer: only one of them, which the seed draws, at another manager while the victim is down.
    """

    is_by_peer: bool = False


@dataclass(frozen=True, slots=True)
class HoldBulk:
    """A program attached to the victim puts so many messages, 10,000 in each unit of work, and commits none."""

    messages: int


@dataclass(frozen=True, slots=True)
class ReleaseBulk:
    """That program tries to commit: it must be refused, and nothing of its work may be left."""


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL, to the victims in one moment."""

    who: Who
    managers: int = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """SIGSTOP, to the victims in one moment."""

    who: Who
    managers: int = 1


@dataclass(frozen=True, slots=True)
class HangAgent:
    """SIGSTOP to the victim's agent, for good: nobody but its manager ends that."""


@dataclass(frozen=True, slots=True)
class Resume:
    """SIGCONT."""

    who: Who


@dataclass(frozen=True, slots=True)
class WaitForBacklog:
    """Wait until *messages*, or all that the load has for it, are on the transmit queue."""

    messages: int


@dataclass(frozen=True, slots=True)
class WaitForRecoverer:
    """Wait until somebody resolves what the victim left, and catch it in the middle, if it can be caught."""


@dataclass(frozen=True, slots=True)
class WaitUntilRecovered:
    """Wait until everything that *who* left uncommitted is resolved."""

    who: Who
    managers: int = 1


@dataclass(frozen=True, slots=True)
class WaitForRetry:
    """Wait until the victim's agent, refused its connection tag, is in the state of retry."""


@dataclass(frozen=True, slots=True)
class LetLeasePass:
    """Do nothing for longer than a lease, or for so many *leases*."""

    leases: float = 1.2


@dataclass(frozen=True, slots=True)
class Cut:
    """Cut the victim's machine, with its programs, off the network: packets are lost, and nobody is told."""


@dataclass(frozen=True, slots=True)
class Heal:
    """The victim's machine is on the network again."""


@dataclass(frozen=True, slots=True)
class ExpectUnharmed:
    """The victim must be the incarnation that it was before the cut, with the same agent, and nobody recovered it."""


@dataclass(frozen=True, slots=True)
class WaitUntilReady:
    """Wait until the manager has joined its group again by itself."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start *who* again."""

    who: Who
    managers: int = 1


@dataclass(frozen=True, slots=True)
class WaitForAgent:
    """Wait until a new agent has serialized and works."""


@dataclass(frozen=True, slots=True)
class KillRedis:
    """SIGKILL to the embedded server, which is started again and reads its append-only file."""


@dataclass(frozen=True, slots=True)
class FlushScripts:
    """SCRIPT FLUSH, so many times, while the load goes on."""

    times: int


@dataclass(frozen=True, slots=True)
class AlterIgq:
    """``ALTER QMGR IGQ(...)`` on the victim: whoever has a queue open through it must open it again."""

    value: str


@dataclass(frozen=True, slots=True)
class LimitMemory:
    """Let Redis use no more memory than it uses now; or, with *is_lifted*, as much as it likes again."""

    is_lifted: bool = False


@dataclass(frozen=True, slots=True)
class BackUp:
    """BACKUP CFSTRUCT: the structure of the shared queue, in use."""


@dataclass(frozen=True, slots=True)
class LoseStructure:
    """The keys of that structure vanish, all in one moment."""


@dataclass(frozen=True, slots=True)
class CutOffRecovery:
    """RECOVER CFSTRUCT by a process that dies in the middle of it, where the seed says."""


@dataclass(frozen=True, slots=True)
class Recover:
    """RECOVER CFSTRUCT."""


@dataclass(frozen=True, slots=True)
class WaitForRefusal:
    """Wait until a program was refused a call with *reason* since the last fault, if the load lasts so long.

    Attributes:
        is_certain: programs that wait for messages are refused, too: it does not depend on the load.
    """

    reason: int
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class ExpectShutOut:
    """Nothing may have been done under the victim's old incarnation since every structure has shut it out."""


@dataclass(frozen=True, slots=True)
class ExpectInLog:
    """The victim's log must have a line with this message id."""

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
    """A drill. ``summary`` is one sentence; what must hold at the end is always the same and is checked.

    Attributes:
        lease_ms: the group's leases, where the settings' would be too short or too long for it.
        load: how many times the usual load.
        has_machines: every manager runs on a machine of its own, and so does Redis.
    """

    name: str
    summary: str
    steps: tuple[Step, ...]
    lease_ms: int | None = None
    load: int = 1
    has_machines: bool = False

    @property
    def loses_structure(self) -> bool:
        """Whether messages are lost in it, and come again, as a backup promises."""
        return any(isinstance(step, LoseStructure) for step in self.steps)
