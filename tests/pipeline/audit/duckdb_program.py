"""Judges journals by DuckDB, one for each request on standard input, because a process has one engine."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from igq.pipeline.engine.choice import DUCKDB, choose


def main() -> None:
    choose(DUCKDB)
    from igq.pipeline.audit.audit import audit
    from igq.pipeline.audit.records import read_run
    from igq.pipeline.datasource.journal.source import JournalPart
    from igq.pipeline.engine.duckdb_tables import duckdb_session
    from igq.pipeline.errors import PipelineError

    while True:
        try:
            asked = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        run = asked.pop("run")
        answer: object
        try:
            with duckdb_session() as session:
                records = read_run(session, Path(run)) if run else None
                answer = audit(session, JournalPart(**asked), records)
        except PipelineError as error:
            answer = error
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.flush()


main()
