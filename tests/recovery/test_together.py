"""Prepared units of work that are committed together: all of them or none, once for each batch of a series."""

from __future__ import annotations

import pytest

from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.in_doubt import TOGETHER_MAX, UnitBatch, latest_batch, prepared_units
from sharedq.mqi.constants import MQRC, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError, XAReturn
from sharedq.reading.queue import Reader
from sharedq.redis.deployment import Deployment
from tests.recovery.scene import BOTH, DEAD, Died, Scene, die_after_call
from tests.recovery.test_in_doubt import again_and_again, restart

XIDS = (b"first", b"second", b"third")
QUEUES = {"ORDERS": "APPL1", "BILLS": "APPL2", "LOCAL": "@QM1"}
EVERYTHING = {queue: [b"first", b"second", b"third"] for queue in QUEUES}
NOTHING: dict[str, list[bytes]] = {queue: [] for queue in QUEUES}


def prepare(scene: Scene, *xids: bytes, must_be_read: bool = False) -> None:
    """One unit of work for each id, over three structures, by a program that has gone."""
    with scene.test.connect("QM1") as worker:
        queues = [worker.open(queue, BOTH) for queue in QUEUES]
        for xid in xids:
            for queue in queues:
                queue.put(xid, options=PutOption.SYNCPOINT)
            assert worker.prepare(xid, must_be_read=must_be_read) == len(QUEUES)


def seen(scene: Scene) -> dict[str, list[bytes]]:
    return {queue: [body for body, _ in scene.messages(structure, queue)] for queue, structure in QUEUES.items()}


def coordinator(scene: Scene) -> QueueManagerConnection:
    return scene.test.connect("QM1")


def reader_of(scene: Scene) -> Reader:
    return Reader(Deployment(str(scene.test.settings.redis_url)), scene.test.group.name)


def test_all_are_committed_and_a_repetition_changes_nothing(scene: Scene) -> None:
    prepare(scene, *XIDS)
    assert seen(scene) == NOTHING

    assert coordinator(scene).commit_prepared_together(XIDS)
    assert seen(scene) == EVERYTHING
    assert prepared_units(scene.test.group) == []
    assert coordinator(scene).commit_prepared_together(XIDS)
    assert seen(scene) == EVERYTHING


@pytest.mark.parametrize(("fate", "code"), [("unknown", XAReturn.XAER_NOTA), ("backed out", XAReturn.XA_HEURRB)])
def test_one_that_cannot_be_committed_keeps_all_from_it(scene: Scene, fate: str, code: XAReturn) -> None:
    prepare(scene, *XIDS[:2])
    if fate == "backed out":
        prepare(scene, XIDS[2])
        assert coordinator(scene).backout_prepared(XIDS[2])

    with pytest.raises(XAError) as caught:
        coordinator(scene).commit_prepared_together(XIDS)

    assert (caught.value.code, caught.value.xid) == (code, XIDS[2])
    assert seen(scene) == NOTHING
    assert [unit.outcome for unit in prepared_units(scene.test.group)] == [None, None]


def test_one_whose_backing_out_was_decided_counts_as_backed_out(scene: Scene) -> None:
    prepare(scene, *XIDS)
    dying = coordinator(scene)
    die_after_call(dying.connection, 1)
    with pytest.raises(Died):
        dying.backout_prepared(XIDS[1])

    with pytest.raises(XAError) as caught:
        coordinator(scene).commit_prepared_together(XIDS)

    assert caught.value.code == XAReturn.XA_HEURRB
    assert seen(scene) == NOTHING


