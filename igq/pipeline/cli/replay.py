"""`igq pipeline replay`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from igq.pipeline.cli import options
from igq.pipeline.cli.option_groups import with_options
from igq.pipeline.cli.runner import Running, errors_named, running
from igq.pipeline.errors import PipelineError
from igq.pipeline.jobs.archives import Archive
from igq.pipeline.jobs.replays import ALWAYS, claim_name
from sharedq.api import connect
from sharedq.display.terminal import Terminal
from sharedq.mqi.constants import OpenOption
from sharedq.settings.values import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from igq.pipeline.jobs.replay import Replay

_OUTPUT = int(OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)


@with_options()
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
        list[str] | None,
        typer.Option(metavar="QUEUE", help="Replay only this queue. The option may be given several times."),
    ] = None,
    target: Annotated[str, typer.Option(metavar="QUEUE", help="Put all messages on this queue instead.")] = "",
    again: Annotated[
        str, typer.Option(metavar="NAME", help="Put replayed messages once more, once for each name.")
    ] = "",
    start: options.PutStart = None,
    end: options.PutEnd = None,
    of_group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Accept an archive of this other group.")
    ] = None,
    qmgr: options.Qmgr = "",
    *,
    common: options.JobOptions,
) -> None:
    """Put the messages of an archive back on their queues, as they were and in their order.

    The job puts the messages of each archive run on each queue together, or not at all; more than a million messages
    go in parts of a million. It puts them once: a second command, also after a killed one, puts what is missing.

    A replay with a time range does not count for a replay without one, which would put the messages again. Therefore
    --from and --to need --again NAME. The first command with a NAME binds it to its range, or to all messages. Tables:
    done; with --output also parts, the result for each part of each run. Exit status: 0 done; 2 not done.
    """
    with errors_named("replay"):
        put = options.moments(start, end)
        if put != ALWAYS and not again:
            raise PipelineError("--from, --to: need --again NAME; a replay without them puts such messages once more")
        if not again.isprintable():
            raise PipelineError(f"--again {again!r}: allowed: printable characters")
        stored = Archive.open(directory.absolute())
        stored.check_apart(common.output)
        queues = stored.chosen(queue or ())

        def check(settings: Settings) -> None:
            stored.check_group(of_group or settings.group)
            _check_queues(settings, qmgr, [target] if target else queues)
            if again:
                claim_name(settings, qmgr, stored, again, put)

        with (
            options.new_directory(common.output) as new,
            running("replay", **options.session_of(common), is_long=True, check=check) as at,
        ):
            from igq.pipeline.jobs.replay import Replay, by_target

            parts = _put(at, Replay(at.settings, stored, target, qmgr, again, put), queues)
            _show({"done": by_target(parts), "parts": parts}, common.rows, new)


def _check_queues(settings: Settings, qmgr: str, queues: Sequence[str]) -> None:
    """Check that each queue can be opened for output. Raises MQIError: one cannot, or no manager runs."""
    with connect(qmgr or settings.group, settings=settings, appl_name="igq pipeline") as connection:
        for name in queues:
            connection.open(name, _OUTPUT).close()


def _put(at: Running, job: Replay, queues: Sequence[str]) -> DataFrame:
    """Put the messages that were not put yet, part by part; return the result of each part."""
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
    """Write the tables if there is a directory, and show the table of the puts."""
    from igq.pipeline.tables import print_table, write_tables

    if directory:
        write_tables(tables, directory.unfinished)
        directory.finish()
    print_table("done", tables["done"], rows, Terminal())
