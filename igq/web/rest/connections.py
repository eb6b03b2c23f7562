"""Connections to managers that requests share, one after the other. All calls block."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import suppress

import sharedq
from sharedq.api import QueueManagerConnection
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import DeploymentError
from sharedq.settings.values import Settings

#: Idle connections that are kept for a manager, and for how many seconds. A manager that quiesces waits for programs to
#: disconnect, so that is not long.
_KEPT, _KEPT_S = 8, 2.0
#: Name of the program in descriptors and notes.
APPL_NAME = "igq REST"


class ConnectionPool:
    """A pool. One request at a time uses a connection; a failure of the request ends the connection."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._idle: dict[str, list[tuple[float, QueueManagerConnection]]] = defaultdict(list)

    def take(self, qmgr: str) -> QueueManagerConnection:
        """Return a connection to the manager *qmgr*. Raises MQIError, DeploymentError: there is none."""
        while True:
            with self._lock:
                idle = self._idle[qmgr]
                connection = idle.pop()[1] if idle else None
            if connection is None:
                return sharedq.connect(qmgr, appl_name=APPL_NAME, settings=self._settings)
            if not connection.connection.is_ended and not connection.connection.has_lost_server():
                return connection
            self.drop(connection)

    def give_back(self, qmgr: str, connection: QueueManagerConnection) -> None:
        """Keep a connection, without handles and units of work, for the next request."""
        with self._lock:
            idle = self._idle[qmgr]
            if len(idle) < _KEPT:
                idle.append((time.monotonic() + _KEPT_S, connection))
                return
        self.drop(connection)

    def drop(self, connection: QueueManagerConnection) -> None:
        """End a connection; its unit of work is backed out."""
        with suppress(MQIError, DeploymentError):
            if not connection.connection.is_ended:
                connection.backout()
                connection.disconnect()

    def close_idle(self, *, is_over: bool = False) -> bool:
        """End the connections that were idle for long, or all. Returns whether some are left."""
        now_s, old = time.monotonic(), []
        with self._lock:
            for qmgr, idle in list(self._idle.items()):
                old += [each for until_s, each in idle if is_over or until_s <= now_s]
                self._idle[qmgr] = [pair for pair in idle if pair[1] not in old]
                if not self._idle[qmgr]:
                    del self._idle[qmgr]
            is_left = bool(self._idle)
        for each in old:
            self.drop(each)
        return is_left
