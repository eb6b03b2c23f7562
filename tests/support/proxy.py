"""A proxy before Redis that loses, or holds back, the calls that a test names."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path

from sharedq.redis.script_source import load_script

_CHUNK = 1 << 16


class Proxy:
    """Listens on a unix socket and passes everything to and fro, but for one call that it was told to lose or to hold.

    Attributes:
        url: for those whose calls are to be lost.
        calls: how many writes named the script that was asked for last.
    """

    def __init__(self, target: Path, where: Path) -> None:
        self._target = str(target)
        self._path = where / "p"
        self.url = f"unix://{self._path}"
        self.calls = 0
        self._call, self._is_reply, self._is_armed, self._is_held = b"", False, False, False
        self._released = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._sockets = [self._listener]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def lose_reply(self, script: str) -> None:
        """The next call of *script* is done, and its caller loses its connection instead of hearing so."""
        self._arm(script, is_reply=True)

    def lose_request(self, script: str) -> None:
        """The next call of *script* does not arrive."""
        self._arm(script, is_reply=False)

    def hold(self, script: str, *, is_reply: bool) -> None:
        """The next call of *script*, or only its reply, goes no further until `release`; its connection stays."""
        self._released.clear()
        self._arm(script, is_reply=is_reply, is_held=True)

    def release(self) -> None:
        """A held call arrives late, although its caller may be gone."""
        self._released.set()

    def _arm(self, script: str, *, is_reply: bool, is_held: bool = False) -> None:
        # In the form of a call. The question whether the server knows a script has its name, too.
        self._call = b"EVALSHA\r\n$40\r\n" + load_script(script).sha.encode()
        self._is_reply, self._is_held, self.calls = is_reply, is_held, 0
        self._is_armed = True

    def close(self) -> None:
        """Lose every connection and stop listening."""
        self._released.set()
        for end in self._sockets:
            # Most connections have ended already.
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
        # The end of a killed process resets its connection.
        with client, server, suppress(ConnectionError):
            while True:
                readable, _, _ = select.select([client, server], [], [])
                if client in readable:
                    data = client.recv(_CHUNK)
                    if self._call and self._call in data:
                        self.calls += 1
                        if self._is_armed:
                            self._is_armed = False
                            if self._is_held:
                                self._pass_late(data, client, server)
                                continue
                            is_losing = True
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

    def _pass_late(self, request: bytes, client: socket.socket, server: socket.socket) -> None:
        if not self._is_reply:
            self._released.wait()
        server.sendall(request)
        reply = server.recv(_CHUNK)
        self._released.wait()
        # Usually because it was killed meanwhile.
        with suppress(OSError):
            client.sendall(reply)
