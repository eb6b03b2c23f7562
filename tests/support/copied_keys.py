"""The contents of the keys of a group, for another group of the same server."""

from __future__ import annotations

from typing import Any

import redis

#: The hashes and strings of a group. Its name is no part of the keys, and missing in the values.
Held = dict[bytes, Any]
#: Stands for the group's name in a value.
_NAME = b'"\0"'


def read_keys(client: redis.Redis, group: str) -> Held:
    """The hashes and strings of *group*."""
    held: Held = {}
    start = f"{{{group}:".encode()
    for key in client.scan_iter(match=f"{{{group}:*", count=10_000):
        kind = client.type(key)
        if kind in (b"hash", b"string"):
            value = client.hgetall(key) if kind == b"hash" else client.get(key)
            held[key.removeprefix(start)] = _renamed(value, f'"{group}"'.encode(), _NAME)
    return held


def write_keys(client: redis.Redis, group: str, held: Held) -> None:
    """Give *group* these hashes and strings, in one journey."""
    start, name = f"{{{group}:".encode(), f'"{group}"'.encode()
    pipeline = client.pipeline(transaction=False)
    for key, value in held.items():
        renamed = _renamed(value, _NAME, name)
        if isinstance(renamed, dict):
            pipeline.hset(start + key, mapping=renamed)
        else:
            pipeline.set(start + key, renamed)
    pipeline.execute()


def _renamed(value: Any, old: bytes, new: bytes) -> Any:
    if isinstance(value, dict):
        return {field: each.replace(old, new) for field, each in value.items()}
    return value.replace(old, new)
