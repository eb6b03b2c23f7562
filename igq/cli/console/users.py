"""``igq console user``: adds, removes and lists the users of the console."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from igq.cli.help import show_help_alone
from igq.cli.standard_input import standard_input
from igq.errors import CommandError
from sharedq.display.lines import say, tell

if TYPE_CHECKING:
    from igq.web.access.users import Users

NAME = typer.Argument(metavar="USER", help="Name of the user.")


class RoleName(Enum):
    """Roles. Each from the second on may do what the ones between it and the first may."""

    MESSAGING = "messaging"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


def add_to(app: typer.Typer) -> None:
    user = typer.Typer(
        help="Add, remove and list the users of the console.", callback=show_help_alone, invoke_without_command=True
    )
    user.command("add")(add)
    user.command("remove")(remove)
    user.command("list")(list_all)
    app.add_typer(user, name="user")


def known_users() -> Users:
    """The users in the file that the settings name."""
    from igq.web.access.users import Users
    from sharedq.settings.loader import load_settings

    return Users(load_settings().users_file)


def recorder() -> Callable[[str], None]:
    """Return the function that logs a change. Call this before the change: each right that is given is in the log."""
    from igq.web.console_log import record_changes
    from sharedq.settings.loader import load_settings

    return record_changes(load_settings())


def add(
    name: Annotated[str, NAME],
    role: Annotated[RoleName, typer.Option("--role", help="Role: the rights of the user.")] = RoleName.VIEWER,
) -> int:
    """Add a user, or give one another role and password. The password is typed, or a line of standard input.

    A viewer looks at everything, messages too. An operator also starts, stops, clears, resolves, recovers, puts and
    gets. An administrator also defines, alters and deletes. A user of the role messaging, for programs, puts, gets and
    browses by REST on the queues that SET AUTHREC names for it, with PUT, GET and BROWSE, and does nothing else.
    """
    from igq.web.access.users import USER_NAME, Role

    if not USER_NAME.fullmatch(name):
        # Before the password is asked for.
        raise CommandError(f"{name!r} cannot be a user: 1 to 12 of A-Z a-z 0-9 _ . @ -, the first no . @ -", 2)
    password, record = _read_password(), recorder()
    is_new = known_users().add(name, Role[role.name], password)
    record(f"user {name} {'added' if is_new else 'changed'}, {role.value}")
    say(f"user {name} is {'added' if is_new else 'changed'}, {role.value}")
    return 0


def remove(name: Annotated[str, NAME]) -> int:
    """Remove a user with all tokens. Sessions of the user end at once."""
    record = recorder()
    known_users().remove(name)
    record(f"user {name} removed")
    say(f"user {name} is removed")
    return 0


def list_all() -> int:
    """List the users with their roles, one a line."""
    users = known_users()
    for name, user in sorted(users.all().items()):
        say(f"{name} {user.role}")
    if not users.all():
        tell("no user yet: igq console user add")
    return 0


def _read_password() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        import getpass

        password = getpass.getpass("Password: ")
        if getpass.getpass("Once more: ") != password:
            raise CommandError("the two passwords differ")
        return password
    line = standard_input("give the password as a line of it").readline()
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise CommandError("standard input: the password is not UTF-8 text") from None
