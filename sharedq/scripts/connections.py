"""The scripts of a connection: it registers with the group, enters structures, and leaves them."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.redis.keys import AdminKeys, StructureKeys
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
