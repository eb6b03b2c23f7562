"""What a manager does beside keeping its lease: recoveries and housekeeping, one at a time, in a thread."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import structlog
from tenacity import Retrying, retry_if_exception, wait_exponential_jitter

from igq.agent.progress.wake import wake_agent, wake_movers
from igq.manager.backlog import Backlog, Batch, Kind
from igq.manager.expiry import Sweep
from igq.manager.structure_watch import StructureWatch
from recovery.resolve import STRUCTURE_TROUBLES, Outcome, Phase, RecoveryReport, recover_all
from recovery.target import Target
from sharedq.calls.handles.connect import disconnect
from sharedq.members.group import Group
from sharedq.members.kept_process import KeptProcess
from sharedq.mqi.errors import MQIError
from sharedq.session.connection import Connection

Task = Callable[[], None]


class Worker:
    """Runs tasks over one connection of the manager's own process; a broken connection is replaced.

    Args:
        say: takes a message id of `igq.console.messages` and its fields.
    """

    def __init__(self, group: Group, process: KeptProcess, say: Callable[..., None]) -> None:
        self._group, self._process, self._say = group, process, say
        self._connection: Connection | None = None
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._backlog = Backlog()
        #: What follows when something of it was recovered.
        self._then: Task = lambda: None
        self._is_stopping = False
        #: Jobs of which a sweep is under way.
        self._sweeps: set[str] = set()
        self._structures = StructureWatch(group, process.qmgr, say)
        self._thread = threading.Thread(target=self._work, name="worker", daemon=True)
        self._thread.start()

    def submit(self, task: Task) -> None:
        """Run *task* behind those before it."""
        self._tasks.put(task)

    def recover_soon(self, targets: Sequence[Target], then: Task) -> None:
        """Recover *targets*, whose leases have run out, and do *then* when some of them are resolved."""

        def add() -> None:
            for target in targets:
                self._backlog.add(target)
            self._then = then
            self._recover_some()

        self.submit(add)

    def recover_dead(self, token: str, pid: int) -> None:
        """Recover a program that is said to have died as process *pid*, if Redis knows it as that and has it still."""

        def add() -> None:
            self._backlog.add_ended(token, pid)
            self.submit(self._recover_some)

        self.submit(add)

    def _recover_some(self) -> None:
        """The most urgent of what is to be recovered, in one go; the rest after what waits by then."""
        if (batch := self._backlog.take()) is None:
            return
        self.submit(self._recover_some)
        targets, is_forced = batch.targets, batch.kind is Kind.SEEN_TO_END
        try:
            if is_forced:
                targets = self._still_there(batch)
            reports = self._recover_all(targets, is_forced=is_forced) if targets else []
        except MQIError as error:
            # Leases and claims run out.
            self._say("CSQE015I", target=_called([target.token for target in targets]), error=str(error))
            return
        for report in reports:
            if report.error is not None:
                self._say("CSQE015I", target=report.failed, error=str(report.error))
        if any(report.is_resolved for report in reports):
            self._then()

    def _still_there(self, batch: Batch) -> list[Target]:
        """Those that Redis knows as the processes that ended. Nothing is left of one that had ended its connections."""
        key, found = self._group.keys.processes, list[Target]()
        known = self._group.command(key, "HMGET", key, *(target.token for target in batch.targets))
        for target, pid, text in zip(batch.targets, batch.pids, known, strict=True):
            if text is not None and json.loads(text)["pid"] == pid:
                self._say("CSQ3201E", target=target.token, pid=pid)
                found.append(target)
        return found

    def recover_ended(self, token: str) -> bool:
        """Recover a child of ours that has ended. True when done.

        It keeps trying while the lease holds, until the manager stops: then peers will do what cannot be done now.
        Where a structure delays it, the watch tries again, and everything else goes on.
        """

        def is_worth_another_try(error: BaseException) -> bool:
            is_delayed = isinstance(error, MQIError) and error.reason in STRUCTURE_TROUBLES
            return isinstance(error, MQIError) and not is_delayed and self._process.is_alive

        retrying = Retrying(
            wait=wait_exponential_jitter(multiplier=0.05, max=2.0, jitter=0.05),
            retry=retry_if_exception(is_worth_another_try),
            stop=lambda _: self._is_stopping or not self._process.is_alive,
            reraise=True,
        )
        try:
            report = retrying(self.recover, Target.parse(token), is_forced=True)
        except MQIError as error:
            self._say("CSQE015I", target=token, error=str(error))
            return False
        return report.outcome in (Outcome.RESOLVED, Outcome.NOTHING)

    def recover(self, target: Target, *, is_forced: bool = False, state: str = "FAILED") -> RecoveryReport:
        """Recover *target* now, in the calling thread: the worker's.

        Raises:
            MQIError: why that cannot be done now; somebody will take the recovery over.
        """
        (report,) = self._recover_all([target], is_forced=is_forced, state=state)
        if report.error is not None:
            raise report.error
        return report

    def _recover_all(
        self, targets: Sequence[Target], *, is_forced: bool, state: str = "FAILED"
    ) -> list[RecoveryReport]:
        def on_phase(phase: Phase, reports: Sequence[RecoveryReport]) -> None:
            self._tell(phase, reports)
            if any(target.covers(self._process.token) for target in targets):
                # Our own incarnation: the claim, which this call has just renewed, is now our lease.
                self._process.renewed(time.monotonic())

        reports = recover_all(self._group, self.connection(), targets, force=is_forced, state=state, on_phase=on_phase)
        # The tags of their agents are free again: no need to wait for the next retry.
        for qmgr in {Target.parse(report.failed).qmgr for report in reports if report.is_resolved}:
            wake_agent(self._group, qmgr)
        return reports

    def connection(self) -> Connection:
        """The worker's connection, made anew when it was lost, or closed because it was idle."""
        if self._connection is not None and self._connection.has_lost_server():
            self._connection.break_off()
        if self._connection is None or self._connection.is_ended:
            self._process.tell_abandoned()
            self._connection = Connection(self._group, self._process, appl_name="manager", is_internal=True)
        return self._connection

    def discard_expired(self, interval_ms: int) -> None:
        """Discard expired messages of every structure, if no other manager did so within *interval_ms*."""
        self._sweep("expiry", interval_ms, found_only=False)

    def report_expired(self, interval_ms: int) -> None:
        """Report what was found expired, if no other manager did so within *interval_ms*: EXPRYINT may be long."""
        self._sweep("reports of expirations", interval_ms, found_only=True)

    def _sweep(self, job: str, interval_ms: int, *, found_only: bool) -> None:
        if job in self._sweeps:
            return
        try:
            if not self._group.call("admin/claim_job", [self._group.keys.group], [job, interval_ms]):
                return
            names = self._group.structure_names()
        except MQIError as error:
            self._say("IGQ0012E", error=str(error))
            return
        self._sweeps.add(job)
        self._go_on(self._sweeping(job, [Sweep(name, found_only) for name in names]))

    def _sweeping(self, job: str, sweeps: Sequence[Sweep]) -> Iterator[None]:
        """Sweep structure by structure, and pause behind each step."""
        try:
            for sweep in sweeps:
                is_over = False
                while not is_over and not self._is_stopping:
                    is_over = not self._sweep_some(sweep)
                    yield
                if sweep.count:
                    self._say("IGQ0011I", count=sweep.count, structure=sweep.structure)
        finally:
            self._sweeps.discard(job)

    def _sweep_some(self, sweep: Sweep) -> bool:
        try:
            self._group.require_reachable(sweep.structure)
            return sweep.go_on(self.connection())
        except MQIError as error:
            # One that cannot be used now, or while it is being recovered, keeps no other waiting.
            self._say("IGQ0012E", error=str(error))
            return False

    def _go_on(self, steps: Iterator[None]) -> None:
        """Do a step of something long, and the rest behind what waits by then: recoveries are not to wait for it."""
        for _ in steps:
            self.submit(partial(self._go_on, steps))
            return

    def look_at_structures(self) -> None:
        """Say which structures have failed, and which can be used again: then what waits for that tries at once."""
        try:
            if self._structures.look():
                wake_agent(self._group, self._process.qmgr)
                wake_movers(self._group, self._process.qmgr)
        except MQIError as error:
            structlog.get_logger().warning("structures_not_looked_at", error=str(error))

    def disconnect(self) -> None:
        """End the connection in good order; the next task makes another one."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_ended:
            disconnect(connection)

    def hurry(self) -> None:
        """The manager stops: the task at hand is tried no more than once again, and nothing is swept any more."""
        self._is_stopping = True

    def end(self) -> None:
        """No task after the one at hand."""
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception:  # noqa: BLE001 - logged
                # One task that fails must not leave the manager without recovery.
                structlog.get_logger().exception("task_failed")

    def _tell(self, phase: Phase, reports: Sequence[RecoveryReport]) -> None:
        for name, some in _by_process(reports).items():
            if phase is Phase.CLAIMED:
                self._say("CSQE008I", target=name)
                self._say("CSQE011I", target=name)
            elif phase is Phase.FENCED:
                self._say("CSQE013I", target=name)
                self._say("CSQE012I", target=name)
            elif phase is Phase.RESOLVED:
                units, messages = sum(each.units_of_work for each in some), sum(each.messages for each in some)
                self._say("CSQE014I", target=name, units_of_work=units, messages=messages)
                if in_doubt := sum(each.in_doubt for each in some):
                    self._say("CSQR004I", target=name, in_doubt=in_doubt)


def _by_process(reports: Sequence[RecoveryReport]) -> dict[str, list[RecoveryReport]]:
    """By what the log calls them: the lost connections of a process are told together."""
    together: dict[str, list[RecoveryReport]] = {}
    for report in reports:
        target = Target.parse(report.failed)
        together.setdefault(target.token if target.connection is None else target.process_token, []).append(report)
    return {_called([each.failed for each in some]): some for some in together.values()}


def _called(tokens: Sequence[str]) -> str:
    return tokens[0] if len(tokens) == 1 else f"{tokens[0]} and {len(tokens) - 1} more"
