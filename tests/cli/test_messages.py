"""``igq put``, ``get``, ``browse`` and ``mqsc`` on a running group of two, as an MQ user would use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from igq.cli.messages import printable
from sharedq import pymqi
from tests.cli.conftest import ROOT, Shell


def define(group: Shell, qmgr: str, *commands: str) -> None:
    group.out("mqsc", qmgr, *(part for command in commands for part in ("-c", command)))


def test_a_put_on_one_manager_is_got_on_the_other_through_igq(group: Shell) -> None:
    define(group, "QM1", "ALTER QMGR IGQ(ENABLED)")
    define(group, "QM2", "DEFINE QLOCAL(ORDERS)")

    group.out("put", "QM1", "ORDERS", "--qmgr", "QM2", "one", "two")
    group.out("put", "QM1", "ORDERS", "--qmgr", "QM2", text="three\nfour\n")

    assert group.out("get", "QM2", "ORDERS", "--wait", "20", "--max", "4") == "one\ntwo\nthree\nfour\n"
    assert group.manager("QM2")["agent"]["state"] == "RUNNING"


def test_a_shared_queue_is_open_to_both(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(SHARED.Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")

    group.out("put", "QM1", "SHARED.Q", "hello")

    assert group.out("get", "QM2", "SHARED.Q") == "hello\n"


def test_the_group_name_connects_to_any_member(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(ANY.Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")

    group.out("put", "QSG1", "ANY.Q", "hello")

    assert group.out("get", "*QSG1", "ANY.Q") == "hello\n"


def test_a_get_that_waits_is_woken_by_the_put(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(WAIT.Q) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    waiting = group.start("get", "QM2", "WAIT.Q", "--wait", "-1", "--max", "1")

    group.out("put", "QM1", "WAIT.Q", "awake")

    assert waiting.wait() == 0
    assert waiting.lines == ["awake"]


def test_an_empty_queue_ends_a_get_with_status_0_and_no_output(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(EMPTY.Q)")

    assert group.out("get", "QM1", "EMPTY.Q", "--wait", "0") == ""


def test_a_browse_shows_and_removes_nothing(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(BROWSE.Q)")
    group.out("put", "QM1", "BROWSE.Q", "--persistent", "--priority", "7", "first", "second")

    for _ in range(2):
        shown = group.out("browse", "QM1", "BROWSE.Q")
        assert shown.index("first") < shown.index("second")
        fields = {line.split()[0] for line in shown.splitlines() if line.startswith("  ")}
        assert fields == pymqi.MD().get().keys() - {"StrucId"} | {"body"}
        assert "'MQSTR'" in shown
    (queue,) = [each for each in group.status()["queues"] if each["name"] == "BROWSE.Q"]
    assert queue.pop("oldest_age_s") >= 0
    assert queue == {
        "name": "BROWSE.Q",
        "disposition": "QMGR",
        "is_dead_letter_queue": False,
        "owner": "QM1",
        "structure": None,
        "depth": 2,
        "uncommitted": 0,
        "max_depth": 999_999_999,
        "open_input": 0,
        "open_output": 0,
        "waiters": 0,
        # Nothing counts until PERFMEV(ENABLED).
        "puts": None,
        "gets": None,
        "put_rate": None,
        "get_rate": None,
    }


def test_a_short_browse_is_a_line_a_message_and_removes_nothing(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(SHORT.Q)")
    group.out("put", "QM1", "SHORT.Q", "--persistent", "--priority", "7", "--correl-id", "order", "first", "second")

    for count, said in ((3, "2 messages on "), (2, "2 messages on "), (1, "1 message shown, there are more on ")):
        done = group.run("browse", "QM1", "SHORT.Q", "--short", "--max", str(count))
        header, _, *rows = done.stdout.splitlines()
        assert header.split() == ["#", "MsgId", "CorrelId", "Pri", "Pers", "Length", "Put", "(UTC)", "Body"]
        assert [row.split()[0] for row in rows] == ["1", "2"][:count]
        assert done.stderr.startswith(said)
    _, msg_id, *_ = rows[0].split()
    assert group.out("get", "QM1", "SHORT.Q", "--msg-id", msg_id, "--max", "1") == "first\n"


def on_a_terminal(group: Shell, *arguments: str) -> tuple[str, str]:
    """Standard output and standard error of a command whose standard error is a terminal."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "igq", *arguments]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=group.environment, stdout=subprocess.PIPE, stderr=theirs, timeout=240, check=True
        )
        os.write(theirs, b"-")
        shown = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    return done.stdout.decode(), shown.removesuffix("-").replace("\r\n", "\n")


