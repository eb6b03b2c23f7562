"""The fixtures that most tests share."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from tests.support.members import TestGroup
from tests.support.scenes import until
from tests.support.server import Server
from tests.support.topologies import PORTS, free_ports


def open_files() -> int:
    # Sockets of earlier tests that are closed during this one would be counted before it only.
    gc.collect()
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_group_gives_the_sockets_of_its_connections_back(redis_server: Server, tmp_path: Path) -> None:
    before = open_files()
    group = TestGroup(redis_server.url, tmp_path)
    group.add_member("QM1")
    connections = [group.connect() for _ in range(20)]
    assert open_files() >= before + 20
    group.close()
    # The threads that hear the news close their own sockets.
    until(lambda: open_files() < before + 10, "the sockets are closed")
    assert all(connection.connection.is_ended for connection in connections)


def test_no_connection_and_no_other_server_takes_the_port_of_a_server() -> None:
    """The kernel takes the ports of connections that leave from a range of its own."""
    first_of_kernel = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = [port for _ in range(100) for port in free_ports(3)]
    assert len({*ports}) == 300
    if first_of_kernel <= PORTS[0]:
        pytest.skip("this machine is set to give all ports to connections")
    assert max(ports) < first_of_kernel
