"""The scripts of a connection: it registers with the group, enters structures, opens and closes handles, and leaves."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall

#: Token of a connection, its manager, the incarnation of this manager, and the token of its process.
Owner = tuple[str, str, int, str]


def connect_call(keys: AdminKeys, owner: Owner, info: str, tag: str, *, is_internal: bool) -> ScriptCall:
    """Register the connection *owner* with the group, and with its tag."""
    script_keys = (keys.owners, keys.fence, keys.tags, keys.members, keys.leases, keys.qmgr, keys.recoveries)
    return "admin/connect", script_keys, (*owner, info, tag, int(is_internal))


def note_connection_call(keys: AdminKeys, owner: Owner, info: str) -> ScriptCall:
    """Replace what the group knows of the connection *owner*, for people to see."""
    return "admin/note_connection", (keys.owners, keys.fence), (*owner, info)


def disconnect_call(keys: AdminKeys, token: str, tag: str) -> ScriptCall:
    """Take the connection *token* out of the group, and give its tag back."""
    return "admin/disconnect", (keys.owners, keys.tags), (token, tag)


def check_owner_call(keys: AdminKeys, owner: Owner, structure: str) -> ScriptCall:
    """Whether the group knows *owner* still, and how *structure* has failed."""
    return "admin/check_owner", (keys.fence, keys.failures, keys.owners), (*owner, structure)


def attach_call(keys: StructureKeys, owner: Owner) -> ScriptCall:
    """Register the connection *owner* in a structure."""
    return "structure/attach", (keys.owners, keys.fence), owner


def detach_call(keys: StructureKeys, token: str) -> ScriptCall:
    """Take the connection *token* out of a structure."""
    bases = (keys.unit_of_work, keys.wake, keys.holdings, keys.made)
    return "structure/detach", (keys.owners, *[base + token for base in bases]), (token,)


def wake_call(wake_key: str, why: bytes | str, kept_s: int) -> ScriptCall:
    """Wake the connection that blocks on *wake_key*.

    Args:
        why: the message to it.
        kept_s: an unused wake-up is forgotten after this many seconds.
    """
    return "structure/wake", (wake_key,), (why, kept_s)


def wake_owner_call(keys: StructureKeys, token: str, why: str) -> ScriptCall:
    """Wake the connection *token*, if it is registered in the structure."""
    return "structure/wake", (keys.wake + token, keys.owners), (why, 0, token)


def forget_decisions_call(keys: AdminKeys, unit_ids: Sequence[str]) -> ScriptCall:
    """Forget the decisions about units of work that every structure has applied."""
    return "admin/forget", (keys.decisions,), unit_ids


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
