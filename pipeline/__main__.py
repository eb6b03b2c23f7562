"""`python -m pipeline JOB`: Spark jobs over a group's message journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from config import ConfigError, load_settings, prepare_data_dir
from pipeline.errors import PipelineError
from pipeline.runs import check_run, has_own_server
from pipeline.session import LOCAL_MASTER, spark_session
from sharedq.deployment import DeploymentError
from sharedq.embedded import EmbeddedRedis, EmbeddedRedisError
from sharedq.journal import JournalError, parse_position

#: Exit statuses: the verdict is bad; the job could not run.
FAILED, COULD_NOT_RUN = 1, 2
#: The first messages of a run may carry a time just before the run's first record.
RUN_MARGIN_MS = 1_000

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def jobs() -> None:
    """Spark jobs over the message journal of a queue-sharing group.

    Every put, get, commit, back-out and transfer of a group leaves an event in the journal, in Redis. These jobs
    read it with Spark, on this machine unless --master names a cluster.
    """


@app.command()
def audit(
    run: Annotated[
        Path | None, typer.Option("--run", metavar="DIR", help="Records of a run: expected.jsonl, sent-*.jsonl, ...")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Group to audit. Default: IGQ_GROUP, or QSG1.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Where Redis is. Default: IGQ_REDIS_URL, or the embedded server.")
    ] = None,
    master: Annotated[str, typer.Option(help="Spark master, for example spark://HOST:7077.")] = LOCAL_MASTER,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the report goes. Default: the run's directory.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="First event: 2013-01-31T12:00:00 (UTC), or ms.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Last event, included.")] = None,
    make_archive: Annotated[
        bool, typer.Option("--make-archive", help="Keep Java's classes in the data directory: later jobs start faster.")
    ] = False,
    spark_log: Annotated[str, typer.Option(help="Spark's own log: off, error, warn, info.")] = "off",
) -> None:
    """Prove that every message arrived once and in order, or name those that did not.

    Follows each message through the journal, from its committed put to its committed get. With --run, compares
    that with what the input rows demand and with what the putting and getting programs saw.

    Writes verdict.json and report.html, and prints a short table. Exit status: 0 nothing is lost, duplicated, out
    of sequence or unexpected; 1 something is; 2 the audit could not be made.
    """
    errors = Console(stderr=True)
    try:
        is_passed = _audit(run, group, url, master, output, start, end, make_archive, spark_log, errors)
    except (PipelineError, ConfigError, JournalError, DeploymentError, EmbeddedRedisError) as error:
        errors.print(f"igq pipeline audit: {error}", highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(COULD_NOT_RUN) from None
    except KeyboardInterrupt:
        errors.print("igq pipeline audit: interrupted")
        raise typer.Exit(130) from None
    raise typer.Exit(0 if is_passed else FAILED)


def _audit(
    run: Path | None,
    group: str | None,
    url: str | None,
    master: str,
    output: Path | None,
    start: str | None,
    end: str | None,
    make_archive: bool,
    spark_log: str,
    errors: Console,
) -> bool:
    settings = load_settings()
    data_dir = prepare_data_dir(settings)
    places = _positions(start, end)
    if run:
        check_run(run)
    with ExitStack() as stack:
        step = stack.enter_context(_progress(errors))
        url = url or settings.redis_url
        if url is None:
            # A run with an embedded server of its own has its journal there.
            server_dir = run if run and has_own_server(run) else data_dir
            url = stack.enter_context(EmbeddedRedis.start_or_join(server_dir)).url
        step("starting Spark")
        session = stack.enter_context(
            spark_session(data_dir, master=master, app_name="igq audit", spark_log=spark_log, make_archive=make_archive)
        )
        # Spark is there now, so the modules that import it can be.
        from pipeline.jobs.audit import JournalPart
        from pipeline.jobs.audit import audit as judge
        from pipeline.records import read_run
        from pipeline.report import print_summary, write_report

        records = read_run(session, run) if run else None
        if start is None and records and records.timeline:
            places = (str(max(0, int(records.timeline[0]["t_ms"]) - RUN_MARGIN_MS)), places[1])
        part = JournalPart(group or settings.group, url, *places)
        with _spark_errors_named():
            verdict, series = judge(session, part, records, step)
        step("writing the report")
        directory = _output_directory(output or run or data_dir / "audits" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}")
        verdict.write(directory / "verdict.json")
        write_report(verdict, series, directory / "report.html")
    print_summary(verdict, Console())
    Console().print(f"report: {directory / 'report.html'}", highlight=False, markup=False, soft_wrap=True)
    return verdict.is_passed


def _positions(start: str | None, end: str | None) -> tuple[str, str]:
    try:
        return parse_position(start or "-"), parse_position(end or "+")
    except ValueError as error:
        raise PipelineError(str(error)) from None


def _output_directory(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".igq-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise PipelineError(f"output directory {path}: {error.strerror or error}") from None
    return path


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[str], None]]:
    """Say on standard error what is being done: a moving line on a terminal, plain lines elsewhere."""
    if not console.is_terminal:
        yield lambda text: console.print(f"audit: {text}", highlight=False, markup=False)
        return
    with console.status("audit") as status:
        yield lambda text: status.update(f"audit: {text}")


@contextmanager
def _spark_errors_named() -> Iterator[None]:
    """One line of what a worker or Spark itself raised."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # The last line that names an error of ours is the cause; what is around it is the worker's traceback.
        ours = [line.partition(": ")[2] for line in lines if line.startswith(("sharedq.journal.", "config."))]
        raise PipelineError(ours[-1] if ours else f"Spark: {lines[0] if lines else error!r}") from error


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
