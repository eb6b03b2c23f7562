"""All commands of `igq pipeline` in one application."""

from __future__ import annotations

from collections.abc import Callable

import typer

from igq.pipeline.cli.archive import archive
from igq.pipeline.cli.audit import audit
from igq.pipeline.cli.deadletter import deadletter
from igq.pipeline.cli.journal_jobs import flow, journal, recovery, trace
from igq.pipeline.cli.pack import pack
from igq.pipeline.cli.replay import replay
from igq.pipeline.cli.streams import backout, claims, release

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def jobs() -> None:
    """Spark jobs over the queues and the message journal of a queue-sharing group.

    Every put, get, commit, back-out and transfer of a group leaves an event in the journal, in Redis. These jobs
    read it, and the queues, with Spark: on this machine unless --master names a cluster.
    """


#: Each job and its line in the list of jobs. It must fit into one line of a terminal.
_JOBS: dict[Callable[..., None], str] = {
    audit: "Prove that every message arrived once and in order.",
    flow: "Show how many messages left each queue, and how long they stayed.",
    trace: "Follow a MsgId, CorrelId or GroupId through every manager.",
    recovery: "Show failures, and how long their recoveries took.",
    deadletter: "List dead letters and their reasons, or put them back.",
    archive: "Copy queues into Parquet files, each message once.",
    replay: "Put the messages of an archive back, once.",
    journal: "Store the journal before Redis drops its oldest events.",
    claims: "List messages that streaming queries have claimed.",
    release: "Give back the messages of a query that will not return.",
    backout: "Move a batch that a query cannot process to a backout queue.",
    pack: "Pack igq into a .zip for spark-submit --py-files.",
}
for job, line in _JOBS.items():
    app.command(short_help=line)(job)
