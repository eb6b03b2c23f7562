"""The pipe between a load program and its runner: commands on its standard input, events on its output.

Commands are words: ``hold`` (stop before the next commit, with work in hand), ``prepare`` (prepare that work as for an
external coordinator, and stop after it), ``go``, ``finish``, and ``pace`` with the seconds that a putter waits before
its next unit of work (twice as long before the one after it, and so on). Events are JSON lines. When the input ends,
the runner is gone and the program ends, too.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from igq.rehearsal.load.programs.attachment import AnyConnection
from sharedq.api import QueueManagerConnection
from sharedq.mqi.errors import MQIError

#: Seconds between two reports of progress.
_PROGRESS_S = 0.2
#: Longest pause before a unit of work, seconds.
_PAUSE_MAX_S = 8.0


class Control:
    """The program's end of the pipe."""

    def __init__(self) -> None:
        self._is_held = threading.Event()
        self._may_go = threading.Event()
        self._may_go.set()
        self._prepares = threading.Event()
        self._finish = threading.Event()
        self._pace_s = self._pause_s = 0.0
        self._pace_is_new = threading.Event()
        self._lock = threading.Lock()
        self._reported_s = 0.0
        threading.Thread(target=self._listen, name="control", daemon=True).start()

    @property
    def is_finishing(self) -> bool:
        """Whether to end as soon as there is nothing left to do."""
        return self._finish.is_set()

    def keep_pace(self) -> None:
        """Wait before a unit of work for as long as the runner wants, or until it sends another command."""
        if self._pace_is_new.is_set():
            # Clear first: a pace that comes after this is seen the next time.
            self._pace_is_new.clear()
            self._pause_s = self._pace_s
        if self._pause_s and not self._pace_is_new.wait(self._pause_s):
            self._pause_s = min(2 * self._pause_s, _PAUSE_MAX_S)

    def checkpoint(self, puts: int, gets: int) -> None:
        """Call this before a commit. If told to hold, report the work in hand and wait to be released, or killed."""
        if self._is_held.is_set():
            self.tell("holding", puts=puts, gets=gets)
            self._may_go.wait()

    def commit(self, connection: AnyConnection) -> None:
        """Commit. If told to prepare, prepare, report that, wait to be released or killed, and commit what is in doubt.

        Raises:
            MQIError: as the call does.
        """
        if not (self._prepares.is_set() and isinstance(connection, QueueManagerConnection)):
            connection.commit()
            return
        self._prepares.clear()
        self._may_go.clear()
        unit = connection.connection.unit.id
        connection.prepare(unit.encode())
        self.tell("prepared", unit=unit)
        self._may_go.wait()
        connection.commit_prepared(unit.encode())

    def progress(self, is_last: bool = False, **counts: int) -> None:
        """Report *counts*, at most a few times a second."""
        now_s = time.monotonic()
        if is_last or now_s - self._reported_s >= _PROGRESS_S:
            self._reported_s = now_s
            self.tell("progress", **counts)

    def tell(self, event: str, **details: Any) -> None:
        """Send an event."""
        with self._lock:
            sys.stdout.write(json.dumps({"event": event, **details}) + "\n")
            sys.stdout.flush()

    def tell_interruption(self, error: MQIError) -> None:
        """Report that the connection is lost or useless, and that the program connects again."""
        print(f"connecting again: {error}", file=sys.stderr, flush=True)
        self.tell("interrupted", reason=str(error), code=int(error.reason))

    def _listen(self) -> None:
        for line in sys.stdin:
            self._hear(line.strip())
        # The group backs out uncommitted work, as for any program that ends.
        os._exit(3)

    def _hear(self, line: str) -> None:
        command, _, seconds = line.partition(" ")
        if command == "hold":
            self._may_go.clear()
            self._is_held.set()
        elif command == "prepare":
            self._prepares.set()
            self._is_held.clear()
            self._may_go.set()
        elif command == "go":
            self._is_held.clear()
            self._may_go.set()
        elif command == "finish":
            self._finish.set()
        elif command == "pace":
            self._pace_s = float(seconds)
            self._pace_is_new.set()
