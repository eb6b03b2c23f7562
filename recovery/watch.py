"""Finds leases that ran out, and the time of the next look. Pure: the caller passes leases and the Redis time."""

from __future__ import annotations

from collections.abc import Iterable

from recovery.target import Target

__all__ = ["Target", "due", "next_look_ms"]


def due(leases: Iterable[tuple[str, int]], now_ms: int, own: str) -> list[Target]:
    """Return what the manager *own* should try to recover now, dead managers first.

    A manager recovers its own dead programs; when the manager is dead, its recovery covers them. If only the earliest
    leases are given, the list may name a program whose manager lives; the claim is then refused.

    Args:
        leases: members of the group's leases with their deadlines: all of them, or the earliest.
        now_ms: the Redis time when the leases were read.
        own: the incarnation of the manager that asks, ``QM.incarnation``.

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
    """Return the milliseconds until the next lease runs out, at most *longest_ms*.

    Leases that have already run out do not count: another manager recovers them, or they are not ours.
    """
    return min([longest_ms, *(deadline - now_ms for _, deadline in leases if deadline > now_ms)])
