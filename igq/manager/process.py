"""The queue manager process: joins its group, works, then stops or joins again."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from typing import Any, TypeVar

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from igq import __version__
from igq.errors import CommandError, check_qmgr_name
from igq.events.writer import LOOK_S as EVENTS_LOOK_S
from igq.events.writer import EventWriter, is_told_of
from igq.manager.agent_child import AgentChild
from igq.manager.channel_child import Channels, start_channels
from igq.manager.http_children import start_console, start_metrics
from igq.manager.incarnation import Inbox, Incarnation, IncarnationEnd
from igq.manager.membership import Membership, host_name
from igq.manager.recovery_logs import LOOK_S, RecoveryLogs
from igq.manager.scheduled_backups import ScheduledBackups
from igq.operations.health import HealthFile
from igq.operations.listeners import PROCESSES, wanted_by
from igq.output.log import LogFile, log_message, start_log
from igq.output.messages import trouble_id
from igq.processes.child import start_agent_process
from igq.processes.kept_child import KeptChild
from igq.processes.service_manager import notify
from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.members.agreed_settings import contradictions
from sharedq.members.group import Group
from sharedq.messages.context import user_identifier
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.managers import QueueManagerAttributes
from sharedq.objects.repository import Repository
from sharedq.objects.store.failures import structure_state
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE, define_system_objects
from sharedq.redis.durability import read_weakest
from sharedq.settings.loader import prepare_data_dir
from sharedq.settings.machine_limits import too_few_files
from sharedq.settings.values import Settings

#: Seconds between two scans for expired messages if EXPRYINT gives no interval, and the longest time until messages
#: that were found expired are reported.
EXPIRY_SCAN_S = 60
#: Seconds between two looks for queues that nobody owns any more.
ORPHANS_LOOK_S = 5

T = TypeVar("T")


class QueueManager:
    """One queue manager in the foreground of this process.

    Args:
        agent: a process of `start_agent_process` for its first agent.

    Signals: the first SIGTERM or SIGINT quiesces, the second stops at once, the third ends the process. SIGHUP reopens
    the log.
    """

    def __init__(self, settings: Settings, name: str, agent: subprocess.Popen[str] | None = None) -> None:
        check_qmgr_name(name, settings.group)
        self._settings, self.name, self._waiting_agent = settings, name, agent
        self._group = Group(settings)
        self._inbox: Inbox = queue.SimpleQueue()
        self._health = HealthFile(settings.data_dir, name)
        self._incarnation: Incarnation | None = None
        self._console: KeptChild | None = None
        self._channels: Channels | None = None
        self._events: EventWriter | None = None
        self._logs: RecoveryLogs | None = None
        self._backups: ScheduledBackups | None = None
        self._metrics: KeptChild | None = None
        self._signals = 0
        self._log: structlog.typing.FilteringBoundLogger
        self._log_file: LogFile

    def run(self) -> None:
        """Join, work and stop. Returns after the manager has stopped.

        Raises:
            CommandError: the manager is already running; durability is strict but not guaranteed; the log cannot be
                written; an object that the manager needs cannot be defined; it may have too few open files.
            DeploymentError, MQIError: Redis cannot be used.
        """
        prepare_data_dir(self._settings)
        if too_few := too_few_files():
            raise CommandError(f"{self.name}: {too_few}")
        try:
            self._log, self._log_file = start_log(
                self.name, self._settings.data_dir, self._settings.log_format, self._settings.log_level
            )
        except OSError as error:
            raise CommandError(f"{self.name}: the log cannot be written: {error}") from None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGHUP, lambda *_: self._inbox.put(self._reopen_log))
        self._health.tell("STARTING", lease_s=self._settings.lease_ms / 1000)
        # First, so that a start that waits for Redis can be seen.
        self._metrics = start_metrics(self._settings, self._say)
        try:
            self._retried(self._tell_deployment, self._group.may_pass)
            membership = self._retried(self._join, self._group.may_pass)
            while self._serve(membership) is IncarnationEnd.LEASE_LOST:
                membership = self._rejoin(membership.incarnation)
        except _Interrupted:
            pass
        finally:
            if self._waiting_agent is not None:
                self._waiting_agent.kill()
                self._waiting_agent.wait()
            if self._console is not None:
                self._console.stop()
            if self._channels is not None:
                self._channels.stop()
            if self._metrics is not None:
                self._metrics.stop()
            self._group.leave()
            self._health.close()
        self._say("CSQ3104I")

    def _serve(self, membership: Membership) -> IncarnationEnd:
        """Run one incarnation, from joining to its end."""
        self._say("CSQY001I", incarnation=membership.incarnation, pid=os.getpid())
        # After the machine stood still, a missed scan runs once, however late.
        scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True})
        try:
            incarnation = self._incarnation = Incarnation(
                membership,
                self._inbox,
                self._say,
                make_agent=partial(AgentChild, start=self._agent_process),
                has_command_server=True,
                on_beat=partial(self._tell_health, membership.lease.length_s),
                listen=self._listen,
            )
            self._events = EventWriter(self._group, self.name, incarnation.worker.connection, self._say)
            ending = incarnation.run(
                partial(self._prepare, membership.incarnation),
                partial(self._open_for_business, membership, scheduler, incarnation),
            )
            why = incarnation.lost_why
            if incarnation.failure is not None:
                raise CommandError(f"{self.name} does not start: {incarnation.failure}")
        except MQIError as error:
            ending, why = IncarnationEnd.LEASE_LOST, str(error)
        finally:
            self._incarnation = self._events = None
            if self._logs is not None:
                self._logs.end()
            if self._backups is not None:
                self._backups.end()
            membership.close()
            if scheduler.running:
                scheduler.shutdown(wait=False)
        if ending is IncarnationEnd.LEASE_LOST:
            if self._signals:
                raise _Interrupted
            self._say("IGQ0001E", why=why)
            notify(f"{self.name} has lost its lease and joins again")
        return ending

    def _listen(self, wanted: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any] | None]:
        """Have just these listeners. Returns the states of those that have changed."""
        if self._channels is None:
            return {name: {"state": "STOPPED", "error": "the setting channels is off"} for name in wanted}
        return self._channels.keep(wanted)

    def _agent_process(self, qmgr: str) -> subprocess.Popen[str]:
        waiting, self._waiting_agent = self._waiting_agent, None
        return waiting if waiting is not None and waiting.poll() is None else start_agent_process(qmgr)

    def _prepare(self, incarnation: int) -> QueueManagerAttributes:
        """Make sure that the manager has what it needs. The lease is renewed meanwhile."""
        repository = Repository(self._group, self.name)
        # Only at the first start: later the administrator decides.
        at_first = {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE}
        repository.prepare_manager(self.name, incarnation, at_first=at_first)
        define_system_objects(repository, self._settings.default_structure)
        for structure in self._group.structure_names():
            # The structure watch reports those that have failed.
            if structure_state(self._group, structure) == "ACTIVE":
                self._say("CSQE005I", structure=structure)
        in_doubt = len(prepared_units(self._group, self.name))
        if in_doubt:
            self._say("CSQR004I", target=self.name, in_doubt=in_doubt)
        return repository.qmgr_attributes(self.name)

    def _open_for_business(
        self,
        membership: Membership,
        scheduler: BackgroundScheduler,
        incarnation: Incarnation,
        attributes: QueueManagerAttributes,
    ) -> None:
        # First, because a failure here repeats the whole step.
        listeners = Repository(self._group, self.name).listeners.all()
        wanted = wanted_by(each for each in listeners if each.control != "MANUAL")
        membership.tell(state="RUNNING", igq=attributes.igq, **wanted)
        worker, interval_s = incarnation.worker, attributes.expiry_interval_s or EXPIRY_SCAN_S
        jobs = [(worker.discard_expired, interval_s)]
        if interval_s > EXPIRY_SCAN_S:
            jobs.append((worker.report_expired, EXPIRY_SCAN_S))
        jobs.append((worker.delete_orphans, ORPHANS_LOOK_S))
        for job, seconds in jobs:
            scheduler.add_job(
                worker.submit, "interval", (partial(job, seconds * 1000),), seconds=seconds, max_instances=1
            )
        assert self._events is not None
        look = partial(worker.submit, self._events.look)
        scheduler.add_job(look, "interval", seconds=EVENTS_LOOK_S, max_instances=1)
        if self._settings.backup_schedule:
            backups = self._backups = ScheduledBackups(self._settings, self.name, self._say)
            scheduler.add_job(backups.run, backups.trigger, max_instances=1)
        if self._settings.recovery_log:
            self._logs = RecoveryLogs(self._group, self._settings, self._say)
            scheduler.add_job(
                self._logs.look, "interval", seconds=LOOK_S, next_run_time=datetime.now(UTC), max_instances=1
            )
        scheduler.start()
        self._say("CSQY022I")
        self._say("CSQ9022I", incarnation=membership.incarnation, pid=os.getpid())
        # It stays when the manager loses its place: what it shows is the group.
        self._console = self._console or start_console(self._settings, self._say)
        self._channels = self._channels or start_channels(self._settings, self.name, self._say)
        # This incarnation begins without listeners: those of an incarnation that has lost its lease end.
        self._listen({})
        notify(f"{self.name} runs, incarnation {membership.incarnation}", READY="1")

    def _tell_deployment(self) -> None:
        settings, group = self._settings, self._group
        if settings.tracing:
            from sharedq.tracing.provider import check_environment

            # The agent would end at once, again and again.
            check_environment()
        # Read through a link first: its errors are more precise than a client's.
        record = group.read_record()
        group.adopt(record)
        durability = read_weakest(group.clients(), wait_replicas=group.settings.wait_replicas)
        self._say("CSQY000I", version=__version__, group=group.name, redis=settings.redis_url_masked)
        self._say("IGQ0004I", statement=durability.statement)
        for warning in durability.warnings:
            self._say("IGQ0008W", warning=warning)
        for difference in contradictions(settings, record) if record else ():
            self._say("IGQ0006I", difference=difference)
        if not durability.meets(strict=settings.durability == "strict"):
            if durability.is_short_of_replicas:
                raise error_for(MQRC.CF_NOT_AVAILABLE, "", self.name, f"durability is strict: {durability.statement}")
            raise CommandError(f"{self.name} does not start, durability is strict: {durability.statement}")

    def _tell_health(self, lease_s: float, state: str, safe_until_s: float) -> None:
        self._health.tell(state, safe_until_s=safe_until_s, lease_s=lease_s)

    def _info(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "host": host_name(),
            "version": __version__,
            "igq": "DISABLED",
            "user": user_identifier().decode(),
            PROCESSES: self._settings.channel_processes,
        }

    def _rejoin(self, lost: int) -> Membership:
        """Join as a new incarnation after the *lost* one, as soon as Redis answers."""
        return self._retried(partial(self._join, lost), lambda error: isinstance(error, MQIError))

    def _join(self, lost: int | None = None) -> Membership:
        return Membership.join(self._group, self.name, self._info(), self._wait_for_predecessor, own_incarnation=lost)

    def _retried(self, call: Callable[[], T], may_pass: Callable[[BaseException], bool]) -> T:
        """Call until the call succeeds or fails for a reason that will not pass. Report each failure."""

        def before_sleep(state: RetryCallState) -> None:
            assert state.outcome is not None
            assert state.next_action is not None
            error = state.outcome.exception()
            self._say(trouble_id(error), error=error, wait_s=state.next_action.sleep)
            notify(f"{self.name} waits for Redis")

        retrying = Retrying(
            wait=wait_exponential_jitter(multiplier=0.1, max=5.0, jitter=0.1),
            retry=retry_if_exception(may_pass),
            sleep=self._wait,
            before_sleep=before_sleep,
        )
        return retrying(call)

    def _wait_for_predecessor(self, seconds: float) -> None:
        self._say("IGQ0002I", wait_s=seconds)
        self._wait(seconds)

    def _wait(self, seconds: float) -> None:
        """Wait. A signal ends the manager, which has nothing to lose yet."""
        self._health.tell("STARTING", lease_s=self._group.settings.lease_ms / 1000)
        end_s = time.monotonic() + seconds
        while not self._signals and (left_s := end_s - time.monotonic()) > 0:
            try:
                self._inbox.get(timeout=left_s)()
            except queue.Empty:
                break
        if self._signals:
            raise _Interrupted

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 2:
            # The agent ends by itself; peers recover unfinished work.
            os._exit(1)
        # A signal handler may do nothing but SimpleQueue.put, which is reentrant.
        self._inbox.put(partial(self._stop_asked, self._signals > 1))

    def _stop_asked(self, is_immediate: bool) -> None:
        notify(f"{self.name} stops", STOPPING="1")
        if self._incarnation is not None:
            self._incarnation.request_stop(is_immediate=is_immediate)

    def _reopen_log(self) -> None:
        try:
            self._log_file.reopen()
        except OSError as error:
            self._log.warning("log_not_reopened", error=str(error))

    def _say(self, message_id: str, **fields: Any) -> None:
        log_message(self._log, message_id, fields)
        incarnation, events = self._incarnation, self._events
        if incarnation is not None and events is not None and is_told_of(message_id, fields):
            at_ms = time.time_ns() // 1_000_000
            incarnation.worker.submit(partial(events.tell, message_id, dict(fields), at_ms))


class _Interrupted(Exception):
    """A signal told the manager to stop while no incarnation was running."""
