"""One incarnation of a queue manager at work: its lease, its watch on the others, its agent, its end."""

from __future__ import annotations

import math
import queue
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, TypeVar

from igq.agent.progress.report import AgentState, write_agent_state
from igq.manager.agent_child import AgentChild
from igq.manager.membership import Heartbeat, Membership
from igq.manager.peers.watch import MEET_S, Peers
from igq.manager.structure_watch import LOOK_S
from igq.manager.worker import Worker
from igq.operations.command_service import RUNNING, STOPPED, TOLD, WANTED
from igq.operations.listeners import told_of, wanted_listeners
from igq.operations.shutdown import STOP_TIMEOUT_S
from igq.output.messages import trouble_id
from igq.pcf.server import CommandServer
from igq.triggers.service import Triggers
from recovery.target import Target, due
from sharedq.members.lease import Renewal
from sharedq.members.news import ORPHANS, QUIESCES, News, tell_programs
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.redis.outage import PASSING

#: Seconds between two checks whether programs have ended, while the manager quiesces.
_QUIESCE_LOOK_S = 0.25
#: Seconds between two looks for triggered queues. The group is told of a structure's first one, unless the program that
#: defined it died just then.
_TRIGGERS_LOOK_S = 300.0
#: If an agent ends within this many seconds of its start, the next start is delayed.
_AGENT_SETTLED_S = 10.0
_AGENT_DELAY_MAX_S = 5.0
#: The longest delay between two attempts to open, seconds.
_OPENING_DELAY_MAX_S = 5.0

T = TypeVar("T")

Event = Callable[[], None]
Inbox = queue.SimpleQueue[Event]


class IncarnationEnd(Enum):
    """How an incarnation ended."""

    STOPPED = auto()
    LEASE_LOST = auto()


@dataclass(slots=True)
class _Stop:
    is_immediate: bool
    until_s: float
    is_told: bool = False
    is_shutting_down: bool = False


