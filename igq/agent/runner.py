"""The agent at work: it serves its manager's part of the transmit queue and runs the other services."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from igq.agent.progress.pipe import Pipe
from igq.agent.progress.pulse import Pulses
from igq.agent.progress.report import AgentState, MoverState, Reporter
from igq.agent.progress.sleep import WakeableSleep
from igq.agent.progress.wake import wake_key
from igq.agent.queues.tags import agent_tag
from igq.agent.services.base import Post
from igq.agent.services.part import PartService
from igq.agent.services.pool import ServicePool, end_process
from sharedq.members.group import Group
from sharedq.members.kept_process import KeptProcess
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE, queue_of
from sharedq.objects.store.parts import own_part


class Agent:
    """The IGQ agent of one manager. `run` works until `stop` is called from another thread.

    Attributes:
        pulses: the pulses of its working threads.
    """

    def __init__(self, group: Group, process: KeptProcess, pipe: Pipe, state: AgentState) -> None:
        qmgr = process.qmgr
        self._process, self._pipe = process, pipe
        self._reporter = Reporter(group, process.token, state)
        self._ended = self._ended_batches = 0
        self._own, self._parts = MoverState(SYSTEM_QSG_TRANSMIT_QUEUE, state.state), list[MoverState]()
        self._lock = threading.Lock()
        self.pulses = Pulses()
        pulse, sleep = self.pulses.begin("the delivery"), WakeableSleep(group, wake_key(group, qmgr))
        post = Post(group, process, self._say, self._report_own, pulse, sleep)
        self._service = PartService(post, own_part(qmgr), agent_tag(qmgr))
        self._pool = ServicePool(
            group,
            process,
            self._say,
            self._report_pool,
            self.pulses,
            partial(end_process, lambda why: pipe.send("ended", error=why)),
        )

    def run(self) -> None:
        """Deliver until told to stop, then end in good order.

        Raises:
            MQIError: 2009, the connection is lost. The manager recovers it and starts the agent again.
        """
        self._pool.start()
        self._service.run()
        self._pool.stop()
        self._reporter.end(state="STOPPED", next_retry_ms=None, is_serving=False)

    def stop(self) -> None:
        """End after the current batch. Any thread may call this."""
        self._service.stop()
        self._process.quiesce()

    def _report_own(self, state: MoverState) -> None:
        with self._lock:
            self._own = state
            self._report()

    def _report_pool(self, states: tuple[MoverState, ...]) -> None:
        with self._lock:
            parts = [state for state in states if queue_of(state.queue) == SYSTEM_QSG_TRANSMIT_QUEUE]
            # A delivery that has ended or was replaced keeps its counts.
            self._ended += max(0, _delivered(self._parts) - _delivered(parts))
            self._ended_batches += max(0, _batches(self._parts) - _batches(parts))
            self._parts = parts
            self._reporter.update(movers=tuple(state for state in states if state not in self._parts))
            self._report()

    def _report(self) -> None:
        """Report RETRY while one of the deliveries is in it, with the reason."""
        deliveries = [self._own, *self._parts]
        state = next((each for each in deliveries if each.state == "RETRY"), self._own)
        changes = asdict(state) | {
            "delivered": self._ended + _delivered(deliveries),
            "batches": self._ended_batches + _batches(deliveries),
            "is_serving": any(each.state == "RUNNING" for each in deliveries),
        }
        del changes["queue"]
        self._reporter.update(**changes)

    def _say(self, message_id: str, fields: dict[str, object]) -> None:
        self._pipe.send("say", id=message_id, fields=fields)


def _delivered(states: Sequence[MoverState]) -> int:
    return sum(state.delivered for state in states)


def _batches(states: Sequence[MoverState]) -> int:
    return sum(state.batches for state in states)
