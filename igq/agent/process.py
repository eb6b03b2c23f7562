"""The agent as a child process of its queue manager, the only one to start it, by ``python -m igq.agent``.

The agent serves its manager's part of the transmit queue and runs the other services.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from igq.agent.progress.pipe import EXIT_CONNECTION_LOST, Pipe, Pulses
from igq.agent.progress.report import AgentState, MoverState, Reporter
from igq.agent.progress.sleep import WakeableSleep, wake_key
from igq.agent.queues.tags import agent_tag
from igq.agent.services.base import Post
from igq.agent.services.part import PartService
from igq.agent.services.pool import ServicePool, end_process
from igq.output.log import log_to_stderr
from sharedq.members.group import Group
from sharedq.members.process import KeptProcess
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE, queue_of
from sharedq.objects.store.parts import own_part
from sharedq.settings.loader import load_settings


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


def run() -> int:
    """Wait for the work, and run the agent until it is told to stop. Returns the exit status.

    The manager's first message has ``qmgr``, ``incarnation``, ``number`` (of the agent's registration), ``sent_at_s``
    (when that was requested, in monotonic seconds), ``restarts`` (how many agents this incarnation had before) and
    ``settings`` (those of the group, as environment variables).
    """
    pipe = Pipe.to_parent()
    begin = next(pipe.read(), None)
    if begin is None:
        # The manager ended before it had work for an agent.
        return 0
    os.environ.update(begin["settings"])
    settings = load_settings()
    log_to_stderr(settings.log_format, settings.log_level)
    group = Group(settings)
    process = KeptProcess(group, begin["qmgr"], begin["incarnation"], begin["number"], begin["sent_at_s"])
    try:
        # If this fails, it must fail before the agent promises the manager anything.
        group.deployment()
        agent = Agent(group, process, pipe, AgentState("STARTING", os.getpid(), begin["restarts"]))
        threading.Thread(target=_obey, args=(pipe, process, agent), name="pipe", daemon=True).start()
        agent.run()
    except MQIError as error:
        pipe.send("ended", error=str(error))
        if error.reason == MQRC.CONNECTION_BROKEN:
            return EXIT_CONNECTION_LOST
        raise
    return 0


def _obey(pipe: Pipe, process: KeptProcess, agent: Agent) -> None:
    for message in pipe.read():
        if message["kind"] == "renewed":
            process.renewed(float(message["at_s"]))
            pipe.send("pulses", pulses=agent.pulses.read())
        elif message["kind"] == "settings":
            process.group.adopt(message["record"].encode(), is_running=True)
        elif message["kind"] == "stop":
            agent.stop()
    # The manager is gone. Recovery resolves whatever this process has begun.
    os._exit(1)
