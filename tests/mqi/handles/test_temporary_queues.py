"""Temporary dynamic queues go with the handle that made them, however that ends."""

from __future__ import annotations

from functools import partial

import pytest

from recovery.resolution import recover
from sharedq.calls.handles.open import close_handle, open_queue
from sharedq.mqi import wire
from sharedq.mqi.constants import MQCC, MQRC, CloseOption, GetOption, OpenOption, Persistence, PutOption, Report
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.definitions.queues import QueueAlias, QueueModel
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.verbs import mqput1
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import on_queue, stored

pytestmark = pytest.mark.share

PERSISTENT, AS_Q_DEF = int(Persistence.PERSISTENT), int(Persistence.AS_Q_DEF)
LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


@pytest.fixture
def models(group: TestGroup) -> TestGroup:
    """A group with one model of each kind."""
    group.repository("QM1").define(QueueModel(name="TEMP", definition_type="TEMPDYN"))
    group.repository("QM1").define(QueueModel(name="PERM", definition_type="PERMDYN"))
    return group


def create(connection: Connection, model: bytes = b"TEMP") -> Handle:
    return open_queue(connection, MQOD(object_name=model, dynamic_q_name=b"REPLY.*"), BOTH)


def exists(group: TestGroup, handle: Handle) -> bool:
    return group.repository("QM1").lookup(handle.name) is not None


@pytest.mark.rule("mqi/close", "A temporary dynamic queue and its messages go with the handle that made it.")
@pytest.mark.parametrize("option", [CloseOption.NONE, CloseOption.DELETE, CloseOption.DELETE_PURGE])
def test_it_goes_with_the_close_by_its_creator_and_its_messages_too(models: TestGroup, option: CloseOption) -> None:
    connection = models.connect()
    handle = create(connection.connection)
    other = connection.open(handle.name, OpenOption.OUTPUT)
    other.put(b"x")
    other.close()
    assert exists(models, handle)
    close_handle(connection.connection, handle, option)
    assert not exists(models, handle)
    assert stored(models, "@QM1") == 0


