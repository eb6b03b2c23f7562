"""What serves transmission queues beside the agent's main delivery, a thread each.

A mover for each conventional transmission queue that is this manager's own, or shared; a delivery for each part of
SYSTEM.QSG.TRANSMIT.QUEUE that this manager has in an application structure.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from igq.agent.delivery.by_puts import Tell
from igq.agent.progress.channel import EXIT_CONNECTION_LOST
from igq.agent.progress.pulse import Pulse, Pulses
from igq.agent.progress.report import MoverState
from igq.agent.progress.sleep import Nudge, WakeableSleep
from igq.agent.progress.wake import IN_PASSING, movers_wake_key
from igq.agent.queues.tags import part_tag
from igq.agent.services.base import Post, Report, Service
from igq.agent.services.mover import Mover, Served
from igq.agent.services.part import Delivery
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.failures import failures
from sharedq.objects.store.parts import Place

#: How often it looks whether anything was defined, seconds; commands wake it at once.
LOOK_S = 20.0
#: How often it lists the transmission queues in any case, seconds.
LIST_S = 300.0
#: A listing is repeated at the earliest after this many times the time it took.
_LIST_SHARE = 20
#: How long a listing may take, and the end of movers whose queues have gone, seconds.
_LISTING_S = 600.0
_FAILED = 1


@dataclass(frozen=True, slots=True)
class _Serving:
    """What serves one queue.

    Its thread, what ends that behind the batch at hand, what ends its pause, told why, and what to do where members of
    the group have come or gone.
    """

    kind: _Maker
    thread: threading.Thread
    stop: Callable[[], None]
    nudge: Callable[[bytes], None]
    meet_members: Callable[[], None] = lambda: None


_Maker = Callable[[Served, Report, Pulse], _Serving]


class Movers:
    """Starts a thread for each transmission queue, and ends it with the queue.

    Args:
        tell: takes a message id of `igq.console.messages` and its fields.
        report: told of the states of all movers when one has changed.
        pulses: of this process; one for each mover is begun and ended here.
        end: ends this process with an exit status, saying why: a mover cannot go on.
        on_wake: somebody has something new for this manager.
    """

    def __init__(
        self,
        group: Group,
        process: Process,
        tell: Tell,
        report: Callable[[tuple[MoverState, ...]], None],
        pulses: Pulses,
        end: Callable[[str, int], None],
        on_wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._group, self._process, self._tell = group, process, tell
        self._report, self._pulses, self._end, self._on_wake = report, pulses, end, on_wake
        self._pulse = pulses.begin("the watch for transmission queues")
        self._sleep = WakeableSleep(group, movers_wake_key(group, process.qmgr))
        self._movers: dict[Served, _Serving] = {}
        self._states: dict[Served, MoverState] = {}
        self._members: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._ending_with(self._watch), name="movers", daemon=True)

    def start(self) -> None:
        """Look for transmission queues from now on."""
        self._thread.start()

    def stop(self) -> None:
        """End every mover behind its batch."""
        self._is_stopping = True
        self._sleep.end()
        if self._thread.ident is not None:
            self._thread.join()
        for serving in self._movers.values():
            serving.stop()
        for serving in self._movers.values():
            serving.thread.join()

    def _watch(self) -> None:
        key, known, listed_s, not_before_s, is_due = self._group.keys.group, b"", 0.0, 0.0, True
        while not self._is_stopping:
            if is_due:
                # Whatever woke it, this look will see.
                self._sleep.begin_attempt()
            try:
                definitions, now_s = self._group.command(key, "HGET", key, "definition") or b"", time.monotonic()
                is_due = is_due or definitions != known or now_s - listed_s >= LIST_S
                if is_due and now_s >= not_before_s:
                    with self._pulse.resting(_LISTING_S):
                        self._list()
                    known, listed_s, is_due = definitions, now_s, False
                    not_before_s = now_s + _LIST_SHARE * (time.monotonic() - now_s)
            except (MQIError, ValidationError):
                # Redis is away for now; the connections of the movers find that out for themselves. Or a definition is
                # one that no command makes: what is served stays so until it is repaired.
                not_before_s = time.monotonic() + LOOK_S
            # What has to wait, because it was listed a moment ago, waits no longer than that.
            rest_s = min(LOOK_S, max(0.0, not_before_s - time.monotonic())) if is_due else LOOK_S
            with self._pulse.resting(rest_s):
                self._sleep(rest_s)
            if self._sleep.woken_by is not None:
                is_due = True
                self._on_wake()
                self._nudge(self._sleep.woken_by)

    def _list(self) -> None:
        """Find the transmission queues there are, begin to serve new ones, leave those that have gone."""
        members = frozenset(member.name for member in self._group.members())
        if members != self._members:
            self._members = members
            self._nudge(IN_PASSING)
            for serving in self._movers.values():
                serving.meet_members()
        repository = Repository(self._group, self._process.qmgr)
        parts = repository.make_transmit_parts(self._process.qmgr)
        # First, and by itself: what is sent there is served whatever the definitions of other queues are like.
        self._follow([(part.queue, part.structure) for part in parts], self._delivery)
        # The agent's queue has parts for each member of the group, and none of the others' is to be read for this.
        queues = repository.display_queues(kinds=(QueueLocal.kind,), without=(SYSTEM_QSG_TRANSMIT_QUEUE,))
        conventional = [
            (queue.name, queue.structure)
            for queue in queues
            if isinstance(queue.definition, QueueLocal) and queue.definition.usage == "XMITQ"
        ]
        self._follow(conventional, self._mover)

    def _follow(self, queues: Sequence[tuple[str, str]], make: _Maker) -> None:
        """Serve what *make* serves, given the names and structures of these queues, and nothing else of that kind."""
        failed = failures(self._group) if queues else {}
        found = {
            Served(name, structure, failed[structure].count if structure in failed else 0) for name, structure in queues
        }
        known = {served for served, serving in self._movers.items() if serving.kind == make}
        for served in known - found:
            gone = self._movers.pop(served)
            gone.stop()
            gone.thread.join()
            self._pulses.end(_thread_name(served))
            self._forget(served)
        for served in found - known:
            pulse = self._pulses.begin(_thread_name(served))
            new = self._movers[served] = make(served, partial(self._update, served), pulse)
            new.thread.start()

    def _mover(self, served: Served, report: Report, pulse: Pulse) -> _Serving:
        pause = Nudge()
        mover = Mover(self._post(report, pulse, pause), served, lambda: self._members)
        return _Serving(self._mover, self._thread_of(served, mover), mover.stop, pause.wake, mover.meet_members)

    def _delivery(self, served: Served, report: Report, pulse: Pulse) -> _Serving:
        part, pause = Place(served.structure, served.name), Nudge()
        delivery = Delivery(self._post(report, pulse, pause), part, part_tag(part))
        return _Serving(self._delivery, self._thread_of(served, delivery), delivery.stop, pause.wake)

    def _post(self, report: Report, pulse: Pulse, pause: Nudge) -> Post:
        return Post(self._group, self._process, self._tell, report, pulse, pause)

    def _thread_of(self, served: Served, service: Service) -> threading.Thread:
        return threading.Thread(target=self._ending_with(service.run), name=_thread_name(served), daemon=True)

    def _nudge(self, why: bytes) -> None:
        for serving in self._movers.values():
            serving.nudge(why)

    def _update(self, served: Served, state: MoverState) -> None:
        with self._lock:
            self._states[served] = state
            self._report(tuple(self._states.values()))

    def _forget(self, served: Served) -> None:
        with self._lock:
            self._states.pop(served, None)
            self._report(tuple(self._states.values()))
        self._tell("CSQX501I", {"queue": served.name})

    def _ending_with(self, run: Callable[[], None]) -> Callable[[], None]:
        """What fails unforeseen, or loses its connection, ends the process: the manager recovers and restarts it."""

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
    """End this process now, having said why."""
    send_ended(why)
    os._exit(status)
