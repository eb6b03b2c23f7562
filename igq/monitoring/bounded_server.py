"""An HTTP server for a few clients: however many others connect, and wait, it keeps few files and threads."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections import Counter
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

#: Connections at one time: of one address, and in all.
PER_ADDRESS, IN_ALL = 8, 32
#: Seconds that a connection may last, and that it may be silent.
LONGEST_S, SILENT_S = 30.0, 5.0


class BoundedServer(ThreadingMixIn, WSGIServer):
    """Answers each connection in a thread of its own, one request each.

    A new connection above a limit ends the oldest one: of its own address, or of the address that has the most. So a
    client that holds many connections shuts out nobody, not even a second client of its address.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None = None) -> None:
        self._lock, self._tls = threading.Lock(), tls
        #: Connection -> address of its client, and when the connection began. The oldest is the first.
        self._open: dict[socket.socket, tuple[str, float]] = {}
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family = found[0]
        super().__init__((str(found[4][0]), address[1]), SilentHandler)

    def get_request(self) -> tuple[Any, Any]:
        """Take a new connection. TLS begins with the first byte that its thread reads: nobody else waits for that."""
        request, address = super().get_request()
        if self._tls is not None:
            request = self._tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        return request, address

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note a new connection, and begin to answer it."""
        with self._lock:
            self._open[request] = (str(client_address[0]), time.monotonic())
            self._make_room()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that is answered, or not wanted any more."""
        with self._lock:
            self._open.pop(request, None)
        if isinstance(request, ssl.SSLSocket):
            # Tell the client that this was all, and wait for no answer.
            with suppress(OSError, ValueError):
                request.settimeout(0)
                request.unwrap()
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End the connections that have lasted too long. The server calls this at least twice a second."""
        super().service_actions()
        before_s = time.monotonic() - LONGEST_S
        with self._lock:
            for request in [each for each, (_, began_s) in self._open.items() if began_s < before_s]:
                self._end(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell nobody of a client that was slow or has gone: any client can cause such lines."""

    def _make_room(self) -> None:
        counts = Counter(address for address, _ in self._open.values())
        newest, _ = list(self._open.values())[-1]
        if counts[newest] > PER_ADDRESS:
            crowded = newest
        elif len(self._open) > IN_ALL:
            crowded = counts.most_common(1)[0][0]
        else:
            return
        self._end(next(each for each, (address, _) in self._open.items() if address == crowded))

    def _end(self, request: socket.socket) -> None:
        """Wake the thread of a connection; the thread closes it."""
        del self._open[request]
        with suppress(OSError):
            # Not that of a TLS socket, which changes what the thread reads by.
            socket.socket.shutdown(request, socket.SHUT_RDWR)


class SilentHandler(WSGIRequestHandler):
    """Logs no requests, and waits only so long for each piece of one."""

    timeout = SILENT_S

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def address_string(self) -> str:
        """The address of the client. The base class would ask for its name."""
        return str(self.client_address[0])
