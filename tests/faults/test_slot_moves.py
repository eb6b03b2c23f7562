"""A slot of a Cluster that is half moved, or moved, or without a node, while something waits, recovers or reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from igq.tools.trace import Identifiers, trace
from recovery.resolution import recover
from sharedq import pymqi
from sharedq.api import QueueManagerConnection
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.structures import MQCBC, MQCBD
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.constants.callbacks import CallbackOperation, CallType
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.objects.store.structures import announce, arm_queues
from sharedq.pymqi import CMQC
from sharedq.pymqi.connection import reconnection
from sharedq.reading.figures import FigureReader
from sharedq.reading.journal import read_entries, read_extent
from sharedq.reading.keyspace import read_at_once
from sharedq.redis.link import Link
from tests.faults.test_cluster import BOTH, spread_group
from tests.faults.test_links_follow_slots import take_off
from tests.igq.triggers.test_trigger_messages import Scene
from tests.support.accounts import assert_accounted
from tests.support.backups import mqsc
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.topologies import Cluster, Node, until

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(is_partial=True)
    yield cluster
    cluster.close()


@pytest.fixture
def group(cluster: Cluster, tmp_path: Path) -> Iterator[TestGroup]:
    test_group = spread_group(cluster, tmp_path)
    yield test_group
    test_group.close()


def key_of(group: TestGroup, structure: str = "APPL1") -> str:
    return group.group.structure(structure).messages


def until_waiting(cluster: Cluster, group: TestGroup) -> None:
    key = group.group.structure("APPL1").queue("SHARED").waiters
    until(lambda: cluster.owner(key).ask("EXISTS", key), "it waits")


def other_node(cluster: Cluster, key: str) -> Node:
    return next(node for node in cluster.primaries if node is not cluster.owner(key))


def refused(cluster: Cluster) -> int:
    """How many calls and waits the nodes have sent elsewhere."""
    statistics = [node.ask("INFO", "errorstats") for node in cluster.primaries]
    words = ("ASK", "TRYAGAIN", "MOVED")
    return sum(each.get(f"errorstat_{word}", {}).get("count", 0) for each in statistics for word in words)


class Consumer:
    """An MQCB consumer of SHARED, and what it was called with."""

    def __init__(self, connection: QueueManagerConnection) -> None:
        self.bodies: list[bytes] = []
        self.reasons: list[int] = []
        self.connection = connection.connection
        queue = connection.open("SHARED", OpenOption.INPUT_SHARED)
        gmo = MQGMO(options=int(GetOption.NO_SYNCPOINT | GetOption.WAIT), wait_interval=-1)
        mqcb(
            self.connection,
            CallbackOperation.REGISTER,
            MQCBD(callback_function=self._work),
            queue.handle,
            MQMD(),
            gmo,
        )
        mqctl(self.connection, CallbackOperation.START)

    def stop(self) -> int:
        return int(mqctl(self.connection, CallbackOperation.STOP)[-1])

    def _work(self, _connection: object, _md: object, _gmo: object, body: bytes | None, context: MQCBC) -> None:
        if context.call_type == CallType.MSG_REMOVED and body is not None:
            self.bodies.append(body)
        else:
            self.reasons.append(context.reason)


def test_a_consumer_goes_on_at_the_new_node(cluster: Cluster, group: TestGroup) -> None:
    consumer, program = Consumer(group.connect()), group.connect()
    program.put1("SHARED", b"before")
    until(lambda: consumer.bodies == [b"before"], "it is called")
    until_waiting(cluster, group)
    cluster.move(key_of(group), other_node(cluster, key_of(group)))
    program.put1("SHARED", b"after")
    until(lambda: consumer.bodies == [b"before", b"after"], "it is called at the new node")
    assert consumer.stop() == MQRC.NONE
    assert consumer.reasons == []


@pytest.mark.parametrize("keys", [1, 2])
def test_a_wait_that_begins_in_a_half_moved_slot_asks_seldom(cluster: Cluster, group: TestGroup, keys: int) -> None:
    """It ends in time, or goes on at the new node."""
    structure = group.group.structure("APPL1")
    names = [f"{structure.wake}NOBODY.{number}" for number in range(keys)]
    link, found = group.group.new_link(), list[bytes | None]()
    assert link.block_any(names, 0.01) is None
    with cluster.moving(key_of(group), other_node(cluster, key_of(group))):
        before, begun_s = refused(cluster), time.monotonic()
        assert link.block_any(names, 0.5) is None
        # Thousands of times if nothing paused it.
        assert refused(cluster) - before < 200
        assert time.monotonic() - begun_s < 5
        thread = threading.Thread(target=lambda: found.append(link.block_any(names, 60.0)))
        thread.start()
        until(lambda: refused(cluster) > before + 20, "it was refused")
    cluster.owner(names[-1]).ask("RPUSH", names[-1], "woken")
    thread.join()
    assert found == [names[-1].encode()]


def test_consumers_can_be_stopped_while_their_slot_is_half_moved(
    cluster: Cluster, group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer, program = Consumer(group.connect()), group.connect()
    until_waiting(cluster, group)
    monkeypatch.setattr("sharedq.redis.answers.MOVE_LIMIT_S", 0.1)
    with cluster.moving(key_of(group), other_node(cluster, key_of(group))):
        assert consumer.stop() == MQRC.NONE
    program.put1("SHARED", b"after")
    assert consumer.reasons == []
    mqctl(consumer.connection, CallbackOperation.START)
    until(lambda: consumer.bodies == [b"after"], "it goes on")
    assert consumer.stop() == MQRC.NONE


@pytest.mark.parametrize("options", [GetOption.WAIT, GetOption.WAIT | GetOption.BROWSE_FIRST])
def test_a_waiting_get_or_browse_outlasts_a_move(cluster: Cluster, group: TestGroup, options: GetOption) -> None:
    queue = group.connect().open("SHARED", BOTH | OpenOption.BROWSE)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(queue.get(options, wait_ms=-1).body))
    thread.start()
    until_waiting(cluster, group)
    cluster.move(key_of(group), other_node(cluster, key_of(group)))
    group.connect().put1("SHARED", b"here")
    thread.join()
    assert got == [b"here"]


@pytest.mark.parametrize("where", ["half moved", "not served"])
def test_a_recovery_goes_on_in_every_other_structure(cluster: Cluster, group: TestGroup, where: str) -> None:
    """A structure that is away delays the end of a recovery, and nothing that is elsewhere."""
    seed = group.connect()
    for name in ("SHARED", "PRIVATE"):
        seed.put1(name, b"kept")
    dead = group.connect(process=group.process())
    got = [dead.open(name, BOTH).get(GetOption.SYNCPOINT).body for name in ("SHARED", "PRIVATE")]
    assert got == [b"kept", b"kept"]
    dead.connection.process.stop_renewing()
    token, shared = dead.connection.process.token, key_of(group)
    recovering = partial(recover, group.group, group.connect().connection, token, force=True)
    begun_s = time.monotonic()
    with away(cluster, shared, where):
        assert reason_of(recovering) in (MQRC.CF_STRUC_IN_USE, MQRC.CF_NOT_AVAILABLE)
        assert seed.open("PRIVATE", BOTH).get().body == b"kept"
        # It waits for the structure less than for a lease.
        assert time.monotonic() - begun_s < group.settings.lease_ms / 1000
    assert recovering().is_resolved
    assert seed.open("SHARED", BOTH).get().body == b"kept"
    assert_accounted(group.group)


class away:  # noqa: N801 - reads as a statement
    """Within, the slot of *key* is half moved, or no node serves it."""

    def __init__(self, cluster: Cluster, key: str, where: str) -> None:
        self._cluster, self._key, self._where = cluster, key, where

    def __enter__(self) -> None:
        cluster, key = self._cluster, self._key
        self._node, self._slot = cluster.owner(key), key_slot(key.encode())
        if self._where == "half moved":
            self._moving = cluster.moving(key, other_node(cluster, key))
            self._moving.__enter__()
        else:
            take_off(cluster, self._slot)

    def __exit__(self, *_: object) -> None:
        if self._where == "half moved":
            self._moving.__exit__(None, None, None)
            return
        self._node.ask("CLUSTER", "ADDSLOTS", self._slot)
        until(self._is_served, "each node knows that it is served again")

    def _is_served(self) -> bool:
        served = [node.ask("CLUSTER", "SLOTS") for node in self._cluster.nodes]
        return all(any(first <= self._slot <= last for first, last, *_ in each) for each in served)


@pytest.mark.parametrize("where", ["half moved", "not served"])
def test_a_program_reconnects_when_its_structure_is_back(
    cluster: Cluster, group: TestGroup, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """2345 and 2346 mean "not yet" to a program that opens its queues again."""
    monkeypatch.setattr("sharedq.redis.answers.MOVE_LIMIT_S", 0.1)
    settings = group.settings
    for name, value in (("GROUP", settings.group), ("REDIS_URL", settings.redis_url), ("DATA_DIR", settings.data_dir)):
        monkeypatch.setenv(f"IGQ_{name}", str(value))
    qmgr = pymqi.connect("QM1", cno_options=CMQC.MQCNO_RECONNECT)
    queue = pymqi.Queue(qmgr, "SHARED", CMQC.MQOO_OUTPUT)
    queue.put(b"before")
    opened = threading.Event()
    again = reconnection._opened_again

    def noted(*arguments: Any) -> MQRC:
        reason = again(*arguments)
        if reason in (MQRC.CF_NOT_AVAILABLE, MQRC.CF_STRUC_IN_USE):
            opened.set()
        return reason

    monkeypatch.setattr(reconnection, "_opened_again", noted)
    failures: list[int] = []

    def put() -> None:
        try:
            queue.put(b"after")
        except pymqi.MQMIError as error:
            failures.append(error.reason)

    with away(cluster, key_of(group), where):
        qmgr._hconn().connection.break_off()
        thread = threading.Thread(target=put)
        thread.start()
        until(opened.is_set, "it was told not yet")
    thread.join()
    assert failures == []
    shared = group.connect().open("SHARED", BOTH)
    assert [shared.get().body for _ in range(2)] == [b"before", b"after"]
    qmgr.disconnect()


def test_a_server_that_still_loads_its_data_costs_its_structure_only(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = group.connect()
    make_known, refusals = Link._make_scripts_known, [redis.exceptions.BusyLoadingError("it reads its data")]

    def refuse_once(link: Link, wire: object) -> None:
        if refusals:
            raise refusals.pop()
        make_known(link, wire)  # type: ignore[arg-type]

    private = connection.open("PRIVATE", BOTH)
    monkeypatch.setattr(Link, "_make_scripts_known", refuse_once)
    assert reason_of(partial(connection.open, "SHARED", BOTH)) == MQRC.CF_NOT_AVAILABLE
    private.put(b"x")
    connection.open("SHARED", BOTH).put(b"y")
    assert connection.disconnect() == MQRC.NONE


def test_figures_leave_out_a_structure_that_is_half_moved(cluster: Cluster, group: TestGroup) -> None:
    reader = FigureReader(group.group)
    assert all(each.is_reachable for each in reader.read().structures)
    begun_s = time.monotonic()
    with cluster.moving(key_of(group), other_node(cluster, key_of(group))):
        reachable = {each.name: each.is_reachable for each in reader.read().structures}
    assert not reachable.pop("APPL1")
    assert all(reachable.values())
    assert time.monotonic() - begun_s < 5
    assert all(each.is_reachable for each in reader.read().structures)


def test_readers_of_all_structures_name_the_one_that_is_away(cluster: Cluster, group: TestGroup) -> None:
    connection = group.connect()
    opened = connection.open("PRIVATE", BOTH)
    connection.open("SHARED", BOTH).put(b"x")
    md = opened.put(b"y", options=PutOption.SYNCPOINT)
    token, versions = connection.connection.token, group.group.structure("@QM1").versions
    with cluster.moving(key_of(group), other_node(cluster, key_of(group))):
        status, out = mqsc(group, f"DISPLAY CONN({token}) TYPE(ALL)")
        threads = mqsc(group, "DISPLAY THREAD(*)")[1]
        way = trace(group.group, Identifiers(msg_id=md.msg_id))
        refused = [
            reason_of(lambda: announce(group.group, "DEF NOTHING", "77")),
            reason_of(lambda: arm_queues(group.group)),
        ]
    assert status == 0
    assert "OBJNAME(PRIVATE)" in out
    assert "UOWSTATE(ACTIVE)" in out
    for text in (out, threads):
        assert "CFSTRUCT(APPL1)" in text
        assert "2346" in text
    assert [each.row.event for each in way.steps] == ["put"]
    assert list(way.away) == ["APPL1"]
    assert refused == [MQRC.CF_STRUC_IN_USE] * 2
    assert group.group.command(versions, "HGET", versions, "DEF NOTHING") == b"77"
    connection.backout()
    assert mqsc(group, "DISPLAY CONN(*) TYPE(ALL)")[1].count("CFSTRUCT(APPL1)") == 0


def test_readers_of_the_journal_and_the_keys_follow_a_slot(cluster: Cluster, group: TestGroup) -> None:
    """Over one client that was made before the slot moved, and over those made after that."""
    keys = group.group.structure("APPL1")
    group.connect().put1("SHARED", b"x")
    client = group.group.client(keys.journal)
    before = read_extent(client, keys)
    cluster.move(key_of(group), other_node(cluster, key_of(group)))
    assert read_extent(client, keys) == before
    cluster.move(key_of(group), other_node(cluster, key_of(group)))
    assert len(list(read_entries(client, keys))) == 1
    cluster.move(key_of(group), other_node(cluster, key_of(group)))
    (there,) = read_at_once(group.group, keys.journal, [("nothing", keys.journal)])
    assert there
    assert_accounted(group.group)


def test_a_reader_of_keys_says_that_a_slot_is_half_moved(
    cluster: Cluster, group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sharedq.redis.answers.MOVE_LIMIT_S", 0.1)
    keys = group.group.structure("APPL1")
    with cluster.moving(key_of(group), other_node(cluster, key_of(group))):
        asked = [("nothing", each) for each in (keys.sequence, f"{keys.tag}:nothing")]
        read: Callable[[], object] = partial(read_at_once, group.group, keys.sequence, asked)
        assert reason_of(read) == MQRC.CF_STRUC_IN_USE


@pytest.mark.invariant(1, 8)
@pytest.mark.parametrize("where", ["half moved", "not served"])
@pytest.mark.parametrize(("kind", "wanted"), [("EVERY", 3), ("FIRST", 1), ("DEPTH", 1)])
def test_triggers_wait_for_the_slot_of_their_queue(
    cluster: Cluster, group: TestGroup, monkeypatch: pytest.MonkeyPatch, where: str, kind: str, wanted: int
) -> None:
    """A writer that meets the slot away writes nothing, and forgets no mark."""
    monkeypatch.setattr("sharedq.redis.answers.MOVE_LIMIT_S", 0.1)
    # The group has QM2 already.
    monkeypatch.setattr(group, "add_member", lambda _: None)
    scene = Scene(group)
    scene.define(trigger_type=kind, trigger_depth=3)
    scene.watch("QM1")
    putter = scene.putter()
    for _ in range(3):
        putter.put(b"x")
    with away(cluster, key_of(group), where):
        for writer in scene.writers[:2]:
            assert reason_of(writer.take) in (MQRC.CF_STRUC_IN_USE, MQRC.CF_NOT_AVAILABLE)
    assert scene.count() == wanted
    assert scene.count() == 0
    putter.put(b"x")
    assert scene.count() == (kind == "EVERY")
