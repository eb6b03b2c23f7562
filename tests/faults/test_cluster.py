"""A group whose structures lie on different nodes of a Redis Cluster; slots that move, nodes that die."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recovery.resolution import recover
from sharedq import MQIError, Queue
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.redis.durability import read_weakest
from sharedq.redis.keys import admin_keys, structure_keys
from tests.support.members import TestGroup, new_group_name
from tests.support.scenes import recover_lost
from tests.support.topologies import Cluster, Node, until

pytestmark = pytest.mark.faults

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
UNIT = PutOption.SYNCPOINT, GetOption.SYNCPOINT


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three primaries. Tests that kill nodes start their own."""
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.fixture
def group(cluster: Cluster, tmp_path: Path) -> Iterator[TestGroup]:
    """Two managers; administration, APPL1 and QM1's own structure lie on three nodes."""
    test_group = spread_group(cluster, tmp_path)
    yield test_group
    test_group.close()


def spread_group(cluster: Cluster, data_dir: Path) -> TestGroup:
    """A group with two managers, a shared queue SHARED and a private one of QM1, PRIVATE."""
    owners = {"": cluster.primaries[0]}
    name = ""
    while len(set(owners.values())) < 3:
        name = new_group_name()
        owners = homes(cluster, name)
    group = TestGroup(cluster.url, data_dir, group=name)
    for qmgr in ("QM1", "QM2"):
        group.add_member(qmgr)
    group.define_structure("APPL1")
    group.define_shared("SHARED")
    group.define_private("QM1", "PRIVATE")
    return group


def homes(cluster: Cluster, group_name: str) -> dict[str, Node]:
    """The node that has each structure."""
    keys = {
        "admin": admin_keys(group_name).group,
        "APPL1": structure_keys(group_name, "APPL1").messages,
        "@QM1": structure_keys(group_name, "@QM1").messages,
    }
    return {name: cluster.owner(key) for name, key in keys.items()}


def bodies(queue: Queue) -> list[bytes]:
    """Take everything off a queue."""
    found = []
    while True:
        try:
            found.append(queue.get().body)
        except MQIError as error:
            if error.reason != MQRC.NO_MSG_AVAILABLE:
                raise
            return found


def test_structures_lie_on_different_nodes(cluster: Cluster, group: TestGroup) -> None:
    """The layout that the other tests rely on."""
    assert len(set(homes(cluster, group.group.name).values())) == 3


@pytest.mark.parametrize("is_committed", [True, False])
def test_unit_of_work_over_two_nodes(group: TestGroup, is_committed: bool) -> None:
    """Both structures take the unit of work, or neither."""
    connection = group.connect()
    shared, private = connection.open("SHARED", BOTH), connection.open("PRIVATE", BOTH)
    private.put(b"before")
    private.get(GetOption.SYNCPOINT)
    shared.put(b"one", options=PutOption.SYNCPOINT)
    private.put(b"two", options=PutOption.SYNCPOINT)
    if is_committed:
        connection.commit()
    else:
        connection.backout()
    assert bodies(shared) == ([b"one"] if is_committed else [])
    assert bodies(private) == ([b"two"] if is_committed else [b"before"])


def test_waiting_get_is_woken(group: TestGroup) -> None:
    """The keys that waiting connections block on lie beside the queue."""
    waiting, putting = group.connect("QM1"), group.connect("QM2")
    queue, got = waiting.open("SHARED", BOTH), []
    thread = threading.Thread(target=lambda: got.append(queue.get(GetOption.WAIT, wait_ms=60_000).body))
    thread.start()
    putting.open("SHARED", BOTH).put(b"here")
    thread.join()
    assert got == [b"here"]


def test_a_cluster_is_as_durable_as_its_weakest_primary(cluster: Cluster, group: TestGroup) -> None:
    admin = cluster.owner(group.group.keys.group)
    other = next(node for node in cluster.primaries if node is not admin)
    for node in cluster.primaries:
        node.ask("CONFIG", "SET", "appendfsync", "always")
    assert read_weakest(group.group.clients()).level == "always"
    other.ask("CONFIG", "SET", "appendfsync", "everysec")
    assert read_weakest(group.group.clients()).level == "everysec"
    for node in cluster.primaries:
        node.ask("CONFIG", "SET", "appendfsync", "no")


