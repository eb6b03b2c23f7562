"""The state that the steps of one drill share: the scene, the victims, and the traces of earlier steps.

A scenario is a list of steps. A failing run prints it and another run repeats it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from igq.rehearsal.drills.troubles.faults import Bulk
from igq.rehearsal.drills.troubles.losses import LostStructure
from igq.rehearsal.load import view, waits
from igq.rehearsal.load.processes.children import PUTTER, Child, LoadProgram
from igq.rehearsal.load.rows.plan import SHARED_QUEUE
from igq.rehearsal.load.rows.sources import QMGRS
from igq.rehearsal.load.scene import Scene


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


def process_of(token: str) -> str:
    """The token of the process that has a connection with this token."""
    return token.rpartition(".")[0]


class Stage:
    """One run of a scenario.

    Args:
        generator: draws the victims.
        messages: number of messages that are put in all.
        say: called with the name of a manager and a sentence about the step.
    """

    def __init__(self, scene: Scene, generator: random.Random, messages: int, say: Callable[[str, str], None]) -> None:
        self.scene, self.generator, self.messages, self.say = scene, generator, messages, say
        self.draw()
        self.recoverer = ""
        self.incarnations: dict[str, str] = {}
        self.owners: list[str] = []
        #: Of each client of a channel, at the latest kill: the token of its connection, how many it has made.
        self.clients: dict[str, str] = {}
        self.attached: dict[str, int] = {}
        #: The clients of them that held work.
        self.held_clients: list[str] = []
        #: Redis' time before the latest kill of clients.
        self.killed_ms = 0
        #: Milliseconds until the work of each killed client was backed out.
        self.backed_out_ms: list[int] = []
        self.agents: dict[str, int] = {}
        #: Agents that are dead: another process takes the place of each.
        self.replaced: dict[str, int] = {}
        self.bulk: Bulk | None = None
        #: Units of work.
        self.in_doubt: list[str] = []
        self.lost: LostStructure | None = None
        #: Interruptions of programs before the latest fault.
        self.known_interruptions = 0

    @property
    def victim(self) -> str:
        """The manager that faults happen to, or the first of several."""
        return self.drawn[0]

    @property
    def structure(self) -> LostStructure:
        """The structure of the shared queue, in a scenario that loses it."""
        assert self.lost is not None
        return self.lost

    def draw(self) -> None:
        """Draw victims for the steps that follow."""
        self.drawn = self.generator.sample(QMGRS, len(QMGRS))

    def note_interruptions(self) -> None:
        """Note the interruptions of programs so far: a fault follows."""
        self.known_interruptions = len(self.scene.watch.interruptions)

    def wait_for_agents(self, who: StepRole, managers: int, *, is_with_manager: bool = False) -> None:
        """Make sure that the process of each agent that will get a signal is known: it may be just starting."""
        if who is StepRole.AGENT or (who is StepRole.EVERYTHING and is_with_manager):
            for qmgr in self.drawn[:managers]:
                waits.wait_for_agent(self.scene, qmgr, self.replaced.get(qmgr, 0))

    def remember(self, managers: int, *, is_agent_replaced: bool) -> None:
        """Remember what later steps must know about processes that will be gone."""
        scene = self.scene
        self.owners, self.clients, self.held_clients = [], {}, []
        for qmgr in self.drawn[:managers]:
            self.incarnations[qmgr] = scene.incarnation(qmgr)
            # The unit of work of a held program is recovered under the token of its process.
            programs = scene.programs_of(qmgr)
            held = [program for program in programs if program.name in scene.watch.holding]
            self.owners += [process_of(program.owner) for program in held if not program.is_client]
            self.held_clients += [program.name for program in held if program.is_client]
            clients = [program for program in programs if program.is_client]
            self.clients |= view.tokens_of(scene.group, clients)
            self.attached |= {client.name: client.attached for client in clients}
            self.agents[qmgr] = view.working_agent(scene.group, qmgr) or self.agents.get(qmgr, 0)
            if is_agent_replaced:
                self.replaced[qmgr] = self.agents[qmgr]

    def putter(self) -> LoadProgram:
        """The putter of the victim."""
        programs = self.scene.programs.values()
        (putter,) = (each for each in programs if each.qmgr == self.victim and each.kind == PUTTER)
        return putter

    def programs(self, who: StepRole, managers: int = 1) -> list[LoadProgram]:
        """Return the running load programs that *who* means."""
        if who is StepRole.DRAINERS:
            return self.scene.consumers_of(SHARED_QUEUE)
        if who is StepRole.PUTTER:
            return [self.putter()]
        every = [program for qmgr in self.drawn[:managers] for program in self.scene.programs_of(qmgr)]
        return [program for program in every if program.is_client] if who is StepRole.CLIENTS else every

    def children(self, who: StepRole, managers: int) -> list[Child]:
        """Return the child processes that *who* means."""
        if who is StepRole.RECOVERER:
            return [self.scene.managers[self.recoverer]]
        found: list[Child] = []
        for qmgr in self.drawn[:managers]:
            if who in (StepRole.MANAGER, StepRole.EVERYTHING):
                found.append(self.scene.managers[qmgr])
            if who in (StepRole.PROGRAMS, StepRole.EVERYTHING):
                found.extend(self.scene.programs_of(qmgr))
        return [*found, *self.programs(who, managers)] if who is StepRole.CLIENTS else found

    def signal(self, who: StepRole, managers: int, number: int) -> None:
        """Send a signal to the processes that *who* means."""
        for child in self.children(who, managers):
            child.signal(number)
        if who in (StepRole.AGENT, StepRole.EVERYTHING):
            for qmgr in self.drawn[:managers]:
                self.scene.signal_agent(self.agents[qmgr], number)
        if who in (StepRole.CHANNEL, StepRole.EVERYTHING):
            for qmgr in self.drawn[:managers]:
                self.scene.managers[qmgr].signal_channel_servers(number)

    def tell(self, event: str, detail: str = "", managers: int = 1) -> None:
        """Add an event to the timeline, and say it."""
        names = ", ".join(self.drawn[:managers])
        self.scene.timeline.add(event, names, by="drill", detail=detail)
        self.say(names, f"{event.replace('_', ' ')}: {detail}" if detail else event.replace("_", " "))
