"""Redis on several servers for tests: a Cluster, and a primary with a replica that Sentinels watch over."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from igq.processes.child import die_with_parent
from sharedq.redis.embedded_server import find_server, server_environment
from sharedq.redis.keys import structure_keys
from tests.support import scenes

HOST = "127.0.0.1"
SLOTS = 16384
SERVICE = "igq"
#: Ports of servers. The kernel gives higher ones to connections that leave, and to sockets that name none.
PORTS = range(12_000, 32_000)
#: Processes of a test run, at most, that share them.
_PROCESSES = 16
#: A server counts as failed after this long without an answer, ms. Test machines freeze for seconds.
NODE_TIMEOUT_MS = 5_000


class Node:
    """One server on its own port. It can be killed and started again on the same data."""

    def __init__(self, directory: Path, port: int, *options: str) -> None:
        self.port = port
        self._directory = directory
        self._options = options
        directory.mkdir()
        self.start()

    @property
    def host(self) -> str:
        """The address for other processes."""
        return HOST

    @property
    def address(self) -> str:
        """Host and port, as URLs have them."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Start it on its present data. Returns when it answers."""
        self._process = subprocess.Popen(
            [*self._enter(), str(find_server()), *self._options, *self._place()],
            env=server_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # If the run is killed, its servers end too.
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - it does one system call
        )
        until(lambda: self.ask("PING"), "the server answers")

    def _enter(self) -> list[str]:
        """The words before a command that make it run on the server's machine."""
        return []

    def _place(self) -> list[str]:
        return ["--bind", HOST, "--port", str(self.port), "--dir", str(self._directory)]

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def client(self) -> redis.Redis:
        """A plain client that retries nothing."""
        return redis.Redis(host=HOST, port=self.port, retry=Retry(NoBackoff(), 0), protocol=2, decode_responses=True)

    def ask(self, *command: str | int) -> Any:
        """The answer to one command."""
        with self.client() as client:
            return client.execute_command(*command)

    def knows(self, count: int) -> bool:
        """Whether it knows this many nodes of the Cluster, itself included."""
        return len(self.ask("CLUSTER", "NODES").splitlines()) == count

    def stop(self) -> None:
        """SIGSTOP: clients get no answer, and its machine goes on accepting requests."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()


class Cluster:
    """A Redis Cluster: *primaries* that share the slots, and a replica for each if wanted.

    Args:
        is_partial: what the others have is served while one is away.
    """

    def __init__(self, primaries: int = 3, *, has_replicas: bool = False, is_partial: bool = False) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="igq")
        servers = primaries * (2 if has_replicas else 1)
        ports, coverage = free_ports(2 * servers), ("--cluster-require-full-coverage", "no" if is_partial else "yes")
        root = Path(self._directory.name)
        self.nodes: Sequence[Node] = [
            self._new_node(root / str(port), port, *_DATA_OPTIONS, *_cluster_options(bus_port), *coverage)
            for port, bus_port in zip(ports[:servers], ports[servers:], strict=True)
        ]
        self.primaries, self.replicas = self.nodes[:primaries], self.nodes[primaries:]
        self._share_slots()
        self._meet(ports[servers:])
        until(lambda: all(node.knows(servers) for node in self.nodes), "all know each other")
        for primary, replica in zip(self.primaries, self.replicas, strict=False):
            replica.ask("CLUSTER", "REPLICATE", primary.ask("CLUSTER", "MYID"))
        until(self.is_up, "it is up")

    def _new_node(self, directory: Path, port: int, *options: str) -> Node:
        return Node(directory, port, *options)

    def is_up(self) -> bool:
        """Whether every node thinks that all slots are served."""
        return all("cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.nodes)

    @property
    def url(self) -> str:
        """Its URL. Two nodes suffice to find the rest."""
        return "redis+cluster://" + ",".join(node.address for node in self.nodes[:2])

    def owner(self, key: str) -> Node:
        """The node that has *key* now."""
        living = next(node for node in self.nodes if node.is_running)
        slot = key_slot(key.encode())
        ports = [found[2][1] for found in living.ask("CLUSTER", "SLOTS") if found[0] <= slot <= found[1]]
        return next(node for node in self.nodes if node.port in ports)

    def one_on_each(self, group: str) -> list[str]:
        """Names of structures of this group that are on different primaries, one for each."""
        found: dict[int, str] = {}
        for number in count():
            name = f"S{number}"
            found.setdefault(self.owner(structure_keys(group, name).messages).port, name)
            if len(found) == len(self.primaries):
                break
        return list(found.values())

    def move(self, key: str, target: Node) -> None:
        """Move the slot of *key*, with all that is in it, to *target*, step by step as a rebalancing tool does."""
        with self.moving(key, target):
            pass

    @contextmanager
    def moving(self, key: str, target: Node) -> Iterator[None]:
        """Within, half the keys of the slot of *key* are on their old node and half are on *target*."""
        slot, source = key_slot(key.encode()), self.owner(key)
        to, of = target.ask("CLUSTER", "MYID"), source.ask("CLUSTER", "MYID")
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", of)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to)
        names = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000)
        halves = names[: len(names) // 2], names[len(names) // 2 :]
        source.ask("MIGRATE", target.host, target.port, "", 0, 10_000, "KEYS", *halves[0])
        try:
            yield
        finally:
            source.ask("MIGRATE", target.host, target.port, "", 0, 10_000, "KEYS", *halves[1])
            for node in (target, source, *self.primaries):
                node.ask("CLUSTER", "SETSLOT", slot, "NODE", to)

    def refusals(self) -> int:
        """The number of calls that nodes have refused because a slot was being moved."""
        statistics = [node.ask("INFO", "errorstats") for node in self.primaries]
        return sum(each.get("errorstat_TRYAGAIN", {}).get("count", 0) for each in statistics)

    def close(self) -> None:
        """Stop it and remove its data."""
        for node in self.nodes:
            node.kill()
        self._directory.cleanup()

    def _share_slots(self) -> None:
        count = len(self.primaries)
        for at, node in enumerate(self.primaries):
            node.ask("CLUSTER", "ADDSLOTSRANGE", at * SLOTS // count, (at + 1) * SLOTS // count - 1)

    def _meet(self, bus_ports: Sequence[int]) -> None:
        first = self.nodes[0]
        for node, bus_port in zip(self.nodes[1:], bus_ports[1:], strict=True):
            first.ask("CLUSTER", "MEET", node.host, node.port, bus_port)


class SentinelPair:
    """A primary and a replica, and three Sentinels that promote the replica when the primary is gone."""

    def __init__(self, *, down_after_ms: int = NODE_TIMEOUT_MS) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="igq")
        root = Path(self._directory.name)
        ports = free_ports(5)
        self.primary = Node(root / "primary", ports[0], *_DATA_OPTIONS)
        self.replica = Node(root / "replica", ports[1], *_DATA_OPTIONS, "--replicaof", f"{HOST} {ports[0]}")
        until(lambda: self.replica.ask("INFO", "replication")["master_link_status"] == "up", "the replica follows")
        self.sentinels = [self._start_sentinel(root / f"sentinel{port}", port, down_after_ms) for port in ports[2:]]
        until(lambda: all(self._knows_all(sentinel) for sentinel in self.sentinels), "the Sentinels know each other")

    @property
    def url(self) -> str:
        """Its URL."""
        return "redis+sentinel://" + ",".join(node.address for node in self.sentinels) + f"/{SERVICE}"

    def is_in_step(self) -> bool:
        """Whether the replica has what the primary has."""
        found = [node.ask("INFO", "replication") for node in (self.primary, self.replica)]
        return bool(found[0]["master_repl_offset"] == found[1]["slave_repl_offset"])

    def notice_after(self, down_after_ms: int) -> None:
        """From now on the Sentinels take a server for down if it has not answered for this long."""
        for sentinel in self.sentinels:
            sentinel.ask("SENTINEL", "SET", SERVICE, "down-after-milliseconds", down_after_ms)

    def fail_over(self) -> None:
        """Kill the primary. Returns when the replica accepts writes."""
        self.primary.kill()
        until(lambda: self.replica.ask("ROLE")[0] == "master", "the replica is promoted", limit_s=120)

    def close(self) -> None:
        """Stop all and remove their data."""
        for node in (*self.sentinels, self.primary, self.replica):
            node.kill()
        self._directory.cleanup()

    def _start_sentinel(self, directory: Path, port: int, down_after_ms: int) -> Node:
        settings = directory.with_suffix(".conf")
        settings.write_text(
            f"sentinel monitor {SERVICE} {HOST} {self.primary.port} 2\n"
            f"sentinel down-after-milliseconds {SERVICE} {down_after_ms}\n"
            f"sentinel failover-timeout {SERVICE} 30000\n"
        )
        sentinel = Node(directory, port, str(settings), "--sentinel")
        # A Sentinel does nothing for half a minute after it was itself not run for two seconds. Some machines do that.
        sentinel.ask("SENTINEL", "DEBUG", "tilt-trigger", 120_000)
        return sentinel

    def _knows_all(self, sentinel: Node) -> bool:
        answer = sentinel.ask("SENTINEL", "MASTER", SERVICE)
        found = dict(zip(answer[::2], answer[1::2], strict=True))
        return bool(found["num-other-sentinels"] == "2" and found["num-slaves"] == "1")


def until(is_true: Callable[[], object], what: str, limit_s: float = 60.0) -> None:
    """Return when *is_true* is, as `scenes.until` does. A server that does not answer yet is no error."""

    def is_so() -> object:
        try:
            return is_true()
        except redis.RedisError:
            return False

    scenes.until(is_so, what, limit_s)


@cache
def _own_ports() -> Iterator[int]:
    """Ports that no other process of the test run gives to servers. After the last one the first one follows."""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _PROCESSES
    own = PORTS[process::_PROCESSES]
    first = random.randrange(len(own))
    return cycle([*own[first:], *own[:first]])


def free_ports(count: int) -> list[int]:
    """Ports without a listener, for servers that may begin to listen later, or be down for a while."""
    found: list[int] = []
    while len(found) < count:
        port = next(_own_ports())
        with socket.socket() as one, suppress(OSError):
            one.bind((HOST, port))
            found.append(port)
    return found


_DATA_OPTIONS = ("--appendonly", "yes", "--appendfsync", "no", "--save", "")


def _cluster_options(bus_port: int) -> tuple[str, ...]:
    return (
        *("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS)),
        *("--cluster-port", str(bus_port), "--repl-diskless-sync-delay", "0"),
    )
