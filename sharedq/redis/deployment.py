"""The deployment: one server, a Sentinel-guarded pair or a Cluster, given by a URL. Without a URL it is embedded.

redis-py knows topologies, and opens connections. Calls do without its pools and retries, which cost more than a script
does, and send writes again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection, parse_url
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError, TryAgainError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from sharedq.redis.answers import move_limit_s, pause_s
from sharedq.redis.wire import Packer, keepalive_options
from sharedq.settings.redis_url import check_redis_url, mask_password

T = TypeVar("T")
#: Seconds to wait for a connection. Calls have no time limit here: a lease bounds them.
CONNECT_TIMEOUT_S = 5.0
#: Seconds of silence after which a server is gone, for users that know no lease.
SILENCE_S = 10.0

_SENTINEL_REMEDY = (
    "a Sentinel without password, or with the credentials of the URL, needs nothing more; others are given by"
    " ?sentinel_username=USER&sentinel_password=PASSWORD"
)


class DeploymentError(Exception):
    """Redis cannot be used as configured. The message is one line and contains no password."""


class SlotNotServedError(redis.ConnectionError):
    """No node of the Cluster serves the slot of a key. Other slots may be served."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server: a unix socket, or a host and a port."""

    path: str = ""
    host: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class _Url:
    """A parsed URL: how to find the servers, and the options of every connection."""

    kind: str
    endpoints: tuple[Endpoint, ...]
    service: str = ""
    is_tls: bool = False
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    #: For the Sentinels alone. Empty: they have no password, or the URL's.
    sentinel_credentials: dict[str, Any] = field(default_factory=dict, repr=False)


class SlotClient(redis.Redis):
    """An ordinary client of the server of one slot, for readers. It follows the slot to another node of a Cluster."""

    follow: Callable[[redis.ResponseError], None] | None = None

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """As redis-py has it."""
        return self.following(lambda: super(SlotClient, self).execute_command(*args, **options))  # type: ignore[no-untyped-call]

    def following(self, read: Callable[[], T]) -> T:
        """Read, and repeat that at the right node: one that refuses a read because of its slot has done nothing."""
        end_s = time.monotonic() + move_limit_s()
        while True:
            try:
                return read()
            except (MovedError, AskError, TryAgainError) as error:
                if self.follow is None or time.monotonic() > end_s:
                    raise
                self.follow(error)


