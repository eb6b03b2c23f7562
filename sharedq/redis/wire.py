"""A wire: the connected socket to one server, on which a link writes commands and reads replies.

redis-py opens the connection: redis-py knows TLS, passwords and timeouts. The methods of redis-py that write and read
connect anew where another thread has closed the connection; a wire never does (decision 23).

hiredis 3.5 crashes the process (SIGSEGV) if a signal handler raises while it writes a number, so it gets no numbers.

A network that loses packets gives no sign, and neither does a machine without power. A sender notices the missing
acknowledgement; for a connection that only waits, the kernel must send probes. Neither costs a call anything.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import hiredis
import redis
from redis.connection import AbstractConnection, DefaultParser, HiredisRespSerializer

#: Bytes that one read of the socket takes, at most.
_READ_BYTES = 1 << 16
_INCOMPLETE = object()
#: Returns when a wire can be read, or is closed; or at once, so that the read itself waits. A thread that serves many
#: callers does the work of the others meanwhile.
Wait = Callable[["Wire"], None]
Word = str | bytes | int | float
_TEXTS = (bytes, str)
_ARE_TEXTS = frozenset(_TEXTS).issuperset
#: Leases for which a server may be silent. A network partition may heal within one lease, and nothing is lost.
SILENCE_LEASES = 2
#: Probes before the kernel gives up.
_PROBES = 4


class InterruptedCallError(redis.ConnectionError):
    """Another thread has ended the connection: its program is fenced, has lost its lease, or has cancelled the call."""

    def __init__(self) -> None:
        super().__init__("the program is fenced by its queue manager or a peer, or its lease has run out")


class Wire:
    """One connection to a server, used by one thread at a time; `close` and `interrupt` come from any thread.

    After either, nothing more is sent, and what was received does not count: a TLS socket that is shut down sends and
    receives in clear text. Every other method raises OSError or redis.ConnectionError if the connection was lost.

    Args:
        wait: called before each read that would wait.
    """

    __slots__ = ("_connection", "_feed", "_gets", "_is_ended", "_pid", "_socket", "_wait")

    def __init__(self, connection: AbstractConnection, wait: Wait | None = None) -> None:
        # Kept, because it closes the socket when it is collected.
        self._connection = connection
        self._is_ended, self._pid = False, os.getpid()
        self._wait = wait
        # redis-py's types do not name this attribute; tests/unit/redis/test_borrowed_names.py fails if it goes.
        sock: Any = connection._sock
        self._socket: socket.socket = sock
        reader = hiredis.Reader(
            protocolError=redis.exceptions.InvalidResponse,
            replyError=DefaultParser.parse_error,
            notEnoughData=_INCOMPLETE,
        )
        self._feed, self._gets = reader.feed, reader.gets

    def send(self, packed: bytes) -> None:
        """Write packed commands."""
        if self._is_ended:
            raise InterruptedCallError
        self._socket.sendall(packed)

    def receive(self) -> Any:
        """Wait for the next reply. An error of Redis is returned, unless it says that the server takes no calls."""
        reply = self._gets()
        while reply is _INCOMPLETE:
            if self._wait is not None and not self._is_ended and not self._has_decrypted:
                self._wait(self)
            data = self._socket.recv(_READ_BYTES)
            if self._is_ended or not data:
                raise (
                    InterruptedCallError
                    if self._is_ended
                    else redis.ConnectionError("the server has closed the connection")
                )
            self._feed(data)
            reply = self._gets()
        if isinstance(reply, redis.ConnectionError):
            if isinstance(reply, redis.AuthenticationError):
                # To redis-py this is a lost connection, but Redis has answered.
                return redis.ResponseError(f"NOAUTH {reply}")
            raise reply
        return reply

    @property
    def _has_decrypted(self) -> bool:
        """Whether a TLS socket has data of which poll does not know."""
        return isinstance(self._socket, ssl.SSLSocket) and bool(self._socket.pending())

    @property
    def is_closed(self) -> bool:
        """Whether this side has closed it."""
        return self._socket.fileno() < 0

    def fileno(self) -> int:
        """The descriptor of the socket, for poll."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close it. A later call on it fails."""
        self.interrupt()
        self._connection.disconnect()

    def interrupt(self) -> None:
        """End a read in which another thread waits."""
        self._is_ended = True
        # A child that was forked ends its copy only.
        if os.getpid() != self._pid:
            return
        try:
            # Closing would not wake the reader, but shutting the socket down does. Not by the method of a TLS socket:
            # that takes the encryption off first, and a writer that has just begun would write in clear text.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            # It is closed, or the server has gone.
            return


def pack(*words: Word) -> bytes:
    """Pack a command."""
    # The calls of each message give texts only, and asking so takes a quarter of the time.
    texts: Any = words if _ARE_TEXTS(map(type, words)) else _texts(words)
    packed: bytes = hiredis.pack_command(texts)
    return packed


class Packer(HiredisRespSerializer):
    """Packs redis-py's own commands in the same way."""

    def pack(self, *words: Any) -> Any:
        """Pack a command, whose name may have several words."""
        return super().pack(*_texts(words))


def _texts(words: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([word if isinstance(word, _TEXTS) else _number(word) for word in words])


# Most numbers come again and again: a queue's depth, a priority, a count.
@lru_cache(maxsize=1024, typed=True)
def _number(value: float) -> bytes:
    return b"%d" % value if isinstance(value, int) else repr(value).encode()


def silence_of(lease_ms: int) -> float:
    """Return how long the servers of a group with this lease may be silent, in seconds."""
    return SILENCE_LEASES * lease_ms / 1000


def keepalive_options(silence_s: float) -> dict[int, int]:
    """Return options of ``IPPROTO_TCP`` that end a connection about *silence_s* after the last sign of its other end.

    Only the options that this system has are returned. Whole seconds count, at least two.
    """
    whole_s = max(2, round(silence_s))
    idle_s = max(1, whole_s // 2)
    wanted = {
        "TCP_KEEPIDLE": idle_s,
        "TCP_KEEPINTVL": max(1, (whole_s - idle_s) // _PROBES),
        "TCP_KEEPCNT": _PROBES,
        # For data that was sent and not acknowledged. Without it the kernel resends for a quarter of an hour.
        "TCP_USER_TIMEOUT": 1000 * whole_s,
    }
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}
