"""The agent's progress as its manager sees it: how far each working thread is, and how long it may rest.

The thread that hears of renewals sends it, so a beat costs a working thread only a count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Pulse:
    """The pulse of one working thread, the only one to write it.

    Attributes:
        state: how many times it has beaten, and for how many seconds the thread may now be silent.
    """

    def __init__(self) -> None:
        self.state: tuple[int, float] = (0, 0.0)

    def beat(self) -> None:
        """Count some progress. A round that does nothing is no progress, however often it runs."""
        self.state = (self.state[0] + 1, 0.0)

    @contextmanager
    def resting(self, seconds: float) -> Iterator[None]:
        """Announce a wait without progress of at most *seconds*."""
        self.state = (self.state[0] + 1, seconds)
        try:
            yield
        finally:
            self.beat()


class Pulses:
    """The pulses of all working threads of an agent's process, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Pulse] = {}

    def begin(self, name: str) -> Pulse:
        """Add the thread *name*, which is at work from now on."""
        pulse = self._by_name[name] = Pulse()
        return pulse

    def end(self, name: str) -> None:
        """Remove a thread that has ended."""
        self._by_name.pop(name, None)

    def read(self) -> dict[str, tuple[int, float]]:
        """Return every thread's state for the manager."""
        return {name: pulse.state for name, pulse in self._by_name.copy().items()}
