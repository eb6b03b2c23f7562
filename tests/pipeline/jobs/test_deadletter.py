"""`deadletter`: the tables about dead letters, and each put-back once, whole and in order."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import Result

from igq.agent.delivery.disposal import Transmitted, dead_letter
from igq.pipeline.claims import tag as alone
from igq.pipeline.datasource.queue.source import queue_table
from igq.pipeline.jobs import requeue as requeueing
from igq.pipeline.jobs.archive import archive_queue, new_run
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.jobs.deadletter import COLUMNS, Chosen, dead_letters, requeue, summary
from igq.pipeline.jobs.requeue import Requeuer
from sharedq.api import Queue
from sharedq.messages.context import default_appl_name
from sharedq.messages.dead_letter import reason_name
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.agents import drain
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup

pytestmark = pytest.mark.spark

Command = Callable[..., Result]
DLQ = "DEAD.QUEUE"
#: 2026-11-22, when all became dead letters.
DEAD_MS = 1_795_317_330_990


@pytest.fixture
def dead(group: TestGroup) -> Queue:
    """QM1's dead-letter queue: letters to three queues, one of which does not exist, and a message without a header."""
    group.define_structure()
    group.define_private("QM1", DLQ)
    for name in ("FULL", "GATE"):
        group.define_shared(name)
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": DLQ})
    queue = group.connect().open(DLQ, BOTH | OpenOption.SET_ALL_CONTEXT)
    for number in range(6):
        letter(queue, "FULL", MQRC.Q_FULL, b"full %d" % number)
    letter(queue, "NOWHERE", MQRC.UNKNOWN_OBJECT_NAME, b"nowhere")
    for number in range(3):
        letter(queue, "GATE", MQRC.Q_FULL, b"gate %d" % number, correl_id=b"c%d".ljust(24, b"\0") % number)
    queue.put(b"not a letter")
    return queue


def letter(queue: Queue, name: str, reason: MQRC, body: bytes, **fields: Any) -> None:
    known: dict[str, Any] = {
        "format": b"MQSTR",
        "persistence": 1,
        "priority": 4,
        "put_appl_name": b"payroll",
        "put_appl_type": 6,
    }
    md = MQMD(**(known | fields))
    as_dead = dead_letter(Transmitted(md, body, name.encode(), b"QM1"), reason, b"IGQ agent", b"20261122", b"03153099")
    queue.put(as_dead[1], as_dead[0], options=PutOption.SET_ALL_CONTEXT)


def letters(spark: SparkSession, group: TestGroup) -> Any:
    return dead_letters(queue_table(spark, group.settings, DLQ, "QM1", columns=COLUMNS))


def test_the_fields_of_headers_are_shown_and_grouped(spark: SparkSession, group: TestGroup, dead: Queue) -> None:
    assert dead.name == DLQ
    table = letters(spark, group)

    first = table.collect()[0]
    assert (first.reason, first.why, first.dest_queue, first.dest_qmgr) == (2053, "Q_FULL", "FULL", "QM1")
    assert (first.source, first.by, first.length) == ("payroll", "IGQ agent", len(b"full 0"))
    assert f"{first.dead_at:%M:%S.%f}" == "15:30.990000"
    rows = [(row.why, row.dest_queue, row.messages, row.bytes) for row in summary(table).collect()]
    assert rows == [
        ("Q_FULL", "FULL", 6, 36),
        ("Q_FULL", "GATE", 3, 18),
        (None, None, 1, 12),
        ("UNKNOWN_OBJECT_NAME", "NOWHERE", 1, 7),
    ]


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        (Chosen(), 11),
        (Chosen(reason=2053), 9),
        (Chosen(dest_queue="GATE"), 3),
        (Chosen(source="payroll", reason=2085), 1),
        (Chosen(correl_id=b"c1".ljust(24, b"\0")), 1),
        (Chosen(source="nobody"), 0),
        # All letters are of 03:15:30.99.
        (Chosen(dead=(DEAD_MS, DEAD_MS)), 10),
        (Chosen(dead=(DEAD_MS + 1, None)), 0),
        (Chosen(reason=2053, dead=(None, DEAD_MS - 1)), 0),
    ],
)
def test_filters_choose(spark: SparkSession, group: TestGroup, dead: Queue, chosen: Chosen, count: int) -> None:
    assert dead.name == DLQ
    assert letters(spark, group).where(chosen.condition()).count() == count


def test_reasons_have_names() -> None:
    assert (reason_name(2053), reason_name(271), reason_name(99_999)) == ("Q_FULL", "XMIT_Q_MSG_ERROR", "")


