"""The pipe between a manager and its agent: one JSON object a line, over the agent's standard input and output.

Through the pipe each side also notices the other's end. The agent does not renew its own lease: the manager renews both
in one call and tells the agent when.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
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
