"""`igq pipeline deadletter`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.claims.release import connect_to
from igq.pipeline.claims.tag import hold_tag
from igq.pipeline.cli import options
from igq.pipeline.cli.runner import Running, errors_named, running
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.spark.session import LOCAL_MASTER
from sharedq.api import group_for
from sharedq.display.terminal import Terminal
from sharedq.mqi.constants import MQRC, Feedback
from sharedq.mqi.errors import ConnTagInUse, error_for
from sharedq.objects.repository import Repository
from sharedq.reading.plan import find_places
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from igq.pipeline.jobs.deadletter import Chosen

#: Exit status where not all that was chosen could be put back.
SOME_LEFT = 1
#: What the columns are called that can be asked about.
_OPTIONS = {
    "reason": "--reason",
    "dest_queue": "--destination",
    "source": "--source",
    "correl_id": "--correl-id",
    "dead_at": "--from, --to",
}


def deadletter(
    qmgr: Annotated[
        str | None,
        typer.Argument(
            metavar="QM", help="A manager: its DEADQ is read. It must run for --requeue. None with --input."
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option(metavar="QUEUE", help="Another queue than the DEADQ of QM; of an archive, only this one."),
    ] = None,
    requeue: Annotated[bool, typer.Option("--requeue", help="Put what is chosen where it was meant to go.")] = False,
    reason: Annotated[str | None, typer.Option(metavar="REASON", help="Choose by reason: 2053, or Q_FULL.")] = None,
    destination: Annotated[str, typer.Option(metavar="QUEUE", help="Choose by the queue it was meant for.")] = "",
    source: Annotated[str, typer.Option(metavar="NAME", help="Choose by the program that put it.")] = "",
    correl_id: Annotated[str | None, typer.Option(metavar="HEX", help="Choose by CorrelId.")] = None,
    stored: Annotated[
        Path | None,
        typer.Option(
            "--input",
            metavar="ARCHIVE",
            parser=options.local_path,
            help="Dead letters that were archived, instead of a queue.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Choose by when it became a dead letter: 2013-01-31T12:00:00 (UTC), or ms, and later.",
        ),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Choose by that time, until then.")] = None,
    group: options.Group = None,
    url: options.Url = None,
    master: options.Master = LOCAL_MASTER,
    output: options.Output = None,
    rows: options.Rows = 50,
    spark_log: options.SparkLog = "off",
) -> None:
    """Tell what is on a dead-letter queue and why, by reason, destination and source; or put messages back.

    With --requeue each message that is chosen (all, where nothing is said) is got from the dead-letter queue and put,
    without its header, on the queue that it was meant for, fifty in a unit of work. Those of one destination keep their
    order; what cannot be put, or has no header, stays. With --input the letters are those of an archive: all messages
    of --queue, or what has a dead-letter header on any queue. No Redis is asked then.

    Tables: summary, and with --output messages; with --requeue: requeue, what came of them. Exit status: 0 done; 1 some
    could not be put back; 2 it could not run.
    """
    with errors_named("deadletter"):
        code = None if reason is None else reason_code(reason)
        identifier = b"" if correl_id is None else bytes.fromhex(options.identifier("correl-id", correl_id))
        dead = options.moments(start, end)
        place = _place(qmgr, queue, stored, requeue=requeue)
        place.check_archive(group, output)
        with (
            options.new_directory(output) as directory,
            running(
                "deadletter",
                group=group,
                url=url,
                master=master,
                spark_log=spark_log,
                is_long=place.archive is not None,
                needs_redis=place.archive is None,
                check=place.check,
            ) as at,
        ):
            from igq.pipeline.jobs.deadletter import Chosen

            letters = place.read(at)
            choice = Chosen(code, destination, source, identifier, dead)
            chosen = letters.where(choice.condition())
            is_done = True
            if choice.conditions() and chosen.isEmpty() and not letters.isEmpty():
                _tell_what_fits_none(at, letters, choice)
                is_done = not requeue
            if requeue:
                is_done &= _put_back(at, chosen, place.queue_at(at.settings), place.qmgr, rows, directory)
            else:
                _show(at, chosen, place.name(at.settings), rows, directory)
            letters.unpersist()
    raise typer.Exit(0 if is_done else SOME_LEFT)


@dataclass(frozen=True)
class _Place:
    """Where dead letters are: on a queue at a manager, or in an archive.

    Attributes:
        qmgr: empty for an archive.
        queue: of a manager, another one than its dead-letter queue; of an archive, the only one.
        must_run: the manager has to be running.
    """

    qmgr: str
    queue: str
    archive: Archive | None
    must_run: bool

    def check_archive(self, group: str | None, output: Path | None) -> None:
        """Raises PipelineError: the archive is another group's, has nothing of the queue, or *output* is in it."""
        if self.archive:
            if group:
                self.archive.check_group(group)
            self.archive.chosen([self.queue] if self.queue else ())
            self.archive.check_apart(output)

    def check(self, settings: Settings) -> None:
        """Raises MQIError, PipelineError: there is no such queue or manager, or it is not running and has to be."""
        if not self.archive:
            find_places(group_for(settings), self.queue_at(settings), self.qmgr)
        if self.must_run:
            connect_to(settings, self.qmgr).disconnect()

    def queue_at(self, settings: Settings) -> str:
        """The queue at the manager."""
        return self.queue or _dead_letter_queue(settings, self.qmgr)

    def name(self, settings: Settings) -> str:
        """What is said of it."""
        if self.archive:
            return f"{self.queue or 'all queues'} of {self.archive.directory}"
        return f"{self.queue_at(settings)} at {self.qmgr}"

    def read(self, at: Running) -> DataFrame:
        """Its dead letters, kept: for all that is told of them they are read once.

        Of all queues of an archive only what has a dead-letter header: the rest is ordinary messages.
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


def _place(qmgr: str | None, queue: str | None, stored: Path | None, *, requeue: bool) -> _Place:
    """Where the dead letters are. Raises PipelineError: nowhere, at two places, or there is no such archive."""
    if stored and (qmgr or requeue):
        raise PipelineError("--input goes without QM and --requeue: `igq pipeline replay` puts an archive back")
    if not (stored or qmgr):
        raise PipelineError("say QM, a manager whose dead-letter queue is read, or --input")
    return _Place(qmgr or "", queue or "", Archive.open(stored.absolute()) if stored else None, must_run=requeue)


def _tell_what_fits_none(at: Running, letters: DataFrame, choice: Chosen) -> None:
    """Where nothing was chosen: what of the choice fits no message, and what there is. It may be misspelt."""
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
    """Write the tables where asked, and show the summary."""
    from igq.pipeline.jobs.deadletter import summary
    from igq.pipeline.tables import print_table, write_tables

    tables = {"summary": summary(letters), "messages": letters}
    if directory:
        at.step(f"writing {directory.path}")
        write_tables(tables, directory.unfinished)
        directory.finish()
    print_table(place, tables["summary"], rows, Terminal())


def _put_back(
    at: Running, letters: DataFrame, queue: str, qmgr: str, rows: int, directory: options.NewDirectory | None
) -> bool:
    """Put messages back, show what came of it, and write that where asked; whether all could be."""
    from igq.pipeline.jobs.deadletter import requeue
    from igq.pipeline.jobs.requeue import GONE, PUT_BACK
    from igq.pipeline.tables import print_table, write_tables

    at.step(f"putting messages of {queue} back")
    with _alone(at.settings, queue, qmgr):
        # Kept: each evaluation would put back.
        outcomes = requeue(letters, at.settings, queue, qmgr).persist()
        outcomes.count()
    print_table("requeue", outcomes.orderBy("outcome", "dest_queue"), rows, Terminal())
    is_done = outcomes.where(~outcomes["outcome"].isin(PUT_BACK, GONE)).isEmpty()
    if directory:
        write_tables({"requeue": outcomes}, directory.unfinished)
        directory.finish()
    outcomes.unpersist()
    return is_done


@contextmanager
def _alone(settings: Settings, queue: str, qmgr: str) -> Iterator[None]:
    """For this time no other command puts messages of that queue back: two at once would not keep their order.

    Raises:
        PipelineError: another one still does, or was killed and is not recovered.
        MQIError: 2059 the manager does not run; 2009.
    """
    try:
        held = hold_tag(settings, qmgr, f"igq.requeue/{qmgr}/{queue}".encode())
    except ConnTagInUse as error:
        raise PipelineError(
            f"another command puts messages of {queue} at {qmgr} back, or was killed and the group has not recovered"
            f" it: {error}"
        ) from None
    with held:
        yield


def reason_code(text: str) -> int:
    """A reason or feedback code by number or name. Raises PipelineError: it is neither."""
    if text.isascii() and text.isdecimal():
        return int(text)
    name = text.upper().removeprefix("MQRC_").removeprefix("MQFB_")
    for names in (MQRC, Feedback):
        if name in names.__members__:
            return int(names[name])
    raise PipelineError(f"--reason {text}: allowed: a number, or a name such as Q_FULL")


def _dead_letter_queue(settings: Settings, qmgr: str) -> str:
    group = group_for(settings)
    if group.member(qmgr) is None:
        raise error_for(MQRC.Q_MGR_NAME_ERROR, "", qmgr)
    name = Repository(group, qmgr).qmgr_attributes(qmgr).dead_letter_queue
    if not name:
        raise PipelineError(f"{qmgr} has no dead-letter queue: ALTER QMGR DEADQ, or name one with --queue")
    return name
