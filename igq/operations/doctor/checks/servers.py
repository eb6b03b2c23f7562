"""Redis: persistence and replicas, eviction, room for memory and connections, clocks."""

from __future__ import annotations

from collections.abc import Iterator

from igq.operations.doctor.seen import Diagnosis, GroupSeen, error, note, warning
from igq.operations.troubles import NEARLY_FULL

#: The parts of a limit from which on there is little left.
_LITTLE_LEFT = 0.75
#: A server without a limit may take this part of its machine's memory.
_OF_THE_MACHINE = 0.6
#: Two clocks that differ by more than this confuse whoever compares times, seconds.
_CLOCKS_S = 1.0


def check_durability(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Persistence, replicas, eviction: whether what was acknowledged is kept."""
    redis = seen.status.redis
    for text in redis.warnings:
        what, _, todo = text.rpartition("; ")
        yield (error if redis.is_failing else warning)(f"Redis: {what or text}", todo or "look at the log of Redis")
    if redis.is_failing and not redis.warnings:
        yield error(f"Redis: durability {redis.durability}", "look at the disk and the log of Redis")
    elif not redis.is_failing and redis.durability.startswith("none: ") and seen.servers:
        yield warning(
            f"Redis: durability {redis.durability}",
            "set appendonly yes with appendfsync always, or replicas with igq group set wait_replicas=1",
        )
    elif redis.durability.startswith("everysec: "):
        yield note(
            f"Redis: durability {redis.durability}", "if no message may be lost: appendfsync always, or wait_replicas"
        )
    for node in redis.nodes:
        if node.replicas_online is not None and node.replicas_online < redis.wait_replicas:
            yield error(
                f"Redis {node.node}: wait_replicas is {redis.wait_replicas}, but {node.replicas_online} online:"
                " every write fails",
                "start the replicas, or igq group set wait_replicas",
            )
        elif node.replicas_online == 0 and any(each.is_elsewhere for each in seen.servers):
            yield note(
                f"Redis {node.node} has no replica: the group stands still while it is away",
                "add a replica and Sentinels, see docs/how-to/deploy.md",
            )
    for server in seen.servers:
        if server.has_rdb_error:
            yield warning(f"Redis {server.name}: its latest snapshot failed", "look at the disk and the log of Redis")


def check_memory(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Headroom of memory."""
    for server in seen.servers:
        used, limit = server.used_memory, server.max_memory
        if used is None or limit is None:
            continue
        room = limit or int((server.host_memory or 0) * _OF_THE_MACHINE)
        what = "of its maxmemory" if limit else "of the memory of its machine, and has no maxmemory"
        if room and used >= _LITTLE_LEFT * room:
            part = f"Redis {server.name} uses {100 * used // (limit or server.host_memory or 1)} % {what}"
            todo = "read what waits on the queues, or give it more memory: docs/how-to/size.md"
            yield (error if limit and used >= NEARLY_FULL * room else warning)(part, todo)
        elif not limit and server.is_elsewhere:
            yield note(
                f"Redis {server.name} has no maxmemory: its machine may end it when memory is short",
                "set maxmemory with maxmemory-policy noeviction: docs/how-to/size.md",
            )


def check_connections(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Room for connections."""
    for server in seen.servers:
        if server.clients is not None and server.max_clients and server.clients >= _LITTLE_LEFT * server.max_clients:
            yield warning(
                f"Redis {server.name} has {server.clients} of at most {server.max_clients} connections",
                "raise maxclients, and the limit of open files of Redis above that",
            )


def check_clocks(seen: GroupSeen) -> Iterator[Diagnosis]:
    """Clocks: expiry and ages are by that of Redis, put times by that of the program's machine."""
    for server in seen.servers:
        if server.clock_ahead_s is not None and abs(server.clock_ahead_s) > _CLOCKS_S:
            way = "ahead of" if server.clock_ahead_s > 0 else "behind"
            yield warning(
                f"the clock of Redis {server.name} is {abs(server.clock_ahead_s):.1f} s {way} that of this machine",
                "keep both machines in step with NTP",
            )
