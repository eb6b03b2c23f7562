"""The services of transmission queues beside that of the manager's own part, one thread each.

There is a mover for each conventional transmission queue that is shared or belongs to this manager, and a service for
each part of SYSTEM.QSG.TRANSMIT.QUEUE that this manager has in an application structure.

A mover takes the messages of its queue to the members they are for. On z/OS two channel agents do this, a sender and a
receiver; here it is one unit of work. The mover gets a message from the transmission queue, opens it, and puts it,
reports on it or dead-letters it as the receiving manager itself would. So no manager needs intra-group queuing enabled,
and the receiving manager need not be running.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from igq.agent.delivery.disposal import Transmitted
from igq.agent.delivery.put_delivery import Deliverer, Tell
from igq.agent.progress.pipe import EXIT_CONNECTION_LOST, Pulses
from igq.agent.progress.report import MoverState
from igq.agent.progress.sleep import IN_PASSING, Nudge, WakeableSleep, movers_wake_key
from igq.agent.queues.tags import mover_tag, part_tag
from igq.agent.queues.transmission_queue import WAIT_S, TransmissionQueue
from igq.agent.services.base import Post, Service
from igq.agent.services.part import PartService
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.failures import failures
from sharedq.objects.store.parts import Place
from sharedq.redis.keys import private_structure
from sharedq.scripts.reads import definitions_mark
from sharedq.session.connection import Connection

APPL_NAME = "mover"
#: Seconds between two looks for new definitions. Commands wake the watch at once.
LOOK_S = 20.0
#: Seconds after which the transmission queues are listed in any case.
LIST_S = 300.0
#: A listing is not repeated before this many times the time that it took.
_LIST_SHARE = 20
#: The longest time for a listing, and for the end of movers whose queues are gone, in seconds.
_LISTING_S = 600.0
_FAILED = 1


@dataclass(frozen=True, slots=True)
class Served:
    """A transmission queue, or a part of one, and its structure.

    ``failures``: how often that structure has failed. A service that waits there does not notice and is replaced.
    """

    name: str
    structure: str
    failures: int = 0


class StandbyError(Exception):
    """Another member's mover serves this shared queue."""


class Mover(Service):
    """Serves one queue: at most one mover in the whole group, and none before its predecessor's work is recovered.

    Args:
        members: returns the names of the group's members.
    """

    def __init__(self, post: Post, served: Served, members: Callable[[], Collection[str]]) -> None:
        name, structure = served.name, served.structure
        super().__init__(post, name, mover_tag(structure, name), APPL_NAME, f"mover of {name}")
        self.served, self._members = served, members
        #: The members for which the mover has looked for messages.
        self._known: frozenset[str] = frozenset()
        self._deliverer: Deliverer | None = None
        self._opened: tuple[TransmissionQueue, Deliverer] | None = None

    def _work(self) -> None:
        try:
            super()._work()
        except StandbyError:
            self._update(state="STANDBY")
            self._pause(self._post.group.settings.lease_ms / 1000)

    def _open(self, connection: Connection) -> None:
        if self._deliverer is None:
            self._deliverer = Deliverer(connection, self._say, self.served.name, self._pulse, self._hop)
        if self._opened is None:
            self._opened = TransmissionQueue(connection, self.served.structure, self.served.name), self._deliverer
        self._look_for_members(self._opened[0])

    def _look_for_members(self, queue: TransmissionQueue) -> None:
        members = frozenset(self._members())
        if members != self._known:
            queue.look_for(self._members_by_header)
            self._known = members

    def _members_by_header(self) -> Collection[str]:
        members = self._members()
        # A queue that is named like a member leads there, whatever its messages say.
        return () if self.served.name in members else members

    def meet_members(self) -> None:
        """Have it look again at what it has passed over, because members have come or gone.

        Safe to call from any thread.

        Raises:
            MQIError: Redis cannot be reached.
        """
        opened = self._opened
        if opened is not None:
            opened[0].look_again(self._post.group.call)

    def _close(self) -> None:
        self._opened, self._known = None, frozenset()

    def _round(self) -> None:
        assert self._opened is not None
        queue, deliverer = self._opened
        messages = queue.take()
        self._deliver_by_puts(deliverer, queue, messages)
        self._succeeded()
        if messages or self._known != frozenset(self._members()):
            return
        with self._pulse.resting(WAIT_S):
            if not queue.wait():
                self._is_stopping = True

    def _hop(self, message: Transmitted) -> str:
        return message.hop(self.served.name, self._known)

    def _refused(self, error: MQIError) -> Exception:
        if self.served.structure != private_structure(self._post.process.qmgr):
            return StandbyError()
        return super()._refused(error)

    def _tell_trouble(self, fields: dict[str, object]) -> None:
        self._say("CSQX599E", {"queue": self.served.name} | fields)

    def _tell_running(self) -> None:
        self._say("CSQX500I", {"queue": self.served.name})


