"""Judges a journal by DuckDB, or by Spark and DuckDB, and then checks that both say the same."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from igq.pipeline.audit.audit import audit
from igq.pipeline.audit.records import read_run
from igq.pipeline.audit.series import Series
from igq.pipeline.audit.verdict import Verdict
from igq.pipeline.datasource.journal.source import JournalPart
from igq.pipeline.errors import PipelineError


def judge_by_both(spark: SparkSession, part: JournalPart, run: Path | None = None) -> Verdict:
    """The verdict of both engines on a group's journal."""
    verdict, series = audit(spark, part, read_run(spark, run) if run else None)
    others = [asdict(each) for each in by_duckdb(part, run)]
    differing = {
        name: (value, other.get(name))
        for mine, other in zip((asdict(verdict), asdict(series)), others, strict=True)
        for name, value in mine.items()
        if other.get(name) != value
    }
    assert not differing, f"Spark, DuckDB: {differing}"
    return verdict


def judge(part: JournalPart, run: Path | None = None) -> Verdict:
    """The verdict of DuckDB, for what both engines compute by the same code."""
    return by_duckdb(part, run)[0]


def by_duckdb(part: JournalPart, run: Path | None) -> tuple[Verdict, Series]:
    """The answer of DuckDB.

    Raises:
        PipelineError: as DuckDB's process raises it.
    """
    program = _program()
    assert program.stdin
    assert program.stdout
    asked = {"group": part.group, "url": part.url, "start": part.start, "end": part.end, "run": run and str(run)}
    pickle.dump(asked, program.stdin)
    program.stdin.flush()
    answer: tuple[Verdict, Series] | PipelineError = pickle.load(program.stdout)
    if isinstance(answer, PipelineError):
        raise answer
    return answer


@cache
def _program() -> subprocess.Popen[bytes]:
    # It ends with this process, which holds the other end of its input.
    return subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.audit.duckdb_program"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
