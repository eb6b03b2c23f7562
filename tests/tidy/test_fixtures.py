"""The fixtures that most tests share."""

from __future__ import annotations

from pathlib import Path

from tests.support.members import TestGroup
from tests.support.server import Server


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_group_gives_the_sockets_of_its_connections_back(redis_server: Server, tmp_path: Path) -> None:
    before = open_files()
    group = TestGroup(redis_server.url, tmp_path)
    group.add_member("QM1")
    connections = [group.connect() for _ in range(20)]
    assert open_files() >= before + 20
    group.close()
    assert open_files() < before + 10
    assert all(connection.connection.is_ended for connection in connections)
