"""Unexplained keys are repaired, and nothing is lost."""

from __future__ import annotations

import pytest

from recovery.accounting.account import account
from recovery.accounting.finding import FaultKind
from recovery.accounting.repair import repair
from recovery.resolution import recover
from recovery.target import Target
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueModel
from sharedq.session.connection import Connection
from tests.recovery.scene import TAG, register_wait
from tests.recovery.test_account import PLANTED, admin, key
from tests.support.members import TestGroup
from tests.support.scenes import dump

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
#: Findings that cannot be repaired without an operator's decision, or without a loss.
LEFT = {"prepared unit", "record", "missing record", "set aside", "version", "destination", "unknown", "tag of a unit"}
LEFT |= {"agent", "structure", "lease", "recovery", "queue"}


@pytest.fixture
def used(group: TestGroup) -> TestGroup:
    """Q with an available message."""
    group.define_shared("Q")
    group.connect().put1("Q", b"kept", MQMD(persistence=1))
    return group


def forget(group: TestGroup, connection: QueueManagerConnection) -> None:
    """As if a program had taken its handles for closed: nothing shows the owner any more."""
    token = connection.connection.token
    client = group.group.client()
    client.hdel(key(group, "own"), token)
    client.hdel(admin(group, "own"), token)


def bodies(group: TestGroup, queue: str) -> list[bytes]:
    with group.connect() as connection:
        return [message.body for message in connection.open(queue, BOTH).get_many(10)]


def mend(group: TestGroup) -> set[FaultKind]:
    """Repair. Returns the kinds of findings. None may be left."""
    first, left = repair(group.group, group.connect().connection)
    assert left == []
    return {finding.kind for finding in first}


@pytest.mark.unaccounted("some of what is planted stays")
@pytest.mark.parametrize("what", PLANTED)
def test_planted_findings_are_repaired_or_left(used: TestGroup, what: str) -> None:
    repairer = used.connect().connection
    repairer.access("APPL1")
    plant, kind, _ = PLANTED[what]
    plant(used.group.client(), used)
    first, left = repair(used.group, repairer)
    assert kind in {finding.kind for finding in first}
    assert bool(left) == (what in LEFT), left
    if what not in ("temporary", "missing record"):
        assert bodies(used, "Q") == [b"kept"]


def test_handles_with_locks_exclusive_use_and_marks(used: TestGroup) -> None:
    connection = used.connect()
    queue = connection.open("Q", OpenOption.INPUT_EXCLUSIVE | OpenOption.OUTPUT | OpenOption.BROWSE)
    queue.put(b"2")
    assert queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK).body == b"kept"
    assert queue.get(GetOption.BROWSE_NEXT | GetOption.MARK_BROWSE_HANDLE).body == b"2"
    forget(used, connection)
    assert mend(used) >= {FaultKind.HANDLE}
    assert bodies(used, "Q") == [b"kept", b"2"]


def test_a_unit_of_work_and_a_tag(used: TestGroup) -> None:
    connection = used.connect(tag=TAG)
    queue = connection.open("Q", BOTH)
    queue.get(GetOption.SYNCPOINT)
    queue.put(b"never", options=PutOption.SYNCPOINT)
    forget(used, connection)
    assert mend(used) >= {FaultKind.HANDLE, FaultKind.UNIT, FaultKind.TAG}
    assert bodies(used, "Q") == [b"kept"]
    used.connect(tag=TAG)


def test_waiting_gets_of_every_selection(used: TestGroup) -> None:
    used.define_shared("EMPTY")
    selections = [
        b"A",
        b"A!",
        b"B",
        b"C" + 24 * b"A",
        b"M" + 24 * b"\xff",
        b"N17 ",
        b"V",
        b"E",
        b"D2",
        b"G" + 32 * b"Q",
    ]
    waiting = []
    for selection in selections:
        waiting.append(used.connect())
        register_wait(waiting[-1].open("EMPTY", BOTH), selection)
    for connection in waiting:
        forget(used, connection)
    assert mend(used) >= {FaultKind.WAITER, FaultKind.HANDLE}
    used.connect().put1("EMPTY", b"for the living")
    assert bodies(used, "EMPTY") == [b"for the living"]


