"""A group of real managers under load, and what can be done to it: the stage of the demo and of the drills."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from config.settings import Settings
from igq.errors import CommandError
from igq.load.children import CONSUMER, PUTTER, Child, Event, Events, Manager, Program
from igq.load.departures import QMGRS
from igq.load.plan import PRIVATE_QUEUE, SHARED_QUEUE
from igq.load.program import Options
from igq.load.putter import STATUS_QUEUE
from igq.load.records import Timeline
from igq.load.sources import Source
from igq.load.view import Backlog, read_backlog, recovery_of, working_agent
from igq.mqsc.executor import run as run_mqsc
from recovery.report import Recovery
from sharedq.group import Group
from sharedq.objects.repository import Repository

#: Queues of a run, as an administrator would define them; the first two once for the group.
SHARED_MQSC = f"""
DEFINE QLOCAL({SHARED_QUEUE}) QSGDISP(SHARED) CFSTRUCT({{structure}}) DEFPSIST(YES) MSGDLVSQ(FIFO) +
       DESCR('Departures, drained by all managers together') REPLACE
DEFINE QLOCAL({STATUS_QUEUE}) QSGDISP(SHARED) CFSTRUCT({{structure}}) DEFPSIST(YES) +
       DESCR('How far each putting program has come') REPLACE
"""
PRIVATE_MQSC = f"""
DEFINE QLOCAL({PRIVATE_QUEUE}) QSGDISP(QMGR) DEFPSIST(YES) MSGDLVSQ(FIFO) +
       DESCR('Departures sent here by intra-group queuing') REPLACE
