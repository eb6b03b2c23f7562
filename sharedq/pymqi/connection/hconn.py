"""A connection as pymqi's classes hold it, and its end when the program does not end it.

The garbage collector may drop a ``Queue`` or a ``QueueManager`` at any instruction of any thread: in the middle of a
call on the same connection, or where a lock is held that ending needs. So nothing is called from there. A dropped
queue is closed by the next call on its connection; a dropped connection is ended by a thread kept for that.
"""

from __future__ import annotations

import atexit
import itertools
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Concatenate, ParamSpec, TypeVar

from sharedq import verbs
from sharedq.members.forks import after_fork
from sharedq.mqi.errors import MQIError
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle, ObjectHandle
from sharedq.session.topics import SubscriptionHandle, TopicHandle

P = ParamSpec("P")
T = TypeVar("T")
Opened = Handle | ObjectHandle | TopicHandle

_numbers = itertools.count(1)


class Hconn:
    """A connection handle. ``number`` is what programs see of it."""

    def __init__(self, connection: Connection) -> None:
        self.number = next(_numbers)
        self.connection = connection
        self._dropped: deque[Opened | SubscriptionHandle] = deque()
        # The connection has a lock of its own; this one can also be tried.
        self._turn = threading.RLock()
        _live[self.number] = self

    def call(self, verb: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make one call; calls of several threads take turns."""
        with self._turn:
            while self._dropped:
                verbs.mqclose(self.connection, self._dropped.popleft())
            return verb(self.connection, *args, **kwargs)

    def handle(self, number: int) -> Opened | None:
        """The open object with this number."""
        return self.connection.handles.get(number) or self.connection.objects.get(number)

    def is_usable(self) -> bool:
        """Whether the connection still stands."""
        # Not a call of the connection's own: another thread may be waiting in one.
        try:
            self.connection.check()
        except MQIError:
            return False
        return True

    def drop_handle(self, number: int) -> None:
        """Close a queue or a topic with the next call. Safe in a destructor."""
        handle = self.handle(number)
        if handle is not None:
            self._dropped.append(handle)

    def drop_subscription(self, number: int) -> None:
        """Close a subscription with the next call. Safe in a destructor."""
        handle = self.connection.subscriptions.get(number)
        if handle is not None:
            self._dropped.append(handle)

    def drop(self) -> None:
        """Disconnect, soon. Safe in a destructor."""
        _to_end.put(self)

    def disconnect(self) -> None:
        """MQDISC. Whether it worked is told by none of pymqi's releases: the handle is gone in any case."""
        _live.pop(self.number, None)
        verbs.mqdisc(self.connection)

    def keep_at_exit(self) -> None:
        """Leave this connection alone when the program ends: what is uncommitted then is backed out."""
        _live.pop(self.number, None)

    def disconnect_unless_busy(self) -> None:
        """MQDISC, unless a call is being made.

        When the program ends, a daemon thread may be waiting in a get, perhaps for ever. The group backs out what
        it leaves.
        """
        if self._turn.acquire(blocking=False):
            try:
                self.disconnect()
            finally:
                self._turn.release()


_live: dict[int, Hconn] = {}
#: Reentrant, unlike ``queue.Queue``: a destructor may put while this very thread puts.
_to_end: SimpleQueue[Hconn | threading.Event] = SimpleQueue()
_thread: threading.Thread | None = None
_thread_lock = threading.Lock()


def settle() -> None:
    """Wait until every dropped connection has ended: a later connection must see its commit."""
    global _thread
    with _thread_lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_end_dropped, name="pymqi disconnect", daemon=True)
            _thread.start()
    is_done = threading.Event()
    _to_end.put(is_done)
    is_done.wait()


def _end_dropped() -> None:
    while True:
        item = _to_end.get()
        if isinstance(item, Hconn):
            item.disconnect()
        else:
            item.set()


def _start_anew_in_child() -> None:
    """The connections are the parent's; its thread, and the holder of the lock, are not in the child."""
    global _thread, _thread_lock, _to_end
    _live.clear()
    _thread, _thread_lock, _to_end = None, threading.Lock(), SimpleQueue()


after_fork(_start_anew_in_child)


@atexit.register
def _disconnect_at_exit() -> None:
    for hconn in list(_live.values()):
        hconn.disconnect_unless_busy()
