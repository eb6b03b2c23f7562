"""Units of work that an external coordinator prepares: nothing but its word ends them, and that ends them once.

The unit of work of these tests got and put in three structures, one of them its manager's own, and put so much in one
that it is ended in two chunks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from recovery.resolution import Outcome
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.commit import send_outstanding
from sharedq.calls.unit.in_doubt import end_prepared, prepared_units
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC, GetOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.reading.journal import read_entries
from tests.recovery.scene import BOTH, DEAD, LARGE, TAG, Died, Scene, after_call, die_after_call, dying

XID = b"query 7, batch 12, partition 3"
#: One of them ends before its last script.
SCRIPTS_OF_PREPARE, SCRIPTS_OF_AN_END = 4, 6

BULK = [b"%d" % n for n in range(LARGE)]
Seen = dict[str, Any]
#: The visible messages while it is in doubt, and after each outcome. BackoutCount follows each body.
IN_DOUBT: Seen = {"ORDERS": [(b"2", 0)], "BILLS": [], "LOCAL": [], "BULK": []}
COMMITTED: Seen = {
    "ORDERS": [(b"2", 0)],
    "BILLS": [(b"bill", 0)],
    "LOCAL": [(b"local", 0)],
    "BULK": [(body, 0) for body in BULK],
}
BACKED_OUT: Seen = {"ORDERS": [(b"1", 1), (b"2", 0)], "BILLS": [], "LOCAL": [], "BULK": []}
ENDS: dict[str, tuple[Callable[[QueueManagerConnection], bool], Seen]] = {
    "commit": (lambda connection: connection.commit_prepared(XID), COMMITTED),
    "back out": (lambda connection: connection.backout_prepared(XID), BACKED_OUT),
}
QUEUES = {"ORDERS": "APPL1", "BULK": "APPL1", "BILLS": "APPL2", "LOCAL": "@QM1"}


@pytest.fixture
def orders(scene: Scene) -> Scene:
    """Two orders."""
    with scene.test.connect("QM1") as connection:
        for body in (b"1", b"2"):
            connection.put1("ORDERS", body)
    return scene


def work(scene: Scene, *, tag: str = "") -> QueueManagerConnection:
    """A program of QM1 with the unit of work to be prepared."""
    connection = scene.victim("worker", tag=tag)
    assert connection.open("ORDERS", BOTH).get(GetOption.SYNCPOINT).body == b"1"
    bulk = connection.open("BULK", BOTH)
    bulk.put_many([(MQMD(), body) for body in BULK], options=PutOption.SYNCPOINT)
    bills = connection.open("BILLS", BOTH)
    connection.open("LOCAL", BOTH).put(b"local", options=PutOption.SYNCPOINT)
    # The next call sends it.
    bills.put(b"bill", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    return connection


def prepared(scene: Scene, *, tag: str = "") -> QueueManagerConnection:
    """The program, whose unit of work is in doubt."""
    connection = work(scene, tag=tag)
    assert connection.prepare(XID) == LARGE + 3
    assert seen(scene) == IN_DOUBT
    return connection


def seen(scene: Scene) -> Seen:
    """The available messages."""
    return {queue: scene.messages(QUEUES[queue], queue) for queue in IN_DOUBT}


def assert_ended(scene: Scene, expected: Seen) -> None:
    """Check that it has ended, and that only the record of its end is left."""
    assert seen(scene) == expected
    client = scene.test.group.client()
    for queue, structure in QUEUES.items():
        assert not scene.counters(structure, queue).get("pu"), queue
        assert not scene.counters(structure, queue).get("gu"), queue
    for structure in ("APPL1", "APPL2", "@QM1"):
        stored = sum(len(expected[queue]) for queue in QUEUES if QUEUES[queue] == structure)
        assert client.hlen(scene.structure(structure).messages) == stored, structure
        assert not client.keys(f"{scene.structure(structure).unit_of_work}*".replace("{", "[{]")), structure
    assert prepared_units(scene.test.group) == []


def journaled_as_prepared(scene: Scene) -> list[str]:
    """The structures, each as often as its journal has the prepare of the unit of work."""
    client, names = scene.test.group.client(), ("@QM1", "APPL1", "APPL2")
    entries = ((name, entry) for name in names for entry in read_entries(client, scene.structure(name)))
    return [name for name, entry in entries if entry.fields[b"e"] == b"prepare"]


def again_and_again(scene: Scene) -> Iterator[int]:
    """1, 2, 3 ...; each time the group is again as it is now."""
    dumped = scene.dump()
    for number in count(1):
        yield number
        scene.restore(dumped)


def a_program(scene: Scene, qmgr: str = "QM1") -> QueueManagerConnection:
    """Another program, as it starts after its predecessor's death."""
    return scene.test.connect(qmgr)


