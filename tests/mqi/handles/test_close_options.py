"""MQCLOSE: the options that it refuses for each object, and the dynamic queues that it deletes."""

from __future__ import annotations

import pytest

from sharedq import MQIError, Queue, verbs
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.open import open_queue
from sharedq.mqi.constants import MQCC, MQRC, CloseOption, GetOption, ObjectType, OpenOption, PutOption
from sharedq.mqi.structures import MQOD
from sharedq.objects.definitions.queues import QueueModel
from tests.support.groups import BOTH
from tests.support.members import TestGroup

DELETE, PURGE = CloseOption.DELETE, CloseOption.DELETE_PURGE
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
KEEP_SUB, REMOVE_SUB = CloseOption.KEEP_SUB, CloseOption.REMOVE_SUB
OF_DYNAMIC_QUEUES: list[int] = [DELETE, PURGE]
OF_SUBSCRIPTIONS: list[int] = [KEEP_SUB, REMOVE_SUB]
NONSENSE: list[int] = [DELETE | PURGE, KEEP_SUB | REMOVE_SUB, DELETE | KEEP_SUB, 16, 64, 1 << 31]


@pytest.fixture
def models(group: TestGroup) -> TestGroup:
    """A model of each kind of dynamic queue, a local queue, and one of another member."""
    group.add_member("QM2")
    group.define_private("QM2", "THEIRS")
    group.define_private("QM1", "OURS")
    for name, kind, structure in (("TEMP", "TEMPDYN", ""), ("PERM", "PERMDYN", ""), ("SHARED", "SHAREDYN", "APPL1")):
        group.repository("QM1").define(QueueModel(name=name, definition_type=kind, structure=structure))  # type: ignore[arg-type]
    return group


@pytest.fixture
def connection(models: TestGroup) -> QueueManagerConnection:
    return models.connect()


def made(connection: QueueManagerConnection, model: str) -> Queue:
    od = MQOD(object_name=model.encode(), dynamic_q_name=b"D.*")
    return Queue(connection.connection, open_queue(connection.connection, od, BOTH))


def exists(group: TestGroup, queue: Queue) -> bool:
    return group.repository("QM1").lookup(queue.handle.name) is not None


def reason_of(queue: Queue, options: int) -> MQRC:
    with pytest.raises(MQIError) as caught:
        queue.close(options)
    return caught.value.reason


@pytest.mark.rule(
    "mqi/close", "MQCLOSE takes one of DELETE, DELETE_PURGE, KEEP_SUB and REMOVE_SUB; anything else is 2046."
)
@pytest.mark.parametrize("options", NONSENSE)
@pytest.mark.parametrize("model", ["TEMP", "PERM", "SHARED", ""])
def test_options_that_cannot_be_are_refused_and_the_handle_stays_open(
    connection: QueueManagerConnection, model: str, options: int
) -> None:
    queue = made(connection, model) if model else connection.open("OURS", BOTH)
    assert reason_of(queue, options) == MQRC.OPTIONS_ERROR
    queue.put(b"it is open")
    assert queue.get().body == b"it is open"
    assert queue.close(CloseOption.QUIESCE) == MQRC.NONE
    assert reason_of(queue, options) == MQRC.HOBJ_ERROR


@pytest.mark.rule("mqi/close", "Only a dynamic queue can be deleted by MQCLOSE (2045).")
@pytest.mark.parametrize("options", OF_DYNAMIC_QUEUES + OF_SUBSCRIPTIONS)
def test_a_predefined_queue_is_not_deleted(connection: QueueManagerConnection, options: int) -> None:
    queue = connection.open("OURS", BOTH)
    queue.put(b"kept")
    assert reason_of(queue, options) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    assert queue.get(GetOption.NO_WAIT).body == b"kept"
    theirs = connection.open("THEIRS", OpenOption.OUTPUT, qmgr_name="QM2")
    assert reason_of(theirs, options) == MQRC.OPTION_NOT_VALID_FOR_TYPE


@pytest.mark.rule(
    "mqi/close", "A handle for a remote queue does not delete the transmission queue that it leads through."
)
def test_a_handle_for_a_remote_queue_deletes_no_transmission_queue(
    models: TestGroup, connection: QueueManagerConnection
) -> None:
    models.repository("QM1").define(QueueModel(name="XMIT", definition_type="PERMDYN", usage="XMITQ"))
    od = MQOD(object_name=b"XMIT", dynamic_q_name=b"ELSEWHERE")
    Queue(connection.connection, open_queue(connection.connection, od, BOTH)).close()
    queue = connection.open("ANY", OpenOption.OUTPUT, qmgr_name="ELSEWHERE")
    assert queue.handle.name == "ELSEWHERE"
    assert reason_of(queue, DELETE) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    assert exists(models, queue)


