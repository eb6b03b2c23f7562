"""The scripts that end a unit of work."""

from __future__ import annotations

from collections.abc import Sequence

from sharedq.session.connection import ScriptCall
from sharedq.session.handle import StructureAccess
from sharedq.session.unit_of_work import CHUNK_MESSAGES

#: A backout that undoes everything.
NOTHING_SKIPPED = ("", 0)


def end_unit_call(
    access: StructureAccess,
    how: str,
    caller: str,
    owner: str,
    unit_id: str,
    queues: Sequence[str],
    expected: int,
    journal_max: str,
    *,
    has_members: bool = True,
    chunk: int = CHUNK_MESSAGES,
    skip: tuple[str, int] = NOTHING_SKIPPED,
    is_prepared: bool = False,
) -> ScriptCall:
    """The script call that commits or backs out (*how*) the next chunk of *owner*'s unit of work.

    Args:
        has_members: members of groups, or segments, may be among its messages.
        chunk: messages, at most.
        skip: what a backout by the program leaves got: the unit of work where that goes on, and how many operations.
        is_prepared: the unit of work stands under its own id; *owner* is the caller, since nobody else owns it.
    """
    keys = access.keys
    script_keys = [
        keys.owners,
        keys.dead,
        keys.unit_of_work + (unit_id if is_prepared else owner),
        keys.messages,
        keys.expiry,
        keys.wake,
        keys.journal,
    ]
    for name in queues:
        queue = keys.queue(name)
        script_keys += [queue.queue, queue.available, queue.index, queue.waiters]
        if has_members:
            script_keys += [queue.groups, queue.members]
    condition = [expected] if how == "commit" else skip
    return (
        f"structure/{how}",
        script_keys,
        [caller, owner, unit_id, *condition, chunk, journal_max, *queues],
    )
