"""A structure loses its keys while units of work are in doubt there: the program that ends one learns of the loss.

The unit of work of these tests put into Q, in APPL1, and into OTHER, in APPL2; APPL1 is backed up, with a message on Q.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from recovery.resolution import recover as recover_target
from sharedq.admin.backup.errors import BackupError
from sharedq.admin.backup.restoration import purge, recover
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import UnitBatch, prepared_units
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.session.unit_of_work import CHUNK_MESSAGES
from tests.recovery.scene import Died, after_call, die_after, die_after_call, once_true
from tests.support.backups import lose, mqsc, persistent
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue

XID = b"batch 7"


@pytest.fixture
def used(used: TestGroup) -> TestGroup:
    """A group with a peer."""
    used.add_member("QM2")
    return used


def work(group: TestGroup, queues: tuple[str, ...] = ("Q", "OTHER"), messages: int = 1) -> QueueManagerConnection:
    """A program that has put on each of the queues."""
    connection = group.connect()
    for name in queues:
        with connection.open(name, OpenOption.OUTPUT) as queue:
            for _ in range(messages):
                queue.put(b"work", persistent(), options=PutOption.SYNCPOINT)
    return connection


def recover_dead(used: TestGroup, last: QueueManagerConnection) -> None:
    """The work of the manager's watch on a program that has died."""
    token = last.connection.process.token
    assert recover_target(used.group, used.connect().connection, token, force=True).is_resolved


def prepare(group: TestGroup, queues: tuple[str, ...] = ("Q", "OTHER"), xid: bytes = XID) -> None:
    connection = work(group, queues)
    connection.prepare(xid)
    connection.disconnect()


def there(group: TestGroup, name: str) -> list[bytes]:
    return [body for body, _ in on_queue(group, name, "APPL1" if name == "Q" else "APPL2")]


def xa_code(call: Callable[[], object]) -> XAReturn:
    with pytest.raises(XAError) as caught:
        call()
    return caught.value.code


def define_anew(group: TestGroup) -> None:
    status, output = mqsc(group, "DISPLAY QLOCAL(Q)\nDEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1) REPLACE\n")
    assert "normal completion" in output, (status, output)


@pytest.mark.parametrize("is_defined_anew", [False, True])
def test_a_commit_says_that_a_part_is_lost_and_says_so_again(used: TestGroup, is_defined_anew: bool) -> None:
    prepare(used)
    lose(used)
    if is_defined_anew:
        define_anew(used)
    assert xa_code(lambda: used.connect().commit_prepared(XID)) == XAReturn.XA_HEURMIX
    assert prepared_units(used.group) == []
    for again in ("commit_prepared", "backout_prepared"):
        assert xa_code(lambda again=again: getattr(used.connect(), again)(XID)) == XAReturn.XA_HEURMIX  # type: ignore[misc]
    if not is_defined_anew:
        recover(used.group, "APPL1")
    assert (there(used, "Q"), there(used, "OTHER")) == ([] if is_defined_anew else [b"kept"], [b"work"])


def test_a_commit_of_what_is_all_lost_says_that_it_is_not_there(used: TestGroup) -> None:
    prepare(used, ("Q",))
    lose(used)
    for _ in range(2):
        assert xa_code(lambda: used.connect().commit_prepared(XID)) == XAReturn.XA_HEURRB
    assert not used.connect().backout_prepared(XID)
    assert xa_code(lambda: work(used, ("OTHER",)).prepare(XID)) == XAReturn.XAER_DUPID


def test_a_backout_stays_a_backout_after_any_loss(used: TestGroup) -> None:
    prepare(used)
    lose(used)
    assert used.connect().backout_prepared(XID)
    assert not used.connect().backout_prepared(XID)
    recover(used.group, "APPL1")
    assert (there(used, "Q"), there(used, "OTHER")) == ([b"kept"], [])


@pytest.mark.parametrize("batch", [None, UnitBatch("query", 3)])
def test_those_that_are_committed_together_say_so(used: TestGroup, batch: UnitBatch | None) -> None:
    prepare(used, xid=b"both")
    prepare(used, ("OTHER",), b"whole")
    prepare(used, ("Q",), b"lost")
    lose(used)
    for _ in range(2):
        with pytest.raises(MQIError, match="2 of 3") as caught:
            used.connect().commit_prepared_together((b"whole", b"both", b"lost"), batch)
        assert caught.value.reason == MQRC.OUTCOME_MIXED
    assert prepared_units(used.group) == []
    assert there(used, "OTHER") == [b"work", b"work"]
    assert not used.connect().commit_prepared(b"whole")


def test_a_repeated_commit_gets_the_same_answer_before_its_completion(used: TestGroup) -> None:
    """The decider lost its connection, and the coordinator asks again at once."""
    prepare(used)
    first = used.connect()
    die_after_call(first.connection, 1)
    with pytest.raises(Died):
        first.commit_prepared_together((XID,), UnitBatch("query", 3))
    lose(used)
    assert (
        reason_of(lambda: used.connect().commit_prepared_together((XID,), UnitBatch("query", 3))) == MQRC.OUTCOME_MIXED
    )
    assert prepared_units(used.group) == []
    assert there(used, "OTHER") == [b"work"]