@pytest.mark.parametrize("read", XIDS)
def test_work_that_must_be_read_is_not_committed_before_any_is_read(scene: Scene, read: bytes) -> None:
    prepare(scene, *XIDS, must_be_read=True)
    prepare(scene, b"alone", must_be_read=True)
    reader = reader_of(scene)
    reader.note_read("QM1", b"alone")
    reader.note_read("QM2", read)

    with pytest.raises(XAError, match="nobody has read what it got") as caught:
        coordinator(scene).commit_prepared_together(XIDS, UnitBatch("query"))

    assert (caught.value.code, caught.value.xid in XIDS) == (XAReturn.XAER_PROTO, True)
    assert (seen(scene), latest_batch(scene.test.group, "query")) == (NOTHING, None)
    assert {unit.xid: (unit.is_unread, unit.outcome) for unit in prepared_units(scene.test.group)} == {
        b"alone": (False, None),
        **dict.fromkeys(XIDS, (True, None)),
    }

    # Again, by a coordinator that reads the same after a crash.
    for _ in range(2):
        reader.note_read("QM1", read)
    assert coordinator(scene).commit_prepared_together(XIDS, UnitBatch("query"))
    assert seen(scene) == EVERYTHING
    reader.note_read("QM1", read)
    assert [unit.xid for unit in prepared_units(scene.test.group)] == [b"alone"]
    reader.close()
    # On a repetition it does not matter whether anything was read.
    assert not coordinator(scene).commit_prepared_together(XIDS, UnitBatch("query"))


def test_unread_work_may_be_ended_by_its_name(scene: Scene) -> None:
    """An operator decides at his own risk."""
    prepare(scene, *XIDS, must_be_read=True)
    assert coordinator(scene).backout_prepared(XIDS[1])
    assert coordinator(scene).commit_prepared(XIDS[0])
    assert {queue: bodies[:1] for queue, bodies in seen(scene).items()} == {queue: [XIDS[0]] for queue in QUEUES}


def test_decided_work_is_completed_without_a_reader(scene: Scene) -> None:
    prepare(scene, *XIDS, must_be_read=True)
    reader = reader_of(scene)
    reader.note_read("QM1", XIDS[2])
    reader.close()
    units = coordinator(scene).decide_prepared_together(XIDS)
    assert units is not None
    assert coordinator(scene).commit_prepared_together(XIDS)
    assert seen(scene) == EVERYTHING


@pytest.mark.invariant(3)
def test_killed_after_any_script_all_or_none_is_committed(scene: Scene) -> None:
    """A program that dies before the decision has decided nothing. After it the group completes every one."""
    prepare(scene, *XIDS)
    fates = []
    for number in again_and_again(scene):
        dying = coordinator(scene)
        die_after_call(dying.connection, number)
        try:
            dying.commit_prepared_together(XIDS, UnitBatch("query", 0))
            break
        except Died:
            pass
        restart(scene, DEAD)
        fates.append(seen(scene))
        assert prepared_units(scene.test.group) == []
        assert coordinator(scene).commit_prepared_together(XIDS, UnitBatch("query", 1))
    assert len(fates) > 2 * len(XIDS)
    assert all(fate == EVERYTHING for fate in fates), "the first script decides"
    assert seen(scene) == EVERYTHING


def test_killed_before_the_decision_nothing_is_committed(scene: Scene) -> None:
    prepare(scene, *XIDS)
    restart(scene, DEAD)
    assert seen(scene) == NOTHING
    assert len(prepared_units(scene.test.group)) == len(XIDS)
    assert coordinator(scene).commit_prepared_together(XIDS)
    assert seen(scene) == EVERYTHING


# -- series --------------------------------------------------------------------------------------------------------


@pytest.mark.invariant(8)
def test_a_batch_of_a_series_is_committed_once(scene: Scene) -> None:
    prepare(scene, b"first")
    assert coordinator(scene).commit_prepared_together([b"first"], UnitBatch("query", 7))
    prepare(scene, b"again")

    for batch in (7, 6, 0):
        assert not coordinator(scene).commit_prepared_together([b"again"], UnitBatch("query", batch))

    assert seen(scene)["ORDERS"] == [b"first"]
    assert coordinator(scene).backout_prepared(b"again")
    prepare(scene, b"second")
    assert coordinator(scene).commit_prepared_together([b"second"], UnitBatch("query", 8))
    prepare(scene, b"third")
    assert coordinator(scene).commit_prepared_together([b"third"], UnitBatch("another", 0))
    assert seen(scene)["ORDERS"] == [b"first", b"second", b"third"]


