"""`igq group remove`: a member that is down leaves for good, or stays unchanged."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import Any

import pytest

from igq.mqsc.executor import run as run_mqsc
from recovery.resolution import recover
from sharedq.admin.member_removal import RemovalRefusedError, remove_member
from sharedq.calls.unit.in_doubt import end_prepared, prepare
from sharedq.mqi.constants import MQRC, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.system import EVENT_QUEUES
from sharedq.session.connection import Connection
from tests.support.members import TestGroup
from tests.support.removals import GET, PUT, gone, outcome, parts, start, state_of, stop, traces
from tests.support.status import read_status


def test_nothing_but_numbers_is_left_of_it(down: TestGroup) -> None:
    remove_member(down.group, "QM2")

    keys = down.group.keys
    client = down.group.client()
    assert gone(down)
    assert client.hget(keys.group, "incarnation QM2") == b"2"
    assert client.hget(keys.fence, "QM2") == b"2"
    failures: Any = client.hget(keys.failures, "@QM2")
    assert failures.split()[::2] == [b"ACTIVE", b"1"]
    client.hdel(keys.group, "incarnation QM2")
    client.hdel(keys.fence, "QM2")
    client.hdel(keys.failures, "@QM2")
    # Structures know that its incarnations are dead. Messages that its programs put on shared queues stay.
    left = [key for key in (each.split()[0] for each in traces(down)) if not key.endswith((":fence", ":journal", ":m"))]
    assert left == []


def test_everything_of_others_stays(fresh: TestGroup) -> None:
    before = state_of(fresh)
    stop(fresh, start(fresh))
    remove_member(fresh.group, "QM2")

    after, keys = state_of(fresh), fresh.group.keys
    for key in (keys.fence, keys.failures, keys.group):
        # The three numbers, and counters of definitions and structures.
        before.pop(key.encode(), None), after.pop(key.encode(), None)
    assert after == before


def test_status_and_displays_know_it_no_more(down: TestGroup) -> None:
    remove_member(down.group, "QM2")

    status = read_status(down.settings)
    assert [each.name for each in status.managers] == ["QM1"]
    assert {each.owner for each in status.queues} == {None, "QM1"}
    assert [each.name for each in status.structures] == ["APPL1"]
    assert all("QM2" not in each.failed for each in status.recoveries)
    out = io.StringIO()
    assert run_mqsc(["DIS GROUP\n", "DIS QUEUE(*)\n"], down.repository("QM1"), out) == 0
    assert "(QM2)" not in out.getvalue()
    with pytest.raises(MQIError) as caught:
        down.connect("QM1").put1("ORDERS", b"x", qmgr_name="QM2")
    assert caught.value.reason == MQRC.UNKNOWN_REMOTE_Q_MGR


def test_started_again_it_is_a_new_member(down: TestGroup) -> None:
    remove_member(down.group, "QM2")

    assert start(down).incarnation == 3
    repository = down.repository("QM2")
    assert (repository.lookup("ORDERS"), repository.lookup("ALIAS")) == (None, None)
    copy = repository.locate("TEMPLATE")
    assert copy is not None
    assert copy.disposition == "COPY"
    assert {place.structure for place in repository.make_transmit_parts("QM2")} == {"APPL1"}
    down.define_private("QM2", "ORDERS")
    sender = down.connect("QM1")
    sender.put1("ORDERS", b"private", MQMD(persistence=1), qmgr_name="QM2")
    sender.put1("SHARED", b"shared", MQMD(persistence=1), qmgr_name="QM2")
    assert [stored.state.depth for stored in parts(down).values()] == [1, 1]


def test_the_last_member_can_go_too(fresh: TestGroup) -> None:
    stop(fresh, start(fresh))
    remove_member(fresh.group, "QM2")
    leases = fresh.group.keys.leases
    # As after a stop: no owner is left under it.
    fresh.group.client().delete(leases)
    assert "queue KEPT of QM1 has messages (1): start QM1, and get or CLEAR" in outcome(
        lambda: remove_member(fresh.group, "QM1")
    )
    fresh.repository("QM1").clear("KEPT")
    remove_member(fresh.group, "QM1")

    assert fresh.group.members() == []


def refuse(group: TestGroup, why: str) -> None:
    """It is refused with these words, and nothing has changed."""
    before = state_of(group)
    for _ in range(2):
        with pytest.raises(RemovalRefusedError, match=why):
            remove_member(group.group, "QM2")
        assert state_of(group) == before


def test_one_that_is_not_there(group: TestGroup) -> None:
    with pytest.raises(RemovalRefusedError, match=r"^there is no queue manager QMM1 in group T\w+: QM1$"):
        remove_member(group.group, "QMM1")


def test_one_that_runs(fresh: TestGroup) -> None:
    start(fresh)

    refuse(fresh, r"^queue manager QM2 is running: igq qmgr stop QM2 stops it$")


def test_one_that_has_still_to_be_recovered(fresh: TestGroup) -> None:
    membership = start(fresh)
    fresh.group.client().zadd(fresh.group.keys.leases, {membership.token: 1})

    refuse(fresh, rf"^{membership.token} has still to be recovered: start QM2, or another queue manager of the group$")


def test_one_whose_program_has_still_to_be_recovered(down: TestGroup) -> None:
    down.group.client().zadd(down.group.keys.leases, {"QM2.1.77": 1})

    refuse(down, r"^QM2\.1\.77 has still to be recovered")


@pytest.mark.parametrize("target", ["QM2.1", "QM2.1.7.2", "QM1.1.9"])
def test_while_a_claim_on_anything_is_open(down: TestGroup, target: str) -> None:
    """A dead program that is being recovered may have left something at this manager, too."""
    down.group.client().zadd(down.group.keys.leases, {f"!{target}": 1e15})

    refuse(down, rf"^{target} is being recovered: repeat it when igq status says RESOLVED$")


@pytest.mark.parametrize("outcome", ["C", "B"])
def test_with_work_in_doubt(fresh: TestGroup, outcome: Any) -> None:
    membership = start(fresh)
    fresh.define_private("QM2", "ORDERS")
    connection = fresh.connect("QM2")
    with connection.open("ORDERS", PUT) as queue:
        queue.put(b"in doubt", options=PutOption.SYNCPOINT)
        prepare(connection.connection, b"xid")
    connection.disconnect()
    stop(fresh, membership)

    refuse(
        fresh, r"^1 unit of work is in doubt at queue manager QM2: DISPLAY THREAD\(\*\) TYPE\(INDOUBT\) QMNAME\(QM2\)$"
    )
    end_prepared(fresh.connect("QM1").connection, b"xid", outcome, qmgr="QM2")
    if outcome == "C":
        refuse(fresh, r"^queue ORDERS of QM2 has messages \(1\): start QM2, and get or CLEAR them$")
    else:
        remove_member(fresh.group, "QM2")


def test_its_events_go_with_it_but_only_if_nothing_else_refuses(down: TestGroup) -> None:
    membership = start(down)
    program = down.connect("QM2")
    for queue in (*sorted(EVENT_QUEUES), "ORDERS"):
        program.put1(queue, b"there", MQMD(persistence=1))
    program.disconnect()
    stop(down, membership)
    keys = [down.group.structure("@QM2").queue(name).available for name in EVENT_QUEUES]

    refuse(down, r"^queue ORDERS of QM2 has messages \(1\)")
    assert sorted(down.group.client().zcard(key) for key in keys) == [1, 1, 1, 1, 2]

    down.repository("QM2").clear("ORDERS")
    remove_member(down.group, "QM2")
    assert gone(down)


def test_with_a_message_on_a_queue_of_its_own(down: TestGroup) -> None:
    start_and_put(down)

    refuse(down, r"^queue ORDERS of QM2 has messages \(1\)")
    assert on_orders(down) == [b"kept"]


def start_and_put(group: TestGroup) -> None:
    membership = start(group)
    connection = group.connect("QM2")
    connection.put1("ORDERS", b"kept", MQMD(persistence=1))
    connection.disconnect()
    stop(group, membership)


def on_orders(group: TestGroup) -> list[bytes]:
    """Start QM2, and get the messages there."""
    start(group)
    with group.connect("QM2").open("ORDERS", GET) as queue:
        found = []
        with suppress(MQIError):
            while True:
                found.append(queue.get().body)
        return found


@pytest.mark.parametrize(("queue", "structure"), [("ORDERS", "@QM2"), ("SHARED", "APPL1")])
def test_with_a_message_that_is_sent_to_it(down: TestGroup, queue: str, structure: str) -> None:
    """One message on each of its parts of the transmit queue."""
    down.connect("QM1").put1(queue, b"on its way", MQMD(persistence=1), qmgr_name="QM2")
    assert [place.structure for place, each in parts(down).items() if each.state.depth] == [structure]

    refuse(down, r"^SYSTEM\.QSG\.TRANSMIT\.QUEUE for QM2 has messages \(1\): start QM2, it takes them$")


def test_with_a_message_whose_expiry_has_still_to_be_reported(down: TestGroup) -> None:
    """The message is on no queue any more."""
    messages = down.group.structure("@QM2").messages
    down.group.client().hset(messages, "17x", b"record")

    refuse(down, r"^1 message of QM2 is on no queue: expired, and to be reported by a running queue manager$")


def test_with_uncommitted_work_of_another(down: TestGroup) -> None:
    sender = down.connect("QM1")
    with sender.open("ORDERS", PUT, qmgr_name="QM2") as queue:
        queue.put(b"uncommitted", options=PutOption.SYNCPOINT)

    refuse(down, r"^SYSTEM\.QSG\.TRANSMIT\.QUEUE for QM2 has uncommitted messages \(1\)")
    sender.backout()
    sender.put1("SHARED", b"and goes on")
    remove_member(down.group, "QM2")


def test_with_a_handle_of_another_program(down: TestGroup) -> None:
    sender = down.connect("QM1")
    queue = sender.open("ORDERS", PUT, qmgr_name="QM2")

    refuse(
        down, rf"^SYSTEM\.QSG\.TRANSMIT\.QUEUE for QM2 is open, by .* \(pid {os.getpid()}, QM1\.1\.\d+\.\d+\): it must"
    )
    queue.put(b"the handle is as good as before", MQMD(persistence=1))
    queue.close()
    refuse(down, r"has messages \(1\)")


def test_a_program_that_once_sent_to_it_goes_on(down: TestGroup) -> None:
    """Its connection knows the removed structure: it loses nothing, and sends to the next manager of that name."""
    sender = down.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()
    with sender.open("SHARED", PUT) as shared:
        shared.put(b"uncommitted", options=PutOption.SYNCPOINT)
        remove_member(down.group, "QM2")
        start(down)
        down.define_private("QM2", "ORDERS")
        with pytest.raises(MQIError) as caught:
            sender.put1("ORDERS", b"first", MQMD(persistence=1), qmgr_name="QM2")
        assert caught.value.reason == MQRC.CF_STRUC_FAILED
        sender.put1("ORDERS", b"again", MQMD(persistence=1), qmgr_name="QM2")
        shared.put(b"and more", options=PutOption.SYNCPOINT)
        sender.commit()
    assert sender.disconnect() == MQRC.NONE
    with down.connect("QM1").open("SHARED", GET) as queue:
        assert [queue.get().body for _ in range(4)] == [b"kept", b"gone", b"uncommitted", b"and more"]


def test_a_program_that_once_sent_to_it_ends_cleanly(down: TestGroup) -> None:
    sender = down.connect("QM1")
    sender.open("ORDERS", PUT, qmgr_name="QM2").close()
    remove_member(down.group, "QM2")

    assert sender.disconnect() == MQRC.NONE
    assert traces_of_leases(down) == []


def traces_of_leases(group: TestGroup) -> list[bytes]:
    """Lost connections that still need a recovery."""
    leases: Any = group.group.client().zrange(group.group.keys.leases, 0, -1)
    return [lease for lease in leases if lease.count(b".") == 3]


def test_a_recoverer_of_the_removed_member_goes_on(down: TestGroup) -> None:
    """A recoverer enters every structure, and stays in it."""
    worker = down.connect("QM1").connection
    assert recover_a_program(down, worker)
    remove_member(down.group, "QM2")
    assert recover_a_program(down, worker)
    start(down)
    # It finds that the structure is another one than it knew. The watch calls again.
    with pytest.raises(MQIError) as caught:
        recover_a_program(down, worker)
    assert caught.value.reason == MQRC.CF_STRUC_FAILED
    assert recover_a_program(down, worker)


def recover_a_program(group: TestGroup, worker: Connection) -> bool:
    """A program of QM1 dies with uncommitted work. Returns whether that is resolved."""
    victim = group.connect("QM1")
    victim.open("SHARED", PUT).put(b"uncommitted", options=PutOption.SYNCPOINT)
    return recover(group.group, worker, victim.connection.process.token, force=True).is_resolved
