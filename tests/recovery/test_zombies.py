"""A process that wakes up after its recovery: its next call of any kind fails with 2009 and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.repository import Repository
from sharedq.redis.link import Argument
from sharedq.scripts.unit import End, end_unit_call
from sharedq.session.connection import Connection
from tests.recovery.scene import BOTH, DEAD, TAG, Scene, after_call, register_wait
from tests.support.agents import transfer_call
from tests.support.each import one_of


@dataclass
class Zombie:
    """The work of a program of QM1 that stopped for too long."""

    scene: Scene
    connection: QueueManagerConnection
    orders: Queue
    bills: Queue
    one: QueueManagerConnection
    one_orders: Queue
    idle: QueueManagerConnection
    waiting: Queue
    living: Queue


def pending_commit(zombie: Zombie) -> None:
    zombie.orders.put(b"later", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    zombie.connection.commit()


def call(queue: Queue, name: str, keys: list[str], *args: Argument) -> None:
    """A script that the queue's connection calls in its own name."""
    queue.connection.checked_call(name, keys, [queue.connection.token, *args])


def expire(zombie: Zombie) -> None:
    keys, queue = zombie.scene.structure("APPL1"), zombie.orders.handle.queue
    script_keys = [keys.owners, keys.messages, keys.expiry, queue.available, queue.index, keys.journal]
    call(zombie.orders, "structure/expire", script_keys, "ORDERS", "1000", "1")


def transfer(zombie: Zombie) -> None:
    orders = zombie.orders
    orders.connection.checked_call(*transfer_call(orders.connection, orders.handle, zombie.waiting.handle))


def unwait(zombie: Zombie) -> None:
    keys, queue = zombie.scene.structure("APPL1"), zombie.waiting.handle.queue
    wake_key = keys.wake + zombie.waiting.connection.token
    script_keys = [keys.owners, queue.queue, queue.available, queue.waiters, wake_key, keys.wake]
    call(zombie.waiting, "structure/unwait", script_keys, "LATE")


def fence_another(zombie: Zombie) -> None:
    keys, queue = zombie.scene.structure("APPL1"), zombie.scene.structure("APPL1").queue("")
    script_keys = [keys.owners, keys.fence, keys.dead, queue.queue, queue.waiters]
    call(zombie.orders, "structure/fence", script_keys, 1, "QM3", 9, zombie.living.connection.token)


def end_for_another(zombie: Zombie, how: End) -> None:
    """As a recoverer that is itself dead would end the unit of work of a living program."""
    keys, connection, living = zombie.orders.handle.structure.keys, zombie.orders.connection, zombie.living.connection
    call = end_unit_call(keys, how, connection.token, living.token, living.unit.id, ["ORDERS"], -1, "0", chunk=500)
    connection.checked_call(*call)


def release_another(zombie: Zombie) -> None:
    keys, token = zombie.scene.structure("APPL1"), zombie.living.connection.token
    script_keys = [keys.owners, keys.dead, keys.unit_of_work + token, keys.holdings + token]
    call(zombie.orders, "structure/release", [*script_keys, keys.wake + token, keys.wake], token)


def by_name(zombie: Zombie) -> Repository:
    """The calls by which MQSET, and MQCLOSE with MQCO_DELETE, reach a queue after the look at its handle."""
    connection = zombie.connection.connection
    return Repository(connection.group, connection.qmgr_name, caller=connection.token)


CALLS: dict[str, Callable[[Zombie], object]] = {
    "put": lambda zombie: zombie.orders.put(b"zombie"),
    "put under syncpoint": lambda zombie: zombie.orders.put(b"zombie", options=PutOption.SYNCPOINT),
    "put of many": lambda zombie: zombie.orders.put_many([(MQMD(), b"zombie")] * 2),
    "asynchronous put and commit": pending_commit,
    "get": lambda zombie: zombie.orders.get(),
    "get under syncpoint": lambda zombie: zombie.orders.get(GetOption.SYNCPOINT),
    "get with wait": lambda zombie: zombie.orders.get(GetOption.WAIT, wait_ms=1000),
    "get in logical order": lambda zombie: zombie.orders.get(GetOption.LOGICAL_ORDER | GetOption.SYNCPOINT),
    "put of a group": lambda zombie: zombie.orders.put(b"zombie", MQMD(version=2, msg_flags=24)),
    "browse": lambda zombie: zombie.orders.get(GetOption.BROWSE_FIRST),
    "browse with lock": lambda zombie: zombie.orders.get(GetOption.BROWSE_FIRST | GetOption.LOCK),
    "unlock": lambda zombie: zombie.orders.unlock(),
    "open": lambda zombie: zombie.connection.open("ORDERS", BOTH),
    "open in a structure not entered before": lambda zombie: zombie.one.open("BILLS", BOTH),
    "close": lambda zombie: zombie.orders.close(),
    "set": lambda zombie: by_name(zombie).alter("QLOCAL", "ORDERS", {"put": "DISABLED"}),
    "delete": lambda zombie: by_name(zombie).delete("QLOCAL", "ORDERS", purge=True),
    "commit in two structures": lambda zombie: zombie.connection.commit(),
    "commit in one structure": lambda zombie: zombie.one.commit(),
    "commit and get": lambda zombie: zombie.one_orders.commit_and_get(),
    "back out": lambda zombie: zombie.connection.backout(),
    "disconnect": lambda zombie: zombie.connection.disconnect(),
    "disconnect of one that did nothing": lambda zombie: zombie.idle.disconnect(),
    "a new connection": lambda zombie: Connection(zombie.scene.test.group, zombie.connection.connection.process),
    "expire": expire,
    "transfer": transfer,
    "give up waiting": unwait,
    "come back from a wait": lambda zombie: register_wait(zombie.waiting, b"A"),
    "fence another": fence_another,
    "commit for another": lambda zombie: end_for_another(zombie, "commit"),
    "back out for another": lambda zombie: end_for_another(zombie, "backout"),
    "release another": release_another,
}