def test_slot_moves_between_calls(cluster: Cluster, group: TestGroup) -> None:
    """A call to a slot that has moved did nothing, so it is sent on, and the program does not notice."""
    connection = group.connect()
    queue = connection.open("SHARED", BOTH)
    queue.put(b"outside")
    queue.put(b"inside", options=PutOption.SYNCPOINT)
    key = structure_keys(group.group.name, "APPL1").messages
    source = cluster.owner(key)
    target = next(node for node in cluster.primaries if node is not source)
    cluster.move(key, target)
    queue.put(b"inside too", options=PutOption.SYNCPOINT)
    connection.commit()
    assert cluster.owner(key) is target
    assert bodies(queue) == [b"outside", b"inside", b"inside too"]


def test_slot_moves_under_a_waiting_get(cluster: Cluster, group: TestGroup) -> None:
    """A waiter waits at the new node, too."""
    waiting, putting = group.connect("QM1"), group.connect("QM2")
    queue, got = waiting.open("SHARED", BOTH), []
    thread = threading.Thread(target=lambda: got.append(queue.get(GetOption.WAIT, wait_ms=60_000).body))
    thread.start()
    key = structure_keys(group.group.name, "APPL1").queue("SHARED").waiters
    until(lambda: cluster.owner(key).ask("EXISTS", key), "it waits")
    cluster.move(key, next(node for node in cluster.primaries if node is not cluster.owner(key)))
    putting.open("SHARED", BOTH).put(b"here")
    thread.join()
    assert got == [b"here"]


def test_call_while_a_slot_moves(cluster: Cluster, group: TestGroup) -> None:
    """A structure whose keys are being moved has no single place, so the call waits until it has."""
    connection = group.connect()
    queue = connection.open("SHARED", BOTH)
    queue.put(b"before")
    key = structure_keys(group.group.name, "APPL1").messages
    target = next(node for node in cluster.primaries if node is not cluster.owner(key))
    refused = cluster.refusals()
    with cluster.moving(key, target):
        thread = threading.Thread(target=queue.put, args=(b"meanwhile",))
        thread.start()
        until(lambda: cluster.refusals() > refused, "the put was told to try again")
    thread.join()
    assert bodies(queue) == [b"before", b"meanwhile"]


