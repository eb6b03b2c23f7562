"""`igq pipeline deadletter`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.cli import options
from igq.pipeline.cli.option_groups import with_options
from igq.pipeline.cli.runner import Running, errors_named, running
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from sharedq.api import group_for
from sharedq.display.terminal import Terminal
from sharedq.messages.dead_letter import reason_code
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_parts
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from igq.pipeline.jobs.deadletter import LetterFilter

#: Columns and the options that choose by them.
_OPTIONS = {
    "reason": "--reason",
    "dest_queue": "--destination",
    "source": "--source",
    "correl_id": "--correl-id",
    "dead_at": "--from, --to",
}


@with_options()
def deadletter(
    qmgr: Annotated[
        str | None,
        typer.Argument(metavar="QM", help="Read the DEADQ of this manager. Leave it out with --input."),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(
            metavar="QUEUE",
            help="Read this queue of QM instead of its DEADQ; with --input: only this queue of the archive.",
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="REASON", help="Choose messages by reason: 2053, or Q_FULL.")
    ] = None,
    destination: Annotated[
        str, typer.Option(metavar="QUEUE", help="Choose messages by the queue that they were meant for.")
    ] = "",
    source: Annotated[str, typer.Option(metavar="NAME", help="Choose messages by the program that put them.")] = "",
    correl_id: Annotated[str | None, typer.Option(metavar="HEX", help="Choose messages by CorrelId.")] = None,
    stored: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="ARCHIVE",
            parser=options.local_path,
            help="Read dead letters from this archive, instead of a queue.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Choose messages that became dead letters then or later: 2013-01-31T12:00:00 (UTC), or ms.",
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Choose those that did so then or before.")
    ] = None,
    *,
    common: options.JobOptions,
) -> None:
    """Count the messages on a dead-letter queue by reason, destination and source. igq dlq puts them back.

    With --input, the job reads an archive and no Redis: all messages of --queue, or the messages with a dead-letter
    header of all queues.

    Tables: summary, and with --output messages. Exit status: 0 done; 2 the job could not run.
    """
    with errors_named("deadletter"):
        code = None if reason is None else _reason(reason)
        identifier = b"" if correl_id is None else bytes.fromhex(options.identifier("correl-id", correl_id))
        dead = options.moments(start, end)
        place = _place(qmgr, queue, stored)
        place.check_archive(common.group, common.output)
        with (
            options.new_directory(common.output) as directory,
            running(
                "deadletter",
                **options.session_of(common),
                is_long=place.archive is not None,
                needs_redis=place.archive is None,
                check=place.check,
            ) as at,
        ):
            from igq.pipeline.jobs.deadletter import LetterFilter

            letters = place.read(at)
            choice = LetterFilter(code, destination, source, identifier, dead)
            chosen = letters.where(choice.condition())
            if choice.conditions() and chosen.isEmpty() and not letters.isEmpty():
                _tell_what_fits_none(at, letters, choice)
            _show(at, chosen, place.name(at.settings), common.rows, directory)
            letters.unpersist()


@dataclass(frozen=True)
class _LetterSource:
    """The place of dead letters: a queue at a manager, or an archive.

    Attributes:
        qmgr: empty for an archive.
        queue: of a manager, another one than its dead-letter queue; of an archive, the only one.
    """

    qmgr: str
    queue: str
    archive: Archive | None

    def check_archive(self, group: str | None, output: Path | None) -> None:
        """Check the archive.

        Raises:
            PipelineError: it belongs to another group, has no messages of the queue, or *output* is in it.
        """
        if self.archive:
            if group:
                self.archive.check_group(group)
            self.archive.chosen([self.queue] if self.queue else ())
            self.archive.check_apart(output)

    def check(self, settings: Settings) -> None:
        """Check the place. Raises MQIError, PipelineError: no such queue or manager."""
        if not self.archive:
            find_parts(group_for(settings), self.queue_at(settings), self.qmgr)

    def queue_at(self, settings: Settings) -> str:
        """The queue at the manager."""
        return self.queue or _dead_letter_queue(settings, self.qmgr)

    def name(self, settings: Settings) -> str:
        """The place as users read it."""
        if self.archive:
            return f"{self.queue or 'all queues'} of {self.archive.directory}"
        return f"{self.queue_at(settings)} at {self.qmgr}"

    def read(self, at: Running) -> DataFrame:
        """The dead letters, persisted, so that they are read once.

        If all queues of an archive are meant, messages without a dead-letter header are left out: they are ordinary.
        """
        from igq.pipeline.datasource.queue.source import queue_table
        from igq.pipeline.jobs.deadletter import COLUMNS, dead_letters, may_be_letters, with_header

        at.step(f"reading {self.name(at.settings)}")
        if not self.archive:
            queue = self.queue_at(at.settings)
            return dead_letters(queue_table(at.session, at.settings, queue, self.qmgr, columns=COLUMNS)).persist()
        messages = self.archive.read_whole_runs(at.session)
        if self.queue:
            return dead_letters(messages.where(messages["queue"] == self.queue)).persist()
        letters = with_header(dead_letters(may_be_letters(messages))).persist()
        others = messages.count() - letters.count()
        if others:
            at.tell(f"messages without a dead-letter header, passed over: {others:,}")
        return letters


def _place(qmgr: str | None, queue: str | None, stored: Path | None) -> _LetterSource:
    """The place of the dead letters. Raises PipelineError: no place or two were named, or there is no such archive."""
    if stored and qmgr:
        raise PipelineError("--input goes without QM: `igq pipeline replay` puts an archive back")
    if not (stored or qmgr):
        raise PipelineError("give QM, the manager whose dead-letter queue to read, or --input")
    return _LetterSource(qmgr or "", queue or "", Archive.open(stored.absolute()) if stored else None)


def _tell_what_fits_none(at: Running, letters: DataFrame, choice: LetterFilter) -> None:
    """Tell which part of the choice fits no message, and what values there are: the choice may be misspelt."""
    from igq.pipeline.jobs.deadletter import fitting

    count = letters.count()
    found = {_OPTIONS[column]: fit for column, fit in fitting(letters, choice).items()}
    for option, (messages, values) in found.items():
        if not messages:
            at.tell(
                f"{option} fits none of {count:,} messages" + (f"; they have {', '.join(values)}" if values else "")
            )
    if all(messages for messages, _ in found.values()):
        at.tell(f"{', '.join(found)}: each fits some of {count:,} messages, and no message fits all of them")


def _show(at: Running, letters: DataFrame, place: str, rows: int, directory: options.NewDirectory | None) -> None:
    """Write the tables if there is a directory, and show the summary."""
    from igq.pipeline.jobs.deadletter import summary
    from igq.pipeline.tables import print_table, write_tables

    tables = {"summary": summary(letters), "messages": letters}
    if directory:
        at.step(f"writing {directory.path}")
        write_tables(tables, directory.unfinished)
        directory.finish()
    print_table(place, tables["summary"], rows, Terminal())


def _reason(text: str) -> int:
    """A reason or feedback code by number or name. Raises PipelineError: it is neither."""
    code = reason_code(text)
    if code is None:
        raise PipelineError(f"--reason {text}: allowed: a number, or a name such as Q_FULL")
    return code


def _dead_letter_queue(settings: Settings, qmgr: str) -> str:
    group = group_for(settings)
    if group.member(qmgr) is None:
        raise error_for(MQRC.Q_MGR_NAME_ERROR, "", qmgr)
    name = Repository(group, qmgr).qmgr_attributes(qmgr).dead_letter_queue
    if not name:
        raise PipelineError(f"{qmgr} has no dead-letter queue: ALTER QMGR DEADQ, or name one with --queue")
    return name
