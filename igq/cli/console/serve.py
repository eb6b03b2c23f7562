"""``igq console``: serves the console and the REST interface in the foreground."""

from __future__ import annotations

from typing import Annotated

import typer

from igq.cli.console import tokens, users
from igq.errors import CommandError

#: Where IBM's web server listens.
DEFAULT_PORT = 9443


def add_to(app: typer.Typer) -> None:
    console = typer.Typer(help=_serve.__doc__, callback=_serve, invoke_without_command=True)
    users.add_to(console)
    tokens.add_to(console)
    app.add_typer(console, name="console", short_help="Serve the console and the REST interface.")


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
    import signal

    from igq.processes.child import die_with_parent, take_hangups
    from sharedq.settings.loader import load_settings

    if parent:
        die_with_parent(parent)
    # A manager owns the log of its console. One that serves in the foreground opens its own log, and then a handler.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    take_hangups()
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
