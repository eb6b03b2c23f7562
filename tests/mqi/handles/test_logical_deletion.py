"""Dynamic queues that are deleted while programs have them open: gone for every call but MQCLOSE, then gone at all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from recovery.accounting.finding import FaultKind
from recovery.accounting.repair import repair
from recovery.resolution import recover
from sharedq import Queue
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.open import open_queue
from sharedq.calls.handles.subscriptions import delete_orphans
from sharedq.mqi.constants import MQRC, CloseOption, GetOption, IntSelector, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQOD
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal, QueueModel
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.objects.store.orphans import add_orphan, forget_orphan, orphans_of
from sharedq.scripts.connections import close_call
from tests.support.accounts import assert_accounted
from tests.support.groups import BOTH, LMIG, MIG, put_member
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import stored
from tests.support.waits import until_waiting

DELETE, PURGE = CloseOption.DELETE, CloseOption.DELETE_PURGE
ALL = BOTH | OpenOption.SET
NAME = "REPLIES"


@pytest.fixture(params=["PERM", "SHARED"])
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def models(group: TestGroup) -> TestGroup:
    repository = group.repository("QM1")
    repository.define(QueueModel(name="TEMP", definition_type="TEMPDYN"))
    repository.define(QueueModel(name="PERM", definition_type="PERMDYN"))
    repository.define(QueueModel(name="SHARED", definition_type="SHAREDYN", structure="APPL1"))
    return group


def made(connection: QueueManagerConnection, model: str, name: str = NAME) -> Queue:
    od = MQOD(object_name=model.encode(), dynamic_q_name=name.encode())
    return Queue(connection.connection, open_queue(connection.connection, od, ALL))


def there(group: TestGroup) -> bool:
    """Whether it is somewhere, deleted logically or not."""
    keys = [group.group.structure(structure).queue(NAME).queue for structure in ("@QM1", "APPL1")]
    return any(group.group.client().exists(key) for key in keys)


def kill(group: TestGroup, connection: QueueManagerConnection, by: QueueManagerConnection) -> None:
    token = connection.connection.process.token
    connection.connection.process.stop_renewing()
    group.group.client().zadd(group.group.keys.leases, {token: 1})
    assert recover(group.group, by.connection, token).is_resolved


def is_gone(group: TestGroup) -> None:
    """Nothing is left of the queue, and its name is free."""
    assert not there(group)
    assert [stored(group, structure) for structure in ("@QM1", "APPL1")] == [0, 0]
    assert_accounted(group.group)
    with group.connect() as connection:
        assert reason_of(partial(connection.open, NAME, BOTH)) == MQRC.UNKNOWN_OBJECT_NAME
        made(connection, "PERM").close(PURGE)


@pytest.mark.rule("mqi/close", "If DELETE or DELETE_PURGE is refused with 2055, the handle stays open.")
@pytest.mark.parametrize("options", [DELETE, PURGE])
@pytest.mark.parametrize("how", ["messages", "a put", "a get", "a lock", "an asynchronous put"])
def test_a_refused_close_keeps_the_handle(models: TestGroup, model: str, options: CloseOption, how: str) -> None:
    connection = models.connect()
    queue = made(connection, model)
    if how == "a put":
        queue.put(b"x", options=PutOption.SYNCPOINT)
    elif how == "an asynchronous put":
        queue.put(b"x", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    else:
        queue.put(b"x")
    if how == "a get":
        queue.get(GetOption.SYNCPOINT)
    elif how == "a lock":
        queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    if options == PURGE and how in ("messages", "a lock"):
        assert queue.close(options) == MQRC.NONE
        is_gone(models)
        return
    for _ in range(2):
        assert reason_of(partial(queue.close, options)) == MQRC.Q_NOT_EMPTY
    if how == "a lock":
        assert queue.get(GetOption.MSG_UNDER_CURSOR).body == b"x"
    elif how == "a get":
        connection.commit()
    else:
        connection.commit()
        assert queue.get().body == b"x"
    assert_accounted(models.group)
    assert queue.close(options) == MQRC.NONE
    is_gone(models)


@pytest.mark.rule("mqi/close", "A dynamic queue that is deleted while others have it open is deleted logically.")
@pytest.mark.parametrize("options", [DELETE, PURGE])
def test_handles_of_a_deleted_queue(models: TestGroup, model: str, options: CloseOption) -> None:
    connection, other = models.connect(), models.connect()
    models.define("QM1", QueueAlias(name="NICK", target=NAME))
    queue = made(connection, model)
    theirs, by_alias = other.open(NAME, ALL), other.open("NICK", ALL)
    if options == PURGE:
        put_member(theirs, b"G", 1, b"of a group", MIG)
        theirs.put(b"expires", MQMD(expiry=10_000))
        theirs.put(b"plain")
        by_alias.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
        other.open(NAME, BOTH | OpenOption.CO_OP).get(GetOption.BROWSE_FIRST | GetOption.MARK_BROWSE_CO_OP)
    assert queue.close(options) == MQRC.NONE
    assert there(models)
    assert_accounted(models.group)
    calls: list[Callable[[Queue], Any]] = [
        lambda handle: handle.put(b"x"),
        lambda handle: handle.put(b"x", options=PutOption.SYNCPOINT),
        lambda handle: handle.put(b"x", MQMD(expiry=100)),
        lambda handle: put_member(handle, b"H", 1, b"x", LMIG),
        lambda handle: handle.get(),
        lambda handle: handle.get(GetOption.WAIT, wait_ms=60_000),
        lambda handle: handle.get(GetOption.BROWSE_FIRST),
        lambda handle: handle.get(GetOption.SYNCPOINT | GetOption.LOGICAL_ORDER),
        lambda handle: handle.get(GetOption.BROWSE_NEXT | GetOption.LOCK),
        lambda handle: handle.get_many(5, GetOption.SYNCPOINT),
        lambda handle: handle.inquire(IntSelector.CURRENT_Q_DEPTH),
        lambda handle: handle.set({IntSelector.INHIBIT_PUT: 1}),
    ]
    for call in calls:
        for handle in (theirs, by_alias):
            assert reason_of(partial(call, handle)) == MQRC.Q_DELETED
    other.backout()
    for name in (NAME, "NICK"):
        assert reason_of(partial(connection.open, name, BOTH)) == MQRC.Q_DELETED
        assert reason_of(partial(connection.put1, name, b"x")) == MQRC.Q_DELETED
    assert reason_of(partial(made, connection, model)) == MQRC.NAME_IN_USE
    define = partial(models.repository("QM1").define, QueueLocal(name=NAME), replace=True)
    assert reason_of(define) in (MQRC.NAME_IN_USE, MQRC.OBJECT_NOT_UNIQUE)
    assert reason_of(partial(models.repository("QM1").delete, "QLOCAL", NAME, purge=True)) == MQRC.OBJECT_IN_USE
    assert reason_of(partial(models.repository("QM1").clear, NAME)) == MQRC.OBJECT_IN_USE
    assert_accounted(models.group)
    # A close may delete, too; that the queue is deleted already is no fault.
    assert theirs.close(options) == MQRC.NONE
    assert there(models)
    by_alias.close()
    other.disconnect()
    is_gone(models)


@pytest.mark.rule("mqi/close", "Gets that wait on a dynamic queue end with 2052 when it is deleted.")
@pytest.mark.parametrize("kind", ["TEMP", "PERM", "SHARED"])
@pytest.mark.parametrize("options", [0, int(GetOption.SYNCPOINT), int(GetOption.BROWSE_FIRST)])
def test_waiting_gets_end(models: TestGroup, kind: str, options: int) -> None:
    connection, other = models.connect(), models.connect()
    queue = made(connection, kind)
    theirs = other.open(NAME, BOTH)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(reason_of, partial(theirs.get, options | GetOption.WAIT, wait_ms=60_000))
        until_waiting(models, NAME, 1, "APPL1" if kind == "SHARED" else "@QM1")
        queue.close(PURGE)
        assert waiting.result(4) == MQRC.Q_DELETED
    other.disconnect()
    is_gone(models)


@pytest.mark.invariant(1)
@pytest.mark.parametrize("kind", ["TEMP", "PERM", "SHARED"])
def test_waiting_gets_end_though_the_program_dies_that_deletes(
    models: TestGroup, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after the deletion."""
    maker, other = models.connect(process=models.process()), models.connect()
    queue, theirs = made(maker, kind), other.open(NAME, BOTH)
    monkeypatch.setattr(LocalQueues, "wake_waiters", lambda *_: maker.connection.break_off())
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(reason_of, partial(theirs.get, GetOption.WAIT, wait_ms=60_000))
        until_waiting(models, NAME, 1, "APPL1" if kind == "SHARED" else "@QM1")
        with suppress(MQIError):
            queue.close(PURGE)
        assert maker.connection.is_ended
        assert waiting.result(4) == MQRC.Q_DELETED
    monkeypatch.undo()
    kill(models, maker, models.connect())
    other.disconnect()
    is_gone(models)


