"""A manager starts while a part of Redis is away for a moment: it waits, says for what, and goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.test_cluster import homes
from tests.support.members import new_group_name
from tests.support.topologies import Cluster, Node, SentinelPair, free_ports, until

pytestmark = pytest.mark.faults

LIMIT_S = 120.0


class Starting:
    """A manager as a process. Its output goes to a file."""

    def __init__(self, url: str, data_dir: Path, group: str, **settings: Any) -> None:
        data_dir.mkdir(exist_ok=True)
        self._output = data_dir / "output"
        told = {f"IGQ_{name.upper()}": str(value) for name, value in settings.items()}
        environment = {"IGQ_REDIS_URL": url, "IGQ_DATA_DIR": str(data_dir), "IGQ_GROUP": group, **told}
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "igq", "qmgr", "start", "QM1"],
                env={**os.environ, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def wait_for(self, words: str) -> str:
        """The line that contains them."""
        until(lambda: self._line(words) or self.process.poll() is not None, words, LIMIT_S)
        line = self._line(words)
        assert line, self._output.read_text()
        return line

    def _line(self, words: str) -> str:
        return next((line for line in self._output.read_text().splitlines() if words in line), "")

    def count(self, words: str) -> int:
        """The number of times it has said so."""
        return self._output.read_text().count(words)

    def stop(self) -> None:
        """Stop it cleanly."""
        self.process.terminate()
        assert self.process.wait(LIMIT_S) == 0, self._output.read_text()

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Starting]]:
    """Starts managers, one after the other."""
    started: list[Starting] = []

    def start_one(url: str, group: str, **settings: Any) -> Starting:
        started.append(Starting(url, tmp_path / "data", group, **settings))
        return started[-1]

    yield start_one
    for each in started:
        each.kill()


@pytest.mark.parametrize("away", ["admin", "APPL1", "@QM1"])
def test_a_node_of_a_cluster_is_away(start: Callable[..., Starting], away: str) -> None:
    cluster, name, found = Cluster(is_partial=True), "", dict[str, Node]()
    try:
        while len({*found.values()}) < 3:
            name = new_group_name()
            found = homes(cluster, name)
        first = start(cluster.url, name, lease_ms=3000)
        first.wait_for("CSQ9022I")
        first.stop()
        found[away].kill()
        manager = start(cluster.url, name, lease_ms=3000)
        assert str(found[away].port) in manager.wait_for("IGQ0003E")
        found[away].start()
        manager.wait_for("CSQ9022I")
        assert manager.count("IGQ0001E") == 0
        manager.stop()
    finally:
        cluster.close()


def test_a_primary_that_sentinels_watch_is_away(start: Callable[..., Starting]) -> None:
    # Until it says that it waits, no other takes the place of the primary.
    pair, name = SentinelPair(down_after_ms=3_600_000), new_group_name()
    try:
        pair.primary.kill()
        manager = start(pair.url, name)
        manager.wait_for("IGQ0003E")
        pair.notice_after(1_000)
        manager.wait_for("CSQ9022I")
        manager.stop()
    finally:
        pair.close()


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    """A primary, and a replica that is not running."""
    ports = free_ports(2)
    options = ("--appendonly", "yes", "--appendfsync", "no", "--save", "")
    primary = Node(tmp_path / "primary", ports[0], *options)
    replica = Node(tmp_path / "replica", ports[1], *options, "--replicaof", f"127.0.0.1 {ports[0]}")
    replica.kill()
    until(lambda: primary.ask("INFO", "replication")["connected_slaves"] == 0, "the primary is alone")
    yield primary, replica
    primary.kill()
    replica.kill()


@pytest.mark.parametrize(("durability", "message"), [("report", "IGQ0003E"), ("strict", "IGQ0005E")])
def test_a_replica_is_away(
    start: Callable[..., Starting], lone: tuple[Node, Node], durability: str, message: str
) -> None:
    primary, replica = lone
    careful = {"wait_replicas": "1", "wait_replicas_timeout_ms": "1000", "lease_ms": "3000", "durability": durability}
    manager = start(f"redis://{primary.address}", new_group_name(), **careful)
    assert "replica" in manager.wait_for(message)
    replica.start()
    manager.wait_for("CSQ9022I")
    manager.stop()


def test_a_start_that_waits_can_be_stopped(start: Callable[..., Starting], lone: tuple[Node, Node]) -> None:
    manager = start(f"redis://{lone[0].address}", new_group_name(), wait_replicas=1, wait_replicas_timeout_ms=1000)
    manager.wait_for("IGQ0003E")
    manager.stop()