def restart(scene: Scene, lease: str = DEAD) -> None:
    """QM1 dies, QM2 recovers it, and it starts again."""
    scene.expire(lease)
    assert scene.recover("QM2", lease).is_resolved
    scene.test.add_member("QM1")


# -- the normal way ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ENDS)
def test_another_program_of_the_manager_ends_it(orders: Scene, end: str) -> None:
    worker = prepared(orders)
    ended, expected = ENDS[end]
    assert [unit.xid for unit in a_program(orders).recover()] == [XID]
    assert ended(a_program(orders))
    assert_ended(orders, expected)
    worker.disconnect()


def test_the_program_goes_on_with_its_next_unit_of_work(orders: Scene) -> None:
    worker = prepared(orders)
    bills = worker.open("BILLS", BOTH)
    bills.put(b"next", options=PutOption.SYNCPOINT)
    worker.commit()
    assert seen(orders)["BILLS"] == [(b"next", 0)]
    bills.put(b"never", options=PutOption.SYNCPOINT)
    worker.backout()
    bills.put(b"prepared too", options=PutOption.SYNCPOINT)
    assert worker.prepare(b"second") == 1
    assert worker.backout_prepared(b"second")
    assert worker.commit_prepared(XID)
    assert seen(orders)["BILLS"] == [(b"bill", 0), (b"next", 0)]
    worker.disconnect()


def test_it_survives_its_program_and_two_deaths_of_its_manager(orders: Scene) -> None:
    prepared(orders)
    for incarnation in (1, 2):
        restart(orders, f"QM1.{incarnation}")
        assert seen(orders) == IN_DOUBT
        (unit,) = a_program(orders).recover()
        assert (unit.qmgr, unit.xid, unit.messages, unit.outcome) == ("QM1", XID, LARGE + 3, None)
    assert a_program(orders).commit_prepared(XID)
    assert_ended(orders, COMMITTED)


def test_a_recovery_says_what_stays_in_doubt(orders: Scene) -> None:
    prepared(orders)
    orders.expire(DEAD)
    report = orders.recover("QM2")
    assert report.is_resolved
    assert (report.in_doubt, report.units_of_work) == (1, 0)


@pytest.mark.parametrize(("end", "other"), [("commit", XAReturn.XA_HEURCOM), ("back out", XAReturn.XA_HEURRB)])
def test_ending_it_twice_is_harmless_and_says_so(orders: Scene, end: str, other: XAReturn) -> None:
    prepared(orders)
    ended, expected = ENDS[end]
    assert ended(a_program(orders))
    assert not ended(a_program(orders))
    (opposite,) = (ENDS[name][0] for name in ENDS if name != end)
    with pytest.raises(XAError) as caught:
        opposite(a_program(orders))
    assert caught.value.code == other
    assert_ended(orders, expected)


