"""A server that closes idle connections (``timeout``) closes no connection of a living program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.session import calling
from sharedq.session.connection import Connection
from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that closes connections that are idle for a second."""
    server = Server()
    server.client().config_set("timeout", 1)
    yield server
    server.close()


@pytest.fixture
def program(server: Server, tmp_path: Path) -> Iterator[QueueManagerConnection]:
    """A program's connection, with a message got under syncpoint."""
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_structure()
    group.define_shared("Q")
    process = group.process()
    keeper = group.connect(process=process)
    program = QueueManagerConnection(Connection(group.group, process))
    program.put1("Q", b"asked")
    assert program.open("Q", BOTH).get(GetOption.SYNCPOINT).body == b"asked"
    keeper.connection.interrupt()
    yield program
    group.close()


def is_closed(client: redis.Redis) -> bool:
    """Whether the server has closed an unused connection."""
    connection: Any = client.connection
    try:
        return bool(connection.can_read(timeout=0))
    except redis.ConnectionError:
        return True


def idle_client(server: Server) -> redis.Redis:
    """A connection that is not used from now on."""
    client = redis.Redis.from_url(server.url, single_connection_client=True)
    client.ping()
    return client


def test_an_idle_connection_is_kept_alive(
    server: Server, program: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "KEEP_ALIVE_S", 0.0)
    other = idle_client(server)

    def is_other_closed() -> bool:
        program.connection.keep_alive()
        return is_closed(other)

    until(is_other_closed, "the server closes what is idle", pause_s=0.05)
    program.commit()
    program.put1("Q", b"later")
    program.disconnect()


def test_it_costs_nothing_while_it_is_not_due(server: Server, program: QueueManagerConnection) -> None:
    link = program.connection._link
    other = idle_client(server)
    program.connection.keep_alive()
    until(lambda: is_closed(other) and link.has_lost_server(), "the server closes what is idle", pause_s=0.05)
    with pytest.raises(MQIError):
        program.commit()


def test_a_call_under_way_is_left_alone(program: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "KEEP_ALIVE_S", 0.0)
    sent: list[str] = []
    monkeypatch.setattr(type(program.connection._link), "keep_alive", lambda _: sent.append("in the middle of a call"))
    with program.connection.lock:
        thread = threading.Thread(target=program.connection.keep_alive)
        thread.start()
        thread.join()
    assert sent == []
    program.connection.keep_alive()
    assert len(sent) == 1


def test_a_closed_connection_is_not_reopened(program: QueueManagerConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next call ends with 2009, because its connection is unknown by then."""
    monkeypatch.setattr(calling, "KEEP_ALIVE_S", 0.0)
    link = program.connection._link
    until(link.has_lost_server, "the server closes what is idle", pause_s=0.05)

    def is_noticed() -> bool:
        program.connection.keep_alive()
        return link.is_broken

    until(is_noticed, "it is noticed", pause_s=0.01)
    with pytest.raises(MQIError):
        program.commit()
