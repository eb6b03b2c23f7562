"""A coordinator that asks again gets only answers that enough replicas have, even if the answer changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import UnitBatch
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.objects.repository import Repository
from sharedq.redis.keys import admin_keys, structure_keys
from tests.support.injection import Injection
from tests.support.members import TestGroup, new_group_name
from tests.support.topologies import Cluster, Node, free_ports, until

pytestmark = pytest.mark.faults

XID = b"xid"
BATCH = UnitBatch("series", 1)


@dataclass
class Pair:
    """A primary, a replica of it, and three programs: two that wait for the replica, and one that does not."""

    primary: Node
    replica: Node
    careful: TestGroup
    first: QueueManagerConnection
    again: QueueManagerConnection
    careless: QueueManagerConnection


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    ports, options = free_ports(2), ("--appendonly", "yes", "--appendfsync", "no", "--save", "")
    primary = Node(tmp_path / "primary", ports[0], *options, "--repl-timeout", "3600")
    replica = Node(tmp_path / "replica", ports[1], *options, "--replicaof", f"127.0.0.1 {ports[0]}")
    until(lambda: replica.ask("INFO", "replication")["master_link_status"] == "up", "the replica follows")
    url = f"redis://{primary.address}"
    careful = TestGroup(url, tmp_path, wait_replicas=1, wait_replicas_timeout_ms=60_000)
    careful.add_member("QM1")
    careful.define_structure()
    careful.define_shared("Q")
    careless = TestGroup(url, tmp_path, group=careful.group.name)
    yield Pair(primary, replica, careful, careful.connect(), careful.connect(), careless.connect())
    replica.go_on()
    careful.close()
    careless.close()
    replica.kill()
    primary.kill()


CALLS: dict[str, tuple[UnitBatch | None, Callable[[QueueManagerConnection], bool]]] = {
    "one": (None, lambda program: program.commit_prepared(XID)),
    "together": (None, lambda program: program.commit_prepared_together([XID])),
    "a batch": (BATCH, lambda program: program.commit_prepared_together([XID], BATCH)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_unreplicated_answer_is_not_acknowledged_on_repetition(pair: Pair, name: str) -> None:
    batch, commit = CALLS[name]
    pair.first.open("Q", OpenOption.OUTPUT).put(b"kept", options=PutOption.SYNCPOINT)
    pair.first.prepare(XID, batch)
    pair.replica.stop()
    commit(pair.careless)
    pair.again.connection._link._wait = (1, 100)
    with pytest.raises(MQIError) as caught:
        commit(pair.again)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    pair.replica.go_on()
    commit(pair.first)
    assert pair.replica.ask("INFO", "replication")["role"] == "slave"


Act = Callable[[QueueManagerConnection], object]


def delete(program: QueueManagerConnection) -> None:
    Repository(program.connection.group, "QM1").delete("QLOCAL", "EMPTY", disposition="SHARED")


def alter(program: QueueManagerConnection) -> None:
    Repository(program.connection.group, "QM1").alter_qmgr("QM1", {"igq": "DISABLED"})


#: The act, and the call that is lost the first time, if one is.
REPEATED: dict[str, tuple[Act, str]] = {
    "commit": (lambda program: program.commit_prepared(XID), "admin/complete"),
    "back out": (lambda program: program.backout_prepared(XID), "admin/complete"),
    "delete": (delete, "admin/remove_object"),
    "alter": (alter, ""),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(has_replicas=True, is_partial=True)
    yield cluster
    cluster.close()


@pytest.mark.parametrize("name", REPEATED)
def test_an_empty_repeat_waits_for_the_replica_of_its_structure(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A repeat goes on to another node, and there forgets what the first one had begun."""
    (act, lost), group_name = REPEATED[name], name_on_two_nodes(cluster)
    careless = TestGroup(cluster.url, tmp_path, group=group_name)
    careful = TestGroup(cluster.url, tmp_path, group=group_name, wait_replicas=1, wait_replicas_timeout_ms=60_000)
    replica = cluster.replicas[cluster.primaries.index(cluster.owner(structure_keys(group_name, "APPL1").messages))]
    try:
        careful.add_member("QM1")
        careful.define_structure()
        careful.define_shared("Q")
        careful.define_shared("EMPTY")
        program, again, first = careful.connect(), careful.connect(), careless.connect()
        for each in (again, first):
            each.open("Q", OpenOption.OUTPUT)
        program.open("Q", OpenOption.OUTPUT).put(b"kept", options=PutOption.SYNCPOINT)
        program.prepare(XID)
        replica.stop()
        with monkeypatch.context() as patched:
            if lost:
                Injection(lost, "call lost").arm(patched)
            with pytest.raises(MQIError) if lost else nullcontext():
                act(first)
        # It need not enter anew a structure that it has entered by now; that would be a write.
        for link in (again.connection._link, *careful.group._all_links):
            link.wait_for(1, 100)
        with pytest.raises(MQIError, match="0 of 1 replicas"):
            act(again)
        replica.go_on()
        for link in careful.group._all_links:
            link.wait_for(1, 60_000)
        act(program)
    finally:
        replica.go_on()
        careful.close()
        careless.close()


def name_on_two_nodes(cluster: Cluster) -> str:
    """The name of a group whose APPL1 is not where its administration structure is."""
    while True:
        name = new_group_name()
        if cluster.owner(admin_keys(name).group) is not cluster.owner(structure_keys(name, "APPL1").messages):
            return name
