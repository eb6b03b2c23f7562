"""Judges journals by DuckDB, one for each line of standard input, because a process has one engine."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from igq.pipeline.engine.choice import DUCKDB, choose


def main() -> None:
    choose(DUCKDB)
    from igq.pipeline.audit.audit import audit
    from igq.pipeline.audit.records import read_run
    from igq.pipeline.datasource.journal.source import JournalPart
    from igq.pipeline.engine.duckdb_tables import duckdb_session
    from igq.pipeline.errors import PipelineError

    for line in sys.stdin:
        asked = json.loads(line)
        run = asked.pop("run")
        try:
            with duckdb_session() as session:
                records = read_run(session, Path(run)) if run else None
                verdict, series = audit(session, JournalPart(**asked), records)
            answer = asdict(verdict) | asdict(series)
        except PipelineError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


main()