def test_a_get_that_ends_with_nothing_says_so_to_a_person(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(SILENT.Q)")

    assert on_a_terminal(group, "get", "QM1", "SILENT.Q", "--wait", "0.2") == ("", "no message came within 0.2 s\n")
    assert on_a_terminal(group, "get", "QM1", "SILENT.Q", "--wait", "0") == ("", "no message on the queue\n")
    group.out("put", "QM1", "SILENT.Q", "one", "two")
    assert on_a_terminal(group, "get", "QM1", "SILENT.Q", "--max", "1") == ("one\n", "")
    assert on_a_terminal(group, "get", "QM1", "SILENT.Q") == ("two\n", "no further message came within 1 s\n")


def test_a_get_that_ends_with_nothing_says_nothing_to_a_program(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(QUIET.Q)")

    done = group.run("get", "QM1", "QUIET.Q", "--wait", "0")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"plain", "plain"),
        ("Grüße".encode(), "Grüße"),
        (b"a\nb\x00", "a\\x0ab\\x00"),
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"C:\\temp", "C:\\\\temp"),
        (b"", ""),
    ],
)
def test_a_body_with_any_content_is_one_line(body: bytes, shown: str) -> None:
    assert printable(body) == shown


def test_an_undeliverable_message_is_found_on_the_dead_letter_queue(group: Shell) -> None:
    define(group, "QM1", "ALTER QMGR IGQ(ENABLED)")

    group.out("put", "QM1", "NOWHERE", "--qmgr", "QM2", "astray")

    letter = group.out("get", "QM2", "SYSTEM.DEAD.LETTER.QUEUE", "--wait", "20", "--max", "1")
    assert letter.startswith("DLH ")
    assert letter.endswith("astray\n")


def test_status_is_one_object_of_the_documented_shape(group: Shell) -> None:
    status = json.loads(group.out("status", "--json"))

    assert set(status) == {"group", "format", "redis", "managers", "recoveries", "structures", "queues"}
    assert [(each["name"], each["state"]) for each in status["structures"]] == [("APPL1", "ACTIVE")]
    assert set(status["redis"]) == {"version", "durability", "is_failing", "wait_replicas", "nodes", "warnings"}
    manager = status["managers"][0]
    assert {"name", "state", "pid", "incarnation", "igq", "agent"} <= set(manager)
    assert set(manager["agent"]) == {
        *("state", "pid", "short_retries", "long_retries", "next_retry_s"),
        *("restarts", "delivered", "delivered_rate", "last_error", "movers"),
    }
    assert [(each["name"], each["state"]) for each in status["managers"]] == [("QM1", "RUNNING"), ("QM2", "RUNNING")]
    assert "QM1" in group.out("status")


