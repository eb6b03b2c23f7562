"""The scripts of handles: open and close, and the end of a lock and of a wait."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall


def open_call(
    keys: StructureKeys,
    queue: QueueKeys,
    token: str,
    number: int,
    mode: str,
    detail: str,
    checks: Sequence[str],
    *,
    is_permanent: bool,
) -> ScriptCall:
    """Register a handle of a queue.

    Args:
        checks: (field, value) pairs of the structure's versions that must hold.
        is_permanent: the open has made a permanent dynamic queue, which stays from now on.
    """
    return (
        "structure/open",
        (
            *(keys.owners, queue.queue, queue.handles, keys.holdings + token),
            *((keys.versions,) if checks or is_permanent else ()),
            *((keys.made + token,) if is_permanent else ()),
        ),
        (token, queue.name, number, mode, detail, *checks),
    )


def close_call(
    keys: StructureKeys, queue: QueueKeys, token: str, number: int, *, has_marks: bool, has_lock: bool
) -> ScriptCall:
    """Forget a handle, and end its marks and its lock, where it may have any."""
    script_keys = [keys.owners, queue.queue, queue.handles, keys.holdings + token, keys.made + token]
    if has_marks or has_lock:
        script_keys += [queue.available, queue.marks, queue.marks_of]
    if has_lock:
        script_keys += [keys.messages, queue.index, queue.waiters, keys.expiry, keys.wake]
        script_keys += [queue.groups, queue.members, queue.locks]
    return "structure/close", script_keys, (token, queue.name, number)


def unlock_call(keys: StructureKeys, queue: QueueKeys, token: str, number: int) -> ScriptCall:
    """End the lock of a handle (MQGMO_UNLOCK)."""
    script_keys = (
        *(keys.owners, keys.messages, queue.queue, queue.available, queue.index, queue.waiters, keys.expiry),
        *(keys.wake, queue.groups, queue.members, queue.locks, queue.marks, queue.marks_of, queue.handles),
    )
    return "structure/unlock", script_keys, (token, queue.name, number)


def unwait_call(keys: StructureKeys, queue: QueueKeys, token: str, journal_max: str) -> ScriptCall:
    """Take the connection *token* off the waiters of a queue; its unused wake-up goes to another waiter."""
    script_keys = (
        *(keys.owners, queue.queue, queue.available, queue.waiters, keys.wake + token, keys.wake, keys.messages),
        *(keys.journal, queue.index),
    )
    return "structure/unwait", script_keys, (token, queue.name, journal_max)
