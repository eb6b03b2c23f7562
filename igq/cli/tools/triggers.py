"""``igq trigger-monitor``: starts programs for trigger messages."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.messages import QMGR
from igq.cli.tools.dead_letters import ended_by_signals
from sharedq.display.lines import tell


def add_to(app: typer.Typer) -> None:
    app.command("trigger-monitor", short_help="Start the programs that trigger messages name.")(trigger_monitor)


def trigger_monitor(
    qmgr: Annotated[str, QMGR],
    queue: Annotated[
        str, typer.Option("--queue", metavar="QUEUE", help="The initiation queue.")
    ] = "SYSTEM.DEFAULT.INITIATION.QUEUE",
) -> int:
    """Start the programs that trigger messages name, as runmqtrm does, until the queue manager stops.

    The command is APPLICID, then the MQTMC2 in one argument, then ENVRDATA, split as a shell would and run without one.
    The next trigger message has to wait for the end of the program, unless ENVRDATA ends with &. The environment has
    TRIGGER_QMGR, TRIGGER_QUEUE, TRIGGER_DATA and TRIGGER_USER_DATA. A message whose program cannot be started, or ends
    with another status than 0, goes to the dead-letter queue. A line on standard error tells of each start.

    Exit status: 0, the queue manager stops, or a signal has ended the command.
    """
    import sharedq
    from igq.output.silence import log_nothing
    from igq.triggers.monitor import TriggerMonitor

    log_nothing()
    with (
        sharedq.connect(qmgr, appl_name="igq trigger-monitor") as connection,
        ended_by_signals() as is_ended,
    ):
        TriggerMonitor(connection, queue, tell, is_ended).run()
    return 0
