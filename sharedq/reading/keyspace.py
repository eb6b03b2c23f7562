"""Reads any keys of a group: for accounts of the whole group, not for calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.redis.answers import reason_of

#: How a key is read whole, by what it holds; of ``heads`` the first element, of ``fields`` no values.
_READ_WHOLE: dict[str, tuple[bytes, *tuple[str | int, ...]]] = {
    "hash": (b"HGETALL",),
    "zset": (b"ZRANGE", 0, -1, "WITHSCORES"),
    "list": (b"LRANGE", 0, -1),
    "heads": (b"LRANGE", 0, 0),
    "set": (b"SMEMBERS",),
    "fields": (b"HKEYS",),
    "nothing": (b"EXISTS",),
}
#: Keys that Redis visits in one step of a scan.
_SCAN_COUNT = 500


def keys_by_tag(group: Group) -> dict[str, list[str]]:
    """Return every key of the group, by hash tag. Decoded as Latin-1, which loses no byte of a name.

    Raises:
        MQIError: 2009, a server cannot be reached; 2035, the user of Redis has not the rights.
    """
    found: dict[str, set[str]] = {}
    with _troubles_named(group):
        for client in group.clients():
            with client:
                for key in client.scan_iter(match=f"{{{group.name}:*", count=_SCAN_COUNT):
                    text = key.decode("latin-1")
                    found.setdefault(text[: text.find("}") + 1], set()).add(text)
    return {tag: sorted(keys) for tag, keys in found.items()}


def read_at_once(group: Group, key: str, asked: Sequence[tuple[str, str]]) -> list[Any]:
    """Return what keys of one structure hold, all at one moment.

    Args:
        key: any key of the structure.
        asked: what each key holds (``hash``, ``zset``, ``list``, ``heads``, ``set``, ``fields``, or ``nothing`` to
            ask whether it is there), and the key, in Latin-1.

    Raises:
        MQIError: 2009, its server cannot be reached; 2345, 2346, its slot of the Cluster is away or being moved; 2035.
    """
    with _troubles_named(group), group.client(key) as client:

        def read() -> list[Any]:
            pipe = client.pipeline(transaction=True)
            for kind, each in asked:
                command, *more = _READ_WHOLE[kind]
                # Without a command name that the client knows, it leaves the reply as it is.
                pipe.execute_command(command, each.encode("latin-1"), *more)
            found: list[Any] = pipe.execute()
            return found

        replies: list[Any] = client.following(read)
    return replies


@contextmanager
def _troubles_named(group: Group) -> Iterator[None]:
    try:
        yield
    except (redis.RedisError, OSError) as error:
        reason = reason_of(error)
        refused = "Redis refused us: " if reason == MQRC.NOT_AUTHORIZED else ""
        raise error_for(reason, "", group.name, f"{refused}{error}") from error
