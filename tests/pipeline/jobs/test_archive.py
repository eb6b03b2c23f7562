"""`archive`, and `replay` after it: every message once and unchanged, whatever was killed meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from typer.testing import Result

from igq.pipeline.datasource.queue.source import queue_table
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs import archive as archiving
from igq.pipeline.jobs.archive import archive_queue, new_run
from igq.pipeline.jobs.archives import MANIFEST, Archive
from igq.pipeline.jobs.replay import parts
from sharedq.api import Queue
from sharedq.calls.unit.commit import backout
from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.support.groups import BOTH, LMIG, LSEG, MIG, SEG, browse_all, put_member
from tests.support.members import TestGroup

pytestmark = pytest.mark.spark

Command = Callable[..., Result]
#: Fields that a queue sets, and the time that a descriptor has only in hundredths of a second.
NOT_THE_MESSAGES_OWN = ("queue", "structure", "position", "message_id", "put_at")


@pytest.fixture
def orders(group: TestGroup) -> Queue:
    """A queue with messages of all kinds, an empty one whose name is a number, and one to replay to."""
    group.define_structure()
    for name in ("ORDERS", "0042", "COPY"):
        group.define_shared(name)
    queue = group.connect().open("ORDERS", BOTH)
    for number in range(12):
        queue.put(b"%d" % number, MQMD(priority=number % 3, persistence=number % 2, correl_id=b"c" * 24))
    for number in range(3):
        put_member(queue, b"g", number + 1, b"member %d" % number, LMIG if number == 2 else MIG, format=b"MQSTR")
    put_member(queue, b"s", 1, b"half", SEG)
    put_member(queue, b"s", 1, b"rest", LSEG, offset=4)
    queue.put(b"\0", MQMD(reply_to_q=b"REPLIES", report=64, feedback=7))
    return queue


def at(group: TestGroup) -> tuple[str, ...]:
    return ("--group", group.group.name, "--url", str(group.settings.redis_url))


def content(spark: SparkSession, group: TestGroup, queue: str) -> list[dict[str, Any]]:
    table = queue_table(spark, group.settings, queue).drop(*NOT_THE_MESSAGES_OWN)
    return [row.asDict() for row in table.collect()]


def archive_of(spark: SparkSession, directory: Path) -> list[bytes]:
    rows = Archive.open(directory).read(spark).orderBy("run", "position").collect()
    return [bytes(row.data) for row in rows]


def test_a_queue_comes_back_as_it_was(
    spark: SparkSession, group: TestGroup, orders: Queue, command: Command, tmp_path: Path
) -> None:
    # It has no put time.
    orders.put(b"from nobody", options=PutOption.NO_CONTEXT)
    before, bodies = content(spark, group, "ORDERS"), browse_all(orders)

    command("archive", str(tmp_path / "a"), "--queue", "ORDERS", *at(group))
    assert archive_of(spark, tmp_path / "a") == bodies == browse_all(orders)
    command("replay", str(tmp_path / "a"), "--target", "COPY", *at(group))

    assert content(spark, group, "COPY") == before
    assert browse_all(group.connect().open("COPY", BOTH)) == bodies


def test_an_archive_is_added_to_and_replayed_once(
    spark: SparkSession, group: TestGroup, orders: Queue, command: Command, tmp_path: Path
) -> None:
    directory = str(tmp_path / "a")
    first = browse_all(orders)
    for _ in range(2):
        command("archive", directory, "--structure", "APPL1", *at(group))
    orders.put(b"later", MQMD(priority=9))
    command("archive", directory, "--queue", "ORDERS", "--queue", "0042", *at(group))
    assert archive_of(spark, tmp_path / "a") == [*first, b"later"]

    copy = group.connect().open("COPY", BOTH)
    for _ in range(2):
        command("replay", directory, "--queue", "ORDERS", "--target", "COPY", *at(group))
        assert browse_all(copy) == [b"later", *first]
    command("replay", directory, "--target", "COPY", "--again", "once more", *at(group))
    assert len(browse_all(copy)) == 2 * (len(first) + 1)


def test_removing_takes_off_what_is_archived_and_nothing_else(
    spark: SparkSession, group: TestGroup, orders: Queue, command: Command, tmp_path: Path
) -> None:
    everything = browse_all(orders)
    other = group.connect().open("ORDERS", BOTH)
    held = other.get(GetOption.SYNCPOINT).body

    # The shown rows are not all of the work.
    more = ("--output", str(tmp_path / "done"), "--rows", "1")
    command("archive", str(tmp_path / "a"), "--queue", "ORDERS", "--remove", *more, *at(group))
    backout(other.connection)

    told = spark.read.parquet(str(tmp_path / "done" / "done")).collect()
    count = len(everything) - 1
    assert sorted(tuple(row) for row in told) == [("ORDERS", "archived", count), ("ORDERS", "removed", count)]
    assert browse_all(orders) == [held]
    assert archive_of(spark, tmp_path / "a") == everything[1:]
    command("archive", str(tmp_path / "a"), "--queue", "ORDERS", "--remove", *at(group))
    assert browse_all(orders) == []
    assert sorted(archive_of(spark, tmp_path / "a")) == sorted(everything)


def test_removing_goes_by_the_largest_unit_of_work_that_is_allowed(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    stored, count = Archive.open_or_make(tmp_path / "a", group.group.name), len(browse_all(orders))
    archive_queue(spark, group.settings, "ORDERS", "", stored, new_run())
    group.repository("QM1").alter_qmgr("QM1", {"max_uncommitted_msgs": 2})
    assert count > 2

    (row,) = archiving.remove_archived(spark, group.settings, "ORDERS", "QM1", stored).collect()

    assert (row.done, row.messages, browse_all(orders)) == ("removed", count, [])


def test_messages_put_in_a_time_range_are_archived_and_removed(
    spark: SparkSession, group: TestGroup, command: Command, tmp_path: Path
) -> None:
    group.define_structure()
    group.define_shared("ORDERS")
    orders = group.connect().open("ORDERS", BOTH | OpenOption.SET_ALL_CONTEXT)
    for hour in (9, 10, 11):
        md = MQMD(put_date=b"20260131", put_time=b"%02d000000" % hour)
        orders.put(b"%d" % hour, md, options=PutOption.SET_ALL_CONTEXT)
    when = ("--from", "2026-01-31T10:00", "--to", "2026-01-31T10:59")

    command("archive", str(tmp_path / "a"), "--queue", "ORDERS", "--remove", *when, *at(group))

    assert archive_of(spark, tmp_path / "a") == [b"10"]
    assert browse_all(orders) == [b"9", b"11"]


def test_the_next_run_continues_after_a_killed_one(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """An older version could be killed when Spark had moved some files of a run to their place and not the others."""
    stored = Archive.open_or_make(tmp_path / "a", group.group.name)
    killed = new_run()
    # Several files.
    messages = queue_table(spark, group.settings, "ORDERS")
    parted = archiving.with_partitions(messages, killed).repartition(4)
    parted.write.mode("append").partitionBy("run", "queue", "day").parquet(str(stored.directory))
    files = sorted(stored.directory.rglob("*.parquet"))
    assert len(files) > 2
    for file in files[: len(files) // 2]:
        file.unlink()
    (stored.directory / "_temporary" / "0").mkdir(parents=True)
    left = stored.read(spark).count()

    archive_queue(spark, group.settings, "ORDERS", "", stored, new_run())

    found = stored.read(spark)
    assert 0 < left < len(browse_all(orders)) == found.count()
    assert found.select("message_id").distinct().count() == found.count()
    assert len(parts(found)) == 2


def test_a_queue_comes_into_an_archive_whole_or_not_at_all(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So all its messages are in one run, in which a replay has them in their order."""
    stored = Archive.open_or_make(tmp_path / "a", group.group.name)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    # Everything is written. As after a kill, nothing is removed.
    monkeypatch.setattr(Path, "rename", die)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(KeyboardInterrupt):
        archive_queue(spark, group.settings, "ORDERS", "", stored, new_run())
    monkeypatch.undo()
    assert list(stored.directory.rglob("*.parquet"))
    assert (stored.queues(), stored.read(spark).count()) == ([], 0)

    archive_queue(spark, group.settings, "ORDERS", "", stored, new_run())

    assert len(parts(stored.read(spark))) == 1
    assert archive_of(spark, stored.directory) == browse_all(orders)
    assert [path.name for path in stored.directory.glob("_igq_unfinished*")] == []


