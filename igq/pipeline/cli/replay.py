"""`igq pipeline replay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.cli import options
from igq.pipeline.cli.runner import Running, errors_named, running
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.jobs.replays import ALWAYS, claim_name
from igq.pipeline.spark.session import LOCAL_MASTER
from sharedq.api import connect
from sharedq.display.terminal import Terminal
from sharedq.mqi.constants import OpenOption
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from igq.pipeline.jobs.replay import Replay

_OUTPUT = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)


def replay(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            parser=options.local_path,
            help="An archive that `igq pipeline archive` has made.",
        ),
    ],
    queue: Annotated[
        list[str] | None, typer.Option(metavar="QUEUE", help="Only this queue; may be given several times.")
    ] = None,
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
    --again NAME, and each name stands for one range, or for all, from the first command on that says it. Tables: done,
    and with --output parts, what became of each part of each run. Exit status: 0 done; 2 it could not be.
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
            _check_queues(settings, qmgr, [target] if target else queues)
            if again:
                claim_name(settings, qmgr, stored, again, put)

        with (
            options.new_directory(output) as new,
            running(
                "replay", group=group, url=url, master=master, spark_log=spark_log, is_long=True, check=check
            ) as at,
        ):
            from igq.pipeline.jobs.replay import Replay, by_target

            parts = _put(at, Replay(at.settings, stored, target, qmgr, again, put), queues)
            _show({"done": by_target(parts), "parts": parts}, rows, new)


def _check_queues(settings: Settings, qmgr: str, queues: Sequence[str]) -> None:
    """Raises MQIError: one of them cannot be opened for output, or no manager runs."""
    with connect(qmgr or settings.group, settings=settings, appl_name="igq pipeline") as connection:
        for name in queues:
            connection.open(name, _OUTPUT).close()


def _put(at: Running, job: Replay, queues: Sequence[str]) -> DataFrame:
    """Put what was not put yet, part by part; what became of each."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

    from igq.pipeline.history.time_range import is_between
    from igq.pipeline.jobs.replay import PART_MESSAGES, parts, replayed

    at.step("reading the archive")
    archived = job.archive.read_whole_runs(at.session)
    messages = archived.where(F.col("queue").isin(list(queues)) & is_between("put_at", job.put))
    done = []
    for part in parts(messages, PART_MESSAGES):
        at.step(f"putting {part.messages:,} messages of {part.queue} on {job.target_of(part)}")
        done.append((part, job.target_of(part), job.put_part(messages, part)))
    return replayed(at.session, done)


def _show(tables: Mapping[str, DataFrame], rows: int, directory: options.NewDirectory | None) -> None:
    """Write the tables where asked, and show what was done."""
    from igq.pipeline.tables import print_table, write_tables

    if directory:
        write_tables(tables, directory.unfinished)
        directory.finish()
    print_table("done", tables["done"], rows, Terminal())
