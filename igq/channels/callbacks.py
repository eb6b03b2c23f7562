"""Callbacks of one client: MQCB and MQCTL, and the events by which the server calls a function of the client.

The library calls callbacks in a thread of the connection's own. That thread sends an event and waits until the client
has answered it. Requests that come meanwhile are the function's, so the same thread makes these calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Final, Protocol

from igq.channels.frames import SERVER_IDS, Frame, FrameError, Verb, packed
from igq.channels.handles import UNUSABLE, Handles
from igq.channels.structures import Given, callback_descriptor, control_options, packed_context
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.structures import MQCBC
from sharedq.mqi.constants import MQCC, MQRC
from sharedq.mqi.constants.callbacks import CallbackOperation
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.mqi.wire import GMO, MD
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.verbs import Outcome

_START, _START_WAIT = int(CallbackOperation.START), int(CallbackOperation.START_WAIT)
#: After these operations no callback is called any more.
STOPPING: Final = frozenset({int(CallbackOperation.STOP), int(CallbackOperation.SUSPEND)})
#: MQHO_UNUSABLE_HOBJ, MQHO_NONE.
_NO_HANDLES: Final = (UNUSABLE, 0)


class Sender(Protocol):
    """The client's socket, from any thread."""

    def open_event(self, frame: bytes) -> None:
        """Send an event, and give what comes until its answer to `Events.take`."""

    def send_reply(self, frame: bytes) -> None:
        """Send a reply to a request of a callback."""


class Events:
    """The events of one client, one at a time.

    Args:
        answer: makes the call of a request; returns its reply.
    """

    def __init__(self, handles: Handles, answer: Callable[[Frame], bytes]) -> None:
        self._handles, self._answer = handles, answer
        self._sender: Sender | None = None
        self._last_id = SERVER_IDS - 1
        #: The id of the event that the client has not answered; 0: there is none. The hub's thread changes it.
        self._open = 0
        #: Requests of the callback. Last comes where to tell how it has returned, or nothing: the client is gone.
        self._inbox: SimpleQueue[Frame | SimpleQueue[int] | None] = SimpleQueue()
        self._is_gone = False
        #: The operation by which a callback has stopped all; 0: none has. It is done when the callback has returned.
        self._stop = 0
        #: The thread of the callback that runs, or 0.
        self._thread = 0
        #: When the client has answered: whether there was a stop, and where the callback tells it when it returns.
        #: Requests that came before the answer may not be done by then.
        self._had_stop, self._returned = False, SimpleQueue[int]()

    # -- in the hub's thread -------------------------------------------------------------------------------------------

    def connect(self, sender: Sender) -> None:
        """Say where events go."""
        self._sender = sender

    @property
    def is_open(self) -> bool:
        """Whether the client has an event to answer."""
        return self._open != 0

    def opened(self, id_: int) -> None:
        """Note that an event is sent."""
        self._open = id_
        if self._is_gone:
            self._close(None)

    def take(self, frame: Frame) -> bool:
        """Take a frame that is about an open event: the answer to it, or a request of the callback.

        Raises:
            FrameError: it answers an event that there is not.
        """
        if frame.verb == Verb.EVENT:
            if frame.id != self._open:
                raise FrameError(f"an answer to event {frame.id:#x}, which there is not")
            self._had_stop, self._returned = self._stop != 0, SimpleQueue()
            self._close(self._returned)
            return True
        if self._open:
            self._inbox.put(frame)
        return self._open != 0

    @property
    def had_stop(self) -> bool:
        """Whether the callback whose event was just answered had stopped all, by the requests that were done."""
        return self._had_stop

    @property
    def returned(self) -> SimpleQueue[int]:
        """Gets the operation by which the callback whose event was just answered has stopped all, or 0."""
        return self._returned

    def client_is_gone(self) -> None:
        """Let a callback return: nobody answers its event."""
        self._is_gone = True
        if self._open:
            self._close(None)

    def _close(self, last: SimpleQueue[int] | None) -> None:
        self._open = 0
        self._inbox.put(last)

    # -- in the thread of the callbacks --------------------------------------------------------------------------------

    def call_back(
        self,
        number: int,
        connection: Connection,
        md: MQMD | None,
        gmo: MQGMO | None,
        body: bytes | None,
        context: MQCBC,
    ) -> None:
        """Have the client's function called. Returns after the function has returned.

        Args:
            number: the client's handle of the queue, if the call is about a queue.
        """
        sender = self._sender
        assert sender is not None
        self._thread = threading.get_ident()
        self._last_id = self._last_id + 1 if self._last_id < 2 * SERVER_IDS - 1 else SERVER_IDS
        number = UNUSABLE if context.hobj is None else number
        blobs = (
            packed_context(context, number),
            b"" if md is None else MD.pack(md),
            b"" if gmo is None else GMO.pack(gmo),
            body or b"",
        )
        sender.open_event(packed(self._last_id, Verb.EVENT, (number,), blobs))
        while isinstance(frame := self._inbox.get(), Frame):
            sender.send_reply(self._answer(frame))
        self._thread, operation, self._stop = 0, self._stop, 0
        if frame is not None:
            frame.put(operation)
        elif connection.consumers is not None:
            # The client is gone: no further message may leave its queue.
            mqctl(connection, int(CallbackOperation.STOP))

    # -- calls ---------------------------------------------------------------------------------------------------------

    def register(
        self, connection: Connection, operation: int, number: int, blobs: tuple[bytes, bytes, bytes]
    ) -> Outcome:
        """MQCB. *blobs* are its MQCBD, MQMD and MQGMO."""
        descriptor, md, gmo = blobs
        cbd = callback_descriptor(descriptor, partial(self.call_back, number)) if descriptor else None
        handle = None if number in _NO_HANDLES else self._handles.any(number)
        if handle is not None and not isinstance(handle, Handle):
            raise error_for(MQRC.HOBJ_ERROR, "MQCB", "", f"handle {number} is no queue")
        return mqcb(
            connection,
            operation,
            cbd,
            handle,
            Given(MD, md).value if md else None,
            Given(GMO, gmo).value if gmo else None,
        )

    def control(self, connection: Connection, operation: int, options: bytes) -> Outcome:
        """MQCTL. The client's library waits for the end itself where the program does (MQOP_START_WAIT)."""
        ctlo = control_options(options) if options else None
        operation = _START if operation == _START_WAIT else operation
        outcome = mqctl(connection, operation, ctlo)
        if self._thread == threading.get_ident() and outcome[0] != MQCC.FAILED:
            self._stop = operation if operation in STOPPING else 0
        return outcome
