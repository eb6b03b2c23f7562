"""The agent at work: serialize, open the transmission queue, deliver, wait, retry."""

from __future__ import annotations

import time
from functools import partial

from igq.agent.carry import Carrier
from igq.agent.channel import Channel
from igq.agent.deliver import Deliverer
from igq.agent.movers import Movers, end_process
from igq.agent.pulse import Pulses
from igq.agent.reporting import AgentState, Reporter
from igq.agent.retry import Retrier, Retries, Trouble
from igq.agent.serving import REFUSED, agent_tag
from igq.agent.sleep import WakeableSleep
from igq.agent.source import WAIT_S, as_trouble
from igq.agent.transmit_queue import TransmitQueue
from igq.agent.wake import BY_OPERATOR, wake_key
from sharedq.connecting import tag_argument
from sharedq.connection import Connection
from sharedq.group import Group
from sharedq.kept_process import KeptProcess
from sharedq.message import Message
from sharedq.mqi.constants import ConnectOption
from sharedq.mqi.errors import MQIError
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE

APPL_NAME = "IGQ agent"


class Agent:
    """The IGQ agent of one manager. `run` works until `stop` is called from another thread.

    Attributes:
        pulses: of its working threads.
    """

    def __init__(self, group: Group, process: KeptProcess, channel: Channel, state: AgentState) -> None:
        self._group, self._process, self._channel = group, process, channel
        self._reporter = Reporter(group, process.qmgr, state)
        self._sleep = WakeableSleep(group, wake_key(group, process.qmgr))
        self.pulses = Pulses()
        self._pulse = self.pulses.begin("the delivery")
        self._movers = Movers(
            group,
            process,
            self._say,
            lambda states: self._reporter.update(movers=states),
            self.pulses,
            partial(end_process, lambda why: channel.send("ended", error=why)),
            lambda: channel.send("woken"),
        )
        self._retrier = Retrier(self._pause, self._on_trouble)
        self._connection: Connection | None = None
        self._queue: TransmitQueue | None = None
        self._deliverer: Deliverer | None = None
        self._carrier: Carrier | None = None
        self._is_stopping = False

    def run(self) -> None:
        """Deliver until told to stop, then end in good order.

        Raises:
            MQIError: 2009, the connection is lost; the manager recovers it and starts the agent again.
        """
        self._movers.start()
        while not self._is_stopping:
            self._retrier(self._round)
        self._movers.stop()
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
        queue, carrier, deliverer = self._opened()
        moved, messages = queue.move(), list[Message]()
        self._count(moved.count)
        if moved.is_waiting:
            self._leave_retry()
            with self._pulse.resting(WAIT_S):
                moved, messages = queue.wait_and_move(may_take=carrier.is_in_use)
            self._count(moved.count)
        if moved.is_stuck and not messages:
            messages = queue.take()
        is_idle = moved.is_stuck and not messages
        self._deliver(queue, carrier, deliverer, messages)
        self._leave_retry()
        if is_idle:
            # While authorities are checked nothing is moved, nor waited for in that way.
            with self._pulse.resting(WAIT_S):
                queue.wait()

    def _deliver(self, queue: TransmitQueue, carrier: Carrier, deliverer: Deliverer, messages: list[Message]) -> None:
        """Deliver what cannot be moved, batch by batch as long as it can be carried; the rest of a batch by puts."""
        while messages and (version := queue.unchecked_version) is not None:
            carried = len(messages)
            is_carried = carrier.carry(messages, version)
            if carrier.has_own or not is_carried:
                queue.destinations.look_again()
            if not is_carried:
                break
            if carrier.has_own:
                # What follows can rather be moved.
                queue.commit()
                messages = []
            else:
                messages = queue.commit_and_take()
            self._leave_retry()
            self._count(carried)
        # Where a part could be carried and a part not, all of it went back.
        if messages and not queue.has_taken:
            messages = queue.take()
        self._count(deliverer.deliver(messages))

    def _count(self, count: int) -> None:
        if count:
            self._pulse.beat()
            self._reporter.update(delivered=self._reporter.state.delivered + count)

    def _pause(self, seconds: float) -> bool:
        """Pause between retries; whether somebody but an operator has the agent try before it is time."""
        with self._pulse.resting(seconds):
            self._sleep(seconds)
        return self._sleep.woken_by not in (None, BY_OPERATOR)

    def _opened(self) -> tuple[TransmitQueue, Carrier, Deliverer]:
        if self._connection is None:
            self._connection = self._serialize()
        if self._deliverer is None:
            self._deliverer = Deliverer(self._connection, self._say, SYSTEM_QSG_TRANSMIT_QUEUE, self._pulse)
        if self._queue is None or self._carrier is None:
            self._carrier = Carrier(self._connection, self._pulse)
            self._queue = TransmitQueue(self._connection)
        return self._queue, self._carrier, self._deliverer

    def _serialize(self) -> Connection:
        """MQCONNX with the agent's connection tag: refused while its predecessor's work is recovered."""
        qmgr = self._process.qmgr
        tag = tag_argument(qmgr, agent_tag(qmgr), ConnectOption.SERIALIZE_CONN_TAG_QSG)
        try:
            return Connection(self._group, self._process, tag=tag, appl_name=APPL_NAME, is_internal=True)
        except MQIError as error:
            if error.reason in REFUSED:
                raise Trouble(str(error)) from error
            raise as_trouble(error) from error

    def _on_trouble(self, trouble: Trouble, retries: Retries, wait_s: float) -> None:
        self._queue = None
        if self._reporter.state.state != "RETRY":
            self._sleep.begin_trouble()
        self._reporter.update(
            state="RETRY",
            short_retries=retries.short,
            long_retries=retries.long,
            next_retry_ms=int((time.time() + wait_s) * 1000),
            last_error=str(trouble),
        )
        self._say("CSQM065E", {"error": str(trouble), "retry": retries.short + retries.long + 1, "wait_s": wait_s})

    def _leave_retry(self) -> None:
        self._retrier.succeeded()
        if self._reporter.state.state == "RETRY":
            self._say("IGQ0021I", {})
        if self._reporter.state.state != "RUNNING":
            self._reporter.update(state="RUNNING", short_retries=0, long_retries=0, next_retry_ms=None)

    def _say(self, message_id: str, fields: dict[str, object]) -> None:
        self._channel.send("say", id=message_id, fields={"by": APPL_NAME} | fields)