@pytest.mark.rule("mqi/close", "A put of a persistent message on a temporary dynamic queue is refused with 2048.")
@pytest.mark.parametrize("said", [PERSISTENT, AS_Q_DEF])
@pytest.mark.parametrize("by", ["its name", "an alias"])
@pytest.mark.parametrize("options", [PutOption.NONE, PutOption.SYNCPOINT, LATER, PutOption.LOGICAL_ORDER])
def test_no_persistent_message_is_put_on_one(models: TestGroup, said: int, by: str, options: int) -> None:
    default = "YES" if said == AS_Q_DEF else "NO"
    model = QueueModel(name="MINE", definition_type="TEMPDYN", def_persistence="YES" if by == "its name" else "NO")
    models.repository("QM1").define(model)
    connection = models.connect()
    name = create(connection.connection, b"MINE").name
    if by == "an alias":
        models.define("QM1", QueueAlias(name="NICK", target=name, def_persistence=default))  # type: ignore[arg-type]
        name = "NICK"
    queue = connection.open(name, OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    for _ in range(2):
        md = MQMD(version=2, persistence=said)
        assert reason_of(partial(queue.put, b"x", md, options=options)) == MQRC.PERSISTENT_NOT_ALLOWED
        assert md == MQMD(version=2, persistence=said)
        many = [(MQMD(version=2, persistence=0), b"x"), (md, b"y")]
        assert reason_of(partial(queue.put_many, many, options=options)) == MQRC.PERSISTENT_NOT_ALLOWED
        # A queue without a reason to stay goes, and does not keep the next one.
        queue.put(b"z", MQMD(version=2, persistence=0), options=options)
    if not options & PutOption.LOGICAL_ORDER:
        assert reason_of(lambda: connection.put1(name, b"x", MQMD(version=2, persistence=said), options=options)) == (
            MQRC.PERSISTENT_NOT_ALLOWED
        )
    connection.commit()
    assert [queue.get().body for _ in range(2)] == [b"z"] * 2
    assert stored(models, "@QM1") == 0


def test_permanent_dynamic_queues_take_them(models: TestGroup) -> None:
    connection = models.connect()
    name = create(connection.connection, b"PERM").name
    connection.put1(name, b"x", MQMD(persistence=1))
    assert connection.open(name, BOTH).get().md.persistence == 1


@pytest.mark.rule(
    "mqi/close", "A persistent report or message from another manager for a temporary queue is dead-lettered."
)
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_report_about_a_persistent_message_goes_to_the_dead_letter_queue(models: TestGroup, persistence: int) -> None:
    """Its persistence is that of the message."""
    models.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    models.define_shared("Q")
    connection = models.connect()
    replies = create(connection.connection)
    asks = MQMD(persistence=persistence, report=int(Report.COA), reply_to_q=replies.name.encode())
    connection.put1("Q", b"question", asks)
    assert connection.open("Q", BOTH).get().body == b"question"
    assert len(on_queue(models, replies.name, "@QM1")) == 1 - persistence
    letters = [body for body, _ in on_queue(models, SYSTEM_DEAD_LETTER_QUEUE, "@QM1")]
    assert [wire.DLH.unpack(letter).reason for letter in letters] == [MQRC.PERSISTENT_NOT_ALLOWED] * persistence


@pytest.mark.parametrize("model", ["TEMP", "PERM"])
def test_mqput1_makes_none(models: TestGroup, model: str) -> None:
    """A temporary queue would go at once, and the message with it."""
    connection = models.connect()
    with pytest.raises(MQIError) as caught:
        connection.put1(model, b"x")
    assert caught.value.reason == MQRC.Q_TYPE_ERROR
    od = MQOD(object_name=model.encode())
    assert mqput1(connection.connection, od, MQMD(), MQPMO(), b"x") == (MQCC.FAILED, MQRC.Q_TYPE_ERROR)
    assert models.repository("QM1").display_queues("CSQ.*") == []


@pytest.mark.rule("mqi/close", "A temporary dynamic queue with uncommitted puts goes when these have ended.")
def test_it_goes_with_the_connection(models: TestGroup) -> None:
    """Also if the close came too early for it, because a message was uncommitted."""
    connection = models.connect()
    early, late = create(connection.connection), create(connection.connection)
    permanent = create(connection.connection, b"PERM")
    connection.put1(early.name, b"x", options=2)
    close_handle(connection.connection, early)
    assert exists(models, early)
    connection.disconnect()
    assert [exists(models, handle) for handle in (early, late, permanent)] == [False, False, True]


def test_it_goes_with_the_recovery_of_its_program(models: TestGroup) -> None:
    process = models.process()
    first, second = models.connect(process=process), models.connect(process=process)
    handle, permanent = create(first.connection), create(first.connection, b"PERM")
    second.open(handle.name, BOTH).put(b"x")
    process.stop_renewing()
    models.group.client().zadd(models.group.keys.leases, {process.token: 1})
    assert recover(models.group, models.connect().connection, process.token).is_resolved
    assert [exists(models, each) for each in (handle, permanent)] == [False, True]
    assert stored(models, "@QM1") == 0


def test_it_goes_with_the_recovery_of_its_manager_by_a_peer(models: TestGroup) -> None:
    """Also if its handle was closed, and an uncommitted message kept it."""
    models.add_member("QM2")
    connection = models.connect()
    opened, closed = create(connection.connection), create(connection.connection)
    connection.put1(closed.name, b"x", options=2)
    close_handle(connection.connection, closed)
    peer = models.connect("QM2").connection
    assert recover(models.group, peer, connection.connection.process.token.rpartition(".")[0], force=True).is_resolved
    assert [exists(models, each) for each in (opened, closed)] == [False, False]
    assert stored(models, "@QM1") == 0


def test_another_queue_of_its_name_stays(models: TestGroup) -> None:
    """Its maker was interrupted after it was deleted, and before that was noted."""
    process = models.process()
    maker = models.connect(process=process).connection
    handle = create(maker)
    key = models.group.structure("@QM1").made + maker.token
    close_handle(maker, handle)
    models.define_private("QM1", handle.name)
    models.group.client().sadd(key, handle.name)
    process.stop_renewing()
    models.group.client().zadd(models.group.keys.leases, {process.token: 1})
    assert recover(models.group, models.connect().connection, process.token).is_resolved
    assert exists(models, handle)
    assert not models.group.client().exists(key)


def test_one_with_uncommitted_messages_of_another_program_stays_after_its_maker(models: TestGroup) -> None:
    """docs/reference/differences.md says so."""
    maker, other = models.connect(), models.connect()
    queue = create(maker.connection)
    theirs = other.open(queue.name, BOTH)
    theirs.put(b"x", options=PutOption.SYNCPOINT)
    close_handle(maker.connection, queue)
    other.commit()
    assert theirs.get(GetOption.SYNCPOINT).body == b"x"
    maker.disconnect()
    other.commit()
    assert exists(models, queue)
    other.disconnect()
    models.repository("QM1").delete("QLOCAL", queue.name)
