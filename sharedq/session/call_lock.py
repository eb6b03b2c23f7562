"""Turns: one call at a time on a connection. Every call that breaks the connection is noticed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.xa import XAError
from sharedq.redis.deployment import DeploymentError
from sharedq.redis.link import steps

#: Calls raise these errors besides `MQIError`, and know then which work is done.
_REFUSALS = (XAError, DeploymentError)


class Turns:
    """Calls of several threads take turns; a thread may call again inside its turn.

    No call raises KeyboardInterrupt, or the exception of a signal handler. A call that ends with such an exception
    may have been interrupted after Redis had done the work, and before the connection had noted this work. The
    connection cannot continue, so *on_cut* is called. But if the call had begun nothing, an `Exception` has changed
    nothing: most often an argument was wrong.

    The connection also ends after a call that ends with 2009, after the loss of any link to Redis: its program gives
    the connection up.
    """

    __slots__ = ("_lock", "_on_cut", "_taken")

    def __init__(self, on_cut: Callable[[], None]) -> None:
        self._lock = threading.RLock()
        self._on_cut = on_cut
        #: For each call under way, the outermost first: the steps that its thread had taken when it began.
        self._taken: list[int] = []

    def if_free(self, act: Callable[[], None]) -> None:
        """Do *act* in its own turn, unless a call is under way."""
        if self._lock.acquire(blocking=False):
            try:
                act()
            finally:
                self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._taken.append(steps.taken)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            taken = self._taken.pop()
            if error is not None and _breaks(error, has_begun=steps.taken != taken):
                self._on_cut()
        finally:
            self._lock.release()


class Disconnected(Turns):
    """The turns of a connection handle after its MQDISC: no call has one any more (2018)."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def if_free(self, act: Callable[[], None]) -> None:
        """Do nothing."""

    def __enter__(self) -> None:
        raise error_for(MQRC.HCONN_ERROR, "", self._name, "it is disconnected")


def _breaks(error: BaseException, *, has_begun: bool) -> bool:
    if isinstance(error, MQIError):
        return error.reason == MQRC.CONNECTION_BROKEN
    if isinstance(error, Exception) and not has_begun:
        return False
    return not isinstance(error, _REFUSALS)
