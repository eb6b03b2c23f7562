"""The commands together."""

from __future__ import annotations

import typer

from pipeline.cli.archiving import archive, replay
from pipeline.cli.audit import audit
from pipeline.cli.deadletter import deadletter
from pipeline.cli.journal_jobs import flow, journal, recovery, trace
from pipeline.cli.streams import claims, release

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def jobs() -> None:
    """Spark jobs over the queues and the message journal of a queue-sharing group.

    Every put, get, commit, back-out and transfer of a group leaves an event in the journal, in Redis. These jobs
    read it, and the queues, with Spark: on this machine unless --master names a cluster.
    """


for job in (audit, flow, trace, recovery, deadletter, archive, replay, journal, claims, release):
    app.command()(job)
