"""A service of one transmission queue: a thread's work from its serialized connection to its end, with retries."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from igq.agent.delivery.put_delivery import Deliverer, Tell
from igq.agent.progress.pipe import Pulse
from igq.agent.progress.report import MoverState
from igq.agent.progress.retry import Retrier, Retries, Trouble
from igq.agent.progress.sleep import BY_OPERATOR, Sleep
from igq.agent.queues.tags import REFUSED
from igq.agent.queues.transmission_queue import TransmissionQueue, as_trouble
from sharedq.calls.handles.connect import disconnect, tag_argument
from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.messages.message import Message
from sharedq.mqi.constants import ConnectOption
from sharedq.mqi.errors import MQIError
from sharedq.session.connection import Connection

Report = Callable[[MoverState], None]


@dataclass(frozen=True, slots=True)
class Post:
    """The tools of a service.

    Attributes:
        tell: called with a message id of `igq.output.messages` and its fields.
        report: called with the state whenever it changes.
        pulse: the pulse of the thread that runs the service.
        sleep: pauses between retries. A wake-up makes the service try again.
        left: the state in which the service that this one replaces has ended. None: it replaces none.
    """

    group: Group
    process: Process
    tell: Tell
    report: Report
    pulse: Pulse
    sleep: Sleep
    left: MoverState | None = None


class Service(ABC):
    """Serves one queue. `run` works until `stop` is called from another thread.

    Args:
        queue: the queue's name.
        tag: the connection tag. It is refused while the work of its last holder is being recovered.
        name: the service's name as an application, and in its messages.
    """

    def __init__(self, post: Post, queue: str, tag: bytes, appl_name: str, name: str) -> None:
        self._post, self._tag, self._appl_name, self._name = post, tag, appl_name, name
        self._pulse, self._sleep = post.pulse, post.sleep
        # A service that reported the state of retry stays in it until it reports that it has left.
        is_in_retry = post.left is not None and post.left.state == "RETRY"
        self._state = MoverState(queue, "RETRY" if is_in_retry else "STARTING")
        self._retrier = Retrier(self._pause, self._on_trouble)
        self._connection: Connection | None = None
        self._is_stopping = False

    def run(self) -> None:
        """Deliver until told to stop, then end in good order.

        Raises:
            MQIError: 2009, the connection is lost. Its unfinished work is recovered with the process.
        """
        while not self._is_stopping:
            self._work()
        if self._connection is not None:
            disconnect(self._connection)

    def stop(self) -> None:
        """End after the current batch. Any thread may call this."""
        self._is_stopping = True
        self._sleep.end()
        connection = self._connection
        if connection is not None:
            connection.notice_quiescing()

    def _work(self) -> None:
        """Try until something is done."""
        self._retrier(self._attempt)

    def _attempt(self) -> None:
        self._sleep.begin_attempt()
        if self._is_stopping:
            return
        self._open(self._connected())
        # Check after the connection is set, so that a later `stop` finds a connection to tell.
        if not self._is_stopping:
            self._round()

    @abstractmethod
    def _open(self, connection: Connection) -> None:
        """Open what is not open. Raises Trouble."""

    @abstractmethod
    def _round(self) -> None:
        """Deliver what is there, or wait for it. Raises Trouble."""

    @abstractmethod
    def _close(self) -> None:
        """Forget what is open, because it is in trouble and must be reopened."""

    @abstractmethod
    def _tell_trouble(self, fields: dict[str, object]) -> None:
        """Report a trouble: its ``error``, the next ``retry``, and ``wait_s`` until then."""

    @abstractmethod
    def _tell_running(self) -> None:
        """Report that the service is at work, if that is news. The state is still the previous one."""

    def _connected(self) -> Connection:
        """Connect by MQCONNX with the connection tag. Raises Trouble, or the exception that `_refused` makes."""
        if self._connection is None:
            post = self._post
            tag = tag_argument(post.process.qmgr, self._tag, ConnectOption.SERIALIZE_CONN_TAG_QSG)
            try:
                self._connection = Connection(
                    post.group, post.process, tag=tag, appl_name=self._appl_name, is_internal=True
                )
            except MQIError as error:
                raise (self._refused(error) if error.reason in REFUSED else as_trouble(error)) from error
        return self._connection

    def _refused(self, error: MQIError) -> Exception:
        """Return the exception for a refused serialization: a Trouble leads to a retry; a mover may stand by."""
        return Trouble(str(error))

    def _pause(self, seconds: float) -> bool:
        """Pause between retries. True if a wake-up other than an operator's ended the pause."""
        with self._pulse.resting(seconds):
            self._sleep(seconds)
        return self._sleep.woken_by not in (None, BY_OPERATOR)

    def _on_trouble(self, trouble: Trouble, retries: Retries, wait_s: float) -> None:
        self._close()
        if self._is_stopping:
            # There will be no retry. Where a recovered structure is served anew, the end of its old service meets 2373.
            return
        if self._state.state != "RETRY":
            self._sleep.begin_trouble()
        self._update(
            state="RETRY",
            short_retries=retries.short,
            long_retries=retries.long,
            next_retry_ms=int((time.time() + wait_s) * 1000),
            last_error=str(trouble),
        )
        self._tell_trouble({"error": str(trouble), "retry": retries.short + retries.long + 1, "wait_s": wait_s})

    def _succeeded(self) -> None:
        """Note that the service is at work and its trouble is over."""
        self._retrier.succeeded()
        if self._state.state != "RUNNING":
            self._tell_running()
            self._update(state="RUNNING", short_retries=0, long_retries=0, next_retry_ms=None, last_error="")

    def _deliver_by_puts(self, deliverer: Deliverer, queue: TransmissionQueue, messages: Sequence[Message]) -> None:
        for delivered in deliverer.deliver_from(queue, messages):
            self._count(delivered)
            if self._is_stopping:
                return

    def _count(self, delivered: int) -> None:
        if delivered:
            self._pulse.beat()
            self._update(delivered=self._state.delivered + delivered, batches=self._state.batches + 1)

    def _update(self, **changes: object) -> None:
        state = self._state.changed(**changes)
        if state != self._state:
            self._state = state
            self._post.report(state)

    def _say(self, message_id: str, fields: dict[str, object]) -> None:
        self._post.tell(message_id, {"by": self._name} | fields)
