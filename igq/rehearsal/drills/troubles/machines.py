"""The machines of a drill with network partitions: one for each manager with its programs, and one for Redis."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from igq.errors import CommandError
from igq.processes.child import die_with_parent
from igq.rehearsal.drills.troubles.network import Network
from igq.rehearsal.load.rows.departures import QMGRS
from sharedq.redis.embedded_guard import ping
from sharedq.redis.embedded_server import EmbeddedRedisError, find_server, server_environment

_REDIS = "redis"
_PORT = 6379
_START_TIMEOUT_S = 60.0


class RedisNetwork:
    """A network with a running Redis. Use it as a context manager, which ends what runs there.

    Attributes:
        url: of Redis, for processes on any of the machines.
        runner_url: of Redis, for processes on none of the machines. No cut affects it.

    Raises:
        CommandError: network namespaces cannot be made here, or Redis does not start.
    """

    def __init__(self, directory: Path) -> None:
        self._network = Network([_REDIS, *QMGRS])
        self.url = f"redis://{self._network.address(_REDIS)}:{_PORT}"
        # The path must be short: the name of a unix socket has room for about a hundred bytes.
        self._sockets = tempfile.mkdtemp(prefix="igq")
        self._socket = f"{self._sockets}/s"
        self.runner_url = f"unix://{self._socket}"
        try:
            self._server = self._start_redis(directory)
        except BaseException:
            self._remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.kill()
        self._server.wait()
        self._remove()

    def enter(self, qmgr: str) -> list[str]:
        """Return the words that, put before a command, run it on the machine of a manager."""
        return self._network.enter(qmgr)

    def cut(self, qmgr: str) -> None:
        """Stop everything to and from the machine of a manager."""
        self._network.cut(qmgr)

    def heal(self, qmgr: str) -> None:
        """Put the machine back on the network."""
        self._network.heal(qmgr)

    def reset(self, one: str, other: str) -> int:
        """End the connections between the machines of two managers. Return how many there were."""
        return self._network.reset(one, other)

    def _start_redis(self, directory: Path) -> subprocess.Popen[bytes]:
        try:
            program = find_server()
        except EmbeddedRedisError as error:
            raise CommandError(str(error)) from None
        log = directory / "redis.log"
        server = subprocess.Popen(
            [
                *(*self._network.enter(_REDIS), program, "--port", str(_PORT)),
                *("--bind", self._network.address(_REDIS), "--protected-mode", "no", "--unixsocket", self._socket),
                *("--dir", str(directory), "--save", "", "--appendonly", "yes", "--appendfsync", "always"),
                *("--logfile", str(log)),
            ],
            env=server_environment(),
            # If the runner is killed, Redis must end too.
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - it does one system call
            start_new_session=True,
        )
        end_s = time.monotonic() + _START_TIMEOUT_S
        while not ping(self._socket).startswith("+"):
            if server.poll() is not None or time.monotonic() > end_s:
                server.kill()
                server.wait()
                raise CommandError(f"Redis does not start on a machine of its own; see {log}")
            time.sleep(0.02)
        return server

    def _remove(self) -> None:
        self._network.close()
        shutil.rmtree(self._sockets, ignore_errors=True)
