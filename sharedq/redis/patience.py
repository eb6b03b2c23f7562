"""How long calls wait for a slot of the Cluster that is being moved to another node."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds that a call waits for a slot to arrive at its new node. The keys of a structure are never separated: its
#: scripts run on the old node until the first key leaves, and on the new one when the last has come.
MOVE_LIMIT_S = 10.0
#: The same for a look at many structures: one that moves is left out.
LOOK_S = 0.5
#: The longest pause between two attempts, seconds.
PAUSE_MAX_S = 0.1


class _Patience(threading.local):
    limit_s = float("inf")


_patience = _Patience()


def move_limit_s() -> float:
    """Return how long a call of this thread waits for a slot, seconds."""
    return min(MOVE_LIMIT_S, _patience.limit_s)


def pause_s() -> float:
    """Return how long to wait until the next attempt, seconds."""
    return random.uniform(0, PAUSE_MAX_S)


@contextmanager
def little_patience(limit_s: float) -> Iterator[None]:
    """Within, this thread's calls wait no longer than *limit_s* for a slot that moves: other slots have work, too."""
    before, _patience.limit_s = _patience.limit_s, min(limit_s, _patience.limit_s)
    try:
        yield
    finally:
        _patience.limit_s = before
