"""Durability: how much of what it acknowledged a deployment keeps. Read from the server and told in one sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import redis

from sharedq.redis.answers import is_withheld

Level = Literal["always", "everysec", "replicated", "none"]
#: From the weakest to the strongest.
_LEVELS: tuple[Level, ...] = ("none", "everysec", "replicated", "always")


@dataclass(frozen=True, slots=True)
class Durability:
    """How many acknowledged changes are kept. `statement` is for start-up lines, status and logs."""

    #: always: synced to disk first. replicated: on other servers first. everysec: synced within about two seconds.
    #: none: none of these, or a server that drops keys.
    level: Level
    statement: str
    #: Replicas are missing that it needs to be as durable as configured.
    is_short_of_replicas: bool = False
    #: The server drops messages, cannot write them, or does not answer: an operator must look.
    is_failing: bool = False
    #: Settings of the servers that an operator should change, each with the change.
    warnings: tuple[str, ...] = ()

    def meets(self, *, strict: bool) -> bool:
        """Whether a manager may start here. If strict, only if what is acknowledged is kept."""
        return not strict or self.level in ("always", "replicated")


@dataclass(frozen=True, slots=True)
class Facts:
    """A server's statement about itself, and the group's demand on it."""

    has_aof: bool
    #: always, everysec or no. None if the server does not let us ask.
    appendfsync: str | None
    #: It does not sync while it rewrites its append-only file (no-appendfsync-on-rewrite yes).
    is_unsynced_in_rewrite: bool
    #: The last write of the append-only file succeeded.
    is_aof_healthy: bool
    #: It drops keys when its memory is full.
    is_evicting: bool
    replicas_online: int
    #: Replicas that must acknowledge every change. 0: none.
    wait_replicas: int
    #: Its policy (maxmemory-policy) if that drops messages, now or as soon as its memory has a limit; else empty.
    dropping_policy: str = ""


def read_weakest(clients: Iterable[redis.Redis], *, wait_replicas: int = 0, may_be_silent: bool = False) -> Durability:
    """Return the durability of a group with keys on several servers: the weakest. Closes the clients.

    Args:
        clients: one for each server, as for `read_durability`.
        may_be_silent: count a server that does not answer as keeping nothing, instead of raising.

    Raises:
        redis.RedisError: a server does not answer, or refuses us.
    """
    found = []
    for client in clients:
        with client:
            try:
                found.append(read_durability(client, wait_replicas=wait_replicas))
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if not may_be_silent:
                    raise
                found.append(Durability("none", f"unknown: a server does not answer ({error})", is_failing=True))
    # Of the weakest, tell of one that an operator must look at; and of what is wrong with any.
    weakest = min(found, key=lambda durability: (_LEVELS.index(durability.level), not durability.is_failing))
    warnings = dict.fromkeys(warning for durability in found for warning in durability.warnings)
    return replace(weakest, warnings=tuple(warnings))


def read_durability(client: redis.Redis, *, wait_replicas: int = 0) -> Durability:
    """Ask a writable server how durable it is.

    Args:
        client: of the server. Its user need not be permitted to use CONFIG.
        wait_replicas: how many replicas the group waits for (WAIT) before it acknowledges.

    Raises:
        redis.RedisError: the server does not answer, or refuses us.
    """
    try:
        return judge(_read_facts(client, wait_replicas))
    except redis.ResponseError as error:
        if not is_withheld(error):
            raise
        return Durability("none", "unknown: the server does not tell (INFO is refused to this user)")


def fewest_replicas(clients: Iterable[redis.Redis]) -> int | None:
    """Return how many replicas follow the server that has the fewest: 0 for one without an answer. Closes the clients.

    Returns:
        None where none of them tells (INFO is refused).
    """
    found = []
    for client in clients:
        with client:
            try:
                found.append(_read_facts(client, 0).replicas_online)
            except (redis.ConnectionError, redis.TimeoutError):
                found.append(0)
            except redis.ResponseError:
                continue
    return min(found, default=None)


def judge(facts: Facts) -> Durability:
    """Derive the durability from the facts. The strongest guarantee counts."""
    return replace(_judge_level(facts), warnings=tuple(_warnings(facts)))


def _warnings(facts: Facts) -> Iterator[str]:
    if facts.dropping_policy:
        when = "when its memory is full" if facts.is_evicting else "as soon as its maxmemory is set and reached"
        yield f"maxmemory-policy {facts.dropping_policy}: the server drops messages {when}; set noeviction"
    if facts.has_aof and not facts.is_aof_healthy:
        yield "the server cannot write its append-only file: look at its disk and its log"


def _judge_level(facts: Facts) -> Durability:
    if facts.is_evicting:
        return Durability(
            "none",
            "none: the server drops keys when its memory is full (set maxmemory-policy noeviction)",
            is_failing=True,
        )
    if facts.has_aof and not facts.is_aof_healthy:
        return Durability("none", "none: the server cannot write its append-only file at present", is_failing=True)
    if facts.has_aof and facts.appendfsync == "always" and not facts.is_unsynced_in_rewrite:
        return Durability("always", "always: a message is synced to the server's disk before it is acknowledged")
    if facts.wait_replicas > 0:
        return _judge_replicated(facts)
    return _judge_lossy(facts)


def _judge_replicated(facts: Facts) -> Durability:
    wanted, online = facts.wait_replicas, facts.replicas_online
    if online >= wanted:
        return Durability(
            "replicated",
            f"replicated: a message is on {_replicas(wanted)} before it is acknowledged ({online} online)",
        )
    return Durability(
        "none", f"none: {_replicas(wanted)} must have a message, but {online} online", is_short_of_replicas=True
    )


def _judge_lossy(facts: Facts) -> Durability:
    if not facts.has_aof:
        return Durability("none", "none: the server keeps messages in memory only (appendonly is off)")
    if facts.appendfsync == "no":
        return Durability(
            "none", "none: the server leaves it to its host when messages reach the disk (appendfsync no)"
        )
    if facts.is_unsynced_in_rewrite:
        return Durability(
            "none", "none: while it rewrites its file, the server syncs nothing (set no-appendfsync-on-rewrite no)"
        )
    if facts.appendfsync is None:
        # Redis' own default. No more can be assumed of an unknown server.
        return Durability("everysec", "everysec: assumed, the server does not tell its appendfsync (CONFIG is refused)")
    return Durability("everysec", "everysec: if the server's host fails, the last two seconds of messages may be lost")


def _replicas(count: int) -> str:
    return f"{count} replica" + ("" if count == 1 else "s")


def _read_facts(client: redis.Redis, wait_replicas: int) -> Facts:
    info: dict[str, Any] = {}
    for section in ("persistence", "replication", "memory"):
        info |= client.info(section)
    config: dict[Any, Any] = {}
    # Managed services and strict ACLs refuse CONFIG: it is an unknown command, or not permitted.
    with contextlib.suppress(redis.ResponseError):
        config = client.config_get("*appendfsync*")
    replicas = [info.get(f"slave{n}") for n in range(int(info.get("connected_slaves", 0)))]
    policy = str(info.get("maxmemory_policy", "noeviction"))
    # The volatile policies drop only keys with a time to live, and no message has one.
    dropping = policy if policy.startswith("allkeys") else ""
    return Facts(
        has_aof=bool(int(info.get("aof_enabled", 0))),
        appendfsync=config.get("appendfsync"),
        is_unsynced_in_rewrite=config.get("no-appendfsync-on-rewrite") == "yes",
        is_aof_healthy=info.get("aof_last_write_status", "ok") == "ok",
        is_evicting=int(info.get("maxmemory", 0)) > 0 and bool(dropping),
        replicas_online=sum(isinstance(it, dict) and it.get("state") == "online" for it in replicas),
        wait_replicas=wait_replicas,
        dropping_policy=dropping,
    )