def test_letters_go_back_whole_and_in_order_and_what_cannot_stays(
    spark: SparkSession, group: TestGroup, dead: Queue
) -> None:
    outcomes = requeue(letters(spark, group), group.settings, DLQ, "QM1").collect()

    assert sorted((row.outcome, row.dest_queue, row.messages) for row in outcomes) == [
        ("MQRC_UNKNOWN_OBJECT_NAME (2085)", "NOWHERE", 1),
        ("no dead-letter header", None, 1),
        ("put back", "FULL", 6),
        ("put back", "GATE", 3),
    ]
    assert [body[-7:] for body in browse_all(dead)] == [b"nowhere", b"not a letter"[-7:]]
    full, gate = (group.connect().open(name, BOTH) for name in ("FULL", "GATE"))
    assert browse_all(full) == [b"full %d" % number for number in range(6)]
    md = gate.get(GetOption.BROWSE_FIRST).md
    assert (md.format, md.put_appl_name, md.persistence, md.priority) == (b"MQSTR", b"payroll", 1, 4)
    assert md.correl_id == b"c0".ljust(24, b"\0")


@pytest.mark.parametrize("format_", [b"MQSTR", b"MQHREF", b""])
@pytest.mark.parametrize(("encoding", "ccsid"), [(546, 1208), (785, 500), (546, 500), (273, 1208), (546, 1200)])
@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_message_that_goes_back_has_its_old_descriptor(
    spark: SparkSession, group: TestGroup, dead: Queue, encoding: int, ccsid: int, format_: bytes, is_foreign: bool
) -> None:
    """Also if a program wrote the letter on a big-endian machine."""
    drain(group.connect(), DLQ)
    said = {"encoding": encoding, "coded_char_set_id": ccsid, "format": format_, "put_appl_type": 2}
    letter(dead, "GATE", MQRC.Q_FULL, b"\0hello", **said)
    if is_foreign:
        got = dead.get()
        header = wire.DLH.unpack(got.body)
        numbers = struct.pack(">2i", 1, header.reason), struct.pack(">2i", encoding, ccsid), struct.pack(">i", 7)
        data = b"DLH " + numbers[0] + got.body[12:108] + numbers[1] + got.body[116:124] + numbers[2] + got.body[128:]
        dead.put(data, replace(got.md, encoding=273), options=PutOption.SET_ALL_CONTEXT)

    (row,) = letters(spark, group).collect()
    assert (row.reason, row.dest_queue, row.by, row.length) == (2053, "GATE", "IGQ agent", 6)
    with Requeuer(group.settings, DLQ, "QM1") as requeuer:
        requeuer.put_back([row.asDict()])

    (got,) = drain(group.connect(), "GATE")
    md = got.md
    assert (got.body, md.encoding, md.coded_char_set_id, md.format) == (b"\0hello", encoding, ccsid, format_)
    assert (md.put_appl_name, md.put_appl_type) == (b"payroll", 2)


def test_a_refused_message_delays_no_other(spark: SparkSession, group: TestGroup, dead: Queue) -> None:
    group.repository("QM1").alter("QLOCAL", "FULL", {"max_depth": 4})

    outcomes = requeue(letters(spark, group), group.settings, DLQ, "QM1").collect()

    told = {(row.outcome, row.dest_queue): row.messages for row in outcomes}
    assert told["put back", "FULL"] == 4
    assert told["MQRC_Q_FULL (2053)", "FULL"] == 2
    assert told["put back", "GATE"] == 3
    assert len(browse_all(dead)) == 4


def test_a_task_that_is_tried_again_puts_nothing_back_twice(spark: SparkSession, group: TestGroup, dead: Queue) -> None:
    assert dead.name == DLQ
    rows = [row.asDict() for row in letters(spark, group).where("dest_queue = 'GATE'").collect()]
    for expected in ("put back", "gone"):
        with Requeuer(group.settings, DLQ, "QM1") as requeuer:
            requeuer.put_back(rows)
        assert requeuer.told() == [{"outcome": expected, "dest_queue": "GATE", "dest_qmgr": "QM1", "messages": 3}]
    assert browse_all(group.connect().open("GATE", BOTH)) == [b"gate %d" % number for number in range(3)]


