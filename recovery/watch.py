"""Whose lease ran out, and when to look again. Pure: leases and the time are given, both of Redis' clock."""

from __future__ import annotations

from collections.abc import Iterable

from recovery.target import Target

__all__ = ["Target", "due", "next_look_ms"]


def due(leases: Iterable[tuple[str, int]], now_ms: int, own: str) -> list[Target]:
    """What the manager *own* should try to recover now, dead managers first.

    A dead program is its own manager's to recover; when that is dead, the manager's recovery covers it.
    With only the earliest leases given, a program may be named whose manager lives unseen: the claim is then
    refused.

    Args:
        leases: members of the group's leases with their deadlines, all or the earliest.
        now_ms: Redis' time when the leases were read.
        own: incarnation of the manager that asks, ``QM.incarnation``.

    Raises:
        ValueError: a lease names no target.
    """
    deadlines = {Target.parse(member): deadline for member, deadline in leases}
    others = {target.token for target in deadlines if target.is_manager and target.token != own}
    found = [
        target
        for target, deadline in deadlines.items()
        if deadline <= now_ms and target.token != own and (target.is_manager or target.incarnation_token not in others)
    ]
    return sorted(found, key=lambda target: (not target.is_manager, deadlines[target], target.token))


def next_look_ms(leases: Iterable[tuple[str, int]], now_ms: int, longest_ms: int) -> int:
    """Milliseconds until the next lease runs out, at most *longest_ms*.

    What has run out already does not count: it is being recovered, or it is not ours.
    """
    return min([longest_ms, *(deadline - now_ms for _, deadline in leases if deadline > now_ms)])
