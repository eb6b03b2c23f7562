"""The connections of a console: each has a time for what it sends and takes, and one address has only so many.

A connection is put round uvicorn's own protocol, and begins TLS itself: so it sees a client from the moment that its
connection is accepted, and it knows what has not left yet.
"""

from __future__ import annotations

import asyncio
import fcntl
import ssl
import struct
import termios
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from igq.web.http.addresses import network_of

#: Connections at one time that have not signed in: of one address, and in all. And those that have.
PER_ADDRESS, NOT_SIGNED_IN, SIGNED_IN = 100, 250, 250
#: Seconds: for TLS to begin and the headers of a request to come; between two requests of a connection.
HEADERS_S, IDLE_S = 10.0, 20.0
#: A client must take so many bytes in so many seconds, or all that is left.
TAKE_BYTES, TAKE_S = 64 << 10, 30.0
#: Seconds between two looks at all connections.
_LOOK_S = 0.5
#: Seconds between two looks whether a client has taken all: the first time, and at most.
_SOON_S, _LATE_S = 0.001, 0.05


class HttpConnections:
    """All connections of a console.

    One more than the limit ends the connection that keeps the console waiting longest: of the same address, or of the
    address that has the most. So a client that holds many connections shuts out nobody.

    Args:
        tls: if browsers come by TLS.
        proxies: addresses and networks of proxies. All clients of a proxy come from its address, so the limit of one
            address is not for it.
    """

    def __init__(self, tls: ssl.SSLContext | None, proxies: Sequence[str] = ()) -> None:
        self.tls, self._proxies = tls, [ip_network(each) for each in proxies]
        self._open: dict[HttpConnection, None] = {}
        self._look: asyncio.TimerHandle | None = None

    def protocol(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> asyncio.Protocol:
        """Make the protocol of a new connection: uvicorn calls this as it would call its own class.

        An application finds the connection in the state of a request, as ``connection``.
        """
        connection = HttpConnection(self)
        connection.http = H11Protocol(config, server_state, {**app_state, "connection": connection}, _loop)
        return connection

    def add(self, connection: HttpConnection) -> None:
        """Note a new connection, and make room for it."""
        self._open[connection] = None
        self._make_room(connection)
        if self._look is None:
            self._look_later()

    def remove(self, connection: HttpConnection) -> None:
        """Forget a connection that has ended."""
        self._open.pop(connection, None)

    def may_sign_in(self) -> bool:
        """Whether one more connection can be kept as one that has signed in."""
        return sum(each.is_signed_in for each in self._open) < SIGNED_IN

    def is_proxy(self, host: str) -> bool:
        """Whether a proxy has this address."""
        return any(ip_address(host) in each for each in self._proxies)

    def _make_room(self, newest: HttpConnection) -> None:
        counts = Counter(each.address for each in self._open if not each.is_signed_in)
        if counts[newest.address] > PER_ADDRESS and not newest.is_of_proxy:
            address = newest.address
        elif counts.total() > NOT_SIGNED_IN:
            address = counts.most_common(1)[0][0]
        else:
            return
        # A client that waits for the console is not sent away. If all do, the newest has to come again.
        slow = [each for each in self._open if each.address == address and each.waits_since_s and not each.is_signed_in]
        min(slow, key=lambda each: each.waits_since_s or 0.0, default=newest).abort()

    def _look_later(self) -> None:
        self._look = asyncio.get_running_loop().call_later(_LOOK_S, self._look_at_all)

    def _look_at_all(self) -> None:
        self._look = None
        now_s = time.monotonic()
        for each in list(self._open):
            if each.is_too_slow(now_s):
                each.abort()
        if self._open:
            self._look_later()


class HttpConnection(asyncio.Protocol):
    """One connection.

    Attributes:
        address: of the client; of IPv6, its network.
        is_of_proxy: whether the client is a proxy that is trusted.
        is_signed_in: whether a request of it came from a user.
        waits_since_s: since when it keeps the console waiting; None if it does not.
    """

    http: H11Protocol

    def __init__(self, connections: HttpConnections) -> None:
        self._connections = connections
        self.address, self.is_of_proxy, self.is_signed_in = "", False, False
        self.waits_since_s: float | None = time.monotonic()
        self._until_s, self._is_idle = time.monotonic() + HEADERS_S, False
        self._transport: asyncio.Transport | None = None
        #: HTTP is read from it and written to it: the same transport, or TLS over it, and None until that has begun.
        self._http_transport: asyncio.Transport | None = None
        self._early, self._task = bytearray(), None  # type: tuple[bytearray, asyncio.Task[None] | None]
        self._is_over, self._ended = False, asyncio.Event()
        self._left, self._left_until_s = 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin: with TLS, or with HTTP at once."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self.address, self.is_of_proxy = network_of(str(peer[0])), self._connections.is_proxy(str(peer[0]))
        self._connections.add(self)
        if self._connections.tls is None:
            self._begin_http(transport)
        elif not self._is_over:
            transport.pause_reading()
            self._task = asyncio.get_running_loop().create_task(self._begin_tls(transport, self._connections.tls))

    async def _begin_tls(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            loop = asyncio.get_running_loop()
            over_tls = await loop.start_tls(transport, self, tls, server_side=True, ssl_handshake_timeout=HEADERS_S)
        except OSError:
            over_tls = None
        if over_tls is not None:
            self._begin_http(over_tls)
        else:
            # No TLS, or the client has gone. Any client can cause that, so nobody is told.
            self.abort()
            self._end()

    def _begin_http(self, transport: asyncio.Transport) -> None:
        if self._is_over:
            return
        self._http_transport = transport
        self.http.connection_made(transport)
        if self._early:
            early, self._early = bytes(self._early), bytearray()
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        if self._http_transport is None:
            # TLS has ended its handshake, and nobody has told the task yet.
            self._early += data
            return
        if self._is_idle:
            self._await(HEADERS_S)
        try:
            self.http.data_received(data)
        except h11.ProtocolError:
            # Rubbish within the body of a request that was already answered.
            self.abort()

    def eof_received(self) -> None:
        """Take the end of what the client sends."""
        if self._http_transport is not None:
            self.http.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the connection."""
        self._end()
        if self._http_transport is not None:
            self.http.connection_lost(exc)

    def pause_writing(self) -> None:
        """Tell uvicorn to wait."""
        self.http.pause_writing()

    def resume_writing(self) -> None:
        """Tell uvicorn to go on."""
        self.http.resume_writing()

    def begin_request(self) -> None:
        """Note that the headers of a request are there."""
        self.waits_since_s, self._is_idle = None, False
        # A client that asks has taken what it waited for.
        self._left = 0

    def await_body(self, since_s: float | None) -> None:
        """Note that the console waits for a body since then, or no more. The reader of the body counts the time."""
        self.waits_since_s, self._until_s = since_s, float("inf")

    def end_request(self) -> None:
        """Note that a request is answered."""
        self._await(IDLE_S)
        self._is_idle = True

    def is_closing(self) -> bool:
        """Whether nothing more can be written."""
        return self._is_over or self._http_transport is None or self._http_transport.is_closing()

    async def end(self) -> None:
        """Wait until a connection that is closing has ended."""
        await self._ended.wait()

    def sign_in(self) -> None:
        """Note that the request comes from a user."""
        self.is_signed_in = self.is_signed_in or self._connections.may_sign_in()

    async def has_taken(self) -> bool:
        """Wait until the client's system has acknowledged all that was written. False if the client goes before.

        A client that takes nothing for long is sent away meanwhile.
        """
        pause_s = _SOON_S
        while not self._is_over:
            if not self._unsent():
                return True
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LATE_S)
        return False

    def is_too_slow(self, now_s: float) -> bool:
        """Whether the client has sent or taken too little in its time."""
        left = self._unsent()
        if not left or left <= self._left - TAKE_BYTES or not self._left:
            self._left, self._left_until_s = left, now_s + TAKE_S
        is_overdue = self.waits_since_s is not None and now_s >= self._until_s
        return is_overdue or (left > 0 and now_s >= self._left_until_s)

    def abort(self) -> None:
        """End the connection at once."""
        self._is_over = True
        if self._transport is not None:
            self._transport.abort()

    def _await(self, seconds: float) -> None:
        self.waits_since_s, self._is_idle = time.monotonic(), False
        self._until_s = self.waits_since_s + seconds

    def _end(self) -> None:
        self._is_over = True
        self._ended.set()
        self._connections.remove(self)

    def _unsent(self) -> int:
        """Bytes that this process, or its system, still has for the client."""
        assert self._transport is not None
        left = self._transport.get_write_buffer_size() + _unacknowledged(self._transport)
        if self._http_transport is not None and self._http_transport is not self._transport:
            left += self._http_transport.get_write_buffer_size()
        return left


def _unacknowledged(transport: asyncio.Transport) -> int:
    """Bytes that the system has sent, or will send, and the client's system has not acknowledged."""
    number = -1 if (found := transport.get_extra_info("socket")) is None else found.fileno()
    # A system that cannot tell counts nothing.
    with suppress(OSError):
        if number >= 0:
            return int(struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4)))[0])
    return 0
