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

from igq.pipeline.audit.records import read_run
from igq.pipeline.cli import app
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.engine import choice, duckdb_tables, spark_tables
from igq.pipeline.errors import PipelineError
from igq.pipeline.schemas import FINDINGS
from tests.pipeline.audit import engines
from tests.pipeline.support import GROUP, HandWrittenJournal
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

    assert engines.by_duckdb(JournalPart(GROUP, redis_url), tmp_path) == {"error": str(by_spark.value)}


@pytest.mark.spark
@pytest.mark.parametrize(
    "line",
    [
        {"seq": "1"},
        {"seq": 1.5},
        {"seq": True, "order": 1 << 40},
        {"t_ms": None, "qmgr": 7},
        {"queue": "\ud800", "group": "\u00e9"},
        {"outcome": "unknown"},
        {"correl": None},
    ],
)
def test_a_record_with_odd_values_is_judged_alike(
    spark: SparkSession, redis_url: str, journal: HandWrittenJournal, tmp_path: Path, line: dict[str, object]
) -> None:
    SyntheticRun(journal, groups=1).write(tmp_path)
    path = min(tmp_path.glob("received-*.jsonl"))
    first, *more = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | line), "{", "[]", *more]) + "\n")

    engines.judge(spark, JournalPart(GROUP, redis_url), tmp_path)


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
    shown = CliRunner().invoke(app, ["audit", "--engine", "duckdb", *options], env={"IGQ_DATA_DIR": str(tmp_path)})

    assert shown.exit_code == 2
    assert shown.stderr == (
        "igq pipeline audit: --engine duckdb cannot be combined with --input, --make-archive and --master\n"
    )


def test_following_is_for_spark(tmp_path: Path) -> None:
    options = ["--engine", "duckdb", "--follow", "--output", str(tmp_path / "audit")]
    shown = CliRunner().invoke(app, ["audit", *options], env={"IGQ_DATA_DIR": str(tmp_path)})

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
