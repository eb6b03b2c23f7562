"""After MQDISC the connection handle is of no use any more: each call says so (2018), in every face."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import sharedq
from sharedq import MQIError, verbs
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.structures import MQCBD
from sharedq.mqi.constants import MQCC, MQRC, IntSelector, OpenOption, PutOption
from sharedq.mqi.constants.callbacks import CallbackOperation
from sharedq.mqi.structures import (
    MQBMHO,
    MQCMHO,
    MQDMHO,
    MQDMPO,
    MQGMO,
    MQIMPO,
    MQMD,
    MQMHBO,
    MQOD,
    MQPD,
    MQPMO,
    MQSD,
    MQSMPO,
    MQSRO,
    MQSTS,
)
from sharedq.redis.link import steps
from tests.support.groups import BOTH
from tests.support.members import TestGroup

OPEN = int(BOTH | OpenOption.INQUIRE | OpenOption.SET)
Call = Callable[[], Any]


@pytest.fixture
def shared(group: TestGroup) -> TestGroup:
    group.define_shared("Q")
    return group


def test_each_verb_says_so(shared: TestGroup) -> None:
    api = shared.connect()
    c, q = api.connection, api.open("Q", OPEN).handle
    sub, _, _ = verbs.mqsub(c, MQSD(object_string=b"a", options=34))
    number, _, _ = verbs.mqcrtmh(c, MQCMHO())
    assert sub is not None
    assert verbs.mqdisc(c) == (MQCC.OK, MQRC.NONE)
    calls: list[Call] = [
        lambda: verbs.mqdisc(c),
        lambda: verbs.mqopen(c, MQOD(object_name=b"Q"), OPEN),
        lambda: verbs.mqclose(c, q),
        lambda: verbs.mqclose(c, sub),
        lambda: verbs.mqput(c, q, MQMD(), MQPMO(), b"x"),
        lambda: verbs.mqput1(c, MQOD(object_name=b"Q"), MQMD(), MQPMO(), b"x"),
        lambda: verbs.mqget(c, q, MQMD(), MQGMO(), 10),
        lambda: verbs.mqinq(c, q, [3]),
        lambda: verbs.mqset(c, q, {IntSelector.INHIBIT_PUT: 1}),
        lambda: verbs.mqsub(c, MQSD(object_string=b"a", options=34)),
        lambda: verbs.mqsubrq(c, sub, 1, MQSRO()),
        lambda: verbs.mqstat(c, MQSTS()),
        lambda: verbs.mqbegin(c),
        lambda: verbs.mqcmit(c),
        lambda: verbs.mqback(c),
        lambda: verbs.mqcrtmh(c, MQCMHO()),
        lambda: verbs.mqdltmh(c, number, MQDMHO()),
        lambda: verbs.mqsetmp(c, number, MQSMPO(), "a", MQPD(), 64, 1),
        lambda: verbs.mqinqmp(c, number, MQIMPO(), "%", MQPD(), 0, 10),
        lambda: verbs.mqdltmp(c, number, MQDMPO(), "a"),
        lambda: verbs.mqbufmh(c, number, MQBMHO(), MQMD(), b"x"),
        lambda: verbs.mqmhbuf(c, number, MQMHBO(), "%", MQMD(), 10),
        lambda: verbs.mqxcnvc(c, 0, 1208, b"a", 37, 1),
        lambda: mqcb(c, CallbackOperation.REGISTER, MQCBD(callback_function=print), q, MQMD(), MQGMO()),
        lambda: mqctl(c, CallbackOperation.START),
        lambda: mqctl(c, CallbackOperation.STOP),
        lambda: mqctl(c, CallbackOperation.RESUME),
    ]
    for number_of_call, call in enumerate(calls):
        assert call()[-2:] == (MQCC.FAILED, MQRC.HCONN_ERROR), number_of_call


def test_so_do_the_objects_of_the_native_api(shared: TestGroup) -> None:
    connection = shared.connect()
    with connection:
        queue, topic, subscription = connection.open("Q", OPEN), connection.open_topic("a"), connection.subscribe("a")
        connection.disconnect()
    calls: list[Call] = [
        connection.disconnect,
        connection.commit,
        connection.backout,
        connection.recover,
        lambda: connection.prepare(b"x"),
        lambda: connection.commit_prepared(b"x"),
        lambda: connection.open("Q", OPEN),
        lambda: connection.put1("Q", b"x"),
        lambda: connection.open_topic("a"),
        lambda: connection.subscribe("a"),
        lambda: queue.put(b"x"),
        lambda: queue.put(b"x", options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE),
        queue.get,
        queue.commit_and_get,
        queue.unlock,
        queue.close,
        lambda: queue.inquire(IntSelector.CURRENT_Q_DEPTH),
        lambda: topic.publish(b"x"),
        topic.close,
        subscription.request,
        subscription.get,
        subscription.close,
    ]
    for call in calls:
        with pytest.raises(MQIError) as error:
            call()
        assert error.value.reason == MQRC.HCONN_ERROR, call


def test_so_does_asyncio(shared: TestGroup) -> None:
    async def main() -> None:
        async with await sharedq.connect_async("QM1", settings=shared.group.settings) as connection:
            queue = await connection.open("Q", OPEN)
            async with queue:
                await connection.disconnect()
        calls: list[Call] = [
            connection.disconnect,
            connection.commit,
            connection.backout,
            lambda: connection.open("Q", OPEN),
            lambda: connection.put1("Q", b"x"),
            lambda: queue.put(b"x"),
            lambda: queue.put_many([(MQMD(), b"x")]),
            queue.get,
            lambda: queue.get_many(2),
            lambda: anext(queue.messages()),
            queue.unlock,
            lambda: queue.inquire(IntSelector.CURRENT_Q_DEPTH),
            lambda: queue.set({}),
            queue.close,
        ]
        for call in calls:
            with pytest.raises(MQIError) as error:
                await call()
            assert error.value.reason == MQRC.HCONN_ERROR

    asyncio.run(main())


def test_a_lost_connection_is_2009_until_its_program_disconnects(shared: TestGroup) -> None:
    connection = shared.connect().connection
    connection.break_off()
    broken, taken = (MQCC.FAILED, MQRC.CONNECTION_BROKEN), steps.taken
    assert verbs.mqcmit(connection) == broken
    # Nothing is looked up for it, which may wait for a server.
    od = MQOD(object_name=b"NO.SUCH.QUEUE")
    assert verbs.mqopen(connection, od, int(OpenOption.OUTPUT))[1:] == broken
    assert verbs.mqput1(connection, od, MQMD(), MQPMO(), b"x") == broken
    assert steps.taken == taken
    assert verbs.mqdisc(connection) == (MQCC.OK, MQRC.NONE)
    assert verbs.mqcmit(connection) == (MQCC.FAILED, MQRC.HCONN_ERROR)