@pytest.mark.rule("mqi/close", "A temporary dynamic queue is deleted logically if others have it open.")
@pytest.mark.parametrize("end", ["close", "disconnect", "dies"])
@pytest.mark.parametrize("last", ["closes", "disconnects", "dies"])
def test_a_temporary_queue_that_others_have_open(models: TestGroup, end: str, last: str) -> None:
    maker, other = models.connect(process=models.process()), models.connect(process=models.process())
    queue = made(maker, "TEMP")
    theirs = other.open(NAME, BOTH)
    theirs.put(b"x")
    if end == "close":
        queue.close()
    elif end == "disconnect":
        maker.disconnect()
    else:
        kill(models, maker, models.connect())
    assert there(models)
    assert reason_of(theirs.get) == MQRC.Q_DELETED
    assert_accounted(models.group)
    if last == "closes":
        theirs.close()
    elif last == "disconnects":
        other.disconnect()
    else:
        kill(models, other, models.connect())
    is_gone(models)


@pytest.mark.parametrize("end", ["disconnect", "dies"])
@pytest.mark.parametrize("work", ["put", "get"])
@pytest.mark.parametrize("last", ["commit", "backout", "dies"])
def test_it_goes_after_the_last_unit_of_work_of_others(models: TestGroup, end: str, work: str, last: str) -> None:
    maker, other = models.connect(process=models.process()), models.connect(process=models.process())
    made(maker, "TEMP").put(b"before")
    theirs = other.open(NAME, BOTH)
    if work == "put":
        theirs.put(b"x", options=PutOption.SYNCPOINT)
    else:
        theirs.get(GetOption.SYNCPOINT)
    theirs.close()
    if end == "disconnect":
        assert maker.disconnect() == MQRC.NONE
    else:
        kill(models, maker, models.connect())
    # The managers know of it, and of nothing that is not explained.
    assert (delete_orphans(models.group), there(models)) == (1, True)
    assert_accounted(models.group)
    if last == "dies":
        # The recovery of the last one deletes it.
        kill(models, other, models.connect())
    else:
        (other.commit if last == "commit" else other.backout)()
        assert delete_orphans(models.group) == 0
    is_gone(models)