"""

AnyChild = TypeVar("AnyChild", bound=Child)

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 45.0
#: How often the group is looked at while waiting for it, seconds.
_LOOK_S = 0.2


class Scene:
    """Managers EWR, JFK and LGA, their load programs, their records in one directory. Use it as a context manager.

    Args:
        settings: of the run: its data directory takes the logs, and the embedded server if no URL is set.
        directory: takes the records; exists.
        source: of the rows.
        is_history_kept: have programs write every call.
        look: called while waiting, a few times a second.
    """

    def __init__(
        self,
        settings: Settings,
        directory: Path,
        source: Source,
        *,
        is_history_kept: bool = False,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings, self.directory, self.source = settings, directory, source
        self.group = Group(settings)
        self.timeline = Timeline(directory)
        self.managers: dict[str, Manager] = {}
        self.programs: dict[str, Program] = {}
        self.finished: set[str] = set()
        #: Programs that wait before a commit, with the numbers of uncommitted puts and gets.
        self.holding: dict[str, Mapping[str, int]] = {}
        self.look = look
        self._is_history_kept = is_history_kept
        self._events: Events = queue.SimpleQueue()
        self._ready: set[str] = set()
        self._children: list[Child] = []
        self.environment = _environment(settings)
        self._looked_s = 0.0

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- starting ------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Reach Redis, starting the embedded server if need be.

        Raises:
            CommandError: the group has been used before, and its journal would be taken for this run's.
            DeploymentError, MQIError: Redis cannot be used.
        """
        if self.group.members():
            raise CommandError(
                f"group {self.settings.group} exists already in this Redis; set IGQ_GROUP to a name not in use"
            )

    def start_managers(self, names: Iterable[str] = QMGRS) -> None:
        """Start managers together and wait until they are ready."""
        started = list(names)
        for name in started:
            self.forget_ready(name)
            self.managers[name] = self._own(Manager(name, self.environment, self.directory, self._events))
        self.wait_until_ready(started)

    def forget_ready(self, name: str) -> None:
        """Expect the manager to say that it is ready once more."""
        self._take_events()
        self._ready.discard(name)

    def wait_until_ready(self, names: Iterable[str]) -> None:
        """Wait until managers have said that they are ready."""
        wanted = set(names)
        self.wait(lambda: wanted <= self._ready, f"{', '.join(sorted(wanted))} to be ready", _START_TIMEOUT_S)

    def define_queues(self) -> None:
        """Define the queues of the run by MQSC."""
        self._run_mqsc(QMGRS[0], SHARED_MQSC.format(structure=self.settings.default_structure))
        for name in QMGRS:
            self._run_mqsc(name, PRIVATE_MQSC)

    def start_load(self) -> None:
        """Start a putter and two consumers on every manager."""
        for qmgr in QMGRS:
            self.start_programs(qmgr)

    def start_programs(self, qmgr: str) -> None:
        """Start the load programs of one manager that do not run."""
        for kind, queue_name in ((CONSUMER, PRIVATE_QUEUE), (CONSUMER, SHARED_QUEUE), (PUTTER, "")):
            name = f"{qmgr}-{queue_name or kind}"
            running = self.programs.get(name)
            if name in self.finished or (running is not None and running.is_running):
                continue
            options = Options(name, qmgr, self.directory, self.source, queue_name, self._is_history_kept)
            self.programs[name] = self._own(Program(kind, options, self.environment, self._events))

    # -- watching ------------------------------------------------------------------------------------------------

    def wait(self, is_done: Callable[[], bool], what: str, timeout_s: float) -> None:
        """Take events in until *is_done*, which is asked after every event and a few times a second.

        Raises:
            CommandError: it took too long, or a child ended by itself.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            self._take_events()
            if time.monotonic() - self._looked_s >= _LOOK_S:
                self._looked_s = time.monotonic()
                self.look()
            if is_done():
                return
            if time.monotonic() > end_s:
                raise CommandError(f"waited {timeout_s:g} s in vain for {what}; the logs are in {self.directory}")
            with contextlib.suppress(queue.Empty):
                self._take(self._events.get(timeout=_LOOK_S))

    def count(self, kind: str, name: str, queue_name: str = "") -> int:
        """Sum of what programs of a kind reported last under *name* (``put``, ``got``)."""
        return sum(
            program.progress.get(name, 0)
            for program in self.programs.values()
            if program.kind == kind and program.options.queue in ("", queue_name)
        )

    def backlog(self) -> Backlog:
        """What is on its way now."""
        return read_backlog(self.group, QMGRS)

    def incarnation(self, qmgr: str) -> str:
        """Token of the manager's incarnation."""
        member = self.group.member(qmgr)
        return f"{qmgr}.{member.incarnation}" if member is not None else qmgr

    def wait_until_recovered(self, owner: str, timeout_s: float) -> Recovery:
        """Wait until everything *owner* left is resolved; put the recovery's moments in the timeline."""
        self.wait(lambda: self._resolved(owner) is not None, f"the recovery of {owner}", timeout_s)
        recovery = self._resolved(owner)
        assert recovery is not None
        qmgr = owner.partition(".")[0]
        for name, at_ms in recovery.moments:
            detail = f"{recovery.units_of_work} units of work, {recovery.messages} messages"
            is_end = name == "resolved"
            self.timeline.add(
                name.replace(" ", "_"), qmgr, by=recovery.by, detail=detail if is_end else recovery.failed, t_ms=at_ms
            )
        return recovery

    def wait_for_agent(self, qmgr: str, not_pid: int, timeout_s: float) -> int:
        """Wait until the manager's agent works and is another process than *not_pid*; its process id."""
        self.wait(lambda: working_agent(self.group, qmgr) not in (0, not_pid), f"the IGQ agent of {qmgr}", timeout_s)
        return working_agent(self.group, qmgr)

    # -- doing ---------------------------------------------------------------------------------------------------

    def programs_of(self, qmgr: str) -> list[Program]:
        """The load programs attached to a manager that run."""
        return [each for each in self.programs.values() if each.qmgr == qmgr and each.is_running]

    def hold(self, programs: Iterable[Program], timeout_s: float) -> None:
        """Have programs stop before their next commit; wait until all do, or for *timeout_s*."""
        asked = [program for program in programs if program.name not in self.finished]
        for program in asked:
            program.send("hold")
        names = {program.name for program in asked}
        with contextlib.suppress(CommandError):
            # A consumer whose queue is empty holds nothing.
            self.wait(lambda: self.holding.keys() >= names - self.finished, "programs to hold", timeout_s)

    def release(self, programs: Iterable[Program]) -> None:
        """Let held programs go on."""
        for program in programs:
            self.holding.pop(program.name, None)
            program.send("go")

    def kill(self, children: Iterable[Child]) -> None:
        """SIGKILL, all in one moment, then wait for their ends."""
        victims = list(children)
        for child in victims:
            child.kill()
        for child in victims:
            child.wait()
            self.holding.pop(child.name, None)

    def signal_agent(self, pid: int, number: int) -> None:
        """Send a signal to an agent: a child of its manager, not of ours."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def finish_load(self) -> None:
        """Tell the consumers that nothing more comes, and wait for all programs to end in order."""
        for program in self.programs.values():
            program.is_expected_to_end = True
            program.send("go")
            program.send("finish")
        self.wait(
            lambda: not any(program.is_running for program in self.programs.values()),
            "the load programs to end",
            _STOP_TIMEOUT_S,
        )

    def wait_until_drained(self, timeout_s: float) -> None:
        """Wait until every putter has finished and every message was delivered."""
        putters = {name for name, program in self.programs.items() if program.kind == PUTTER}
        self.wait(lambda: putters <= self.finished, "the putters to finish", timeout_s)
        self.wait(lambda: self.backlog().is_empty, "the queues to be drained", timeout_s)

    def stop_managers(self) -> None:
        """Stop every manager in good order.

        Raises:
            CommandError: one did not end, or not well.
        """
        running = {name: manager for name, manager in self.managers.items() if manager.is_running}
        for manager in running.values():
            manager.is_expected_to_end = True
            manager.signal(signal.SIGTERM)
        for name, manager in running.items():
            try:
                status = manager.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                log = self.settings.data_dir / f"{name}.log"
                raise CommandError(f"{name} does not stop; its log is {log}") from None
            if status:
                raise CommandError(f"{name} ended with status {status} when it was told to stop")
            self.timeline.add("stopped", name)

    def close(self) -> None:
        """End whatever still runs, at once, and leave Redis. A Ctrl-C in the middle of it changes nothing."""
        with _deaf_to_interrupts():
            for child in self._children:
                child.kill()
            for child in self._children:
                child.wait()
            self.timeline.close()
            self.group.leave()

    # -- inside --------------------------------------------------------------------------------------------------

    def _own(self, child: AnyChild) -> AnyChild:
        self._children.append(child)
        return child

    def _run_mqsc(self, qmgr: str, text: str) -> None:
        out = io.StringIO()
        if run_mqsc(text.splitlines(), Repository(self.group, qmgr), out):
            raise CommandError(f"the queues of {qmgr} cannot be defined: {' '.join(out.getvalue().split())}")

    def _resolved(self, owner: str) -> Recovery | None:
        recovery = recovery_of(self.group, owner)
        return recovery if recovery is not None and recovery.state == "RESOLVED" else None

    def _take_events(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._take(self._events.get_nowait())

    def _take(self, event: Event) -> None:
        child, name = event.child, event.child.name
        if event.kind == "ready" and isinstance(child, Manager):
            self._ready.add(name)
        elif event.kind == "finished":
            self.finished.add(name)
            child.is_expected_to_end = True
        elif event.kind == "holding":
            self.holding[name] = event.details
        elif event.kind == "ended" and not child.is_expected_to_end:
            status = event.details["status"]
            raise CommandError(f"{name} ended by itself with status {status}: {child.last_error or 'it said nothing'}")


def _environment(settings: Settings) -> dict[str, str]:
    """The environment that gives children exactly *settings*, whatever the runner's own environment says."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("IGQ_")}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if value is not None:
            env[f"IGQ_{name.upper()}"] = str(value).lower() if isinstance(value, bool) else str(value)
    return env


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
