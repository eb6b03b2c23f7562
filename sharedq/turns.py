"""Turns: one call at a time on a connection, and none that is cut short goes unnoticed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType


class Turns:
    """Calls of several threads take turns; a thread may call again inside its turn.

    A call that ends with KeyboardInterrupt or its like may have been cut short anywhere between what Redis did
    and what the connection noted of it, so *on_cut* is told: nobody can go on from there.
    """

    __slots__ = ("_lock", "_on_cut")

    def __init__(self, on_cut: Callable[[], None]) -> None:
        self._lock = threading.RLock()
        self._on_cut = on_cut

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is not None and not issubclass(kind, Exception):
                self._on_cut()
        finally:
            self._lock.release()