def test_an_orphan_that_is_open_is_deleted_logically(models: TestGroup) -> None:
    maker, other = models.connect(process=models.process()), models.connect()
    made(maker, "TEMP")
    theirs = other.open(NAME, BOTH)
    theirs.put(b"x", options=PutOption.SYNCPOINT)
    kill(models, maker, models.connect())
    other.commit()
    assert delete_orphans(models.group) == 0
    assert reason_of(theirs.get) == MQRC.Q_DELETED
    assert_accounted(models.group)
    theirs.close()
    is_gone(models)


def test_an_orphan_leaves_a_later_queue_of_its_name_alone(models: TestGroup) -> None:
    maker, other = models.connect(process=models.process()), models.connect()
    made(maker, "TEMP")
    theirs = other.open(NAME, BOTH)
    theirs.put(b"x", options=PutOption.SYNCPOINT)
    kill(models, maker, models.connect())
    (orphan,) = orphans_of(models.group)
    other.backout()
    theirs.close()
    models.repository("QM1").delete(QueueLocal.kind, NAME)
    made(other, "TEMP").put(b"kept")
    assert delete_orphans(models.group) == 0
    assert other.open(NAME, BOTH).get().body == b"kept"
    # A manager that comes late with the first one does not forget the second one.
    later = replace(orphan, maker=other.connection.token)
    add_orphan(models.group, later.structure, later.queue, later.maker)
    forget_orphan(models.group, orphan)
    assert list(orphans_of(models.group)) == [later]
    other.disconnect()
    assert delete_orphans(models.group) == 0
    is_gone(models)


@pytest.mark.parametrize("order", ["deleter first", "deleter last", "both at once"])
def test_programs_that_die_with_a_deleted_queue_open(models: TestGroup, model: str, order: str) -> None:
    deleter, other = models.connect(process=models.process()), models.connect(process=models.process())
    queue, second = made(deleter, model), deleter.open(NAME, BOTH)
    theirs = other.open(NAME, BOTH)
    theirs.put(b"x")
    theirs.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    queue.close(PURGE)
    witness = models.connect()
    if order == "both at once":
        tokens = [each.connection.process.token for each in (deleter, other)]
        for each in (deleter, other):
            each.connection.process.stop_renewing()
        models.group.client().zadd(models.group.keys.leases, dict.fromkeys(tokens, 1))
        for token in tokens:
            assert recover(models.group, witness.connection, token).is_resolved
    else:
        for each in (deleter, other) if order == "deleter first" else (other, deleter):
            assert there(models)
            kill(models, each, witness)
    assert second.handle.name == NAME
    is_gone(models)


def test_a_program_that_dies_between_the_last_close_and_the_deletion(models: TestGroup, model: str) -> None:
    maker, other = models.connect(), models.connect(process=models.process())
    queue = made(maker, model)
    theirs = other.open(NAME, BOTH)
    theirs.put(b"x")
    queue.close(PURGE)
    # As the program is killed when its last close was done: the queue is noted for its recovery.
    handle, connection = theirs.handle, other.connection
    keys = handle.structure.keys
    call = close_call(keys, handle.queue, connection.token, handle.number, has_marks=False, has_lock=False)
    assert connection.call(*call) == [1]
    assert there(models)
    assert_accounted(models.group)
    kill(models, other, models.connect())
    is_gone(models)


def test_the_account_finds_one_that_nobody_goes_with(models: TestGroup) -> None:
    connection, other = models.connect(), models.connect()
    queue = made(connection, "PERM")
    theirs = other.open(NAME, BOTH)
    queue.close(PURGE)
    keys, client = models.group.structure("@QM1"), models.group.client()
    client.delete(keys.queue(NAME).handles, keys.holdings + other.connection.token)
    client.hset(keys.queue(NAME).queue, mapping={"ip": 0, "op": 0})
    found, left = repair(models.group, models.connect().connection)
    assert ({finding.kind for finding in found}, left) == ({FaultKind.TEMPORARY}, [])
    theirs.close()
    is_gone(models)