def test_a_program_without_a_lease_is_recovered(used: TestGroup) -> None:
    connection = used.connect(tag=TAG)
    connection.open("Q", BOTH).get(GetOption.SYNCPOINT)
    used.group.client().zrem(admin(used, "leases"), connection.connection.process.token)
    assert mend(used) == {FaultKind.PROCESS, FaultKind.OWNER}
    assert bodies(used, "Q") == [b"kept"]
    used.connect(tag=TAG)


def test_a_temporary_queue_without_its_maker_is_deleted(used: TestGroup) -> None:
    used.repository("QM1").define(QueueModel(name="MODEL", definition_type="TEMPDYN"))
    connection = used.connect()
    queue = connection.open("MODEL", BOTH, dynamic_name="REPLY.*")
    queue.put(b"too late", MQMD(persistence=0))
    name = queue.resolved_name
    client, keys = used.group.client(), used.group.structure("@QM1")
    client.delete(
        keys.queue(name).handles, keys.holdings + connection.connection.token, keys.made + connection.connection.token
    )
    client.hset(keys.queue(name).queue, mapping={"ip": 0, "op": 0})
    assert FaultKind.TEMPORARY in mend(used)
    assert used.repository("QM1").lookup(name) is None


@pytest.mark.parametrize("dies", ["connection", "program", "manager"])
def test_what_dies_in_a_deleted_structure_is_recovered_there(used: TestGroup, dies: str) -> None:
    dead, living = in_deleted(used)
    client, keys, target = used.group.client(), used.group.keys, Target.parse(dead.token)
    token = {"connection": dead.token, "program": dead.process.token, "manager": target.incarnation_token}[dies]
    dead.process.stop_renewing()
    used.add_member("QM2")
    client.zadd(keys.leases, {token: 1})
    assert recover(used.group, used.connect("QM2" if dies == "manager" else "QM1").connection, token).is_resolved
    structure = used.group.structure("GONE")
    assert client.hkeys(structure.owners) == ([] if dies == "manager" else [living.token.encode()])
    assert account(used.group) == []
    assert client.exists(keys.deleted) == (dies != "manager")


def test_an_owner_of_a_deleted_structure_that_nobody_recovers_is_repaired(used: TestGroup) -> None:
    """As versions left it whose recovery did not look into deleted structures."""
    dead, living = in_deleted(used)
    client = used.group.client()
    client.delete(used.group.keys.deleted)
    dead.process.stop_renewing()
    client.hdel(admin(used, "own"), dead.token)
    assert mend(used) == {FaultKind.OWNER}
    assert client.hkeys(used.group.structure("GONE").owners) == [living.token.encode()]
    living.leave()
    assert not client.exists(used.group.structure("GONE").owners)


def test_a_structure_that_is_defined_again_is_not_a_deleted_one(used: TestGroup) -> None:
    _, living = in_deleted(used)
    recoverer = used.connect().connection
    recoverer.access_deleted("GONE")
    used.define_structure("GONE")
    assert recoverer.access("GONE").number == used.group.structure_number("GONE")
    assert used.group.deleted_structures() == []
    used.define_shared("AGAIN", "GONE")
    QueueManagerConnection(living).put1("AGAIN", b"there")
    assert bodies(used, "AGAIN") == [b"there"]


def in_deleted(group: TestGroup) -> tuple[Connection, Connection]:
    """Two connections of two programs that have entered a structure which was deleted then."""
    group.define_structure("GONE")
    connections = group.connect().connection, group.connect().connection
    for connection in connections:
        connection.access("GONE")
    group.repository("QM1").delete_structure("GONE")
    return connections


def test_nothing_is_repaired_that_belongs_to_the_living(used: TestGroup) -> None:
    connection = used.connect(tag=TAG)
    queue = connection.open("Q", BOTH)
    queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    queue.put(b"uncommitted", options=PutOption.SYNCPOINT)
    repairer = used.connect().connection
    repairer.access("APPL1")
    before = dump(used)
    assert repair(used.group, repairer) == ([], [])
    assert dump(used) == before
    assert account(used.group) == []
