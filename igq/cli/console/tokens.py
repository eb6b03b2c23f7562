"""``igq console token``: adds, removes and lists the tokens of the console's users."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from igq.cli.console.users import NAME, known_users, recorder
from igq.cli.help import show_help_alone
from sharedq.display.lines import say, tell


def add_to(app: typer.Typer) -> None:
    token = typer.Typer(
        help="Add, remove and list tokens, with which programs use the REST interface.",
        callback=show_help_alone,
        invoke_without_command=True,
    )
    token.command("add")(add)
    token.command("remove")(remove)
    token.command("list", short_help="List the tokens with their users and times.")(list_all)
    app.add_typer(token, name="token", short_help="Add, remove and list the tokens of REST programs.")


def add(
    name: Annotated[str, NAME],
    days: Annotated[
        float | None, typer.Option("--days", min=0, metavar="N", help="Days that it is valid; default: until removed.")
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="PROFILE", help="Only for messages on such queues, like ORDERS.*; repeatable."),
    ] = None,
) -> int:
    """Print a new token for a user. It is shown only once; a program sends it as Authorization: Bearer TOKEN.

    It can do what its user may. With --queue it can only put, get and browse messages by REST, on queues whose names
    fit: a PROFILE is a name, or generic as those of SET AUTHREC.
    """
    record = recorder()
    token_id, secret = known_users().add_token(name, days, queue or ())
    until = "until removed" if days is None else f"for {days:g} days"
    record(f"token {token_id} of {name} added, valid {until}{_only(queue or ())}")
    say(secret)
    tell(f"token {token_id} of {name}; igq console token remove {token_id} removes it")
    return 0


def remove(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as igq console token list shows it.")],
) -> int:
    """Remove a token."""
    record = recorder()
    name = known_users().remove_token(token_id)
    record(f"token {token_id} of {name} removed")
    say(f"token {token_id} of {name} is removed")
    return 0


def list_all() -> int:
    """List the tokens: id, user, when they were made, until when they are valid, and the queues that they are for."""
    for name, user in sorted(known_users().all().items()):
        for token_id, token in user.tokens.items():
            until = "until removed" if token.expires_s is None else f"until {_date(token.expires_s)}"
            is_over = token.expires_s is not None and token.expires_s <= time.time()
            over = " (over)" if is_over else ""
            say(f"{token_id} {name} made {_date(token.created_s)} valid {until}{over}{_only(token.queues)}")
    return 0


def _only(queues: Sequence[str]) -> str:
    return f" for messages on {', '.join(queues)}" if queues else ""


def _date(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%SZ}"
