"""The scripts of the manager's own work on messages: moving them to their destinations, and expiring them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import Argument, ScriptCall


def transfer_call(
    keys: StructureKeys,
    queue: QueueKeys,
    token: str,
    arguments: Sequence[Argument],
    targets: Iterable[tuple[QueueKeys, Sequence[Argument]]],
) -> ScriptCall:
    """Move messages from a part of the transmit queue to queues of the same structure.

    Args:
        arguments: about the source, after the name of its queue.
        targets: the queues, with the arguments of each.
    """
    script_keys = [
        *(keys.owners, keys.sequence, keys.messages, queue.queue, queue.available, queue.index, keys.expiry),
        *(keys.wake, keys.journal, keys.versions, queue.waiters, keys.wake + token),
    ]
    words = [token, queue.name, *arguments]
    for target, about in targets:
        script_keys += [target.queue, target.available, target.index, target.waiters, target.groups, target.members]
        words += about
    return "structure/transfer", script_keys, words


def look_again_call(keys: StructureKeys, queue: QueueKeys, members: str) -> ScriptCall:
    """Have a mover look again at the messages that it has passed over, because the group has other *members*."""
    script_keys = (keys.owners, queue.queue, queue.waiters, keys.wake, queue.marks, queue.marks_of)
    return "structure/look_again", script_keys, (queue.name, members)


def forget_destinations_call(
    keys: StructureKeys, token: str, parts: Iterable[QueueKeys], names: Sequence[bytes]
) -> ScriptCall:
    """Forget the codes of destinations that are no queues, where no message of *parts* carries any of them."""
    script_keys = [keys.owners, keys.destinations, keys.queue("").queue]
    for part in parts:
        script_keys += [part.queue, part.available]
    return "structure/forget_destinations", script_keys, (token, *names)


def expire_call(
    keys: StructureKeys,
    queue: QueueKeys,
    token: str,
    journal_max: str,
    unit_id: str,
    size: int,
    ids: Sequence[bytes],
    *,
    reports: bool,
) -> ScriptCall:
    """Discard expired messages of a queue.

    Args:
        size: bytes returned, at most.
        reports: take the messages that ask for a report under syncpoint, and return them.
    """
    script_keys = (
        *(keys.owners, keys.messages, keys.expiry, queue.available, queue.index, keys.journal),
        *(queue.queue, queue.groups, queue.members, queue.marks, queue.marks_of),
        *(keys.unit_of_work + token, queue.waiters, keys.wake),
    )
    return "structure/expire", script_keys, (token, queue.name, journal_max, unit_id, size, int(reports), *ids)
