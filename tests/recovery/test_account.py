"""The account of a group's keys finds each planted orphan, and nothing in a healthy group."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import redis

from recovery.accounting.account import account
from recovery.accounting.contents import ADMIN_TYPES, TYPES
from recovery.accounting.finding import FaultKind
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.redis.keys import AdminKeys, StructureKeys, admin_keys, structure_keys
from tests.recovery.scene import Scene
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
GONE = "QM1.1.77.1"
Plant = Callable[[redis.Redis, TestGroup], object]


def found(group: TestGroup) -> list[tuple[FaultKind, str]]:
    """Kind and field of each finding."""
    return [(finding.kind, finding.name) for finding in account(group.group)]


@pytest.mark.parametrize(
    ("keys", "types"), [(admin_keys("G"), ADMIN_TYPES), (structure_keys("G", "S"), TYPES)], ids=["admin", "structure"]
)
def test_each_key_of_a_structure_has_a_type(keys: AdminKeys | StructureKeys, types: Mapping[str, str]) -> None:
    named = [getattr(keys, each.name) for each in dataclasses.fields(keys)]
    kinds = [text.removeprefix(f"{keys.tag}:") for text in named if text.startswith(f"{keys.tag}:")]
    assert len(kinds) >= 17
    assert [kind for kind in kinds if kind not in types] == []


def key(group: TestGroup, kind: str) -> str:
    """A key of APPL1."""
    return f"{group.group.structure('APPL1').tag}:{kind}"


def admin(group: TestGroup, kind: str) -> str:
    """A key of the administration structure."""
    return f"{group.group.keys.tag}:{kind}"


@pytest.fixture
def used(group: TestGroup) -> TestGroup:
    """Q with an available message. A reader and a writer are connected."""
    group.define_shared("Q")
    group.connect().put1("Q", b"kept", MQMD(persistence=1))
    return group


def prepared(client: redis.Redis, group: TestGroup) -> None:
    client.rpush(key(group, f"u:{GONE}/1"), f"A{GONE}/1")


def temporary(client: redis.Redis, group: TestGroup) -> None:
    text: Any = client.hget(key(group, "q:Q"), "def")
    changed = json.loads(text) | {"definition_type": "TEMPDYN"}
    client.hset(key(group, "q:Q"), "def", json.dumps(changed))


#: A planted orphan, and the required finding: kind and field.
PLANTED: dict[str, tuple[Plant, FaultKind, str]] = {
    "handle": (lambda r, g: r.hset(key(g, "h:Q"), f"{GONE}#1", "Q {}"), FaultKind.HANDLE, f"{GONE}#1"),
    "holding": (lambda r, g: r.sadd(key(g, f"o:{GONE}"), "Q\n1"), FaultKind.HOLDING, "Q 1"),
    "lock": (lambda r, g: r.hset(key(g, "l:Q"), f"{GONE}#1", ""), FaultKind.LOCK, f"{GONE}#1"),
    "mark": (lambda r, g: r.hset(key(g, "k:Q"), "77", f"{GONE}#1\n"), FaultKind.MARK, "77"),
    "marks": (lambda r, g: r.zadd(key(g, f"k:Q\n{GONE}#1\na"), {"77": 1}), FaultKind.MARK, ""),
    "waiter": (lambda r, g: r.zadd(key(g, "w:Q"), {f"A{GONE}": 0}), FaultKind.WAITER, f"A{GONE}"),
    "owner": (lambda r, g: r.hset(key(g, "own"), GONE, ""), FaultKind.OWNER, GONE),
    "dead": (lambda r, g: r.hset(key(g, "dead"), GONE, ""), FaultKind.DEAD, GONE),
    "unit": (lambda r, g: r.rpush(key(g, f"u:{GONE}"), f"A{GONE}/1"), FaultKind.UNIT, ""),
    "prepared unit": (prepared, FaultKind.UNIT, ""),
    "wake list": (lambda r, g: r.rpush(key(g, f"wake:{GONE}"), "1"), FaultKind.WAKE, ""),
    "record": (lambda r, g: r.hset(key(g, "m"), "77", "x"), FaultKind.MESSAGE, "77"),
    "missing record": (lambda r, g: r.zadd(key(g, "a:Q"), {"77": 1}), FaultKind.MISSING, "77"),
    "index entry": (lambda r, g: r.zadd(key(g, "i:Q"), {b"C" + 31 * b"7": 0}), FaultKind.INDEX, "C" + 31 * "7"),
    "group counts": (lambda r, g: r.hset(key(g, "g:Q"), 24 * "g", "1 1"), FaultKind.GROUP, ""),
    "expiry": (lambda r, g: r.zadd(key(g, "x"), {"Q 77x": 1}), FaultKind.EXPIRY, "Q 77x"),
    "queue": (lambda r, g: r.hset(key(g, "q:GONE"), "ip", "0"), FaultKind.QUEUE, ""),
    "set aside": (lambda r, g: r.zadd(key(g, "trash:9"), {"1": 1}), FaultKind.TRASH, ""),
    "temporary": (temporary, FaultKind.TEMPORARY, ""),
    "fence": (
        lambda r, g: r.hset(key(g, "fence"), mapping={"QM9": 3, "QM9.2.1": 5}),
        FaultKind.FENCE,
        "QM9.2.1",
    ),
    "version": (lambda r, g: r.hset(key(g, "ver"), "IGQ QM9", 1), FaultKind.VERSION, "IGQ QM9"),
    "destination": (lambda r, g: r.hset(key(g, "dest"), "#3", "Q"), FaultKind.DESTINATION, "#3"),
    "unknown": (lambda r, g: r.set(key(g, "what"), 1), FaultKind.UNKNOWN, ""),
    "tag": (lambda r, g: r.hset(admin(g, "tags"), "AB", f"G{GONE}"), FaultKind.TAG, "AB"),
    "tag of a unit": (lambda r, g: r.hset(admin(g, "tags"), "AB", f"G{GONE}/1"), FaultKind.TAG, "AB"),
    "decision": (lambda r, g: r.hset(admin(g, "decisions"), f"{GONE}/1", "APPL1"), FaultKind.DECISION, f"{GONE}/1"),
    "process": (lambda r, g: r.hset(admin(g, "procs"), "QM1.1.77", "{}"), FaultKind.PROCESS, "QM1.1.77"),
    "lease": (lambda r, g: r.zadd(admin(g, "leases"), {"QM1.1.77": 9e15}), FaultKind.LEASE, "QM1.1.77"),
    "connection": (lambda r, g: r.hset(admin(g, "own"), GONE, "{}"), FaultKind.OWNER, GONE),
    "recovery": (
        lambda r, g: r.hset(admin(g, "recoveries"), GONE, '{"state":"CLAIMED"}'),
        FaultKind.RECOVERY,
        GONE,
    ),
    "agent": (lambda r, g: r.hset(admin(g, "agents"), "QM9", "{}"), FaultKind.AGENT, "QM9"),
    "structure": (lambda r, g: r.hset(f"{{{g.group.name}:GONE}}:own", "x", ""), FaultKind.QUEUE, ""),
    **{
        f"counter {field}": (
            lambda r, g, field=field: r.hincrby(key(g, "q:Q"), field, 1),  # type: ignore[misc]
            FaultKind.COUNTER,
            field,
        )
        for field in ("ip", "op", "co", "xo", "nw", "lk", "gm", "mk", "pu", "gu")
    },
}


@pytest.mark.unaccounted("what is planted")
@pytest.mark.parametrize("what", PLANTED)
def test_unexplained_keys_are_found(used: TestGroup, what: str) -> None:
    plant, kind, name = PLANTED[what]
    assert account(used.group) == []
    plant(used.group.client(), used)
    assert (kind, name) in found(used)


def test_all_that_a_dead_manager_leaves_is_explained_until_its_recovery(scene: Scene) -> None:
    scene.leave_everything()
    assert account(scene.test.group) == []
    scene.recover()
    assert account(scene.test.group) == []


def test_a_busy_group_gives_no_finding(group: TestGroup) -> None:
    names = ("BUSY1", "BUSY2")
    for name in names:
        group.define_shared(name)
    is_over = threading.Event()
    troubles: list[Exception] = []

    def work(name: str) -> None:
        try:
            while not is_over.is_set():
                with group.connect() as connection, connection.open(name, BOTH) as queue:
                    for n in range(20):
                        queue.put(b"1", MQMD(correl_id=b"%d" % n), options=PutOption.SYNCPOINT)
                        connection.commit()
                        queue.put(b"2", options=PutOption.SYNCPOINT)
                        queue.get(GetOption.SYNCPOINT)
                        connection.backout()
                        queue.get(GetOption.WAIT, wait_ms=100)
        except Exception as error:  # noqa: BLE001 - told by the test
            troubles.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    try:
        assert [account(group.group) for _ in range(20)] == [[]] * 20
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert troubles == []


def test_a_subscription_whose_topic_is_not_in_ascii_is_in_order(group: TestGroup) -> None:
    connection = group.connect()
    subscription = connection.subscribe("Flüge/ÄÖ/東京")
    connection.open_topic("Flüge/ÄÖ/東京").publish(b"x", options=PutOption.RETAIN)
    assert found(group) == []
    assert subscription.get().body == b"x"
