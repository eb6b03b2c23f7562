"""`igq pipeline audit`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from igq.pipeline.audit.runs import check_run, has_own_server
from igq.pipeline.cli import options
from igq.pipeline.cli.runner import check_group, errors_named, running
from igq.pipeline.engine.choice import DUCKDB
from igq.pipeline.errors import PipelineError
from igq.pipeline.spark.session import LOCAL_MASTER
from sharedq.display.terminal import Terminal

#: Exit status after a bad verdict.
FAILED = 1
#: Findings of each kind that a verdict names: EXAMPLES of igq.pipeline.audit.audit, which imports Spark.
FINDINGS_MAX = 20
#: The first messages of a run may carry a time just before the run's first record.
RUN_MARGIN_MS = 1_000


def audit(
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="DIR",
            parser=options.local_path,
            help="Directory with the records of a run: expected.jsonl, sent-*.jsonl, ...",
        ),
    ] = None,
    group: options.Group = None,
    url: options.Url = None,
    master: options.Master = LOCAL_MASTER,
    engine: options.Engine = "spark",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=options.local_path,
            help="Directory of the report. It must not exist, except with --follow. Default: the run's, or a new one.",
        ),
    ] = None,
    start: options.Start = None,
    end: options.End = None,
    stored: options.Input = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Judge new events until interrupted. Needs --output, and continues the audit there."
        ),
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --follow: judge the events since the last verdict, then end.")
    ] = False,
    every: Annotated[int, typer.Option(metavar="S", min=1, help="With --follow: seconds between verdicts.")] = 30,
    remember: Annotated[
        int,
        typer.Option(metavar="MIN", min=1, help="With --follow: compare order and hops within this many minutes."),
    ] = 60,
    rows: Annotated[int, typer.Option(min=1, max=FINDINGS_MAX, help="Show this many findings of each kind.")] = 3,
    make_archive: Annotated[
        bool,
        typer.Option(
            "--make-archive", help="Store Java's classes in the data directory, so that later jobs start faster."
        ),
    ] = False,
    spark_log: options.SparkLog = "off",
) -> None:
    """Prove that every message arrived once and in order, or name those that did not.

    The audit follows each message through the journal, from its committed put to its committed get. With --run, it
    compares the journal with the input rows and with the records of the putting and getting programs. With --follow,
    it reads the journal once, keeps open messages in DIR, and writes a new verdict on the whole journal every S
    seconds.

    The audit writes verdict.json, report.html and findings (Parquet: each message with a finding), and prints a short
    table. It judges order within each group, and within each source and priority on a queue. Exit status: 0 no message
    is lost, duplicated, out of sequence or unexpected; 1 some are; 2 the audit could not be made.
    """
    with errors_named("audit"):
        if not follow and once:
            raise PipelineError("--once needs --follow")
        if follow:
            if engine == DUCKDB:
                raise PipelineError("--engine duckdb cannot be combined with --follow")
            if run or end or stored or not output:
                raise PipelineError("--follow needs --output, and cannot be combined with --run, --input and --to")
            where = {"group": group, "url": url, "master": master, "spark_log": spark_log, "is_long": not once}
            is_passed = _follow(output, start, None if once else every, remember, rows, where)
        else:
            if engine == DUCKDB and (stored or make_archive or master != LOCAL_MASTER):
                raise PipelineError("--engine duckdb cannot be combined with --input, --make-archive and --master")
            where = {"group": group, "url": url, "master": master, "spark_log": spark_log, "engine": engine}
            is_passed = _audit(run, output, start, end, stored, rows, where | {"make_archive": make_archive})
    raise typer.Exit(0 if is_passed else FAILED)


def _audit(
    run: Path | None,
    output: Path | None,
    start: str | None,
    end: str | None,
    stored: Path | None,
    rows: int,
    where: dict[str, Any],
) -> bool:
    first, last = options.positions(start, end)
    stored = options.stored_journal(stored)
    if run:
        check_run(run)
    if run and not output:
        options.check_writable(run)
    # A run with an embedded server of its own has its journal there.
    server_dir = run if run and has_own_server(run) else None
    with (
        options.new_directory(output) as new,
        running(
            "audit",
            **where,
            is_long=stored is not None,
            server_dir=server_dir,
            needs_redis=stored is None,
            check=None if stored else check_group,
        ) as at,
    ):
        # The session is there now, so the modules that import its engine can be.
        from igq.pipeline.audit.audit import audit as judge
        from igq.pipeline.audit.records import read_run
        from igq.pipeline.datasource.journal.source import JournalPart
        from igq.pipeline.engine.frames import write
        from igq.pipeline.reports.report import print_summary, write_report

        records = read_run(at.session, run) if run else None
        if start is None and records and records.timeline:
            first = str(max(0, int(records.timeline[0]["t_ms"]) - RUN_MARGIN_MS))
        part = JournalPart(at.group, "" if stored else at.url, first, last, stored)
        own = run or at.settings.data_dir / "audits" / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
        directory = options.made_directory(new.unfinished if new else own).absolute()

        verdict, series = judge(
            at.session,
            part,
            records,
            at.step,
            lambda found: write(found, directory / "findings"),
            directory / "scratch",
        )
        at.step("writing the report")
        verdict.write(directory / "verdict.json")
        write_report(verdict, series, directory / "report.html")
        if new:
            new.finish()
            directory = new.path
    print_summary(verdict, Terminal(), rows=rows)
    _tell_report(directory)
    return verdict.is_passed


def _follow(
    output: Path, start: str | None, every_s: int | None, remember_min: int, rows: int, where: dict[str, Any]
) -> bool:
    """Write verdict after verdict, or only one if *every_s* is None. Return whether the last one is good."""
    first, _ = options.positions(start, None)
    if output.is_dir() and any(output.iterdir()) and not (output / "checkpoint").is_dir():
        raise PipelineError(f"output directory {output}: holds no audit made with --follow; name a new one")
    directory = options.made_directory(output).absolute()
    with options.NewDirectory(directory).alone(), running("audit", **where, check=check_group) as at:
        from igq.pipeline.audit.rounds import FollowingAudit
        from igq.pipeline.datasource.journal.source import JournalPart
        from igq.pipeline.engine.frames import write
        from igq.pipeline.reports.report import headline, print_summary, write_report

        job = FollowingAudit(at.session, JournalPart(at.group, at.url, first), directory, remember_min * 60_000)
        while True:
            at.step("following the journal")
            job.catch_up(at.step)
            at.step("judging")
            verdict, series = job.judge(lambda found: write(found, directory / "findings"))
            verdict.write(directory / "verdict.json")
            write_report(verdict, series, directory / "report.html")
            if every_s is None:
                break
            Terminal().print(f"{datetime.now(UTC):%H:%M:%S} {headline(verdict)}", highlight=False, soft_wrap=True)
            at.step("waiting for more")
            time.sleep(every_s)
    print_summary(verdict, Terminal(), rows=rows)
    _tell_report(directory)
    return verdict.is_passed


def _tell_report(directory: Path) -> None:
    Terminal().print(f"report: {directory / 'report.html'}", highlight=False, soft_wrap=True)
