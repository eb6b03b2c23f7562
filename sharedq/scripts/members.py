"""The scripts of queue managers and their processes: leases, states, and the removal of a manager."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sharedq.redis.keys import AdminKeys, QueueKeys, StructureKeys
from sharedq.redis.link import ScriptCall


def join_call(
    keys: AdminKeys, qmgr: str, lease_ms: int, info: str, own_incarnation: int, settings: str, speaks: str
) -> ScriptCall:
    """Take the name *qmgr* for a new incarnation.

    Args:
        own_incarnation: an ended incarnation of the calling process; 0 for none.
        settings: recorded for the group, if it has no record of its settings yet.
        speaks: the formats of the key space that the caller works with.
    """
    script_keys = (keys.group, keys.members, keys.leases, keys.fence)
    return "admin/join", script_keys, (qmgr, lease_ms, info, own_incarnation, settings, speaks)


def register_process_call(
    keys: AdminKeys, qmgr: str, lease_ms: int, info: str, *, is_internal: bool, speaks: str
) -> ScriptCall:
    """Register a process with the running manager *qmgr*.

    Args:
        speaks: the formats of the key space that the caller works with.
    """
    script_keys = (keys.group, keys.members, keys.leases, keys.processes)
    return "admin/register_process", script_keys, (qmgr, lease_ms, info, int(is_internal), speaks)


def upgrade_call(keys: AdminKeys, expected: str, later: str) -> ScriptCall:
    """Record the format *later* of the key space, if *expected* is in force and everybody registered speaks it."""
    return "admin/upgrade", (keys.group, keys.members, keys.leases, keys.processes), (expected, later)


def renew_call(
    keys: AdminKeys, token: str, lease_ms: int, qmgr: str, look: int, processes: Sequence[str], *, ask: bool
) -> ScriptCall:
    """Renew the lease of *token*, and those of *processes* with it.

    Args:
        look: how many of the leases that run out next are returned.
        ask: return what the group knows of the manager *qmgr*.
    """
    return "admin/renew", (keys.leases, keys.members), (token, lease_ms, qmgr, look, int(ask), *processes)


def leave_call(keys: AdminKeys, qmgr: str, incarnation: int, processes: Sequence[str]) -> ScriptCall:
    """Give the name *qmgr* up, with the leases of the manager's own *processes*."""
    script_keys = (keys.leases, keys.members, keys.fence, keys.processes)
    return "admin/leave", script_keys, (qmgr, incarnation, *processes)


def end_process_call(keys: AdminKeys, token: str, lost: Sequence[str]) -> ScriptCall:
    """End the registration of the process *token*, and forget its connections that were *lost*."""
    return "admin/end_process", (keys.leases, keys.processes, keys.fence), (token, *lost)


def abandon_call(keys: AdminKeys, owners: Sequence[str]) -> ScriptCall:
    """Tell the group that these connections were lost, so that a manager recovers them."""
    return "admin/abandon", (keys.leases, keys.owners, keys.fence), owners


def member_state_call(keys: AdminKeys, qmgr: str, incarnation: int, changes: str) -> ScriptCall:
    """Change what the group knows of the manager *qmgr*, while it is this incarnation."""
    return "admin/member_state", (keys.members, keys.fence), (qmgr, incarnation, changes)


def tell_news_call(keys: AdminKeys, text: str, kept_s: int, tokens: Sequence[str]) -> ScriptCall:
    """Tell managers and processes, by their *tokens*, something that their next renewals tell too.

    Args:
        kept_s: news that no process takes are forgotten after this many seconds.
    """
    return "admin/tell_news", (keys.news,), (text, kept_s, *tokens)


def suspect_call(
    keys: AdminKeys, caller: str, answer_ms: int, text: str, kept_s: int, incarnations: Sequence[str]
) -> ScriptCall:
    """Let the leases of these *incarnations* run out after *answer_ms*, except those renewed when *text* is heard.

    Args:
        caller: the incarnation that asks; it must have a lease.
        kept_s: news that no process takes are forgotten after this many seconds.
    """
    return "admin/suspect", (keys.leases, keys.news), (caller, answer_ms, text, kept_s, *incarnations)


def agent_state_call(keys: AdminKeys, process: str, state: str) -> ScriptCall:
    """Record the state of the agent that is *process*, for people to see."""
    return "admin/agent_state", (keys.agents, keys.processes, keys.fence), (process, state)


def channel_figures_call(
    keys: AdminKeys, served_at: str, qmgr: str, incarnation: int, channels: str, connections: str, *, kept_s: int
) -> ScriptCall:
    """Record the figures of a channel server, for people to see: JSON for each channel, and for each connection."""
    script_keys = (served_at, keys.fence)
    return "admin/channel_figures", script_keys, (qmgr, incarnation, channels, connections, kept_s)


def claim_job_call(keys: AdminKeys, job: str, interval_ms: int) -> ScriptCall:
    """Ask for a job of the whole group that no other manager has done within *interval_ms*."""
    return "admin/claim_job", (keys.group,), (job, interval_ms)


def set_settings_call(keys: AdminKeys, known: bytes, text: str) -> ScriptCall:
    """Record the group's settings, if *known* is the record in force."""
    return "admin/set_settings", (keys.group, keys.members), (known, text)


def remove_begin_call(keys: AdminKeys, qmgr: str) -> ScriptCall:
    """Begin, or take up, an attempt to remove the manager *qmgr* from the group."""
    script_keys = (keys.group, keys.members, keys.leases, keys.structures, keys.failures)
    return "admin/remove_begin", script_keys, (qmgr,)


def remove_member_call(
    keys: AdminKeys, qmgr: str, attempt: int, stage: str, structure: str, remains: Iterable[tuple[str, str]]
) -> ScriptCall:
    """Bring an attempt to remove *qmgr* to its next stage, and forget what *remains* of the manager.

    Args:
        structure: the manager's own.
    """
    script_keys = (
        *(keys.group, keys.members, keys.fence, keys.structures, keys.failures, keys.qmgr, keys.agents),
        *(keys.directory, keys.owners, keys.processes, keys.recoveries, keys.completed),
    )
    fields = [part for pair in remains for part in pair]
    return "admin/remove_member", script_keys, (qmgr, attempt, stage, structure, *fields)


def shut_queue_call(keys: StructureKeys, queue: QueueKeys, holder: str, attempt: int, mode: str) -> ScriptCall:
    """Shut a queue of a manager that is being removed, or open it again."""
    script_keys = (keys.versions, queue.queue, queue.available, queue.handles, keys.sequence)
    return "structure/shut_queue", script_keys, (holder, attempt, mode)


def remove_keys_call(
    keys: StructureKeys, removed: Sequence[str], holder: str, attempt: int, fields: Iterable[str]
) -> ScriptCall:
    """Remove keys of a manager that is being removed, and *fields* of the structure's versions."""
    return "structure/remove_keys", (keys.versions, *removed), (holder, attempt, *fields)