@pytest.fixture
def zombie(scene: Scene) -> Zombie:
    """QM1 was recovered, but this program of it believes that it holds its lease."""
    scene.fill()
    process = scene.test.process("QM1")
    connection, one, idle, waiting = (scene.test.connect("QM1", process) for _ in range(4))
    orders, bills, late = connection.open("ORDERS", BOTH), connection.open("BILLS", BOTH), waiting.open("LATE", BOTH)
    one_orders = one.open("ORDERS", BOTH)
    idle.open("ORDERS", BOTH).close()
    orders.get(GetOption.SYNCPOINT)
    bills.put(b"never", options=PutOption.SYNCPOINT)
    one_orders.put(b"never", options=PutOption.SYNCPOINT)
    register_wait(late, b"A")
    living = scene.test.connect("QM3").open("ORDERS", BOTH)
    living.put(b"of the living", options=PutOption.SYNCPOINT)
    scene.expire(DEAD)
    assert scene.recover().is_resolved
    return Zombie(scene, connection, orders, bills, one, one_orders, idle, late, living)


@pytest.mark.invariant(2)
@pytest.mark.parametrize("name", one_of(4, CALLS, pytest.mark.share))
def test_no_call_of_a_zombie_does_anything(zombie: Zombie, name: str) -> None:
    before = zombie.scene.dump()
    with pytest.raises(MQIError) as caught:
        CALLS[name](zombie)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert zombie.scene.dump() == before


def test_its_connection_is_broken_for_good(zombie: Zombie) -> None:
    for _ in range(2):
        with pytest.raises(MQIError) as caught:
            zombie.orders.put(b"zombie")
        assert caught.value.reason == MQRC.CONNECTION_BROKEN


def test_a_put_does_not_wake_it_back_to_life(scene: Scene) -> None:
    """A waiter leaves the waiters in the script that shuts it out: waking it would register it."""
    waiting = scene.victim("waiting").open("LATE", BOTH)
    register_wait(waiting, b"A")
    scene.expire(DEAD)
    recoverer = scene.recoverer("QM2")
    putter = scene.test.connect("QM3").open("LATE", BOTH)

    def put_late() -> None:
        putter.put(b"late")

    for number in range(1, 60):
        after_call(recoverer, number, put_late)

    assert scene.recover_over(recoverer).is_resolved
    with pytest.raises(MQIError) as caught:
        waiting.get()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN


def test_a_manager_that_was_recovered_cannot_say_that_it_runs(scene: Scene) -> None:
    scene.expire(DEAD)
    assert scene.recover().is_resolved
    group = scene.test.group
    changes = json.dumps({"state": "RUNNING"})
    reply = group.call("admin/member_state", [group.keys.members, group.keys.fence], ["QM1", 1, changes])
    assert reply == [MQRC.CONNECTION_BROKEN]
    member = group.member("QM1")
    assert member is not None
    assert member.state == "FAILED"


@pytest.mark.invariant(6)
def test_a_connection_given_up_before_mqconn_arrives_never_gets_its_tag(scene: Scene) -> None:
    """Its link broke, and its process gave it up, while the call was still on its way."""
    process = scene.test.process("QM1")
    token = f"{process.token}.77"
    group, keys = scene.test.group, scene.test.group.keys
    assert group.call("admin/abandon", [keys.leases, keys.owners, keys.fence], [token]) == [0]
    script_keys = [keys.owners, keys.fence, keys.tags, keys.members, keys.leases, keys.qmgr, keys.recoveries]
    late = group.call("admin/connect", script_keys, [token, "QM1", 1, process.token, "{}", TAG, 0])
    assert late[0] == MQRC.CONNECTION_BROKEN
    assert scene.left_of(token) == []
    scene.test.connect("QM2", tag=TAG)
