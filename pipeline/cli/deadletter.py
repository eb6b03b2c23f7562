"""`igq pipeline deadletter`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from config.settings import Settings
from pipeline.cli import options
from pipeline.cli.running import Running, errors_named, running
from pipeline.errors import PipelineError
from pipeline.session import LOCAL_MASTER
from sharedq.api import group_for
from sharedq.mqi.constants import MQRC, Feedback
from sharedq.mqi.errors import error_for
from sharedq.objects.repository import Repository
from sharedq.read_plan import find_places

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipeline.jobs.deadletter import Chosen

#: Exit status where not all that was chosen could be put back.
SOME_LEFT = 1


def deadletter(
    qmgr: Annotated[str, typer.Argument(metavar="QM", help="A running manager: its DEADQ is read.")],
    queue: Annotated[str | None, typer.Option(help="Another queue than its DEADQ.")] = None,
    requeue: Annotated[bool, typer.Option("--requeue", help="Put what is chosen where it was meant to go.")] = False,
    reason: Annotated[str | None, typer.Option(help="Choose by reason: 2053, or Q_FULL.")] = None,
    destination: Annotated[str, typer.Option(metavar="QUEUE", help="Choose by the queue it was meant for.")] = "",
    source: Annotated[str, typer.Option(metavar="NAME", help="Choose by the program that put it.")] = "",
    correl_id: Annotated[str | None, typer.Option(metavar="HEX", help="Choose by CorrelId.")] = None,
    start: options.PutStart = None,
    end: options.PutEnd = None,
    group: options.Group = None,
    url: options.Url = None,
    master: options.Master = LOCAL_MASTER,
    output: options.Output = None,
    rows: options.Rows = 50,
    spark_log: options.SparkLog = "off",
) -> None:
    """Tell what is on a dead-letter queue and why, by reason, destination and source; or put messages back.

    With --requeue each message that is chosen is got from the dead-letter queue and put, without its header, on the
    queue that it was meant for, fifty in a unit of work. Those of one destination keep their order; what cannot be put
    stays. Exit status: 0 done; 1 some could not be put back; 2 it could not run.
    """
    with errors_named("deadletter"):
        code = None if reason is None else reason_code(reason)
        identifier = b"" if correl_id is None else bytes.fromhex(options.identifier("correl-id", correl_id))
        dead = options.moments(start, end)

        def check(settings: Settings) -> None:
            find_places(group_for(settings), queue or _dead_letter_queue(settings, qmgr), qmgr)

        with (
            options.new_directory(output) as directory,
            running("deadletter", group=group, url=url, master=master, spark_log=spark_log, check=check) as at,
        ):
            from pipeline.jobs.deadletter import Chosen

            job = DeadLetterJob(at, queue or _dead_letter_queue(at.settings, qmgr), qmgr, rows)
            chosen = Chosen(code, destination, source, identifier, dead)
            is_done = job.requeue(chosen, directory) if requeue else job.show(chosen, directory)
    raise typer.Exit(0 if is_done else SOME_LEFT)


@dataclass(frozen=True)
class DeadLetterJob:
    """The job at work on one dead-letter queue."""

    at: Running
    queue: str
    qmgr: str
    rows: int

    def show(self, chosen: Chosen, directory: options.NewDirectory | None) -> bool:
        """Write the tables where asked, and show the summary."""
        from pipeline.jobs.deadletter import summary
        from pipeline.tables import print_table, write_tables

        letters = self._letters(chosen)
        tables = {"summary": summary(letters), "messages": letters}
        if directory:
            self.at.step(f"writing {directory.path}")
            write_tables(tables, directory.unfinished)
            directory.finish()
        self.at.step(f"reading {self.queue}")
        print_table(f"{self.queue} at {self.qmgr}", tables["summary"], self.rows, Console())
        return True

    def requeue(self, chosen: Chosen, directory: options.NewDirectory | None) -> bool:
        """Put messages back, show what came of it, and write that where asked; whether all could be."""
        from pipeline.jobs.deadletter import requeue
        from pipeline.jobs.requeue import GONE, PUT_BACK
        from pipeline.tables import print_table, write_tables

        self.at.step(f"putting messages of {self.queue} back")
        # Kept: each evaluation would put back.
        outcomes = requeue(self._letters(chosen), self.at.settings, self.queue, self.qmgr).persist()
        print_table("requeue", outcomes.orderBy("outcome", "dest_queue"), self.rows, Console())
        is_done = outcomes.where(~outcomes["outcome"].isin(PUT_BACK, GONE)).isEmpty()
        if directory:
            write_tables({"requeue": outcomes}, directory.unfinished)
            directory.finish()
        outcomes.unpersist()
        return is_done

    def _letters(self, chosen: Chosen) -> DataFrame:
        from pipeline.jobs.deadletter import COLUMNS, dead_letters
        from pipeline.queue_source import queue_table

        table = queue_table(self.at.session, self.at.settings, self.queue, self.qmgr, columns=COLUMNS)
        return dead_letters(table).where(chosen.condition())


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
