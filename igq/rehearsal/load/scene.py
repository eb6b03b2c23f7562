"""A group of real managers under load, and everything that demo and drills can do to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from igq.errors import CommandError
from igq.manager.channel_child import socket_path
from igq.rehearsal.load.processes.children import CONSUMER, PUTTER, Child, LoadProgram, Manager, ProcessWatch
from igq.rehearsal.load.processes.forked import ProgramStarter
from igq.rehearsal.load.programs.interrupts import interrupts_held
from igq.rehearsal.load.programs.program import Options
from igq.rehearsal.load.queues import define_queues
from igq.rehearsal.load.records import Timeline
from igq.rehearsal.load.rows.plan import PRIVATE_QUEUE, SHARED_QUEUE
from igq.rehearsal.load.rows.sources import QMGRS, RowSource
from igq.rehearsal.load.view import LoadBacklog, read_backlog
from sharedq.members.group import Group
from sharedq.settings.values import Settings

#: The load programs of a manager: kind, and queue.
PROGRAMS = ((CONSUMER, PRIVATE_QUEUE), (CONSUMER, SHARED_QUEUE), (PUTTER, ""))
AnyChild = TypeVar("AnyChild", bound=Child)

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 45.0
_HOLD_TIMEOUT_S = 5.0
_PREPARE_TIMEOUT_S = 60.0


class Machines(Protocol):
    """Machines of the managers, each with a network address of its own.

    Attributes:
        url: of Redis, for processes on them.
    """

    url: str

    def enter(self, qmgr: str) -> list[str]:
        """Return the words that, put before a command, run it on the machine of a manager."""

    def cut(self, qmgr: str) -> None:
        """Stop everything to and from the machine of a manager."""

    def heal(self, qmgr: str) -> None:
        """Put the machine back on the network."""

    def reset(self, one: str, other: str) -> int:
        """End the connections between the machines of two managers. Return how many there were."""


class Scene:
    """Managers EWR, JFK and LGA, their load programs, their records in one directory. Use it as a context manager.

    Args:
        settings: of the run: its data directory holds records and logs, and the embedded server if no URL is set.
        source: of the rows.
        is_history_kept: make programs record every call.
        look: called while waiting, a few times a second.
        machines: where each manager runs with its programs; None: all run on this machine.
    """

    def __init__(
        self,
        settings: Settings,
        source: RowSource,
        *,
        is_history_kept: bool = False,
        look: Callable[[], None] = lambda: None,
        machines: Machines | None = None,
    ) -> None:
        self.settings, self.source = settings, source
        self.directory = settings.data_dir
        self.group = Group(settings)
        self.timeline = Timeline(self.directory)
        self.watch = ProcessWatch(self.directory, look)
        self.managers: dict[str, Manager] = {}
        self.programs: dict[str, LoadProgram] = {}
        self.machines = machines
        there = settings if machines is None else settings.model_copy(update={"redis_url": machines.url})
        self.environment = environment_of(there)
        self._is_history_kept = is_history_kept
        self._pace_s = 0.0
        self._children: list[Child] = []
        #: By manager; one for all if they share a machine.
        self._starters: dict[str, ProgramStarter] = {}
        #: The names of programs that connect through channels, and what starts them.
        self._clients: Collection[str] = ()
        self._client_starter: ProgramStarter | None = None

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- starting ------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Reach Redis, start the embedded server if necessary, and prepare to start programs.

        Raises:
            CommandError: the group has been used before, and its journal would be mixed up with this run's.
            DeploymentError, MQIError: Redis cannot be used.
        """
        if self.group.members():
            raise CommandError(
                f"group {self.settings.group} already exists in this Redis; set IGQ_GROUP to a name not in use"
            )
        with interrupts_held():
            if self.machines is None:
                self._starters = dict.fromkeys(QMGRS, ProgramStarter(self.environment, self._program_errors))
            else:
                for name in QMGRS:
                    enter = self.machines.enter(name)
                    self._starters[name] = ProgramStarter(self.environment, self._program_errors, enter)

    def start_managers(self, names: Iterable[str] = QMGRS) -> None:
        """Start managers together and wait until they are ready."""
        started = list(names)
        for name in started:
            self.forget_ready(name)
            enter = () if self.machines is None else self.machines.enter(name)
            with interrupts_held():
                manager = Manager(name, self.environment, self.directory, self.watch.events, enter)
                self.managers[name] = self._own(manager)
        self.wait_until_ready(started)

    def forget_ready(self, name: str) -> None:
        """Expect the manager to report once more that it is ready."""
        self.watch.take_events()
        self.watch.ready.discard(name)

    def wait_until_ready(self, names: Iterable[str]) -> None:
        """Wait until managers have reported that they are ready."""
        wanted = set(names)
        what = f"{', '.join(sorted(wanted))} to be ready"
        self.watch.wait(lambda: wanted <= self.watch.ready, what, _START_TIMEOUT_S)

    def define_queues(self, shared: str = "") -> None:
        """Define the queues of the run. *shared* names another structure, for the queue that all managers drain."""
        define_queues(self.group, self.settings.default_structure, shared)

    def start_load(self, clients: Collection[str] = ()) -> None:
        """Start a putter and two consumers on every manager. *clients* names those that connect through its channel."""
        self._clients = clients
        if clients:
            with interrupts_held():
                # They know neither where Redis is nor where its URL could be read.
                self._client_starter = ProgramStarter(_environment_without_settings(), self._program_errors)
        for qmgr in QMGRS:
            self.start_programs(qmgr)

    def start_programs(self, qmgr: str) -> None:
        """Start the load programs of one manager that are not running."""
        for kind, queue_name in PROGRAMS:
            name = program_name(qmgr, kind, queue_name)
            running = self.programs.get(name)
            if name in self.watch.finished or (running is not None and running.is_running):
                continue
            options = Options(name, qmgr, self.directory, self.source, queue_name, self._is_history_kept)
            starter = self._starters[qmgr]
            if name in self._clients:
                assert self._client_starter is not None
                starter = self._client_starter
                options = replace(options, channel=str(socket_path(self.settings, qmgr)))
            with interrupts_held():
                self.programs[name] = self._own(LoadProgram(kind, options, starter, self.watch.events))
            self._send_pace(self.programs[name])

    # -- watching ------------------------------------------------------------------------------------------------

    def count(self, kind: str, name: str, queue_name: str = "") -> int:
        """Add up what programs of a kind last reported under *name* (``put``, ``got``)."""
        return sum(
            program.progress.get(name, 0)
            for program in self.programs.values()
            if program.kind == kind and program.options.queue in ("", queue_name)
        )

    def backlog(self) -> LoadBacklog:
        """Return what is on its way now."""
        return read_backlog(self.group, QMGRS)

    def incarnation(self, qmgr: str) -> str:
        """Return the token of the manager's incarnation."""
        member = self.group.member(qmgr)
        return f"{qmgr}.{member.incarnation}" if member is not None else qmgr

    def put(self) -> int:
        """Return how many messages were put."""
        return self.count(PUTTER, "put")

    def progress(self) -> Sequence[Mapping[str, int]]:
        """Return the programs' last reports, which change as long as the load goes on."""
        return [program.progress for program in self.programs.values()]

    def is_all_put(self) -> bool:
        """Whether every putter has finished."""
        putters = {name for name, program in self.programs.items() if program.kind == PUTTER}
        return putters <= self.watch.finished

    # -- doing ---------------------------------------------------------------------------------------------------

    def programs_of(self, qmgr: str) -> list[LoadProgram]:
        """Return the running load programs attached to a manager."""
        return [each for each in self.programs.values() if each.qmgr == qmgr and each.is_running]

    def consumers_of(self, queue_name: str) -> list[LoadProgram]:
        """Return the running consumers of a queue, at every manager."""
        found = (each for each in self.programs.values() if each.kind == CONSUMER and each.is_running)
        return [program for program in found if program.options.queue == queue_name]

    def hold(self, programs: Iterable[LoadProgram]) -> tuple[int, int]:
        """Make programs stop before their next commit. Returns how many puts and gets they hold uncommitted.

        A consumer whose queue is empty holds nothing, so the wait for it lasts only a few seconds.
        """
        asked = [program for program in programs if program.name not in self.watch.finished]
        for program in asked:
            program.send("hold")
        names = {program.name for program in asked}
        holding = self.watch.holding
        self.watch.wait_a_while(lambda: holding.keys() >= names - self.watch.finished, _HOLD_TIMEOUT_S)
        puts, gets = (sum(held[kind] for held in holding.values()) for kind in ("puts", "gets"))
        return puts, gets

    def set_pace(self, seconds: float) -> None:
        """Slow down every putter, also those started later, beginning with a pause of *seconds*."""
        self._pace_s = seconds
        for program in self.programs.values():
            self._send_pace(program)

    def prepare(self, programs: Iterable[LoadProgram]) -> list[str]:
        """Make held programs prepare what they hold. Returns the units of work that are then in doubt."""
        prepared = self.watch.prepared
        asked = [program for program in programs if program.name in self.watch.holding]
        for program in asked:
            prepared.pop(program.name, None)
            program.send("prepare")
        self.watch.wait(
            lambda: all(program.name in prepared for program in asked), "programs to prepare", _PREPARE_TIMEOUT_S
        )
        return [prepared[program.name] for program in asked]

    def release(self, programs: Iterable[LoadProgram]) -> None:
        """Let held programs go on."""
        for program in programs:
            self.watch.holding.pop(program.name, None)
            program.send("go")

    def kill(self, children: Iterable[Child]) -> None:
        """Send SIGKILL to all of them at once, then wait for their ends."""
        victims = list(children)
        for child in victims:
            child.kill()
        for child in victims:
            child.wait()
            self.watch.holding.pop(child.name, None)

    def signal_agent(self, pid: int, number: int) -> None:
        """Send a signal to an agent, which is a child of its manager, not of ours.

        Raises:
            CommandError: there is none. The system would take process 0 for this process and its whole group.
        """
        if pid <= 0:
            raise CommandError("there is no IGQ agent to send a signal to")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def finish_load(self) -> None:
        """Make all programs end in order: nothing more comes, and nothing is left."""
        for program in self.programs.values():
            program.is_expected_to_end = True
            program.send("go")
            program.send("finish")
        self.watch.wait(
            lambda: not any(program.is_running for program in self.programs.values()),
            "the load programs to end",
            _STOP_TIMEOUT_S,
        )

    def stop_managers(self) -> None:
        """Stop every manager in good order. Raises CommandError: a manager did not end, or not with status 0."""
        running = {name: manager for name, manager in self.managers.items() if manager.is_running}
        for manager in running.values():
            manager.is_expected_to_end = True
            manager.signal(signal.SIGTERM)
        for name, manager in running.items():
            try:
                status = manager.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                raise CommandError(f"{name} does not stop; its log is {self.directory / name}.log") from None
            if status:
                raise CommandError(f"{name} ended with status {status} when it was told to stop")
            self.timeline.add("stopped", name)

    def close(self) -> None:
        """End whatever still runs, at once, and leave Redis. A Ctrl-C meanwhile has no effect."""
        with _deaf_to_interrupts():
            for child in self._children:
                child.kill()
            for child in self._children:
                child.wait()
            for starter in {*self._starters.values(), self._client_starter}:
                if starter is not None:
                    starter.close()
            self.timeline.close()
            self.group.leave()

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _program_errors(self) -> Path:
        return self.directory / "programs.err"

    def _send_pace(self, program: LoadProgram) -> None:
        if program.kind == PUTTER:
            program.send(f"pace {self._pace_s}")

    def _own(self, child: AnyChild) -> AnyChild:
        self._children.append(child)
        return child


def program_name(qmgr: str, kind: str, queue_name: str) -> str:
    """Return the name of a load program."""
    return f"{qmgr}-{queue_name or kind}"


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment that gives children exactly *settings*, whatever the runner's environment says."""
    env = _environment_without_settings()
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if value is not None:
            env[f"IGQ_{name.upper()}"] = str(value).lower() if isinstance(value, bool) else str(value)
    return env


def _environment_without_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("IGQ_")}


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
