"""Builds the command `igq pipeline` from its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import typer

#: Each job: its module, and its line in the list of jobs, which must fit into one line of a terminal.
JOBS: Mapping[str, tuple[str, str]] = {
    "audit": ("audit", "Prove that every message arrived once and in order."),
    "flow": ("journal_jobs", "Show how many messages left each queue, and how long they stayed."),
    "trace": ("journal_jobs", "Follow a MsgId, CorrelId or GroupId through every manager."),
    "recovery": ("journal_jobs", "Show failures, and how long their recoveries took."),
    "deadletter": ("deadletter", "List dead letters and their reasons, or put them back."),
    "archive": ("archive", "Copy queues into Parquet files, each message once."),
    "replay": ("replay", "Put the messages of an archive back, once."),
    "journal": ("journal_jobs", "Store the journal before Redis drops its oldest events."),
    "claims": ("streams", "List messages that streaming queries have claimed."),
    "release": ("streams", "Give back the messages of a query that will not return."),
    "backout": ("streams", "Move a batch that a query cannot process to a backout queue."),
    "pack": ("pack", "Pack igq into a .zip for spark-submit --py-files."),
}


def build_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Build the command. If *arguments* begin with a job, only the module of that one is imported, as in `igq.cli`."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(_jobs)
    only = JOBS.get(arguments[0]) if arguments else None
    for name, (module, line) in JOBS.items():
        if only is None or module == only[0]:
            app.command(name, short_help=line)(getattr(import_module(f"igq.pipeline.cli.{module}"), name))
    return app


def _jobs() -> None:
    """Spark jobs over the queues and the message journal of a queue-sharing group.

    Every put, get, commit, back-out and transfer of a group leaves an event in the journal, in Redis. These jobs
    read it, and the queues, with Spark: on this machine unless --master names a cluster.
    """
