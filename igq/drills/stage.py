"""Does a scenario's steps on a scene."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import singledispatchmethod

from igq.drills import scenario as steps
from igq.drills.scenario import Step, Who
from igq.errors import CommandError
from igq.load.children import Child
from igq.load.departures import QMGRS
from igq.load.scene import Scene
from igq.load.view import working_agent
from igq.load.waits import wait_for_agent, wait_for_backlog, wait_for_puts, wait_until_delivered, wait_until_recovered


class Stage:
    """One run of a scenario.

    Args:
        victim: the manager that faults happen to.
        messages: how many are put in all.
        say: takes a sentence about what is done.
    """

    def __init__(self, scene: Scene, victim: str, messages: int, say: Callable[[str], None]) -> None:
        self._scene, self._victim, self._messages, self._say = scene, victim, messages, say
        self._incarnation = ""
        self._owners: list[str] = []
        self._agent_pid = 0

    @singledispatchmethod
    def do(self, step: Step) -> None:
        """Do one step.

        Raises:
            CommandError: it cannot be done, or what it waits for does not happen.
        """
        raise NotImplementedError(step)

    @do.register
    def _(self, _step: steps.StartGroup) -> None:
        scene = self._scene
        scene.open()
        scene.start_managers()
        for name in QMGRS:
            scene.timeline.add("started", name)
        scene.define_queues()

    @do.register
    def _(self, _step: steps.StartLoad) -> None:
        self._scene.start_load()
        self._tell("load_started")

    @do.register
    def _(self, step: steps.WaitForPuts) -> None:
        wait_for_puts(self._scene, int(self._messages * step.part))

    @do.register
    def _(self, _step: steps.Hold) -> None:
        scene = self._scene
        puts, gets = scene.hold(scene.programs_of(self._victim))
        self._tell("held", f"{puts} uncommitted puts, {gets} uncommitted gets")

    @do.register
    def _(self, _step: steps.Release) -> None:
        self._scene.release(self._scene.programs_of(self._victim))
        self._tell("released")

    @do.register
    def _(self, step: steps.Kill) -> None:
        self._remember()
        children = self._children(step.who)
        self._tell("killed", step.who.value)
        if step.who is Who.AGENT:
            self._scene.signal_agent(self._agent_pid, signal.SIGKILL)
        else:
            # The agent goes with its manager: the kernel ends it when its parent ends.
            self._scene.kill(children)

    @do.register
    def _(self, step: steps.Pause) -> None:
        self._remember()
        self._scene.forget_ready(self._victim)
        self._signal(step.who, signal.SIGSTOP)
        self._tell("paused", step.who.value)

    @do.register
    def _(self, step: steps.Resume) -> None:
        self._signal(step.who, signal.SIGCONT)
        self._tell("resumed", step.who.value)

    @do.register
    def _(self, step: steps.WaitForBacklog) -> None:
        self._tell("backlog", f"{wait_for_backlog(self._scene, step.messages)} messages on the transmit queue")

    @do.register
    def _(self, step: steps.WaitUntilRecovered) -> None:
        owners = self._owners if step.who is Who.PROGRAMS else [self._incarnation]
        for owner in owners:
            wait_until_recovered(self._scene, owner)

    @do.register
    def _(self, _step: steps.WaitUntilReady) -> None:
        self._scene.wait_until_ready([self._victim])
        self._tell("joined_again")

    @do.register
    def _(self, step: steps.Start) -> None:
        if step.who in (Who.MANAGER, Who.EVERYTHING):
            self._scene.start_managers([self._victim])
        if step.who in (Who.PROGRAMS, Who.EVERYTHING):
            self._scene.start_programs(self._victim)
        self._tell("restarted", step.who.value)

    @do.register
    def _(self, _step: steps.WaitForAgent) -> None:
        pid = wait_for_agent(self._scene, self._victim, self._agent_pid)
        self._tell("serialized", f"IGQ agent, pid {pid}")

    @do.register
    def _(self, step: steps.ExpectInLog) -> None:
        log = self._scene.settings.data_dir / f"{self._victim}.log"
        if step.message_id not in log.read_text(encoding="utf-8"):
            raise CommandError(f"{log} has no {step.message_id}")

    @do.register
    def _(self, _step: steps.Drain) -> None:
        scene = self._scene
        wait_until_delivered(scene)
        scene.finish_load()
        self._tell("drained")
        scene.stop_managers()

    def _remember(self) -> None:
        """What later steps must know about processes that are about to be gone."""
        scene = self._scene
        self._incarnation = scene.incarnation(self._victim)
        # What a held program holds is recovered under the token of its process.
        programs = [program for program in scene.programs_of(self._victim) if program.name in scene.watch.holding]
        self._owners = [program.owner.rpartition(".")[0] for program in programs]
        self._agent_pid = working_agent(scene.group, self._victim) or self._agent_pid

    def _children(self, who: Who) -> list[Child]:
        found: list[Child] = []
        if who in (Who.MANAGER, Who.EVERYTHING):
            found.append(self._scene.managers[self._victim])
        if who in (Who.PROGRAMS, Who.EVERYTHING):
            found.extend(self._scene.programs_of(self._victim))
        return found

    def _signal(self, who: Who, number: int) -> None:
        for child in self._children(who):
            child.signal(number)
        if who in (Who.AGENT, Who.EVERYTHING):
            self._scene.signal_agent(self._agent_pid, number)

    def _tell(self, event: str, detail: str = "") -> None:
        self._scene.timeline.add(event, self._victim, by="drill", detail=detail)
        self._say(f"{event.replace('_', ' ')}: {detail}" if detail else event.replace("_", " "))
