"""A node of a Redis Cluster that the network cuts off: its structures wait, and everything else goes on."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from igq.rehearsal.drills.troubles.network import Network
from sharedq import MQIError
from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.redis.keys import admin_keys, structure_keys
from tests.cli.conftest import Shell, new_shell
from tests.support.members import TestGroup, new_group_name
from tests.support.partitions import RemoteCluster, inside, network_or_skip
from tests.support.program import Program
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.faults
BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
PATIENCE_S = 180
#: The node that has only APPL1.
CUT_OFF = RemoteCluster.MACHINES[2]


@pytest.fixture
def network() -> Iterator[Network]:
    with network_or_skip(*RemoteCluster.MACHINES, "app") as network:
        yield network


class Scene:
    """Two managers and their programs on one machine, each node of the Cluster on another one.

    AWAY and IDLE are in APPL1, on the node that is going to be cut off. Q and LOG are in APPL2; PRIVATE is QM1's.
    """

    def __init__(self, cluster: RemoteCluster, data_dir: Path) -> None:
        self.cluster = cluster
        name = _name_of_a_group(cluster)
        self.shell: Shell = new_shell(data_dir)
        self.shell.environment |= {"IGQ_REDIS_URL": cluster.url, "IGQ_GROUP": name}
        self.managers = [self.shell.start_manager(qmgr) for qmgr in ("QM1", "QM2")]
        self.group = TestGroup(cluster.url, data_dir, group=name, lease_ms=5_000)
        self.group.define_structure("APPL2")
        for queue, structure in (("AWAY", "APPL1"), ("IDLE", "APPL1"), ("Q", "APPL2"), ("LOG", "APPL2")):
            self.group.define_shared(queue, structure)
        self.group.define_private("QM1", "PRIVATE")
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()

    def repeat(self, act: Callable[[], object]) -> None:
        """Repeat it in a thread until the end."""

        def run() -> None:
            while not self._is_over.is_set():
                act()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)

    def end_programs(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def recoveries(self) -> dict[str, str]:
        """The recoveries, finished and running, with their states."""
        found: Any = self.group.group.client().hgetall(self.group.group.keys.recoveries)
        return {failed.decode(): json.loads(text)["state"] for failed, text in found.items()}

    def lost_by_managers(self) -> list[str]:
        """Lost connections of the managers themselves."""
        found: Any = self.group.group.client().hgetall(self.group.group.keys.processes)
        own = [token.decode() for token, text in found.items() if json.loads(text)["appl"] == "manager"]
        return [failed for failed in self.recoveries() if failed.rpartition(".")[0] in own]

    def lives_of_managers(self) -> list[tuple[str, int]]:
        """The managers' states and incarnations."""
        return [(each.state, each.incarnation) for each in self.group.group.members()]

    def close(self) -> None:
        self.end_programs()
        self.group.close()
        self.shell.close()


def _name_of_a_group(cluster: RemoteCluster) -> str:
    """A Cluster in which the node to be cut off has APPL1 and nothing else."""
    while True:
        name = new_group_name()
        others = [admin_keys(name).group, *(structure_keys(name, each).messages for each in ("@QM1", "@QM2", "APPL2"))]
        away = cluster.machine(cluster.owner(structure_keys(name, "APPL1").messages))
        if away == CUT_OFF and CUT_OFF not in {cluster.machine(cluster.owner(key)) for key in others}:
            return name


@pytest.fixture
def scene(network: Network, tmp_path: Path) -> Iterator[Scene]:
    """The test's own thread is on the machine of the programs."""
    with inside(network, "app"):
        cluster = RemoteCluster(network)
        scene = Scene(cluster, tmp_path)
        yield scene
        scene.close()
        cluster.close()


class Transfers:
    """Puts the same body on AWAY and on LOG in one unit of work, over a new connection each time."""

    def __init__(self, group: TestGroup) -> None:
        self._group = group
        self.committed: list[bytes] = []
        self.failures: list[MQRC] = []
        self._numbers = itertools.count()

    def __call__(self) -> None:
        body = b"%d" % next(self._numbers)
        try:
            connection = self._group.connect()
            for name in ("AWAY", "LOG"):
                connection.open(name, OpenOption.OUTPUT).put(body, options=PutOption.SYNCPOINT)
            connection.commit()
            self.committed.append(body)
            connection.disconnect()
        except MQIError as error:
            self.failures.append(error.reason)


