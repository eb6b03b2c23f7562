"""The endpoint that Prometheus scrapes: ``/metrics`` on an address of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from igq.errors import CommandError, port_error
from igq.monitoring.bounded_server import BoundedServer
from igq.monitoring.collector import GroupCollector
from igq.monitoring.token import token_required
from sharedq.members.group import Group
from sharedq.settings.values import Settings

LOOPBACK = "127.0.0.1"
_MISSING = "metrics need the extra metrics: pip install 'igq[metrics]'"


class MetricsEndpoint:
    """Serves the metrics of a group in threads of its own, over its own links, until `close`.

    Raises:
        CommandError: the extra is missing, or the address cannot be listened on.
    """

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        try:
            from prometheus_client.exposition import make_wsgi_app
            from prometheus_client.registry import CollectorRegistry
        except ImportError:
            raise CommandError(_MISSING) from None
        # A scrape only reads, so it must work without replicas.
        self._group = Group(settings.model_copy(update={"wait_replicas": 0}))
        # Not the library's own registry: that reads a collector as soon as it is registered.
        registry = CollectorRegistry(auto_describe=False)
        registry.register(GroupCollector(self._group))
        app = make_wsgi_app(registry)
        if settings.metrics_token_file is not None:
            app = token_required(app, settings.metrics_token_file)
        try:
            self._server = BoundedServer((host, port))
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

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._group.leave()


def serve(settings: Settings, address: str, tell: Callable[[str, int], None]) -> None:
    """Serve metrics until Ctrl-C.

    Args:
        address: ``HOST:PORT``, ``[ADDRESS]:PORT``, or a port on loopback.
        tell: called with host and port as soon as they are served there.

    Raises:
        CommandError: the address cannot be used, or the extra is missing.
    """
    host, port = parse_address(address)
    endpoint = MetricsEndpoint(settings, host, port)
    tell(host, endpoint.port)
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


def url_of(host: str, port: int) -> str:
    """Return the URL at which metrics are served."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
