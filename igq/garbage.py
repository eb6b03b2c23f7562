"""Python's garbage collector, in the processes of igq."""

from __future__ import annotations

import gc

#: New objects after which the collector looks at them. A start makes 65,000 that stay: with Python's own 700 it looks
#: at them 150 times, which is a tenth of an `igq put`.
_COLLECT_AFTER = 50_000


def collect_rarely() -> None:
    """Let a start look for garbage once, not 150 times. The first thing that a process does."""
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
