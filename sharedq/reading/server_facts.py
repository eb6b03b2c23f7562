"""Facts of each server that only a look now and then needs: persistence, memory of its host, clock, certificate."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import redis


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server. None: it does not say, or this user may not ask.

    Attributes:
        name: ``HOST:PORT``, or the path of its socket.
        is_elsewhere: it is reached through a network, not on this machine alone.
        has_aof, has_rdb_error: it keeps an append-only file; its latest snapshot failed.
        used_memory, max_memory, host_memory: bytes; a limit of 0 is none.
        clients, max_clients: connections now, and at most.
        clock_ahead_s: its clock less that of this machine, seconds.
        is_tls: connections to it are encrypted.
        certificate_ends: when its certificate ends.
    """

    name: str
    is_elsewhere: bool = False
    has_aof: bool | None = None
    has_rdb_error: bool = False
    used_memory: int | None = None
    max_memory: int | None = None
    host_memory: int | None = None
    clients: int | None = None
    max_clients: int | None = None
    clock_ahead_s: float | None = None
    is_tls: bool = False
    certificate_ends: datetime | None = None


def read_server_facts(clients: Iterable[redis.Redis]) -> list[ServerFacts]:
    """Ask each server. One that does not answer is left out. Closes the clients."""
    found = []
    for client in clients:
        with client, contextlib.suppress(redis.RedisError, OSError):
            found.append(_facts_of(client))
    return found


def _facts_of(client: redis.Redis) -> ServerFacts:
    options = client.connection_pool.connection_kwargs
    path, host = options.get("path", ""), str(options.get("host", ""))
    info: dict[str, Any] = {}
    for section in ("persistence", "memory", "clients"):
        # Managed services and strict users refuse INFO.
        with contextlib.suppress(redis.ResponseError):
            info |= client.info(section)
    return ServerFacts(
        name=path or f"{host}:{options.get('port')}",
        is_elsewhere=not path and host not in ("localhost", "::1") and not host.startswith("127."),
        has_aof=bool(int(info["aof_enabled"])) if "aof_enabled" in info else None,
        has_rdb_error=info.get("rdb_last_bgsave_status", "ok") != "ok",
        used_memory=_number(info, "used_memory"),
        max_memory=_number(info, "maxmemory"),
        host_memory=_number(info, "total_system_memory"),
        clients=_number(info, "connected_clients"),
        max_clients=_number(info, "maxclients"),
        clock_ahead_s=_clock_ahead(client),
        **_certificate_of(client),
    )


def _number(info: dict[str, Any], name: str) -> int | None:
    return int(info[name]) if name in info else None


def _clock_ahead(client: redis.Redis) -> float | None:
    """Compare the clocks: the server's is read in the middle of the round trip, as far as anybody knows."""
    try:
        before_s = time.time()
        seconds, microseconds = client.time()
        after_s = time.time()
    except redis.ResponseError:
        return None
    return float(seconds) + float(microseconds) / 1e6 - (before_s + after_s) / 2


def _certificate_of(client: redis.Redis) -> dict[str, Any]:
    connection = client.connection_pool.get_connection()
    try:
        socket = getattr(connection, "_sock", None)
        if not isinstance(socket, ssl.SSLSocket):
            return {}
        # Empty if nothing was verified.
        ends = (socket.getpeercert() or {}).get("notAfter")
        at = datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC) if isinstance(ends, str) else None
        return {"is_tls": True, "certificate_ends": at}
    finally:
        client.connection_pool.release(connection)
