"""What a manager is told of its agent's progress: how far each working thread has come, and how long it may rest.

Telling is the business of the thread that hears of renewals, so a beat costs a working thread nothing but a count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Pulse:
    """Of one working thread, which alone writes it.

    Attributes:
        state: how often it has beaten, and for how many seconds it may now be silent by its own account.
    """

    def __init__(self) -> None:
        self.state: tuple[int, float] = (0, 0.0)

    def beat(self) -> None:
        """Something got done. A round that does nothing is no progress, however often it is made."""
        self.state = (self.state[0] + 1, 0.0)

    @contextmanager
    def resting(self, seconds: float) -> Iterator[None]:
        """Wait, in which nothing gets done, for at most so many *seconds*."""
        self.state = (self.state[0] + 1, seconds)
        try:
            yield
        finally:
            self.beat()


class Pulses:
    """Of all working threads of an agent's process, by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Pulse] = {}

    def begin(self, name: str) -> Pulse:
        """The thread *name* is at work from now on."""
        pulse = self._by_name[name] = Pulse()
        return pulse

    def end(self, name: str) -> None:
        """That thread has ended."""
        self._by_name.pop(name, None)

    def read(self) -> dict[str, tuple[int, float]]:
        """Every thread's state, to be told to the manager."""
        return {name: pulse.state for name, pulse in self._by_name.copy().items()}
