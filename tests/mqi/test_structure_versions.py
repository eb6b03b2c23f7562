"""What the older versions of MQGMO and MQMD, and MQPUT1, stand for."""

from __future__ import annotations

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, GetOption, MsgFlag, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO
from tests.support.groups import BOTH, drain
from tests.support.members import TestGroup


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q")
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH)


@pytest.mark.parametrize(
    "options",
    [GetOption.SYNCPOINT, GetOption.BROWSE_FIRST, GetOption.SYNCPOINT | GetOption.ALL_MSGS_AVAILABLE],
    ids=["taking", "browsing", "groups"],
)
def test_without_match_options_a_get_is_by_msg_id_and_correl_id(
    connection: QueueManagerConnection, queue: Queue, options: GetOption
) -> None:
    queue.put(b"another")
    wanted = queue.put(b"wanted", MQMD(correl_id=b"C" * 24))
    for version, match_options, found in ((2, 0, b"another"), (1, 0, b"wanted"), (1, 1 << 20, b"wanted")):
        md = MQMD(msg_id=wanted.msg_id, correl_id=b"C" * 24)
        gmo = MQGMO(version=version, options=int(options), match_options=match_options)
        body, _, _, reason = verbs.mqget(connection.connection, queue.handle, md, gmo, 100)
        assert (body, reason) == (found, MQRC.NONE)
        connection.backout()


@pytest.mark.parametrize("is_locked", [False, True])
def test_without_match_options_an_unlock_is_told_none(
    connection: QueueManagerConnection, queue: Queue, is_locked: bool
) -> None:
    queue.put(b"x")
    if is_locked:
        queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)

    def unlock(version: int) -> tuple[MQCC, MQRC]:
        gmo = MQGMO(version=version, options=int(GetOption.UNLOCK), match_options=1 << 20)
        return verbs.mqget(connection.connection, queue.handle, MQMD(), gmo, 100)[2:]

    assert unlock(2) == (MQCC.FAILED, MQRC.MATCH_OPTIONS_ERROR)
    assert unlock(1) == ((MQCC.OK, MQRC.NONE) if is_locked else (MQCC.WARNING, MQRC.NO_MSG_LOCKED))


def test_mqput1_is_told_of_another_user_and_knows_no_logical_order(
    connection: QueueManagerConnection, queue: Queue
) -> None:
    def put1(options: int) -> tuple[MQCC, MQRC]:
        pmo = MQPMO(options=options)
        outcome = verbs.mqput1(connection.connection, MQOD(object_name=b"Q"), MQMD(), pmo, b"x")
        assert (pmo.options, pmo.resolved_q_name) == (options, b"" if outcome[1] else b"Q")
        return outcome

    other_user = int(PutOption.ALTERNATE_USER_AUTHORITY)
    assert put1(other_user) == (MQCC.OK, MQRC.NONE)
    assert put1(int(PutOption.LOGICAL_ORDER)) == (MQCC.FAILED, MQRC.OPTIONS_ERROR)
    connection.put1("Q", b"y", options=other_user)
    in_group = MQMD(version=2, msg_flags=int(MsgFlag.MSG_IN_GROUP))
    with pytest.raises(MQIError) as caught:
        connection.put1("Q", b"z", in_group, options=int(PutOption.LOGICAL_ORDER))
    assert caught.value.reason == MQRC.OPTIONS_ERROR
    # With a handle that stays open the user was named when it was opened.
    with pytest.raises(MQIError):
        queue.put(b"z", options=other_user)
    assert drain(queue) == [b"x", b"y"]
    assert not connection.connection.handles.keys() - {queue.handle.number}
