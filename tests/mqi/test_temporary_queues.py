"""Temporary dynamic queues: they go with the handle that made them, however that ends."""

from __future__ import annotations

import pytest

from recovery.resolve import recover
from sharedq.connection import Connection
from sharedq.handle import Handle
from sharedq.mqi.constants import MQCC, MQRC, CloseOption, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.definitions import QueueModel
from sharedq.opening import close_handle, open_queue
from sharedq.verbs import mqput1
from tests.support.members import TestGroup
from tests.support.scenes import stored

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


@pytest.mark.parametrize("option", [CloseOption.NONE, CloseOption.DELETE, CloseOption.DELETE_PURGE])
def test_it_goes_with_the_close_by_its_creator_and_its_messages_too(models: TestGroup, option: CloseOption) -> None:
    connection = models.connect()
    handle = create(connection.connection)
    other = connection.open(handle.name, OpenOption.OUTPUT)
    other.put(b"x", MQMD(persistence=1))
    other.close()
    assert exists(models, handle)
    close_handle(connection.connection, handle, option)
    assert not exists(models, handle)
    assert stored(models, "@QM1") == 0


@pytest.mark.parametrize("model", ["TEMP", "PERM"])
def test_mqput1_makes_none(models: TestGroup, model: str) -> None:
    """A temporary one would go at once, and the message with it."""
    connection = models.connect()
    with pytest.raises(MQIError) as caught:
        connection.put1(model, b"x")
    assert caught.value.reason == MQRC.Q_TYPE_ERROR
    od = MQOD(object_name=model.encode())
    assert mqput1(connection.connection, od, MQMD(), MQPMO(), b"x") == (MQCC.FAILED, MQRC.Q_TYPE_ERROR)
    assert models.repository("QM1").display_queues("CSQ.*") == []


def test_it_goes_with_the_connection(models: TestGroup) -> None:
    """Also where the close came too early for it: something was not committed."""
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
    models.group.client().zadd(models.group.keys.leases, {process.token: 1})
    assert recover(models.group, models.connect().connection, process.token).is_resolved
    assert [exists(models, each) for each in (handle, permanent)] == [False, True]
    assert stored(models, "@QM1") == 0