def test_an_archive_within_an_archive_is_refused(group: TestGroup, tmp_path: Path) -> None:
    Archive.open_or_make(tmp_path / "a", group.group.name)
    with pytest.raises(PipelineError, match="sub/more: is within the archive"):
        Archive.open_or_make(tmp_path / "a" / "sub" / "more", group.group.name)
    assert not (tmp_path / "a" / "sub").exists()


def test_a_run_that_ends_while_the_archive_is_read_is_read_whole_or_not(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = Archive.open_or_make(tmp_path / "a", group.group.name)
    read, run = Archive.read, new_run()

    def read_then_end(archive: Archive, spark: SparkSession) -> DataFrame:
        monkeypatch.setattr(Archive, "read", read)
        table = read(archive, spark)
        archive_queue(spark, group.settings, "ORDERS", "", archive, run)
        return table

    monkeypatch.setattr(Archive, "read", read_then_end)
    assert stored.read_whole_runs(spark).count() in (0, len(browse_all(orders)))
    assert stored.runs() == [run]


def test_a_message_with_the_id_of_an_archived_one_is_another_one(
    spark: SparkSession, group: TestGroup, orders: Queue, tmp_path: Path
) -> None:
    """A structure that was lost numbers its messages again: they must not count as archived."""
    stored = Archive.open_or_make(tmp_path / "a", group.group.name)
    table = queue_table(spark, group.settings, "ORDERS")
    others = table.withColumn("put_at", F.col("put_at") - F.expr("INTERVAL 1 HOUR"))
    others = archiving.with_partitions(others, new_run())
    others.write.mode("append").partitionBy("run", "queue", "day").parquet(str(stored.directory))
    count = len(browse_all(orders))

    assert archiving.not_archived(table, stored.read(spark)).count() == count
    removed = archiving.remove_archived(spark, group.settings, "ORDERS", "QM1", stored).collect()
    assert sum(row.messages for row in removed) == 0
    assert len(browse_all(orders)) == count


@pytest.mark.parametrize(
    ("damaged", "why"),
    [(b"", ": is empty, its rows are lost; remove it"), (b"PAR1", " cannot be read: is not a Parquet file")],
)
def test_a_damaged_file_is_named(
    group: TestGroup, orders: Queue, command: Command, tmp_path: Path, damaged: bytes, why: str
) -> None:
    command("archive", str(tmp_path / "a"), "--queue", orders.name, *at(group))
    (file,) = (tmp_path / "a").rglob("*.parquet")
    file.write_bytes(damaged)
    (file.parent / f".{file.name}.crc").unlink()

    for job in (("deadletter", "--input"), ("replay", "--target", "COPY"), ("archive", "--queue", "ORDERS")):
        where = at(group) if job[0] != "deadletter" else ()
        *_, line = command(*job, str(tmp_path / "a"), *where, status=2).stderr.splitlines()
        assert f"{file}{why}" in line
        assert browse_all(group.connect().open("COPY", BOTH)) == []


# -- from another archive ----------------------------------------------------------------------------------------------


@pytest.fixture
def hours(spark: SparkSession, group: TestGroup, tmp_path: Path) -> Archive:
    """An archive of two runs: three messages of ORDERS, put at 9, 10 and 11 o'clock; one of another queue, at 10."""
    group.define_structure()
    stored = Archive.open_or_make(tmp_path / "hours", group.group.name)
    for queue, found in (("ORDERS", (9, 10, 11)), ("0042", (10,))):
        group.define_shared(queue)
        opened = group.connect().open(queue, BOTH | OpenOption.SET_ALL_CONTEXT)
        for hour in found:
            md = MQMD(put_date=b"20260131", put_time=b"%02d000000" % hour)
            opened.put(b"%d" % hour, md, options=PutOption.SET_ALL_CONTEXT)
        archive_queue(spark, group.settings, queue, "", stored, new_run())
    return stored


def test_an_archive_is_cut_and_put_together_each_message_once(
    spark: SparkSession, hours: Archive, command: Command, tmp_path: Path
) -> None:
    """No server is asked or started."""
    copied, of = str(tmp_path / "a"), ("--input", str(hours.directory))

    for _ in range(2):
        command("archive", copied, *of, "--to", "2026-01-31T10:00", "--queue", "ORDERS")
        assert archive_of(spark, tmp_path / "a") == [b"9", b"10"]
    shown = command("archive", copied, *of, "--output", str(tmp_path / "done"))

    whole, found = hours.read(spark), Archive.open(tmp_path / "a").read(spark)
    assert found.drop("run").exceptAll(whole.drop("run")).isEmpty()
    assert found.count() == whole.count() == 4
    # Runs stay apart, in their order.
    runs = [
        [row.queue for row in found.where(F.col("run") == run).collect()] for run in Archive.open(tmp_path / "a").runs()
    ]
    assert runs == [["ORDERS", "ORDERS"], ["ORDERS"], ["0042"]]
    assert [line.split() for line in shown.stdout.splitlines()[2:]] == [
        ["0042", "archived", "1"],
        ["ORDERS", "archived", "1"],
    ]
    told = spark.read.parquet(str(tmp_path / "done" / "done")).collect()
    assert sorted(tuple(row) for row in told) == [("0042", "archived", 1), ("ORDERS", "archived", 1)]
    assert not (tmp_path / "data" / "redis").exists()


def test_a_run_is_read_when_it_is_whole_and_one_at_a_time_adds(hours: Archive) -> None:
    before = hours.runs()
    with hours.writing("r"):
        for run in ("r", "r-000001"):
            (hours.directory / f"run={run}").mkdir()
        assert hours.runs() == before
        with pytest.raises(PipelineError, match="another command is adding to it"), hours.writing("s"):
            pass
    assert hours.runs() == [*before, "r", "r-000001"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--input", "NONE"), "NONE: no such directory"),
        (("--input", "FULL"), "FULL: is no archive, it has no _igq_archive.json"),
        (("--input", "OTHER"), "is an archive of group ABCD, not of"),
        (("--input", "NEW"), "--input NEW: is also the archive to add to"),
        (("--input", "hours", "--remove"), "--input goes without --structure, --remove and --qmgr"),
        (("--input", "hours", "--structure", "APPL1"), "--input goes without"),
        (("--input", "hours", "--queue", "NONE"), "hours: has no messages of NONE"),
        (
            ("--input", "hours", "--from", "2026-02-01", "--to", "2026-01-31"),
            "--from, --to: the end (2026-01-31) is before the start (2026-02-01)",
        ),
        (("--input", "hours", "--output", "FULL"), "output directory FULL: exists; name a new one"),
        (("--input", "hours", "--output", "NEW/done"), "output directory NEW/done: is within the archive"),
    ],
)
def test_an_impossible_copy_is_one_line(
    hours: Archive,
    group: TestGroup,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    what: str,
) -> None:
    assert hours.queues() == ["0042", "ORDERS"]
    for name in ("FULL", "OTHER"):
        (tmp_path / name).mkdir()
    (tmp_path / "OTHER" / MANIFEST).write_text('{"archive": "1", "group": "ABCD"}')
    Archive.open_or_make(tmp_path / "NEW", group.group.name)
    monkeypatch.chdir(tmp_path)

    (line,) = command("archive", "NEW", *arguments, "--group", group.group.name, status=2).stderr.splitlines()

    assert line.startswith("igq pipeline archive: ")
    assert what in line


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("archive", "NEW"), "give --queue or --structure"),
        (("archive", "NEW", "--queue", "Q", "--structure", "S"), "give --queue or --structure"),
        (("archive", "NEW", "--queue", "NONE"), "NONE: MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("archive", "NEW", "--structure", "NONE"), "NONE: MQRC_CF_STRUC_ERROR (2349)"),
        (("archive", "FULL", "--queue", "ORDERS"), "is not empty and no archive"),
        (("archive", "OTHER", "--queue", "ORDERS"), "is an archive of group ABCD, not of"),
        (("archive", "BROKEN", "--queue", "ORDERS"), "cannot be used: "),
    ],
)
def test_an_impossible_request_is_one_line(
    group: TestGroup, orders: Queue, command: Command, tmp_path: Path, arguments: tuple[str, ...], what: str
) -> None:
    assert orders.name == "ORDERS"
    for name, text in (("OTHER", '{"archive": "1", "group": "ABCD"}'), ("BROKEN", "{")):
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text(text)
    (tmp_path / "FULL").mkdir()
    shutil.copy(__file__, tmp_path / "FULL")

    job, directory, *more = arguments
    shown = command(job, str(tmp_path / directory), *more, *at(group), status=2)

    assert shown.stderr.splitlines()[-1].startswith(f"igq pipeline {job}: ")
    assert what in shown.stderr.splitlines()[-1]
    assert "starting Spark" not in shown.stderr
