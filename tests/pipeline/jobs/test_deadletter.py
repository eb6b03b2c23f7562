"""`deadletter`: the tables about dead letters, from a queue and from an archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import Result

from igq.agent.delivery.disposal import Transmitted, dead_letter
from igq.pipeline.datasource.queue.source import queue_table
from igq.pipeline.jobs.archive import archive_queue, new_run
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.jobs.deadletter import COLUMNS, LetterFilter, dead_letters, summary
from sharedq.api import Queue
from sharedq.messages.context import default_appl_name
from sharedq.messages.dead_letter import reason_name
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
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


@pytest.mark.share
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
        (LetterFilter(), 11),
        (LetterFilter(reason=2053), 9),
        (LetterFilter(dest_queue="GATE"), 3),
        (LetterFilter(source="payroll", reason=2085), 1),
        (LetterFilter(correl_id=b"c1".ljust(24, b"\0")), 1),
        (LetterFilter(source="nobody"), 0),
        # All letters are of 03:15:30.99.
        (LetterFilter(dead=(DEAD_MS, DEAD_MS)), 10),
        (LetterFilter(dead=(DEAD_MS + 1, None)), 0),
        (LetterFilter(reason=2053, dead=(None, DEAD_MS - 1)), 0),
    ],
)
def test_filters_choose(spark: SparkSession, group: TestGroup, dead: Queue, chosen: LetterFilter, count: int) -> None:
    assert dead.name == DLQ
    assert letters(spark, group).where(chosen.condition()).count() == count


@pytest.mark.share
def test_reasons_have_names() -> None:
    assert (reason_name(2053), reason_name(271), reason_name(99_999)) == ("Q_FULL", "XMIT_Q_MSG_ERROR", "")


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.share
def test_the_command_shows_and_writes_what_was_chosen(
    spark: SparkSession, group: TestGroup, dead: Queue, command: Command, tmp_path: Path
) -> None:
    at = ("QM1", "--group", group.group.name, "--url", str(group.settings.redis_url))

    shown = command("deadletter", *at, "--output", str(tmp_path / "letters"))
    assert "Q_FULL" in shown.stdout
    assert "2053" in shown.stdout
    assert spark.read.parquet(str(tmp_path / "letters" / "messages")).count() == 11
    chosen = ("--reason", "q_full", "--destination", "GATE")
    command("deadletter", *at, *chosen, "--output", str(tmp_path / "chosen"))
    assert spark.read.parquet(str(tmp_path / "chosen" / "messages")).count() == 3
    assert len(browse_all(dead)) == 11
    assert sorted(path.name for path in tmp_path.glob("*letters*")) == ["letters"]


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
    group: TestGroup, dead: Queue, command: Command, choice: tuple[str], told: list[str]
) -> None:
    at = ("QM1", "--group", group.group.name, "--url", str(group.settings.redis_url))
    shown = command("deadletter", *at, *choice)

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
        (("QM1", "--input", "a"), "--input goes without QM: `igq pipeline replay` puts an archive back"),
        (("--input", "NEW"), "NEW: no such directory"),
        (("--input", "."), "is no archive, it has no _igq_archive.json"),
        (("--input", "a"), "is an archive of group ABCD, not of"),
        (
            ("QM1", "--from", "2026-02-01", "--to", "2026-01-31"),
            "--from, --to: the end (2026-01-31) is before the start (2026-02-01)",
        ),
        (("QM7",), "QM7: MQRC_Q_MGR_NAME_ERROR (2058)"),
        (("QM2",), "QM2 has no dead-letter queue: ALTER QMGR DEADQ, or name one with --queue"),
        (("QM1", "--queue", "NONE"), "NONE: MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("QM1", "--reason", "because"), "--reason because: allowed: a number, or a name such as Q_FULL"),
        (("QM1", "--correl-id", "0"), "--correl-id 0: allowed: pairs of hexadecimal digits"),
    ],
)
@pytest.mark.share
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
