"""A proxy before Redis that loses what a test tells it to lose."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path

from sharedq.scripts import load_script

_CHUNK = 1 << 16


class Proxy:
    """Listens on a unix socket and passes everything to and fro, but for one call that it was told to lose.

    Attributes:
        url: for those whose calls are to be lost.
        calls: how many writes named the script that was asked for last.
    """

    def __init__(self, target: Path, where: Path) -> None:
        self._target = str(target)
        self._path = where / "p"
        self.url = f"unix://{self._path}"
        self.calls = 0
        self._call, self._is_reply, self._is_armed = b"", False, False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._sockets = [self._listener]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose_reply(self, script: str) -> None:
        """The next call of *script* is done, and whoever made it loses its connection instead of hearing so."""
        self._arm(script, is_reply=True)

    def lose_request(self, script: str) -> None:
        """The next call of *script* does not arrive."""
        self._arm(script, is_reply=False)

    def _arm(self, script: str, *, is_reply: bool) -> None:
        # As a call has it: whether the server knows a script is asked by its name, too.
        self._call = b"EVALSHA\r\n$40\r\n" + load_script(script).sha.encode()
        self._is_reply, self.calls = is_reply, 0
        self._is_armed = True

    def close(self) -> None:
        """Lose every connection and listen no more."""
        for end in self._sockets:
            # Most connections have ended by themselves.
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            self._sockets += [client, server]
            thread = threading.Thread(target=self._pass, args=(client, server), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        is_losing = False
        with client, server:
            while True:
                readable, _, _ = select.select([client, server], [], [])
                if client in readable:
                    data = client.recv(_CHUNK)
                    if self._call and self._call in data:
                        self.calls += 1
                        if self._is_armed:
                            self._is_armed, is_losing = False, True
                            if not self._is_reply:
                                return
                    if not data:
                        return
                    server.sendall(data)
                if server in readable:
                    data = server.recv(_CHUNK)
                    if is_losing or not data:
                        return
                    client.sendall(data)