class Rounds:
    """Puts a message at QM2 for QM1's PRIVATE, and gets it there, in units of work."""

    def __init__(self, group: TestGroup) -> None:
        self._far = group.connect("QM2").open("PRIVATE", OpenOption.OUTPUT, qmgr_name="QM1")
        self._own = group.connect("QM1").open("PRIVATE", BOTH)
        self.done = 0

    def __call__(self) -> None:
        self._far.put(b"%d" % self.done, options=PutOption.SYNCPOINT)
        commit(self._far.connection)
        body = self._own.get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=PATIENCE_S * 1000).body
        commit(self._own.connection)
        assert body == b"%d" % self.done
        self.done += 1


def test_calls_on_other_nodes_go_on_and_nothing_is_lost_or_doubled(network: Network, scene: Scene) -> None:
    group = scene.group
    transfers, rounds, outcomes = Transfers(group), Rounds(group), list[object]()
    group.connect("QM2").open("Q", BOTH).put(b"of a dead program")
    program, waiting = Program(group.settings), group.connect("QM2").open("IDLE", BOTH)

    def wait() -> None:
        try:
            outcomes.append(waiting.get(GetOption.WAIT, wait_ms=-1).body)
        except MQIError as error:
            outcomes.append(error.reason)

    threading.Thread(target=wait, daemon=True).start()
    scene.repeat(transfers)
    scene.repeat(transfers)
    scene.repeat(rounds)
    until(lambda: rounds.done > 3, "messages travel", PATIENCE_S)

    network.cut(CUT_OFF)
    done, failures = rounds.done, len(transfers.failures)
    assert program.does("get uncommitted") == "of a dead program"
    program.close()
    until(lambda: len(transfers.failures) > failures + 5, "calls there fail", PATIENCE_S)
    until(lambda: outcomes == [MQRC.CONNECTION_BROKEN], "so does a wait", PATIENCE_S)
    until(lambda: on_queue(group, "Q", "APPL2") == [(b"of a dead program", 1)], "it is back", PATIENCE_S)
    until(lambda: rounds.done > done + 20, "everything else goes on", PATIENCE_S)
    # Each transfer has a connection of its own: 2345 if that had not reached the node when it was cut off.
    assert set(transfers.failures) <= {MQRC.CONNECTION_BROKEN, MQRC.CF_NOT_AVAILABLE}
    status = scene.shell.status()
    assert [(each["name"], each["state"]) for each in status["structures"]] == [
        ("APPL1", "UNREACHABLE"),
        ("APPL2", "ACTIVE"),
    ]
    assert {"LOG", "PRIVATE"} <= {queue["name"] for queue in status["queues"]}
    displayed = scene.shell.out("mqsc", "QM1", "-c", "DISPLAY QLOCAL(*)")
    assert "QUEUE(LOG)" in displayed
    assert "CSQM112E: Error accessing CFSTRUCT(APPL1), MQRC_CF_NOT_AVAILABLE (2345)" in displayed
    assert scene.lives_of_managers() == [("RUNNING", 1), ("RUNNING", 1)]

    network.heal(CUT_OFF)
    until(scene.cluster.is_up, "the Cluster is whole again", PATIENCE_S)
    committed = len(transfers.committed)
    until(lambda: len(transfers.committed) > committed, "calls there succeed", PATIENCE_S)
    scene.end_programs()
    until(lambda: set(scene.recoveries().values()) == {"RESOLVED"}, "what was lost is recovered", PATIENCE_S)
    bodies = {name: [body for body, _ in on_queue(group, *name)] for name in (("AWAY", "APPL1"), ("LOG", "APPL2"))}
    # At most the calls that were under way there.
    assert len(scene.lost_by_managers()) <= len(scene.managers)
    assert Counter(bodies["AWAY", "APPL1"]) == Counter(bodies["LOG", "APPL2"])
    assert set(Counter(bodies["LOG", "APPL2"]).values()) == {1}
    assert set(transfers.committed) <= set(bodies["LOG", "APPL2"])
    assert scene.lives_of_managers() == [("RUNNING", 1), ("RUNNING", 1)]
