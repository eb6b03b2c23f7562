"""The agent at work: serialize, open the transmission queue, deliver, wait, retry."""

from __future__ import annotations

import threading
import time

from igq.agent.channel import Channel
from igq.agent.deliver import Deliverer
from igq.agent.reporting import AgentState, Reporter
from igq.agent.retry import Retries, Trouble, retrying
from igq.agent.transmit_queue import TransmitQueue, as_trouble
from igq.agent.wake import wake_key
from sharedq.connection import RESERVED_TAG, Connection, tag_argument
from sharedq.group import Group
from sharedq.kept_process import KeptProcess
from sharedq.link import Link
from sharedq.mqi.constants import MQRC, ConnectOption
from sharedq.mqi.errors import MQIError

APPL_NAME = "IGQ agent"
#: Seconds until a sleeper that has lost its connection listens again.
_LISTEN_AGAIN_S = 1.0


class Agent:
    """The IGQ agent of one manager. `run` works until `stop` is called from another thread."""

    def __init__(self, group: Group, process: KeptProcess, channel: Channel, state: AgentState) -> None:
        self._group, self._process, self._channel = group, process, channel
        self._reporter = Reporter(group, process.qmgr, state)
        self._sleep = _WakeableSleep(group, process.qmgr)
        self._connection: Connection | None = None
        self._queue: TransmitQueue | None = None
        self._deliverer: Deliverer | None = None
        self._is_stopping = False

    def run(self) -> None:
        """Deliver until told to stop, then end in good order.

        Raises:
            MQIError: 2009, the connection is lost; the manager recovers it and starts the agent again.
        """
        call = retrying(self._sleep, self._on_trouble)
        while not self._is_stopping:
            call(self._round)
        if self._connection is not None:
            self._connection.disconnect()
        self._reporter.end(state="STOPPED", next_retry_ms=None)

    def stop(self) -> None:
        """End behind the batch at hand. Safe to call from any thread."""
        self._is_stopping = True
        self._sleep.end()
        self._process.quiesce()

    def _round(self) -> None:
        """Deliver what is there, or wait for it; raises Trouble."""
        if self._is_stopping:
            return
        self._sleep.begin_attempt()
        queue, deliverer = self._opened()
        moved = queue.move()
        delivered = moved.count
        if moved.is_stuck:
            delivered += deliverer.deliver(queue.take())
        self._leave_retry()
        if delivered:
            self._reporter.update(delivered=self._reporter.state.delivered + delivered)
        if not moved.left:
            queue.wait()

    def _opened(self) -> tuple[TransmitQueue, Deliverer]:
        if self._connection is None:
            self._connection = self._serialize()
        if self._queue is None or self._deliverer is None:
            self._deliverer = Deliverer(self._connection, self._say)
            self._queue = TransmitQueue(self._connection)
        return self._queue, self._deliverer

    def _serialize(self) -> Connection:
        """MQCONNX with the agent's connection tag: refused while its predecessor's work is recovered."""
        qmgr = self._process.qmgr
        tag = tag_argument(qmgr, RESERVED_TAG + f"-IGQ-AGENT-{qmgr}".encode(), ConnectOption.SERIALIZE_CONN_TAG_QSG)
        try:
            return Connection(self._group, self._process, tag=tag, appl_name=APPL_NAME, is_internal=True)
        except MQIError as error:
            if error.reason == MQRC.CONN_TAG_IN_USE:
                raise Trouble(str(error)) from error
            raise as_trouble(error) from error

    def _on_trouble(self, trouble: Trouble, retries: Retries, wait_s: float) -> None:
        self._queue = None
        self._reporter.update(
            state="RETRY",
            short_retries=retries.short,
            long_retries=retries.long,
            next_retry_ms=int((time.time() + wait_s) * 1000),
            last_error=str(trouble),
        )
        self._say("CSQM065E", {"error": str(trouble), "retry": retries.short + retries.long + 1, "wait_s": wait_s})

    def _leave_retry(self) -> None:
        if self._reporter.state.state == "RETRY":
            self._say("CSQM066I", {})
        if self._reporter.state.state != "RUNNING":
            self._reporter.update(state="RUNNING", short_retries=0, long_retries=0, next_retry_ms=None)

    def _say(self, message_id: str, fields: dict[str, object]) -> None:
        self._channel.send("say", id=message_id, fields=fields)


class _WakeableSleep:
    """Waits between retries: until the time has passed, somebody wakes the agent, or it must stop."""

    def __init__(self, group: Group, qmgr: str) -> None:
        self._group, self._key = group, wake_key(group, qmgr)
        self._ended = threading.Event()
        self._link: Link | None = None

    def begin_attempt(self) -> None:
        """A wake-up from now on is about what this attempt could not know yet."""
        if self._link is not None:
            try:
                self._link.command(self._key, "DEL", self._key)
            except MQIError:
                # A wake-up that is left there ends the next sleep at once: one attempt more.
                self._link = None

    def __call__(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            if self._link is None:
                # Opened at the first trouble, so that an agent without any pays nothing.
                self._link = self._group.new_link()
            # Looked at behind that: `end` interrupts the link that it finds.
            if self._ended.is_set():
                return
            try:
                # At least a hundredth: what is rounded down to 0 would wait for ever.
                self._link.command(self._key, "BLPOP", self._key, max(0.01, left_s))
                return
            except MQIError:
                # Redis is gone, for now, or `end` cut the wait short.
                self._link = None
                self._ended.wait(min(_LISTEN_AGAIN_S, left_s))

    def end(self) -> None:
        """No more waiting."""
        self._ended.set()
        if self._link is not None:
            self._link.interrupt()
