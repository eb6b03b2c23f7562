"""The manager's work besides its lease: recoveries and housekeeping, one task at a time, in one thread.

The backlog has the targets that are seen dead and not begun, in the order of their recovery.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

import structlog
from tenacity import Retrying, retry_if_exception, wait_exponential_jitter

from igq.agent.progress.sleep import wake_agent, wake_movers
from igq.manager.expiry import Sweep
from igq.manager.membership import host_name
from igq.manager.structure_watch import StructureWatch
from recovery.resolution import STRUCTURE_TROUBLES, Outcome, Phase, RecoveryReport, recover_all
from recovery.target import Target
from sharedq.admin.journal_limit import trim_journal
from sharedq.calls.handles.connect import disconnect
from sharedq.calls.handles.subscriptions import delete_orphans, end_expired, topics_of
from sharedq.members.group import Group
from sharedq.members.lease import RENEWALS_PER_LEASE
from sharedq.members.process import KeptProcess
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.store.orphans import orphans_of
from sharedq.redis.answers import little_patience
from sharedq.scripts.members import claim_job_call
from sharedq.scripts.reads import fields_named
from sharedq.session.connection import Connection

#: The largest number of targets that are recovered in one go. Later deaths wait for no more than these.
BATCH = 250
#: Seconds between two looks at how many bytes the journals take, at least.
TRIM_S = 50.0
Task = Callable[[], None]


class TargetKind(IntEnum):
    """Kinds of targets, the most urgent first: many others may wait for it, or it leaves the most work."""

    MANAGER = 0
    #: A program that this machine saw end, although its lease may be in force.
    SEEN_TO_END = 1
    PROGRAM = 2
    CONNECTION = 3


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of one kind, with their pids if this machine saw them end."""

    kind: TargetKind
    targets: list[Target]
    pids: list[int]


class Backlog:
    """Holds each target once; within a kind, the one that died first comes first."""

    def __init__(self) -> None:
        self._by_kind: dict[TargetKind, dict[str, tuple[Target, int]]] = {kind: {} for kind in TargetKind}

    def add(self, target: Target) -> None:
        """Add a target whose lease has run out."""
        if target.is_manager:
            kind = TargetKind.MANAGER
        else:
            kind = TargetKind.PROGRAM if target.connection is None else TargetKind.CONNECTION
        self._by_kind[kind].setdefault(target.token, (target, 0))

    def add_ended(self, token: str, pid: int) -> None:
        """Add a program that is reported to have ended as process *pid*."""
        self._by_kind[TargetKind.SEEN_TO_END].setdefault(token, (Target.parse(token), pid))

    def take(self) -> Targets | None:
        """Take the most urgent targets. None if none are left."""
        for kind, waiting in self._by_kind.items():
            if waiting:
                taken = [waiting.pop(token) for token in [*waiting][:BATCH]]
                return Targets(kind, [target for target, _ in taken], [pid for _, pid in taken])
        return None


