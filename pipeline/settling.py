"""What the workers of a source do once: with what they have imported, and for their end."""

from __future__ import annotations

import gc
import signal
import threading
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
def end_in_good_order() -> None:
    """Have SIGTERM end this process as an error would, so that what it runs is stopped before.

    It is how Spark ends the process in which the source of a query lives; it says it twice.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit
