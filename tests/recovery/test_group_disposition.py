"""Prepared units of work that belong to the group: any member ends them, after a death at any step."""

from __future__ import annotations

import io
from itertools import count

import pytest

from igq.mqsc.executor import run
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import PreparedUnit, prepared_units
from sharedq.mqi.constants import PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError, XAReturn
from tests.recovery.scene import BOTH, DEAD, Died, Scene, die_after_call

XID = b"query 7"
QUEUES = {"ORDERS": "APPL1", "BILLS": "APPL2", "LOCAL": "@QM1"}
NOTHING: dict[str, list[bytes]] = {queue: [] for queue in QUEUES}
EVERYTHING = {queue: [XID] for queue in QUEUES}


def put(scene: Scene) -> QueueManagerConnection:
    """A program of QM1 that has put in three structures, one of them its manager's own."""
    worker = scene.victim("worker")
    for queue in QUEUES:
        worker.open(queue, BOTH).put(XID, options=PutOption.SYNCPOINT)
    return worker


def seen(scene: Scene) -> dict[str, list[bytes]]:
    return {queue: [body for body, _ in scene.messages(structure, queue)] for queue, structure in QUEUES.items()}


def group_units(scene: Scene) -> list[PreparedUnit]:
    group = scene.test.group
    return prepared_units(group, group.name)


def end(scene: Scene, how: str) -> bool:
    """By QM2, which knows nothing of the program that prepared it."""
    connection, whose = scene.test.connect("QM2"), scene.test.group.name
    if how == "together":
        return connection.commit_prepared_together([XID], for_group=True)
    return (connection.commit_prepared if how == "commit" else connection.backout_prepared)(XID, qmgr=whose)


ENDS = {"commit": EVERYTHING, "back out": NOTHING, "together": EVERYTHING}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("is_down", [False, True], ids=["QM1 runs", "QM1 is dead"])
def test_another_member_ends_it(scene: Scene, how: str, is_down: bool) -> None:
    put(scene).prepare(XID, for_group=True)
    if is_down:
        assert scene.recover(target=DEAD, force=True).in_doubt == 1
    assert seen(scene) == NOTHING

    assert end(scene, how)

    assert (seen(scene), group_units(scene)) == (ENDS[how], [])
    assert end(scene, how) is (how == "together")
    assert seen(scene) == ENDS[how]


def test_the_program_that_prepares_it_dies_at_any_step(scene: Scene) -> None:
    """Before the decision nothing is in doubt, and all is backed out. After it another member ends it at once."""
    for number in count(1):
        worker = put(scene)
        die_after_call(worker.connection, number)
        try:
            worker.prepare(XID + b"%d" % number, for_group=True)
        except Died:
            pass
        else:
            break
        # QM1 is not even recovered.
        for unit in group_units(scene):
            assert scene.test.connect("QM2").backout_prepared(unit.xid, qmgr=unit.qmgr)
        scene.recover(target=worker.connection.token.rpartition(".")[0], force=True)
        assert (seen(scene), prepared_units(scene.test.group)) == (NOTHING, [])
    assert number > 1


@pytest.mark.parametrize("how", ENDS)
def test_the_program_that_ends_it_dies_at_any_step(scene: Scene, how: str) -> None:
    for number in count(1):
        put(scene).prepare(XID, for_group=True)
        dying = scene.test.connect("QM2")
        die_after_call(dying.connection, number)
        whose = scene.test.group.name
        try:
            if how == "together":
                dying.commit_prepared_together([XID], for_group=True)
            else:
                (dying.commit_prepared if how == "commit" else dying.backout_prepared)(XID, qmgr=whose)
        except Died:
            pass
        else:
            break
        # A third program does the rest, as a recovery would.
        end(scene, how)
        assert (seen(scene), group_units(scene)) == (ENDS[how], [])
        break_even(scene)
    assert number > 1


def break_even(scene: Scene) -> None:
    """Nothing is on the queues, and the id is forgotten."""
    connection = scene.test.connect("QM1")
    for queue, structure in QUEUES.items():
        handle = connection.open(queue, BOTH)
        while scene.messages(structure, queue):
            handle.get()
    scene.test.group.client().delete(scene.test.group.keys.completed)


def test_the_dispositions_do_not_see_each_others_ids(scene: Scene) -> None:
    put(scene).prepare(XID)
    put(scene).prepare(XID, for_group=True)
    with pytest.raises(XAError) as caught:
        put(scene).prepare(XID, for_group=True)
    assert caught.value.code == XAReturn.XAER_DUPID
    with pytest.raises(XAError):
        scene.test.connect("QM2").commit_prepared_together([XID])
    with pytest.raises(MQIError, match="QM1 is running"):
        scene.test.connect("QM2").backout_prepared(XID, qmgr="QM1")

    assert scene.test.connect("QM2").backout_prepared(XID, qmgr=scene.test.group.name)

    (left,) = prepared_units(scene.test.group)
    assert (left.qmgr, left.prepared_at) == ("QM1", "QM1")
    assert scene.test.connect("QM1").backout_prepared(XID)


def test_operators_see_and_resolve_it_at_every_member(scene: Scene) -> None:
    put(scene).prepare(b"of QM1")
    put(scene).prepare(XID, for_group=True)

    def mqsc(text: str, qmgr: str) -> str:
        out = io.StringIO()
        run([f"{text}\n"], scene.test.repository(qmgr), out)
        return out.getvalue()

    assert mqsc("DISPLAY THREAD(*) TYPE(INDOUBT)", "QM1").count("URDISP(GROUP)") == 1
    shown = mqsc("DISPLAY THREAD(*) TYPE(INDOUBT)", "QM2")
    assert (shown.count("URDISP(GROUP)"), shown.count("URDISP(QMGR)"), "QMNAME(QM1)" in shown) == (1, 0, True)
    assert mqsc("DISPLAY CONN(*) ALL WHERE(URDISP EQ GROUP)", "QM2").count(XID.hex().upper()) == 1
    assert mqsc("RESOLVE INDOUBT(*) ACTION(COMMIT) NID(*)", "QM2").count("CSQV414I") == 1
    assert seen(scene) == EVERYTHING
    assert [unit.xid for unit in prepared_units(scene.test.group)] == [b"of QM1"]
