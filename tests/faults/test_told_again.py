"""A coordinator that asks again is answered only by what enough replicas have, though the answer changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import Batch
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from tests.support.members import TestGroup
from tests.support.topologies import Node, free_ports, until

pytestmark = pytest.mark.faults

XID = b"xid"
BATCH = Batch("series", 1)


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


CALLS: dict[str, tuple[Batch | None, Callable[[QueueManagerConnection], bool]]] = {
    "one": (None, lambda program: program.commit_prepared(XID)),
    "together": (None, lambda program: program.commit_prepared_together([XID])),
    "a batch": (BATCH, lambda program: program.commit_prepared_together([XID], BATCH)),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_no_replica_has_is_not_acknowledged_to_who_asks_again(pair: Pair, name: str) -> None:
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
