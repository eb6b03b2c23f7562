"""Ctrl-C and SIGTERM of a runner: both end it through its ``finally`` blocks, which end its children."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_on_termination() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt within the block, as Ctrl-C does. In the main thread only."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Only note Ctrl-C and SIGTERM within the block. One that came takes effect after the block.

    Use this to start a child: an exception halfway would leave a process that nobody knows. It works in the main thread
    only, because no exception comes elsewhere.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda came, _frame: held.append(came))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if held:
        signal.raise_signal(held[0])


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
