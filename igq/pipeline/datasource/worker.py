"""Sets up a source's worker process: its garbage collector, and its orderly end."""

from __future__ import annotations

import atexit
import gc
import signal
import threading
from collections.abc import Callable
from functools import cache
from typing import NoReturn


@cache
def settle() -> None:
    """Exclude the modules that this process has imported from garbage collection.

    Spark's workers collect garbage after every task. To search all imported modules takes longer than to make ten
    thousand rows.
    """
    gc.freeze()


@cache
def end_in_good_order(stop: Callable[[], None]) -> None:
    """Let SIGTERM end this process as an error would, and call *stop* before the process ends in any way.

    Spark ends the process of a query's source with two signals, and closes the connection at the same time. So *stop*
    may run twice, and the first run may be interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _end):
        signal.signal(signal.SIGTERM, _end)
        atexit.register(stop)


def end_undisturbed() -> None:
    """Ignore SIGTERM from now on: the process is ending."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end(*_: object) -> NoReturn:
    end_undisturbed()
    raise SystemExit
