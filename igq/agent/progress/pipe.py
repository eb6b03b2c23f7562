"""The pipe between a manager and its agent: one JSON object a line, over the agent's standard input and output.

Through the pipe each side also notices the other's end. The agent does not renew its own lease: the manager renews both
in one call and tells the agent when.

A pulse is the agent's progress as its manager sees it: how far each working thread is, and how long it may rest.
The thread that hears of renewals sends it, so a beat costs a working thread only a count.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

#: Exit status of an agent that lost its connection. It did nothing wrong and is started again.
EXIT_CONNECTION_LOST = 75


class Pipe:
    """One end of the pipe. Several threads may write. `read` ends when the other side is gone."""

    def __init__(self, source: IO[str], sink: IO[str]) -> None:
        self._source, self._sink = source, sink
        self._lock = threading.Lock()

    @classmethod
    def to_parent(cls) -> Pipe:
        """Make the agent's end. From now on it owns standard output; a print goes to standard error."""
        pipe = cls(sys.stdin, sys.stdout)
        sys.stdout = sys.stderr
        return pipe

    def send(self, kind: str, **fields: Any) -> None:
        line = json.dumps({"kind": kind, **fields}) + "\n"
        with self._lock:
            try:
                self._sink.write(line)
                self._sink.flush()
            except (OSError, ValueError):
                # Closed. The reader notices that too.
                return

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the other side's lines until it has ended."""
        try:
            for line in self._source:
                yield json.loads(line)
        except (OSError, ValueError):
            return


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
