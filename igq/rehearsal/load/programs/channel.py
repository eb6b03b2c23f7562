"""A client of a manager's channel, with the part of the native API that load programs use.

It is told a unix socket, and knows frames and IBM's structures: no settings, no Redis.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from igq.channels.frames import CLIENT_PREFACE, PREFACE_LENGTH, SERVER_IDS, Frame, Verb, packed, parsed
from igq.rehearsal.load.programs.whole_groups import is_within
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQCNO, MQGMO, MQMD, MQOD, MQPMO
from sharedq.mqi.wire import CNO, GMO, MD, OD, PMO

_LENGTH: Final = struct.Struct("<I")
#: Lengths of names in the request of a connect: manager, program.
_QMGR_LENGTH, _PROGRAM_LENGTH = 48, 28
#: Bytes of a message, at most.
_ROOM: Final = 1 << 20
#: Versions of structures that have a connection tag, and match options.
_WITH_TAG, _WITH_MATCH = 3, 2


class ClientMessage(NamedTuple):
    """A message that a client got."""

    md: MQMD
    body: bytes


class ClientConnection:
    """A connection through a channel. Leaving its ``with`` block disconnects, or just goes after an exception."""

    def __init__(self, path: Path, qmgr: str, program: str, options: int, tag: bytes) -> None:
        """Connect at the unix socket *path*, as `sharedq.connect` does.

        Raises:
            MQIError: 2059 nobody listens there; 2009; others, as from the call.
        """
        self.qmgr_name = qmgr
        self._last_id = 0
        try:
            self._socket = _connected(path)
        except OSError as error:
            raise error_for(MQRC.Q_MGR_NOT_AVAILABLE, "MQCONNX", qmgr, str(error)) from error
        try:
            self._send(CLIENT_PREFACE)
            self._receive(PREFACE_LENGTH)
            cno = MQCNO(version=_WITH_TAG, options=options, conn_tag=tag.ljust(128, b"\0"))
            names = (qmgr.encode().ljust(_QMGR_LENGTH), CNO.pack(cno), program.encode().ljust(_PROGRAM_LENGTH))
            self.call(Verb.CONNX, (os.getpid(),), names)
        except BaseException:
            self._socket.close()
            raise

    def open(self, name: str, options: OpenOption | int, *, qmgr_name: str = "") -> ClientQueue:
        """MQOPEN."""
        od = MQOD(object_name=name.encode(), object_q_mgr_name=qmgr_name.encode())
        return ClientQueue(self, name, self.call(Verb.OPEN, (int(options),), (OD.pack(od),)).numbers[2])

    def commit(self) -> None:
        """MQCMIT."""
        self.call(Verb.CMIT)

    def backout(self) -> None:
        """MQBACK."""
        self.call(Verb.BACK)

    def begin(self, verb: Verb, numbers: Sequence[int] = (), blobs: Sequence[bytes] = ()) -> None:
        """Send a request, and do not wait for its reply. Raises MQIError: 2009, the channel has ended."""
        self._last_id = self._last_id % (SERVER_IDS - 1) + 1
        self._send(packed(self._last_id, verb, numbers, blobs))

    def call(self, verb: Verb, numbers: Sequence[int] = (), blobs: Sequence[bytes] = ()) -> Frame:
        """Send a request and return its reply. Raises MQIError: the reply says so; 2009, the channel has ended."""
        self.begin(verb, numbers, blobs)
        (length,) = _LENGTH.unpack(self._receive(_LENGTH.size))
        reply = parsed(self._receive(length))
        if reply.verb == Verb.ENDED:
            raise self._broken(reply.blobs[0].decode(errors="replace"))
        if reply.numbers[0] == MQCC.FAILED:
            raise error_for(MQRC(reply.numbers[1]), f"MQ{verb.name}", self.qmgr_name, "through the channel")
        return reply

    def __enter__(self) -> ClientConnection:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.call(Verb.DISC)
        finally:
            self.go()

    def go(self) -> None:
        """Go without MQDISC."""
        self._socket.close()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._broken(str(error)) from error

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except OSError as error:
                raise self._broken(str(error)) from error
            if not piece:
                raise self._broken("the channel server has ended")
            data += piece
        return bytes(data)

    def _broken(self, why: str) -> MQIError:
        return error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name, why)


class ClientQueue:
    """A queue that is open through a channel."""

    def __init__(self, connection: ClientConnection, name: str, handle: int) -> None:
        self._connection, self.name, self.handle = connection, name, handle

    def put(self, body: bytes, md: MQMD, *, options: PutOption | int = 0) -> None:
        """MQPUT."""
        blobs = (MD.pack(md), PMO.pack(MQPMO(options=int(options))), b"", body)
        self._connection.call(Verb.PUT, (self.handle,), blobs)

    def put_many(self, messages: Sequence[tuple[MQMD, bytes]], *, options: PutOption | int = 0) -> None:
        """MQPUT, one after the other."""
        for md, body in messages:
            self.put(body, md, options=options)

    def get(
        self,
        options: GetOption | int = 0,
        *,
        wait_ms: int = 0,
        match: MQMD | None = None,
        match_options: MatchOption | int = 0,
    ) -> ClientMessage:
        """MQGET. Without *match_options* it gets the next message."""
        gmo = MQGMO(version=_WITH_MATCH, options=int(options), wait_interval=wait_ms, match_options=int(match_options))
        md = MD.pack(match or MQMD(version=2))
        reply = self._connection.call(Verb.GET, (self.handle, _ROOM), (md, GMO.pack(gmo)))
        return ClientMessage(MD.unpack(reply.blobs[0]), reply.blobs[2])

    def get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[ClientMessage]:
        """MQGET of up to *count* messages, at least one, else 2033. Only the first one is waited for."""
        found = [self.get(options, wait_ms=wait_ms)]
        while len(found) < count and (message := self._next(int(options) & ~int(GetOption.WAIT))) is not None:
            found.append(message)
        return found

    def get_groups(
        self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0, rest_ms: int = 0
    ) -> list[ClientMessage]:
        """As `get_many`, in logical order: other programs get no part of a group that it has begun.

        Args:
            rest_ms: how long to wait for the next message of a group. A group without its end stays incomplete.
        """
        options = int(options) | int(GetOption.LOGICAL_ORDER)
        found = [self.get(options, wait_ms=wait_ms)]
        while len(found) < count or is_within(found[-1].md):
            rest = options if is_within(found[-1].md) else options & ~int(GetOption.WAIT)
            if (message := self._next(rest, rest_ms)) is None:
                break
            found.append(message)
        return found

    def _next(self, options: int, wait_ms: int = 0) -> ClientMessage | None:
        try:
            return self.get(options, wait_ms=wait_ms)
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise
            return None


def _connected(path: Path) -> socket.socket:
    """A socket that is connected to a unix socket, however long its path is. Raises OSError."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            connected.connect(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
    except BaseException:
        connected.close()
        raise
    return connected
