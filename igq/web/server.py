"""Runs the server: its socket, TLS, log and end."""

from __future__ import annotations

import logging
import signal
import socket
import ssl
from collections.abc import Callable
from typing import Any

import uvicorn

from igq.errors import CommandError, port_error
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
        CommandError: the address, the certificate or the file of users cannot be used.
    """
    Users(settings.users_file).all()
    say = _say_to_manager if is_child else _own_log(settings)
    context = _tls(settings)
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


def _tls(settings: Settings) -> ssl.SSLContext | None:
    certificate, key = settings.console_certificate, settings.console_key
    if certificate is None:
        if key is not None:
            raise CommandError(f"console_key={key} needs console_certificate")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a password would ask for it on the terminal; there may be none.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or getattr(error, "reason", None) or str(error)
        raise CommandError(f"the console cannot use its certificate {certificate} and key {key}: {why}") from None
    return context


def _own_log(settings: Settings) -> Callable[..., None]:
    say, file = start_console_log(settings)
    signal.signal(signal.SIGHUP, lambda *_: file.reopen())
    return say


def _say_to_manager(message_id: str, **fields: Any) -> None:
    say_json({"id": message_id, "fields": fields})