class Incarnation:
    """Runs in the thread that calls `run`. Everything else reaches it as events in the inbox.

    Args:
        say: called with a message id of `igq.output.messages` and its fields.
        make_agent: starts a run of the agent.
        listen: has just these listeners, by name. Returns the states of those that it has started or ended.
        has_command_server: whether it answers the requests on SYSTEM.ADMIN.COMMAND.QUEUE, and writes trigger messages.
        on_beat: called after each attempt to renew the lease, with the manager's state and the monotonic time until
            which the lease is surely held.

    Attributes:
        lost_why: the reason, if the ending is ``LEASE_LOST``.
        failure: why the incarnation stopped before it opened. Another incarnation would fail in the same way.

    Raises:
        MQIError: 2059, the lease is lost; 2009, Redis cannot be reached.
    """

    def __init__(
        self,
        membership: Membership,
        inbox: Inbox,
        say: Callable[..., None],
        *,
        make_agent: Callable[..., AgentChild] = AgentChild,
        has_command_server: bool = False,
        on_beat: Callable[[str, float], None] = lambda *_: None,
        listen: Callable[[Mapping[str, Mapping[str, Any]]], Mapping[str, Mapping[str, Any] | None]] = lambda _: {},
    ) -> None:
        self._listen = listen
        #: Where it listens, or is about to.
        self._listeners: dict[str, Mapping[str, Any]] = {}
        self._membership, self._inbox, self._say, self._on_beat = membership, inbox, say, on_beat
        self._make_agent = make_agent
        self._process, _ = membership.new_process("manager")
        self.worker = Worker(membership.group, self._process, say)
        #: Number of changes of structures that the group knew at the last renewal, and when to look at them anyway.
        self._failures_told = 0
        self._structures_due_s = math.inf
        self._triggers_due_s = 0.0
        self._has_command_server = has_command_server
        self._command_server: CommandServer | None = None
        #: Whether it runs, or is being started.
        self._serves_commands = has_command_server
        self._triggers: Triggers | None = None
        self._agent: AgentChild | None = None
        self._agent_due_s: float | None = None
        self._agent_started_s = 0.0
        self._agent_delay_s = 0.0
        self._restarts = 0
        #: The task that begins to open the manager, and its time.
        self._begin_opening: Callable[[], None] = lambda: None
        self._opening_due_s = math.inf
        self._opening_delay_s = 0.0
        self._stop: _Stop | None = None
        self._ending: IncarnationEnd | None = None
        self.lost_why = ""
        self.failure: MQIError | None = None
        self._is_open = False
        #: Versions of IGQ: the latest that every structure is known to have, and the one that the worker is sending.
        self._igq_told = self._igq_telling = 0
        self._heartbeat = Heartbeat(membership.lease.lease_ms / 1000)
        self._news = News(membership.group, membership.token, self._hear)
        self._is_loss_noted = False
        self._peers = Peers(
            membership,
            say,
            on_death=lambda *process: inbox.put(partial(self._process_died, *process)),
            on_loss=self._note_loss,
            on_suspicion=lambda: inbox.put(self._heartbeat.look_again),
        )
        self._peers_due_s = math.inf
        if membership.group.settings.suspicion:
            self._meet_peers(self._peers.join)

    def _hear(self, news: str) -> None:
        # After a lost server any news may have been missed.
        self.worker.expect_orphans()
        if news != ORPHANS:
            self._inbox.put(self._heartbeat.hurry)

    def run(self, prepare: Callable[[], T], open_for_business: Callable[[T], None]) -> IncarnationEnd:
        """Work until stopped, or until the lease is lost. Nothing of this incarnation runs afterwards.

        Args:
            prepare: work that must be done first. It runs in the worker's thread while this thread renews the lease,
                because it makes many calls, each as slow as Redis currently is.
            open_for_business: called in this thread with what *prepare* returned. The agent starts after it.
        """
        self._begin_opening = lambda: self.worker.submit(partial(self._prepare, prepare, open_for_business))
        self._opening_due_s = 0.0
        try:
            while (ending := self._ending) is None:
                self._wait_for_event()
                self._do_what_is_due()
        finally:
            self._news.close()
            self._peers.close()
        self.worker.end()
        if ending is IncarnationEnd.LEASE_LOST:
            self._process.lose()
            if self._command_server is not None:
                self._command_server.stop()
            if self._triggers is not None:
                self._triggers.stop()
        if self._agent is not None:
            self._agent.kill()
        return ending

    def _prepare(self, prepare: Callable[[], T], open_for_business: Callable[[T], None]) -> None:
        """Prepare in the worker's thread. The outcome is an event."""
        try:
            prepared = prepare()
        except Exception as error:  # noqa: BLE001 - raised again in the thread that can end
            self._inbox.put(partial(self._could_not_open, error))
            return
        self._inbox.put(lambda: self._open(lambda: open_for_business(prepared)))

    def _open(self, open_for_business: Callable[[], None]) -> None:
        if self._stop is not None or self._ending is not None:
            return
        try:
            open_for_business()
        except MQIError as error:
            self._could_not_open(error)
            return
        self._structures_due_s = 0.0
        self._is_open = True
        self.tell_health()
        self._start_agent()
        if self._has_command_server:
            self._command_server = CommandServer(self._membership.group, self._process, self._say)
            self._triggers = Triggers(self._membership.group, self._process)
            self.worker.submit(partial(self._until_done, self._triggers.look))

    def _could_not_open(self, error: Exception) -> None:
        if not isinstance(error, MQIError):
            raise error
        if error.reason == MQRC.Q_MGR_NOT_AVAILABLE:
            self._lose(str(error))
        elif error.reason in PASSING:
            # The lease is renewed meanwhile; if it is lost, a renewal reports that.
            wait_s = self._opening_delay_s = min(_OPENING_DELAY_MAX_S, 2 * self._opening_delay_s + 0.1)
            self._opening_due_s = time.monotonic() + wait_s
            self._say(trouble_id(error), error=error, wait_s=wait_s)
        elif self._stop is None:
            # Stop in good order, so that the recoveries of this incarnation are not cut off.
            self.failure = error
            self._stop = _Stop(is_immediate=True, until_s=time.monotonic())

    def request_stop(self, *, is_immediate: bool, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Begin to stop, or hasten a stop: the mode that ends sooner wins. Call this from an event."""
        stop, until_s = self._stop, time.monotonic() + timeout_s
        if stop is None:
            mode = "immediate" if is_immediate else "quiesce"
            self._say("CSQY009I", mode=mode, timeout_s=0 if is_immediate else timeout_s)
            self._stop = _Stop(is_immediate, until_s)
        elif stop.is_immediate:
            return
        elif is_immediate:
            self._say("CSQY002I", mode="immediate")
            stop.is_immediate = True
        elif until_s < stop.until_s:
            self._say("CSQY009I", mode="quiesce", timeout_s=timeout_s)
            stop.until_s = until_s

    @property
    def is_stopping(self) -> bool:
        """Whether the manager has begun to stop."""
        return self._stop is not None

    def tell_health(self) -> None:
        """Tell a probe how the manager does. Call this from an event."""
        state = "QUIESCING" if self.is_stopping else "RUNNING" if self._is_open else "STARTING"
        self._on_beat(state, self._membership.lease.safe_until_s)

    def _do_what_is_due(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._heartbeat.next_s:
            self._renew()
            self.tell_health()
        if now_s >= self._opening_due_s and self._stop is None:
            self._opening_due_s = math.inf
            self._begin_opening()
        if self._agent_due_s is not None and now_s >= self._agent_due_s:
            self._start_agent()
        if now_s >= self._peers_due_s and self._stop is None:
            self._meet_peers(self._peers.meet)
        if self._stop is not None:
            self._go_on_stopping(self._stop)

    def _wait_for_event(self) -> None:
        wanted = [self._heartbeat.next_s]
        if self._stop is None:
            wanted.append(self._opening_due_s)
        if self._agent_due_s is not None:
            wanted.append(self._agent_due_s)
        if self._stop is not None and not self._stop.is_shutting_down:
            wanted.append(time.monotonic() + _QUIESCE_LOOK_S)
        # While the incarnation is being given up there is nothing to plan: only events count.
        left_s = min(wanted) - time.monotonic()
        try:
            event = self._inbox.get(timeout=None if left_s == math.inf else max(0.0, left_s))
        except queue.Empty:
            return
        event()

    # -- the lease, and the others' ------------------------------------------------------------------------

    def _renew(self) -> None:
        membership, agent, heartbeat = self._membership, self._agent, self._heartbeat
        looks, asks = heartbeat.begin(time.monotonic())
        processes = [self._process.token, *([agent.token] if agent is not None else [])]
        try:
            renewal = membership.renew(processes, look=looks, ask=asks)
        except MQIError as error:
            self._renew_later(error)
            return
        if not renewal.is_held:
            self._lose("a peer has declared it dead")
            return
        at_s = membership.lease.renewed_at_s
        if self._process.token not in renewal.lost:
            self._process.renewed(at_s)
        if agent is not None and agent.token not in renewal.lost:
            agent.renewed(at_s)
        if agent is not None and agent.hangs():
            # Do not wait for the agent's end, which may hang too: the fence stops it from doing anything more.
            self._replace_agent(agent)
        if looks:
            self._watch(renewal)
        heartbeat.renewed(at_s)
        self._look_at_structures(self._failures_told if renewal.failures is None else renewal.failures)
        self._complete_alter(int(renewal.member.get("igq_version", 0)))
        if renewal.member:
            self._switch_command_server(is_wanted=renewal.member.get(WANTED) != STOPPED)
            self._switch_listeners(wanted_listeners(renewal.member))
        if renewal.member.get("stop_at_once"):
            self.request_stop(is_immediate=True)
        elif (timeout_s := renewal.member.get("stop_timeout_s")) is not None:
            self.request_stop(is_immediate=False, timeout_s=float(timeout_s))

    def _look_at_structures(self, told: int) -> None:
        """Look if the group was told of a change, and from time to time."""
        now_s = time.monotonic()
        if now_s >= self._structures_due_s or (told != self._failures_told and self._structures_due_s < math.inf):
            has_heard = told != self._failures_told
            self._failures_told, self._structures_due_s = told, now_s + LOOK_S
            if has_heard:
                self.worker.submit(partial(self._until_done, self._learn_settings))
            self.worker.submit(self.worker.look_at_structures)
            if self._triggers is not None and self._stop is None and (has_heard or now_s >= self._triggers_due_s):
                self._triggers_due_s = now_s + _TRIGGERS_LOOK_S
                self.worker.submit(partial(self._until_done, self._triggers.look))

    def _until_done(self, task: Callable[[], None]) -> None:
        """Run a task that a change of the group asks for. If it fails, the next renewal has it done again."""
        try:
            task()
        except MQIError:
            self._inbox.put(self._hear_again)
            raise

    def _hear_again(self) -> None:
        # No number of changes that a renewal tells.
        self._failures_told = -1

    def _learn_settings(self) -> None:
        """Apply the group's present settings to the manager and its agent. Runs in the worker's thread."""
        group = self._membership.group
        record = group.read_record()
        group.adopt(record, is_running=True)
        self._inbox.put(partial(self._tell_agent, record))

    def _tell_agent(self, record: bytes) -> None:
        if self._agent is not None:
            self._agent.adopt(record)

    def _complete_alter(self, version: int) -> None:
        """Make sure that every structure knows the value of IGQ, even if the command that altered it was cut off."""
        if version <= max(self._igq_told, self._igq_telling):
            return
        self._igq_telling = version

        def task() -> None:
            try:
                Repository(self._membership.group, self._membership.qmgr).announce_igq(self._membership.qmgr)
                self._igq_told = version
            finally:
                # If this failed, the next renewal tries again.
                self._igq_telling = 0

        self.worker.submit(task)

    def _switch_command_server(self, *, is_wanted: bool) -> None:
        """Do what START CMDSERV or STOP CMDSERV asked for last."""
        is_done = is_wanted == self._serves_commands
        if is_done or not (self._has_command_server and self._is_open) or self._stop is not None:
            return
        self._serves_commands = is_wanted

        def task() -> None:
            server = self._command_server
            try:
                if not is_wanted and server is not None:
                    server.stop()
                self._membership.tell(**{TOLD: RUNNING if is_wanted else STOPPED})
            except MQIError:
                # The next renewal tries again.
                self._serves_commands = not is_wanted
                raise
            if is_wanted:
                self._command_server = CommandServer(self._membership.group, self._process, self._say)

        self.worker.submit(task)

    def _switch_listeners(self, wanted: dict[str, Mapping[str, Any]]) -> None:
        """Do what START LISTENER and STOP LISTENER asked for last."""
        if wanted == self._listeners or not self._is_open or self._stop is not None:
            return
        before, self._listeners = self._listeners, wanted

        def task() -> None:
            try:
                self._membership.tell(**told_of(self._listen(wanted)))
            except MQIError:
                # The next renewal tries again.
                self._listeners = before
                raise

        self.worker.submit(task)

    def _watch(self, renewal: Renewal) -> None:
        targets = due(renewal.leases, renewal.now_ms, self._membership.token)
        if targets:
            # One look may hide later leases, so look again after these recoveries.
            self.worker.recover_soon(targets, lambda: self._inbox.put(self._heartbeat.look_again))
        at_s = self._membership.lease.renewed_at_s
        self._heartbeat.looked(at_s, renewal.now_ms, renewal.leases, is_recovering=bool(targets))

    def _note_loss(self) -> None:
        """A program has lost connections. Called in the thread of the watch.

        One look is for all that are told before it, so a program that tells of them without end delays no other event.
        """
        if not self._is_loss_noted:
            self._is_loss_noted = True
            self._inbox.put(self._look_for_losses)

    def _look_for_losses(self) -> None:
        self._is_loss_noted = False
        self._heartbeat.look_again()

    def _renew_later(self, error: MQIError) -> None:
        now_s, safe_until_s = time.monotonic(), self._membership.lease.safe_until_s
        if now_s >= safe_until_s:
            self._lose(f"the lease could not be renewed in time: {error}")
            return
        self._heartbeat.retry(now_s, random.uniform(0.5, 1.0) / 4, safe_until_s)

    def _lose(self, why: str) -> None:
        if self._stop is not None and self._stop.is_shutting_down:
            # The lease is being given up; the worker reports that.
            self._heartbeat.stop()
            return
        self.lost_why = why
        self._ending = IncarnationEnd.LEASE_LOST

    def _meet_peers(self, meet: Callable[[], None]) -> None:
        """Meet the other managers now, and again later: a link may have ended though both managers live."""
        self._peers_due_s = math.inf

        def task() -> None:
            try:
                meet()
            finally:
                if self._peers.has_links:
                    self._peers_due_s = time.monotonic() + MEET_S

        self.worker.submit(task)

    def _process_died(self, token: str, pid: int) -> None:
        # Any program on this machine can send any text, so recover no process of the manager's own.
        if token not in self._own_tokens():
            self.worker.recover_dead(token, pid)

    # -- the agent -----------------------------------------------------------------------------------------

    def _start_agent(self) -> None:
        self._agent_due_s = None
        try:
            process, sent_at_s = self._membership.new_process("IGQ agent")
        except MQIError:
            # Redis is away. A renewal will succeed when it is back.
            self._agent_due_s = time.monotonic() + self._heartbeat.period_s
            return
        self._agent_started_s = time.monotonic()
        self._agent = self._make_agent(
            process, sent_at_s, self._heartbeat.period_s, self._restarts, self._agent_says, self._agent_ended
        )
        self._say("CSQM050I", pid=self._agent.pid)

    def _agent_says(self, message: dict[str, Any]) -> None:
        if message["kind"] == "say":
            self._say(message["id"], **message["fields"])

    def _agent_ended(self, child: AgentChild) -> None:
        """Queue the event. Called in the thread that listens to the agent."""
        self._inbox.put(partial(self._replace_agent, child))

    def _replace_agent(self, child: AgentChild) -> None:
        # This event may come last of all and reach the next incarnation, which must ignore it.
        is_ending = self._ending is not None or (self._stop is not None and self._stop.is_shutting_down)
        if child is not self._agent or is_ending:
            return
        self._agent = None
        self._restarts += 1
        self._say("CSQM067E", why=child.how_it_ended)
        is_settled = time.monotonic() - self._agent_started_s > _AGENT_SETTLED_S
        self._agent_delay_s = 0.0 if is_settled else min(_AGENT_DELAY_MAX_S, 2 * self._agent_delay_s + 0.1)

        def recover_then_start() -> None:
            with suppress(MQIError):
                # Show the agent as stopped until the next one starts. If Redis is away, nobody can see it anyway.
                self._show_stopped(child)
            # Before the next agent asks for the tag, it must be free and the work of this one resolved.
            self.worker.recover_ended(child.token)
            self._inbox.put(self._agent_is_due)

        self.worker.submit(recover_then_start)

    def _agent_is_due(self) -> None:
        if self._stop is None or not self._stop.is_shutting_down:
            self._agent_due_s = time.monotonic() + self._agent_delay_s

    def _show_stopped(self, agent: AgentChild) -> None:
        """Record what a dead agent cannot record itself. Raises MQIError: Redis cannot be reached."""
        state = AgentState("STOPPED", agent.pid, self._restarts)
        write_agent_state(self._membership.group, agent.token, state)

    # -- the end -------------------------------------------------------------------------------------------

    def _go_on_stopping(self, stop: _Stop) -> None:
        if stop.is_shutting_down:
            return
        try:
            if not stop.is_told:
                self._membership.tell(state="QUIESCING")
                stop.is_told = True
                tell_programs(self._membership.group, self._membership.token, QUIESCES)
            is_over = stop.is_immediate or time.monotonic() >= stop.until_s
            if not is_over and self._membership.programs(self._own_tokens()):
                return
        except MQIError:
            # Redis is away: the lease decides how long to try.
            return
        stop.is_shutting_down = True
        self._agent_due_s = None
        self.worker.submit_last(self._shut_down)

    def _own_tokens(self) -> list[str]:
        return [self._process.token, *([self._agent.token] if self._agent is not None else [])]

    def _shut_down(self) -> None:
        """End the services, the programs that are left, and the membership. It is the last task of the worker."""
        agent, membership = self._agent, self._membership
        try:
            services = [service for service in (self._command_server, self._triggers) if service is not None]
            has_ended = [service.stop() for service in services]
            if agent is not None:
                self._say("CSQM051I")
                if not agent.stop():
                    self.worker.recover_ended(agent.token)
                    self._show_stopped(agent)
            self.worker.disconnect()
            # A connection that was lost just before has no lease before the group is told of it.
            self._process.tell_abandoned()
            if not (all(has_ended) and membership.leave(self._own_tokens())):
                self.worker.recover(Target.parse(membership.token), is_forced=True, state="STOPPED")
                # The recovery spares the connection that it uses, and its process.
                self.worker.disconnect()
                membership.end_process(self._process)
        except MQIError as error:
            # The lease runs out, and the peers do the rest.
            self._say("CSQE015I", target=membership.token, error=str(error))
        finally:
            # A manager that was told to stop ends, whatever went wrong.
            self._inbox.put(self._has_stopped)

    def _has_stopped(self) -> None:
        self._ending = IncarnationEnd.STOPPED