def test_slot_that_does_not_arrive(cluster: Cluster, group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """2346 after a while, with nothing done and the connection unchanged."""
    monkeypatch.setattr("sharedq.redis.answers.MOVE_LIMIT_S", 0.2)
    connection = group.connect()
    queue = connection.open("SHARED", BOTH)
    queue.put(b"before", options=PutOption.SYNCPOINT)
    key = structure_keys(group.group.name, "APPL1").messages
    target = next(node for node in cluster.primaries if node is not cluster.owner(key))
    with cluster.moving(key, target):
        with pytest.raises(MQIError) as caught:
            queue.put(b"never")
        assert caught.value.reason == MQRC.CF_STRUC_IN_USE
    connection.commit()
    assert bodies(queue) == [b"before"]


def test_node_dies_and_comes_back(tmp_path: Path) -> None:
    """Calls on its structures fail. The acknowledged messages are there when it is back. Other calls never notice."""
    cluster = Cluster()
    group = spread_group(cluster, tmp_path)
    try:
        connection, other = group.connect(), group.connect()
        shared, private = connection.open("SHARED", BOTH), other.open("PRIVATE", BOTH)
        shared.put(b"kept")
        node = homes(cluster, group.group.name)["APPL1"]
        node.kill()
        with pytest.raises(MQIError) as caught:
            shared.put(b"unknown")
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
        private.put(b"elsewhere")
        node.start()
        until(lambda: all("cluster_state:ok" in each.ask("CLUSTER", "INFO") for each in cluster.nodes), "it is up")
        assert bodies(group.connect().open("SHARED", BOTH)) == [b"kept"]
        assert bodies(private) == [b"elsewhere"]
    finally:
        group.close()
        cluster.close()


def test_node_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its machine accepts requests but no answer comes, while another node renews the leases."""
    monkeypatch.setattr("sharedq.calls.get.wait.BLOCK_MAX_S", 1.0)
    cluster = Cluster(is_partial=True)
    group = spread_group(cluster, tmp_path)
    programs = TestGroup(cluster.url, tmp_path, group=group.group.name, lease_ms=3_000)
    outcomes: list[object] = []

    def call(act: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                outcomes.append(act())
            except MQIError as error:
                outcomes.append(error.reason)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    try:
        putting, waiting = (programs.connect(qmgr).open("SHARED", BOTH) for qmgr in ("QM1", "QM2"))
        private = programs.connect().open("PRIVATE", BOTH)
        putting.put(b"kept")
        node = homes(cluster, group.group.name)["APPL1"]
        assert waiting.get(GetOption.SYNCPOINT).body == b"kept"
        waits = call(lambda: waiting.get(GetOption.WAIT, wait_ms=-1).body)
        key = structure_keys(group.group.name, "APPL1").queue("SHARED").waiters
        until(lambda: node.ask("EXISTS", key), "it waits")
        node.stop()
        puts = call(lambda: putting.put(b"unknown").persistence)
        for thread in (waits, puts):
            thread.join(120)
        assert outcomes == [MQRC.CONNECTION_BROKEN] * 2
        private.put(b"elsewhere")
        assert bodies(private) == [b"elsewhere"]
        node.go_on()
        until(cluster.is_up, "it is up")
        for queue in (putting, waiting):
            recover_lost(group, queue.connection.token, queue.connection.qmgr_name)
        assert bodies(group.connect().open("SHARED", BOTH)) in ([b"kept"], [b"kept", b"unknown"])
    finally:
        programs.close()
        group.close()
        cluster.close()


@pytest.mark.invariant(7)
def test_node_fails_over(tmp_path: Path) -> None:
    """With WAIT for its replica, acknowledged messages are there after a fail-over, once, and in order."""
    cluster = Cluster(has_replicas=True)
    group = spread_group(cluster, tmp_path)
    careful = TestGroup(cluster.url, tmp_path, group=group.group.name, wait_replicas=1, wait_replicas_timeout_ms=60_000)
    try:
        queue = careful.connect().open("SHARED", BOTH)
        sent = [b"%d" % number for number in range(50)]
        for body in sent:
            queue.put(body)
        key = structure_keys(group.group.name, "APPL1").messages
        primary = cluster.owner(key)
        primary.kill()
        with pytest.raises(MQIError) as caught:
            queue.put(b"unknown")
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
        until(lambda: cluster.owner(key) is not primary, "the replica took over", limit_s=120)
        until(lambda: "cluster_state:ok" in cluster.owner(key).ask("CLUSTER", "INFO"), "it is up", limit_s=120)
        assert bodies(group.connect().open("SHARED", BOTH)) == sent
    finally:
        careful.close()
        group.close()
        cluster.close()


def test_a_member_is_removed_from_any_node_of_its_structure(group: TestGroup) -> None:
    """Its keys go from every node. While messages are on their way to it, none does."""
    group.define_private("QM2", "ORDERS")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    sender = group.connect("QM1")
    assert recover(group.group, sender.connection, "QM2.1", force=True, state="STOPPED").is_resolved
    sender.put1("ORDERS", b"on its way", qmgr_name="QM2")
    tag = group.group.structure("@QM2").tag

    with pytest.raises(RemovalRefusedError, match=r"TRANSMIT\.QUEUE for QM2 has messages \(1\)"):
        remove_member(group.group, "QM2")
    # Take it by hand, as its agent would.
    group.repository("QM2").clear(SYSTEM_QSG_TRANSMIT_QUEUE)
    remove_member(group.group, "QM2")

    assert [key for client in group.group.clients() for key in client.scan_iter(match=f"{tag}:*")] == []
    assert [member.name for member in group.group.members()] == ["QM1"]
    sender.put1("SHARED", b"goes on")
    assert sender.disconnect() == MQRC.NONE
    group.add_member("QM2")
    assert group.repository("QM2").lookup("ORDERS") is None
