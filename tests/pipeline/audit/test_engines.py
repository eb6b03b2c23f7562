"""The audit by DuckDB as a command: without Java, and with Spark's words for what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from sqlglot import generator
from typer.testing import CliRunner

from igq.pipeline.audit.audit import NAMED
from igq.pipeline.audit.records import read_run
from igq.pipeline.cli.app import build_app
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.engine import choice, duckdb_tables, spark_tables
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import FINDINGS
from tests.pipeline.audit import engines
from tests.pipeline.audit.two_lives import (
    AFTER_MS,
    BACKUP_MS,
    BEFORE_MS,
    OWNER,
    QUEUE,
    SECOND_MS,
    TwoLives,
    correl,
)
from tests.pipeline.support import GROUP, HandWrittenJournal, detail
from tests.pipeline.synthetic import SyntheticRun


def audit(url: str, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The command, on a machine on which no Java starts."""
    environment = os.environ | {"IGQ_DATA_DIR": str(tmp_path / "data"), "JAVA_HOME": "/nowhere", "COLUMNS": "200"}
    command = [sys.executable, "-m", "igq.pipeline", "audit", "--engine", "duckdb"]
    command += ["--group", GROUP, "--url", url, *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_command_judges_without_java_and_leaves_what_sparks_leaves(
    redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    # A name that is a pattern to DuckDB's own reader of files, and another run that it fits.
    run = tmp_path / "a[bc]"
    run.mkdir()
    SyntheticRun(journal, groups=5, lost=frozenset({5})).write(run)
    shutil.copytree(run, tmp_path / "ab")

    done = audit(redis_url, tmp_path, "--run", str(run))

    assert done.returncode == 1, done.stderr
    assert "Failed: of 40 message copies, 1 lost." in done.stdout
    assert json.loads((run / "verdict.json").read_text())["counts"]["lost"] == 1
    assert (run / "report.html").is_file()
    findings = pq.read_table(run / "findings")
    assert findings.column_names == FINDINGS.fieldNames()
    assert findings["finding"].to_pylist().count("lost") == 1
    assert not (run / "scratch").exists()


def test_a_clean_journal_ends_with_status_0(redis_url: str, journal: HandWrittenJournal, tmp_path: Path) -> None:
    SyntheticRun(journal, groups=3).write(tmp_path)

    done = audit(redis_url, tmp_path, "--output", str(tmp_path / "audit"))

    assert done.returncode == 0, done.stderr
    assert pq.read_table(tmp_path / "audit" / "findings").num_rows == 0


def test_an_empty_journal_is_refused_in_a_line(redis_url: str, journal: HandWrittenJournal, tmp_path: Path) -> None:
    journal.define("APPL1")

    done = audit(redis_url, tmp_path)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"igq pipeline audit: the journal of group {GROUP} has no events to judge; is it switched on?"
    )


@pytest.mark.spark
@pytest.mark.parametrize("line", ['{"correl": "0', "[]", "", '{"row": "a", "correl": 7}', '{"path": null}'])
def test_a_demand_that_cannot_be_read_is_told_alike(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path, line: str
) -> None:
    SyntheticRun(journal, groups=1).write(tmp_path)
    expected = tmp_path / "expected.jsonl"
    expected.write_text(f"{line}\n" + (expected.read_text() if line else ""))

    with pytest.raises(PipelineError) as by_spark:
        read_run(spark, tmp_path)
    with pytest.raises(PipelineError) as by_duckdb:
        engines.by_duckdb(JournalPart(GROUP, redis_url), tmp_path)

    assert str(by_duckdb.value) == str(by_spark.value)


#: Each takes the place of what a record says.
ODD_VALUES: list[dict[str, object]] = [
    {"seq": "1"},
    {"seq": 1.5},
    {"seq": True, "order": 1 << 40},
    {"t_ms": None, "qmgr": 7},
    {"queue": "\ud800", "group": "\u00e9"},
    {"outcome": "unknown"},
    {"correl": None},
]


@pytest.mark.spark
def test_records_with_odd_values_are_judged_alike(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    SyntheticRun(journal, groups=2).write(tmp_path)
    for path in tmp_path.glob("received-*.jsonl"):
        lines = path.read_text().splitlines()
        odd = [json.dumps(json.loads(line) | more) for line, more in zip(lines, ODD_VALUES, strict=False)]
        assert len(odd) == len(ODD_VALUES)
        path.write_text("\n".join([*odd, "{", "[]", *lines[len(odd) :]]) + "\n")

    engines.judge_by_both(spark, JournalPart(GROUP, redis_url), tmp_path)


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_both_engines_say_the_same_of_every_finding(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path
) -> None:
    lost, doubled, swapped, alien = (frozenset({row}) for row in (5, 9, 12, 3))
    SyntheticRun(journal, groups=5, kill_at_group=2, lost=lost, doubled=doubled, swapped=swapped, alien=alien).write(
        tmp_path
    )
    path = min(tmp_path.glob("received-*.jsonl"))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    lives = TwoLives(journal, tmp_path, "APPL2")
    gone, again, waiting, open_get, in_doubt, dead = range(100, 106)
    lives.put(again, BEFORE_MS)
    lives.journal.expire("APPL2", QUEUE, OWNER, ["99x"], ms=BACKUP_MS)
    lives.get(again, AFTER_MS)
    lives.put(gone, AFTER_MS)
    lives.lose()
    lives.get(again, SECOND_MS)
    for number in (waiting, open_get, in_doubt):
        lives.put(number, SECOND_MS)
    for number in (open_get, in_doubt):
        journal.get("APPL2", QUEUE, OWNER, [f"{number}x"], unit=f"{OWNER}/{number}", ms=SECOND_MS)
    journal.prepare("APPL2", f"{OWNER}/{in_doubt}", ms=SECOND_MS)
    letter = detail(correl(dead), is_dead_letter=True)
    journal.put("APPL2", "DEAD", OWNER, [f"{dead}x"], details=[letter], ms=SECOND_MS)
    journal.store("APPL2", *(f"{number}x" for number in (waiting, open_get, in_doubt, dead)))
    lives.record(range(gone, dead + 1))

    verdict = engines.judge_by_both(spark, JournalPart(GROUP, redis_url), tmp_path)

    assert set(verdict.findings) == set(NAMED)


def test_findings_take_the_place_of_what_is_there(redis_url: str, journal: HandWrittenJournal, tmp_path: Path) -> None:
    SyntheticRun(journal, groups=1).write(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "findings").symlink_to(elsewhere)

    assert audit(redis_url, tmp_path, "--run", str(tmp_path)).returncode == 0

    assert pq.read_table(tmp_path / "findings").num_rows == 0
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("options", [("--input", "."), ("--master", "local[1]"), ("--make-archive",)])
def test_options_of_spark_are_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(
        build_app(), ["audit", "--engine", "duckdb", *options], env={"IGQ_DATA_DIR": str(tmp_path)}
    )

    assert shown.exit_code == 2
    assert shown.stderr == (
        "igq pipeline audit: --engine duckdb cannot be combined with --input, --make-archive and --master\n"
    )


def test_following_is_for_spark(tmp_path: Path) -> None:
    options = ["--engine", "duckdb", "--follow", "--output", str(tmp_path / "audit")]
    shown = CliRunner().invoke(build_app(), ["audit", *options], env={"IGQ_DATA_DIR": str(tmp_path)})

    assert shown.exit_code == 2
    assert shown.stderr == "igq pipeline audit: --engine duckdb cannot be combined with --follow\n"


def test_the_two_engines_have_the_same_names() -> None:
    assert [name for name in spark_tables.__all__ if not hasattr(duckdb_tables, name)] == []


def test_a_process_keeps_its_engine() -> None:
    import igq.pipeline.engine.frames  # noqa: F401

    with pytest.raises(RuntimeError, match="this process uses spark"):
        choice.choose(choice.DUCKDB)


def test_a_compiled_sqlglot_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLFrame's classes are subclasses of sqlglot's, and compiled ones cannot have any."""
    monkeypatch.setattr(generator, "__file__", "/site-packages/sqlglot/generator.cpython-311.so")

    with pytest.raises(PipelineError, match="pip uninstall sqlglotc"), duckdb_tables.duckdb_session():
        pass
