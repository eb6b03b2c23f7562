"""The scripts that define, alter, empty and delete queues in their structure."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall


def define_queue_call(
    keys: StructureKeys,
    queue: QueueKeys,
    mode: str,
    definition: str,
    idle_field: str,
    *,
    may_begin: bool,
    maker: str,
) -> ScriptCall:
    """Create a queue, or replace its definition.

    Args:
        may_begin: also where nothing was ever defined in the structure, or all of it is lost.
        maker: the connection whose MQOPEN of a model makes it; "" for a command.
    """
    return (
        "structure/define_queue",
        (
            *(keys.sequence, queue.queue, queue.available, queue.handles),
            *((keys.owners, keys.made + maker) if maker else ()),
        ),
        (mode, definition, idle_field, int(may_begin), *((maker, queue.name) if maker else ())),
    )


def alter_queue_call(
    keys: StructureKeys,
    queue: QueueKeys,
    known: tuple[str, bytes],
    definition: str,
    idle_field: str,
    *,
    caller: str,
) -> ScriptCall:
    """Replace the definition of a queue, if *known*, its version and text, is still in force."""
    script_keys = (keys.sequence, queue.queue, queue.available, queue.handles, keys.owners)
    version, text = known
    return "structure/alter_queue", script_keys, (version, definition, idle_field, caller, text)


def set_partition_call(
    keys: StructureKeys, queue: QueueKeys, name: str, version: int, definition: str, *, is_back: bool
) -> ScriptCall:
    """Bring a part of the partitioned queue *name* to a version of its definition.

    Args:
        is_back: also when it was closed at this version.
    """
    script_keys = (queue.queue, *((keys.sequence, keys.versions) if queue.name != name else ()))
    return "structure/set_partition", script_keys, (version, definition, "back" if is_back else "", f"DEF {name}")


def queue_states_call(queues: Sequence[QueueKeys]) -> ScriptCall:
    """Read the versions, definitions and counters of queues of one structure."""
    return (
        "structure/queue_states",
        [key for queue in queues for key in (queue.queue, queue.available, queue.handles)],
        (),
    )


def delete_queue_call(
    keys: StructureKeys,
    queue: QueueKeys,
    mode: str,
    version: str,
    closed_at: int | None,
    caller: str,
    maker: str,
    *,
    is_closing: bool,
    author: str,
) -> ScriptCall:
    """Delete a queue, empty it, or close a part of a partitioned one.

    Args:
        closed_at: only close it, for definitions up to this version.
        caller: the connection whose call it is; "" for a command.
        maker: only a queue that an MQOPEN of this connection made.
        is_closing: a handle of it is open, which the caller closes.
        author: its manager hears of the events that this causes.
    """
    return (
        "structure/delete_queue",
        (
            *(keys.sequence, queue.queue, queue.available, queue.index, queue.groups, queue.waiters),
            *(queue.handles, keys.trash, keys.set_aside, queue.members, queue.marks, keys.owners, keys.wake),
        ),
        (queue.name, mode, version, "" if closed_at is None else closed_at, caller, maker, int(is_closing), author),
    )


def discard_call(keys: StructureKeys, number: str, count: int, journal_max: str, author: str) -> ScriptCall:
    """Drop up to *count* of the messages that a clear or a delete has set aside under *number*.

    Args:
        author: named in the journal as the one that cleared the queue.
    """
    script_keys = (keys.trash, keys.set_aside + number, keys.messages, keys.expiry, keys.journal)
    return "structure/discard", script_keys, (number, count, journal_max, author)


def forget_made_call(
    keys: StructureKeys, maker: str, caller: str, names: Sequence[str], *, are_orphans: bool = False
) -> ScriptCall:
    """Let these queues stay when the connection *maker*, whose MQOPEN made them, ends.

    Args:
        are_orphans: they are to be deleted later, as queues that *maker* made.
    """
    script_keys = (keys.owners, keys.made + maker, keys.queue("").queue)
    return "structure/forget_made", script_keys, (caller, maker, int(are_orphans), *names)


def wake_all_call(keys: StructureKeys, queue: QueueKeys, count: int, last: bytes, begun_at: bytes) -> ScriptCall:
    """Wake up to *count* gets that wait on a queue, after *last*, the latest that was woken."""
    script_keys = (keys.owners, queue.queue, queue.waiters, keys.wake)
    return "structure/wake_all", script_keys, (queue.name, count, last, begun_at)
