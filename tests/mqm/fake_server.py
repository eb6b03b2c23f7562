"""A server of the channel protocol that answers nonsense: to see that the C library bears any."""

from __future__ import annotations

import random
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

_EVENT, _CONNX, _PUT_ASYNC = 34, 1, 36
#: MQCB and MQCTL: events before these have somebody whom they are for.
_WITH_CALLBACKS: Final = (24, 25)


class FakeServer:
    """Answers each request on a unix socket as its *kind* says, until it is closed.

    Args:
        kind: ``noise`` sends frames that are right, with values and lengths by chance; ``cut`` ends an answer
            anywhere; ``bent`` changes some of an answer's bytes; ``bytes`` sends bytes that are no frame; ``plain``
            answers with success.

    Attributes:
        verbs: those of the requests that have come.
    """

    def __init__(self, path: Path, kind: str, seed: int, *, is_tcp: bool = False) -> None:
        self._kind, self._random = kind, random.Random(seed)
        self.verbs: list[int] = []
        self._listening = socket.socket(socket.AF_INET if is_tcp else socket.AF_UNIX)
        self._listening.bind(("127.0.0.1", 0) if is_tcp else str(path))
        self.getsockname = self._listening.getsockname
        self._listening.listen(64)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        # A closed socket does not wake the thread that accepts from it.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client, suppress(OSError):
                self._converse(client)

    def _converse(self, client: socket.socket) -> None:
        _exactly(client, 8)
        client.sendall(
            b"IGQS\1\0\0\0" if self._kind == "plain" or self._random.random() < 0.95 else self._random.randbytes(8)
        )
        is_first = True
        while True:
            request = _exactly(client, struct.unpack("<I", _exactly(client, 4))[0])
            identifier, verb = struct.unpack_from("<IH", request)
            # With a connection that fails nothing else would be tried.
            self.verbs.append(verb)
            if self._kind == "plain":
                if verb == _PUT_ASYNC:
                    continue
                client.sendall(self._frame(identifier, verb, [0, 0, 0, 0], [b""] * 6))
                continue
            is_good = self._kind == "noise" or (is_first and self._random.random() < 0.9)
            is_first = False
            if is_good:
                self._say(client, identifier, verb)
            elif not self._disturb(client, identifier, verb):
                return

    def _say(self, client: socket.socket, identifier: int, verb: int) -> None:
        if verb in (33, _EVENT, _PUT_ASYNC):
            return
        if verb in _WITH_CALLBACKS and self._random.random() < 0.8:
            hobj = self._random.choice((1, 1, 0, -1, 77))
            blobs = [self._random.randbytes(64), *self._blobs()]
            client.sendall(self._frame(0x80000000 + identifier, _EVENT, [hobj], blobs))
        client.sendall(self._answer(identifier, verb))

    def _disturb(self, client: socket.socket, identifier: int, verb: int) -> bool:
        """Send something wrong. Returns whether the connection goes on."""
        answer = bytearray(self._answer(identifier, verb))
        if self._kind == "cut":
            client.sendall(answer[: self._random.randrange(len(answer))])
            return False
        if self._kind == "bytes":
            client.sendall(self._random.randbytes(self._random.randrange(1, 400)))
            return False
        for _ in range(self._random.randrange(1, 4)):
            # Most of what matters is at the beginning.
            at = self._random.randrange(min(len(answer), 40))
            answer[at] = self._random.choice((0, 1, 127, 128, 255, self._random.randrange(256)))
        client.sendall(answer)
        return self._random.random() < 0.5 and struct.unpack_from("<I", answer)[0] + 4 == len(answer)

    def _answer(self, identifier: int, verb: int) -> bytes:
        comp_code = 0 if verb == _CONNX else self._random.choice((0, 0, 0, 1, 2))
        numbers = [comp_code, 2033 if comp_code else 0]
        numbers += [self._number() for _ in range(self._random.choice((4, 4, 4, 5, 0)) if verb != _CONNX else 2)]
        return self._frame(identifier, verb, numbers, self._blobs() if verb != _CONNX else [bytes(300), bytes(48)])

    def _number(self) -> int:
        return self._random.choice((0, 1, -1, 5, 2**31 - 1, -(2**31), self._random.randrange(2**20)))

    def _blobs(self) -> list[bytes]:
        sizes = [
            self._random.choice((0, 1, 8, 20, 48, 324, 364, 424, 3000))
            for _ in range(self._random.choice((6, 6, 6, 7, 0)))
        ]
        return [self._random.randbytes(size) for size in sizes]

    def _frame(self, identifier: int, verb: int, numbers: list[int], blobs: list[bytes]) -> bytes:
        rest = struct.pack(f"<IHH{len(numbers)}i", identifier, verb, len(numbers), *numbers)
        rest += b"".join(struct.pack("<I", len(blob)) + blob for blob in blobs)
        return struct.pack("<I", len(rest)) + rest


def _exactly(client: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        got = client.recv(length - len(found))
        if not got:
            raise ConnectionResetError
        found += got
    return bytes(found)
