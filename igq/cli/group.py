"""``igq group``: several managers under one supervisor; a member that leaves for good."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone
from sharedq.display.lines import say, tell


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        help="Several queue managers at once, who is a member, and the settings of the group.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    group.command("start")(start)
    group.command("remove")(remove)
    group.command("show")(show)
    group.command("set")(change)
    app.add_typer(group, name="group")


def start(
    manager: Annotated[
        list[str], typer.Option("-m", "--manager", metavar="QMGR", help="A queue manager; repeat it for each.")
    ],
) -> int:
    """Start queue managers in the foreground. Ctrl-C stops them in good order, twice at once."""
    from igq.operations.supervisor import Supervisor
    from sharedq.settings.loader import load_settings

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
    from igq.operations.removal import remove_manager
    from sharedq.settings.loader import load_settings

    settings = load_settings()
    remove_manager(settings, name)
    say(f"queue manager {name} is removed from group {settings.group}")
    return 0


def show() -> int:
    """Show the settings that belong to the group: they are the same for every member and program.

    The first queue manager records them. Settings of this process that say otherwise are named on standard error.
    """
    from igq.operations.group_settings import group_settings
    from sharedq.settings.loader import load_settings

    values, differences = group_settings(load_settings())
    for name, value in values.items():
        say(f"{name} = {value}")
    for difference in differences:
        tell(f"igq: {difference}")
    return 0


def change(
    settings: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE...", help="lease_ms, wait_replicas, ...: see igq group show.")
    ],
) -> int:
    """Change settings of the group for every member and program.

    Running ones go over to wait_replicas and wait_replicas_timeout_ms with their next renewal, at most a third of a
    lease later. lease_ms holds for programs that register and managers that start afterwards, journal and
    journal_max_entries for connections made afterwards: restart the managers, one after the other, for those.
    """
    from igq.operations.group_settings import change_group_settings
    from sharedq.settings.loader import load_settings

    for name, value in change_group_settings(load_settings(), settings).items():
        say(f"{name} = {value}")
    return 0
