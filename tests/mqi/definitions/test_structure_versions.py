"""The meaning of older versions of MQGMO and MQMD, and of MQPUT1; and impossible structures and handles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.calls.handles.connect import disconnect
from sharedq.mqi.constants import (
    MQCC,
    MQRC,
    CharSelector,
    GetOption,
    IntSelector,
    MsgFlag,
    ObjectType,
    OpenOption,
    PutOption,
)
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQCNO, MQGMO, MQMD, MQOD, MQPMO, MQSTS
from tests.support.groups import BOTH, drain
from tests.support.members import TestGroup


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    group.define_shared("Q")
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH)


@pytest.mark.rule("mqi/get", "A get with a version 1 MQGMO matches by MsgId and CorrelId.")
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


@pytest.mark.rule("mqi/get", "UNLOCK with a version 1 MQGMO has no match options.")
@pytest.mark.parametrize("is_locked", [False, True])
def test_an_unlock_has_no_match_options_by_default(
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


@pytest.mark.rule("mqi/open", "MQPUT1 takes ALTERNATE_USER_AUTHORITY, which MQPUT refuses, and refuses LOGICAL_ORDER.")
def test_mqput1_takes_another_user_and_no_logical_order(connection: QueueManagerConnection, queue: Queue) -> None:
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
    # For a handle that stays open the user was named at the open.
    with pytest.raises(MQIError):
        queue.put(b"z", options=other_user)
    assert drain(queue) == [b"x", b"y"]
    assert not connection.connection.handles.keys() - {queue.handle.number}


@pytest.mark.rule("mqi/open", "A structure version that does not exist is refused with the reason of that structure.")
def test_a_version_that_a_structure_does_not_have_is_refused(connection: QueueManagerConnection, queue: Queue) -> None:
    at, handle = connection.connection, queue.handle
    for version in (0, 9):
        md, pmo, gmo, od = MQMD(version=version), MQPMO(version=version), MQGMO(version=version), MQOD(version=version)
        name = MQOD(object_name=b"Q")
        assert verbs.mqput(at, handle, md, MQPMO(), b"x") == (MQCC.FAILED, MQRC.MD_ERROR)
        assert verbs.mqput(at, handle, MQMD(), pmo, b"x") == (MQCC.FAILED, MQRC.PMO_ERROR)
        assert verbs.mqput1(at, name, md, MQPMO(), b"x") == (MQCC.FAILED, MQRC.MD_ERROR)
        assert verbs.mqput1(at, name, MQMD(), pmo, b"x") == (MQCC.FAILED, MQRC.PMO_ERROR)
        assert verbs.mqget(at, handle, md, MQGMO(), 10)[2:] == (MQCC.FAILED, MQRC.MD_ERROR)
        assert verbs.mqget(at, handle, MQMD(), gmo, 10)[2:] == (MQCC.FAILED, MQRC.GMO_ERROR)
        gmo.options = int(GetOption.UNLOCK)
        assert verbs.mqget(at, handle, MQMD(), gmo, 10)[2:] == (MQCC.FAILED, MQRC.GMO_ERROR)
        assert verbs.mqopen(at, od, int(BOTH))[1:] == (MQCC.FAILED, MQRC.OD_ERROR)
        od.object_name = b"Q"
        assert verbs.mqput1(at, od, MQMD(), MQPMO(), b"x") == (MQCC.FAILED, MQRC.OD_ERROR)
        assert verbs.mqstat(at, MQSTS(version=version)) == (MQCC.FAILED, MQRC.STS_ERROR)
        cno = MQCNO(version=version)
        assert verbs.mqconnx(at.group, "QM1", cno) == (None, MQCC.FAILED, MQRC.CNO_ERROR)
    assert drain(queue) == []
    for version in range(1, 9):
        connected, *outcome = verbs.mqconnx(at.group, "QM1", MQCNO(version=version))
        assert outcome == [MQCC.OK, MQRC.NONE]
        assert connected is not None
        disconnect(connected)


@pytest.mark.rule("mqi/open", "An MQPUT1 that is refused leaves the names in MQOD and MQPMO as they were.")
def test_a_refused_mqput1_leaves_the_names_in_its_descriptor_as_they_were(
    group: TestGroup, connection: QueueManagerConnection
) -> None:
    group.define_shared("FULL", max_depth=0)
    od, pmo = MQOD(object_name=b"FULL"), MQPMO()
    assert verbs.mqput1(connection.connection, od, MQMD(), pmo, b"x") == (MQCC.FAILED, MQRC.Q_FULL)
    assert (od, pmo) == (MQOD(object_name=b"FULL"), MQPMO())
    od.object_name = b"Q"
    assert verbs.mqput1(connection.connection, od, MQMD(), pmo, b"x") == (MQCC.OK, MQRC.NONE)
    assert (od.resolved_q_name, pmo.resolved_q_name) == (b"Q", b"Q")


@pytest.mark.rule("mqi/open", "The handle of the queue manager is for MQINQ only.")
def test_the_handle_of_the_queue_manager_only_inquires(connection: QueueManagerConnection) -> None:
    at = connection.connection
    handle, *_ = verbs.mqopen(at, MQOD(object_type=int(ObjectType.Q_MGR)), int(OpenOption.INQUIRE))
    assert handle is not None
    calls: dict[MQRC, Callable[[], tuple[Any, ...]]] = {
        MQRC.NOT_OPEN_FOR_OUTPUT: lambda: verbs.mqput(at, handle, MQMD(), MQPMO(), b"x"),
        MQRC.NOT_OPEN_FOR_INPUT: lambda: verbs.mqget(at, handle, MQMD(), MQGMO(), 10),
        MQRC.NOT_OPEN_FOR_BROWSE: lambda: verbs.mqget(at, handle, MQMD(), MQGMO(options=int(GetOption.UNLOCK)), 10),
        MQRC.NOT_OPEN_FOR_SET: lambda: verbs.mqset(at, handle, {IntSelector.INHIBIT_GET: 1}),
        MQRC.NONE: lambda: verbs.mqinq(at, handle, [CharSelector.Q_MGR_NAME]),
    }
    for reason, call in calls.items():
        assert call()[-1] == reason
    assert verbs.mqclose(at, handle) == (MQCC.OK, MQRC.NONE)
    assert [call()[-1] for call in calls.values()] == [MQRC.HOBJ_ERROR] * len(calls)


@pytest.mark.rule("mqi/open", "MQINQ takes at most 256 selectors; more are 2066.")
def test_so_many_selectors_and_no_more(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", OpenOption.INQUIRE | OpenOption.SET)
    selectors = [IntSelector.INHIBIT_GET] * verbs.SELECTORS_MAX
    assert verbs.mqinq(connection.connection, queue.handle, selectors)[1:] == (MQCC.OK, MQRC.NONE)
    too_many = (MQCC.FAILED, MQRC.SELECTOR_LIMIT_EXCEEDED)
    assert verbs.mqinq(connection.connection, queue.handle, [*selectors, IntSelector.INHIBIT_PUT])[1:] == too_many
    values: dict[int, int | bytes] = dict.fromkeys(range(verbs.SELECTORS_MAX + 1), 0)
    assert verbs.mqset(connection.connection, queue.handle, values) == too_many
