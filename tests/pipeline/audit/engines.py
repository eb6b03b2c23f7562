"""Judges a journal by Spark and by DuckDB, and checks that both say the same."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from igq.pipeline.audit.audit import audit
from igq.pipeline.audit.records import read_run
from igq.pipeline.audit.verdict import Verdict
from igq.pipeline.datasource.journal.source import JournalPart


def judge(spark: SparkSession, part: JournalPart, run: Path | None = None) -> Verdict:
    """The verdict of both engines on a group's journal."""
    other = by_duckdb(part, run)
    verdict, series = audit(spark, part, read_run(spark, run) if run else None)
    mine = json.loads(json.dumps(asdict(verdict) | asdict(series)))
    differing = {name: (value, other.get(name)) for name, value in mine.items() if other.get(name) != value}
    assert not differing, f"Spark, DuckDB: {differing or other}"
    return verdict


def by_duckdb(part: JournalPart, run: Path | None) -> dict[str, Any]:
    """The answer of DuckDB."""
    program = _program()
    assert program.stdin
    assert program.stdout
    asked = {"group": part.group, "url": part.url, "start": part.start, "end": part.end, "run": run and str(run)}
    program.stdin.write(json.dumps(asked) + "\n")
    program.stdin.flush()
    answer: dict[str, Any] = json.loads(program.stdout.readline())
    return answer


@cache
def _program() -> subprocess.Popen[str]:
    # It ends with this process, which holds the other end of its input.
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.audit.duckdb_program"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
