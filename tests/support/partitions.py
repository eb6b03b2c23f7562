"""Machines for tests that a network can part: see `igq.rehearsal.drills.troubles.network`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from igq.errors import CommandError
from igq.rehearsal.drills.troubles.network import Network
from tests.support.topologies import NODE_TIMEOUT_MS, SERVICE, Cluster, Node, until

_CLONE_NEWNET = 0x4000_0000
PORT = 6379
SENTINEL_PORTS = (26379, 26380, 26381)


@contextmanager
def network_or_skip(*names: str) -> Iterator[Network]:
    """A network of these machines. If there can be none, the test is skipped and says why."""
    try:
        network = Network(names)
    except CommandError as error:
        pytest.skip(str(error))
    with network:
        yield network


@contextmanager
def inside(network: Network, name: str) -> Iterator[None]:
    """This thread, and threads that it starts meanwhile, are on a machine: their connections begin there."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(network.namespace(name), os.O_RDONLY)
    try:
        _enter(there)
        try:
            yield
        finally:
            _enter(before)
    finally:
        os.close(before)
        os.close(there)


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def split(network: Network, one_side: Iterable[str], other_side: Iterable[str]) -> None:
    """From now on no process on one side hears any on the other."""
    others = list(other_side)
    for one in one_side:
        for other in others:
            network.part(one, other)


def rejoin(network: Network, one_side: Iterable[str], other_side: Iterable[str]) -> None:
    """They hear each other again."""
    others = list(other_side)
    for one in one_side:
        for other in others:
            network.join(one, other)


class Remote(Node):
    """A server on a machine of its own. The test itself reaches it without the network."""

    def __init__(self, directory: Path, network: Network, name: str, *options: str, port: int = PORT) -> None:
        self._network, self._name = network, name
        self._socket = directory.parent / f"{name}.{port}"
        super().__init__(directory, port, *options)

    @property
    def host(self) -> str:
        return self._network.address(self._name)

    def _enter(self) -> list[str]:
        return self._network.enter(self._name)

    def _place(self) -> list[str]:
        return [
            *("--bind", self._network.address(self._name), "--port", str(self.port), "--protected-mode", "no"),
            *("--dir", str(self._directory), "--unixsocket", str(self._socket)),
        ]

    @property
    def local_url(self) -> str:
        """Its address for clients outside the network."""
        return f"unix://{self._socket}"

    def client(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self._socket), retry=Retry(NoBackoff(), 0), protocol=2, decode_responses=True
        )


class RemoteCluster(Cluster):
    """A Redis Cluster whose primaries are on their own machines. No other node can serve the slots of one."""

    MACHINES = ("node0", "node1", "node2")

    def __init__(self, network: Network) -> None:
        self._network, self._machines = network, iter(self.MACHINES)
        super().__init__(len(self.MACHINES), is_partial=True)

    def _new_node(self, directory: Path, port: int, *options: str) -> Node:
        return Remote(directory, self._network, next(self._machines), *options, port=port)

    def machine(self, node: Node) -> str:
        """The machine of a node."""
        return self.MACHINES[self.nodes.index(node)]


class RemotePair:
    """A primary on the machine ``old``, a replica on ``new``, and three Sentinels on ``watch``."""

    MACHINES = ("old", "new", "watch")

    def __init__(self, root: Path, network: Network) -> None:
        data = ("--appendonly", "yes", "--appendfsync", "no", "--save", "")
        place = network.address("old")
        self.old = Remote(root / "old", network, "old", *data)
        self.new = Remote(root / "new", network, "new", *data, "--replicaof", f"{place} {PORT}")
        until(lambda: self.ask_link(self.new) == "up", "the replica follows")
        self.sentinels: list[Remote] = []
        for port in SENTINEL_PORTS:
            settings = root / f"sentinel{port}.conf"
            settings.write_text(
                f"sentinel monitor {SERVICE} {place} {PORT} 2\n"
                f"sentinel down-after-milliseconds {SERVICE} {NODE_TIMEOUT_MS}\n"
                f"sentinel failover-timeout {SERVICE} 30000\n"
            )
            sentinel = Remote(root / f"sentinel{port}", network, "watch", str(settings), "--sentinel", port=port)
            # A Sentinel does nothing for half a minute after it was itself not run for two seconds.
            sentinel.ask("SENTINEL", "DEBUG", "tilt-trigger", 120_000)
            self.sentinels.append(sentinel)
        until(lambda: all(self._knows_all(sentinel) for sentinel in self.sentinels), "the Sentinels know each other")

    @property
    def url(self) -> str:
        """Its address, with its Sentinels."""
        return "redis+sentinel://" + ",".join(node.address for node in self.sentinels) + f"/{SERVICE}"

    def ask_link(self, node: Remote) -> Any:
        """The state of a replica's link to its primary."""
        return node.ask("INFO", "replication").get("master_link_status")

    def is_promoted(self) -> bool:
        """Whether the replica has become the primary."""
        return bool(self.new.ask("ROLE")[0] == "master")

    def is_demoted(self) -> bool:
        """Whether the old primary follows the new one."""
        return bool(self.old.ask("ROLE")[0] == "slave") and self.ask_link(self.old) == "up"

    def close(self) -> None:
        """Stop all."""
        for node in (*self.sentinels, self.old, self.new):
            node.kill()

    def _knows_all(self, sentinel: Remote) -> bool:
        answer = sentinel.ask("SENTINEL", "MASTER", SERVICE)
        found = dict(zip(answer[::2], answer[1::2], strict=True))
        return bool(found["num-other-sentinels"] == "2" and found["num-slaves"] == "1")