class Deployment:
    """Finds the server that holds a key and opens connections to it. Safe to use from several threads.

    Args:
        silence_s: a server whose machine gives no sign of life for this long is gone, and connections to it end.
        why_away: says why the server may have gone; empty if that is not known.
    """

    def __init__(self, url: str, *, silence_s: float = SILENCE_S, why_away: Callable[[], str] = lambda: "") -> None:
        self._url, self.why_away = _parse(url), why_away
        self._silence_s = silence_s
        self._lock = threading.Lock()
        self._cluster: redis.RedisCluster | None = None
        self._sentinel_master: Endpoint | None = None
        #: Whether a server, a Sentinel that knows the primary's name, or a node of the Cluster has ever answered.
        self.has_answered = False
        #: Counts how often a slot of the Cluster was found on another node than before.
        self.moves = 0

    @property
    def is_cluster(self) -> bool:
        """Whether keys live on several servers."""
        return self._url.kind == "cluster"

    def locate(self, key: str) -> Endpoint:
        """Return the server that holds *key* now.

        Raises:
            redis.RedisError: the server could not be determined; SlotNotServedError: no node serves the slot.
        """
        if self._url.kind == "single":
            return self._url.endpoints[0]
        if self._url.kind == "sentinel":
            return self._find_master()
        slot = key_slot(key.encode())
        try:
            node = self._find_cluster().nodes_manager.get_node_from_slot(slot)
        except redis.exceptions.SlotNotCoveredError as error:
            # redis-py raises no error of its own here.
            raise SlotNotServedError(f"no node of the Cluster serves slot {slot}") from error
        return Endpoint(host=str(node.host), port=int(node.port))

    def forget(self) -> None:
        """Forget the servers found so far, because one refused or a slot moved."""
        with self._lock:
            self._sentinel_master = None
            cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close()

    def note_move(self) -> None:
        """Note that a slot of the Cluster has moved."""
        self.forget()
        with self._lock:
            self.moves += 1

    def open(self, endpoint: Endpoint, *, timeout_s: float | None = None) -> AbstractConnection:
        """Open a connection to *endpoint*, which is never shared and never retried.

        Raises:
            redis.RedisError: the server does not answer, or refuses us.
        """
        maker, where = self._way_to(endpoint)
        connection = maker(**where, **self._connection_options(timeout_s))
        connection.connect()
        self.has_answered = True
        return connection

    def client(self, key: str = "") -> SlotClient:
        """Return an ordinary client of the server that holds *key*: for reports and streams, not for the hot paths."""
        client = self._client(self.locate(key))

        def follow(error: redis.ResponseError) -> None:
            if not isinstance(error, MovedError):
                time.sleep(pause_s())
                return
            self.note_move()
            client.connection_pool.disconnect()
            client.connection_pool = self._pool(self.locate(key))

        if self.is_cluster:
            client.follow = follow
        return client

    def clients(self) -> list[redis.Redis]:
        """Return an ordinary client of each server that holds keys: every primary of a Cluster, or the only one."""
        if not self.is_cluster:
            return [self.client()]
        return [
            self._client(Endpoint(host=str(node.host), port=int(node.port)))
            for node in self._find_cluster().get_primaries()
        ]

    def memory(self, key: str) -> tuple[int, int] | None:
        """Return the bytes that the server of *key* uses, and may use (0: any). None if it cannot be asked."""
        try:
            with self.client(key) as client:
                told = client.info("memory")
                return int(told["used_memory"]), int(told["maxmemory"])
        except redis.RedisError:
            return None

    def _client(self, endpoint: Endpoint) -> SlotClient:
        client = SlotClient(connection_pool=self._pool(endpoint))
        client.auto_close_connection_pool = True
        return client

    def _pool(self, endpoint: Endpoint) -> redis.ConnectionPool:
        maker, where = self._way_to(endpoint)
        return redis.ConnectionPool(connection_class=maker, **where, **self._connection_options(None))

    def _way_to(self, endpoint: Endpoint) -> tuple[type[AbstractConnection], dict[str, Any]]:
        """Return the class of a connection to *endpoint*, and the options that say where it is."""
        if endpoint.path:
            return UnixDomainSocketConnection, {"path": endpoint.path}
        maker = SSLConnection if self._url.is_tls else Connection
        return maker, {"host": endpoint.host, "port": endpoint.port, **self._tcp_options()}

    def _connection_options(self, timeout_s: float | None) -> dict[str, Any]:
        return {
            "protocol": 2,
            "driver_info": None,
            "command_packer": Packer(),
            "socket_timeout": timeout_s,
            "socket_connect_timeout": CONNECT_TIMEOUT_S,
            "retry": Retry(NoBackoff(), 0),
            **self._url.options,
        }

    def _tcp_options(self) -> dict[str, Any]:
        return {"socket_keepalive": True, "socket_keepalive_options": keepalive_options(self._silence_s)}

    def _find_master(self) -> Endpoint:
        with self._lock:
            if self._sentinel_master is None:
                self._sentinel_master = self._ask_sentinels()
            return self._sentinel_master

    def _ask_sentinels(self) -> Endpoint:
        """Return the primary that the first Sentinel with an answer names.

        Raises:
            redis.AuthenticationError: no Sentinel that answers accepts our credentials.
            MasterNotFoundError: no Sentinel knows a primary, or none answers.
        """
        refusals: list[str] = []
        has_answered = False
        for each in self._url.endpoints:
            try:
                return self._ask_sentinel(each)
            except (redis.AuthenticationError, redis.exceptions.NoPermissionError) as error:
                refusals.append(f"Sentinel {each.host}:{each.port}: {_why_refused(error)}")
            except MasterNotFoundError:
                has_answered = True
            except (redis.RedisError, OSError):
                continue
        # redis-py's text shows its internal objects.
        asked = ", ".join(f"{each.host}:{each.port}" for each in self._url.endpoints)
        why = "; ".join([f"no Sentinel of {asked} knows a primary {self._url.service}", *refusals])
        if refusals and not has_answered:
            raise redis.AuthenticationError(f"{'; '.join(refusals)}; {_SENTINEL_REMEDY}")
        raise MasterNotFoundError(why)

    def _ask_sentinel(self, endpoint: Endpoint) -> Endpoint:
        told = self._url.sentinel_credentials
        try:
            return self._named_by(endpoint, told)
        except (redis.AuthenticationError, redis.exceptions.NoPermissionError):
            own = {name: value for name, value in self._url.options.items() if name in ("username", "password")}
            if told or not own:
                raise
            return self._named_by(endpoint, own)

    def _named_by(self, endpoint: Endpoint, credentials: dict[str, Any]) -> Endpoint:
        """Return the primary that one Sentinel names."""
        options = {"socket_timeout": 1.0, "protocol": 2, "driver_info": None, **self._tls_options(), **credentials}
        with redis.Redis(endpoint.host, endpoint.port, retry=Retry(NoBackoff(), 0), **options) as client:
            try:
                state: Any = client.sentinel_master(self._url.service)
            except redis.ResponseError as error:
                if isinstance(error, redis.exceptions.NoPermissionError):
                    raise
                # "No such master with that name".
                raise MasterNotFoundError(str(error)) from error
        self.has_answered = True
        if not state["is_master"] or state["is_sdown"] or state["is_odown"]:
            raise MasterNotFoundError(f"{self._url.service} is down")
        return Endpoint(host=str(state["ip"]), port=int(state["port"]))

    def _tls_options(self) -> dict[str, Any]:
        """Return the options for calls to Sentinels and nodes of a Cluster, besides credentials."""
        told = {name: value for name, value in self._url.options.items() if name.startswith("ssl_")}
        return {"ssl": True, **told} if self._url.is_tls else {}

    def _find_cluster(self) -> redis.RedisCluster:
        with self._lock:
            if self._cluster is None:
                nodes = [redis.cluster.ClusterNode(e.host, e.port) for e in self._url.endpoints]
                credentials = {k: v for k, v in self._url.options.items() if k in ("username", "password")}
                try:
                    self._cluster = redis.RedisCluster(
                        startup_nodes=nodes,
                        socket_timeout=CONNECT_TIMEOUT_S,
                        # The Cluster itself decides whether it serves some slots without the others.
                        require_full_coverage=False,
                        **self._tls_options(),
                        **credentials,
                    )
                except redis.exceptions.RedisClusterException as error:
                    # redis-py raises no error of its own here, but its cause is one.
                    cause = error.__cause__
                    raise cause if isinstance(cause, redis.RedisError) else redis.ConnectionError(str(error)) from error
                self.has_answered = True
            return self._cluster


