"""The frames of the channel protocol: bytes to requests, replies to bytes. Nothing here knows what a verb does.

`docs/reference/protocol.md` describes them. Every rule about a frame is checked here, so that what comes out of a
`FrameReader` has bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

VERSION: Final = 1
_PREFACE: Final = struct.Struct("<4sHH")
PREFACE_LENGTH: Final = _PREFACE.size
#: The preface of a client and of the server.
CLIENT_PREFACE: Final = _PREFACE.pack(b"IGQC", VERSION, 0)
SERVER_PREFACE: Final = _PREFACE.pack(b"IGQS", VERSION, 0)

_LENGTH: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<IIHH")
_REST_OF_HEAD: Final = struct.Struct("<IHH")
#: Numbers and blobs of one frame, at most: more than any verb has.
NUMBERS_MAX: Final = 16
BLOBS_MAX: Final = 16
_NUMBERS: Final = [struct.Struct(f"<{count}i") for count in range(NUMBERS_MAX + 1)]
#: The longest rest of a frame before a connection is made, bytes; and how much longer than a message it may be after.
LENGTH_BEFORE_CONNECT: Final = 65_536
ROOM_BESIDE_MESSAGE: Final = 1 << 20
#: Ids from here on are the server's.
SERVER_IDS: Final = 1 << 31
#: After this id the ids of requests begin again with 1.
_LAST_REQUEST: Final = SERVER_IDS - 1


class Verb(IntEnum):
    """The verbs, by their numbers in a frame."""

    CONNX = 1
    DISC = 2
    OPEN = 3
    CLOSE = 4
    PUT = 5
    PUT1 = 6
    GET = 7
    INQ = 8
    SET = 9
    BEGIN = 10
    CMIT = 11
    BACK = 12
    SUB = 13
    SUBRQ = 14
    STAT = 15
    CRTMH = 16
    DLTMH = 17
    SETMP = 18
    INQMP = 19
    DLTMP = 20
    BUFMH = 21
    MHBUF = 22
    XCNVC = 23
    CB = 24
    CTL = 25
    CANCEL = 32
    HEARTBEAT = 33
    EVENT = 34
    ENDED = 35
    PUT_ASYNC = 36


_VERBS: Final = frozenset(int(verb) for verb in Verb)


class FrameError(Exception):
    """A frame breaks a rule. The message says which."""


class Frame(NamedTuple):
    """A request, a reply or an event."""

    id: int
    verb: int
    numbers: tuple[int, ...]
    blobs: tuple[bytes, ...]

    @property
    def is_of_server(self) -> bool:
        """Whether the server has chosen its id."""
        return self.id >= SERVER_IDS


def packed(id_: int, verb: int, numbers: Sequence[int] = (), blobs: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of a frame."""
    parts = [b"", _NUMBERS[len(numbers)].pack(*numbers)]
    length = _REST_OF_HEAD.size + len(parts[1])
    for blob in blobs:
        parts += (_LENGTH.pack(len(blob)), blob)
        length += _LENGTH.size + len(blob)
    parts[0] = _HEAD.pack(length, id_, verb, len(numbers))
    return b"".join(parts)


def parsed(rest: bytes) -> Frame:
    """Return the frame that the bytes after its length are. Raises FrameError: they are none."""
    id_, verb, count = _REST_OF_HEAD.unpack_from(rest)
    if verb not in _VERBS:
        raise FrameError(f"there is no verb {verb}")
    if count > NUMBERS_MAX:
        raise FrameError(f"{count} numbers, at most {NUMBERS_MAX}")
    at, end = _REST_OF_HEAD.size + 4 * count, len(rest)
    if at > end:
        raise FrameError(f"{count} numbers do not fit a frame of {end} bytes")
    numbers = _NUMBERS[count].unpack_from(rest, _REST_OF_HEAD.size)
    blobs: list[bytes] = []
    while at < end:
        if end - at < _LENGTH.size:
            raise FrameError(f"{end - at} bytes at the end of a frame are no blob")
        (length,) = _LENGTH.unpack_from(rest, at)
        at += _LENGTH.size
        if length > end - at:
            raise FrameError(f"a blob of {length} bytes where the frame has {end - at} left")
        if len(blobs) == BLOBS_MAX:
            raise FrameError(f"more than {BLOBS_MAX} blobs")
        blobs.append(rest[at : at + length])
        at += length
    return Frame(id_, verb, numbers, tuple(blobs))


class FrameReader:
    """Makes frames of the bytes that a client sends, in whatever pieces they come.

    Attributes:
        limit: the longest rest of a frame. It grows when the client is connected.
        last_id: the id of the latest request; 0: the next one may have any id of a request.
    """

    def __init__(self, *, limit: int = LENGTH_BEFORE_CONNECT) -> None:
        self.limit = limit
        self.last_id = 0
        self._received = bytearray()
        self._has_preface = False

    def feed(self, data: bytes) -> None:
        """Add what has come."""
        self._received += data

    def has_preface(self) -> bool:
        """Whether the client's preface has come.

        Raises:
            FrameError: something else has, or the client speaks another version.
        """
        if not self._has_preface:
            front = bytes(self._received[:PREFACE_LENGTH])
            if not CLIENT_PREFACE.startswith(front):
                raise FrameError("no preface of a client of this version")
            if len(front) < PREFACE_LENGTH:
                return False
            del self._received[:PREFACE_LENGTH]
            self._has_preface = True
        return True

    def next(self) -> Frame | None:
        """Take the next frame, or None while it is not all there. Raises FrameError: it breaks a rule."""
        received = self._received
        if len(received) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(received)
        if length < _REST_OF_HEAD.size:
            raise FrameError(f"a frame of {length} bytes, at least {_REST_OF_HEAD.size}")
        if length > self.limit:
            raise FrameError(f"a frame of {length} bytes, at most {self.limit}")
        end = _LENGTH.size + length
        if len(received) < end:
            return None
        rest = bytes(memoryview(received)[_LENGTH.size : end])
        del received[:end]
        frame = parsed(rest)
        if not frame.is_of_server:
            if frame.id <= self.last_id:
                raise FrameError(f"request {frame.id} comes after request {self.last_id}")
            self.last_id = frame.id % _LAST_REQUEST
        elif frame.verb not in (Verb.EVENT, Verb.HEARTBEAT):
            raise FrameError(f"request {frame.id:#x} has an id of the server's")
        return frame
