"""A channel server in a thread of the test, on the group of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest

from igq.channels.hub import Hub, serve
from sharedq.members.group import Group
from sharedq.objects.definitions.server_channels import Channel
from tests.support.channel_client import RawClient, bound_to
from tests.support.members import TestGroup

Connect = Callable[[], RawClient]


@pytest.fixture
def channel(group: TestGroup, tmp_path: Path) -> Iterator[Path]:
    """The socket of a channel server of QM1; there is a shared queue Q."""
    path = tmp_path / "QM1.sock"
    with served(group, bound_to(path)):
        yield path


@pytest.fixture
def port(group: TestGroup) -> Iterator[int]:
    """The port of a channel server of QM1, which has the channels APP (for the user app), FEW and NOBODY."""
    for channel in (
        Channel(name="APP", user="app", heartbeat_s=1),
        Channel(name="FEW", user="app", max_instances=2, max_instances_per_client=2, max_msg_length=1_000),
        Channel(name="NOBODY"),
    ):
        group.repository("QM1").channels.define(channel)
    listening = socket.create_server(("127.0.0.1", 0))
    with served(group, listening):
        yield listening.getsockname()[1]


@contextmanager
def served(group: TestGroup, listening: socket.socket) -> Iterator[None]:
    """A channel server of QM1 at this socket; there is a shared queue Q."""
    group.define_structure()
    group.define_shared("Q")
    started = SimpleQueue[Hub]()
    server_group = Group(group.settings)
    server = threading.Thread(target=serve, args=(server_group, "QM1", listening, started.put))
    server.start()
    hub = started.get(timeout=30)
    try:
        yield
    finally:
        hub.stop()
        server.join()
        server_group.leave()
        listening.close()


@pytest.fixture
def connect(channel: Path) -> Iterator[Connect]:
    """Makes clients that are connected to QM1."""
    clients: list[RawClient] = []

    def connect_one() -> RawClient:
        client = RawClient(channel)
        clients.append(client)
        assert client.connect().numbers[:2] == (0, 0)
        return client

    yield connect_one
    for client in clients:
        client.close()
