"""The targets that a manager has seen dead and not begun to recover, in the order of their recovery. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from recovery.target import Target

#: The largest number of targets that are recovered in one go. Later deaths wait for no more than these.
BATCH = 250


class TargetKind(IntEnum):
    """Kinds of targets, the most urgent first: many others may wait for it, or it leaves the most work."""

    MANAGER = 0
    #: A program that this machine saw end, although its lease may be in force.
    SEEN_TO_END = 1
    PROGRAM = 2
    CONNECTION = 3


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of one kind, with their pids if this machine saw them end."""

    kind: TargetKind
    targets: list[Target]
    pids: list[int]


class Backlog:
    """Holds each target once; within a kind, the one that died first comes first."""

    def __init__(self) -> None:
        self._by_kind: dict[TargetKind, dict[str, tuple[Target, int]]] = {kind: {} for kind in TargetKind}

    def add(self, target: Target) -> None:
        """Add a target whose lease has run out."""
        if target.is_manager:
            kind = TargetKind.MANAGER
        else:
            kind = TargetKind.PROGRAM if target.connection is None else TargetKind.CONNECTION
        self._by_kind[kind].setdefault(target.token, (target, 0))

    def add_ended(self, token: str, pid: int) -> None:
        """Add a program that is reported to have ended as process *pid*."""
        self._by_kind[TargetKind.SEEN_TO_END].setdefault(token, (Target.parse(token), pid))

    def take(self) -> Targets | None:
        """Take the most urgent targets. None if none are left."""
        for kind, waiting in self._by_kind.items():
            if waiting:
                taken = [waiting.pop(token) for token in [*waiting][:BATCH]]
                return Targets(kind, [target for target, _ in taken], [pid for _, pid in taken])
        return None
