"""``igq qmgr start`` and ``igq qmgr stop``."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone
from sharedq.display.lines import say

#: The longest time to stop in, seconds: as long as a get can wait.
_MOST_TIMEOUT_S = 2_147_483
_NAME = typer.Argument(metavar="QMGR", help="Name of the queue manager.")


def add_to(app: typer.Typer) -> None:
    qmgr = typer.Typer(help="Start or stop one queue manager.", callback=show_help_alone, invoke_without_command=True)
    qmgr.command("start")(start)
    qmgr.command("stop")(stop)
    app.add_typer(qmgr, name="qmgr")


def start(
    name: Annotated[str, _NAME],
    parent: Annotated[int, typer.Option("--parent", hidden=True, help="End with this process.")] = 0,
) -> int:
    """Start a queue manager in the foreground. It prints a line when it is ready.

    The first Ctrl-C stops it in good order, the second at once.
    """
    import signal

    from igq.processes.child import die_with_parent

    # A rotation of logs may come in the half second of the imports below. There is no log to reopen yet.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if parent:
        # Before the imports below, which take half a second: the parent may be killed in that time.
        die_with_parent(parent)
    from igq.processes.child import start_agent_process
    from sharedq.settings.loader import load_settings

    settings = load_settings()
    # Now, so that it imports its modules while the manager imports its own, and joins.
    agent = start_agent_process(name)
    from igq.manager.process import QueueManager

    QueueManager(settings, name, agent).run()
    return 0


def stop(
    name: Annotated[str, _NAME],
    immediate: Annotated[bool, typer.Option("--immediate", help="Stop without waiting for programs.")] = False,
    timeout: Annotated[
        float,
        typer.Option(
            min=0,
            max=_MOST_TIMEOUT_S,
            metavar="S",
            help="Seconds that programs have to end; afterwards their work is backed out.",
        ),
    ] = 30.0,
) -> int:
    """Stop a queue manager on any host. The command returns when it has stopped.

    The manager refuses new connections and waits until programs disconnect.
    """
    from igq.operations.shutdown import stop_manager
    from sharedq.settings.loader import load_settings

    stop_manager(load_settings(), name, is_immediate=immediate, timeout_s=timeout)
    say(f"queue manager {name} has stopped")
    return 0
