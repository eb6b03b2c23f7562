"""A channel server in a thread of the test, on the group of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from igq.channels.hub import Hub
from igq.channels.server import serve
from sharedq.members.group import Group
from tests.support.channel_client import RawClient, bound_to
from tests.support.members import TestGroup

Connect = Callable[[], RawClient]


@pytest.fixture
def channel(group: TestGroup, tmp_path: Path) -> Iterator[Path]:
    """The socket of a channel server of QM1; there is a shared queue Q."""
    group.define_structure()
    group.define_shared("Q")
    path = tmp_path / "QM1.sock"
    listening, started = bound_to(path), SimpleQueue[Hub]()
    server_group = Group(group.settings)
    server = threading.Thread(target=serve, args=(server_group, "QM1", listening, started.put))
    server.start()
    hub = started.get(timeout=30)
    yield path
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
