"""Makes time pass for expiring messages, without a wait."""

from __future__ import annotations

import struct
from typing import Any

from sharedq.redis.keys import StructureKeys

#: A time that is long past by Redis' clock, ms.
_LONG_AGO = 1000
_HAS_EXPIRY = 2
_GROUP_ENTRY = b"E"


def is_dead(record: bytes) -> bool:
    """Whether a message has expired by `let_time_pass`."""
    return bool(record[0] & _HAS_EXPIRY) and struct.unpack_from(">q", record, 5)[0] == _LONG_AGO


def let_time_pass(client: Any, keys: StructureKeys, queue: str) -> None:
    """Let every expiring message expire: its record, and the other places with that time."""
    then = struct.pack(">q", _LONG_AGO)
    for name, record in client.hgetall(keys.messages).items():
        if record[0] & _HAS_EXPIRY:
            client.hset(keys.messages, name, record[:5] + then + record[13:])
    for member in client.zrange(keys.expiry, 0, -1):
        client.zadd(keys.expiry, {member: _LONG_AGO})
    index = keys.queue(queue).index
    for entry in client.zrangebylex(index, b"[" + _GROUP_ENTRY, b"(F"):
        # GroupId, moment, place.
        client.zrem(index, entry)
        client.zadd(index, {entry[:25] + then + entry[33:]: 0})
