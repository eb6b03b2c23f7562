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
#: A message's place on its queue is fixed when it arrives. These arrive in this order.
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


class Ender(NamedTuple):
    """The place of a process that ends work in doubt, and the outcome: commit (C) or back out (B)."""

    at: str = "over"
    how: str = ""


class InDoubt(NamedTuple):
    """V's unit of work as an external coordinator has it, and who ends it.

    Attributes:
        state: empty; ``?`` in doubt; ``C`` or ``B`` decided; ``done C`` or ``done B`` it has ended.
        by: who decided.
        is_noted: the decision that it is in doubt stands where V's recoverers look.
        units: what was set apart in each structure.
        enders: K, the coordinator's program; the operator O; K's recoverer R3.
        is_fenced, registered: of K.
        was_prepared: the observer's.
        told: the observer's: what K and O were told is done.
    """

    state: str = ""
    by: str = ""
    is_noted: bool = False
    units: Pair[Unit | None] = (None, None)
    enders: tuple[Ender, Ender, Ender] = (Ender(), Ender(), Ender())
    is_fenced: bool = False
    registered: Pair[bool] = (True, True)
    was_prepared: bool = False
    told: Pair[str] = ("", "")


class World(NamedTuple):
    """One state. The fields after ``doubt`` are the observer's, and decide nothing.

    The tag's users: V, W, and D for what V has prepared. ``is_known``: the group has V among its connections.
    """

    available: Pair[tuple[str, ...]] = (("m", "n"), ())
    units: Pair[Unit | None] = (None, None)
    registered: Pair[bool] = (False, False)
    marked: Pair[bool] = (False, False)
    dead: Pair[bool] = (False, False)
    is_y_defined: bool = True
    lease: str = HELD
    is_fenced: bool = False
    is_known: bool = True
    claimant: str = ""
    is_resolved: bool = False
    tag: str = "V"
    is_decided: bool = False
    victim: str = "attach X"
    recoverers: Pair[Recoverer] = (Recoverer(), Recoverer())
    successor: str = "connect"
    consumer: int = 2
    doubt: InDoubt = InDoubt()
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
    """V's steps before it commits or backs out, and their names."""

    name: str
    work: tuple[str, ...]
    is_y_defined: bool = True
    #: The processes besides V and W if an external coordinator prepares the work.
    in_doubt: tuple[str, ...] = ()

    @property
    def structures(self) -> tuple[str, ...]:
        """The structures that V's unit of work touches."""
        return NAMES if "put Y" in self.work else NAMES[:1]


SPANNING = Scenario(
    "one unit of work in two structures", ("attach X", "check X", "get X", "attach Y", "check Y", "put Y")
)
LATE = Scenario("the second structure is defined late", SPANNING.work, is_y_defined=False)
#: V has done its work, and prepares it. Its recoverers and the processes that end it are at work at the same time.
PREPARED = Scenario("a unit of work is prepared, recovered and ended", SPANNING.work, in_doubt=("V", "R1", "R2", "O"))
#: V died when it had set one half apart. The process that ends it may die, too.
ENDED = Scenario("a unit of work in doubt is ended from several sides", SPANNING.work, in_doubt=("R2", "K", "O", "R3"))
LARGE = Scenario("one unit of work in one structure, in two chunks", ("attach X", "check X", "get X", "put X"))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of the protocol. Each switch, turned off, breaks it."""

    scripts_look_their_caller_up: bool = True
    structures_are_marked: bool = True
    entering_is_checked_again: bool = True
    entering_asks_who_is_known: bool = True
    deciding_asks_who_is_known: bool = True
    fences_go_last: bool = True
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
    recoverer_leaves_what_is_in_doubt: bool = True
    end_of_doubt_is_decided_first: bool = True
    tag_waits_for_what_is_in_doubt: bool = True
    end_of_doubt_outlives_who_decided: bool = True
    coordinator_is_shut_out_first: bool = True
