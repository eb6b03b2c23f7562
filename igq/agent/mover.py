"""The mover of one conventional transmission queue: takes its messages to the members of the group they are for.

It does what two channel agents do on z/OS, the sending and the receiving one, in one unit of work: a message is got
from the transmission queue and opened, put, reported on or dead-lettered as the manager it leads to would do that
itself. So intra-group queuing need not be enabled anywhere, and that manager need not be running.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from igq.agent.core import Transmitted
from igq.agent.deliver import Deliverer, NoWayError, Tell
from igq.agent.pulse import Pulse
from igq.agent.reporting import MoverState
from igq.agent.retry import Retrier, Retries, Trouble
from igq.agent.serving import REFUSED, mover_tag
from igq.agent.source import BATCH_MESSAGES, WAIT_S, TransmissionQueue, as_trouble
from sharedq.connecting import tag_argument
from sharedq.connection import Connection
from sharedq.group import Group
from sharedq.keys import private_structure
from sharedq.mqi.constants import ConnectOption
from sharedq.mqi.errors import MQIError
from sharedq.owner import Process

Report = Callable[[MoverState], None]


@dataclass(frozen=True, slots=True)
class Served:
    """A transmission queue, or a part of one, and where it is.

    ``failures``: how often that structure has failed. Who waits there does not notice it, and is replaced behind it.
    """

    name: str
    structure: str
    failures: int = 0


class StandbyError(Exception):
    """Another member's mover serves this shared queue."""


class Mover:
    """Serves one queue; `run` works until `stop` is called from another thread, and `nudge` ends its pauses.

    Args:
        members: names of the group's members, whenever it asks.
        tell: takes a message id of `igq.messages` and its fields.
        report: told of its state whenever that changes.
        pulse: of the thread that runs it.
    """

    def __init__(
        self,
        group: Group,
        process: Process,
        served: Served,
        members: Callable[[], Collection[str]],
        tell: Tell,
        report: Report,
        pulse: Pulse,
    ) -> None:
        self.served = served
        self._group, self._process, self._members = group, process, members
        self._tell, self._report, self._pulse = tell, report, pulse
        self._state = MoverState(served.name, "STARTING")
        self._retrier = Retrier(self._pause, self._on_trouble)
        self._connection: Connection | None = None
        self._queue: TransmissionQueue | None = None
        self._deliverer: Deliverer | None = None
        self._nudged = threading.Event()
        self._is_stopping = False

    def run(self) -> None:
        """Deliver until told to stop, then end in good order.

        Raises:
            MQIError: 2009, the connection is lost; its unit of work is recovered with the process.
        """
        while not self._is_stopping:
            try:
                self._retrier(self._round)
            except StandbyError:
                self._update(state="STANDBY")
                self._pause(self._group.settings.lease_ms / 1000)
        if self._connection is not None:
            self._connection.disconnect()

    def stop(self) -> None:
        """End behind the batch at hand."""
        self._is_stopping = True
        self._nudged.set()
        connection = self._connection
        if connection is not None:
            connection.notice_quiescing()

    def nudge(self) -> None:
        """Something has changed: try again now, if it is in the state of retry."""
        self._nudged.set()

    def _pause(self, seconds: float) -> bool:
        """Pause between retries; whether something that has changed ends it before it is time."""
        with self._pulse.resting(seconds):
            return self._nudged.wait(seconds)

    def _round(self) -> None:
        """Deliver what is there, or wait for it; raises Trouble."""
        self._nudged.clear()
        it = None if self._is_stopping else self._opened()
        # Asked behind that: who stops it later finds a connection to tell.
        if it is None or self._is_stopping:
            return
        queue, deliverer = it
        delivered = self._deliver(queue, deliverer)
        self._leave_retry(delivered)
        if delivered:
            return
        with self._pulse.resting(WAIT_S):
            if not queue.wait():
                self._is_stopping = True

    def _deliver(self, queue: TransmissionQueue, deliverer: Deliverer) -> int:
        """Deliver a batch, or what comes before a message that leads nowhere; how many it took off the queue."""
        count = BATCH_MESSAGES
        while True:
            messages = queue.take(count)
            if not messages:
                return 0
            try:
                deliverer.deliver(messages)
            except NoWayError as error:
                if not error.before:
                    raise
                count = error.before
                continue
            return len(messages)

    def _opened(self) -> tuple[TransmissionQueue, Deliverer]:
        if self._connection is None:
            self._connection = self._serialize()
        if self._deliverer is None:
            self._deliverer = Deliverer(self._connection, self._say, self.served.name, self._pulse, self._hop)
        if self._queue is None:
            self._queue = TransmissionQueue(self._connection, self.served.structure, self.served.name)
        return self._queue, self._deliverer

    def _hop(self, message: Transmitted) -> str | None:
        return message.hop(self.served.name, self._members())

    def _serialize(self) -> Connection:
        """One mover a queue in all of the group, and none before its predecessor's work is recovered."""
        qmgr, served = self._process.qmgr, self.served
        tag = tag_argument(qmgr, mover_tag(served.structure, served.name), ConnectOption.SERIALIZE_CONN_TAG_QSG)
        try:
            return Connection(self._group, self._process, tag=tag, appl_name="mover", is_internal=True)
        except MQIError as error:
            if error.reason in REFUSED:
                if served.structure != private_structure(qmgr):
                    raise StandbyError from error
                raise Trouble(str(error)) from error
            raise as_trouble(error) from error

    def _on_trouble(self, trouble: Trouble, retries: Retries, wait_s: float) -> None:
        self._queue = None
        self._update(
            state="RETRY",
            short_retries=retries.short,
            long_retries=retries.long,
            next_retry_ms=int((time.time() + wait_s) * 1000),
            last_error=str(trouble),
        )
        retry = retries.short + retries.long + 1
        self._say("CSQX599E", {"queue": self.served.name, "error": str(trouble), "retry": retry, "wait_s": wait_s})

    def _leave_retry(self, delivered: int) -> None:
        self._retrier.succeeded()
        if self._state.state != "RUNNING":
            self._say("CSQX500I", {"queue": self.served.name})
        self._update(
            state="RUNNING",
            short_retries=0,
            long_retries=0,
            next_retry_ms=None,
            delivered=self._state.delivered + delivered,
        )

    def _update(self, **changes: object) -> None:
        state = self._state.changed(**changes)
        if state != self._state:
            self._state = state
            self._report(state)

    def _say(self, message_id: str, fields: dict[str, object]) -> None:
        self._tell(message_id, {"by": f"mover of {self.served.name}"} | fields)
