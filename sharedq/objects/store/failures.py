"""Structures that have failed: how that is noticed, how the group is told, and what a call gets as its reason.

A structure has failed when it has lost its keys . No call checks for that: a script
finds its caller or its queue missing, and only then the reason is looked up. A process that sees a failure tells the
group, and so does RECOVER CFSTRUCT. Every process is told to look, and so does the next renewal of its lease.

The first definition in a structure creates its counter, which nothing ever deletes. A deleted queue leaves its
structure before it leaves the directory. So if the directory has queues in a structure without a counter, they are
lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sharedq.members.group import Group
from sharedq.members.news import tell_everybody
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.store.directory import Directory
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.redis.keys import private_structure
from sharedq.scripts.objects import structure_state_call

#: An operator can do this. RECOVER CFSTRUCT refuses if there is no backup, or none is possible.
LOST_QUEUES_REMEDY = "RECOVER CFSTRUCT brings them back from a backup, DEFINE with REPLACE without their messages"
#: INRECOVER: a recovery has begun and not ended.
State = Literal["ACTIVE", "FAILED", "INRECOVER"]


def queues_in(directory: Directory, structure: str) -> list[str]:
    """Return the names of the directory's queues in a structure."""
    found = (entry for entry in directory.scan() if entry.scope != "G" and entry.is_in_structure)
    return sorted({entry.name for entry in found if entry.structure == structure})


def lost_queues(directory: Directory, queues: LocalQueues, structure: str) -> list[str]:
    """Return the names of the queues that the structure lacks."""
    lost = _missing(directory, queues, structure)
    # A queue that was deleted after it was listed is in the directory no more.
    still = _missing(directory, queues, structure) if lost else []
    return [name for name in lost if name in still]


def _missing(directory: Directory, queues: LocalQueues, structure: str) -> list[str]:
    names = queues_in(directory, structure)
    there = queues.read(structure, names)
    return [name for name in names if name not in there]


def has_lost_all(directory: Directory, queues: LocalQueues, structure: str) -> bool:
    """Whether queues are defined in the structure and it has none of them."""
    names = queues_in(directory, structure)
    return bool(names) and not queues.read(structure, names)


@dataclass(frozen=True, slots=True)
class Failure:
    """The last news that the group has of a structure that has failed at least once.

    Attributes:
        since_ms: the time of the present ``is_failed``, by Redis' clock.
        count: how many times it has failed.
        text: the record. A process that tells something new must know the last record.
    """

    is_failed: bool
    since_ms: int
    count: int
    text: str


def failures(group: Group) -> dict[str, Failure]:
    """Return the structures that have failed at least once."""
    key = group.keys.failures
    flat = group.command(key, "HGETALL", key)
    return {name.decode(): _parsed(text) for name, text in zip(flat[::2], flat[1::2], strict=True)}


def failure_of(group: Group, structure: str) -> Failure | None:
    """Return what was last told about *structure*. None if it never failed."""
    key = group.keys.failures
    text = group.command(key, "HGET", key, structure)
    return None if text is None else _parsed(text)


def may_have_changed(group: Group, structure: str, known: Failure | None) -> bool:
    """Whether `structure_state` must be called, for callers that look again and again.

    Costs one command for a structure that is used, two for one that never was.

    Raises:
        MQIError: 2009, the structure cannot be reached.
    """
    if known is not None and known.is_failed:
        return True
    sequence = group.structure(structure).sequence
    if group.command(sequence, "EXISTS", sequence):
        return False
    return has_lost_all(Directory(group), LocalQueues(group, None, ""), structure)


def structure_state(group: Group, structure: str) -> State:
    """Return the present state of a structure. Tells the group if that is news.

    Raises:
        MQIError: 2009, the structure cannot be reached.
    """
    known = failure_of(group, structure)
    keys = group.structure(structure)
    if group.command(keys.versions, "HEXISTS", keys.versions, "RECOVER"):
        return "INRECOVER"
    has_failed = not group.command(keys.sequence, "EXISTS", keys.sequence) and (
        (known is not None and known.is_failed)
        or has_lost_all(Directory(group), LocalQueues(group, None, ""), structure)
    )
    tell(group, structure, has_failed=has_failed, known=known)
    return "FAILED" if has_failed else "ACTIVE"


def tell(group: Group, structure: str, *, has_failed: bool, known: Failure | None) -> None:
    """Tell the group the state of a structure. *known* is what had been told before the look at it."""
    if has_failed != (known is not None and known.is_failed):
        state = "FAILED" if has_failed else "ACTIVE"
        if group.call(*structure_state_call(group.keys, structure, state, known.text if known else "")):
            tell_everybody(group)


def why_not_there(group: Group, structure: str, name: str) -> MQIError | None:
    """Return the error for a queue that the directory has and its structure lacks. None if it was deleted."""
    state = structure_state(group, structure)
    if state == "INRECOVER":
        return error_for(MQRC.CF_STRUC_IN_USE, "", name, f"{structure} is being recovered")
    if state == "FAILED":
        remedy = LOST_QUEUES_REMEDY
        if structure.startswith(private_structure("")):
            remedy = "a start of its manager brings its system queues back"
        return error_for(MQRC.CF_STRUC_FAILED, "", name, f"{structure} has lost its queues: {remedy}")
    return None


def parse_failure(text: str) -> Failure | None:
    """Return what a record of ``A:failures`` tells. None if it is empty: the structure never failed."""
    return _parsed(text.encode()) if text else None


def _parsed(text: bytes) -> Failure:
    state, since_ms, count = text.split()
    return Failure(state == b"FAILED", int(since_ms), int(count), text.decode())
