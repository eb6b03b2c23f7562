"""``igq group``: several managers under one supervisor; a member that leaves for good."""

from __future__ import annotations

from typing import Annotated

import typer

from config.lines import say
from igq.cli.help import show_help_alone


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        help="Several queue managers at once, and who is a member.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    group.command("start")(start)
    group.command("remove")(remove)
    app.add_typer(group, name="group")


def start(
    manager: Annotated[
        list[str], typer.Option("-m", "--manager", metavar="QMGR", help="A queue manager; repeat it for each.")
    ],
) -> int:
    """Start queue managers in the foreground. Ctrl-C stops them in good order, twice at once."""
    from config.loading import load_settings
    from igq.supervisor import Supervisor

    return Supervisor(load_settings(), manager).run()


def remove(
    name: Annotated[str, typer.Argument(metavar="QMGR", help="Name of a queue manager that is not running.")],
) -> int:
    """Remove a queue manager from the group, for example one whose name was mistyped; it must be down.

    With it go its definitions, private and COPY, its empty queues, its attributes, what igq status remembers of it, and
    the journal of its own structure: audit a run before that. Other members, shared queues and GROUP objects stay as
    they are; so does its log file. Started again it is a new member, with what a first start defines.

    It is refused, and says what stands against it, while the queue manager is up or has still to be recovered, while
    any recovery is under way, while units of work of it are in doubt, while a queue of it, or what is sent to it, has
    messages or is open. Then nothing has changed. Where it was cut off, the same command goes on; until then the queue
    manager cannot be started.

    IBM MQ for z/OS has REMOVE QMGR of its utility CSQ5PQSG for this. There is nothing like its FORCE QMGR here.
    """
    from config.loading import load_settings
    from igq.leaving import remove_manager

    settings = load_settings()
    remove_manager(settings, name)
    say(f"queue manager {name} is removed from group {settings.group}")
    return 0