def _why_refused(error: redis.RedisError) -> str:
    """Return what a Sentinel says. redis-py takes the first word off."""
    text = str(error)
    if isinstance(error, redis.exceptions.NoPermissionError):
        return f"NOPERM {text}"
    if "invalid username-password" in text or "WRONGPASS" in text:
        return "WRONGPASS, it does not accept these credentials"
    return "NOAUTH, it asks for a password"


def _parse(url: str) -> _Url:
    try:
        check_redis_url(url)
    except ValueError as error:
        raise DeploymentError(f"bad Redis URL {mask_password(url)}: {error}") from None
    scheme = url.partition("://")[0]
    return _parse_several(url, scheme) if "+" in scheme else _parse_single(url)


def _parse_single(url: str) -> _Url:
    options = parse_url(url)
    maker = options.pop("connection_class", Connection)
    if maker is UnixDomainSocketConnection:
        endpoint = Endpoint(path=options.pop("path"))
    else:
        endpoint = Endpoint(host=options.pop("host", "localhost"), port=options.pop("port", 6379))
    return _Url("single", (endpoint,), is_tls=maker is SSLConnection, options=options)


def _parse_several(url: str, scheme: str) -> _Url:
    kind = scheme.partition("+")[2]
    # urlsplit cannot read a port after a comma, so the list of hosts is taken apart here.
    where, _, query = url.partition("://")[2].partition("?")
    authority, _, service = where.partition("/")
    credentials, _, hosts = authority.rpartition("@")
    options: dict[str, Any] = _parameters(query, is_tls=scheme.startswith("rediss"))
    for_sentinels = {
        name: options.pop(f"sentinel_{name}") for name in ("username", "password") if f"sentinel_{name}" in options
    }
    if credentials:
        user, _, password = credentials.partition(":")
        options |= {k: unquote(v) for k, v in (("username", user), ("password", password)) if v}
    default_port = 26379 if kind == "sentinel" else 6379
    endpoints = tuple(_endpoint(part, default_port) for part in hosts.split(","))
    return _Url(
        kind,
        endpoints,
        service=service,
        is_tls=scheme.startswith("rediss"),
        options=options,
        sentinel_credentials=for_sentinels,
    )


def _parameters(query: str, *, is_tls: bool) -> dict[str, Any]:
    """Parse what follows the ``?`` as in a URL of a single server."""
    options = parse_url(f"{'rediss' if is_tls else 'redis'}://host?{query}")
    return {name: value for name, value in options.items() if name not in ("host", "port", "connection_class")}


def _endpoint(text: str, default_port: int) -> Endpoint:
    parts = urlsplit(f"//{text}")
    return Endpoint(host=parts.hostname or "localhost", port=parts.port or default_port)
