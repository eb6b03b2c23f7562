"""``igq qmgr start`` and ``igq qmgr stop``."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone
from sharedq.display.lines import say

#: Of seconds to stop in: as many as a get can wait.
_MOST_TIMEOUT_S = 2_147_483
_NAME = typer.Argument(metavar="QMGR", help="Name of the queue manager.")


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    qmgr = typer.Typer(help="One queue manager.", callback=show_help_alone, invoke_without_command=True)
    qmgr.command("start")(start)
    qmgr.command("stop")(stop)
    app.add_typer(qmgr, name="qmgr")


def start(
    name: Annotated[str, _NAME],
    parent: Annotated[int, typer.Option("--parent", hidden=True, help="End with this process.")] = 0,
) -> int:
    """Start a queue manager in the foreground; it prints a line when it is ready.

    The first Ctrl-C stops it in good order, the second at once.
    """
    from igq.console.child import die_with_parent

    if parent:
        # Before the imports below, which take half a second: the parent may be killed in it.
        die_with_parent(parent)
    from igq.manager.process import QueueManager
    from sharedq.settings.loader import load_settings

    QueueManager(load_settings(), name).run()
    return 0


def stop(
    name: Annotated[str, _NAME],
    immediate: Annotated[bool, typer.Option("--immediate", help="End programs at once.")] = False,
    timeout: Annotated[
        float,
        typer.Option(
            min=0,
            max=_MOST_TIMEOUT_S,
            metavar="S",
            help="Seconds for programs to end; then their work is backed out.",
        ),
    ] = 30.0,
) -> int:
    """Stop a queue manager, wherever it runs; returns when it has stopped.

    New connections are refused; the manager waits for programs to disconnect.
    """
    from igq.operations.shutdown import stop_manager
    from sharedq.settings.loader import load_settings

    stop_manager(load_settings(), name, is_immediate=immediate, timeout_s=timeout)
    say(f"queue manager {name} has stopped")
    return 0