def test_a_batch_with_nothing_in_it_counts_too(scene: Scene) -> None:
    assert coordinator(scene).commit_prepared_together([], UnitBatch("query", 3))
    assert not coordinator(scene).commit_prepared_together([], UnitBatch("query", 3))


def test_work_too_late_for_its_batch_is_not_prepared(scene: Scene) -> None:
    assert latest_batch(scene.test.group, "query") is None
    assert coordinator(scene).commit_prepared_together([], UnitBatch("query", 3))
    assert latest_batch(scene.test.group, "query") == 3
    late = coordinator(scene)
    orders = late.open("ORDERS", BOTH)
    orders.put(b"late", options=PutOption.SYNCPOINT)

    with pytest.raises(XAError, match="batch 3 of query was decided without it") as caught:
        late.prepare(b"late", UnitBatch("query", 3))

    assert caught.value.code == XAReturn.XAER_PROTO
    assert prepared_units(scene.test.group) == []
    assert late.prepare(b"next", UnitBatch("query", 4)) == 1
    assert late.commit_prepared_together([b"next"], UnitBatch("query", 4))
    assert seen(scene)["ORDERS"] == [b"late"]


def test_a_batch_that_is_kept_for_a_time_is_forgotten_then(scene: Scene) -> None:
    assert coordinator(scene).commit_prepared_together([], UnitBatch("job", 0, kept_s=100))
    client = scene.test.group.client()
    assert 0 < client.ttl(f"{scene.test.group.keys.series}job") <= 100


def test_decided_again_by_another_it_is_that_ones_to_complete(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if its program has the name that a record of a decision begins with."""
    monkeypatch.setattr("sharedq.session.connection.default_appl_name", lambda: b'"outcome":"B","by":"nobody"')
    prepare(scene, *XIDS)
    first, second = coordinator(scene), coordinator(scene)
    for each in (first, second):
        found = each.decide_prepared_together(XIDS) or []
        assert {unit.xid for unit in found} == {*XIDS}
        for unit in (*found, *prepared_units(scene.test.group)):
            assert (unit.outcome, unit.decided_by) == ("C", each.connection.token)
            assert unit.appl_name == '"outcome":"B","by":"nobody"'
    with pytest.raises(XAError) as caught:
        first.backout_prepared(XIDS[0])
    assert caught.value.code == XAReturn.XA_HEURCOM
    assert first.commit_prepared_together(XIDS)
    assert (seen(scene), prepared_units(scene.test.group)) == (EVERYTHING, [])


# -- what is refused -----------------------------------------------------------------------------------------------


def test_too_many_are_refused(scene: Scene) -> None:
    with pytest.raises(XAError, match=f"at most {TOGETHER_MAX}") as caught:
        coordinator(scene).commit_prepared_together([b"%d" % n for n in range(TOGETHER_MAX + 1)])
    assert caught.value.code == XAReturn.XAER_INVAL


def test_those_of_another_manager_are_not_known(scene: Scene) -> None:
    prepare(scene, *XIDS)
    with pytest.raises(XAError) as caught:
        scene.test.connect("QM2").commit_prepared_together(XIDS)
    assert caught.value.code == XAReturn.XAER_NOTA
    assert seen(scene) == NOTHING


def test_one_that_was_recovered_decides_nothing(scene: Scene) -> None:
    prepare(scene, *XIDS)
    zombie = coordinator(scene)
    restart(scene, DEAD)
    with pytest.raises(MQIError) as caught:
        zombie.commit_prepared_together(XIDS)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    assert seen(scene) == NOTHING
