"""Performs a scenario's steps on a scene."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import singledispatchmethod

from igq.errors import CommandError
from igq.rehearsal.drills import scenario as steps
from igq.rehearsal.drills.scenario import Role, Step
from igq.rehearsal.drills.troubles import faults
from igq.rehearsal.drills.troubles.bulk import Bulk
from igq.rehearsal.drills.troubles.doubt import BACKOUT, COMMIT, expect_in_doubt, resolve
from igq.rehearsal.drills.troubles.losses import CUTS, LostStructure
from igq.rehearsal.drills.troubles.zombies import deeds_since
from igq.rehearsal.load.processes.children import PUTTER, Child, Program
from igq.rehearsal.load.rows.departures import QMGRS
from igq.rehearsal.load.rows.plan import SHARED_QUEUE
from igq.rehearsal.load.scene import Scene
from igq.rehearsal.load.view import agent_state, recovery_of, working_agent
from igq.rehearsal.load.waits import (
    catch_recoverer,
    wait_for_agent,
    wait_for_backlog,
    wait_for_puts,
    wait_until_delivered,
    wait_until_recovered,
)

_RETRY_TIMEOUT_S = 60.0


class Stage:
    """One run of a scenario.

    Args:
        generator: draws the victims.
        messages: number of messages that are put in all.
        say: called with the name of a manager and a sentence about the step.
    """

    def __init__(self, scene: Scene, generator: random.Random, messages: int, say: Callable[[str, str], None]) -> None:
        self._scene, self._generator, self._messages, self._say = scene, generator, messages, say
        self._drawn = self._draw()
        self._recoverer = ""
        self._incarnations: dict[str, str] = {}
        self._owners: list[str] = []
        self._agents: dict[str, int] = {}
        #: Agents that are dead: another process takes the place of each.
        self._replaced: dict[str, int] = {}
        self._bulk: Bulk | None = None
        #: Units of work.
        self._in_doubt: list[str] = []
        self._structure: LostStructure | None = None
        #: Interruptions of programs before the latest fault.
        self._known_interruptions = 0

    @property
    def victim(self) -> str:
        """The manager that faults happen to, or the first of several."""
        return self._drawn[0]

    @property
    def structure(self) -> LostStructure:
        """The structure of the shared queue, in a scenario that loses it."""
        assert self._structure is not None
        return self._structure

    @singledispatchmethod
    def do(self, step: Step) -> None:
        """Perform one step.

        Raises:
            CommandError: the step is impossible, or what it waits for does not happen.
        """
        raise NotImplementedError(step)

    @do.register
    def _(self, step: steps.StartGroup) -> None:
        scene = self._scene
        scene.open()
        scene.start_managers()
        for name in QMGRS:
            scene.timeline.add("started", name)
        scene.define_queues(step.shared)
        if step.shared:
            self._structure = LostStructure(scene, step.shared)

    @do.register
    def _(self, _step: steps.StartLoad) -> None:
        self._scene.start_load()
        self._tell("load_started")

    @do.register
    def _(self, step: steps.WaitForPuts) -> None:
        self._scene.set_pace(0.0)
        wait_for_puts(self._scene, int(self._messages * step.part))
        self._scene.set_pace(step.pace_s)

    @do.register
    def _(self, _step: steps.WaitForPutter) -> None:
        scene, putter = self._scene, self._putter()
        before = putter.progress.get("put", 0)
        scene.watch.wait(
            lambda: putter.progress.get("put", 0) > before or putter.name in scene.watch.finished,
            f"the putter of {self.victim} to go on",
            _RETRY_TIMEOUT_S,
        )

    @do.register
    def _(self, _step: steps.Draw) -> None:
        self._drawn = self._draw()

    # -- what is under way when a fault comes ----------------------------------------------------------------------

    @do.register
    def _(self, step: steps.Hold) -> None:
        puts, gets = self._scene.hold(self._programs(step.who, step.managers))
        self._tell("held", f"{puts} uncommitted puts, {gets} uncommitted gets", step.managers)

    @do.register
    def _(self, step: steps.Release) -> None:
        self._scene.release(self._programs(step.who))
        self._tell("released", step.who.value)

    @do.register
    def _(self, _step: steps.Prepare) -> None:
        self._in_doubt = self._scene.prepare(self._programs(Role.PROGRAMS))
        self._tell("prepared", f"{len(self._in_doubt)} units of work")

    @do.register
    def _(self, _step: steps.ExpectInDoubt) -> None:
        expect_in_doubt(self._scene.group, self.victim, self._in_doubt)
        self._tell("in_doubt", f"{len(self._in_doubt)} units of work")

    @do.register
    def _(self, step: steps.Resolve) -> None:
        group, at = self._scene.group, self._drawn[1] if step.is_by_peer else self.victim
        units = expect_in_doubt(group, self.victim, self._in_doubt)
        for unit in self._generator.sample(units, min(1, len(units)) if step.is_by_peer else len(units)):
            action = self._generator.choice((COMMIT, BACKOUT))
            resolve(group, unit, action, at)
            self._in_doubt.remove(unit.id)
            self._tell("resolved", f"{action} of what {unit.appl_name} had prepared, at {at}")

    @do.register
    def _(self, step: steps.HoldBulk) -> None:
        self._bulk = Bulk(self._scene.group, self.victim, self._scene.settings.default_structure)
        self._bulk.put(step.messages)
        self._tell("held", f"{step.messages} uncommitted puts in bulk")

    @do.register
    def _(self, _step: steps.ReleaseBulk) -> None:
        assert self._bulk is not None
        self._bulk.must_be_lost()
        self._tell("released", "the commit of the bulk is refused, and nothing of it is left")

    # -- processes -------------------------------------------------------------------------------------------------

    @do.register
    def _(self, step: steps.Kill) -> None:
        self._wait_for_agents(step.who, step.managers)
        self._remember(step.managers, is_agent_replaced=step.who in (Role.AGENT, Role.MANAGER, Role.EVERYTHING))
        children = self._children(step.who, step.managers)
        self._tell("killed", step.who.value, step.managers)
        if step.who is Role.AGENT:
            self._scene.signal_agent(self._agents[self.victim], signal.SIGKILL)
        else:
            # The kernel ends the agent when its manager ends.
            self._scene.kill(children)

    @do.register
    def _(self, step: steps.Pause) -> None:
        self._wait_for_agents(step.who, step.managers, is_with_manager=True)
        # The lease of an agent that is only stopped is renewed by its manager.
        self._remember(step.managers, is_agent_replaced=step.who in (Role.MANAGER, Role.EVERYTHING))
        if step.who in (Role.MANAGER, Role.EVERYTHING):
            for qmgr in self._drawn[: step.managers]:
                self._scene.forget_ready(qmgr)
        self._signal(step.who, step.managers, signal.SIGSTOP)
        self._tell("paused", step.who.value, step.managers)

    @do.register
    def _(self, _step: steps.HangAgent) -> None:
        self._wait_for_agents(Role.AGENT, 1)
        self._remember(1, is_agent_replaced=True)
        self._signal(Role.AGENT, 1, signal.SIGSTOP)
        self._tell("hung", Role.AGENT.value)

    @do.register
    def _(self, step: steps.Resume) -> None:
        self._signal(step.who, 1, signal.SIGCONT)
        self._tell("resumed", step.who.value)

    @do.register
    def _(self, step: steps.Start) -> None:
        managers = [self._recoverer] if step.who is Role.RECOVERER else self._drawn[: step.managers]
        if step.who in (Role.MANAGER, Role.EVERYTHING, Role.RECOVERER):
            # A manager that was not killed is still running.
            self._scene.start_managers([qmgr for qmgr in managers if not self._scene.managers[qmgr].is_running])
        if step.who in (Role.PROGRAMS, Role.EVERYTHING):
            for qmgr in managers:
                self._scene.start_programs(qmgr)
        self._tell("restarted", step.who.value, step.managers)

    # -- the network -----------------------------------------------------------------------------------------------

    @do.register
    def _(self, _step: steps.Cut) -> None:
        scene = self._scene
        assert scene.machines is not None
        self._wait_for_agents(Role.AGENT, 1)
        self._remember(1, is_agent_replaced=True)
        self._known_interruptions = len(scene.watch.interruptions)
        scene.forget_ready(self.victim)
        scene.machines.cut(self.victim)
        self._tell("cut_off")

    @do.register
    def _(self, _step: steps.Heal) -> None:
        assert self._scene.machines is not None
        self._scene.machines.heal(self.victim)
        self._tell("healed")

    @do.register
    def _(self, _step: steps.ExpectUnharmed) -> None:
        scene, before = self._scene, self._incarnations[self.victim]
        now, agent = scene.incarnation(self.victim), working_agent(scene.group, self.victim)
        if now != before or agent != self._agents[self.victim] or recovery_of(scene.group, before) is not None:
            raise CommandError(f"{before} was to go on, but now it is {now}, with the IGQ agent {agent}")
        self._tell("unharmed", now)

    @do.register
    def _(self, _step: steps.ExpectShutOut) -> None:
        group, owner = self._scene.group, self._incarnations[self.victim]
        recovery = recovery_of(group, owner)
        assert recovery is not None
        fenced_ms = dict(recovery.moments)["fenced"]
        if deeds := deeds_since(group, owner, fenced_ms):
            raise CommandError(f"{owner} was shut out at {fenced_ms}, and then: {', '.join(deeds)}")
        self._tell("nothing_done", f"by {owner}, since it was shut out")

    # -- Redis and definitions -------------------------------------------------------------------------------------

    @do.register
    def _(self, _step: steps.KillRedis) -> None:
        pid = faults.kill_server(self._scene)
        self._tell("redis_killed", f"pid {pid}, and another one serves")

    @do.register
    def _(self, step: steps.FlushScripts) -> None:
        faults.flush_scripts(self._scene, step.times)
        self._tell("scripts_flushed", f"{step.times} times")

    @do.register
    def _(self, step: steps.AlterIgq) -> None:
        self._known_interruptions = len(self._scene.watch.interruptions)
        self._tell("altered", f"IGQ({step.value})")
        faults.alter_igq(self._scene, self.victim, step.value)

    @do.register
    def _(self, step: steps.LimitMemory) -> None:
        self._known_interruptions = len(self._scene.watch.interruptions)
        limit = faults.limit_memory(self._scene, is_lifted=step.is_lifted)
        self._tell("memory_limited", f"{limit} bytes" if limit else "no more")

    # -- a structure -----------------------------------------------------------------------------------------------

    @do.register
    def _(self, step: steps.BackUp) -> None:
        position = self.structure.keep_log() if step.has_log else self.structure.back_up()
        self._tell("backed_up", f"{self.structure.name}, up to {position}", len(QMGRS))

    @do.register
    def _(self, _step: steps.LoseStructure) -> None:
        self._known_interruptions = len(self._scene.watch.interruptions)
        self.structure.lose()
        self._tell("structure_lost", self.structure.name, len(QMGRS))

    @do.register
    def _(self, _step: steps.CutOffRecovery) -> None:
        cut = self._generator.choice(CUTS)
        self._known_interruptions = len(self._scene.watch.interruptions)
        self.structure.recover_in_vain(cut)
        self._tell("recovery_cut_off", f"of {self.structure.name}, before {cut}", len(QMGRS))

    @do.register
    def _(self, _step: steps.Recover) -> None:
        self.structure.recover()
        self._tell("structure_recovered", self.structure.name, len(QMGRS))

    # -- waiting ---------------------------------------------------------------------------------------------------

    @do.register
    def _(self, step: steps.WaitForBacklog) -> None:
        self._tell("backlog", f"{wait_for_backlog(self._scene, step.messages)} messages on the transmit queue")

    @do.register
    def _(self, _step: steps.WaitForRecoverer) -> None:
        found = catch_recoverer(self._scene, self._incarnations[self.victim])
        self._recoverer = found.by
        self._incarnations[found.by] = self._scene.incarnation(found.by)
        self._tell("caught", f"{found.by} recovers, {found.state}, {found.messages} messages so far")

    @do.register
    def _(self, step: steps.WaitUntilRecovered) -> None:
        owners = [self._incarnations[qmgr] for qmgr in self._drawn[: step.managers]]
        if step.who is Role.PROGRAMS:
            owners = self._owners
        elif step.who is Role.RECOVERER:
            owners = [self._incarnations[self._recoverer]]
        for owner in owners:
            wait_until_recovered(self._scene, owner)

    @do.register
    def _(self, _step: steps.WaitUntilReady) -> None:
        self._scene.wait_until_ready([self.victim])
        self._tell("joined_again")

    @do.register
    def _(self, _step: steps.WaitForAgent) -> None:
        pid = wait_for_agent(self._scene, self.victim, self._replaced.get(self.victim, 0))
        self._tell("serialized", f"IGQ agent, pid {pid}")

    @do.register
    def _(self, _step: steps.WaitForRetry) -> None:
        scene = self._scene
        scene.watch.wait(
            lambda: agent_state(scene.group, self.victim).get("state") == "RETRY",
            f"the IGQ agent of {self.victim} to be refused its tag",
            _RETRY_TIMEOUT_S,
            asks_group=True,
        )
        self._tell("refused", str(agent_state(scene.group, self.victim).get("last_error", "")))

    @do.register
    def _(self, step: steps.LetLeasePass) -> None:
        self._scene.watch.wait_a_while(lambda: False, step.leases * self._scene.settings.lease_ms / 1000)

    @do.register
    def _(self, step: steps.WaitForRefusal) -> None:
        watch = self._scene.watch
        watch.wait(
            lambda: (
                step.reason in watch.interruptions[self._known_interruptions :]
                or (not step.is_certain and self._scene.is_all_put())
            ),
            f"a program to be refused with {step.reason}",
            _RETRY_TIMEOUT_S,
            moves=self._scene.put,
        )
        count = watch.interruptions[self._known_interruptions :].count(step.reason)
        self._tell("refused", f"{count} calls with {step.reason}")

    @do.register
    def _(self, step: steps.ExpectInLog) -> None:
        log = self._scene.settings.data_dir / f"{self.victim}.log"
        if step.message_id not in log.read_text(encoding="utf-8"):
            raise CommandError(f"{log} has no {step.message_id}")

    @do.register
    def _(self, step: steps.WaitForLogs) -> None:
        logs = [self._scene.settings.data_dir / f"{qmgr}.log" for qmgr in QMGRS]
        self._scene.watch.wait(
            lambda: all(step.message_id in log.read_text(encoding="utf-8") for log in logs),
            f"{step.message_id} in every manager's log",
            _RETRY_TIMEOUT_S,
        )
        self._tell("told", step.message_id, len(QMGRS))

    @do.register
    def _(self, _step: steps.Drain) -> None:
        scene = self._scene
        scene.set_pace(0.0)
        wait_until_delivered(scene)
        scene.finish_load()
        self._tell("drained")
        scene.stop_managers()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _draw(self) -> list[str]:
        return self._generator.sample(QMGRS, len(QMGRS))

    def _wait_for_agents(self, who: Role, managers: int, *, is_with_manager: bool = False) -> None:
        """Make sure that the process of each agent that will get a signal is known: it may be just starting."""
        if who is Role.AGENT or (who is Role.EVERYTHING and is_with_manager):
            for qmgr in self._drawn[:managers]:
                wait_for_agent(self._scene, qmgr, self._replaced.get(qmgr, 0))

    def _remember(self, managers: int, *, is_agent_replaced: bool) -> None:
        """Remember what later steps must know about processes that will be gone."""
        scene = self._scene
        self._owners = []
        for qmgr in self._drawn[:managers]:
            self._incarnations[qmgr] = scene.incarnation(qmgr)
            # The unit of work of a held program is recovered under the token of its process.
            programs = [program for program in scene.programs_of(qmgr) if program.name in scene.watch.holding]
            self._owners += [program.owner.rpartition(".")[0] for program in programs]
            self._agents[qmgr] = working_agent(scene.group, qmgr) or self._agents.get(qmgr, 0)
            if is_agent_replaced:
                self._replaced[qmgr] = self._agents[qmgr]

    def _putter(self) -> Program:
        programs = self._scene.programs.values()
        (putter,) = (each for each in programs if each.qmgr == self.victim and each.kind == PUTTER)
        return putter

    def _programs(self, who: Role, managers: int = 1) -> list[Program]:
        """Return the running load programs that *who* means."""
        if who is Role.DRAINERS:
            return self._scene.consumers_of(SHARED_QUEUE)
        if who is Role.PUTTER:
            return [self._putter()]
        return [program for qmgr in self._drawn[:managers] for program in self._scene.programs_of(qmgr)]

    def _children(self, who: Role, managers: int) -> list[Child]:
        if who is Role.RECOVERER:
            return [self._scene.managers[self._recoverer]]
        found: list[Child] = []
        for qmgr in self._drawn[:managers]:
            if who in (Role.MANAGER, Role.EVERYTHING):
                found.append(self._scene.managers[qmgr])
            if who in (Role.PROGRAMS, Role.EVERYTHING):
                found.extend(self._scene.programs_of(qmgr))
        return found

    def _signal(self, who: Role, managers: int, number: int) -> None:
        for child in self._children(who, managers):
            child.signal(number)
        if who in (Role.AGENT, Role.EVERYTHING):
            for qmgr in self._drawn[:managers]:
                self._scene.signal_agent(self._agents[qmgr], number)

    def _tell(self, event: str, detail: str = "", managers: int = 1) -> None:
        names = ", ".join(self._drawn[:managers])
        self._scene.timeline.add(event, names, by="drill", detail=detail)
        self._say(names, f"{event.replace('_', ' ')}: {detail}" if detail else event.replace("_", " "))
