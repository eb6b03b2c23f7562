"""The command server of real managers: requests of another program, replies, kills."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import pytest

import sharedq
from sharedq import pymqi
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import CharSelector as Char
from sharedq.mqi.constants import GetOption, MatchOption, MsgType, OpenOption, Report
from sharedq.mqi.constants import IntSelector as Int
from sharedq.mqi.constants.pcf import MQRCCF, PCFCommand, PCFControl, PCFType
from sharedq.mqi.constants.pcf import PCFParameter as Param
from sharedq.mqi.errors import MQIError
from sharedq.mqi.pcf.reading import read
from sharedq.mqi.pcf.structures import NATIVE, PCFMessage
from sharedq.mqi.structures import MQMD
from sharedq.pymqi import CMQC, CMQCFC
from sharedq.settings.loader import load_settings
from tests.cli.conftest import ROOT, Shell
from tests.support.pcf import answer_of, request
from tests.support.scenes import until

pytestmark = pytest.mark.faults
COMMANDS = "SYSTEM.ADMIN.COMMAND.QUEUE"
WAIT_MS = 60_000


def ask(connection: QueueManagerConnection, replies: str, body: bytes, **fields: Any) -> MQMD:
    """Put a request; returns its descriptor with its MsgId."""
    values: dict[str, Any] = {
        "format": b"MQADMIN ",
        "msg_type": int(MsgType.REQUEST),
        "encoding": NATIVE.encoding,
        "coded_char_set_id": NATIVE.ccsid,
        "reply_to_q": replies.encode(),
    }
    return connection.put1(COMMANDS, body, MQMD(**(values | fields)))


def answers(queue: Queue, asked: MQMD, sets: int = 1) -> list[tuple[MQMD, PCFMessage]]:
    """The replies to a request, until so many sets are complete."""
    found = []
    while sets:
        match = MQMD(version=2, correl_id=asked.msg_id)
        message = queue.get(GetOption.WAIT, wait_ms=WAIT_MS, match=match, match_options=MatchOption.MATCH_CORREL_ID)
        found.append((message.md, read(message.body)))
        sets -= found[-1][1].header.control == PCFControl.LAST
    return found


@pytest.fixture
def connection(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in shell.environment.items():
        monkeypatch.setenv(name, value)
    shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(REPLIES) DEFPSIST(YES)")
    with sharedq.connect("QM1") as connected:
        yield connected


def test_a_program_asks_and_reads_the_answers(connection: QueueManagerConnection) -> None:
    with connection.open("REPLIES", OpenOption.INPUT_SHARED) as queue:
        asked = ask(
            connection,
            "REPLIES",
            request(PCFCommand.INQUIRE_Q, {Char.Q_NAME: "REPLIES", Param.Q_ATTRS: [Int.MAX_Q_DEPTH]}),
            persistence=1,
            priority=7,
            expiry=6000,
            report=int(Report.PASS_DISCARD_AND_EXPIRY | Report.DISCARD_MSG),
        )
        (md, item), (_, summary) = answers(queue, asked)

    assert answer_of(item)[Int.MAX_Q_DEPTH] == 999_999_999
    assert (summary.header.type, summary.header.reason) == (PCFType.XR_SUMMARY, 0)
    assert (md.msg_type, md.format.strip(), md.persistence, md.priority) == (MsgType.REPLY, b"MQADMIN", 1, 7)
    assert 0 < md.expiry <= 6000
    assert md.report == Report.DISCARD_MSG
    assert md.correl_id == asked.msg_id != md.msg_id


def test_identifiers_are_passed_as_the_request_asks(connection: QueueManagerConnection) -> None:
    with connection.open("REPLIES", OpenOption.INPUT_SHARED) as queue:
        asked = ask(
            connection,
            "REPLIES",
            request(PCFCommand.PING_Q_MGR),
            correl_id=b"c" * 24,
            report=int(Report.PASS_MSG_ID | Report.PASS_CORREL_ID),
        )
        message = queue.get(GetOption.WAIT, wait_ms=WAIT_MS)
    assert (message.md.msg_id, message.md.correl_id) == (asked.msg_id, b"c" * 24)


def test_a_message_that_is_no_command_is_answered_or_buried(connection: QueueManagerConnection) -> None:
    with connection.open("REPLIES", OpenOption.INPUT_SHARED) as queue:
        asked = ask(connection, "REPLIES", b"no command")
        (_, error), (_, summary) = answers(queue, asked)
    assert (error.header.reason, summary.header.reason) == (MQRCCF.CFH_LENGTH_ERROR, MQRCCF.COMMAND_FAILED)

    ask(connection, "", b"no command", msg_type=int(MsgType.DATAGRAM))
    ask(connection, "NO.SUCH.QUEUE", request(PCFCommand.PING_Q_MGR))
    with connection.open("SYSTEM.DEAD.LETTER.QUEUE", OpenOption.INPUT_SHARED) as dead:
        first, second = (dead.get(GetOption.WAIT, wait_ms=WAIT_MS) for _ in range(2))
    assert first.body.endswith(b"no command")
    assert int.from_bytes(first.body[8:12], "little") == MQRCCF.CFH_LENGTH_ERROR
    assert int.from_bytes(second.body[8:12], "little") == 2085


def test_a_scope_is_answered_by_three_members(shell: Shell, connection: QueueManagerConnection) -> None:
    for name in ("QM2", "QM3"):
        shell.start_manager(name)
    with connection.open("REPLIES", OpenOption.INPUT_SHARED) as queue:
        asked = ask(connection, "REPLIES", request(PCFCommand.INQUIRE_Q_MGR, {Param.COMMAND_SCOPE: "*"}))
        found = [message for _, message in answers(queue, asked, 5)]
    items = [answer_of(each) for each in found if each.header.type == PCFType.XR_ITEM]
    assert [each[Char.Q_MGR_NAME] for each in items] == ["QM1", "QM2", "QM3"]
    # The same by pymqi, at a member that has the command forwarded by nobody.
    pcf = pymqi.PCFExecute(pymqi.connect("QM2"))
    told = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQCACF_COMMAND_SCOPE: b"*"})
    assert [each[CMQC.MQCA_Q_MGR_NAME].strip() for each in told] == [b"QM2", b"QM1", b"QM3"]
    pcf.disconnect()


@pytest.mark.usefixtures("connection")
def test_pymqi_gives_commands() -> None:
    manager = pymqi.connect("QM1")
    pcf = pymqi.PCFExecute(manager)
    pcf.MQCMD_PING_Q_MGR()
    pcf.MQCMD_CREATE_Q({CMQC.MQCA_Q_NAME: b"MADE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL, CMQC.MQIA_MAX_Q_DEPTH: 5})
    (found,) = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"MADE", CMQCFC.MQIACF_Q_ATTRS: CMQC.MQIA_MAX_Q_DEPTH})
    assert found[CMQC.MQIA_MAX_Q_DEPTH] == 5
    with pytest.raises(pymqi.MQMIError) as failed:
        pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"NOT.MADE"})
    assert failed.value.reason == CMQC.MQRC_UNKNOWN_OBJECT_NAME
    pcf.disconnect()
    manager.disconnect()


def test_the_example_administers_a_manager(shell: Shell) -> None:
    shell.start_manager("QM1")

    def tool(*arguments: str) -> str:
        command = [sys.executable, str(ROOT / "docs/examples/pcf_tool.py"), "QM1", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=shell.environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert tool("ping") == "the command server answers\n"
    assert tool("create", "ORDERS", "--max-depth", "7") == "ORDERS is there\n"
    assert tool("queues", "ORD*") == "ORDERS 0 of 7\n"
    assert tool("members") == "QM1\n"
    assert tool("delete", "ORDERS") == "ORDERS is deleted\n"
    assert "2085" in tool("delete", "ORDERS")


def test_no_request_and_no_reply_is_lost_when_the_manager_is_killed(shell: Shell) -> None:
    """Every request is answered exactly once, though its command may be done twice."""
    requests, kills = 30, 3
    manager = shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(REPLIES)")
    asked: list[bytes] = []
    for number in range(kills):
        with sharedq.connect("QM1", settings=load_settings(shell.environment)) as connection:
            for each in range(requests):
                name = f"MADE.{number}.{each}"
                values: dict[int, Any] = {Char.Q_NAME: name, Int.Q_TYPE: 1, Param.REPLACE: 1}
                asked.append(ask(connection, "REPLIES", request(PCFCommand.CREATE_Q, values), persistence=1).msg_id)
        # In the middle of the commands, wherever that is.
        manager.end(signal.SIGKILL)
        manager = shell.start_manager("QM1")
    answered: list[bytes] = []
    with (
        sharedq.connect("QM1", settings=load_settings(shell.environment)) as connection,
        connection.open("REPLIES", OpenOption.INPUT_SHARED) as queue,
    ):
        while len(answered) < len(asked):
            message = queue.get(GetOption.WAIT, wait_ms=WAIT_MS)
            assert read(message.body).header.reason == 0
            answered.append(message.md.correl_id)
        with pytest.raises(MQIError, match="2033"):
            queue.get(GetOption.WAIT, wait_ms=500)
    assert sorted(answered) == sorted(asked)
    shown = shell.out("mqsc", "QM1", "-c", "DISPLAY QLOCAL(MADE.*)")
    assert shown.count("QUEUE(MADE.") == len(asked)
    assert manager.end() == 0
    fsck = shell.run("fsck")
    assert fsck.returncode == 0, fsck.stdout + fsck.stderr


def test_it_is_stopped_and_started_by_commands(connection: QueueManagerConnection, shell: Shell) -> None:
    def command(text: str) -> str:
        return shell.out("mqsc", "QM1", "-c", text)

    def is_in_state(state: str) -> bool:
        return f"is {state}" in command("DISPLAY CMDSERV")

    ping = request(PCFCommand.PING_Q_MGR)
    with connection.open("REPLIES", OpenOption.INPUT_SHARED) as queue:
        until(lambda: is_in_state("RUNNING"), "it runs")
        assert "CSQN002I" in command("START CMDSERV")
        # Asked by a message, it answers before it ends.
        stop = ask(connection, "REPLIES", request(PCFCommand.STOP_CMD_SERVER))
        assert answers(queue, stop)[-1][1].header.comp_code == 0
        until(lambda: is_in_state("STOPPED"), "it has stopped")
        assert "CSQN006I" in command("STOP CS")
        assert "CMDSERV(STOPPED)" in command("DISPLAY QMSTATUS")
        waiting = ask(connection, "REPLIES", ping)
        assert "CURDEPTH(1)" in command(f"DISPLAY QLOCAL({COMMANDS}) CURDEPTH IPPROCS")
        assert "IPPROCS(0)" in command(f"DISPLAY QLOCAL({COMMANDS}) CURDEPTH IPPROCS")
        assert "CSQN001I" in command("START CMDSERV")
        assert answers(queue, waiting)[-1][1].header.comp_code == 0
        until(lambda: is_in_state("RUNNING"), "it runs again")
        assert "CSQN005I" in command("STOP CMDSERV")
        until(lambda: is_in_state("STOPPED"), "it has stopped again")


def test_a_manager_that_starts_has_one(shell: Shell) -> None:
    def is_in_state(state: str) -> bool:
        return f"is {state}" in shell.out("mqsc", "QM1", "-c", "DISPLAY CMDSERV")

    shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "STOP CMDSERV")
    until(lambda: is_in_state("STOPPED"), "it has stopped")
    shell.out("qmgr", "stop", "QM1")
    shell.start_manager("QM1")
    until(lambda: is_in_state("RUNNING"), "a new one runs")
