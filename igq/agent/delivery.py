"""Delivery from one part of SYSTEM.QSG.TRANSMIT.QUEUE: serialize, open it, deliver, wait, retry."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from igq.agent.carry import Carrier
from igq.agent.deliver import Deliverer, Tell
from igq.agent.pulse import Pulse
from igq.agent.reporting import MoverState
from igq.agent.retry import Retrier, Retries, Trouble
from igq.agent.serving import REFUSED
from igq.agent.sleep import Sleep
from igq.agent.source import WAIT_S, as_trouble
from igq.agent.transmit_queue import TransmitQueue
from igq.agent.wake import BY_OPERATOR
from sharedq.connecting import tag_argument
from sharedq.connection import Connection
from sharedq.group import Group
from sharedq.message import Message
from sharedq.mqi.constants import ConnectOption
from sharedq.mqi.errors import MQIError
from sharedq.objects.parts import Place
from sharedq.owner import Process

APPL_NAME = "IGQ agent"


@dataclass(frozen=True, slots=True)
class _Open:
    queue: TransmitQueue
    carrier: Carrier
    deliverer: Deliverer


class Delivery:
    """Delivers what is on one part; `run` works until `stop` is called from another thread.

    Args:
        part: of the manager that *process* belongs to.
        tag: the connection tag; refused while what its last holder did is recovered.
        tell: takes a message id of `igq.messages` and its fields.
        report: told of the state whenever that changes.
        pulse: of the thread that runs it.
        sleep: how it pauses between retries.
    """

    def __init__(
        self,
        group: Group,
        process: Process,
        part: Place,
        tag: bytes,
        tell: Tell,
        report: Callable[[MoverState], None],
        pulse: Pulse,
        sleep: Sleep,
    ) -> None:
        self._group, self._process, self._part, self._tag = group, process, part, tag
        self._tell, self._report, self._pulse, self._sleep = tell, report, pulse, sleep
        self._state = MoverState(part.queue, "STARTING")
        self._retrier = Retrier(self._pause, self._on_trouble)
        self._connection: Connection | None = None
        self._deliverer: Deliverer | None = None
        self._open: _Open | None = None
        self._is_stopping = False

    def run(self) -> None:
        """Deliver until told to stop, then end in good order.

        Raises:
            MQIError: 2009, the connection is lost; what it had in hand is recovered, and the agent started again.
        """
        while not self._is_stopping:
            self._retrier(self._round)
        if self._connection is not None:
            self._connection.disconnect()

    def stop(self) -> None:
        """End behind the batch at hand. Safe to call from any thread."""
        self._is_stopping = True
        self._sleep.end()
        connection = self._connection
        if connection is not None:
            connection.notice_quiescing()

    def _round(self) -> None:
        """Deliver what is there, or wait for it; raises Trouble."""
        self._sleep.begin_attempt()
        it = None if self._is_stopping else self._opened()
        # Asked behind that: who stops it later finds a connection to tell.
        if it is None or self._is_stopping:
            return
        moved, messages = it.queue.move(), list[Message]()
        self._count(moved.count)
        if moved.is_waiting:
            self._leave_retry()
            with self._pulse.resting(WAIT_S):
                moved, messages = it.queue.wait_and_move(may_take=it.carrier.is_in_use)
            self._count(moved.count)
            # Told by the process, which ends its connections' waits one after the other.
            if it.queue.is_quiescing:
                self._is_stopping = True
        if moved.is_stuck and not messages:
            messages = it.queue.take()
        is_idle = moved.is_stuck and not messages
        self._deliver(it, messages)
        self._leave_retry()
        if is_idle:
            # While authorities are checked nothing is moved, nor waited for in that way.
            with self._pulse.resting(WAIT_S):
                if not it.queue.wait():
                    self._is_stopping = True

    def _deliver(self, it: _Open, messages: list[Message]) -> None:
        """Deliver what cannot be moved, batch by batch as long as it can be carried; the rest of a batch by puts."""
        queue, carrier = it.queue, it.carrier
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
        self._count(it.deliverer.deliver(messages))

    def _count(self, count: int) -> None:
        if count:
            self._pulse.beat()
            self._update(delivered=self._state.delivered + count)

    def _pause(self, seconds: float) -> bool:
        """Pause between retries; whether somebody but an operator has it try before it is time."""
        with self._pulse.resting(seconds):
            self._sleep(seconds)
        return self._sleep.woken_by not in (None, BY_OPERATOR)

    def _opened(self) -> _Open:
        if self._connection is None:
            self._connection = self._serialize()
        if self._deliverer is None:
            self._deliverer = Deliverer(self._connection, self._say, self._part.queue, self._pulse)
        if self._open is None:
            carrier = Carrier(self._connection, self._part.structure, self._pulse)
            try:
                queue = TransmitQueue(self._connection, self._part)
            except MQIError as error:
                # Its structure may be gone before it is entered.
                raise as_trouble(error) from error
            self._open = _Open(queue, carrier, self._deliverer)
        return self._open

    def _serialize(self) -> Connection:
        """MQCONNX with its connection tag: refused while its predecessor's work is recovered."""
        tag = tag_argument(self._process.qmgr, self._tag, ConnectOption.SERIALIZE_CONN_TAG_QSG)
        try:
            return Connection(self._group, self._process, tag=tag, appl_name=APPL_NAME, is_internal=True)
        except MQIError as error:
            if error.reason in REFUSED:
                raise Trouble(str(error)) from error
            raise as_trouble(error) from error

    def _on_trouble(self, trouble: Trouble, retries: Retries, wait_s: float) -> None:
        self._open = None
        if self._state.state != "RETRY":
            self._sleep.begin_trouble()
        self._update(
            state="RETRY",
            short_retries=retries.short,
            long_retries=retries.long,
            next_retry_ms=int((time.time() + wait_s) * 1000),
            last_error=str(trouble),
        )
        retry = retries.short + retries.long + 1
        self._say("CSQM065E", {"error": str(trouble), "retry": retry, "wait_s": wait_s})

    def _leave_retry(self) -> None:
        self._retrier.succeeded()
        if self._state.state == "RETRY":
            self._say("IGQ0021I", {})
        if self._state.state != "RUNNING":
            self._update(state="RUNNING", short_retries=0, long_retries=0, next_retry_ms=None)

    def _update(self, **changes: object) -> None:
        self._state = self._state.changed(**changes)
        self._report(self._state)

    def _say(self, message_id: str, fields: dict[str, object]) -> None:
        self._tell(message_id, {"by": APPL_NAME} | fields)
