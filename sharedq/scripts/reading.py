"""The scripts of readers, which take no part: they read ranges, units of work in doubt, and large keys."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import Argument, ScriptCall


def read_range_call(keys: StructureKeys, queue: QueueKeys, arguments: Sequence[Argument]) -> ScriptCall:
    """Read messages of a range of a queue."""
    script_keys = (keys.messages, queue.queue, queue.available, queue.members, queue.index)
    return "structure/read_range", script_keys, arguments


def read_unit_call(keys: StructureKeys, unit_id: str, position: int, count: int, size: int) -> ScriptCall:
    """Read the heads of messages that a prepared unit of work got, from its operation at *position* on."""
    return "structure/read_unit", (keys.unit_of_work + unit_id, keys.messages), (position, count, size)


def note_read_call(keys: AdminKeys, prepared: str) -> ScriptCall:
    """Note that a unit of work in doubt was read."""
    return "admin/note_read", (keys.prepared,), (prepared,)


def fields_page_call(key: str, cursor: bytes, count: int) -> ScriptCall:
    """Read some of the fields of a hash, without its values."""
    return "structure/fields_page", (key,), (cursor, count)


def oldest_call(keys: StructureKeys, queues: Sequence[QueueKeys], known: Sequence[bytes], size: int) -> ScriptCall:
    """Read when the oldest available message of each of some queues was put.

    Args:
        known: the id of that message for each queue; empty if the script must look for the message.
        size: bytes of records after which no further queue is begun.
    """
    of_queues = [key for queue in queues for key in (queue.available, queue.members)]
    return "structure/oldest", (keys.messages, *of_queues), (size, *known)
