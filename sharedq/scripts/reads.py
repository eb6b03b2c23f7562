"""Plain reads of Redis, by what they ask: the command of a read, its key and its fields stand here.

The reader, which runs the command, is a connection, a group or a link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import ManyReader, Reader

#: Entries that Redis visits in one step of a scan.
SCAN_COUNT = 500


# -- any key ---------------------------------------------------------------------------------------------------------


def server_ms(reader: Reader, key: str) -> int:
    """Return what the clock of the server of *key* says, ms since 1970."""
    seconds, microseconds = reader.command(key, "TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000


def has_time_to_live(reader: Reader, key: str) -> bool:
    """Whether Redis removes the key by itself, or it is gone."""
    return int(reader.command(key, "TTL", key)) != -1


def pages(
    reader: Reader,
    command: Literal["HSCAN", "ZSCAN", "SSCAN"],
    key: str,
    pattern: str = "*",
    count: int = SCAN_COUNT,
) -> Iterator[list[bytes]]:
    """Yield what a scan finds, step by step: members, of a hash or sorted set each with its value.

    The scan finds all that is there from its first step to its last; an entry may come twice.
    """
    cursor = b"0"
    while True:
        cursor, found = reader.command(key, command, key, cursor, "MATCH", pattern, "COUNT", count)
        yield found
        if cursor == b"0":
            return


def pairs_like(
    reader: Reader, command: Literal["HSCAN", "ZSCAN"], key: str, pattern: str = "*"
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the members that fit *pattern*, each with its value or score, as ``pages`` does."""
    for flat in pages(reader, command, key, pattern):
        yield from zip(flat[::2], flat[1::2], strict=True)


def fields_named(reader: Reader, key: str, names: Sequence[str]) -> Sequence[bytes | None]:
    """Return the fields of a hash with these names."""
    found: Sequence[bytes | None] = reader.command(key, "HMGET", key, *names) if names else ()
    return found


def list_page(reader: Reader, key: str, first: int, count: int) -> list[bytes]:
    """Return up to *count* elements of a list, from the *first* on."""
    found: list[bytes] = reader.command(key, "LRANGE", key, first, first + count - 1)
    return found


def stream_length(reader: Reader, key: str) -> int:
    """Return how many entries a stream has."""
    return int(reader.command(key, "XLEN", key))


# -- the administration structure ------------------------------------------------------------------------------------


def agent_state(reader: Reader, keys: AdminKeys, qmgr: str) -> bytes | None:
    """Return what the manager's agent last reported, JSON."""
    text: bytes | None = reader.command(keys.agents, "HGET", keys.agents, qmgr)
    return text


def agent_states(reader: Reader, keys: AdminKeys) -> dict[bytes, bytes]:
    """Return what each agent last reported, by its manager."""
    return _hash(reader, keys.agents)


def figures_of_channels(
    reader: ManyReader,
    keys: AdminKeys,
    servers: Sequence[tuple[str, str, int]],
    field: Literal["channels", "connections"],
) -> list[bytes | None]:
    """Return what channel servers tell of their channels, or connections, JSON. A server: as `served_at`."""
    commands = [(b"HGET", keys.served_at(*server).encode(), field.encode()) for server in servers]
    return reader.commands(keys.members, commands)


def owner_entries(reader: Reader, keys: AdminKeys) -> dict[bytes, bytes]:
    """Return what the group knows of each connection, JSON by its token."""
    return _hash(reader, keys.owners)


def definitions_mark(reader: Reader, keys: AdminKeys) -> bytes:
    """Return the text that changes with every definition of the group; empty before the first."""
    return reader.command(keys.group, "HGET", keys.group, "definition") or b""


def lease_holders(reader: Reader, keys: AdminKeys) -> list[str]:
    """Return the tokens that have leases, in the order in which these end. A claim begins with ``!``."""
    return [name.decode() for name in reader.command(keys.leases, "ZRANGE", keys.leases, 0, -1)]


def lease_end_ms(reader: Reader, keys: AdminKeys, token: str) -> float | None:
    """Return when the lease of *token* ends, by the server's clock. None: it has none."""
    end: bytes | None = reader.command(keys.leases, "ZSCORE", keys.leases, token)
    return None if end is None else float(end)


def lease_left_ms(reader: ManyReader, keys: AdminKeys, token: str) -> float | None:
    """Return how long the lease of *token* lasts, by the server's clock, in one round trip. None: it has none."""
    end, now = reader.commands(keys.leases, [(b"ZSCORE", keys.leases.encode(), token.encode()), (b"TIME",)])
    return _left_ms(end, now)


def standing_of(reader: ManyReader, keys: AdminKeys, qmgr: str, token: str) -> tuple[bytes | None, float | None, bytes]:
    """Return the record of a member, how long the lease of *token* lasts, and the attributes, in one round trip."""
    member, end, now, attributes = reader.commands(
        keys.members,
        [
            (b"HGET", keys.members.encode(), qmgr.encode()),
            (b"ZSCORE", keys.leases.encode(), token.encode()),
            (b"TIME",),
            (b"HGET", keys.qmgr.encode(), qmgr.encode()),
        ],
    )
    return member, _left_ms(end, now), attributes or b""


