"""Servers that run with the files of config/, as users deploy them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from igq.processes.child import die_with_parent
from sharedq.redis.embedded_server import find_server, server_environment
from tests.support.topologies import HOST, free_ports, until

CONFIG = Path(__file__).parents[2] / "config"
#: A user's password in the files of config/.
PASSWORD = "change-this-{}"


def server_programs() -> list[str]:
    """The installed servers; if there is none, the one that igq brings."""
    found = [path for name in ("redis-server", "valkey-server") if (path := shutil.which(name))]
    return found or [str(find_server())]


class Deployed:
    """Servers of one test: each has a copy of the files, with the group, places and ports that the test needs.

    Args:
        program: redis-server or valkey-server.
        group: name of the group whose keys the users may touch.
    """

    def __init__(self, program: str, group: str) -> None:
        self._program, self._group = program, group
        self._dir = tempfile.TemporaryDirectory(prefix="igq")
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, file: str, *options: str, first_port: int = 0, is_sentinel: bool = False) -> int:
        """Start a server with *file* of config/ and more options; returns its port.

        Args:
            first_port: of the primary, which *file* names.
        """
        (port,) = free_ports(1)
        directory = Path(self._dir.name) / str(port)
        directory.mkdir()
        for path in filter(Path.is_file, CONFIG.iterdir()):
            text = re.sub("/etc/redis|/var/lib/redis", str(directory), path.read_text("utf-8"))
            text = text.replace("QSG1:", f"{self._group}:").replace("192.0.2.1 6379", f"{HOST} {first_port}")
            (directory / path.name).write_text(text, "utf-8")
        command = [self._program, str(directory / file), *(["--sentinel"] if is_sentinel else [])]
        output = directory / "output"
        with output.open("wb") as file_of_output:
            process = subprocess.Popen(
                [*command, "--port", str(port), *options],
                env=server_environment(),
                stdout=file_of_output,
                stderr=file_of_output,
                preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - it does one system call
            )
        self._processes.append(process)
        user = "" if is_sentinel else "admin"

        def answers() -> bool:
            assert process.poll() is None, output.read_text("utf-8")
            with self.client(port, user) as client:
                return bool(client.ping())

        until(answers, "the server answers")
        return port

    def client(self, port: int, user: str = "") -> redis.Redis:
        """A plain client of a server."""
        return redis.Redis(
            HOST,
            port,
            username=user or None,
            password=PASSWORD.format(user) if user else None,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            decode_responses=True,
        )

    def close(self) -> None:
        """Stop all and remove their data."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._dir.cleanup()


def url_of(user: str, *ports: int, scheme: str = "redis", path: str = "") -> str:
    """The URL with which *user* reaches the servers."""
    return f"{scheme}://{user}:{PASSWORD.format(user)}@{','.join(f'{HOST}:{port}' for port in ports)}{path}"


def rights_of(user: str) -> set[str]:
    """The commands that users.acl gives a user."""
    text = (CONFIG / "users.acl").read_text("utf-8")
    found = re.search(rf"^user {user} (.*)$", text, re.MULTILINE)
    assert found
    return {word[1:] for word in found[1].split() if word.startswith("+")}


def command_in(file: str, words: Sequence[str]) -> list[str]:
    """The command in a comment of *file* that begins with *words*."""
    found = re.search(rf"^# +({' '.join(words)} .*)$", (CONFIG / file).read_text("utf-8"), re.MULTILINE)
    assert found
    return found[1].split()
