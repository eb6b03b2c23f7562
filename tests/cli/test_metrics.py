"""Real processes that serve metrics."""

from __future__ import annotations

import os
import re
import signal
import socket
import urllib.request
from contextlib import suppress
from pathlib import Path

from tests.cli.conftest import Shell
from tests.support.scenes import until
from tests.support.topologies import free_ports


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=120) as answer:
        text: str = answer.read().decode()
        return text


def test_a_manager_and_a_command_serve_metrics(shell: Shell) -> None:
    (port,) = free_ports(1)
    shell.environment["IGQ_METRICS_PORT"] = str(port)
    shell.start_manager("QM1").wait_for("IGQ0032I")
    command = shell.start("metrics", "--listen", "127.0.0.1:0")
    match = re.search(r"http://\S+", command.wait_for("metrics of group"))
    assert match is not None

    for url in (f"http://127.0.0.1:{port}/metrics", match[0]):
        assert 'ibmmq_qmgr_status{group="QSG1",qmgr="QM1"} 2.0' in scraped(url)
    assert command.end(signal.SIGINT) == 0


def test_the_endpoint_is_no_part_of_the_process_of_its_manager(shell: Shell) -> None:
    (port,) = free_ports(1)
    shell.environment["IGQ_METRICS_PORT"] = str(port)
    manager = shell.start_manager("QM1")
    manager.wait_for("IGQ0032I")

    (child,) = listening_at(port)

    assert child != shell.manager("QM1")["pid"]
    os.kill(child, signal.SIGKILL)
    manager.wait_for("IGQ0032I", 2)
    assert "igq_redis_up" in scraped(f"http://127.0.0.1:{port}/metrics")
    assert shell.manager("QM1")["state"] == "RUNNING"
    assert manager.end() == 0
    until(lambda: not listening_at(port), "the endpoint has ended with its manager")


def listening_at(port: int) -> set[int]:
    """The processes that listen at a port of this machine."""
    found = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    nodes = {words[9] for words in found if words[1].endswith(f":{port:04X}") and words[3] == "0A"}
    owners = set()
    for file in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if file.readlink().name.removeprefix("socket:[").rstrip("]") in nodes:
                owners.add(int(file.parts[2]))
    return owners


def test_a_manager_whose_port_is_taken_works_without(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        shell.environment["IGQ_METRICS_PORT"] = str(server.getsockname()[1])
        manager = shell.start_manager("QM1")

        assert "Address already in use" in manager.wait_for("IGQ0018I")
        assert manager.end() == 0