def test_the_next_run_puts_back_messages_that_were_backed_out(
    spark: SparkSession, group: TestGroup, dead: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A committed message is put back, an uncommitted one is on the dead-letter queue: always on exactly one."""
    monkeypatch.setattr(requeueing, "UNIT_MESSAGES", 2)
    rows = [row.asDict() for row in letters(spark, group).where("dest_queue = 'FULL'").collect()]
    first = Requeuer(group.settings, DLQ, "QM1")
    first.put_back(rows[:2])
    first._move(rows[2])
    first._connection.backout()

    with Requeuer(group.settings, DLQ, "QM1") as requeuer:
        requeuer.put_back(rows)

    assert browse_all(group.connect().open("FULL", BOTH)) == [b"full %d" % number for number in range(6)]
    assert len(browse_all(dead)) == 5


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_shows_and_puts_back(
    spark: SparkSession, group: TestGroup, dead: Queue, command: Command, tmp_path: Path
) -> None:
    at = ("QM1", "--group", group.group.name, "--url", str(group.settings.redis_url))

    shown = command("deadletter", *at, "--output", str(tmp_path / "letters"))
    assert "Q_FULL" in shown.stdout
    assert "2053" in shown.stdout
    assert spark.read.parquet(str(tmp_path / "letters" / "messages")).count() == 11
    chosen = ("--reason", "q_full", "--destination", "GATE")
    command("deadletter", *at, "--requeue", *chosen, "--output", str(tmp_path / "put back"))
    assert len(browse_all(dead)) == 8
    told = spark.read.parquet(str(tmp_path / "put back" / "requeue")).collect()
    assert [(row.outcome, row.dest_queue, row.messages) for row in told] == [("put back", "GATE", 3)]
    assert sorted(path.name for path in tmp_path.glob("*letters*")) == ["letters"]
    shown = command("deadletter", *at, "--requeue", "--reason", "2085", status=1)
    assert "MQRC_UNKNOWN_OBJECT_NAME (2085)" in shown.stdout
    assert len(browse_all(dead)) == 8


def test_one_command_at_a_time_puts_a_queue_back(
    group: TestGroup, dead: Queue, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two would not keep the order of a destination."""
    monkeypatch.setattr(alone, "WAIT_S", 0.1)
    at = ("deadletter", "QM1", "--group", group.group.name, "--url", str(group.settings.redis_url), "--requeue")
    tag = f"igq.requeue/QM1/{DLQ}".encode()
    with alone.hold_tag(group.settings, "QM1", tag):
        shown = command(*at, status=2)
        assert len(browse_all(dead)) == 11
    (line,) = (each for each in shown.stderr.splitlines() if each.startswith("igq pipeline deadletter: "))
    assert f"another command puts messages of {DLQ} at QM1 back" in line
    command(*at, status=1)
    assert len(browse_all(dead)) == 2


def test_a_message_without_a_header_stays_and_is_reported(group: TestGroup, dead: Queue, command: Command) -> None:
    drain(group.connect(), DLQ)
    letter(dead, "GATE", MQRC.Q_FULL, b"gate")
    for number in range(2):
        dead.put(b"not a letter %d" % number)
    at = ("deadletter", "QM1", "--group", group.group.name, "--url", str(group.settings.redis_url), "--requeue")

    shown = command(*at, status=1)

    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert {"no dead-letter header 2", "put back GATE QM1 1"} <= set(lines)
    assert browse_all(dead) == [b"not a letter 0", b"not a letter 1"]
    # Only chosen messages count.
    command(*at, "--reason", "q_full", status=1)


def test_archived_dead_letters_are_counted_without_redis(
    spark: SparkSession, group: TestGroup, dead: Queue, command: Command, tmp_path: Path
) -> None:
    assert dead.name == DLQ
    archive = Archive.open_or_make(tmp_path / "a", group.group.name)
    group.connect().open("GATE", BOTH).put(b"no letter")
    for queue in (DLQ, "GATE"):
        archive_queue(spark, group.settings, queue, "QM1", archive, new_run())
    before = letters(spark, group).drop("position")

    output = str(tmp_path / "letters")
    shown = command("deadletter", "--input", str(archive.directory), "--queue", DLQ, "--output", output)

    assert "Q_FULL" in shown.stdout
    told = spark.read.parquet(str(tmp_path / "letters" / "messages")).drop("position")
    assert (told.count(), told.exceptAll(before).isEmpty()) == (11, True)
    chosen = ("--reason", "q_full", "--destination", "GATE", "--output", str(tmp_path / "of gate"))
    command("deadletter", "--input", str(archive.directory), *chosen)
    assert [row.messages for row in spark.read.parquet(str(tmp_path / "of gate" / "summary")).collect()] == [3]
    shown = command("deadletter", "--input", str(archive.directory), "--output", str(tmp_path / "all"))
    # Only dead letters of all queues. One message of the dead-letter queue is not one, either.
    assert "deadletter: messages without a dead-letter header, passed over: 2\n" in shown.stderr
    found = spark.read.parquet(str(tmp_path / "all" / "messages"))
    assert found.drop("position").exceptAll(before.where("reason IS NOT NULL")).isEmpty()
    assert found.count() == 10
    assert not (tmp_path / "data" / "redis").exists()


@pytest.mark.parametrize("requeue", [(), ("--requeue",)])
@pytest.mark.parametrize(
    ("choice", "told"),
    [
        (("--reason", "Q_FULL"), []),
        (("--destination", "GAET"), ["--destination fits none of 11 messages; they have FULL, GATE, NOWHERE"]),
        (
            ("--reason", "2030", "--source", "payrol", "--destination", "GATE"),
            [
                "--reason fits none of 11 messages; they have Q_FULL, UNKNOWN_OBJECT_NAME",
                "--source fits none of 11 messages; they have PROGRAMS",
            ],
        ),
        (("--correl-id", "0A"), ["--correl-id fits none of 11 messages"]),
        (
            ("--from", "2026-11-23"),
            ["--from, --to fits none of 11 messages; they have 2026-11-22T03:15:30Z"],
        ),
        (
            ("--reason", "2085", "--destination", "GATE"),
            ["--reason, --destination: each fits some of 11 messages, and no message fits all of them"],
        ),
    ],
)
def test_a_choice_that_fits_nothing_lists_the_values_there_are(
    group: TestGroup, dead: Queue, command: Command, requeue: tuple[str, ...], choice: tuple[str], told: list[str]
) -> None:
    at = ("QM1", "--group", group.group.name, "--url", str(group.settings.redis_url))
    shown = command("deadletter", *at, *choice, *requeue, status=int(bool(requeue and told)))

    programs = ", ".join(sorted(["payroll", default_appl_name().decode()]))
    lines = [line for line in shown.stderr.splitlines() if "fits" in line]
    assert lines == [f"deadletter: {line.replace('PROGRAMS', programs)}" for line in told]
    assert dead.name == DLQ


def test_a_queue_is_read_once_for_all_tables(
    spark: SparkSession,
    group: TestGroup,
    dead: Queue,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the tables are about the same messages, whatever is put meanwhile."""

    def write_then_put(tables: Mapping[str, DataFrame], directory: Path) -> None:
        for name, table in tables.items():
            table.write.parquet(str(directory / name))
            letter(dead, "LATE", MQRC.Q_FULL, b"late")

    monkeypatch.setattr("igq.pipeline.tables.write_tables", write_then_put)
    at = ("QM1", "--group", group.group.name, "--url", str(group.settings.redis_url))
    shown = command("deadletter", *at, "--output", str(tmp_path / "letters"))

    assert "LATE" not in shown.stdout
    assert spark.read.parquet(str(tmp_path / "letters" / "messages")).count() == 11


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "give QM, the manager whose dead-letter queue to read, or --input"),
        (("QM1", "--input", "a"), "--input goes without QM and --requeue: `igq pipeline replay` puts an archive back"),
        (("--input", "a", "--requeue"), "--input goes without QM and --requeue"),
        (("--input", "NEW"), "NEW: no such directory"),
        (("--input", "."), "is no archive, it has no _igq_archive.json"),
        (("--input", "a"), "is an archive of group ABCD, not of"),
        (
            ("QM1", "--from", "2026-02-01", "--to", "2026-01-31"),
            "--from, --to: the end (2026-01-31) is before the start (2026-02-01)",
        ),
        (("QM7",), "QM7: MQRC_Q_MGR_NAME_ERROR (2058)"),
        (("QM2",), "QM2 has no dead-letter queue: ALTER QMGR DEADQ, or name one with --queue"),
        (("QM3", "--requeue", "--queue", DLQ), "QM3: MQRC_Q_MGR_NOT_AVAILABLE (2059)"),
        (("QM1", "--queue", "NONE"), "NONE: MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("QM1", "--reason", "because"), "--reason because: allowed: a number, or a name such as Q_FULL"),
        (("QM1", "--correl-id", "0"), "--correl-id 0: allowed: pairs of hexadecimal digits"),
    ],
)
def test_an_impossible_request_is_one_line(
    group: TestGroup,
    dead: Queue,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    what: str,
) -> None:
    assert dead.name == DLQ
    group.add_member("QM2")
    # No program answers for it.
    group.add_member("QM3")
    group.define_private("QM3", DLQ)
    keys = group.group.keys
    group.group.client().zadd(keys.leases, {"QM3.1": 1}, xx=True)
    Archive.open_or_make(tmp_path / "a", "ABCD")
    monkeypatch.chdir(tmp_path)
    url = str(group.settings.redis_url)
    shown = command("deadletter", *arguments, "--group", group.group.name, "--url", url, status=2)
    # Before Spark starts, which takes seconds.
    (line,) = shown.stderr.splitlines()
    assert what in line
