"""Triggering with real managers: programs are started, also where a manager is killed in between."""

from __future__ import annotations

import signal
import sys

import pytest

import sharedq
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.settings.loader import load_settings
from tests.cli.conftest import ROOT, Shell

pytestmark = pytest.mark.faults

WAIT = GetOption.WAIT | GetOption.NO_SYNCPOINT
WAIT_MS = 120_000


def connected(shell: Shell, qmgr: str) -> QueueManagerConnection:
    return sharedq.connect(qmgr, settings=load_settings({"IGQ_DATA_DIR": shell.environment["IGQ_DATA_DIR"]}))


def test_a_program_is_started_and_gets_the_message(shell: Shell) -> None:
    shell.start_manager("QM1")
    program = f"{sys.executable} {ROOT / 'docs/examples/triggered_program.py'}"
    for command in (
        f"DEFINE PROCESS(REPLIES) APPLTYPE(UNIX) APPLICID('{program}')",
        "DEFINE QLOCAL(REPLY)",
        "DEFINE QLOCAL(REQUESTS) TRIGGER INITQ(SYSTEM.DEFAULT.INITIATION.QUEUE) PROCESS(REPLIES)",
    ):
        shell.out("mqsc", "QM1", "-c", command)
    monitor = shell.start("trigger-monitor", "QM1")
    monitor.wait_for("waiting for trigger messages")
    with connected(shell, "QM1") as connection:
        for round_, text in enumerate((b"hello", b"again"), 1):
            connection.put1("REQUESTS", text, MQMD(reply_to_q=b"REPLY", reply_to_q_mgr=b"QM1"))
            with connection.open("REPLY", OpenOption.INPUT_SHARED) as replies:
                assert replies.get(WAIT, wait_ms=WAIT_MS).body == text.upper()
            # It has ended, so that the next message starts it again.
            monitor.wait_for("REQUESTS: 1 served", round_)
    assert len([line for line in monitor.lines if "REQUESTS: started" in line]) == 2
    assert monitor.end() == 0


def test_a_manager_is_killed_between_the_put_and_the_trigger_message(shell: Shell) -> None:
    """QM1 writes for the structure. It stands still when the message comes, and is killed: QM2 goes on."""
    first = shell.start_manager("QM1")
    for command in (
        "DEFINE PROCESS(ANY) APPLICID('any')",
        "DEFINE QLOCAL(INIT) QSGDISP(SHARED) CFSTRUCT(APPL1)",
        "DEFINE QLOCAL(Q) QSGDISP(SHARED) CFSTRUCT(APPL1) TRIGGER TRIGTYPE(EVERY) INITQ(INIT) PROCESS(ANY)",
    ):
        shell.out("mqsc", "QM1", "-c", command)
    with connected(shell, "QM1") as connection, connection.open("INIT", OpenOption.INPUT_SHARED) as monitor:
        connection.put1("Q", b"of QM1")
        assert monitor.get(WAIT, wait_ms=WAIT_MS).body[:4] == b"TM  "
    shell.start_manager("QM2")
    with connected(shell, "QM2") as connection, connection.open("INIT", OpenOption.INPUT_SHARED) as monitor:
        first.process.send_signal(signal.SIGSTOP)
        connection.put1("Q", b"of QM2")
        first.end(signal.SIGKILL)
        assert monitor.get(WAIT, wait_ms=WAIT_MS).body[:4] == b"TM  "
    shell.out("fsck")