def test_the_exit_status_of_mqsc_shows_the_outcome_of_the_commands(group: Shell, tmp_path: Path) -> None:
    file = tmp_path / "commands.mqsc"
    file.write_text("* a comment\nDEFINE QLOCAL(FROM.FILE) +\n  REPLACE\n")
    bad = tmp_path / "bad.mqsc"
    bad.write_text("DEFINE QLOCAL(\n")

    assert group.run("mqsc", "QM1", str(file)).returncode == 0
    assert group.run("mqsc", "QM1", text="DISPLAY QLOCAL(FROM.FILE)\n").returncode == 0
    assert group.run("mqsc", "QM1", str(bad)).returncode == 10
    assert group.run("mqsc", "QM1", "-c", "DISPLAY QLOCAL(NO.SUCH)").returncode == 10
    assert group.run("mqsc", "NOBODY", "-c", "DISPLAY QMGR").returncode == 20
    assert group.run("mqsc", "QM1", str(tmp_path / "missing")).returncode == 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("put", "NOBODY", "Q", "x"), "MQRC_Q_MGR_NAME_ERROR (2058)"),
        (("put", "QM1", "NO.SUCH.Q", "x"), "MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("put", "QM1", "Q", "--qmgr", "NOBODY", "x"), "MQRC_UNKNOWN_REMOTE_Q_MGR (2087)"),
        (("put", "QM1", "", "x", "--qmgr", "QM2"), "MQRC_REMOTE_Q_NAME_ERROR (2184)"),
        (("put", "QM1", "X" * 60, "x", "--qmgr", "QM2"), "MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("get", "QM1", "NO.SUCH.Q"), "MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("browse", "QM2", "NO.SUCH.Q"), "MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("qmgr", "stop", "NOBODY"), "there is no queue manager NOBODY"),
        (("qmgr", "start", "1BAD"), "'1BAD' cannot be a queue manager"),
        (("group", "start", "-m", "A", "-m", "A"), "named twice"),
        (("mqsc", "QM1", "FILE", "-c", "DISPLAY QMGR"), "exclude each other"),
        (
            ("mqsc", "QSG1", "-c", "DISPLAY QMGR"),
            "QSG1 is the queue-sharing group: name one of its queue managers: QM1, QM2",
        ),
        (("mqsc", "QM9", "-c", "DISPLAY QMGR"), "there is no queue manager QM9 in group QSG1: QM1, QM2"),
        (("put", "QM1", "Q", "x", "--raw"), "exclude each other"),
        (("put", "QM1", "Q", "x", "--file", "FILE"), "exclude each other"),
        (("put", "QM1", "Q", "--file", "FILE", "--raw"), "exclude each other"),
        (("put", "QM1", "Q", "--file", "no/such/file"), "no/such/file: No such file or directory"),
        (("put", "QM1", "Q", "--file", "."), ".: Is a directory"),
        (("put", "QM1", "Q", "x", "--report", "coa"), "--report needs --reply-to"),
        (("put", "QM1", "Q", "x", "--correl-id", "x" * 25), "25 bytes"),
        (("get", "QM1", "Q", "--msg-id", "é" * 13), "26 bytes"),
        (("put", "QM1", "SYSTEM.DEFAULT.LOCAL.QUEUE", "x", "--reply-to", "Q" * 49), "MQRC_MD_ERROR (2026)"),
        (("demo", "--messages", "many"), "--messages many"),
    ],
)
def test_an_error_is_one_line_on_standard_error(group: Shell, arguments: tuple[str, ...], words: str) -> None:
    done = group.run(*arguments)

    assert done.returncode not in (0, 130)
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_where_standard_output_is_closed_nothing_is_got(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(CLOSED.Q)")
    group.out("put", "QM1", "CLOSED.Q", "kept")
    command = [sys.executable, "-m", "igq", "get", "QM1", "CLOSED.Q"]
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$@" >&-', "sh", *command],
        cwd=ROOT,
        env=group.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (closed.returncode, closed.stderr) == (1, "igq: standard output is closed\n")
    assert group.out("get", "QM1", "CLOSED.Q") == "kept\n"


def test_a_line_longer_than_what_a_pipe_holds_is_one_message(group: Shell) -> None:
    long = "x" * 3_000_000
    define(group, "QM1", "DEFINE QLOCAL(LONG.Q)")
    group.out("put", "QM1", "LONG.Q", text=f"first\n{long}\n\nlast")

    assert group.out("get", "QM1", "LONG.Q") == f"first\n{long}\n\nlast\n"


def piped(group: Shell, *arguments: str, data: bytes = b"") -> bytes:
    command = [sys.executable, "-m", "igq", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=group.environment, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


#: Bytes that are no text: every byte, line ends of all kinds, no line end at the end.
BYTES = bytes(range(256)) + b"\r\n\n\\x00\r no end"


def test_raw_is_the_bytes_and_nothing_else(group: Shell, tmp_path: Path) -> None:
    define(group, "QM1", "DEFINE QLOCAL(RAW.Q)")
    file = tmp_path / "file"
    file.write_bytes(BYTES)
    piped(group, "put", "QM1", "RAW.Q", "--file", str(file))
    piped(group, "put", "QM1", "RAW.Q", "--raw", data=BYTES[::-1])
    piped(group, "put", "QM1", "RAW.Q", "--raw", data=b"")
    shown = group.run("browse", "QM1", "RAW.Q")
    assert shown.stderr == "3 messages on RAW.Q\n"
    assert [line.split() for line in shown.stdout.splitlines() if line.split()[0] == "Format"] == [["Format", "''"]] * 3

    assert piped(group, "get", "QM1", "RAW.Q", "--raw", "--max", "1") == BYTES
    assert piped(group, "get", "QM1", "RAW.Q", "--raw") == BYTES[::-1]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_large_raw_message_stays_if_its_reader_has_gone(group: Shell, unbuffered: str) -> None:
    define(group, "QM1", "DEFINE QLOCAL(LARGE.Q) REPLACE")
    large = BYTES * 10_000
    piped(group, "put", "QM1", "LARGE.Q", "--raw", data=large)
    command = f"{sys.executable} -m igq get QM1 LARGE.Q --raw | head -c 10 >/dev/null"
    environment = group.environment | {"PYTHONUNBUFFERED": unbuffered}
    subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, check=False)

    assert piped(group, "get", "QM1", "LARGE.Q", "--raw") == large


def test_mqsc_lists_the_commands_that_there_are(group: Shell) -> None:
    shown = group.out("mqsc", "--help")
    for line in ("DEFINE QLOCAL, QREMOTE, QALIAS, QMODEL, CFSTRUCT", "RECOVER CFSTRUCT", "RESOLVE INDOUBT"):
        assert line in shown


def test_a_request_is_answered_and_its_reports_tell_what_became_of_it(group: Shell) -> None:
    define(group, "QM1", "DEFINE QLOCAL(ASK.Q) QSGDISP(SHARED) CFSTRUCT(APPL1)", "DEFINE QLOCAL(TOLD.Q)")
    asking = ("--correl-id", "order 1", "--reply-to", "TOLD.Q", "--expiry", "600")

    group.out("put", "QM1", "ASK.Q", *asking, "--report", "coa", "--report", "cod", "hello")
    group.out("put", "QM1", "ASK.Q", *asking, "a request")
    shown = group.out("browse", "QM2", "ASK.Q")
    assert [shown.count(each) for each in ("'QM1'", "'TOLD.Q'")] == [2, 2]
    assert [line.split()[1] for line in shown.splitlines() if line.split()[0] == "MsgType"] == ["8", "1"]

    assert group.out("get", "QM2", "ASK.Q", "--correl-id", "order 2", "--wait", "0") == ""
    assert group.out("get", "QM2", "ASK.Q", "--correl-id", "order 1", "--wait", "0") == "hello\na request\n"
    # The report of delivery comes from the other manager, by intra-group queuing.
    assert group.out("get", "QM1", "TOLD.Q", "--wait", "20", "--max", "2") == "\n\n"