@dataclass(frozen=True, slots=True)
class _Serving:
    """The service of one queue.

    Its thread, what ends the thread after the current batch, what ends its pause (with a reason), and what to do when
    members join or leave the group.
    """

    kind: _Maker
    thread: threading.Thread
    stop: Callable[[], None]
    nudge: Callable[[bytes], None]
    meet_members: Callable[[], None] = lambda: None


_Maker = Callable[[Served, Post, Callable[[bytes], None]], _Serving]


class ServicePool:
    """Starts a service in a thread for each transmission queue, and ends both with the queue.

    Args:
        tell: called with a message id of `igq.output.messages` and its fields.
        report: called with the states of all services when one has changed.
        pulses: the pulses of this process. The pool begins and ends one for each service.
        end: ends this process with a reason and an exit status, because a service cannot go on.
    """

    def __init__(
        self,
        group: Group,
        process: Process,
        tell: Tell,
        report: Callable[[tuple[MoverState, ...]], None],
        pulses: Pulses,
        end: Callable[[str, int], None],
    ) -> None:
        self._group, self._process, self._tell = group, process, tell
        self._report, self._pulses, self._end = report, pulses, end
        self._pulse = pulses.begin("the watch for transmission queues")
        self._sleep = WakeableSleep(group, movers_wake_key(group, process.qmgr))
        self._servings: dict[Served, _Serving] = {}
        self._states: dict[Served, MoverState] = {}
        self._members: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._ending_with(self._watch), name="movers", daemon=True)

    def start(self) -> None:
        """Begin to look for transmission queues."""
        self._thread.start()

    def stop(self) -> None:
        """End every service after its batch."""
        self._is_stopping = True
        self._sleep.end()
        if self._thread.ident is not None:
            self._thread.join()
        for serving in self._servings.values():
            serving.stop()
        for serving in self._servings.values():
            serving.thread.join()

    def _watch(self) -> None:
        known, listed_s, not_before_s, is_due = b"", 0.0, 0.0, True
        while not self._is_stopping:
            if is_due:
                # The look that begins now sees the cause of every earlier wake-up.
                self._sleep.begin_attempt()
            try:
                definitions, now_s = definitions_mark(self._group, self._group.keys), time.monotonic()
                is_due = is_due or definitions != known or now_s - listed_s >= LIST_S
                if is_due and now_s >= not_before_s:
                    with self._pulse.resting(_LISTING_S):
                        self._list()
                    known, listed_s, is_due = definitions, now_s, False
                    not_before_s = now_s + _LIST_SHARE * (time.monotonic() - now_s)
            except (MQIError, ValidationError):
                # Either Redis is away for now, which the movers notice themselves, or a definition is invalid, which no
                # command can have caused. Keep the present services until that is repaired.
                not_before_s = time.monotonic() + LOOK_S
            # Another listing must wait because the last one was just made, but no longer than that.
            rest_s = min(LOOK_S, max(0.0, not_before_s - time.monotonic())) if is_due else LOOK_S
            with self._pulse.resting(rest_s):
                self._sleep(rest_s)
            if self._sleep.woken_by is not None:
                is_due = True
                self._nudge(self._sleep.woken_by)

    def _list(self) -> None:
        """Find the transmission queues, start services for new ones, and end those of queues that are gone."""
        members = frozenset(member.name for member in self._group.members())
        if members != self._members:
            self._members = members
            self._nudge(IN_PASSING)
            for serving in self._servings.values():
                serving.meet_members()
        repository = Repository(self._group, self._process.qmgr)
        parts = repository.make_transmit_parts(self._process.qmgr)
        # Do the parts first and separately, so that invalid definitions of other queues do not affect them.
        self._follow([(part.queue, part.structure) for part in parts], self._part)
        # Leave out the agent's queue, which has a part for each member: the others' parts need not be read.
        queues = repository.display_queues(kinds=(QueueLocal.kind,), without=(SYSTEM_QSG_TRANSMIT_QUEUE,))
        conventional = [
            (queue.name, queue.structure)
            for queue in queues
            if isinstance(queue.definition, QueueLocal) and queue.definition.usage == "XMITQ"
        ]
        self._follow(conventional, self._mover)

    def _follow(self, queues: Sequence[tuple[str, str]], make: _Maker) -> None:
        """Serve these queues with services that *make* returns, and end the other services of that kind."""
        failed = failures(self._group) if queues else {}
        found = {
            Served(name, structure, failed[structure].count if structure in failed else 0) for name, structure in queues
        }
        known = {served for served, serving in self._servings.items() if serving.kind == make}
        left = dict[tuple[str, str], MoverState | None]()
        for served in known - found:
            gone = self._servings.pop(served)
            gone.stop()
            gone.thread.join()
            self._pulses.end(_thread_name(served))
            left[served.name, served.structure] = self._forget(served)
        for served in found - known:
            pulse, pause = self._pulses.begin(_thread_name(served)), Nudge()
            report, before = partial(self._update, served), left.get((served.name, served.structure))
            post = Post(self._group, self._process, self._tell, report, pulse, pause, before)
            new = self._servings[served] = make(served, post, pause.wake)
            new.thread.start()

    def _mover(self, served: Served, post: Post, nudge: Callable[[bytes], None]) -> _Serving:
        mover = Mover(post, served, lambda: self._members)
        return _Serving(self._mover, self._thread_of(served, mover), mover.stop, nudge, mover.meet_members)

    def _part(self, served: Served, post: Post, nudge: Callable[[bytes], None]) -> _Serving:
        part = Place(served.structure, served.name)
        service = PartService(post, part, part_tag(part))
        return _Serving(self._part, self._thread_of(served, service), service.stop, nudge)

    def _thread_of(self, served: Served, service: Service) -> threading.Thread:
        return threading.Thread(target=self._ending_with(service.run), name=_thread_name(served), daemon=True)

    def _nudge(self, why: bytes) -> None:
        for serving in self._servings.values():
            serving.nudge(why)

    def _update(self, served: Served, state: MoverState) -> None:
        with self._lock:
            self._states[served] = state
            self._report(tuple(self._states.values()))

    def _forget(self, served: Served) -> MoverState | None:
        with self._lock:
            left = self._states.pop(served, None)
            self._report(tuple(self._states.values()))
        self._tell("CSQX501I", {"queue": served.name})
        return left

    def _ending_with(self, run: Callable[[], None]) -> Callable[[], None]:
        """Make an unforeseen failure or a lost connection end the process: the manager recovers and restarts it."""

        def run_or_end() -> None:
            try:
                run()
            except MQIError as error:
                self._end(str(error), EXIT_CONNECTION_LOST if error.reason == MQRC.CONNECTION_BROKEN else _FAILED)
            except Exception as error:  # noqa: BLE001 - told, and the end of the process
                traceback.print_exc()
                self._end(repr(error), _FAILED)

        return run_or_end


def _thread_name(served: Served) -> str:
    return f"mover of {served.name} in {served.structure}"


def end_process(send_ended: Callable[[str], None], why: str, status: int) -> None:
    """End this process now, after reporting why."""
    send_ended(why)
    os._exit(status)
