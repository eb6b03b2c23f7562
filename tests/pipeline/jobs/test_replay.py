"""`replay`: in parts and by time, every message once and in order, whatever was killed meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from typer.testing import Result

from igq.pipeline.errors import PipelineError
from igq.pipeline.history.time_range import Moments
from igq.pipeline.jobs import replay as replaying
from igq.pipeline.jobs.archive import archive_queue, new_run
from igq.pipeline.jobs.archives import MANIFEST, Archive
from igq.pipeline.jobs.replay import Replay, ReplayPart, parts, put_messages
from igq.pipeline.jobs.replays import ALWAYS, claim_name, is_done, job_of
from igq.pipeline.schemas import REPLAYED
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.mqi.xa import XAError
from tests.pipeline.datasource.test_queue_sink import in_doubt, prepared, writer
from tests.support.groups import BOTH, browse_all
from tests.support.members import TestGroup

pytestmark = pytest.mark.spark

Command = Callable[..., Result]
MESSAGES = 12
#: Message n was put at n o'clock of that day.
HOUR_MS = 3_600_000
DAY_MS = 1_769_817_600_000


@pytest.fixture
def stored(spark: SparkSession, group: TestGroup, tmp_path: Path) -> Archive:
    """An archive of one run: twelve messages of three priorities, one put each hour of 2026-01-31."""
    group.define_structure()
    for name in ("ORDERS", "COPY"):
        group.define_shared(name)
    orders = group.connect().open("ORDERS", BOTH | OpenOption.SET_ALL_CONTEXT)
    for hour in range(MESSAGES):
        md = MQMD(priority=hour % 3, put_date=b"20260131", put_time=b"%02d000000" % hour)
        orders.put(b"%d" % hour, md, options=PutOption.SET_ALL_CONTEXT)
    archive = Archive.open_or_make(tmp_path / "a", group.group.name)
    archive_queue(spark, group.settings, "ORDERS", "", archive, new_run())
    return archive


@pytest.fixture
def copy(group: TestGroup, stored: Archive) -> Queue:
    """The queue that all messages are put on."""
    assert stored.group == group.group.name
    return group.connect().open("COPY", BOTH)


@pytest.fixture
def replay(group: TestGroup, stored: Archive, command: Command) -> Command:
    """The command, onto COPY."""

    def run(*arguments: str, status: int = 0) -> Result:
        at = ("--group", group.group.name, "--url", str(group.settings.redis_url))
        return command("replay", str(stored.directory), "--target", "COPY", *arguments, *at, status=status)

    return run


def in_order(group: TestGroup) -> list[bytes]:
    return browse_all(group.connect().open("ORDERS", BOTH))


# -- parts -------------------------------------------------------------------------------------------------------------


def positions(spark: SparkSession, *rows: tuple[str, str, int]) -> DataFrame:
    return spark.createDataFrame(rows, "run STRING, queue STRING, position LONG")


def test_parts_follow_each_other_by_position_and_leave_nothing_out(spark: SparkSession) -> None:
    rows = [("r1", "Q", 10 * n) for n in range(7)] + [("r1", "0042", 5)] + [("r2", "Q", n) for n in range(3)]

    found = parts(positions(spark, *reversed(rows)), 3)

    assert found == [
        ReplayPart("r1", "0042", None, None, None, 1),
        ReplayPart("r1", "Q", 1, None, 20, 3),
        ReplayPart("r1", "Q", 2, 20, 50, 3),
        ReplayPart("r1", "Q", 3, 50, None, 1),
        ReplayPart("r2", "Q", None, None, None, 3),
    ]
    table = positions(spark, *rows)
    for part in found:
        assert table.where(part.condition()).count() == part.messages


def test_messages_of_one_position_are_in_one_part(spark: SparkSession) -> None:
    """Messages of several structures can be equal there: their order must not count."""
    table = positions(spark, *(("r", "Q", n) for n in (1, 2, 2, 2, 3, 4, 4, 4)))
    found = [parts(table.repartition(slices), 3) for slices in (1, 3, 7)]

    assert found[0] == found[1] == found[2]
    chosen = [[row.position for row in table.where(part.condition()).collect()] for part in found[0]]
    assert chosen == [[1, 2, 2, 2], [3, 4, 4, 4], []]


def test_a_replay_without_parts_keeps_its_name() -> None:
    """Another number would replay an archive once more that an older version has replayed."""
    archive = Archive(Path("/a"), "id", "QSG1")
    before = hashlib.sha1(b"id\nrun\nQ\nCOPY\nname").hexdigest()

    assert job_of(archive, "run", "Q", "COPY", "name") == before
    others = [job_of(archive, "run", "Q", "COPY", "name", *more) for more in (((1, None),), ((None, 1),), ((1, 2), 1))]
    assert len({before, *others}) == 4


def test_a_large_run_is_put_in_parts_once_and_in_order(
    group: TestGroup, copy: Queue, replay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "PART_MESSAGES", 5)
    shown = replay()
    assert [line.split() for line in shown.stdout.splitlines()[2:]] == [["COPY", "replayed", "12"]]
    shown = replay()

    assert [line.split() for line in shown.stdout.splitlines()[2:]] == [["COPY", "there", "already", "12"]]
    assert browse_all(copy) == in_order(group)


@pytest.mark.parametrize("before", range(3))
def test_a_replay_killed_between_parts_continues_after_them(
    group: TestGroup, copy: Queue, replay: Command, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """With the messages of the killed next part in doubt."""
    monkeypatch.setattr(replaying, "PART_MESSAGES", 5)
    calls = 0

    def dying(messages: DataFrame, settings: Any, target: str, qmgr: str, job: str) -> None:
        nonlocal calls
        calls += 1
        if calls > before:
            prepared(writer(group, queue=target, jobId=job), "0.1", b"killed", b"killed")
            raise KeyboardInterrupt
        put_messages(messages, settings, target, qmgr, job)

    with monkeypatch.context() as patch:
        patch.setattr(replaying, "put_messages", dying)
        replay(status=130)
    assert browse_all(copy) == in_order(group)[: 5 * before]
    assert in_doubt(group) == 1

    replay()

    assert browse_all(copy) == in_order(group)
    assert in_doubt(group) == 0


def test_of_two_equal_replays_one_puts_all_and_the_other_says_so(
    group: TestGroup, stored: Archive, copy: Queue, replay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(_: DataFrame, __: Any, target: str, ___: str, job: str) -> None:
        """As in the sink's process: one has prepared everything when the other one begins."""
        first = writer(group, queue=target, jobId=job)
        units = [prepared(first, "0.1", b"first")]
        writer(group, queue=target, jobId=job)
        try:
            first.commit([*units])
        except (XAError, PipelineError) as error:
            said = f"{type(error).__module__}.{type(error).__name__}: {error}"
            raise PySparkException(f"[PYTHON_EXCEPTION] Traceback\n{said}") from None

    with monkeypatch.context() as patch:
        patch.setattr(replaying, "put_messages", overtaken)
        said = replay(status=2).stderr.splitlines()[-1]
    assert said == (
        f"igq pipeline replay: another replay of {stored.directory} on COPY, or a release, has backed"
        " out the messages that this one had prepared; nothing was put twice; run it again"
    )
    assert (browse_all(copy), in_doubt(group)) == ([], 0)
    replay()
    assert browse_all(copy) == in_order(group)


