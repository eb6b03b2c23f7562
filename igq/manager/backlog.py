"""What a manager has seen dead and has not yet begun to recover, in the order in which it is recovered. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from recovery.target import Target

#: Targets that are recovered in one go, at most: what dies meanwhile waits for no more than these.
BATCH = 250


class Kind(IntEnum):
    """Kinds of targets, the most urgent first: one that many others may wait for, or that leaves the most work."""

    MANAGER = 0
    #: A program that this machine saw end, whose lease may be in force.
    SEEN_TO_END = 1
    PROGRAM = 2
    CONNECTION = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """Targets of one kind; of those that were seen to end the pids, too."""

    kind: Kind
    targets: list[Target]
    pids: list[int]


class Backlog:
    """Each target stands in it once, the longest dead of a kind first."""

    def __init__(self) -> None:
        self._by_kind: dict[Kind, dict[str, tuple[Target, int]]] = {kind: {} for kind in Kind}

    def add(self, target: Target) -> None:
        """A target whose lease has run out."""
        kind = Kind.MANAGER if target.is_manager else Kind.PROGRAM if target.connection is None else Kind.CONNECTION
        self._by_kind[kind].setdefault(target.token, (target, 0))

    def add_ended(self, token: str, pid: int) -> None:
        """A program that is said to have ended as process *pid*."""
        self._by_kind[Kind.SEEN_TO_END].setdefault(token, (Target.parse(token), pid))

    def take(self) -> Batch | None:
        """The most urgent ones; None where nothing is left."""
        for kind, waiting in self._by_kind.items():
            if waiting:
                taken = [waiting.pop(token) for token in [*waiting][:BATCH]]
                return Batch(kind, [target for target, _ in taken], [pid for _, pid in taken])
        return None
