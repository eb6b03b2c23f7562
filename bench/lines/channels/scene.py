"""Channel servers of a group, and programs in C that call them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.manager import environment_of
from bench.site import QMGR, Site
from igq.mqm import library
from igq.rehearsal.load.programs.channel import ClientConnection
from sharedq.messages.context import user_identifier
from sharedq.objects.definitions.server_channels import Channel

#: The channel of clients that come by TCP.
CHANNEL = "BENCH.SVRCONN"
_PROGRAM = Path(__file__).parents[2] / "programs" / "channel_calls.c"
_BACKLOG = 4096


class Doors:
    """A channel server at a unix socket, and one at a TCP port of this machine, as a manager starts them.

    Attributes:
        path: the unix socket.
        pids: process ids of the servers, by ``unix`` and ``TCP``.
    """

    def __init__(self, site: Site, folder: Path) -> None:
        self._site, self._folder = site, folder
        self.path = folder / "s"
        self._unix, self._tcp = socket.socket(socket.AF_UNIX), socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._unix.bind(str(self.path))
        self._unix.listen(_BACKLOG)
        user = user_identifier().decode()
        site.group.repository(QMGR).channels.define(Channel(name=CHANNEL, user=user))
        self._servers = {"unix": self._serve(self._unix, ""), "TCP": self._serve(self._tcp, "BENCH")}
        self.pids = {how: server.pid for how, server in self._servers.items()}

    def client(self) -> ClientConnection:
        """A connection through the unix socket, in Python."""
        return ClientConnection(self.path, QMGR, "bench", 0, b"")

    def program(self, how: str, queue: str) -> Program:
        """A program in C that has the queue open through one of the servers."""
        places = {"unix": {"IGQ_SOCKET": str(self.path)}, "TCP": {"MQSERVER": f"{CHANNEL}/TCP/{self._place}"}}
        return Program(self._folder, queue, places[how])

    @property
    def _place(self) -> str:
        host, port = self._tcp.getsockname()
        return f"{host}({port})"

    def _serve(self, listening: socket.socket, listener: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "igq.channels", QMGR, str(os.getpid()), listener, "0"]
        return subprocess.Popen(words, stdin=listening.fileno(), env=os.environ | environment_of(self._site.group))

    def close(self) -> None:
        """End the servers."""
        for server in self._servers.values():
            server.terminate()
            server.wait()
        self._unix.close()
        self._tcp.close()


class Program:
    """A program in C. Use it as a context manager."""

    def __init__(self, folder: Path, queue: str, place: dict[str, str]) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("IGQ_", "MQ"))}
        self._process = subprocess.Popen(
            [str(folder / "calls"), QMGR, queue],
            env=plain | place | {"LD_LIBRARY_PATH": str(folder / "lib64")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.answer() != "ready":
            raise RuntimeError("a program in C could not connect")

    def do(self, what: str, count: int) -> None:
        """Do it so many times."""
        self.begin(what, count)
        self.answer()

    def begin(self, what: str, count: int) -> None:
        """Say what to do; `answer` waits until it is done."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what} {count}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        """The next line of the program: the monotonic time of its end, ns. Raises RuntimeError: it has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"a program in C has ended with status {self._process.wait()}")
        return line

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def doors(site: Site) -> Iterator[Doors]:
    """The servers, and a compiled program beside them."""
    with tempfile.TemporaryDirectory(prefix="igq") as name:
        folder = Path(name)
        library.build(folder)
        command = ["gcc", "-O2", f"-I{folder / 'inc'}", str(_PROGRAM), f"-L{folder / 'lib64'}", "-lmqm_r"]
        subprocess.run([*command, "-o", str(folder / "calls")], check=True)
        found = Doors(site, folder)
        try:
            yield found
        finally:
            found.close()
