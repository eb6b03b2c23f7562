"""`igq pipeline journal`, `flow`, `trace` and `recovery`: jobs over the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.audit.recovery_timeline import recoveries
from igq.pipeline.audit.runs import timeline_of
from igq.pipeline.cli import options
from igq.pipeline.cli.option_groups import with_options
from igq.pipeline.cli.runner import Running, check_group, errors_named, running
from igq.pipeline.errors import PipelineError
from sharedq.api import group_for
from sharedq.display.terminal import Terminal
from sharedq.members.recovery_records import recovery_records
from sharedq.reading.journal_reach import Reach, read_reaches, trimmed_journals
from sharedq.redis.deployment import Deployment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class JournalJob:
    """A job that reads the journal, writes tables, and shows some of them."""

    name: str
    given: options.JournalOptions

    def run(
        self,
        tables_of: Callable[[Running, DataFrame, Path | None], Mapping[str, DataFrame]],
        shown: tuple[str, ...],
    ) -> None:
        """Make the tables, write them if there is an output, and show those that *shown* names.

        Args:
            tables_of: makes the tables from the journal. It gets the output directory, and may add files to it.

        Raises:
            PipelineError, JournalError, ...: it cannot run.
        """
        with self.reading() as (at, journal, output):
            tables = tables_of(at, journal, output.unfinished if output else None)
            from igq.pipeline.tables import print_table, write_tables

            if output:
                at.step(f"writing {self.given.output}")
                write_tables(tables, output.unfinished)
                output.finish()
            at.step("counting")
            for name in shown:
                print_table(name, tables[name], self.given.rows, Terminal())

    @contextmanager
    def reading(self) -> Iterator[tuple[Running, DataFrame, options.NewDirectory | None]]:
        """Run the job within a ``with``, which gets the job, the journal and the output directory.

        Raises:
            PipelineError, JournalError, ...: it cannot run.
        """
        first, last = options.positions(self.given.start, self.given.end)
        stored = options.stored_journal(self.given.stored)
        with (
            options.new_directory(self.given.output) as output,
            running(
                self.name,
                **options.session_of(self.given),
                is_long=stored is not None,
                needs_redis=stored is None,
                check=None if stored else check_group,
            ) as at,
        ):
            at.step("reading the journal")
            # Spark is there now, so the modules that import it can be.
            from igq.pipeline.datasource.journal.source import JournalPart

            reaches = None
            if first == "-" and not stored:
                reaches = read_reaches(Deployment(at.url), at.group)
                _tell_trimmed(at, reaches)
            part = JournalPart(at.group, "" if stored else at.url, first, last, stored, reaches)
            yield at, part.read(at.session), output


def _tell_trimmed(at: Running, reaches: Mapping[str, Reach]) -> None:
    """Tell in one line which structures' journals have lost their beginning, and the time of their first event."""
    trimmed = trimmed_journals(reaches)
    if trimmed:
        told = (
            f"{name} has {f'events from {first} on' if first else 'none any more'}" for name, first in trimmed.items()
        )
        what = ", ".join(told)
        at.tell(f"journals were trimmed, so the tables lack their beginning: {what}, or less when read")


@with_options()
def journal(
    output: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=options.local_path,
            help="Write the events there as Parquet. It must not exist.",
        ),
    ],
    *,
    common: options.JournalOptions,
) -> None:
    """Store the journal as Parquet, one row for each event, before Redis drops its oldest entries.

    The other jobs read the stored journal with --input. With --input, this job cuts a stored journal by time. It shows
    the number of events of each kind. Exit status: 0 stored; 2 not stored.
    """
    job = JournalJob("journal", common)
    with errors_named("journal"), job.reading() as (at, events, directory):
        from igq.pipeline.jobs.event_counts import stored_events
        from igq.pipeline.schemas import JOURNAL, as_table
        from igq.pipeline.tables import print_table

        assert directory
        at.step(f"writing {output}")
        as_table(events, JOURNAL).write.parquet(str(directory.unfinished))
        directory.finish()
        at.step("counting")
        print_table("stored", stored_events(at.session.read.parquet(str(directory.path))), common.rows, Terminal())


