"""One client's socket: frames in and out, and the greenlet that makes its calls."""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from greenlet import greenlet

from igq.channels.frames import (
    ROOM_BESIDE_MESSAGE,
    SERVER_PREFACE,
    Frame,
    FrameError,
    FrameReader,
    Verb,
    packed,
)
from igq.channels.session import Session
from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQRC
from sharedq.mqi.limits import MAX_MSG_LENGTH

_log = LibraryLogger(__name__)
_READ_BYTES: Final = 1 << 16
#: Requests of one client that wait for their turn: nothing more is read while there are so many, or so many bytes.
_REQUESTS_MAX: Final = 1_000
_REQUEST_BYTES_MAX: Final = 4 << 20
#: Bytes that a client may leave unread while it sends heartbeats, beside the reply to a call.
_UNREAD_MAX: Final = MAX_MSG_LENGTH + ROOM_BESIDE_MESSAGE
#: Seconds until a client has to be connected.
_CONNECT_S: Final = 60.0
_IN, _OUT, _GONE = select.EPOLLIN, select.EPOLLOUT, select.EPOLLRDHUP
_LOST: Final = select.EPOLLHUP | select.EPOLLERR


T = TypeVar("T")


class Threaded(Generic[T]):
    """A task that runs in a thread of its own. `end` is called in the hub's thread.

    Attributes:
        on_end: called when it has ended.
    """

    def __init__(self) -> None:
        self.result: T | None = None
        self.error: Exception | None = None
        self.has_ended = False
        self.on_end: Callable[[], None] | None = None

    def end(self) -> None:
        """Note that it has ended."""
        self.has_ended = True
        if self.on_end is not None:
            self.on_end()


class Server(Protocol):
    """The hub, as a client needs it."""

    def give_way(self) -> None:
        """Go on with other clients until somebody switches to the greenlet that calls."""

    def watch(self, number: int, events: int, *, is_new: bool = False) -> None:
        """Have events on a socket told."""

    def forget(self, number: int) -> None:
        """Have no more events of a socket told."""

    def aside(self, task: Callable[[], object]) -> None:
        """Do a task in another thread."""

    def soon(self, event: Callable[[], None]) -> None:
        """Do *event* in the hub's thread."""

    def in_thread(self, task: Callable[[], T]) -> Threaded[T]:
        """Begin a task that may wait for a client."""


