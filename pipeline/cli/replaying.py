"""`igq pipeline replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from config.settings import Settings
from pipeline.archives import Archive
from pipeline.cli import options
from pipeline.cli.running import errors_named, running
from pipeline.errors import PipelineError
from pipeline.replays import ALWAYS, claim_name
from pipeline.session import LOCAL_MASTER
from sharedq.api import connect
from sharedq.mqi.constants import OpenOption

_OUTPUT = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)


def replay(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="An archive.")],
    queue: Annotated[list[str] | None, typer.Option(help="Only this queue; may be given several times.")] = None,
    target: Annotated[str, typer.Option(metavar="QUEUE", help="Put all on this queue instead.")] = "",
    again: Annotated[str, typer.Option(metavar="NAME", help="Put also what was put before, once for each name.")] = "",
    start: options.PutStart = None,
    end: options.PutEnd = None,
    of_group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="The archive is this other group's: put it here all the same.")
    ] = None,
    qmgr: options.Qmgr = "",
    group: options.Group = None,
    url: options.Url = None,
    master: options.Master = LOCAL_MASTER,
    output: options.Output = None,
    rows: options.Rows = 50,
    spark_log: options.SparkLog = "off",
) -> None:
    """Put the messages of an archive back on their queues, as they were and in their order.

    Each run of the archive is put on each queue whole or not at all (in parts of a million messages, where it has
    more), and once: repeated, also after it was killed, the command puts what was not put yet.

    What a time range puts does not count for a replay without one, which would put it again. So --from and --to need
    --again NAME, and each name stands for one range. Tables: done, and parts, what became of each part of each run.
    Exit status: 0 done; 2 it could not be.
    """
    with errors_named("replay"):
        put = options.moments(start, end)
        if put != ALWAYS and not again:
            raise PipelineError("--from, --to: need --again NAME; a replay without them puts such messages once more")
        if not again.isprintable():
            raise PipelineError(f"--again {again!r}: allowed: printable characters")
        stored = Archive.open(directory.absolute())
        stored.check_apart(output)
        queues = stored.chosen(queue or ())

        def check(settings: Settings) -> None:
            stored.check_group(of_group or settings.group)
            with connect(qmgr or settings.group, settings=settings, appl_name="igq pipeline") as connection:
                for name in [target] if target else queues:
                    connection.open(name, _OUTPUT).close()
            if again:
                claim_name(settings, qmgr, stored, again, put)

        with (
            options.new_directory(output) as new,
            running(
                "replay", group=group, url=url, master=master, spark_log=spark_log, is_long=True, check=check
            ) as at,
        ):
            from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

            from pipeline.jobs.moments import is_between
            from pipeline.jobs.replay import PART_MESSAGES, Replay, by_target, parts, replayed
            from pipeline.tables import print_table, write_tables

            at.step("reading the archive")
            messages = stored.read_whole_runs(at.session).where(F.col("queue").isin(queues) & is_between("put_at", put))
            job = Replay(at.settings, stored, target, qmgr, again, put)
            done = []
            for part in parts(messages, PART_MESSAGES):
                at.step(f"putting {part.messages:,} messages of {part.queue} on {job.target_of(part)}")
                done.append((part, job.target_of(part), job.put_part(messages, part)))
            told = replayed(at.session, done)
            tables = {"done": by_target(told), "parts": told}
            if new:
                write_tables(tables, new.unfinished)
                new.finish()
            print_table("done", tables["done"], rows, Console())
