"""Programs whose machine is cut off from Redis, silently, for longer than their lease and for less.

Drills rehearse what managers do about it: at the end of this file, as far as there is time.
"""

from __future__ import annotations

import fcntl
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from igq.rehearsal.drills.run import run_once
from igq.rehearsal.drills.scenarios import SCENARIOS
from igq.rehearsal.drills.troubles.network import Network
from recovery.resolution import recover
from sharedq import MQIError
from sharedq.api import Queue, QueueManagerConnection
from sharedq.display.terminal import Terminal
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.redis.script_source import load_script
from sharedq.settings.values import Settings
from tests.support.members import TestGroup
from tests.support.partitions import Remote, inside, network_or_skip
from tests.support.scenes import contents, on_queue, until

pytestmark = pytest.mark.faults
BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
PATIENCE_S = 120
DRILLS = sorted(name for name, scenario in SCENARIOS.items() if scenario.has_machines)


@pytest.fixture
def network() -> Iterator[Network]:
    with network_or_skip("redis", "app") as network:
        yield network


@pytest.fixture
def server(network: Network, tmp_path: Path) -> Iterator[Remote]:
    server = Remote(tmp_path / "redis", network, "redis", "--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.kill()


class Program:
    """A program on the machine ``app``, and the rest of its group, which needs no network to reach Redis."""

    def __init__(self, network: Network, server: Remote, data_dir: Path, **settings: int) -> None:
        self.group = TestGroup(server.local_url, data_dir, **settings)
        self.group.add_member("QM1")
        self.group.add_member("QM2")
        self.group.define_structure()
        self.group.define_shared("Q")
        with inside(network, "app"):
            url = f"redis://{server.address}"
            self.there = TestGroup(url, data_dir, group=self.group.group.name, **settings)
            # The other one accounts for both: this thread leaves the machine, and elsewhere anybody has its addresses.
            self.there.is_accounted = False
            self.connection: QueueManagerConnection = self.there.connect("QM1")
            self.queue: Queue = self.connection.open("Q", BOTH)
        self._network = network
        self.outcomes: list[object] = []
        self._threads: list[threading.Thread] = []

    def begin(self, call: Callable[[], object]) -> None:
        """Call a function in a thread of the program. `outcomes` gets its result, or its reason code."""

        def run() -> None:
            try:
                self.outcomes.append(call())
            except MQIError as error:
                self.outcomes.append(error.reason)

        with inside(self._network, "app"):
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
        self._threads.append(thread)

    def close(self) -> None:
        self.there.close()
        self.group.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)


@pytest.fixture
def program(network: Network, server: Remote, tmp_path: Path) -> Iterator[Program]:
    """The lease outlasts every test: only the peers take the program for dead."""
    program = Program(network, server, tmp_path)
    yield program
    program.close()


class Monitor:
    """The calls to Redis since then."""

    def __init__(self, server: Remote) -> None:
        self._client = server.client()
        self._seen: list[str] = []
        self._monitor = self._client.monitor()
        self._monitor.__enter__()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for each in self._monitor.listen():
                self._seen.append(each["command"])
        except Exception:  # noqa: BLE001 - closed with the server, whatever that looks like
            return

    def has_seen(self, script: str) -> bool:
        """Whether a call of *script* has arrived."""
        sha = load_script(script).sha
        return any(sha in command for command in self._seen.copy())


def waits(server: Remote, connection: QueueManagerConnection) -> bool:
    """Whether its wait has arrived, and its kernel knows that and has nothing to send again."""
    with server.client() as client:
        is_blocked = any(each["cmd"] == "blpop" for each in client.client_list())
    wires = connection.connection._link._by_endpoint.values()
    unacknowledged = (fcntl.ioctl(each, termios.TIOCOUTQ, bytes(4)) for each in wires)
    return is_blocked and not any(map(any, unacknowledged))