class Client:
    """A client that is connected to the socket. All of this runs in the hub's thread."""

    def __init__(self, hub: Server, connected: socket.socket, session: Session) -> None:
        self._hub, self._socket, self._session = hub, connected, session
        self._reader = FrameReader()
        self._requests: deque[tuple[Frame, int]] = deque()
        self._request_bytes = 0
        #: The lengths of requests that a callback has not answered yet, and their sum.
        self._of_callback: deque[int] = deque()
        self._callback_bytes = 0
        self._to_send = bytearray()
        self._began_s = self._heard_s = time.monotonic()
        #: Seconds without a word after which the client counts as gone; 0: it may be silent for ever.
        self._silence_s = 0
        self._worker = greenlet(self._work)
        #: Whether the worker has given way until there is something to do.
        self._is_idle = self._is_sending = self._is_over = self._has_answered_preface = False
        #: Whether the worker has given way until a thread has ended, or an event is open.
        self._awaits_thread = False
        #: A call that is answered already, and goes on until a callback has returned.
        self._stop: Threaded[bytes] | None = None
        session.events.connect(self)
        self._watched = 0

    def begin(self) -> None:
        """Wait for what the client sends."""
        self._watched = _IN | _GONE
        self._hub.watch(self._socket.fileno(), self._watched, is_new=True)
        self._worker.switch()

    # -- events --------------------------------------------------------------------------------------------------------

    def on_event(self, events: int) -> None:
        """Act on what happened to the socket."""
        if events & _OUT:
            self._flush()
        if events & _IN and not self._is_over:
            self._read()
        elif events & (_GONE | _LOST):
            self._end_now()

    def look(self, now_s: float) -> None:
        """End a client that never connects, or that has been silent for too long."""
        if not self._session.is_connected and now_s - self._began_s > _CONNECT_S:
            self.shut("no connect came")
        elif self._silence_s and now_s - self._heard_s > self._silence_s:
            self.shut(f"nothing was heard for {self._silence_s} s")

    def shut(self, why: str, reason: int = MQRC.CONNECTION_BROKEN) -> None:
        """Tell the client that it is ended, and end it."""
        if not self._is_over:
            self._send(packed(0, Verb.ENDED, (int(reason),), (why.encode(),)))
            self._end_now()

    def _read(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_now()
            return
        self._heard_s = time.monotonic()
        self._session.figures.received += len(data)
        self._reader.feed(data)
        self._take_frames()

    def _take_frames(self) -> None:
        try:
            if not self._reader.has_preface():
                return
            if not self._has_answered_preface:
                self._answer_preface()
            while not self._is_full and not self._is_over and (frame := self._reader.next()) is not None:
                self._take(frame)
        except FrameError as error:
            if not self._has_answered_preface:
                self._answer_preface()
            self.shut(str(error))
            return
        self._watch()
        self._go_on()

    def _answer_preface(self) -> None:
        self._has_answered_preface = True
        self._send(SERVER_PREFACE)

    def _take(self, frame: Frame) -> None:
        self._session.figures.frames_received += 1
        if frame.verb == Verb.HEARTBEAT:
            if len(self._to_send) > _UNREAD_MAX:
                raise FrameError("the replies are not read")
            if not frame.is_of_server:
                self._send(packed(frame.id, Verb.HEARTBEAT))
        elif frame.verb == Verb.CANCEL:
            self._cancel(frame.numbers[0] if frame.numbers else 0)
        elif frame.verb == Verb.ENDED:
            raise FrameError(f"verb {frame.verb} is the server's")
        else:
            length = sum(map(len, frame.blobs))
            if not self._session.events.take(frame):
                self._requests.append((frame, length))
                self._request_bytes += length
            elif frame.verb != Verb.EVENT:
                self._of_callback.append(length)
                self._callback_bytes += length
            elif self._of_callback or self._session.events.had_stop:
                # Other calls of the client come after the stop, which a request that is not done yet may be.
                returned = self._session.events.returned
                self._stop = self._hub.in_thread(partial(self._session.await_stop, returned))

    def _cancel(self, id_: int) -> None:
        if self._session.current == id_:
            self._session.cancel(id_)
            self._hub.aside(self._session.look_again)
        elif any(frame.id == id_ for frame, _ in self._requests):
            self._session.cancel(id_)

    @property
    def _is_full(self) -> bool:
        count = len(self._requests) + len(self._of_callback)
        return count >= _REQUESTS_MAX or self._request_bytes + self._callback_bytes >= _REQUEST_BYTES_MAX

    def _end_now(self) -> None:
        """Go on without a client that is gone, or has to go. Its worker backs out what it has begun."""
        self._is_over = True
        self._requests.clear()
        self._watch()
        if self._session.client_is_gone():
            self._hub.aside(self._session.look_again)
        self._go_on()

    def _watch(self) -> None:
        """Have those events told that matter now."""
        wanted = 0 if self._is_over else _GONE if self._is_full else _GONE | _IN
        wanted |= _OUT if self._to_send else 0
        if wanted != self._watched and self._socket.fileno() >= 0:
            self._watched = wanted
            # A socket whose other end is closed says so again and again.
            self._hub.watch(self._socket.fileno(), wanted or select.EPOLLONESHOT)

    # -- sending -------------------------------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        self._session.figures.sent += len(data)
        self._session.figures.frames_sent += 1
        if not self._to_send:
            try:
                sent = self._socket.send(data)
            except BlockingIOError:
                sent = 0
            except OSError:
                # The client is gone, and an event tells so.
                return
            if sent == len(data):
                return
            data = data[sent:]
        self._to_send += data
        self._watch()

    def _flush(self) -> None:
        try:
            del self._to_send[: self._socket.send(self._to_send)]
        except BlockingIOError:
            return
        except OSError:
            self._to_send.clear()
        if not self._to_send:
            self._watch()
            if self._is_sending:
                self._worker.switch()

    # -- for callbacks, in any thread ----------------------------------------------------------------------------------

    def open_event(self, frame: bytes) -> None:
        """Send an event, after which the client's requests are those of its function."""
        self._hub.soon(partial(self._open_event, frame))

    def send_reply(self, frame: bytes) -> None:
        """Send a reply to a request of a function."""
        self._hub.soon(partial(self._send_reply, frame))

    def _open_event(self, frame: bytes) -> None:
        if not self._is_over:
            self._send(frame)
        self._session.events.opened(int.from_bytes(frame[4:8], "little"))
        self._wake_for_thread()

    def _send_reply(self, frame: bytes) -> None:
        was_full = self._is_full
        self._callback_bytes -= self._of_callback.popleft()
        if self._is_over:
            return
        self._send(frame)
        if self._session.is_over:
            self._end_now()
        elif was_full:
            self._take_frames()

    def _wake_for_thread(self) -> None:
        if self._awaits_thread:
            self._worker.switch()

    def _await_thread(self, threaded: Threaded[T], *, until_event: bool = False) -> None:
        """Give way until a thread has ended, or also until an event is open."""
        threaded.on_end = self._wake_for_thread
        while not threaded.has_ended and not (until_event and self._session.events.is_open):
            self._awaits_thread = True
            self._hub.give_way()
            self._awaits_thread = False

    def _answer(self, frame: Frame) -> bytes:
        """The reply to a request. A call that may have to wait for the client is made in a thread."""
        if self._stop is not None:
            self._await_thread(self._stop)
            self._stop = None
        session = self._session
        if not session.may_call_back(frame):
            return session.answer(frame)
        threaded = self._hub.in_thread(partial(session.answer, frame))
        self._await_thread(threaded, until_event=session.is_stop(frame))
        if not threaded.has_ended:
            self._stop = threaded
            return packed(frame.id, frame.verb, (0, 0))
        if threaded.error is not None:
            raise threaded.error
        assert threaded.result is not None
        return threaded.result

    # -- the worker ----------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        if self._is_idle or (self._is_sending and self._is_over):
            self._worker.switch()

    def _work(self) -> None:
        try:
            while (frame := self._next_request()) is not None:
                if reply := self._answer(frame):
                    self._send(reply)
                if frame.verb == Verb.CONNX and (admitted := self._session.admitted) is not None:
                    self._reader.limit = admitted.max_message + ROOM_BESIDE_MESSAGE
                    self._silence_s = 2 * admitted.heartbeat_s
                if self._session.is_over:
                    break
                self._wait_until_sent()
        except Exception as error:  # noqa: BLE001 - it ends this client, and no other
            _log.warning("channel_client_failed", error=repr(error))
            self._send(packed(0, Verb.ENDED, (int(MQRC.UNEXPECTED_ERROR),), (b"unexpected error",)))
        finally:
            self._is_over = True
            self._finish()

    def _next_request(self) -> Frame | None:
        while not self._requests and not self._is_over:
            self._is_idle = True
            self._hub.give_way()
            self._is_idle = False
        if self._is_over:
            return None
        was_full = self._is_full
        frame, length = self._requests.popleft()
        self._request_bytes -= length
        if was_full and not self._is_full:
            self._take_frames()
        return frame

    def _wait_until_sent(self) -> None:
        while self._to_send and not self._is_over:
            self._is_sending = True
            self._hub.give_way()
            self._is_sending = False

    def _finish(self) -> None:
        try:
            # A callback that runs returns.
            self._session.client_is_gone()
            if self._session.has_callbacks:
                ending = self._hub.in_thread(self._session.end)
                self._await_thread(ending)
                if ending.error is not None:
                    raise ending.error
            else:
                self._session.end()
        except Exception as error:  # noqa: BLE001 - the same
            _log.warning("channel_client_not_ended", error=repr(error))
        self._session.leave()
        self._hub.forget(self._socket.fileno())
        self._socket.close()
