"""The scripts of a backup and of a recovery from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sharedq.redis.keys import AdminKeys, StructureKeys
from sharedq.redis.link import Argument, ScriptCall

#: Names of the steps of a recovery that put messages back, and that let programs in at last.
RESTORE, RESTORE_END = "structure/restore", "structure/restore_end"


def backup_page_call(
    keys: StructureKeys, messages: str, locks: str, after: bytes, arrival: int, count: int, size: int
) -> ScriptCall:
    """Read a page of a queue for a backup.

    Args:
        messages, locks: keys of the queue.
        after, arrival: the place where the page before has ended, and the latest arrival that is read.
        count, size: messages and bytes of a page, at most.
    """
    return "structure/backup_page", (messages, locks, keys.messages), (after, arrival, count, size)


def backup_changes_call(keys: StructureKeys, arguments: Sequence[Argument]) -> ScriptCall:
    """Follow the journal, and look at each message that the journal leaves doubtful, all in one moment."""
    queue = keys.queue("")
    script_keys = (
        *(keys.journal, keys.messages, keys.sequence, keys.trash),
        *(keys.unit_of_work, queue.available, queue.members, queue.locks, keys.expiry),
    )
    return "structure/backup_changes", script_keys, arguments


def note_restore_call(keys: AdminKeys, structure: str) -> ScriptCall:
    """Tell the group that the recovery of a structure begins."""
    return "admin/restore_begin", (keys.members, keys.failures), (structure,)


def restore_begin_call(
    keys: StructureKeys,
    recovery_id: str,
    queues: Sequence[str],
    parts: Sequence[str],
    tokens: Iterable[str],
    sequence: int,
    limit: int,
) -> ScriptCall:
    """Begin the recovery of a structure: remove everything of its queues, and keep programs out.

    Args:
        parts: of transmission queues; they follow *queues* and have no definition in the backup.
        tokens: owners whose units of work, handles and queues go.
        sequence: the number of messages to go on from.
        limit: what may be in it, at most, for the recovery to begin.
    """
    script_keys = [keys.versions, keys.sequence, keys.messages, keys.expiry, keys.owners, keys.dead]
    for queue in map(keys.queue, (*queues, *parts)):
        script_keys += [queue.queue, queue.available, queue.index, queue.groups, queue.members]
        script_keys += [queue.waiters, queue.locks, queue.marks, queue.handles]
    script_keys += [base + token for token in tokens for base in (keys.unit_of_work, keys.holdings, keys.made)]
    arguments = (recovery_id, sequence, len(queues) + len(parts), limit, len(queues))
    return "structure/restore_begin", script_keys, arguments


def restore_call(
    keys: StructureKeys, recovery_id: str, name: str, messages: Iterable[tuple[bytes, Argument, bytes]]
) -> ScriptCall:
    """Put messages back on a queue: the id, the score and the record of each."""
    queue = keys.queue(name)
    return (
        RESTORE,
        (
            *(keys.versions, keys.owners, keys.messages, keys.expiry, keys.wake, queue.queue),
            *(queue.available, queue.index, queue.waiters, queue.groups, queue.members),
        ),
        (recovery_id, name, *(part for message in messages for part in message)),
    )


def restore_end_call(
    keys: StructureKeys, recovery_id: str, definitions: Mapping[str, str], destinations: Mapping[str, str]
) -> ScriptCall:
    """End the recovery of a structure: its queues have their definitions, and programs may enter.

    Args:
        destinations: codes of destinations, by name.
    """
    return (
        RESTORE_END,
        (keys.versions, keys.sequence, keys.destinations, *(keys.queue(name).queue for name in definitions)),
        (
            recovery_id,
            *(part for name, text in definitions.items() for part in (text, destinations.get(name, ""))),
            *(part for pair in destinations.items() for part in pair),
        ),
    )
