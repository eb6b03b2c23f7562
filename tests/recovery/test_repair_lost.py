"""A message that is on no queue is put back by a repair: it is never lost, and never there twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from recovery.accounting.account import account
from recovery.accounting.finding import Fault, FaultKind
from recovery.accounting.repair import _Repair, repair
from recovery.resolution import recover
from sharedq.api import QueueManagerConnection
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, Feedback, GetOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.parts import part_in
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.scripts.recovery import take_lost_call
from sharedq.scripts.unit import end_unit_call
from tests.recovery.scene import BOTH, Died, die_after_call
from tests.recovery.test_account import admin, key
from tests.support.agents import AgentOfQM2
from tests.support.groups import LMIG, put_member
from tests.support.members import TestGroup
from tests.support.scenes import dump, until

PART = "SYSTEM.QSG.TRANSMIT.QUEUE@QM2"
CORREL = b"one that is looked for"


@pytest.fixture
def two(group: TestGroup) -> TestGroup:
    """QM1 and QM2, which has a part of the transmit queue in APPL1, where the queue Q is."""
    group.add_member("QM2")
    group.define_shared("Q", msg_delivery_sequence="PRIORITY")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    group.repository("QM2").make_transmit_parts("QM2")
    return group


def put_to_qm2(group: TestGroup, body: bytes, **fields: object) -> None:
    md = MQMD(persistence=1, **fields)  # type: ignore[arg-type]
    group.connect("QM1").put1("Q", body, md, qmgr_name="QM2")


def lose(group: TestGroup, queue: str) -> list[str]:
    """Take the messages on *queue* out of every set, by hand. Their records stay. Returns their ids."""
    client, ids = group.group.client(), []
    for kind in ("a", "r"):
        ids += [each.decode() for each in client.zrange(key(group, f"{kind}:{queue}"), 0, -1)]  # type: ignore[union-attr]
        client.delete(key(group, f"{kind}:{queue}"))
    return ids


def mend(group: TestGroup, qmgr: str = "QM2") -> set[FaultKind]:
    """Repair. Returns the kinds of findings. None may be left."""
    first, left = repair(group.group, group.connect(qmgr).connection)
    assert left == []
    return {finding.kind for finding in first}


def bodies(group: TestGroup, queue: str = "Q", qmgr: str = "QM1") -> list[bytes]:
    with group.connect(qmgr) as connection, suppress(NoMsgAvailable):
        return [message.body for message in connection.open(queue, BOTH).get_many(100)]
    return []


def test_it_returns_to_the_queue_that_its_record_names(two: TestGroup) -> None:
    put_to_qm2(two, b"low", priority=1)
    put_to_qm2(two, b"wanted", priority=5, correl_id=CORREL)
    AgentOfQM2(two, part_in("APPL1", "QM2")).serve()
    assert len(lose(two, "Q")) == 2
    two.connect().put1("Q", b"middle", MQMD(persistence=1, priority=3))
    assert FaultKind.MESSAGE in mend(two)
    with two.connect() as connection, connection.open("Q", BOTH) as queue:
        message = queue.get(GetOption.BROWSE_FIRST, match=MQMD(correl_id=CORREL))
        assert message.body == b"wanted"
        assert queue.get(GetOption.BROWSE_FIRST, match=MQMD(msg_id=message.md.msg_id)).body == b"wanted"
        assert [each.body for each in queue.get_many(10)] == [b"wanted", b"middle", b"low"]


@pytest.mark.parametrize("destination", ["none", "gone"])
def test_it_is_dead_lettered_where_it_has_no_queue(two: TestGroup, destination: str) -> None:
    agent = AgentOfQM2(two, part_in("APPL1", "QM2"))
    if destination == "none":
        two.connect().put1("Q", b"kept", MQMD(persistence=1))
        lose(two, "Q")
    else:
        put_to_qm2(two, b"kept")
        lose(two, PART)
        two.repository("QM1").delete(QueueLocal.kind, "Q", disposition="SHARED")
    assert mend(two) == {FaultKind.MESSAGE}
    agent.deliver()
    (letter,) = bodies(two, SYSTEM_DEAD_LETTER_QUEUE, "QM2")
    header = wire.DLH.unpack(letter)
    assert header.reason == (Feedback.XMIT_Q_MSG_ERROR if destination == "none" else MQRC.UNKNOWN_OBJECT_NAME)
    assert letter.endswith(b"kept")


def test_it_stays_where_nobody_could_deliver_it(group: TestGroup) -> None:
    group.define_shared("Q")
    group.connect().put1("Q", b"kept", MQMD(persistence=1))
    (id_,) = lose(group, "Q")
    _, left = repair(group.group, group.connect().connection)
    assert [(each.kind, each.name) for each in left] == [(FaultKind.MESSAGE, id_)]
    group.repository("QM1").make_transmit_parts("QM1")
    assert mend(group, "QM1") == {FaultKind.MESSAGE}


@pytest.mark.invariant(8)
def test_killed_after_any_script_the_next_repair_does_the_rest(two: TestGroup) -> None:
    agent = AgentOfQM2(two, part_in("APPL1", "QM2"))
    for number in count(1):
        put_to_qm2(two, b"kept %d" % number)
        agent.serve()
        lose(two, "Q")
        repairer = two.connect().connection
        die_after_call(repairer, number)
        try:
            repair(two.group, repairer)
            is_over = True
        except Died:
            is_over = False
            two.group.client().zadd(admin(two, "leases"), {repairer.process.token: 1})
            assert recover(two.group, two.connect().connection, repairer.process.token).is_resolved
        mend(two)
        assert bodies(two) == [b"kept %d" % number], f"dead after call {number}"
        assert account(two.group) == []
        if is_over:
            break
    # At least: enter the structure, take, back out.
    assert number > 3


@pytest.mark.invariant(8)
def test_it_is_there_once_after_many_repairs_beside_programs(two: TestGroup) -> None:
    agent, lost = AgentOfQM2(two, part_in("APPL1", "QM2")), [b"lost %d" % n for n in range(40)]
    for body in lost:
        put_to_qm2(two, body)
    agent.serve()
    lose(two, "Q")
    is_over, troubles = threading.Event(), list[Exception]()
    came: list[bytes] = []

    def guarded(work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                while not is_over.is_set():
                    work()
            except Exception as error:  # noqa: BLE001 - told by the test
                troubles.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def backing_out(connection: QueueManagerConnection) -> Callable[[], None]:
        queue = connection.open("Q", BOTH)

        def work() -> None:
            queue.put(b"never", options=PutOption.SYNCPOINT)
            with suppress(NoMsgAvailable):
                queue.get_many(3, GetOption.SYNCPOINT)
            connection.backout()

        return work

    def taking(connection: QueueManagerConnection) -> Callable[[], None]:
        queue = connection.open("Q", BOTH)

        def work() -> None:
            with suppress(NoMsgAvailable):
                came.append(queue.get(GetOption.WAIT, wait_ms=20).body)

        return work

    def repairing(connection: QueueManagerConnection) -> Callable[[], None]:
        def work() -> None:
            repair(two.group, connection.connection)

        return work

    works = [backing_out(two.connect()), taking(two.connect("QM2"))]
    works += [repairing(two.connect(qmgr)) for qmgr in ("QM1", "QM2")]
    threads = [guarded(work) for work in works]
    try:
        until(lambda: troubles != [] or len(came) >= len(lost), "all have come", 120)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert troubles == []
    mend(two)
    assert sorted(came + bodies(two)) == sorted(lost)


def held(group: TestGroup, how: str) -> QueueManagerConnection:
    """A message of Q that is in a place of its own."""
    group.repository("QM1").make_transmit_parts("QM1")
    holder = group.connect()
    queue = holder.open("Q", BOTH)
    queue.put(b"kept", MQMD(persistence=1), options=PutOption.SYNCPOINT)
    if how == "put":
        return holder
    holder.commit()
    if how in ("got", "in doubt"):
        queue.get(GetOption.SYNCPOINT)
        if how == "in doubt":
            assert holder.prepare(b"X") == 1
    elif how == "locked":
        queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    elif how == "member":
        queue.get()
        put_member(queue, b"g", 1, b"kept", LMIG, persistence=1)
    elif how == "set aside":
        client = group.group.client()
        client.rename(key(group, "a:Q"), key(group, "trash:9"))
        client.hset(key(group, "trash"), "9", "Q")
    elif how == "to be reported":
        (id_,) = lose(group, "Q")
        group.group.client().zadd(key(group, "x"), {f"Q {id_}": -(2**52) + 1})
    return holder


@pytest.mark.unaccounted("places that are made by hand")
@pytest.mark.parametrize(
    "how", ["available", "member", "put", "got", "in doubt", "locked", "set aside", "to be reported"]
)
def test_it_is_left_where_it_has_a_place_by_now(two: TestGroup, how: str) -> None:
    held(two, how)
    (id_,) = (each.decode() for each in two.group.client().hkeys(key(two, "m")))  # type: ignore[union-attr]
    repairer = two.connect().connection
    repairer.access("APPL1")
    before = dump(two)
    stale = Fault(FaultKind.MESSAGE, "APPL1", key(two, "m"), id_)
    _Repair(two.group, repairer, [stale]).run()
    assert dump(two) == before


def test_it_stays_while_too_much_would_have_to_be_searched(two: TestGroup) -> None:
    two.connect().put1("Q", b"kept", MQMD(persistence=1))
    (id_,) = lose(two, "Q")
    repairer = two.connect().connection
    keys, unit = repairer.access("APPL1").keys, repairer.unit.id
    before = dump(two)
    names = [f"Q{n}" for n in range(10_000)]
    place = (keys, keys.queue("Q"), repairer.token, unit, (id_, "1", ""), "0")
    assert repairer.call(*take_lost_call(*place, [], names)) == [1]
    assert dump(two) == before
    assert repairer.call(*take_lost_call(*place, [], names[:100])) == [0, 1]
    repairer.call(*end_unit_call(keys, "backout", repairer.token, repairer.token, unit, ["Q"], -1, "0", chunk=10))
    assert bodies(two) == [b"kept"]
