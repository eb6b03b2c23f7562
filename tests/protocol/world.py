"""The state that the model explores: Redis as the scripts see it, the processes, and what an observer remembers.

Two structures, X and Y. On X stand m and n, in this order. The victim V, a program of a manager that is taken for
dead, gets m and puts p in one unit of work; the recoverers R1 and R2 are peers of its manager; the successor W takes
V's connection tag, gets what is on X and puts q; the consumer U gets from Y and holds no tag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Pair = tuple[T, T]

X, Y = 0, 1
NAMES = ("X", "Y")
#: A message's place on its queue is fixed when it arrives; these arrive in this order.
POSITIONS = {"m": 1, "n": 2, "p": 3, "q": 4}
GET, PUT = "G", "P"
#: States of a unit of work: active, committing, backing out.
ACTIVE, COMMITTING, BACKING_OUT = "A", "C", "B"
HELD, LAPSED, TAKEN = "held", "lapsed", "taken"
OK, FAILED, UNKNOWN = "ok", "failed", "unknown"
#: Messages that one call commits or backs out.
CHUNK = 1


class Unit(NamedTuple):
    """V's unit of work in one structure."""

    state: str
    operations: tuple[tuple[str, str], ...]


class Recoverer(NamedTuple):
    """Where a recoverer is, and what it has read.

    Attributes:
        listed: how many structures it found.
        found: V was registered, or dead, in the structure at hand.
        how: it read that V's unit of work is to be committed (C) or backed out (B).
    """

    at: str = "claim"
    structure: int = X
    listed: int = 0
    found: bool = False
    how: str = ""


class World(NamedTuple):
    """One state. What stands behind ``consumer`` is the observer's, and decides nothing."""

    available: Pair[tuple[str, ...]] = (("m", "n"), ())
    units: Pair[Unit | None] = (None, None)
    registered: Pair[bool] = (False, False)
    marked: Pair[bool] = (False, False)
    dead: Pair[bool] = (False, False)
    is_y_defined: bool = True
    lease: str = HELD
    is_fenced: bool = False
    claimant: str = ""
    is_resolved: bool = False
    tag: str = "V"
    is_decided: bool = False
    victim: str = "attach X"
    recoverers: Pair[Recoverer] = (Recoverer(), Recoverer())
    successor: str = "connect"
    consumer: int = 2
    passed: Pair[bool] = (False, False)
    delivered: tuple[str, ...] = ()
    appeared: tuple[str, ...] = ()
    ended: Pair[str] = ("", "")
    outcome: str = ""


def replaced(pair: Pair[T], index: int, value: T) -> Pair[T]:
    """The pair with another value at one place."""
    return (value, pair[1]) if index == 0 else (pair[0], value)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What V does before it commits or backs out, and what that is called."""

    name: str
    work: tuple[str, ...]
    is_y_defined: bool = True

    @property
    def structures(self) -> tuple[str, ...]:
        """Those that V's unit of work touches."""
        return NAMES if "put Y" in self.work else NAMES[:1]


SPANNING = Scenario(
    "one unit of work in two structures", ("attach X", "check X", "get X", "attach Y", "check Y", "put Y")
)
LATE = Scenario("the second structure is defined late", SPANNING.work, is_y_defined=False)
LARGE = Scenario("one unit of work in one structure, in two chunks", ("attach X", "check X", "get X", "put X"))


@dataclass(frozen=True, slots=True)
class Rules:
    """How the protocol works. Each switch, turned off, breaks it."""

    scripts_look_their_caller_up: bool = True
    structures_are_marked: bool = True
    entering_is_checked_again: bool = True
    recoverer_shuts_out_before_it_looks: bool = True
    decision_comes_first: bool = True
    large_unit_remembers_its_decision: bool = True
    work_is_done_in_chunks: bool = True
    effect_and_record_change_together: bool = True
    backout_returns_to_the_place: bool = True
    tag_waits_for_the_last_step: bool = True
    recovery_frees_the_tag: bool = True
    success_is_told_last: bool = True
    lost_reply_is_unknown: bool = True
    calls_are_sent_once: bool = True
