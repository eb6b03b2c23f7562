"""What the workers of a source do once: with what they have imported, and for their end."""

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
    """Take what this process has imported out of the garbage collector's sight.

    Spark's workers collect garbage behind every task. Modules are none, and looking through all of theirs takes longer
    than making ten thousand rows.
    """
    gc.freeze()


@cache
def end_in_good_order(stop: Callable[[], None]) -> None:
    """Have SIGTERM end this process as an error would, and *stop* be called before it ends, however that comes.

    A signal is how Spark ends the process in which the source of a query lives. It says it twice, and closes the
    connection at the same time: so *stop* may be called twice, the first time to be cut short, or not at all by Spark.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _end):
        signal.signal(signal.SIGTERM, _end)
        atexit.register(stop)


def end_undisturbed() -> None:
    """This process is ending: no signal cuts that short any more."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end(*_: object) -> NoReturn:
    end_undisturbed()
    raise SystemExit
