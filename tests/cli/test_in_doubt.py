"""A unit of work in doubt whose program and manager are killed: with real processes, as an operator sees it."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.cli.conftest import ROOT, Shell

#: Prepares two puts, and is killed before its next step.
PROGRAM = """
import os, signal, sharedq
from sharedq.mqi.constants import PutOption
connection = sharedq.connect("QM1", appl_name="sink")
for body in (b"committed by the coordinator", b"backed out by an operator"):
    connection.put1("ORDERS", body, options=PutOption.SYNCPOINT)
    connection.prepare(body[:9])
os.kill(os.getpid(), signal.SIGKILL)
"""
COORDINATOR = """
import sharedq
from sharedq.mqi.constants import OpenOption
with sharedq.connect("QM1") as connection:
    try:
        print(connection.open("ORDERS", OpenOption.INPUT_SHARED).get().body)
    except sharedq.MQIError as error:
        print(int(error.reason))
    print(sorted(unit.xid for unit in connection.recover()))
    print(connection.commit_prepared(b"committed"), connection.commit_prepared(b"committed"))
"""


def python(shell: Shell, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, env=shell.environment, capture_output=True, text=True, check=False
    )


def test_it_outlives_its_program_and_its_manager(shell: Shell) -> None:
    # A busy machine must not cost a manager its place.
    shell.environment["IGQ_LEASE_MS"] = "15000"
    peer, victim = shell.start_manager("QM2"), shell.start_manager("QM1")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(ORDERS) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    sink = python(shell, PROGRAM)
    assert sink.returncode == -signal.SIGKILL, sink.stderr
    assert victim.end(signal.SIGKILL) == -signal.SIGKILL
    peer.wait_for("CSQR004I QM2 2 units of work of QM1.")

    restarted = shell.start_manager("QM1")
    restarted.wait_for("CSQR004I QM1 2 units of work of QM1 in doubt")

    coordinator = python(shell, COORDINATOR)
    assert coordinator.stdout == "2033\n[b'backed ou', b'committed']\nTrue False\n", coordinator.stderr
    commands = ("DISPLAY THREAD('sink') TYPE(INDOUBT)", "RESOLVE INDOUBT('sink') ACTION(BACKOUT) NID(*)")
    output = shell.out("mqsc", "QM1", *(word for command in commands for word in ("-c", command)))
    nid = output.partition("NID(")[2].partition(")")[0]
    assert f"CSQV415I: Thread NID({nid}) backed out." in output

    assert shell.out("get", "QM2", "ORDERS", "--wait", "0") == "committed by the coordinator\n"