@pytest.mark.rule("mqi/close", "Any handle can delete a permanent dynamic queue.")
@pytest.mark.parametrize("options", OF_DYNAMIC_QUEUES)
@pytest.mark.parametrize("model", ["PERM", "SHARED"])
def test_a_permanent_dynamic_queue_is_deleted_by_whichever_handle(
    models: TestGroup, connection: QueueManagerConnection, model: str, options: int
) -> None:
    first = made(connection, model)
    first.close()
    assert exists(models, first)
    second = connection.open(first.handle.name, BOTH)
    for _ in range(options == PURGE):
        second.put(b"goes too")
    assert second.close(options) == MQRC.NONE
    assert not exists(models, second)


@pytest.mark.rule("mqi/close", "Only the handle that made a temporary dynamic queue can delete it.")
@pytest.mark.parametrize("options", OF_DYNAMIC_QUEUES)
def test_a_temporary_one_is_deleted_by_the_handle_that_made_it_only(
    models: TestGroup, connection: QueueManagerConnection, options: int
) -> None:
    first = made(connection, "TEMP")
    second = connection.open(first.handle.name, BOTH)
    assert reason_of(second, options) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    second.close()
    assert exists(models, first)
    first.close(options)
    assert not exists(models, first)


@pytest.mark.rule("mqi/close", "KEEP_SUB and REMOVE_SUB are refused with 2045: there are no subscriptions.")
@pytest.mark.parametrize("options", OF_SUBSCRIPTIONS)
@pytest.mark.parametrize("model", ["TEMP", "PERM"])
def test_a_dynamic_queue_is_no_subscription(connection: QueueManagerConnection, model: str, options: int) -> None:
    assert reason_of(made(connection, model), options) == MQRC.OPTION_NOT_VALID_FOR_TYPE


@pytest.mark.rule("mqi/close", "Only a dynamic queue can be deleted by MQCLOSE (2045).")
def test_the_queue_manager_is_not_deleted_either(connection: QueueManagerConnection) -> None:
    od = MQOD(object_type=ObjectType.Q_MGR)
    qmgr, *_ = verbs.mqopen(connection.connection, od, OpenOption.INQUIRE)
    assert qmgr is not None

    def close(options: int) -> tuple[MQCC, MQRC]:
        return verbs.mqclose(connection.connection, qmgr, options)

    for options in OF_DYNAMIC_QUEUES + OF_SUBSCRIPTIONS:
        assert close(options) == (MQCC.FAILED, MQRC.OPTION_NOT_VALID_FOR_TYPE)
    for options in NONSENSE:
        assert close(options) == (MQCC.FAILED, MQRC.OPTIONS_ERROR)
    assert close(CloseOption.NONE) == (MQCC.OK, MQRC.NONE)
    assert close(DELETE) == (MQCC.FAILED, MQRC.HOBJ_ERROR)


@pytest.mark.rule(
    "mqi/close", "An uncommitted put, also an asynchronous one, keeps a dynamic queue from being deleted (2055)."
)
@pytest.mark.parametrize("options", OF_DYNAMIC_QUEUES)
@pytest.mark.parametrize("through", ["its handle", "another one"])
def test_an_asynchronous_put_prevents_the_deletion_of_a_queue(
    models: TestGroup, connection: QueueManagerConnection, options: int, through: str
) -> None:
    queue = made(connection, "PERM")
    if through == "its handle":
        queue.put(b"on its way", options=LATER)
    else:
        other = connection.open(queue.handle.name, OpenOption.OUTPUT)
        other.put(b"on its way", options=LATER)
        other.close()
    assert reason_of(queue, options) == MQRC.Q_NOT_EMPTY
    connection.commit()
    assert queue.get().body == b"on its way"
    assert queue.close(DELETE) == MQRC.NONE
    assert not exists(models, queue)


@pytest.mark.rule("mqi/close", "A temporary dynamic queue with uncommitted puts goes when these have ended.")
def test_a_temporary_one_waits_for_what_is_put_asynchronously(
    models: TestGroup, connection: QueueManagerConnection
) -> None:
    queue = made(connection, "TEMP")
    queue.put(b"on its way", options=LATER)
    queue.close()
    assert exists(models, queue)
    connection.commit()
    made(connection, "TEMP").close()
    assert not exists(models, queue)
