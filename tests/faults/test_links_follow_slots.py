"""Slots of a Cluster move or have no server: links go to the node that has a structure, and to no other."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.connection import AbstractConnection
from redis.crc import key_slot

from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.redis.deployment import Deployment, Endpoint
from sharedq.redis.link import Link, ScriptCall
from sharedq.scripts.connections import attach_call, detach_call
from tests.faults.test_cluster import BOTH, homes, spread_group
from tests.support.accounts import assert_accounted
from tests.support.injection import Exchange
from tests.support.members import TestGroup, new_group_name
from tests.support.outcomes import reason_of
from tests.support.scenes import recover_lost
from tests.support.topologies import Cluster, Node, until

pytestmark = pytest.mark.faults


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Three primaries. Each serves its own slots, whatever the others do."""
    cluster = Cluster(is_partial=True)
    yield cluster
    for node in cluster.nodes:
        node.go_on()
    cluster.close()


def group_with_one_home(cluster: Cluster, data_dir: Path) -> TestGroup:
    """APPL1 is on the node of the administration structure, so over one link."""
    name, found = "", dict[str, Node]()
    while not found or found["APPL1"] is not found["admin"]:
        name = new_group_name()
        found = homes(cluster, name)
    group = TestGroup(cluster.url, data_dir, group=name)
    group.add_member("QM1")
    group.define_structure("APPL1")
    group.define_shared("SHARED")
    return group


def move_away(cluster: Cluster, group: TestGroup) -> Node:
    """Move APPL1 off the node of the administration structure. Return the node that has it now."""
    key = group.group.structure("APPL1").messages
    target = next(node for node in cluster.primaries if node is not homes(cluster, group.group.name)["admin"])
    cluster.move(key, target)
    # The next request there is redirected.
    group.group.command(group.group.structure("APPL1").owners, "HLEN", group.group.structure("APPL1").owners)
    return target


def test_a_renewal_waits_for_no_call_to_a_node_that_hangs(cluster: Cluster, tmp_path: Path) -> None:
    group = group_with_one_home(cluster, tmp_path)
    process = group.process()
    assert process._renew()
    node, keys = move_away(cluster, group), group.group.structure("APPL1")
    node.stop()
    caller = threading.Thread(target=lambda: group.group.command(keys.owners, "HLEN", keys.owners))
    caller.start()
    until(lambda: any(shared.link.turn % 2 for shared in group.group._links._by_endpoint.values()), "it hangs")
    assert process._renew()
    assert group.group.member("QM1") is not None
    assert caller.is_alive()
    node.go_on()
    caller.join()
    group.close()


def test_a_renewal_waits_for_no_wake_up_at_a_node_that_hangs(cluster: Cluster, tmp_path: Path) -> None:
    """A waiter in a structure is woken when another structure has failed, or the manager quiesces."""
    group = spread_group(cluster, tmp_path)
    process = group.process()
    waiting = group.connect(process=process)
    queue, got = waiting.open("SHARED", BOTH), list[bytes]()
    waiter = threading.Thread(target=lambda: got.append(queue.get(GetOption.WAIT, wait_ms=60_000).body))
    waiter.start()
    until(lambda: waiting.connection._waiting_on, "it waits")
    node = cluster.owner(group.group.structure("APPL1").messages)
    node.stop()
    process._failures_told -= 1
    assert process._renew()
    node.go_on()
    group.connect().put1("SHARED", b"here")
    waiter.join()
    assert got == [b"here"]
    group.close()


def test_a_link_goes_where_the_slot_went_also_after_it_was_lost(cluster: Cluster, tmp_path: Path) -> None:
    group = group_with_one_home(cluster, tmp_path)
    node, keys = move_away(cluster, group), group.group.structure("APPL1")
    group.group.command(keys.owners, "HLEN", keys.owners)
    links = group.group._links
    assert str(links.server_of(keys.owners)).count(str(node.port)) == 1
    node.kill()
    node.start()
    until(cluster.is_up, "it is up")
    group.group.command(keys.owners, "HLEN", keys.owners)
    assert links.server_of(keys.owners) != links.server_of(group.group.keys.group)
    group.close()


