"""`igq pipeline claims` and `release`: what streaming queries have taken off their queues. Neither needs Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from pipeline.cli import options
from pipeline.cli.running import errors_named, group_at
from pipeline.errors import PipelineError
from pipeline.releasing import StreamClaims, claims_in, release_stream
from pipeline.tables import print_rows


def claims(group: options.Group = None, url: options.Url = None) -> None:
    """List what streaming queries have claimed of their queues and not finished, by query and manager.

    A query that is stopped or killed can leave its last batch claimed until it goes on with its checkpoint. Where it
    never will, `igq pipeline release` gives that back.
    """
    with errors_named("claims"), group_at(group, url) as settings:
        found = claims_in(settings)
        if found:
            print_rows("", _COLUMNS, [_row(each) for each in found], Console())
        else:
            Console().print("(none)")


def release(
    stream: Annotated[str, typer.Argument(metavar="STREAM", help="The query's name: its option stream.")],
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Its checkpointLocation: what that notes as processed does not come again."),
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
    claims nothing: a query of that name then needs a new checkpoint.
    """
    with errors_named("release"), group_at(group, url) as settings:
        if begun and not checkpoint:
            raise PipelineError("--begun needs --checkpoint")
        released = release_stream(settings, stream, force=force, checkpoint=checkpoint, begun=begun or "")
        told = f"stream {stream}: {released.given_back:,} messages are back on their queue"
        if checkpoint:
            told += f"; {released.committed:,} had been processed, and are off it"
        Console().print(told, highlight=False, markup=False, soft_wrap=True)


#: Columns of the list, and whether they hold numbers.
_COLUMNS = {
    name: name in ("messages", "units")
    for name in ("stream", "manager", "queue", "messages", "units", "claimed", "driver")
}


def _row(each: StreamClaims) -> list[str]:
    return [
        *(each.stream, each.qmgr, " ".join(each.queues), f"{each.messages:,}", f"{each.units:,}"),
        *(f"{each.since:%Y-%m-%d %H:%M:%S}", "running" if each.is_running else "none"),
    ]
