"""``igq group``: starts several managers together, removes a member, shows and changes the group's settings."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.help import show_help_alone
from sharedq.display.lines import say, tell


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Start several queue managers, remove a member, show and change the settings of the group.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    group.command("start")(start)
    group.command("remove", short_help="Remove a queue manager from the group, for good.")(remove)
    group.command("show", short_help="Show the settings that belong to the group.")(show)
    group.command("set")(change)
    app.add_typer(group, name="group", short_help="Start managers; show or change the group.")
    app.command("upgrade", short_help="Bring the keys of the group to this version's format.")(upgrade)


def start(
    manager: Annotated[
        list[str], typer.Option("-m", "--manager", metavar="QMGR", help="A queue manager; repeat the option for each.")
    ],
) -> int:
    """Start queue managers in the foreground. Ctrl-C stops them in good order; a second Ctrl-C stops them at once.

    When all are ready, it tells the three worst findings of igq doctor, if there are any.
    """
    import signal

    # As for one manager: see `igq.cli.qmgr`.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from igq.operations.supervisor import Supervisor
    from sharedq.settings.loader import load_settings

    return Supervisor(load_settings(), manager).run()


def remove(
    name: Annotated[str, typer.Argument(metavar="QMGR", help="Name of a queue manager that is not running.")],
) -> int:
    """Remove a queue manager that is not running from the group, for example one with a mistyped name.

    The command also deletes its definitions (private ones and copies), its empty queues, its attributes, its entries in
    igq status, and the journal of its own structure, so audit a run first. Other members, shared queues, GROUP objects
    and its log file stay. If it is started again, it is a new member with the objects that a first start defines.

    The command is refused, with the reason, while the queue manager is up or not yet recovered, while any recovery is
    under way, while it has a unit of work in doubt, and while one of its queues, or a queue with messages for it, is
    open or not empty. Nothing has changed then. If the command is interrupted, run it again; until then the queue
    manager cannot be started.

    IBM MQ for z/OS does this with REMOVE QMGR of its utility CSQ5PQSG. There is no equivalent of its FORCE QMGR here.
    """
    from igq.operations.shutdown import remove_manager
    from sharedq.settings.loader import load_settings

    settings = load_settings()
    remove_manager(settings, name)
    say(f"queue manager {name} is removed from group {settings.group}")
    return 0


def show() -> int:
    """Show the settings that belong to the group and are the same for every member and program.

    The first queue manager records them. Settings of this process that differ are named on standard error.
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
    force: Annotated[
        bool, typer.Option("--force", help="Wait for more replicas than there are: every write fails until they come.")
    ] = False,
) -> int:
    """Change settings of the group for every member and program.

    Running members use new values of wait_replicas, wait_replicas_timeout_ms and journal_max_bytes within a lease. A
    new lease_ms applies to programs that register and managers that start afterwards; journal and journal_max_entries
    apply to later connections. For those, restart the managers one after the other.
    """
    from igq.operations.group_settings import change_group_settings
    from sharedq.settings.loader import load_settings

    for name, value in change_group_settings(load_settings(), settings, is_forced=force).items():
        say(f"{name} = {value}")
    return 0


def upgrade(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the steps, and change nothing.")] = False,
) -> int:
    """Bring the key space of the group to the format of this version of igq.

    First upgrade igq where managers and programs run, one after the other: members of neighbouring versions work
    together. The command is refused while a manager or program is registered that does not speak the new format; from
    then on none of these can register any more. If the command is interrupted, run it again.
    """
    from igq.operations.upgrade import upgrade as upgrade_group
    from sharedq.settings.loader import load_settings

    for line in upgrade_group(load_settings(), is_dry_run=dry_run) or ["nothing to do"]:
        say(line)
    return 0
