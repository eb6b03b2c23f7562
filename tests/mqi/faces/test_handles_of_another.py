"""A handle of another connection is none (2019): nothing happens to either, whatever its number means here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sharedq import verbs
from sharedq.callbacks.calls import mqcb
from sharedq.callbacks.structures import MQCBD
from sharedq.mqi.constants import MQCC, MQRC, ObjectType, OpenOption, PutOption, SubOption
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQOR, MQPMO, MQSD, MQSRO
from sharedq.session.connection import Connection
from tests.support.groups import BOTH
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of

REGISTER, DEREGISTER, SUSPEND = 0x100, 0x200, 0x10000
CBD = MQCBD(callback_function=lambda *_: None)


def first(outcome: tuple[Any, ...]) -> Any:
    return outcome[0]


class Opened:
    """A connection with one of everything open, under the same numbers as another such one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        options = int(BOTH | OpenOption.INQUIRE | OpenOption.SET)
        self.queue = first(verbs.mqopen(connection, MQOD(object_name=b"Q"), options))
        topic = MQOD(4, int(ObjectType.TOPIC), object_string=b"a")
        self.topic = first(verbs.mqopen(connection, topic, int(OpenOption.OUTPUT)))
        qmgr = MQOD(object_type=int(ObjectType.Q_MGR))
        self.qmgr = first(verbs.mqopen(connection, qmgr, int(OpenOption.INQUIRE)))
        sd = MQSD(object_string=b"a", options=int(SubOption.CREATE | SubOption.MANAGED))
        self.subscription = first(verbs.mqsub(connection, sd))
        records = MQOD(2, recs_present=1, object_records=[MQOR(b"Q")])
        self.list = first(verbs.mqopen(connection, records, int(OpenOption.OUTPUT)))
        assert mqcb(connection, REGISTER, CBD, self.queue, MQMD(), MQGMO())[0] == MQCC.OK


CALLS: dict[str, Callable[[Connection, Opened], Any]] = {
    "mqget": lambda c, of: verbs.mqget(c, of.queue, MQMD(), MQGMO(), 10),
    "mqput": lambda c, of: verbs.mqput(c, of.queue, MQMD(), MQPMO(), b"x"),
    "mqput later": lambda c, of: verbs.mqput(
        c, of.queue, MQMD(), MQPMO(options=int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)), b"x"
    ),
    "mqput to a topic": lambda c, of: verbs.mqput(c, of.topic, MQMD(), MQPMO(), b"x"),
    "mqput to a list": lambda c, of: verbs.mqput(c, of.list, MQMD(), MQPMO(), b"x"),
    "mqinq": lambda c, of: verbs.mqinq(c, of.queue, [3]),
    "mqinq of a queue manager": lambda c, of: verbs.mqinq(c, of.qmgr, [2015]),
    "mqset": lambda c, of: verbs.mqset(c, of.queue, {10: 0}),
    "mqsub": lambda c, of: verbs.mqsub(c, MQSD(object_string=b"b", options=int(SubOption.CREATE)), of.queue),
    "mqsubrq": lambda c, of: verbs.mqsubrq(c, of.subscription, 1, MQSRO()),
    "mqcb": lambda c, of: mqcb(c, REGISTER, CBD, of.queue, MQMD(), MQGMO()),
    "mqclose of a queue": lambda c, of: verbs.mqclose(c, of.queue),
    "mqclose of a topic": lambda c, of: verbs.mqclose(c, of.topic),
    "mqclose of a queue manager": lambda c, of: verbs.mqclose(c, of.qmgr),
    "mqclose of a subscription": lambda c, of: verbs.mqclose(c, of.subscription),
    "mqclose of a list": lambda c, of: verbs.mqclose(c, of.list),
}


@pytest.mark.rule("mqi/open", "A handle belongs to the connection that opened it: another one's calls end with 2019.")
def test_no_call_takes_a_handle_of_another_connection(group: TestGroup) -> None:
    group.define_shared("Q")
    one, other = Opened(group.connect().connection), Opened(group.connect().connection)
    fresh = group.connect().connection
    for connection in (one.connection, fresh):
        for name, call in CALLS.items():
            assert call(connection, other)[-1] == MQRC.HOBJ_ERROR, name
            assert not connection.is_ended, name
        for operation in (DEREGISTER, SUSPEND):
            assert mqcb(connection, operation, None, other.queue)[-1] == MQRC.CALLBACK_NOT_REGISTERED
    # Both work on.
    for each in (one, other):
        assert mqcb(each.connection, DEREGISTER, None, each.queue)[0] == MQCC.OK
        for name, call in CALLS.items():
            assert call(each.connection, each)[-1] in (MQRC.NONE, MQRC.NO_MSG_AVAILABLE, MQRC.NO_RETAINED_MSG), name


def test_the_native_api_takes_no_queue_of_another_connection(group: TestGroup) -> None:
    group.define_shared("Q")
    connection, other = (
        group.connect(),
        group.connect().open("Q", OpenOption.INPUT_SHARED | OpenOption.SAVE_ALL_CONTEXT),
    )
    queue = connection.open("Q", OpenOption.OUTPUT | OpenOption.PASS_ALL_CONTEXT)
    given = {"options": PutOption.PASS_ALL_CONTEXT, "context": other}
    assert reason_of(lambda: queue.put(b"x", **given)) == MQRC.CONTEXT_HANDLE_ERROR  # type: ignore[arg-type]
    several = connection.open_list(["Q"], OpenOption.OUTPUT | OpenOption.PASS_ALL_CONTEXT)
    assert reason_of(lambda: several.put(b"x", **given)) == MQRC.CONTEXT_HANDLE_ERROR  # type: ignore[arg-type]
    assert reason_of(lambda: connection.subscribe("a", options=SubOption.CREATE, queue=other)) == MQRC.HOBJ_ERROR
