"""Runs the server: its socket, TLS, log and end."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from igq.errors import port_error
from igq.processes.server_tls import tls_of
from igq.web.access.users import Users
from igq.web.app import create_app
from igq.web.console_log import start_console_log
from igq.web.figure_history import keep_history
from igq.web.http.connections import IDLE_S, HttpConnections
from igq.web.site import Site
from sharedq.display.lines import say_json
from sharedq.settings.values import Settings

#: Seconds for requests to end when the server stops.
_STOPPING_S = 3
#: Bytes of the headers of a request.
_LONGEST_HEADERS = 32 << 10
_BACKLOG = 128


def serve(settings: Settings, host: str, port: int, *, is_child: bool) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        is_child: whether a manager started this process and reads its messages, a line of JSON each.

    Raises:
        CommandError: the address, the certificate, the file of users or the identity provider cannot be used.
    """
    Users(settings.users_file).all()
    say = _say_to_manager if is_child else _own_log(settings)
    context = tls_of(settings, "console")
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    site = Site(settings, say, port)
    proxies = settings.console_trusted_proxies.split()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        create_app(site),
        # Any callable that makes a protocol will do.
        http=HttpConnections(context, proxies).protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # Anybody can write X-Forwarded-For: only that of these proxies says where a client is.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        backlog=_BACKLOG,
        timeout_keep_alive=int(IDLE_S),
        timeout_graceful_shutdown=_STOPPING_S,
        h11_max_incomplete_event_size=_LONGEST_HEADERS,
    )
    # uvicorn raises the signal that ended it once more for the handler that was there before.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    shown = f"[{host}]" if ":" in host else host
    say("IGQ0101I", url=f"{'http' if context is None else 'https'}://{shown}:{port}/console/")
    if context is None and not _is_loopback(listening):
        say("IGQ0105E")
    keep_history(settings, is_child=is_child)
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise port_error("the console", host, port, error) from None


def _is_loopback(listening: socket.socket) -> bool:
    address = str(listening.getsockname()[0])
    return address.startswith("127.") or address == "::1"


def _own_log(settings: Settings) -> Callable[..., None]:
    say, file = start_console_log(settings)
    signal.signal(signal.SIGHUP, lambda *_: file.reopen())
    return say


def _say_to_manager(message_id: str, **fields: Any) -> None:
    say_json({"id": message_id, "fields": fields})
