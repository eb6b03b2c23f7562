"""The scripts that decide about a unit of work and end it, also if the unit of work is in doubt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from sharedq.redis.keys import AdminKeys, StructureKeys
from sharedq.redis.link import ScriptCall
from sharedq.scripts.connections import Owner

#: A backout that undoes everything.
NOTHING_SKIPPED = ("", 0)
End = Literal["commit", "backout"]
#: The scripts that end a unit of work in one structure.
_ENDS: dict[End, str] = {"commit": "structure/commit", "backout": "structure/backout"}


def end_unit_call(
    keys: StructureKeys,
    how: End,
    caller: str,
    owner: str,
    unit_id: str,
    queues: Sequence[str],
    expected: int,
    journal_max: str,
    *,
    chunk: int,
    has_members: bool = True,
    skip: tuple[str, int] = NOTHING_SKIPPED,
    is_prepared: bool = False,
) -> ScriptCall:
    """Commit or back out (*how*) the next chunk of *owner*'s unit of work.

    Args:
        expected: how many operations a commit must find; -1 for any number.
        chunk: messages, at most.
        has_members: members of groups, or segments, may be among its messages.
        skip: messages that a backout by the program leaves got: their next unit of work, and the number of operations.
        is_prepared: the unit of work is stored under its own id; *owner* is the caller, because it has no owner.
    """
    script_keys = [
        *(keys.owners, keys.dead, keys.unit_of_work + (unit_id if is_prepared else owner)),
        *(keys.messages, keys.expiry, keys.wake, keys.journal),
    ]
    for queue in map(keys.queue, queues):
        script_keys += [queue.queue, queue.available, queue.index, queue.waiters]
        if has_members:
            script_keys += [queue.groups, queue.members]
    condition = (expected,) if how == "commit" else skip
    return _ENDS[how], script_keys, (caller, owner, unit_id, *condition, chunk, journal_max, *queues)


def decide_call(keys: AdminKeys, owner: Owner, unit_id: str, structures: Iterable[str]) -> ScriptCall:
    """Decide that a unit of work in several structures is committed."""
    return "admin/decide", (keys.fence, keys.decisions, keys.owners), (*owner, unit_id, " ".join(structures))


def prepare_call(
    keys: AdminKeys, owner: Owner, unit_id: str, prepared: str, info: str, tag: str, series: str, batch: int | None
) -> ScriptCall:
    """Decide that a unit of work is in doubt from now on, as *prepared*.

    Args:
        series, batch: the series that the unit of work belongs to, and its batch there; "" and None: to none.
    """
    script_keys = (
        *(keys.fence, keys.decisions, keys.prepared, keys.completed, keys.tags, keys.group),
        *(keys.series + series, keys.owners),
    )
    number = "" if batch is None else batch
    return "admin/prepare", script_keys, (*owner, unit_id, prepared, info, tag, number)


def set_apart_call(keys: StructureKeys, caller: str, owner: str, unit_id: str, journal_max: str) -> ScriptCall:
    """Store *owner*'s prepared unit of work under its own id, unless it stands there already."""
    script_keys = (keys.owners, keys.unit_of_work + owner, keys.unit_of_work + unit_id, keys.journal)
    return "structure/set_apart", script_keys, (caller, unit_id, journal_max)


def decide_prepared_call(keys: AdminKeys, owner: Owner, qmgr: str, prepared: str, outcome: str) -> ScriptCall:
    """Decide about a unit of work in doubt that *qmgr* has prepared."""
    script_keys = (keys.fence, keys.prepared, keys.completed, keys.members, keys.leases, keys.owners)
    return "admin/decide_prepared", script_keys, (*owner, qmgr, prepared, outcome)


def decide_together_call(
    keys: AdminKeys, owner: Owner, series: str, batch: int | None, kept_s: int, prepared: Iterable[str]
) -> ScriptCall:
    """Decide by one record that several units of work in doubt are committed.

    Args:
        series, batch: the series that the units of work belong to, and their batch there; "" and None: to none.
        kept_s: how long the number of the series' latest batch is kept, seconds.
    """
    script_keys = (keys.fence, keys.prepared, keys.completed, keys.series + series, keys.owners)
    number = "" if batch is None else batch
    return "admin/decide_together", script_keys, (*owner, number, kept_s, *prepared)


def complete_call(keys: AdminKeys, prepared: str, unit_id: str, ended: str, kept: int) -> ScriptCall:
    """Forget a unit of work in doubt that every structure has ended, and remember the outcome of the latest *kept*."""
    return "admin/complete", (keys.prepared, keys.completed, keys.tags), (prepared, unit_id, ended, kept)
