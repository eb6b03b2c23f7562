"""The time in which a connection over TCP notices that the other end is gone."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sharedq.redis.deployment import Deployment
from sharedq.redis.wire import keepalive_options, silence_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of these socket options")


@pytest.mark.parametrize("lease_ms", [500, 1_000, 5_000, 7_000, 30_000, 600_000])
def test_it_gives_up_after_two_leases_and_not_within_one(lease_ms: int) -> None:
    options = keepalive_options(silence_of(lease_ms))
    waiting_s = options[socket.TCP_KEEPIDLE] + options[socket.TCP_KEEPINTVL] * options[socket.TCP_KEEPCNT]
    for noticed_s in (waiting_s, options[socket.TCP_USER_TIMEOUT] / 1000):
        assert lease_ms / 1000 < noticed_s <= max(5, 2.5 * lease_ms / 1000)


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server that accepts connections and answers OK to everything."""
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                end, _ = listener.accept()
            except OSError:
                return
            ends.append(end)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for end in ends:
        end.close()


def test_every_connection_has_the_options(port: int) -> None:
    deployment = Deployment(f"redis://127.0.0.1:{port}", silence_s=14.0)
    connection = deployment.open(deployment.locate("key"))
    sock: Any = connection._sock
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    for option, value in keepalive_options(14.0).items():
        assert sock.getsockopt(socket.IPPROTO_TCP, option) == value
    connection.disconnect()
