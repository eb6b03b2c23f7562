"""MQOPEN of process definitions and namelists, and MQINQ of what they say."""

from __future__ import annotations

from typing import Any

import pytest

from sharedq import pymqi, verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, ObjectType, OpenOption
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.objects.definitions.namelists import Namelist
from sharedq.objects.definitions.processes import ProcessDefinition
from sharedq.pymqi import CMQC
from tests.support.members import TestGroup

OK = (MQCC.OK, MQRC.NONE)
INQUIRE = int(OpenOption.INQUIRE)
KINDS = [(ObjectType.PROCESS, b"P"), (ObjectType.NAMELIST, b"N")]


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    repository = group.repository("QM1")
    repository.processes.define(
        ProcessDefinition(name="P", description="starts", appl_id="/bin/it", env_data="&", user_data="u")
    )
    repository.namelists.define(Namelist(name="N", description="some", names="A.1,Q", namelist_type=1))
    repository.namelists.define(Namelist(name="NONE"))
    return group.connect()


def opened(
    connection: QueueManagerConnection, kind: int, name: bytes, options: int = INQUIRE, **fields: Any
) -> tuple[Any, MQCC, MQRC]:
    return verbs.mqopen(connection.connection, MQOD(object_type=int(kind), object_name=name, **fields), options)


@pytest.mark.rule("mqi/open", "Process definitions and namelists are opened for MQINQ, and for nothing else (2045).")
def test_a_process_definition_is_inquired(connection: QueueManagerConnection) -> None:
    handle, *codes = opened(connection, ObjectType.PROCESS, b"P")
    assert tuple(codes) == OK
    expected: dict[int, int | bytes] = {
        Char.PROCESS_NAME: b"P".ljust(48),
        Char.PROCESS_DESC: b"starts".ljust(64),
        Int.APPL_TYPE: 2,
        Char.APPL_ID: b"/bin/it".ljust(256),
        Char.ENV_DATA: b"&".ljust(128),
        Char.USER_DATA: b"u".ljust(128),
        Int.QSG_DISP: 3,
    }
    assert verbs.mqinq(connection.connection, handle, tuple(expected)) == (expected, *OK)
    assert verbs.mqclose(connection.connection, handle) == OK
    assert verbs.mqinq(connection.connection, handle, (Int.APPL_TYPE,))[1:] == (MQCC.FAILED, MQRC.HOBJ_ERROR)


@pytest.mark.rule("mqi/open", "MQINQ of a namelist returns NAME_COUNT names of 48 bytes each.")
def test_a_namelist_is_inquired(group: TestGroup, connection: QueueManagerConnection) -> None:
    handle, *codes = opened(connection, ObjectType.NAMELIST, b"N")
    assert tuple(codes) == OK
    expected: dict[int, int | bytes] = {
        Char.NAMELIST_NAME: b"N".ljust(48),
        Char.NAMELIST_DESC: b"some".ljust(64),
        Int.NAME_COUNT: 2,
        Char.NAMES: b"A.1".ljust(48) + b"Q".ljust(48),
        Int.NAMELIST_TYPE: 1,
    }
    assert verbs.mqinq(connection.connection, handle, tuple(expected)) == (expected, *OK)
    group.repository("QM1").namelists.alter("N", {"names": "ONLY"})
    now = {Int.NAME_COUNT: 1, Char.NAMES: b"ONLY".ljust(48)}
    assert verbs.mqinq(connection.connection, handle, tuple(now)) == (now, *OK)
    empty, *_ = opened(connection, ObjectType.NAMELIST, b"NONE")
    nothing = {Int.NAME_COUNT: 0, Char.NAMES: b""}
    assert verbs.mqinq(connection.connection, empty, tuple(nothing)) == (nothing, *OK)


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_what_cannot_be_opened_is_refused(connection: QueueManagerConnection, kind: ObjectType, name: bytes) -> None:
    def reason(name: bytes = name, options: int = INQUIRE, **fields: Any) -> MQRC:
        handle, comp_code, reason = opened(connection, kind, name, options, **fields)
        assert (handle, comp_code) == (None, MQCC.FAILED)
        return reason

    assert reason(b"NOPE") == MQRC.UNKNOWN_OBJECT_NAME
    assert reason(b"") == MQRC.UNKNOWN_OBJECT_NAME
    assert reason(object_q_mgr_name=b"QM2") == MQRC.OBJECT_Q_MGR_NAME_ERROR
    for option in (OpenOption.OUTPUT, OpenOption.INPUT_SHARED, OpenOption.BROWSE, OpenOption.SET):
        assert reason(options=INQUIRE | option) == MQRC.OPTION_NOT_VALID_FOR_TYPE
    assert reason(options=0) in (MQRC.OPTIONS_ERROR, MQRC.OPTION_NOT_VALID_FOR_TYPE)
    assert reason(version=4, selection_string="a = 1") == MQRC.SELECTOR_INVALID_FOR_TYPE
    assert opened(connection, kind, name, object_q_mgr_name=b"QM1")[1:] == OK


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_a_handle_to_inquire_is_for_nothing_else(
    group: TestGroup, connection: QueueManagerConnection, kind: ObjectType, name: bytes
) -> None:
    handle, *_ = opened(connection, kind, name)
    for selector in (Int.MAX_Q_DEPTH, Char.Q_NAME, Char.Q_MGR_NAME, 0, 4711):
        assert verbs.mqinq(connection.connection, handle, (selector,))[1:] == (MQCC.FAILED, MQRC.SELECTOR_ERROR)
    assert verbs.mqset(connection.connection, handle, {Int.INHIBIT_PUT: 1}) == (MQCC.FAILED, MQRC.NOT_OPEN_FOR_SET)
    put = verbs.mqput(connection.connection, handle, MQMD(), MQPMO(), b"x")
    assert put == (MQCC.FAILED, MQRC.NOT_OPEN_FOR_OUTPUT)
    group.repository("QM1").named_objects("PROCESS" if kind == ObjectType.PROCESS else "NAMELIST").delete(name.decode())
    assert verbs.mqinq(connection.connection, handle, (Int.QSG_DISP,))[1:] == (MQCC.FAILED, MQRC.OBJECT_CHANGED)


@pytest.mark.usefixtures("connection")
def test_pymqi_inquires_them(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGQ_GROUP", group.group.name)
    monkeypatch.setenv("IGQ_REDIS_URL", str(group.settings.redis_url))
    qmgr = pymqi.connect("QM1")
    od = pymqi.OD(ObjectType=CMQC.MQOT_NAMELIST, ObjectName=b"N")
    namelist = pymqi.Queue(qmgr, od, CMQC.MQOO_INQUIRE)
    assert namelist.inquire(CMQC.MQIA_NAME_COUNT) == 2
    assert namelist.inquire(CMQC.MQCA_NAMES) == b"A.1".ljust(48) + b"Q".ljust(48)
    namelist.close()
    qmgr.disconnect()
