"""Real processes that serve metrics."""

from __future__ import annotations

import re
import signal
import socket
import urllib.request

from tests.cli.conftest import Shell
from tests.support.topologies import free_ports


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=120) as answer:
        text: str = answer.read().decode()
        return text


def test_a_manager_and_a_command_serve_metrics(shell: Shell) -> None:
    (port,) = free_ports(1)
    shell.environment["IGQ_METRICS_PORT"] = str(port)
    shell.start_manager("QM1")
    command = shell.start("metrics", "--listen", "127.0.0.1:0")
    match = re.search(r"http://\S+", command.wait_for("metrics of group"))
    assert match is not None

    for url in (f"http://127.0.0.1:{port}/metrics", match[0]):
        assert 'ibmmq_qmgr_status{group="QSG1",qmgr="QM1"} 2.0' in scraped(url)
    assert command.end(signal.SIGINT) == 0


def test_a_manager_whose_port_is_taken_works_without(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        shell.environment["IGQ_METRICS_PORT"] = str(server.getsockname()[1])
        manager = shell.start_manager("QM1")

        assert "IGQ0017E" in manager.wait_for("serves no metrics")
        assert manager.end() == 0
