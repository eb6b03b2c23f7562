"""Events and the log of commands, with real managers: what an operator sees of them."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.conftest import Shell
from tests.support.scenes import until

HOSTILE = "\x1b[31m\u202e'"


def read(shell: Shell, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shell.out("events", "QM1", "--json", *options).splitlines()]


def test_an_operator_reads_the_events_of_a_manager(shell: Shell) -> None:
    shell.environment["IGQ_LOG_FORMAT"] = "json"
    manager = shell.start("qmgr", "start", "QM1")
    manager.wait_for("CSQ9022I")
    shell.out("mqsc", "QM1", "-c", "ALTER QMGR PERFMEV(ENABLED) CMDEV(ENABLED)")
    shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(ORDERS) MAXDEPTH(10) QDPHIEV(ENABLED)")
    shell.run("mqsc", "QM1", "-c", f"DELETE QLOCAL(NONE) {HOSTILE} redis://u:secret@h")
    shell.out("put", "QM1", "ORDERS", text="one\ntwo\n3\n4\n5\n6\n7\n8\n")
    perfm = ("--queue", "SYSTEM.ADMIN.PERFM.EVENT")
    until(lambda: read(shell, *perfm), "the event is written")

    (high,) = read(shell, *perfm)
    assert (high["reasonName"], high["baseObjectName"], high["highQDepth"]) == ("MQRC_Q_DEPTH_HIGH", "ORDERS", 8)
    assert high["time"].endswith("Z")
    names = [event["reasonName"] for event in read(shell)]
    assert names.count("MQRC_Q_MGR_ACTIVE") == 1
    assert names.count("MQRC_COMMAND_MQSC") == 2
    text = shell.out("events", "QM1", *perfm)
    assert "reasonName             MQRC_Q_DEPTH_HIGH" in text
    whole = shell.out("events", "QM1")
    assert "secret" not in whole
    assert not any(character in whole for character in "\x1b\u202e")

    assert read(shell, "--remove", *perfm) == [high]
    assert read(shell, *perfm) == []

    shell.out("qmgr", "stop", "QM1")
    manager.wait()
    lines = [json.loads(line) for line in manager.lines]
    commands = [line for line in lines if line["id"] == "IGQ0031I"]
    assert [line["result"].partition(":")[0] for line in commands] == ["done", "done", "syntax", "asked"]
    assert commands[0]["command"] == "ALTER QMGR PERFMEV(ENABLED) CMDEV(ENABLED)"
    assert commands[3]["command"] == "qmgr stop QM1"
    assert all(line["manager"] == "QM1" and line["user"] and line["host"] for line in commands)
