"""The scripts of recovery, and of the repair of what an accounting has found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import Argument, ScriptCall
from sharedq.scripts.connections import Owner


def claim_call(
    keys: AdminKeys,
    qmgr: str,
    lease_ms: int,
    state: str,
    token: str,
    targets: Iterable[tuple[str, str, int]],
    *,
    force: bool,
) -> ScriptCall:
    """Claim targets, and shut them out of the administration structure in the same moment.

    Args:
        qmgr, token: who claims: the manager and its connection.
        state: what the member becomes when a target is its present incarnation.
        targets: token, manager and incarnation of each.
        force: do not wait for their leases.
    """
    return (
        "admin/claim",
        (keys.leases, keys.fence, keys.recoveries, keys.members, keys.owners),
        (qmgr, lease_ms, int(force), state, token, *(word for target in targets for word in target)),
    )


def progress_call(
    keys: AdminKeys,
    token: str,
    lease_ms: int,
    state: str,
    done: Sequence[tuple[str, int, int]],
    ended_leases: Sequence[str],
) -> ScriptCall:
    """Report the work done and keep the claims.

    Args:
        done: tokens of targets, with units of work and messages resolved since the last report.
        ended_leases: leases under the targets, which end.
    """
    words = [word for each in done for word in each]
    script_keys = (keys.leases, keys.recoveries, keys.fence, keys.owners)
    return "admin/progress", script_keys, (token, lease_ms, state, len(done), *words, *ended_leases)


def finish_recovery_call(
    keys: AdminKeys, token: str, lease_ms: int, parts: Iterable[tuple[str, bool, Sequence[Sequence[str]]]]
) -> ScriptCall:
    """Forget what the administration structure holds of targets.

    Args:
        parts: the token of a target, whether its recovery has ended with this, and the entries to forget.
    """
    words: list[Argument] = []
    for target, is_end, entries in parts:
        words += [target, int(is_end), len(entries), *(part for entry in entries for part in entry)]
    script_keys = (
        *(keys.leases, keys.recoveries, keys.fence, keys.tags),
        *(keys.owners, keys.processes, keys.decisions),
    )
    return "admin/finish_recovery", script_keys, (token, lease_ms, *words)


def fence_call(keys: StructureKeys, token: str, marks: Sequence[tuple[str, int]], owners: Iterable[str]) -> ScriptCall:
    """Shut *owners*, and those that the *marks* name, out of a structure."""
    queue = keys.queue("")
    return (
        "structure/fence",
        (keys.owners, keys.fence, keys.dead, queue.queue, queue.waiters),
        (token, len(marks), *(part for mark in marks for part in mark), *owners),
    )


def unfence_call(keys: StructureKeys, token: str, fences: Sequence[str]) -> ScriptCall:
    """Forget fences that are no longer needed."""
    return "structure/unfence", (keys.owners, keys.fence), (token, *fences)


def release_call(
    keys: StructureKeys, token: str, owner: str, queues: Sequence[str], journal_max: str, holdings: Sequence[bytes]
) -> ScriptCall:
    """Give back handles of a dead *owner*, with their locks and marks, and a wake-up that it never used.

    Args:
        queues: what the handles, and the wake-up, are of.
        holdings: the handles, as the structure keeps them.
    """
    script_keys = [
        *(keys.owners, keys.dead, keys.unit_of_work + owner, keys.holdings + owner, keys.wake + owner, keys.wake),
        *(keys.messages, keys.expiry, keys.journal, keys.made + owner),
    ]
    for queue in map(keys.queue, queues):
        script_keys += [queue.queue, queue.available, queue.index, queue.waiters, queue.handles]
        script_keys += [queue.groups, queue.members, queue.locks, queue.marks, queue.marks_of]
    return "structure/release", script_keys, (token, owner, len(queues), journal_max, *queues, *holdings)


def adopt_call(
    keys: StructureKeys, token: str, owner: str, handles: Sequence[str], waiters: Iterable[bytes], *, is_gone: bool
) -> ScriptCall:
    """Make an unknown *owner* one of the dead, with the handles and waiters that were found for this owner."""
    queue = keys.queue("")
    return (
        "structure/adopt",
        (
            *(keys.owners, keys.dead, keys.holdings + owner, keys.wake + owner),
            *(queue.queue, queue.handles, queue.locks, queue.waiters),
        ),
        (token, owner, int(is_gone), len(handles), *handles, *waiters),
    )


def tidy_call(
    keys: StructureKeys, queue: QueueKeys, token: str, what: Sequence[Argument], others: Sequence[str]
) -> ScriptCall:
    """Repair one entry, or one counter, of a queue.

    Args:
        what: the kind of the entry, and the arguments of that kind.
        others: further keys of that kind.
    """
    script_keys = (
        *(keys.owners, queue.queue, queue.available, queue.members, queue.index, queue.groups),
        *(queue.waiters, queue.handles, queue.locks, queue.marks, keys.messages, keys.expiry, keys.dead),
        *others,
    )
    return "structure/tidy", script_keys, (token, *what)


def take_lost_call(
    keys: StructureKeys,
    queue: QueueKeys,
    caller: str,
    unit_id: str,
    message: tuple[str, str, str],
    journal_max: str,
    prepared: Sequence[str],
    names: Sequence[str],
) -> ScriptCall:
    """Take a message that is on no queue as if the caller's unit of work had got it from *queue*.

    Args:
        message: its id, its place on the queue (score), and the destination code in its id if it came there so.
        prepared: ids of the units of work in doubt.
        names: all queues of the structure.
    """
    all_queues = keys.queue("")
    script_keys = (
        *(keys.owners, keys.dead, keys.unit_of_work, keys.messages, keys.expiry, keys.trash, keys.set_aside),
        *(all_queues.available, all_queues.members, all_queues.locks, queue.queue, keys.journal),
    )
    message_id, score, code = message
    place = (caller, unit_id, message_id, queue.name, score, code, journal_max)
    return "structure/take_lost", script_keys, (*place, len(prepared), *prepared, *names)


def lapse_call(keys: AdminKeys, owner: Owner, words: Sequence[Argument]) -> ScriptCall:
    """Forget leases, fences and tags of unknown owners."""
    return "admin/lapse", (keys.owners, keys.fence, keys.leases, keys.tags), (*owner, *words)
