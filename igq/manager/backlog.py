"""The targets that a manager has seen dead and not begun to recover, in the order of their recovery. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from recovery.target import Target

#: The largest number of targets that are recovered in one go. Later deaths wait for no more than these.
BATCH = 250


class Kind(IntEnum):
    """Kinds of targets, the most urgent first: many others may wait for it, or it leaves the most work."""

    MANAGER = 0
    #: A program that this machine saw end, although its lease may be in force.
    SEEN_TO_END = 1
    PROGRAM = 2
    CONNECTION = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """Targets of one kind, with their pids if this machine saw them end."""

    kind: Kind
    targets: list[Target]
    pids: list[int]


class Backlog:
    """Holds each target once; within a kind, the one that died first comes first."""

    def __init__(self) -> None:
        self._by_kind: dict[Kind, dict[str, tuple[Target, int]]] = {kind: {} for kind in Kind}

    def add(self, target: Target) -> None:
        """Add a target whose lease has run out."""
        kind = Kind.MANAGER if target.is_manager else Kind.PROGRAM if target.connection is None else Kind.CONNECTION
        self._by_kind[kind].setdefault(target.token, (target, 0))

    def add_ended(self, token: str, pid: int) -> None:
        """Add a program that is reported to have ended as process *pid*."""
        self._by_kind[Kind.SEEN_TO_END].setdefault(token, (Target.parse(token), pid))

    def take(self) -> Batch | None:
        """Take the most urgent targets. None if none are left."""
        for kind, waiting in self._by_kind.items():
            if waiting:
                taken = [waiting.pop(token) for token in [*waiting][:BATCH]]
                return Batch(kind, [target for target, _ in taken], [pid for _, pid in taken])
        return None