class Worker:
    """Runs tasks over one connection of the manager's own process. It replaces a broken connection.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
    """

    def __init__(self, group: Group, process: KeptProcess, say: Callable[..., None]) -> None:
        self._group, self._process, self._say = group, process, say
        self._connection: Connection | None = None
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._backlog = Backlog()
        #: The task to run after recoveries are resolved.
        self._then: Task = lambda: None
        self._is_stopping = self._is_over = False
        #: Jobs whose sweep is under way.
        self._sweeps: set[str] = set()
        self._trim_due_s = 0.0
        #: Whether there may be orphans. A manager that asked Redis each time would do little else while it is idle.
        self._may_have_orphans = True
        self._structures = StructureWatch(group, process.qmgr, say)
        self._thread = threading.Thread(target=self._work, name="worker", daemon=True)
        self._thread.start()

    def submit(self, task: Task) -> None:
        """Run *task* after those already queued. A task that comes after the last one (`submit_last`) never runs."""
        self._tasks.put(task)

    def submit_last(self, task: Task) -> None:
        """Run *task* after those already queued, and no task after it: *task* gives back what tasks need."""
        self.hurry()
        self._tasks.put(task)
        self._tasks.put(None)

    def recover_soon(self, targets: Sequence[Target], then: Task) -> None:
        """Recover *targets*, whose leases have run out. Do *then* when some of them are resolved."""

        def add() -> None:
            for target in targets:
                self._backlog.add(target)
            self._then = then
            self._recover_some()

        self.submit(add)

    def recover_dead(self, token: str, pid: int) -> None:
        """Recover a program or a manager that is reported to have died as process *pid*.

        Nothing is done unless Redis still has it with this pid.
        """

        def add() -> None:
            self._backlog.add_ended(token, pid)
            self.submit(self._recover_some)

        self.submit(add)

    def _recover_some(self) -> None:
        """Recover the most urgent targets in one go. The rest comes after the tasks that wait by then."""
        if (batch := self._backlog.take()) is None:
            return
        self.submit(self._recover_some)
        targets, is_forced = batch.targets, batch.kind is TargetKind.SEEN_TO_END
        try:
            if is_forced:
                targets = self._still_there(batch)
            reports = self._recover_all(targets, is_forced=is_forced) if targets else []
        except MQIError as error:
            # Leases and claims run out, so a later look finds the targets again.
            self._say("CSQE015I", target=_called([target.token for target in targets]), error=str(error))
            return
        for report in reports:
            if report.error is not None:
                self._say("CSQE015I", target=report.failed, error=str(report.error))
        if any(report.is_resolved for report in reports):
            self._then()

    def _still_there(self, batch: Targets) -> list[Target]:
        """Return the targets that Redis knows as the processes that ended, without those that had disconnected."""
        found = list[Target]()
        programs = [target.token for target in batch.targets if not target.is_manager]
        known = dict(zip(programs, fields_named(self._group, self._group.keys.processes, programs), strict=True))
        managers = {each.token: each for each in self._group.members()} if len(programs) < len(batch.targets) else {}
        for target, pid in zip(batch.targets, batch.pids, strict=True):
            if target.is_manager:
                member = managers.get(target.token)
                if member is not None and (member.pid, member.host) == (pid, host_name()) and member.state != "STOPPED":
                    self._say("IGQ0033E", target=target.token, pid=pid)
                    found.append(target)
            elif (text := known[target.token]) is not None and json.loads(text)["pid"] == pid:
                self._say("CSQ3201E", target=target.token, pid=pid)
                found.append(target)
        return found

    def recover_ended(self, token: str) -> bool:
        """Recover a child process of ours that has ended. True when done.

        The worker tries again while the lease holds, until the manager stops; peers then do what cannot be done now. If
        a structure delays the recovery, the watch tries again later, and everything else goes on.
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
        """Recover *target* now, in the calling thread, which must be the worker's.

        Raises:
            MQIError: why that cannot be done now. Another manager will take the recovery over.
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
                # Our own incarnation: this call renewed the claim, which is now our lease.
                self._process.renewed(time.monotonic())

        reports = recover_all(self._group, self.connection(), targets, force=is_forced, state=state, on_phase=on_phase)
        # The tags of their agents are free again, so do not wait for the next retry.
        for qmgr in {Target.parse(report.failed).qmgr for report in reports if report.is_resolved}:
            wake_agent(self._group, qmgr)
        return reports

    def connection(self) -> Connection:
        """The worker's connection. A new one is made if the last was lost, or closed because it was idle."""
        if self._connection is not None and self._connection.has_lost_server():
            self._connection.break_off()
        if self._connection is None or self._connection.is_ended:
            self._process.tell_abandoned()
            self._connection = Connection(self._group, self._process, appl_name="manager", is_internal=True)
        return self._connection

    def discard_expired(self, interval_ms: int) -> None:
        """Discard expired messages of every structure, unless another manager did so within *interval_ms*."""
        self._sweep("expiry", interval_ms, found_only=False)

    def report_expired(self, interval_ms: int) -> None:
        """Report messages that were found expired, unless another manager did so within *interval_ms*."""
        self._sweep("reports of expirations", interval_ms, found_only=True)

    def _sweep(self, job: str, interval_ms: int, *, found_only: bool) -> None:
        if job in self._sweeps:
            return
        try:
            if not self._group.call(*claim_job_call(self._group.keys, job, interval_ms)):
                return
            names = self._group.structure_names()
        except MQIError as error:
            self._say("IGQ0012E", error=str(error))
            return
        self._sweeps.add(job)
        self._go_on(self._sweeping(job, [Sweep(name, found_only) for name in names]))
        if not found_only:
            self.submit(self._end_subscriptions)
        limit = self._group.settings.journal_max_bytes
        if limit and time.monotonic() >= self._trim_due_s:
            # The turn of a sweep is a turn to trim too: a turn of its own would cost each manager a call.
            self._trim_due_s = time.monotonic() + TRIM_S
            self._go_on(self._trimming(names, limit))

    def _sweeping(self, job: str, sweeps: Sequence[Sweep]) -> Iterator[None]:
        """Sweep one structure after the other, and pause after each step."""
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
            # A structure that cannot be used now, or is being recovered, does not delay the others.
            if error.reason != MQRC.CF_STRUC_ERROR:
                # Otherwise it was deleted after it was listed.
                self._say("IGQ0012E", error=str(error))
            return False

    def _end_subscriptions(self) -> None:
        """End those whose expiry has run out. Delete managed queues that were in use when their subscription ended."""
        try:
            end_expired(self._group, topics_of(self._group).subscriptions())
        except MQIError as error:
            self._say("IGQ0012E", error=str(error))
        delete_orphans(self._group)

    def expect_orphans(self) -> None:
        """Look for orphans from now on until there are none. Any thread calls this."""
        self._may_have_orphans = True

    def delete_orphans(self, interval_ms: int) -> None:
        """Delete queues that nobody owns any more, unless another manager tried that within *interval_ms*."""
        group = self._group
        if not self._may_have_orphans:
            return
        # Before the look: an orphan that comes after it is told again.
        self._may_have_orphans = False
        try:
            if any(orphans_of(group)):
                self._may_have_orphans = True
                if group.call(*claim_job_call(group.keys, "orphans", interval_ms)):
                    delete_orphans(group)
        except MQIError as error:
            self._may_have_orphans = True
            structlog.get_logger().debug("orphans_not_looked_at", error=str(error))

    def _go_on(self, steps: Iterator[None]) -> None:
        """Run one step of a long task, and queue the rest after the tasks that wait by then, such as recoveries."""
        for _ in steps:
            self.submit(partial(self._go_on, steps))
            return

    def look_at_structures(self) -> None:
        """Report structures that have failed or can be used again. If there are any, wake the agent and the movers."""
        try:
            if self._structures.look():
                wake_agent(self._group, self._process.qmgr)
                wake_movers(self._group, self._process.qmgr)
        except MQIError as error:
            structlog.get_logger().warning("structures_not_looked_at", error=str(error))

    def _trimming(self, names: Sequence[str], limit: int) -> Iterator[None]:
        """Keep each journal within the group's ``journal_max_bytes``, and pause after each call."""
        for name in names:
            try:
                while trim_journal(self._group, name, limit) and not self._is_stopping:
                    yield
            except MQIError as error:
                structlog.get_logger().warning("journal_not_trimmed", structure=name, error=str(error))

    def disconnect(self) -> None:
        """End the connection in good order. The next task makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_ended:
            disconnect(connection)

    def hurry(self) -> None:
        """Hasten, because the manager stops: retry the current task once at most, and sweep nothing more."""
        self._is_stopping = True

    def end(self) -> None:
        """Run no task after the current one."""
        self._is_over = True
        self._tasks.put(None)

    def _work(self) -> None:
        # A structure whose slot of the Cluster is being moved must not keep the tasks for the others waiting.
        patience_s = self._group.settings.lease_ms / 1000 / RENEWALS_PER_LEASE
        while (task := self._tasks.get()) is not None and not self._is_over:
            try:
                with little_patience(patience_s):
                    task()
            except MQIError as error:
                # Redis may fail over just now. Tasks that nobody submits again submit themselves.
                structlog.get_logger().warning("task_failed", error=str(error))
            except Exception:  # noqa: BLE001 - logged
                # A task that fails must not end the thread: the manager would recover nothing more.
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
    """Group reports by their name in the log: the lost connections of one process are reported together."""
    together: dict[str, list[RecoveryReport]] = {}
    for report in reports:
        target = Target.parse(report.failed)
        together.setdefault(target.token if target.connection is None else target.process_token, []).append(report)
    return {_called([each.failed for each in some]): some for some in together.values()}


def _called(tokens: Sequence[str]) -> str:
    return tokens[0] if len(tokens) == 1 else f"{tokens[0]} and {len(tokens) - 1} more"
