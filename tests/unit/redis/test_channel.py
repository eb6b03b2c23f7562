"""A channel that another thread has ended sends nothing and returns nothing."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from sharedq.redis.channel import Channel

PING = b"*1\r\n$4\r\nPING\r\n"
ENDS = [Channel.interrupt, Channel.close]


class Opened:
    """A connection of redis-py."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def disconnect(self) -> None:
        """Close the socket as redis-py does."""
        self._sock.close()


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield channel_of(ours), theirs


def channel_of(sock: socket.socket) -> Channel:
    opened: Any = Opened(sock)
    return Channel(opened)


def test_replies_come_one_by_one_however_they_are_cut(ends: tuple[Channel, socket.socket]) -> None:
    channel, server = ends
    channel.send(PING)
    assert server.recv(100) == PING
    server.sendall(b"+PONG\r\n*2\r\n:1\r\n")
    assert channel.receive() == b"PONG"
    server.sendall(b"$2\r\nab\r\n-NOAUTH Authentication required.\r\n-LOADING it reads its data\r\n")
    assert channel.receive() == [1, b"ab"]
    refused = channel.receive()
    assert isinstance(refused, redis.ResponseError)
    assert str(refused).startswith("NOAUTH")
    with pytest.raises(redis.ConnectionError, match="it reads its data"):
        channel.receive()
    server.close()
    with pytest.raises(redis.ConnectionError, match="the server has closed the connection"):
        channel.receive()


@pytest.mark.parametrize("end", ENDS)
def test_what_came_before_the_end_does_not_count(ends: tuple[Channel, socket.socket], end: Any) -> None:
    """Of a TLS socket it would be encrypted, in the middle of a reply perhaps."""
    channel, server = ends
    channel._feed(b"$4\r\nda")
    server.sendall(b"ta\r\n")
    end(channel)
    with pytest.raises((redis.ConnectionError, OSError)):
        channel.receive()


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_sent_after_the_end(ends: tuple[Channel, socket.socket], end: Any) -> None:
    channel, server = ends
    end(channel)
    with pytest.raises(redis.ConnectionError):
        channel.send(PING)
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
        end(channel_of(encrypted))
        assert shut == [True]


def test_a_forked_child_closes_its_copy_only(ends: tuple[Channel, socket.socket]) -> None:
    channel, server = ends
    pid = os.fork()
    if not pid:
        channel.close()
        os._exit(0)
    os.waitpid(pid, 0)
    server.sendall(b"+PONG\r\n")
    assert channel.receive() == b"PONG"
