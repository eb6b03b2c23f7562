"""The endpoint that Prometheus scrapes: ``/metrics`` on an address of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from igq.errors import CommandError, port_error
from igq.monitoring.bounded_server import BoundedServer
from igq.monitoring.collector import GroupCollector
from igq.monitoring.exposition import make_app
from igq.monitoring.token import token_required
from igq.processes.server_tls import tls_of
from sharedq.members.group import Group
from sharedq.settings.values import Settings

LOOPBACK = "127.0.0.1"


class MetricsEndpoint:
    """Serves the metrics of a group in threads of its own, over its own links, until `close`.

    Raises:
        CommandError: the certificate cannot be used, or the address cannot be listened on.
    """

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        tls = tls_of(settings, "metrics")
        self._scheme = "http" if tls is None else "https"
        # A scrape only reads, so it must work without replicas.
        self._group = Group(settings.model_copy(update={"wait_replicas": 0}))
        app = make_app(GroupCollector(self._group).text)
        if settings.metrics_token_file is not None:
            app = token_required(app, settings.metrics_token_file)
        try:
            self._server = BoundedServer((host, port), tls)
        except (OSError, OverflowError) as error:
            self._group.leave()
            raise port_error("the metrics", host, port, error) from None
        self._server.set_app(app)
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port, also if 0 was asked for."""
        return int(self._server.server_port)

    def url_at(self, host: str) -> str:
        """Return the URL at which the metrics are served."""
        return f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._group.leave()


def serve(settings: Settings, address: str, tell: Callable[[str, int, str], None]) -> None:
    """Serve metrics until Ctrl-C.

    Args:
        address: ``HOST:PORT``, ``[ADDRESS]:PORT``, or a port on loopback.
        tell: called with host, port and URL as soon as they are served there.

    Raises:
        CommandError: address, certificate or token cannot be used.
    """
    host, port = parse_address(address)
    endpoint = MetricsEndpoint(settings, host, port)
    tell(host, endpoint.port, endpoint.url_at(host))
    try:
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
    finally:
        endpoint.close()


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``, ``[ADDRESS]:PORT`` or ``PORT``.

    Raises:
        CommandError: it is none of these.
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535 or (":" in address and not host):
        raise CommandError(f"--listen {address}: HOST:PORT expected, for example {LOOPBACK}:9157", 2)
    return host or LOOPBACK, int(port)
