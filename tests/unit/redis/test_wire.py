"""A wire that another thread has ended sends nothing and returns nothing."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from sharedq.redis.wire import Wire

PING = b"*1\r\n$4\r\nPING\r\n"
ENDS = [Wire.interrupt, Wire.close]


class Opened:
    """A connection of redis-py."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def disconnect(self) -> None:
        """Close the socket as redis-py does."""
        self._sock.close()


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield wire_of(ours), theirs


def wire_of(sock: socket.socket) -> Wire:
    opened: Any = Opened(sock)
    return Wire(opened)


def test_replies_come_one_by_one_however_they_are_cut(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    wire.send(PING)
    assert server.recv(100) == PING
    server.sendall(b"+PONG\r\n*2\r\n:1\r\n")
    assert wire.receive() == b"PONG"
    server.sendall(b"$2\r\nab\r\n-NOAUTH Authentication required.\r\n-LOADING it reads its data\r\n")
    assert wire.receive() == [1, b"ab"]
    refused = wire.receive()
    assert isinstance(refused, redis.ResponseError)
    assert str(refused).startswith("NOAUTH")
    with pytest.raises(redis.ConnectionError, match="it reads its data"):
        wire.receive()
    server.close()
    with pytest.raises(redis.ConnectionError, match="the server has closed the connection"):
        wire.receive()


@pytest.mark.parametrize("end", ENDS)
def test_what_came_before_the_end_does_not_count(ends: tuple[Wire, socket.socket], end: Any) -> None:
    """Of a TLS socket it would be encrypted, in the middle of a reply perhaps."""
    wire, server = ends
    wire._feed(b"$4\r\nda")
    server.sendall(b"ta\r\n")
    end(wire)
    with pytest.raises((redis.ConnectionError, OSError)):
        wire.receive()


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_sent_after_the_end(ends: tuple[Wire, socket.socket], end: Any) -> None:
    wire, server = ends
    end(wire)
    with pytest.raises(redis.ConnectionError):
        wire.send(PING)
    assert server.recv(100) == b""


@pytest.mark.parametrize("end", ENDS)
def test_the_encryption_stays_while_the_socket_is_shut_down(end: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that has begun before writes in clear text if a TLS socket is shut down by its own method."""
    ours, theirs = socket.socketpair()
    context = ssl.create_default_context()
    encrypted = context.wrap_socket(ours, server_hostname="localhost", do_handshake_on_connect=False)
    shut: list[bool] = []
    shutdown = socket.socket.shutdown

    def noted(sock: socket.socket, how: int) -> None:
        shut.append(getattr(sock, "_sslobj", None) is not None)
        shutdown(sock, how)

    monkeypatch.setattr(socket.socket, "shutdown", noted)
    with encrypted, theirs:
        end(wire_of(encrypted))
        assert shut == [True]


def test_a_forked_child_closes_its_copy_only(ends: tuple[Wire, socket.socket]) -> None:
    wire, server = ends
    pid = os.fork()
    if not pid:
        wire.close()
        os._exit(0)
    os.waitpid(pid, 0)
    server.sendall(b"+PONG\r\n")
    assert wire.receive() == b"PONG"
