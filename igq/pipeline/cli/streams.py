"""`igq pipeline claims` and `release`: what queries and jobs have of their queues in doubt. Neither needs Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from igq.pipeline.claims.release import claims_in, is_running, release_stream
from igq.pipeline.claims.summary import LeftInDoubt
from igq.pipeline.claims.write_jobs import jobs_in, release_job
from igq.pipeline.cli import options
from igq.pipeline.cli.runner import errors_named, group_at
from igq.pipeline.errors import PipelineError
from igq.pipeline.tables import print_rows
from sharedq.display.terminal import Terminal


def claims(group: options.Group = None, url: options.Url = None) -> None:
    """List what streaming queries have claimed of their queues and not finished, and what jobs have put there so.

    A query that is stopped or killed can leave its last batch claimed until it goes on with its checkpoint. Where it
    never will, `igq pipeline release` gives that back. A job that writes, or a query, has put messages that nobody
    sees before it commits them all; of one that was killed, `igq pipeline release --job` backs them out.
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
        str | None, typer.Argument(metavar="STREAM", help="The query's name: its option stream. None with --job.")
    ] = None,
    job: Annotated[
        str | None, typer.Option(metavar="JOB", help="A job that writes, as `igq pipeline claims` names it.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=options.local_path,
            help="Its checkpointLocation: what that notes as processed does not come again.",
        ),
    ] = None,
    begun: Annotated[
        Literal["done", "undone"] | None,
        typer.Option(help="Of a batch that the checkpoint notes as begun, and not as processed: what its sink has."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also one that runs, or has claimed nothing.")] = False,
    group: options.Group = None,
    url: options.Url = None,
) -> None:
    """Give back what a streaming query has claimed, to the places on its queue: the query will not come back.

    What Spark has noted as processed in the query's checkpoint is taken off the queue instead; without --checkpoint it
    comes again, to whoever reads the queue next. A query that was stopped within a batch leaves open what its sink has
    of that: start it once more, or say --begun. With --force a query that runs may still write its batch, which comes
    again. Should the query come back all the same, it fails at its next step and
    claims nothing: a query of that name then needs a new checkpoint, and a file sink a new directory.

    With --job, back out instead what a job that writes has put and not committed. Should its driver be alive, the job
    fails with one error, and nothing of it is on the queue; a streaming query puts its batch anew when it is restarted.
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
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The query's name: its option stream.")],
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            parser=options.local_path,
            help="Its checkpointLocation.",
        ),
    ],
    target: Annotated[
        str, typer.Option(metavar="QUEUE", help="Put them on this queue; default: BOQNAME of the query's queue.")
    ] = "",
    group: options.Group = None,
    url: options.Url = None,
) -> None:
    """Move a batch that a query fails at each time to a backout queue, so that the query can go on without it.

    It is the batch that the query has begun and not processed, whole. Look whether the sink has it: then its messages
    would be in both. Each is on one of the two queues, wherever this command is killed; it can be repeated. Then start
    the query with its checkpoint: the batch has no rows any more.
    """
    with errors_named("backout"), group_at(group, url) as settings:
        from igq.pipeline.jobs.backout_queue import back_out_batch

        messages, queue = back_out_batch(settings, stream, checkpoint, target)
        _say(f"stream {stream}: {messages:,} messages are on {queue}; start the query with its checkpoint")


_COLUMNS = ("manager", "queue", "messages", "units")


def _say(text: str) -> None:
    Terminal().print(text, highlight=False, soft_wrap=True)


def _columns(*names: str) -> dict[str, bool]:
    """Columns of a list, and whether they hold numbers."""
    return {name: name in ("messages", "units", "read") for name in names}


def _row(each: LeftInDoubt) -> list[str]:
    return [
        *(each.name, each.qmgr, " ".join(each.queues), f"{each.messages:,}", f"{each.units:,}"),
        f"{each.since:%Y-%m-%d %H:%M:%S}",
    ]