@with_options(rows=20)
def flow(common: options.TableOptions) -> None:
    """Show how many messages went through each queue, how long they stayed, and how many lay there.

    The job counts, for each queue, manager and hop, messages and messages a second. It measures the time from the
    commit of the put (or the agent's hop) to the commit of the get, in percentiles. Tables: queues; minutes, the same
    minute by minute; depth, the messages on each queue over time; agents, their batches, and the batches that they
    backed out to try again. With --output it also writes report.html, with plots. Exit status: 0 shown; 2 not shown.
    """
    with errors_named("flow"):
        job = JournalJob("flow", common)

        def tables(at: Running, journal: DataFrame, directory: Path | None) -> Mapping[str, DataFrame]:
            from igq.pipeline.engine.frames import kept
            from igq.pipeline.jobs.flow import batches, flow_tables, stays
            from igq.pipeline.jobs.flow_points import failures_of_journal, failures_of_records, read_flow_points
            from igq.pipeline.reports.flow_report import write_flow_report

            moves, moved = kept(stays(journal)), kept(batches(journal))
            if directory:
                at.step("drawing the report")
                failures = (
                    failures_of_journal(journal)
                    if common.stored
                    else failures_of_records(recovery_records(group_for(at.settings)))
                )
                points = read_flow_points(moves, moved, failures)
                directory.mkdir(parents=True)
                write_flow_report(points, at.group, directory / "report.html")
            return flow_tables(moves, moved)

        job.run(tables, ("queues", "depth", "agents"))


@with_options(rows=200)
def trace(
    msg_id: Annotated[str | None, typer.Option(metavar="HEX", help="MsgId, 48 hexadecimal digits.")] = None,
    correl_id: Annotated[str | None, typer.Option(metavar="HEX", help="CorrelId. It is padded with zeros.")] = None,
    group_id: Annotated[str | None, typer.Option(metavar="HEX", help="GroupId. It is padded with zeros.")] = None,
    message: Annotated[
        str | None,
        typer.Option(metavar="STRUCTURE/ID", help="One message as the audit names it, also if its put is unknown."),
    ] = None,
    *,
    common: options.TableOptions,
) -> None:
    """Follow the messages of one MsgId, CorrelId or GroupId, or a single message, through every manager and queue.

    The job shows each put, transfer and get in order of time, the program that made it, and its outcome: committed,
    backed out, in doubt, or not ended. Exit status: 0 shown; 2 not shown.
    """
    with errors_named("trace"):
        given = {"msg_id": msg_id, "correl_id": correl_id, "group_id": group_id, "message": message}
        asked = {name: value for name, value in given.items() if value}
        if len(asked) != 1:
            raise PipelineError("give one of --msg-id, --correl-id, --group-id and --message")
        ((column, text),) = asked.items()
        named = column == "message"
        place = options.message(text) if named else (column, options.identifier(column.replace("_", "-"), text))
        if column == "msg_id" and len(text) < len(place[1]):
            raise PipelineError(
                f"--msg-id {text}: allowed: {len(place[1])} hexadecimal digits; a part of one is not enough"
            )
        job = JournalJob("trace", common)

        def tables(at: Running, journal: DataFrame, _: Path | None) -> Mapping[str, DataFrame]:
            from igq.pipeline.engine.frames import kept
            from igq.pipeline.jobs import trace

            follow = trace.trace_message if named else trace.trace
            found = kept(follow(journal, *place))
            if not found.limit(1).collect():
                at.tell(f"this journal has no put of a message with --{column.replace('_', '-')} {text}")
            return {"trace": found}

        job.run(tables, ("trace",))


@with_options()
def recovery(
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="DIR",
            parser=options.local_path,
            help="Show the timeline of this run too.",
        ),
    ] = None,
    *,
    common: options.TableOptions,
) -> None:
    """Show the failures that the group remembers, the phases of each recovery, and the messages that it touched.

    Tables: recoveries and phases, for the latest 100 failures; units, the units of work that peers ended, according to
    the journal; messages, the messages of these units. With --input the job does not ask Redis: it shows what the
    journal has, and with --run also the run's timeline. Exit status: 0 shown; 2 not shown.
    """
    with errors_named("recovery"):
        first_ms, last_ms = options.moments(common.start, common.end)
        timeline = [] if run is None else recoveries(timeline_of(run))
        job = JournalJob("recovery", common)

        def tables(at: Running, journal: DataFrame, _: Path | None) -> Mapping[str, DataFrame]:
            from igq.pipeline.jobs.recovery import detected_between, recovery_tables

            records = [] if common.stored else recovery_records(group_for(at.settings))
            return recovery_tables(at.session, journal, detected_between(records, first_ms, last_ms), timeline)

        job.run(tables, ("recoveries", "phases", "units"))
