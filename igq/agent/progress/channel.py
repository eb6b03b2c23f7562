"""How a manager and its agent talk: one JSON object a line, over the agent's standard input and output.

The pipe is also how each notices that the other has ended. The agent needs no lease of its own: the manager
renews both in one call and passes the moment on.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import IO, Any

#: Exit status of an agent that lost its connection: it is started again, and nothing is wrong with it.
EXIT_CONNECTION_LOST = 75


class Channel:
    """One end. Writing is safe from several threads; a peer that is gone is told by the end of `read`."""

    def __init__(self, source: IO[str], sink: IO[str]) -> None:
        self._source, self._sink = source, sink
        self._lock = threading.Lock()

    @classmethod
    def to_parent(cls) -> Channel:
        """The agent's end. Standard output is the channel's now; what is printed goes to standard error."""
        channel = cls(sys.stdin, sys.stdout)
        sys.stdout = sys.stderr
        return channel

    def send(self, kind: str, **fields: Any) -> None:
        """Write one line."""
        line = json.dumps({"kind": kind, **fields}) + "\n"
        with self._lock:
            try:
                self._sink.write(line)
                self._sink.flush()
            except (OSError, ValueError):
                # Closed. The reader knows as well.
                return

    def read(self) -> Iterator[dict[str, Any]]:
        """Lines of the other end, until it has ended."""
        try:
            for line in self._source:
                yield json.loads(line)
        except (OSError, ValueError):
            return