@pytest.mark.invariant(2)
def test_a_call_that_arrives_after_the_recovery_changes_nothing(
    network: Network, server: Remote, program: Program
) -> None:
    """The network holds a commit back until peers have recovered its program; then it delivers it."""
    program.queue.put(b"got")
    program.queue.get(GetOption.SYNCPOINT)
    program.queue.put(b"put", options=PutOption.SYNCPOINT)
    network.cut("app")
    program.begin(program.connection.commit)
    owner = program.connection.connection.process.token
    recoverer = program.group.connect("QM2").connection
    assert recover(program.group.group, recoverer, owner, force=True).is_resolved
    recovered = contents(program.group)
    monitor = Monitor(server)
    assert not monitor.has_seen("structure/commit")

    network.heal("app")

    until(lambda: monitor.has_seen("structure/commit"), "the commit arrives", PATIENCE_S)
    until(lambda: program.outcomes, "it has an outcome", PATIENCE_S)
    assert program.outcomes == [MQRC.CONNECTION_BROKEN]
    assert contents(program.group) == recovered
    assert on_queue(program.group, "Q") == [(b"got", 1)]


def test_calls_and_waits_go_on_after_a_short_cut(network: Network, server: Remote, program: Program) -> None:
    """Each call happens once, and none fails."""
    program.begin(lambda: program.queue.get(GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=-1).body)
    until(lambda: waits(server, program.connection), "it waits", PATIENCE_S)
    network.cut("app")
    with program.group.connect("QM2").open("Q", OpenOption.OUTPUT) as queue:
        queue.put(b"while it was cut off")
        queue.put(b"next")
    assert program.outcomes == []
    network.heal("app")
    until(lambda: program.outcomes, "the wake-up arrives", PATIENCE_S)
    assert program.outcomes == [b"while it was cut off"]
    network.cut("app")
    program.begin(lambda: program.queue.put(b"put").persistence)
    program.begin(lambda: program.queue.get(GetOption.NO_SYNCPOINT).body)
    network.heal("app")
    until(lambda: len(program.outcomes) == 3, "both are answered", PATIENCE_S)
    assert b"next" in program.outcomes
    assert on_queue(program.group, "Q") == [(b"put", 0)]


def test_a_wait_notices_that_the_machine_of_redis_is_another_one(
    network: Network, server: Remote, tmp_path: Path
) -> None:
    """Its power failed and came back within a lease: a caller is told at once, and a waiter must find out."""
    program = Program(network, server, tmp_path, lease_ms=6_000)
    try:
        program.begin(lambda: program.queue.get(GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=-1))
        until(lambda: waits(server, program.connection), "it waits", PATIENCE_S)
        network.cut("redis")
        server.kill()
        network.replace("redis")
        server.start()
        until(lambda: program.outcomes, "the wait has ended", PATIENCE_S)
        assert program.outcomes == [MQRC.CONNECTION_BROKEN]
    finally:
        program.close()


@pytest.mark.invariant(9)
@pytest.mark.parametrize(("lease_ms", "silence_s"), [(2_000, 3_600.0), (600_000, 4.0)])
def test_a_program_that_stays_cut_off_gets_2009(
    network: Network, server: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lease_ms: int, silence_s: float
) -> None:
    """Whether it waits or calls, it learns of the partition from its own lease and from its kernel."""
    monkeypatch.setattr("sharedq.members.group.silence_of", lambda _: silence_s)
    program = Program(network, server, tmp_path, lease_ms=lease_ms)
    try:
        with inside(network, "app"):
            other = program.there.connect("QM1").open("Q", BOTH)
        program.begin(lambda: program.queue.get(GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=-1))
        until(lambda: waits(server, program.connection), "it waits", PATIENCE_S)
        network.cut("app")
        program.begin(lambda: other.put(b"never answered"))
        until(lambda: len(program.outcomes) == 2, "both have ended", PATIENCE_S)
        assert program.outcomes == [MQRC.CONNECTION_BROKEN] * 2
    finally:
        program.close()


@pytest.mark.parametrize("name", DRILLS)
def test_a_drill_of_a_partition_loses_doubles_and_reorders_nothing(name: str, tmp_path: Path) -> None:
    with network_or_skip("trial"):
        pass
    settings = Settings(data_dir=tmp_path)
    verdict = run_once(SCENARIOS[name], settings, seed=1, console=Terminal(quiet=True), departures=300)
    assert verdict.problems == {kind: [] for kind in verdict.problems}
    assert verdict.delivered == verdict.expected > 0