def test_a_decision_stands_before_it_is_applied(orders: Scene) -> None:
    prepared(orders)
    decided = a_program(orders)
    die_after_call(decided.connection, 1)
    with pytest.raises(Died):
        decided.commit_prepared(XID)
    assert seen(orders) == IN_DOUBT
    with pytest.raises(XAError) as caught:
        a_program(orders).backout_prepared(XID)
    assert caught.value.code == XAReturn.XA_HEURCOM
    assert a_program(orders).commit_prepared(XID)
    assert_ended(orders, COMMITTED)


def test_only_the_latest_ends_are_remembered(orders: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharedq.calls.unit.in_doubt.ENDED_KEPT", 2)
    worker = a_program(orders)
    bills = worker.open("BILLS", BOTH)
    for xid in (b"1", b"2", b"3"):
        bills.put(xid, options=PutOption.SYNCPOINT)
        worker.prepare(xid)
        assert worker.commit_prepared(xid)
        orders.test.wait_redis_ms(2)
    assert [worker.commit_prepared(xid) for xid in (b"2", b"3")] == [False, False]
    with pytest.raises(XAError) as caught:
        worker.commit_prepared(b"1")
    assert caught.value.code == XAReturn.XAER_NOTA


# -- what is refused -----------------------------------------------------------------------------------------------


def test_an_id_in_use_is_refused_and_the_unit_of_work_goes_on(orders: Scene) -> None:
    prepared(orders)
    second = a_program(orders)
    second.open("BILLS", BOTH).put(b"mine", options=PutOption.SYNCPOINT)
    for state in ("in doubt", "committed"):
        with pytest.raises(XAError, match=state) as caught:
            second.prepare(XID)
        assert caught.value.code == XAReturn.XAER_DUPID
        a_program(orders).commit_prepared(XID)
    second.commit()
    assert seen(orders)["BILLS"] == [(b"bill", 0), (b"mine", 0)]


def test_an_unknown_id_is_refused(orders: Scene) -> None:
    prepared(orders)
    with pytest.raises(XAError, match="QM1 has prepared nothing under that id") as caught:
        a_program(orders).commit_prepared(b"another")
    assert caught.value.code == XAReturn.XAER_NOTA
    with pytest.raises(XAError, match="QM2 has prepared nothing"):
        a_program(orders, "QM2").commit_prepared(XID)
    assert seen(orders) == IN_DOUBT


@pytest.mark.parametrize("xid", [b"", b"x" * 129])
def test_an_id_is_1_to_128_bytes(orders: Scene, xid: bytes) -> None:
    with pytest.raises(XAError, match="1 to 128") as caught:
        a_program(orders).prepare(xid)
    assert caught.value.code == XAReturn.XAER_INVAL


def test_nothing_to_prepare_leaves_nothing_in_doubt(orders: Scene) -> None:
    assert a_program(orders).prepare(XID) == 0
    assert prepared_units(orders.test.group) == []


def test_a_failed_asynchronous_put_backs_it_out(orders: Scene) -> None:
    orders.test.define_shared("SMALL", max_depth=1)
    worker = a_program(orders)
    assert worker.open("ORDERS", BOTH).get(GetOption.SYNCPOINT).body == b"1"
    small = worker.open("SMALL", BOTH)
    for body in (b"fits", b"does not"):
        small.put(body, options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    with pytest.raises(MQIError) as caught:
        worker.prepare(XID)
    assert caught.value.reason == MQRC.BACKED_OUT
    assert prepared_units(orders.test.group) == []
    assert seen(orders) == BACKED_OUT


def test_a_peer_ends_it_only_while_its_manager_is_not_running(orders: Scene) -> None:
    prepared(orders)
    peer = a_program(orders, "QM2").connection
    with pytest.raises(MQIError, match="QM1 is running") as caught:
        end_prepared(peer, XID, "C", qmgr="QM1")
    assert caught.value.reason == MQRC.Q_MGR_ACTIVE
    assert seen(orders) == IN_DOUBT
    orders.expire(DEAD)
    assert orders.recover("QM2").is_resolved
    assert end_prepared(peer, XID, "C", qmgr="QM1")
    assert_ended(orders, COMMITTED)
    # Its manager comes back, and its coordinator asks.
    orders.test.add_member("QM1")
    assert not a_program(orders).commit_prepared(XID)


@pytest.mark.invariant(6)
def test_a_tag_is_in_use_until_what_was_prepared_under_it_has_ended(orders: Scene) -> None:
    worker = prepared(orders, tag=TAG)
    assert worker.disconnect() == MQRC.CONN_TAG_NOT_RELEASED
    assert_tag_in_use(orders)
    restart(orders)
    assert_tag_in_use(orders)
    assert a_program(orders).backout_prepared(XID)
    orders.test.connect("QM3", tag=TAG).disconnect()


def assert_tag_in_use(scene: Scene) -> None:
    with pytest.raises(MQIError) as caught:
        scene.test.connect("QM3", tag=TAG)
    assert caught.value.reason == MQRC.CONN_TAG_IN_USE


# -- deaths at each step -------------------------------------------------------------------------------------------


def test_a_dead_program_does_nothing_to_its_namesake(orders: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next round's program has the token of the dead one, whose thread is slow to tell of the lost connection."""
    is_next_round, tell = threading.Event(), Process._tell_abandoned

    def tell_late(process: Process) -> None:
        is_next_round.wait()
        tell(process)

    monkeypatch.setattr(Process, "_tell_abandoned", tell_late)
    rounds = again_and_again(orders)
    next(rounds)
    dead = work(orders)
    die_after_call(dead.connection, 1)
    with dying():
        dead.prepare(XID)
    next(rounds)
    namesake = work(orders)
    assert namesake.connection.token == dead.connection.token
    is_next_round.set()
    dead.connection.process._thread.join(timeout=30)
    assert namesake.prepare(XID) == LARGE + 3


@pytest.mark.invariant(3)
@pytest.mark.parametrize("end", ENDS)
def test_killed_after_any_script_of_prepare(orders: Scene, end: str) -> None:
    """It is in doubt or it is backed out, and the group can tell which."""
    ended, expected = ENDS[end]
    fates = []
    for number in again_and_again(orders):
        worker = work(orders)
        die_after_call(worker.connection, number)
        try:
            worker.prepare(XID)
            break
        except Died:
            pass
        restart(orders)
        if prepared_units(orders.test.group):
            fates.append("in doubt")
            assert seen(orders) == IN_DOUBT, f"dead after call {number}"
            assert journaled_as_prepared(orders) == ["@QM1", "APPL1", "APPL2"]
            assert ended(a_program(orders))
            assert_ended(orders, expected)
        else:
            fates.append("backed out")
            assert not journaled_as_prepared(orders)
            assert_ended(orders, BACKED_OUT)
    assert fates == ["backed out"] + ["in doubt"] * (number - 2), "one script decides"
    assert number > SCRIPTS_OF_PREPARE


@pytest.mark.parametrize("end", ENDS)
def test_ended_before_the_recovery_of_a_death_in_prepare(orders: Scene, end: str) -> None:
    """Its coordinator is quick, or a peer's operator: nothing is set apart yet in some structures."""
    ended, expected = ENDS[end]
    in_doubt = 0
    for number in again_and_again(orders):
        worker = work(orders)
        die_after_call(worker.connection, number)
        try:
            worker.prepare(XID)
            break
        except Died:
            pass
        if prepared_units(orders.test.group):
            in_doubt += 1
            assert ended(a_program(orders))
            assert_ended(orders, expected)
        else:
            expected = BACKED_OUT
        restart(orders)
        assert_ended(orders, expected)
        expected = ENDS[end][1]
    assert in_doubt >= SCRIPTS_OF_PREPARE - 1


@pytest.mark.invariant(3)
@pytest.mark.parametrize("end", ENDS)
def test_killed_after_any_script_of_its_end(orders: Scene, end: str) -> None:
    """The recovery completes a decided end. Before the decision the work stays in doubt."""
    ended, expected = ENDS[end]
    prepared(orders).disconnect()
    for number in again_and_again(orders):
        last = a_program(orders)
        die_after_call(last.connection, number)
        try:
            assert ended(last)
            break
        except Died:
            pass
        assert orders.recover("QM1", last.connection.process.token, force=True).is_resolved
        if prepared_units(orders.test.group):
            raise AssertionError(f"dead after call {number}, which is after the decision")
        assert_ended(orders, expected)
        assert not ended(a_program(orders))
    assert number > SCRIPTS_OF_AN_END
    assert_ended(orders, expected)


@pytest.mark.parametrize("end", ENDS)
def test_the_recoverer_of_the_ending_program_dies_after_any_script(orders: Scene, end: str) -> None:
    ended, expected = ENDS[end]
    prepared(orders).disconnect()
    last = a_program(orders)
    die_after_call(last.connection, 1)
    with pytest.raises(Died):
        ended(last)
    orders.expire(DEAD)
    for number in again_and_again(orders):
        first = orders.recoverer("QM2")
        die_after_call(first, number)
        try:
            assert orders.recover_over(first).is_resolved
            break
        except Died:
            orders.expire_all(f"!{DEAD}")
            assert orders.recover("QM3").outcome in (Outcome.RESOLVED, Outcome.NOTHING)
            assert_ended(orders, expected)
    assert number > SCRIPTS_OF_AN_END
    assert_ended(orders, expected)


@pytest.mark.invariant(8)
@pytest.mark.parametrize("end", ENDS)
def test_two_end_it_at_once(orders: Scene, end: str) -> None:
    """The second one does all of it between any two scripts of the first one."""
    ended, expected = ENDS[end]
    prepared(orders).disconnect()
    for number in again_and_again(orders):
        overtook: list[bool] = []
        first = a_program(orders)

        def overtake(found: list[bool] = overtook) -> None:
            found.append(ended(a_program(orders)))

        after_call(first.connection, number, overtake)
        assert ended(first)
        assert_ended(orders, expected)
        if not overtook:
            break
    assert number > SCRIPTS_OF_AN_END


def test_the_end_overtakes_the_recoverer_of_a_death_in_prepare(orders: Scene) -> None:
    worker = work(orders)
    die_after_call(worker.connection, 2)
    with pytest.raises(Died):
        worker.prepare(XID)
    assert prepared_units(orders.test.group)
    orders.expire(DEAD)
    for number in again_and_again(orders):
        overtook: list[bool] = []
        recoverer = orders.recoverer("QM2")

        def end(found: list[bool] = overtook) -> None:
            found.append(end_prepared(a_program(orders, "QM3").connection, XID, "C", qmgr="QM1"))

        after_call(recoverer, number, end)
        assert orders.recover_over(recoverer).is_resolved
        if not overtook:
            break
        assert_ended(orders, COMMITTED)
    assert number > SCRIPTS_OF_AN_END


@pytest.mark.invariant(2)
def test_one_that_was_recovered_prepares_and_ends_nothing(orders: Scene) -> None:
    zombie, late = work(orders), prepared_by_another(orders)
    send_outstanding(zombie.connection)
    orders.expire(DEAD)
    assert orders.recover("QM2").is_resolved
    before = orders.dump()
    calls: list[Callable[[], object]] = [lambda: zombie.prepare(XID), lambda: late.commit_prepared(b"other")]
    for call in calls:
        with pytest.raises(MQIError) as caught:
            call()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert differences(before, orders.dump()) <= {"leases", "fence"}


def prepared_by_another(scene: Scene) -> QueueManagerConnection:
    connection = scene.test.connect("QM1")
    connection.open("BILLS", BOTH).put(b"other", options=PutOption.SYNCPOINT)
    connection.prepare(b"other")
    return connection


def differences(before: dict[bytes, bytes], after: dict[bytes, bytes]) -> set[str]:
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return {key.decode().rpartition("}:")[2] for key in changed}
