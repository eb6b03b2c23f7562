"""A client of a channel that knows frames and no more: for tests that send what no good client would."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from igq.channels.frames import CLIENT_PREFACE, PREFACE_LENGTH, Frame, Verb, packed, parsed
from sharedq.mqi.structures import MQCNO, MQGMO, MQMD, MQOD, MQPMO
from sharedq.mqi.wire import CNO, GMO, MD, OD, PMO

#: A test fails rather than waits for ever.
TIMEOUT_S: Final = 60.0


class RawClient:
    """One client. Each call sends a request and returns the reply, unless it says otherwise."""

    def __init__(self, place: Path | int) -> None:
        """Args: place: a unix socket, or a port of this machine."""
        if isinstance(place, int):
            self.socket = socket.create_connection(("127.0.0.1", place))
        else:
            self.socket = connected_to(place)
        self.socket.settimeout(TIMEOUT_S)
        self.last_id = 0

    def greet(self) -> bytes:
        """Exchange prefaces. Returns the server's."""
        self.socket.sendall(CLIENT_PREFACE)
        return self.exactly(PREFACE_LENGTH)

    def send(self, verb: int, numbers: Sequence[int] = (), blobs: Sequence[bytes] = ()) -> int:
        """Send a request. Returns its id."""
        self.last_id += 1
        self.socket.sendall(packed(self.last_id, verb, numbers, blobs))
        return self.last_id

    def receive(self) -> Frame:
        """The next frame of the server."""
        (length,) = struct.unpack("<I", self.exactly(4))
        return parsed(self.exactly(length))

    def exactly(self, count: int) -> bytes:
        """So many bytes. Raises EOFError: the server has closed the connection."""
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError(f"{len(data)} of {count} bytes")
            data += piece
        return data

    def call(self, verb: int, numbers: Sequence[int] = (), blobs: Sequence[bytes] = ()) -> Frame:
        """Send a request and return its reply."""
        id_ = self.send(verb, numbers, blobs)
        reply = self.receive()
        assert (reply.id, reply.verb) == (id_, verb), reply
        return reply

    def connect(self, name: str = "", *, program: str = "raw", cno: MQCNO | None = None, channel: str = "") -> Frame:
        """Greet and connect."""
        self.greet()
        options = b"" if cno is None else CNO.pack(cno)
        blobs = (name.encode().ljust(48), options, program.encode().ljust(28), channel.encode().ljust(20), b"", b"")
        return self.call(Verb.CONNX, (os.getpid(),), blobs)

    def open(self, queue: str, options: int, od: MQOD | None = None) -> int:
        """Open an object. Returns its handle."""
        descriptor = od or MQOD(object_name=queue.encode())
        reply = self.call(Verb.OPEN, (options,), (OD.pack(descriptor), b"", b"", b""))
        assert reply.numbers[:2] == (0, 0), reply
        return reply.numbers[2]

    def put(self, handle: int, body: bytes, options: int = 0, md: MQMD | None = None) -> Frame:
        """Put a message."""
        blobs = (MD.pack(md or MQMD()), PMO.pack(MQPMO(options=options)), b"", body)
        return self.call(Verb.PUT, (handle,), blobs)

    def send_get(self, handle: int, options: int = 0, wait_ms: int = 0, room: int = 1 << 20) -> int:
        """Send a get. Returns the id of the request."""
        gmo = MQGMO(options=options, wait_interval=wait_ms)
        return self.send(Verb.GET, (handle, room), (MD.pack(MQMD()), GMO.pack(gmo)))

    def get(self, handle: int, options: int = 0, wait_ms: int = 0, room: int = 1 << 20) -> Frame:
        """Get a message."""
        self.send_get(handle, options, wait_ms, room)
        return self.receive()

    def has_ended(self) -> tuple[int, str]:
        """The reason and the text with which the server has ended the connection."""
        frame = self.receive()
        assert (frame.id, frame.verb) == (0, Verb.ENDED), frame
        assert self.socket.recv(1) == b""
        return frame.numbers[0], frame.blobs[0].decode()

    def close(self) -> None:
        """Go without a disconnect."""
        self.socket.close()


def connected_to(path: Path) -> socket.socket:
    """A socket that is connected to a unix socket, however long its path is."""
    connected = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        connected.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return connected


def bound_to(path: Path) -> socket.socket:
    """A listening socket at this path."""
    listening = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    listening.listen(100)
    return listening