@pytest.fixture
def moved_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[TestGroup, Callable[[], None]]]:
    """A group in a Cluster with a node that has none of its structures; and what moves APPL1 there, where this process
    cannot reach it.
    """
    cluster = Cluster(4, is_partial=True)
    group = spread_group(cluster, tmp_path)
    (spare,) = set(cluster.primaries) - set(homes(cluster, group.group.name).values())
    open_at = Deployment.open

    def open_or_fail(self: Deployment, endpoint: Endpoint, **options: float | None) -> AbstractConnection:
        if endpoint.port == spare.port:
            raise redis.ConnectionError("no route to host")
        return open_at(self, endpoint, **options)

    def move() -> None:
        monkeypatch.setattr(Deployment, "open", open_or_fail)
        cluster.move(group.group.structure("APPL1").messages, spare)

    yield group, move
    group.close()
    cluster.close()


@pytest.mark.invariant(3)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_decided_commit_stays_decided_where_a_structure_has_moved_out_of_reach(
    moved_out_of_reach: tuple[TestGroup, Callable[[], None]], monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    """Whether the link learns of the move before it sends the commits or by the answer to one: the program must not be
    told that nothing was done, or it would back the rest out.
    """
    group, move = moved_out_of_reach
    program = group.connect()
    for name in ("SHARED", "PRIVATE"):
        program.open(name, BOTH).put(b"1", options=PutOption.SYNCPOINT)
    move()
    if is_known:
        call_apart = Link.call_apart

        def forget_the_way(self: Link, calls: Sequence[ScriptCall]) -> list[object]:
            self._deployment.forget()
            self._by_key.clear()
            return call_apart(self, calls)

        monkeypatch.setattr(Link, "call_apart", forget_the_way)
    assert reason_of(program.commit) == MQRC.CONNECTION_BROKEN
    assert reason_of(program.backout) == MQRC.CONNECTION_BROKEN
    monkeypatch.undo()
    group.group.deployment().forget()
    recover_lost(group, program.connection.token)
    assert [group.connect().open(name, BOTH).get().body for name in ("SHARED", "PRIVATE")] == [b"1", b"1"]
    assert_accounted(group.group)


def test_calls_that_have_run_are_answered_though_a_later_one_is_out_of_reach(
    moved_out_of_reach: tuple[TestGroup, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    group, move = moved_out_of_reach
    keys = group.group.structure("APPL1")
    link = group.group.new_link()
    call = attach_call(keys, ("QM1.1.1.1", "QM1", 1, "QM1.1.1"))
    exchange_all = Link._exchange_all

    def move_after_the_first(self: Link, exchanges: Sequence[Exchange], **pace: Any) -> list[list[object]]:
        replies = exchange_all(self, exchanges, **pace)
        if len(replies[0]) > 1:
            replies[0][1:] = [redis.exceptions.MovedError("1 127.0.0.1:1")] * (len(replies[0]) - 1)
            move()
        return replies

    link.call_many([call])
    monkeypatch.setattr(Link, "_exchange_all", move_after_the_first)
    replies = link.call_many([call, call, call])
    assert replies[1:] == [[MQRC.CF_NOT_AVAILABLE]] * 2
    assert not link.is_broken
    link.close()
    monkeypatch.undo()
    group.group.deployment().forget()
    group.group.call(*detach_call(keys, "QM1.1.1.1"))


def take_off(cluster: Cluster, slot: int) -> None:
    """Have no node serve a slot. The nodes tell each other, so one may know already when it is its turn."""
    for node in cluster.nodes:
        try:
            node.ask("CLUSTER", "DELSLOTS", slot)
        except redis.ResponseError as error:
            if "already unassigned" not in str(error):
                raise


def test_only_calls_on_an_unserved_slot_fail(cluster: Cluster, tmp_path: Path) -> None:
    """A program, the status and MQSC go on with everything else."""
    group = spread_group(cluster, tmp_path)
    with group.connect() as seed:
        seed.put1("SHARED", b"kept")
        seed.put1("PRIVATE", b"asked")
    node, slot = homes(cluster, group.group.name)["APPL1"], key_slot(group.group.structure("APPL1").owners.encode())
    take_off(cluster, slot)

    assert not group.group.can_reach("APPL1")
    connection = group.connect()
    private = connection.open("PRIVATE", BOTH)
    assert private.get(GetOption.SYNCPOINT).body == b"asked"
    for call in (lambda: connection.open("SHARED", OpenOption.OUTPUT), lambda: connection.put1("SHARED", b"x")):
        with pytest.raises(MQIError) as caught:
            call()
        assert caught.value.reason == MQRC.CF_NOT_AVAILABLE
    private.put(b"answer", options=PutOption.SYNCPOINT)
    connection.commit()
    assert private.get().body == b"answer"
    assert connection.disconnect() == MQRC.NONE

    environment = {"IGQ_DATA_DIR": str(tmp_path), "IGQ_GROUP": group.group.name, "IGQ_REDIS_URL": cluster.url}
    status = run_igq(environment, "status")
    assert (status.returncode, status.stderr) == (0, "")
    displayed = run_igq(environment, "mqsc", "QM1", "-c", "DISPLAY QLOCAL(PRIVATE)", "-c", "DISPLAY QLOCAL(SHARED)")
    assert displayed.returncode == 10
    assert "QUEUE(PRIVATE)" in displayed.stdout
    assert f"no node of the Cluster serves slot {slot}" in displayed.stdout

    node.ask("CLUSTER", "ADDSLOTS", slot)
    until(lambda: all(serves(each, slot) for each in cluster.nodes), "each node knows that it is served again")
    # The first call finds it, whatever this process had read before.
    assert group.connect().open("SHARED", BOTH).get().body == b"kept"
    group.close()


def test_a_link_to_a_slot_that_no_node_serves_any_more_fails_with_2345(cluster: Cluster, tmp_path: Path) -> None:
    """Its node refuses the call, and the link goes on to serve everything else."""
    group = spread_group(cluster, tmp_path)
    waiter, program = group.connect(), group.connect()
    waiting, shared = waiter.open("SHARED", BOTH), program.open("SHARED", BOTH)
    private = program.open("PRIVATE", BOTH)
    private.put(b"kept", options=PutOption.SYNCPOINT)
    repository = group.repository("QM1")
    assert repository.queue_status("SHARED").depth == 0
    key = group.group.structure("APPL1").queue("SHARED").waiters
    reasons: list[int] = []
    thread = threading.Thread(target=lambda: reasons.append(reason_of(lambda: waiting.get(GetOption.WAIT, wait_ms=-1))))
    thread.start()
    node = homes(cluster, group.group.name)["APPL1"]
    until(lambda: node.ask("EXISTS", key), "it waits")
    slot = key_slot(key.encode())
    take_off(cluster, slot)
    thread.join()
    for call in (
        lambda: program.open("SHARED", OpenOption.OUTPUT),
        lambda: shared.put(b"x"),
        lambda: shared.put(b"x", options=PutOption.SYNCPOINT),
        shared.get,
        lambda: program.put1("SHARED", b"x"),
        lambda: repository.queue_status("SHARED"),
    ):
        assert reason_of(call) == MQRC.CF_NOT_AVAILABLE
    program.commit()
    assert private.get().body == b"kept"
    node.ask("CLUSTER", "ADDSLOTS", slot)
    until(lambda: all(serves(each, slot) for each in cluster.nodes), "each node knows that it is served again")
    # That it waits could not be taken back, so it is a lost connection.
    assert reasons == [MQRC.CONNECTION_BROKEN]
    recover_lost(group, waiter.connection.token, "QM1")
    shared.put(b"here")
    assert shared.get().body == b"here"
    assert program.disconnect() == MQRC.NONE
    group.close()


def serves(node: Node, slot: int) -> bool:
    """Whether this node knows of one that serves *slot*."""
    return any(first <= slot <= last for first, last, *_ in node.ask("CLUSTER", "SLOTS"))


def run_igq(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the group."""
    return subprocess.run(
        [sys.executable, "-m", "igq", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
