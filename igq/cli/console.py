"""``igq console``: serves the console and the REST interface, and keeps their users."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from igq.cli.help import show_help_alone
from igq.errors import CommandError
from sharedq.display.lines import say, tell

if TYPE_CHECKING:
    from igq.web.access.users import Users

#: Where IBM's web server listens.
DEFAULT_PORT = 9443
_NAME = typer.Argument(metavar="USER", help="Name of the user.")


class RoleName(Enum):
    """Roles, the least first. Each may do what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    console = typer.Typer(help=_serve.__doc__, callback=_serve, invoke_without_command=True)
    user = typer.Typer(
        help="Add, remove and list the users of the console.", callback=show_help_alone, invoke_without_command=True
    )
    user.command("add")(_add_user)
    user.command("remove")(_remove_user)
    user.command("list")(_list_users)
    token = typer.Typer(
        help="Add, remove and list tokens, with which programs use the REST interface.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    token.command("add")(_add_token)
    token.command("remove")(_remove_token)
    token.command("list")(_list_tokens)
    console.add_typer(user, name="user")
    console.add_typer(token, name="token")
    app.add_typer(console, name="console")


def _serve(
    context: typer.Context,
    listen: Annotated[
        str, typer.Option("--listen", metavar="[HOST:]PORT", help="Where to listen; default: the settings, else 9443.")
    ] = "",
    parent: Annotated[int, typer.Option("--parent", hidden=True, help="End with this process.")] = 0,
) -> int:
    """Serve the console and the REST interface of the group in the foreground. Ctrl-C ends it.

    A manager does the same by itself if the setting console_port is not 0.
    """
    if context.invoked_subcommand is not None:
        return 0
    from igq.processes.child import die_with_parent
    from sharedq.settings.loader import load_settings

    if parent:
        die_with_parent(parent)
    settings = load_settings()
    host, port = _address(listen, settings.console_listen, settings.console_port or DEFAULT_PORT)
    try:
        from igq.web.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("starlette", "uvicorn", "jinja2", "anyio"):
            raise
        raise CommandError(f"the console needs {error.name}: pip install 'igq[web]'") from None
    serve(settings, host, port, is_child=bool(parent))
    return 0


def _address(listen: str, host: str, port: int) -> tuple[str, int]:
    """Read [HOST:]PORT; an IPv6 address is in brackets."""
    before, _, last = listen.rpartition(":")
    if not listen:
        return host, port
    if not last.isascii() or not last.isdecimal() or int(last) > 65_535:
        raise CommandError(f"--listen {listen}: give [HOST:]PORT, with a port of 0 to 65535", 2)
    return before.removeprefix("[").removesuffix("]") or host, int(last)


def _users() -> Users:
    from igq.web.access.users import Users
    from sharedq.settings.loader import load_settings

    return Users(load_settings().users_file)


def _add_user(
    name: Annotated[str, _NAME],
    role: Annotated[RoleName, typer.Option("--role", help="What the user may do.")] = RoleName.VIEWER,
) -> int:
    """Add a user, or give one another role and password. The password is typed, or a line of standard input.

    A viewer looks at everything, messages too. An operator also starts, stops, clears, resolves, recovers, puts and
    gets. An administrator also defines, alters and deletes.
    """
    from igq.web.access.users import USER_NAME, Role

    if not USER_NAME.fullmatch(name):
        # Before the password is asked for.
        raise CommandError(f"{name!r} cannot be a user: 1 to 12 of A-Z a-z 0-9 _ . @ -, the first no . @ -", 2)
    is_new = _users().add(name, Role[role.name], _read_password())
    say(f"user {name} is {'added' if is_new else 'changed'}, {role.value}")
    return 0


def _remove_user(name: Annotated[str, _NAME]) -> int:
    """Remove a user with all tokens. Sessions of the user end at once."""
    _users().remove(name)
    say(f"user {name} is removed")
    return 0


def _list_users() -> int:
    """List the users with their roles, one a line."""
    users = _users()
    for name, user in sorted(users.all().items()):
        say(f"{name} {user.role}")
    if not users.all():
        tell("no user yet: igq console user add")
    return 0


def _add_token(
    name: Annotated[str, _NAME],
    days: Annotated[
        float | None, typer.Option("--days", min=0, metavar="N", help="Days that it is valid; default: until removed.")
    ] = None,
) -> int:
    """Print a new token for a user. It is shown only once; a program sends it as Authorization: Bearer TOKEN."""
    token_id, secret = _users().add_token(name, days)
    say(secret)
    tell(f"token {token_id} of {name}; igq console token remove {token_id} removes it")
    return 0


def _remove_token(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as igq console token list shows it.")],
) -> int:
    """Remove a token."""
    name = _users().remove_token(token_id)
    say(f"token {token_id} of {name} is removed")
    return 0


def _list_tokens() -> int:
    """List the tokens: id, user, when they were made, until when they are valid."""
    for name, user in sorted(_users().all().items()):
        for token_id, token in user.tokens.items():
            until = "until removed" if token.expires_s is None else f"until {_date(token.expires_s)}"
            is_over = token.expires_s is not None and token.expires_s <= time.time()
            say(f"{token_id} {name} made {_date(token.created_s)} valid {until}{' (over)' if is_over else ''}")
    return 0


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%SZ}"


def _read_password() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        import getpass

        password = getpass.getpass("Password: ")
        if getpass.getpass("Once more: ") != password:
            raise CommandError("the two passwords differ")
        return password
    line = sys.stdin.readline() if sys.stdin is not None else ""
    return line.rstrip("\r\n")