def _left_ms(end: bytes | None, now: tuple[bytes, bytes]) -> float | None:
    return None if end is None else float(end) - int(now[0]) * 1000 - int(now[1]) // 1000


def has_owners(reader: Reader, keys: StructureKeys) -> bool:
    """Whether anybody is registered in a structure, or is dead there and not resolved."""
    return any(int(reader.command(key, "HLEN", key)) for key in (keys.owners, keys.dead))


def recovery_count(reader: Reader, keys: AdminKeys) -> int:
    """Return how many recoveries the group remembers."""
    return int(reader.command(keys.recoveries, "HLEN", keys.recoveries))


def prepared_units(reader: Reader, keys: AdminKeys) -> list[bytes]:
    """Return the entry of each prepared unit of work, JSON."""
    found: list[bytes] = reader.command(keys.prepared, "HVALS", keys.prepared)
    return found


# -- a structure -----------------------------------------------------------------------------------------------------


def queue_definition(reader: Reader, queue: QueueKeys) -> tuple[bytes, bytes] | None:
    """Return the version and the definition (JSON) of a queue that are in force. None: it is not there."""
    version, definition = reader.command(queue.queue, "HMGET", queue.queue, "ver", "def")
    return None if version is None else (version, definition)


def open_input_count(reader: Reader, queue: QueueKeys) -> int:
    """Return how many handles have the queue open for input."""
    return int(reader.command(queue.queue, "HGET", queue.queue, "ip") or 0)


def trigger_holder(reader: Reader, keys: StructureKeys) -> bytes | None:
    """Return the connection that writes a structure's trigger messages; empty: none yet. None: none is needed."""
    token: bytes | None = reader.command(keys.versions, "HGET", keys.versions, "TRIGGER")
    return token


def wait_for_trigger(reader: Reader, keys: StructureKeys, after: bytes, limit_ms: int) -> None:
    """Wait until the stream of trigger marks rings after the entry *after*, or *limit_ms* have passed."""
    reader.command(keys.triggers, "XREAD", "COUNT", 1, "BLOCK", limit_ms, "STREAMS", keys.triggers, after)


def destination_name(reader: Reader, keys: StructureKeys, code: bytes) -> bytes | None:
    """Return the name that has this destination code."""
    name: bytes | None = reader.command(keys.destinations, "HGET", keys.destinations, b"#" + code)
    return name


def destination_names(reader: Reader, keys: StructureKeys, count: int) -> Iterator[list[bytes]]:
    """Yield the names that have a destination code, about *count* at a time."""
    for flat in pages(reader, "HSCAN", keys.destinations, count=count):
        yield [name for name in flat[::2] if not name.startswith(b"#")]


def expired_count(reader: Reader, keys: StructureKeys, until: str) -> int:
    """Return how many messages have expired *until* then (a score of ``expiry``)."""
    return int(reader.command(keys.expiry, "ZCOUNT", keys.expiry, "-inf", until))


def expired_entries(reader: Reader, keys: StructureKeys, until: str, skipped: int, count: int) -> list[bytes]:
    """Return up to *count* entries of ``expiry``, after the first *skipped*."""
    limit = ("LIMIT", skipped, count)
    found: list[bytes] = reader.command(keys.expiry, "ZRANGEBYSCORE", keys.expiry, "-inf", until, *limit)
    return found


def tokens_of_owners(reader: Reader, keys: StructureKeys) -> list[str]:
    """Return the tokens of all that are registered there, and of the fenced ones."""
    return [token.decode() for key in (keys.owners, keys.dead) for token in reader.command(key, "HKEYS", key)]


def unit_beginnings(reader: ManyReader, keys: StructureKeys, tokens: Sequence[str], count: int) -> list[list[bytes]]:
    """Return of each owner's unit of work its state and up to *count* operations."""
    units = [(keys.unit_of_work + token).encode() for token in tokens]
    return reader.commands(keys.unit_of_work, [(b"LRANGE", unit, b"0", b"%d" % count) for unit in units])


def some_holdings(reader: ManyReader, keys: StructureKeys, tokens: Sequence[str], count: int) -> list[list[bytes]]:
    """Return of each owner up to *count* of its handles."""
    holdings = [(keys.holdings + token).encode() for token in tokens]
    return reader.commands(keys.holdings, [(b"SRANDMEMBER", each, b"%d" % count) for each in holdings])


def some_made_queues(reader: Reader, keys: StructureKeys, token: str, count: int) -> list[str]:
    """Return up to *count* queues that an owner made from models and that go with the owner."""
    key = keys.made + token
    return [name.decode() for name in reader.command(key, "SRANDMEMBER", key, count)]


# -- a wake list, whose reader takes its entries -----------------------------------------------------------------------


def take_wake_up(reader: Reader, key: str) -> bool:
    """Take a wake-up. Whether one was there."""
    return reader.command(key, "LPOP", key) is not None


def forget_wake_ups(reader: Reader, key: str) -> None:
    """Take all wake-ups that are there."""
    reader.command(key, "DEL", key)


def _hash(reader: Reader, key: str) -> dict[bytes, bytes]:
    flat: list[bytes] = reader.command(key, "HGETALL", key)
    return dict(zip(flat[::2], flat[1::2], strict=True))