def test_a_structure_entered_before_it_failed_loses_no_later_work(used: TestGroup) -> None:
    """The connection does not know of the failure. The unit of work began after it, and is whole."""
    coordinator = used.connect()
    coordinator.put1("Q", b"enters")
    lose(used)
    recover(used.group, "APPL1")
    prepare(used)
    assert coordinator.commit_prepared(XID)
    assert (there(used, "Q"), there(used, "OTHER")) == ([b"kept", b"work"], [b"work"])


def test_lost_before_the_last_chunk_is_lost(used: TestGroup) -> None:
    connection = work(used, ("OTHER",))
    with connection.open("Q", OpenOption.OUTPUT) as queue:
        for _ in range(CHUNK_MESSAGES + 1):
            queue.put(b"work", persistent(), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    connection.prepare(XID)
    coordinator = used.connect()
    unit_key = f"{used.group.structure('APPL1').unit_of_work}{connection.connection.token}/0"
    lost: list[bool] = []

    def has_begun() -> bool:
        state: Any = used.group.client().lindex(unit_key, 0)
        return state is not None and state.startswith(b"C")

    def lose_it() -> None:
        lose(used)
        lost.append(True)

    once_true(coordinator.connection, has_begun, lose_it)
    assert xa_code(lambda: coordinator.commit_prepared(XID)) == XAReturn.XA_HEURMIX
    assert lost
    assert not coordinator.connection.is_ended


@pytest.mark.parametrize("is_lost", [False, True])
def test_the_group_completes_a_commit_killed_after_any_script_correctly(used: TestGroup, is_lost: bool) -> None:
    """Work that is absent because it was applied is not lost."""
    # A failure before the prepare does not count.
    lose(used)
    recover(used.group, "APPL1")
    before_the_last = 0
    for number in count(1):
        xid = b"%d" % number
        prepare(used, xid=xid)
        if is_lost:
            lose(used)
        last = used.connect()
        die_after_call(last.connection, number)
        try:
            assert last.commit_prepared(xid) is not is_lost
            break
        except XAError:
            assert is_lost
            break
        except Died:
            before_the_last += 1
        recover_dead(used, last)
        assert prepared_units(used.group) == []
        if is_lost:
            assert xa_code(lambda: used.connect().commit_prepared(xid)) == XAReturn.XA_HEURMIX  # noqa: B023
            recover(used.group, "APPL1")
        else:
            assert not used.connect().commit_prepared(xid)
    assert before_the_last >= 4
    if is_lost:
        recover(used.group, "APPL1")
    assert there(used, "OTHER") == [b"work"] * number
    assert there(used, "Q") == [b"kept"] + ([] if is_lost else [b"work"] * number)


def test_of_two_that_commit_it_the_first_one_knows_better(used: TestGroup) -> None:
    """It has applied everything before the structure failed, and the findings of the other one do not count."""
    prepare(used)
    second = used.connect()

    def overtake() -> None:
        assert used.connect().commit_prepared(XID)
        assert there(used, "Q") == [b"kept", b"work"]
        lose(used)

    after_call(second.connection, 1, overtake)
    assert second.commit_prepared(XID)
    assert not used.connect().commit_prepared(XID)


def test_a_prepare_that_finds_it_failed_backs_out(used: TestGroup) -> None:
    connection = work(used)
    lose(used)
    assert reason_of(lambda: connection.prepare(XID)) == MQRC.BACKED_OUT
    assert prepared_units(used.group) == []
    # The connection goes on.
    with connection.open("OTHER", OpenOption.OUTPUT) as other:
        other.put(b"next", options=PutOption.SYNCPOINT)
    connection.prepare(XID)
    assert connection.commit_prepared(XID)
    assert there(used, "OTHER") == [b"next"]


def test_a_loss_at_the_decision_leaves_it_in_doubt_and_the_commit_says_so(used: TestGroup) -> None:
    connection = work(used)
    die_after(connection.connection, "admin/prepare")
    with pytest.raises(Died):
        connection.prepare(XID)
    lose(used)
    recover_dead(used, connection)
    assert [unit.xid for unit in prepared_units(used.group)] == [XID]
    assert xa_code(lambda: used.connect().commit_prepared(XID)) == XAReturn.XA_HEURMIX


@pytest.mark.parametrize("kind", ["NORMAL", "PURGE"])
@pytest.mark.parametrize("is_lost", [False, True])
def test_work_in_doubt_prevents_recovery_and_purge_of_its_structure(used: TestGroup, kind: str, is_lost: bool) -> None:
    prepare(used)
    if is_lost:
        lose(used)
    with pytest.raises(BackupError, match="RESOLVE INDOUBT ends it"):
        (recover if kind == "NORMAL" else purge)(used.group, "APPL1")
    used.connect().backout_prepared(XID)
    purge(used.group, "APPL1")
    assert there(used, "Q") == []


@pytest.mark.parametrize("is_structure_deleted", [False, True])
def test_work_on_a_queue_deleted_since_can_be_ended(used: TestGroup, is_structure_deleted: bool) -> None:
    prepare(used)
    lose(used, "APPL2")
    used.repository("QM1").delete("QLOCAL", "OTHER")
    if is_structure_deleted:
        used.repository("QM1").delete_structure("APPL2")
    assert xa_code(lambda: used.connect().commit_prepared(XID)) == XAReturn.XA_HEURMIX
    assert there(used, "Q") == [b"kept", b"work"]
