"""ResolvedQName and ResolvedQMgrName: the destination of a message, and of another one under these names."""

from __future__ import annotations

import pytest

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.definitions.queues import QueueAlias, QueueModel, QueueRemote
from sharedq.session.handle import Handle
from tests.support.groups import BOTH, MIG
from tests.support.members import TestGroup

OK = (MQCC.OK, MQRC.NONE)
#: The name that is opened, at which manager; the queue and the manager, or G for the group, that it resolves to.
NAMES = [
    ("Q", "", "Q", "G"),
    ("Q", "QM1", "Q", "G"),
    ("Q", "G", "Q", "G"),
    ("Q", "OF.GROUP", "Q", "G"),
    ("Q", "QM2", "Q", "QM2"),
    ("NICK", "", "Q", "G"),
    ("HERE", "", "Q", "G"),
    ("AT.GROUP", "", "Q", "G"),
    ("P", "", "P", "QM1"),
    ("P", "G", "P", "QM1"),
    ("FAR", "", "IN", "QM2"),
    ("FAR.SHARED", "", "Q", "QM2"),
]


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.add_member("QM2")
    group.define_shared("Q")
    group.define_private("QM1", "P")
    group.define_private("QM2", "IN")
    group.define("QM1", QueueAlias(name="NICK", target="Q"))
    group.define("QM1", QueueRemote(name="HERE", remote_queue="Q", remote_qmgr="QM1"))
    group.define("QM1", QueueRemote(name="AT.GROUP", remote_queue="Q", remote_qmgr=group.group.name))
    group.define("QM1", QueueRemote(name="OF.GROUP", remote_qmgr=group.group.name))
    group.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2"))
    group.define("QM1", QueueRemote(name="FAR.SHARED", remote_queue="Q", remote_qmgr="QM2"))
    return group.connect()


def told(structure: MQOD | MQPMO) -> tuple[bytes, bytes]:
    return structure.resolved_q_name, structure.resolved_q_mgr_name


@pytest.mark.rule(
    "mqi/open", "ResolvedQMgrName of a shared queue is the group's name, of a private queue its manager's name."
)
@pytest.mark.rule("mqi/open", "The resolved names lead to the same queue again, from any member.")
@pytest.mark.parametrize(("name", "at", "queue", "qmgr"), NAMES)
def test_a_shared_queue_is_the_groups_and_a_private_one_its_managers(
    group: TestGroup, connection: QueueManagerConnection, name: str, at: str, queue: str, qmgr: str
) -> None:
    names = {"G": group.group.name, "": ""}
    at, expected = names.get(at, at), (queue.encode(), names.get(qmgr, qmgr).encode())
    mqi = connection.connection

    def opened() -> MQOD:
        return MQOD(object_name=name.encode(), object_q_mgr_name=at.encode())

    od = opened()
    handle, *outcome = verbs.mqopen(mqi, od, OpenOption.OUTPUT)
    assert (tuple(outcome), told(od)) == (OK, expected)
    assert isinstance(handle, Handle)
    for md in (MQMD(), MQMD(version=2, msg_flags=MIG, group_id=b"g" * 24)):
        for options in (PutOption.NONE, PutOption.SYNCPOINT):
            pmo = MQPMO(options=options)
            assert (verbs.mqput(mqi, handle, md, pmo, b"x"), told(pmo)) == (OK, expected)
    pmo = MQPMO()
    assert (verbs.mqput1(mqi, opened(), MQMD(), pmo, b"x"), told(pmo)) == (OK, expected)
    # The returned names lead there.
    again = MQOD(object_name=expected[0], object_q_mgr_name=expected[1])
    pmo = MQPMO()
    assert (verbs.mqput1(mqi, again, MQMD(), pmo, b"x"), told(pmo)) == (OK, expected)
    connection.commit()
    if qmgr != "QM2":
        there = connection.open(queue, BOTH)
        assert [there.get().body for _ in range(6)] == [b"x"] * 6


@pytest.mark.rule(
    "mqi/open", "With SQQMNAME(IGNORE), a shared queue that is named at another member resolves to the group."
)
def test_sqqmname_ignore_resolves_a_shared_queue_elsewhere_to_the_group(
    group: TestGroup, connection: QueueManagerConnection
) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"shared_q_mgr_name": "IGNORE"})
    for names in ((b"Q", b"QM2"), (b"FAR.SHARED", b"")):
        pmo = MQPMO()
        assert (
            verbs.mqput1(
                connection.connection, MQOD(object_name=names[0], object_q_mgr_name=names[1]), MQMD(), pmo, b"x"
            )
            == OK
        )
        assert told(pmo) == (b"Q", group.group.name.encode())


@pytest.mark.rule(
    "mqi/open", "ResolvedQMgrName of a shared queue is the group's name, of a private queue its manager's name."
)
@pytest.mark.parametrize(("kind", "is_shared"), [("SHAREDYN", True), ("PERMDYN", False), ("TEMPDYN", False)])
def test_a_dynamic_queue_returns_its_name(
    group: TestGroup, connection: QueueManagerConnection, kind: str, is_shared: bool
) -> None:
    structure = {"structure": "APPL1"} if is_shared else {}
    group.repository("QM1").define(QueueModel(name="MODEL", definition_type=kind, **structure))  # type: ignore[arg-type]
    od = MQOD(object_name=b"MODEL", dynamic_q_name=b"R.*")
    assert verbs.mqopen(connection.connection, od, BOTH)[1:] == OK
    assert told(od) == (od.object_name, group.group.name.encode() if is_shared else b"QM1")


@pytest.mark.rule("mqi/open", "A reply to the resolved names arrives.")
def test_replies_to_the_returned_names_arrive(group: TestGroup, connection: QueueManagerConnection) -> None:
    """A server at any member answers by the names that the client's MQOPEN returned."""
    od = MQOD(object_name=b"Q")
    verbs.mqopen(connection.connection, od, BOTH)
    asked = MQMD(msg_type=1, reply_to_q=od.resolved_q_name, reply_to_q_mgr=od.resolved_q_mgr_name)
    connection.put1("P", b"question", asked)
    question = connection.open("P", BOTH).get().md
    for server in (connection, group.connect("QM2")):
        server.put1(question.reply_to_q.decode(), b"answer", qmgr_name=question.reply_to_q_mgr.decode())
    client = connection.open("Q", BOTH)
    assert [client.get().body for _ in range(2)] == [b"answer"] * 2
