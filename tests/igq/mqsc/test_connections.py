"""DISPLAY CONN, STOP CONN and CMDSCOPE."""

from __future__ import annotations

import io
import threading

import pytest

from igq.mqsc.executor import run
from sharedq.api import QueueManagerConnection, connect
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import contents, on_queue, until

pytestmark = pytest.mark.share


@pytest.fixture
def shared(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> TestGroup:
    monkeypatch.setattr(TestGroup, "is_accounted", True)
    group.add_member("QM2")
    group.define_shared("Q")
    return group


def mqsc(group: TestGroup, text: str, qmgr: str = "QM1") -> tuple[int, str]:
    out = io.StringIO()
    return run([f"{text}\n"], group.repository(qmgr), out), out.getvalue()


def program(group: TestGroup, name: str = "shop", qmgr: str = "QM1") -> QueueManagerConnection:
    return connect(qmgr, settings=group.settings, appl_name=name)


def test_a_connection_is_shown_with_its_user_and_handles(shared: TestGroup) -> None:
    with program(shared) as connection, connection.open("Q", OpenOption.INPUT_SHARED | OpenOption.BROWSE):
        token = connection.connection.token
        said = mqsc(shared, f"DISPLAY CONN({token}) ALL")[1]
        for text in ("APPLTAG(shop)", "URTYPE(QMGR)", "USERID(", "EXTCONN(43535120514D31"):
            assert text in said
        assert "USERID( )" not in said
        handles = mqsc(shared, f"DISPLAY CONN({token}) TYPE(HANDLE)")[1]
        assert "OBJNAME(Q)" in handles
        assert "OPENOPTS(MQOO_INPUT_SHARED,MQOO_BROWSE)" in handles
        both = mqsc(shared, "DISPLAY CONN(*) TYPE(ALL) WHERE(OBJNAME EQ Q)")[1]
        assert both.count("OBJNAME(Q)") == 1
        assert "CSQM297I" in mqsc(shared, "DISPLAY CONN(*) EXTCONN(NONE)")[1]


def test_a_stopped_connection_is_backed_out_and_told(shared: TestGroup) -> None:
    shared.connect().put1("Q", b"kept", MQMD(persistence=1))
    stopped, other = program(shared), program(shared)
    with stopped.open("Q", OpenOption.INPUT_SHARED) as queue, other.open("Q", OpenOption.INPUT_SHARED):
        queue.get(GetOption.SYNCPOINT)
        stopped.put1("Q", b"never", options=PutOption.SYNCPOINT)
        status, said = mqsc(shared, f"STOP CONN({stopped.connection.token})")
        assert status == 0
        assert "1 unit of work" in said
        assert on_queue(shared, "Q") == [(b"kept", 1)]
        assert reason_of(queue.get) == MQRC.CONNECTION_BROKEN
    assert reason_of(lambda: stopped.put1("Q", b"late")) == MQRC.CONNECTION_BROKEN
    other.put1("Q", b"other")
    other.disconnect()
    with program(shared) as again:
        again.put1("Q", b"again")
    assert [body for body, _ in on_queue(shared, "Q")] == [b"kept", b"other", b"again"]
    assert stopped.connection.token not in mqsc(shared, "DISPLAY CONN(*)")[1]


def test_a_program_that_waits_is_ended_too(shared: TestGroup) -> None:
    stopped, reasons = program(shared), list[MQRC]()
    queue = stopped.open("Q", OpenOption.INPUT_SHARED)

    def wait() -> None:
        try:
            queue.get(GetOption.WAIT, wait_ms=-1)
        except MQIError as error:
            reasons.append(error.reason)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    waiters = shared.group.structure("APPL1").queue("Q").waiters
    until(lambda: shared.group.client().exists(waiters), "it waits")
    assert mqsc(shared, f"STOP CONN({stopped.connection.token})")[0] == 0
    until(lambda: reasons, "the program is told")
    thread.join()
    assert reasons == [MQRC.CONNECTION_BROKEN]


def test_what_cannot_be_stopped_is_refused(shared: TestGroup) -> None:
    own = shared.connect()
    assert "2042" in mqsc(shared, f"STOP CONN({own.connection.token})")[1]
    assert "2085" in mqsc(shared, "STOP CONN(QM1.1.2.3)")[1]
    with program(shared, qmgr="QM2") as elsewhere:
        token = elsewhere.connection.token
        assert "2085" in mqsc(shared, f"STOP CONN({token})")[1]
        assert mqsc(shared, f"STOP CONN({token}) CMDSCOPE(QM2)")[0] == 0
        until(lambda: elsewhere.connection._link.is_broken, "the program is told")
        with pytest.raises(MQIError) as caught:
            elsewhere.disconnect()
        assert caught.value.reason == MQRC.CONNECTION_BROKEN


def test_a_command_runs_at_every_member(shared: TestGroup) -> None:
    with program(shared, "one"), program(shared, "two", "QM2"):
        status, said = mqsc(shared, "DISPLAY CONN(*) APPLTAG CMDSCOPE(*)")
    assert status == 0
    first, second = said.index("responses from QM1"), said.index("responses from QM2")
    assert first < said.index("APPLTAG(one)") < second < said.index("APPLTAG(two)")
    assert said.count("CSQ9022I") == 3
    assert "CSQN122I: 'DISPLAY CONN' command for CMDSCOPE(*) normal completion." in said
    status, said = mqsc(shared, "ALTER QMGR IGQ(ENABLED) CMDSCOPE(*)")
    assert status == 0
    assert "CSQ9022I: ALTER QMGR normal completion." in said
    assert "QMGR *" not in said.partition("\n")[2]
    assert {shared.repository(name).qmgr_attributes(name).igq for name in ("QM1", "QM2")} == {"ENABLED"}
    assert mqsc(shared, "DEFINE QLOCAL(EACH) CMDSCOPE(*)")[0] == 0
    for qmgr in ("QM1", "QM2"):
        assert shared.repository(qmgr).lookup("EACH") is not None


def test_a_member_that_fails_holds_up_no_other(shared: TestGroup) -> None:
    shared.define_private("QM1", "THERE")
    status, said = mqsc(shared, "DEFINE QLOCAL(THERE) CMDSCOPE(*)")
    assert status == 10
    assert "CSQM101I" in said
    assert "CSQN123E" in said
    assert shared.repository("QM2").lookup("THERE") is not None


@pytest.mark.parametrize(
    "text",
    [
        "CLEAR QLOCAL(Q) CMDSCOPE(*)",
        "MOVE QLOCAL(Q) TOQLOCAL(R) CMDSCOPE(*)",
        "STOP CONN(QM1.1.1.1) CMDSCOPE(*)",
        "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1) CMDSCOPE(*)",
        "DISPLAY CFSTRUCT(*) CMDSCOPE(*)",
        "DISPLAY CONN(*) CMDSCOPE(QM9)",
    ],
)
def test_a_command_for_one_place_runs_nowhere_else(shared: TestGroup, text: str) -> None:
    before = contents(shared)
    status, said = mqsc(shared, text)
    assert status == 10
    assert "CMDSCOPE" in said
    assert contents(shared) == before