def test_a_replay_by_an_older_version_is_not_put_again_in_parts(
    spark: SparkSession,
    group: TestGroup,
    stored: Archive,
    copy: Queue,
    replay: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = stored.read(spark)
    (part,) = parts(table)
    put_messages(table, group.settings, "COPY", "", job_of(stored, part.run, "ORDERS", "COPY", ""))
    monkeypatch.setattr(replaying, "PART_MESSAGES", 5)

    replay()

    assert browse_all(copy) == in_order(group)


# -- a time range ------------------------------------------------------------------------------------------------------


def between(first: int, last: int) -> tuple[str, ...]:
    return ("--from", f"2026-01-31T{first:02d}:00", "--to", f"2026-01-31T{last:02d}:00")


def test_a_time_range_is_put_once_under_a_name_that_stays_bound_to_it(
    spark: SparkSession, copy: Queue, replay: Command, tmp_path: Path
) -> None:
    output = tmp_path / "done"
    for _ in range(2):
        replay(*between(3, 5), "--again", "morning")
        assert sorted(browse_all(copy)) == [b"3", b"4", b"5"]
    for other in (between(3, 6), between(0, 2), ()):
        shown = replay(*other, "--again", "morning", status=2)
        assert "--again morning: that name was used with other --from and --to, or without them" in shown.stderr
        assert "starting Spark" not in shown.stderr
    replay(*between(10, 11), "--again", "noon", "--output", str(output))
    assert sorted(browse_all(copy)) == sorted([b"3", b"4", b"5", b"10", b"11"])
    table = spark.read.parquet(str(output / "parts"))
    assert table.columns == REPLAYED.fieldNames()
    assert [(row.queue, row.target, row.part, row.messages, row.done) for row in table.collect()] == [
        ("ORDERS", "COPY", 1, 2, "replayed")
    ]


def test_a_range_is_put_in_parts_too(copy: Queue, replay: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "PART_MESSAGES", 2)
    for _ in range(2):
        replay(*between(3, 8), "--again", "day")
        assert sorted(browse_all(copy)) == [b"%d" % hour for hour in range(3, 9)]


def test_a_name_under_which_all_was_put_puts_nothing_twice(
    spark: SparkSession, group: TestGroup, stored: Archive, copy: Queue, replay: Command
) -> None:
    """Also if that was an older version, which did not bind names."""
    replay("--again", "new")
    assert "that name was used with other" in replay(*between(3, 5), "--again", "new", status=2).stderr
    table = stored.read(spark)
    (part,) = parts(table)
    put_messages(table, group.settings, "COPY", "", job_of(stored, part.run, "ORDERS", "COPY", "old"))
    count = len(browse_all(copy))

    replay(*between(3, 5), "--again", "old")

    assert len(browse_all(copy)) == count == 2 * MESSAGES


def test_the_first_replay_binds_a_name_to_its_range(group: TestGroup, stored: Archive) -> None:
    for _ in range(2):
        claim_name(group.settings, "", stored, "a", (1, None))
    for other in ((None, 1), (2, None), ALWAYS):
        with pytest.raises(PipelineError, match="--again a: that name was used with other"):
            claim_name(group.settings, "", stored, "a", other)
    claim_name(group.settings, "", stored, "a", (1, None))


RANGES = [(number, None) for number in range(1, 5)]


@pytest.mark.parametrize("steps", range(1, 4))
@pytest.mark.parametrize("first", RANGES)
def test_a_replay_killed_while_it_took_a_name_has_it_later(
    group: TestGroup, stored: Archive, monkeypatch: pytest.MonkeyPatch, steps: int, first: Moments
) -> None:
    """Also if others have asked for it meanwhile."""
    commit, calls = QueueManagerConnection.commit_prepared_together, 0

    def dying(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls > steps:
            raise KeyboardInterrupt
        return commit(*arguments)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(QueueManagerConnection, "commit_prepared_together", dying)
        claim_name(group.settings, "", stored, "a", first)
    for other in (each for each in RANGES if each != first):
        with pytest.raises(PipelineError, match="was used with other"):
            claim_name(group.settings, "", stored, "a", other)

    claim_name(group.settings, "", stored, "a", first)


def test_at_most_one_of_many_requests_gets_a_name(
    group: TestGroup, stored: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All interleavings: each step of one comes after any step of the other."""
    commit, taken = QueueManagerConnection.commit_prepared_together, list[Moments]()

    def claim(name: str, put: Moments) -> None:
        with suppress(PipelineError):
            claim_name(group.settings, "", stored, name, put)
            taken.append(put)

    for one, other in permutations(RANGES[:3], 2):
        for step in range(1, 4):
            name, calls = f"{one} {other} {step}", 0
            taken.clear()

            def overtaken(*arguments: Any, name: str = name, step: int = step, other: Moments = other) -> bool:
                nonlocal calls
                calls += 1
                if calls == step:
                    claim(name, other)
                return commit(*arguments)

            with monkeypatch.context() as patch:
                patch.setattr(QueueManagerConnection, "commit_prepared_together", overtaken)
                claim(name, one)
            assert len(taken) <= 1
            for each in RANGES:
                claim(name, each)
            assert len(set(taken)) <= 1


def test_a_part_that_is_put_is_known_by_its_job(spark: SparkSession, group: TestGroup, stored: Archive) -> None:
    table = stored.read(spark)
    first, second = parts(table, 6)
    job = Replay(group.settings, stored, "COPY")

    assert [job.put_part(table, first) for _ in range(2)] == ["replayed", "there already"]

    names = [job_of(stored, part.run, "ORDERS", "COPY", "", part=part.number) for part in (first, second)]
    assert [is_done(group.settings, name) for name in names] == [True, False]


# -- what cannot be done -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("NEW",), "NEW: no such directory"),
        (("FULL",), "FULL: is no archive, it has no _igq_archive.json"),
        (("a", "--queue", "NONE"), "has no messages of NONE"),
        (("a", "--target", "NONE"), "NONE: MQRC_UNKNOWN_OBJECT_NAME (2085)"),
        (("a", "--qmgr", "QM7"), "QM7: MQRC_Q_MGR_NAME_ERROR (2058)"),
        (("OTHER",), "is an archive of group ABCD, not of"),
        (("a", "--of-group", "ABCD"), "is an archive of group"),
        (("a", "--from", "2026-01-31"), "--from, --to: need --again NAME"),
        (
            ("a", "--again", "x", "--from", "2026-02-01", "--to", "2026-01-31"),
            "--from, --to: the end (2026-01-31) is before the start (2026-02-01)",
        ),
        (("a", "--again", "x\ny"), "allowed: printable characters"),
        (("a", "--output", "FULL"), "exists; name a new one"),
        (("a", "--output", "a/done"), "output directory a/done: is within the archive"),
    ],
)
def test_an_impossible_request_is_one_line(
    group: TestGroup,
    stored: Archive,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    what: str,
) -> None:
    assert stored.queues() == ["ORDERS"]
    for name in ("FULL", "OTHER"):
        (tmp_path / name).mkdir()
    (tmp_path / "OTHER" / MANIFEST).write_text('{"archive": "1", "group": "ABCD"}')
    (tmp_path / "FULL" / "file").touch()
    monkeypatch.chdir(tmp_path)

    url = str(group.settings.redis_url)
    shown = command("replay", *arguments, "--group", group.group.name, "--url", url, status=2)

    assert shown.stderr.splitlines()[-1].startswith("igq pipeline replay: ")
    assert what in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_another_groups_archive_is_put_only_on_request(
    group: TestGroup, stored: Archive, copy: Queue, replay: Command
) -> None:
    (stored.directory / MANIFEST).write_text('{"archive": "1", "group": "ABCD"}')

    assert "is an archive of group ABCD, not of" in replay(status=2).stderr
    replay("--of-group", "ABCD")

    assert browse_all(copy) == in_order(group)
