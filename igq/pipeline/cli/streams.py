"""`igq pipeline claims`, `release` and `backout`: what queries and jobs have in doubt. They need no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from igq.pipeline.claims.release import LeftInDoubt, claims_in, is_running, release_stream
from igq.pipeline.claims.write_jobs import jobs_in, release_job
from igq.pipeline.cli import options
from igq.pipeline.cli.runner import errors_named, group_at
from igq.pipeline.errors import PipelineError
from igq.pipeline.tables import print_rows
from sharedq.display.terminal import Terminal


def claims(group: options.Group = None, url: options.Url = None) -> None:
    """List the messages that streaming queries have claimed, and the messages that jobs have put and not committed.

    A query that is stopped or killed can leave its last batch claimed until it continues with its checkpoint. If it
    never will, `igq pipeline release` gives the batch back. Messages that a job or a query puts are invisible until it
    commits them all. If a job was killed before, `igq pipeline release --job` backs its messages out.
    """
    with errors_named("claims"), group_at(group, url) as settings:
        claimed, put = claims_in(settings), jobs_in(settings)
        if claimed:
            rows = [
                [*_row(each), str(each.times_read), "running" if is_running(settings, each.name) else "none"]
                for each in claimed
            ]
            print_rows("", _columns("stream", *_COLUMNS, "claimed", "read", "driver"), rows, Terminal())
        if put:
            title = "put, and not committed" if claimed else ""
            print_rows(title, _columns("job", *_COLUMNS, "prepared"), [_row(each) for each in put], Terminal())
        if not (claimed or put):
            Terminal().print("(none)")


def release(
    stream: Annotated[
        str | None,
        typer.Argument(metavar="STREAM", help="The query's name (its option stream). Leave it out with --job."),
    ] = None,
    job: Annotated[
        str | None, typer.Option(metavar="JOB", help="Release this job's messages; `igq pipeline claims` lists jobs.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=options.local_path,
            help="The query's checkpointLocation. Messages that it notes as processed do not come again.",
        ),
    ] = None,
    begun: Annotated[
        Literal["done", "undone"] | None,
        typer.Option(help="Whether the sink has the batch that the checkpoint notes as begun and not as processed."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Release also a query that runs, or that has claimed nothing.")
    ] = False,
    group: options.Group = None,
    url: options.Url = None,
) -> None:
    """Put the messages that a streaming query has claimed back in their places on the queue, for good.

    With --checkpoint, messages that Spark has noted there as processed are taken off the queue instead; otherwise the
    next reader of the queue gets them again. After a query was stopped within a batch, nobody can tell whether its sink
    has that batch: start the query once more, or give --begun. With --force, a query that runs may still write its
    batch, and the batch comes again. A query that comes back after its release fails at its next step and claims
    nothing. A new query of that name needs a new checkpoint, and its file sink a new directory.

    With --job, back out the messages that a job has put and not committed. If the job's driver is alive, the job fails
    with one error, and none of its messages are on the queue. A streaming query puts its batch again when it restarts.
    """
    with errors_named("release"), group_at(group, url) as settings:
        if (stream is None) == (job is None) or (job and (checkpoint or begun or force)):
            raise PipelineError("say STREAM, a query, or --job and nothing else")
        if job is not None:
            _say(f"job {job}: {release_job(settings, job):,} messages are backed out")
            return
        assert stream is not None
        if begun and not checkpoint:
            raise PipelineError("--begun needs --checkpoint")
        released = release_stream(settings, stream, force=force, checkpoint=checkpoint, begun=begun or "")
        told = f"stream {stream}: {released.given_back:,} messages are back on their queue"
        if checkpoint:
            told += f"; {released.committed:,} had been processed, and are off it"
        _say(told)


def backout(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The query's name (its option stream).")],
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=options.local_path,
            help="The query's checkpointLocation.",
        ),
    ],
    target: Annotated[
        str, typer.Option(metavar="QUEUE", help="Put them on this queue; default: BOQNAME of the query's queue.")
    ] = "",
    group: options.Group = None,
    url: options.Url = None,
) -> None:
    """Move a batch that a query cannot process to a backout queue, so that the query can continue without it.

    The command moves the whole batch that the query has begun and not processed. First make sure that the sink does not
    have the batch: its messages would be in both. If the command is killed, each message is on one of the two queues,
    and the command can be repeated. Then start the query with its checkpoint: the batch has no rows any more.
    """
    with errors_named("backout"), group_at(group, url) as settings:
        from igq.pipeline.jobs.backout_queue import back_out_batch

        messages, queue = back_out_batch(settings, stream, checkpoint, target)
        _say(f"stream {stream}: {messages:,} messages are on {queue}; start the query with its checkpoint")


_COLUMNS = ("manager", "queue", "messages", "units")


def _say(text: str) -> None:
    Terminal().print(text, highlight=False, soft_wrap=True)


def _columns(*names: str) -> dict[str, bool]:
    """The columns of a list, each with whether it holds numbers."""
    return {name: name in ("messages", "units", "read") for name in names}


def _row(each: LeftInDoubt) -> list[str]:
    return [
        *(each.name, each.qmgr, " ".join(each.queues), f"{each.messages:,}", f"{each.units:,}"),
        f"{each.since:%Y-%m-%d %H:%M:%S}",
    ]
