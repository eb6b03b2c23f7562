"""The first acts of a process of igq: garbage is collected rarely, and no Ctrl-C is lost."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

#: New objects after which the collector looks at them. A start makes 65,000 that stay: with Python's own 700 it looks
#: at them 150 times, which is a tenth of an `igq put`.
_COLLECT_AFTER = 50_000
#: Seconds until an interrupt that was lost comes again.
_AGAIN_S = 0.01


def collect_rarely() -> None:
    """Let a start look for garbage once, not 150 times."""
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Let a Ctrl-C within the block end it, whatever Python does in that moment. In the main thread only.

    Python ignores what the handler of a signal raises in a finalizer, in the callback of a weak reference and in a hook
    of a fork: it prints the traceback, and goes on. Then the interrupt comes again a moment later.
    """
    before, comes_again = sys.unraisablehook, False

    def told(ignored: UnraisableHookArgs) -> None:
        nonlocal comes_again
        if ignored.exc_type is KeyboardInterrupt:
            comes_again = True
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        else:
            before(ignored)

    sys.unraisablehook = told
    try:
        yield
    finally:
        sys.unraisablehook = before
        if comes_again:
            signal.setitimer(signal.ITIMER_REAL, 0)
