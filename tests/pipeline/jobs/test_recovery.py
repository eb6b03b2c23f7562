"""`recovery`: the failures that the group remembers, and the work that peers ended according to the journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import Result

from igq.pipeline.audit.recovery_timeline import recoveries
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.jobs.flow_points import ManagerFailure, failures_of_records
from igq.pipeline.jobs.recovery import detected_between, messages, recovery_tables, units
from sharedq.redis.keys import admin_keys
from tests.pipeline.support import GROUP, HandWrittenJournal, detail

pytestmark = pytest.mark.spark

Command = Callable[..., Result]
T0 = 1_800_000_000_000
DEAD, PEER = "JFK.3.2.1", "LGA.1.1.1"
RECORD = {
    "failed": "JFK.3",
    "qmgr": "JFK",
    "by": "LGA",
    "claimant": PEER,
    "state": "RESOLVED",
    "units_of_work": 2,
    "messages": 3,
    "claims": 1,
    "lease_ended_ms": T0,
    "detected_ms": T0 + 40,
    "claimed_ms": T0 + 45,
    "fenced_ms": T0 + 60,
    "resolving_ms": T0 + 61,
    "resolved_ms": T0 + 100,
    "seconds": 0.06,
}


@pytest.fixture
def failed(journal: HandWrittenJournal) -> HandWrittenJournal:
    """JFK died with a get that is backed out, and a put whose commit was decided. EWR ended its own work."""
    journal.define("APPL1")
    own, got, put = "EWR.1.1.1/1", f"{DEAD}/1", f"{DEAD}/2"
    journal.put("APPL1", "Q", "EWR.1.1.1", ["1", "2"], unit=own, ms=T0 - 50)
    journal.end("APPL1", "commit", own, 2, ms=T0 - 40)
    journal.get("APPL1", "Q", DEAD, ["1", "2"], unit=got, ms=T0 - 30)
    journal.put("APPL1", "R", DEAD, ["3x"], unit=put, details=[detail("c0" * 24)], ms=T0 - 20)
    journal.end("APPL1", "backout", got, 2, recoverer=PEER, ms=T0 + 70)
    journal.end("APPL1", "commit", put, 1, recoverer=PEER, ms=T0 + 80)
    journal.client.hset(admin_keys(GROUP).recoveries, "JFK.3", json.dumps(RECORD))
    return journal


def test_messages_that_a_failure_touched_are_listed_with_their_end(
    spark: SparkSession, redis_url: str, failed: HandWrittenJournal
) -> None:
    assert failed.numbers
    touched = messages(JournalPart(GROUP, redis_url).read(spark))

    rows = sorted((row.failed, row.by, row.queue, row.event, row.outcome, row.message_id) for row in touched.collect())
    assert rows == [
        ("JFK", "LGA", "Q", "get", "backed out", "1"),
        ("JFK", "LGA", "Q", "get", "backed out", "2"),
        ("JFK", "LGA", "R", "put", "committed", "3x"),
    ]
    counted = [(row.queue, row.outcome, row.units_of_work, row.messages) for row in units(touched).collect()]
    assert counted == [("Q", "backed out", 1, 2), ("R", "committed", 1, 1)]


def test_phases_are_timed_from_the_first_moment_that_is_known(
    spark: SparkSession, redis_url: str, failed: HandWrittenJournal
) -> None:
    assert failed.numbers
    timeline = recoveries(
        [{"t_ms": T0 - 5, "event": "killed", "qmgr": "JFK"}, {"t_ms": T0 + 50, "event": "detected", "qmgr": "JFK"}]
    )
    unfinished = {**RECORD, "failed": "LGA.9", "state": "CLAIMED", "detected_ms": T0 + 90}
    unfinished = {name: value for name, value in unfinished.items() if name not in ("resolved_ms", "seconds")}
    journal = JournalPart(GROUP, redis_url).read(spark)

    tables = recovery_tables(spark, journal, [unfinished, RECORD], timeline)

    assert [(row.failed, row.state, row.seconds) for row in tables["recoveries"].collect()] == [
        ("JFK.3", "RESOLVED", 0.06),
        ("LGA.9", "CLAIMED", 0.0),
    ]
    phases = tables["phases"].collect()
    assert [(row.phase, row.since_failure_ms, row.took_ms) for row in phases if row.failed == "JFK.3"] == [
        ("lease ended", 0, 0),
        ("detected", 40, 40),
        ("claimed", 45, 5),
        ("fenced", 60, 15),
        ("resolving", 61, 1),
        ("resolved", 100, 39),
    ]
    assert [(row.phase, row.took_ms) for row in phases if row.failed == "JFK"] == [("killed", 0), ("detected", 55)]
    assert phases[0].at.astimezone(UTC).timestamp() == T0 / 1000


def test_the_command_shows_phases_and_writes_its_tables(
    spark: SparkSession, redis_url: str, failed: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    assert failed.numbers
    output = tmp_path / "tables"
    (tmp_path / "timeline.jsonl").write_text(json.dumps({"t_ms": T0, "event": "killed", "qmgr": "EWR"}) + "\n")
    at = ("--group", GROUP, "--url", redis_url)

    shown = command("recovery", *at, "--output", str(output), "--run", str(tmp_path))

    assert "fenced" in shown.stdout
    assert "killed" in shown.stdout
    assert spark.read.parquet(str(output / "messages")).count() == 3
    assert sorted(path.name for path in output.iterdir()) == ["messages", "phases", "recoveries", "units"]
    refused = command("recovery", *at, "--run", "/", status=2)
    assert "has no timeline.jsonl" in refused.stderr


def test_the_time_range_is_that_of_the_failures_too() -> None:
    records = [{"failed": name, "detected_ms": at} for name, at in (("A", 10), ("B", 20), ("C", 30))]

    def names(first_ms: int | None, last_ms: int | None) -> str:
        return "".join(record["failed"] for record in detected_between(records, first_ms, last_ms))

    assert [names(None, None), names(20, None), names(None, 20), names(11, 29), names(31, 40)] == [
        *("ABC", "BC", "AB", "B", ""),
    ]


def test_a_stored_journal_is_shown_where_no_redis_is(
    redis_url: str, failed: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    assert failed.numbers
    command("journal", "--group", GROUP, "--url", redis_url, "--output", str(tmp_path / "stored"))

    shown = command("recovery", "--input", str(tmp_path / "stored"), "--url", "redis://127.0.0.1:1")

    assert shown.stdout.count("(none)") == 2
    assert "backed out" in shown.stdout or "committed" in shown.stdout


def test_the_flow_page_marks_failures_and_recoveries(
    redis_url: str, failed: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    """The group remembers when the recovery began and ended; a stored journal has only the work that peers ended."""
    assert failed.numbers
    at = ("--group", GROUP, "--url", redis_url)
    command("journal", *at, "--output", str(tmp_path / "stored"))

    command("flow", *at, "--output", str(tmp_path / "flow"))
    command("flow", "--input", str(tmp_path / "stored"), "--output", str(tmp_path / "again"))

    for name in ("flow", "again"):
        page = (tmp_path / name / "report.html").read_text("utf-8")
        at_ms = "2027-01-15 08:00:00"
        assert f"<td>JFK</td><td>{at_ms}</td><td>{at_ms}</td><td>LGA</td>" in page
    record = {"failed": "JFK.3", "by": "LGA", "detected_ms": T0 + 40}
    assert failures_of_records([RECORD, record]) == [
        ManagerFailure("JFK", T0, T0 + 100, "LGA"),
        ManagerFailure("JFK", T0 + 40, None, "LGA"),
    ]


def test_a_group_without_failures_has_empty_tables(
    redis_url: str, journal: HandWrittenJournal, command: Command
) -> None:
    journal.define("APPL1")
    shown = command("recovery", "--group", GROUP, "--url", redis_url)
    assert shown.stdout.count("(none)") == 3


def test_the_engine_that_it_chooses_gives_the_tables_of_spark(
    spark: SparkSession, redis_url: str, failed: HandWrittenJournal, command: Command, tmp_path: Path
) -> None:
    assert failed.numbers
    (tmp_path / "timeline.jsonl").write_text(json.dumps({"t_ms": T0, "event": "killed", "qmgr": "EWR"}) + "\n")
    at = ("recovery", "--group", GROUP, "--url", redis_url, "--run", str(tmp_path), "--output")
    by_spark = command(*at, str(tmp_path / "spark"), "--engine", "spark")
    told = os.environ | {"IGQ_DATA_DIR": str(tmp_path / "data"), "COLUMNS": "200", "JAVA_HOME": "/nowhere"}
    whole = [sys.executable, "-m", "igq.pipeline", *at, str(tmp_path / "duckdb")]
    by_itself = subprocess.run(whole, env=told, capture_output=True, text=True, check=False)
    assert (by_itself.returncode, by_itself.stdout) == (0, by_spark.stdout), by_itself.stderr
    for table in ("recoveries", "phases", "units", "messages"):
        found = [spark.read.parquet(str(tmp_path / engine / table)) for engine in ("spark", "duckdb")]
        assert sorted(map(str, found[1].collect())) == sorted(map(str, found[0].collect())), table
        assert [field.metadata for field in found[1].schema] == [field.metadata for field in found[0].schema]
