"""A Redis server for tests: the Valkey binary that the product itself starts, in its own directory."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from sharedq.redis.embedded_server import find_server, server_environment


class Server:
    """One server on a unix socket. It can be killed and started again on the same data."""

    def __init__(self, *options: str, fsync: str = "no") -> None:
        # A short path: a unix socket's name has room for about a hundred bytes.
        self._dir = tempfile.TemporaryDirectory(prefix="igq")
        self.path = Path(self._dir.name)
        self.socket = self.path / "s"
        self.url = f"unix://{self.socket}"
        self._options = ("--appendonly", "yes", "--appendfsync", fsync, "--save", "", *options)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it on its present data. Returns when it answers."""
        self._process = subprocess.Popen(
            [
                str(find_server()),
                "--port",
                "0",
                "--unixsocket",
                str(self.socket),
                "--dir",
                str(self.path),
                *self._options,
            ],
            env=server_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while True:
            try:
                self.client().ping()
                return
            except redis.AuthenticationError:
                # It answers because it was told to.
                return
            except redis.RedisError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def signal(self, number: int) -> None:
        """Send it a signal (SIGSTOP, SIGCONT)."""
        assert self._process is not None
        os.kill(self._process.pid, number)

    def client(self) -> redis.Redis:
        """A plain client that retries nothing."""
        return redis.Redis(unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0), protocol=2)

    def close(self) -> None:
        """Stop it and remove its data."""
        self.kill()
        self._dir.cleanup()
