"""The scripts of an MQPUT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from sharedq.messages.record import PutArguments
from sharedq.redis.keys import QueueKeys, StructureKeys
from sharedq.redis.link import Argument, Front, ScriptCall, front_of
from sharedq.scripts.get import GetSource

#: The answer of a put script where another version of the definition is in force.
STALE = 1
#: Keys of structure/put_plain where the journal is off; one more where it is on.
_KEYS_WITHOUT_JOURNAL = 7
_KEYS_WITHOUT_CHECKS = 8
#: Kinds of calls of structure/put.
_WITH_MEMBERS, _OF_ANY_KIND = "with members", "of any kind"
#: The fields of a `RidingGet` where no get rides.
_NO_RIDER: Final = (None, 0, "", b"", b"")


class PutTarget(NamedTuple):
    """The arguments of a put that its handle gives, by one version of the definition.

    Attributes:
        token: of the connection.
        journal_max: how many entries the journal keeps; "0" where it is off.
        checked: the queue that messages go to from the transmit queue, else empty; how many pairs follow; (field,
            value) pairs of the structure's versions that must hold.
        plain_keys: keys of structure/put_plain.
        plain_head: its first arguments.
        fronts: both and, where the journal is off, the place of the messages among the priorities: by this place. Also
            of calls of structure/put, by a word for their kind.
        latest: the front of the latest call of structure/commit_put, or nothing.
    """

    keys: StructureKeys
    queue: QueueKeys
    token: str
    version: str
    max_depth: str
    journal_max: str
    checked: tuple[Argument, ...]
    plain_keys: tuple[str, ...]
    plain_head: tuple[str, ...]
    fronts: dict[str, Front]
    latest: list[CommitFront]


class RidingGet(NamedTuple):
    """A get that structure/commit_put makes, too.

    Attributes:
        unit_id: of the unit of work that the get belongs to.
        entry: the entry of its wait.
        prefix: of the messages that it may take, in the selection index.
    """

    source: GetSource
    max_length: int
    unit_id: str
    entry: bytes
    prefix: bytes


class CommitFront(NamedTuple):
    """The front of calls of structure/commit_put that end gets from *queues* and get from *source*, if any."""

    queues: Sequence[str]
    source: GetSource | None
    max_length: int
    front: Front


def put_target(
    keys: StructureKeys,
    queue: QueueKeys,
    token: str,
    version: str,
    max_depth: int,
    journal_max: str,
    hop_to: bytes,
    checks: Sequence[str],
) -> PutTarget:
    """The target of puts through one handle, which keeps it.

    Args:
        hop_to: the queue that messages go to, where *queue* is the transmit queue; else empty.
        checks: (field, value) pairs of the structure's versions that must hold.
    """
    is_checked = bool(hop_to or checks)
    plain_keys = (
        *(keys.owners, keys.sequence, keys.messages, queue.queue, queue.available, queue.waiters, keys.wake),
        *((keys.journal,) if journal_max != "0" or is_checked else ()),
        *((keys.versions,) if is_checked else ()),
    )
    if hop_to:
        hop = keys.queue(hop_to.decode())
        plain_keys += (keys.destinations, hop.queue, hop.available, hop.waiters)
    checked: tuple[Argument, ...] = (hop_to, str(len(checks) // 2), *checks)
    depth = str(max_depth)
    head = (token, queue.name, version, depth, *((journal_max,) if len(plain_keys) > _KEYS_WITHOUT_JOURNAL else ()))
    return PutTarget(keys, queue, token, version, depth, journal_max, checked, plain_keys, head, {}, [])


def put_plain_call(target: PutTarget, messages: Sequence[PutArguments], details: Sequence[str]) -> ScriptCall:
    """Store a batch of plain messages of one priority, outside a unit of work."""
    name, keys = "structure/put_plain", target.plain_keys
    base, _, record = messages[0]
    arguments: tuple[Argument, ...] = (record,)
    if len(messages) > 1:
        arguments += tuple([record for _, _, record in messages[1:]])
    place = base
    if len(keys) > _KEYS_WITHOUT_JOURNAL:
        # Here the place comes after other arguments.
        checked = target.checked if len(keys) > _KEYS_WITHOUT_CHECKS else ()
        place, arguments = "", ("\n".join(details), *checked, base, *arguments)
    front = target.fronts.get(place)
    if front is None:
        head = (*target.plain_head, place) if place else target.plain_head
        front = target.fronts[place] = front_of(name, keys, head)
    return name, front, arguments


def put_call(
    target: PutTarget, unit_id: str, messages: Sequence[PutArguments], details: Sequence[str], *, has_members: bool
) -> ScriptCall:
    """Store a batch of messages of any kind.

    Args:
        unit_id: of the unit of work that the messages belong to; empty: none.
        has_members: members of groups, or segments, are among the messages.
    """
    kind = _WITH_MEMBERS if has_members else _OF_ANY_KIND
    front = target.fronts.get(kind)
    if front is None:
        keys, queue, token = target.keys, target.queue, target.token
        script_keys = (
            *(keys.owners, keys.sequence, keys.messages, queue.queue, queue.available, queue.index, queue.waiters),
            *(keys.unit_of_work + token, keys.versions, keys.destinations, keys.expiry, keys.journal, keys.wake),
            *((queue.groups, queue.members) if has_members else ()),
        )
        head = (token, queue.name, target.version, target.max_depth, target.journal_max, *target.checked)
        front = target.fronts[kind] = front_of("structure/put", script_keys, head)
    return front.name, front, (unit_id, "\n".join(details), *_words(messages))


def undo_call(target: PutTarget, unit_id: str, first: int) -> ScriptCall:
    """Take the latest messages put out of the unit of work, back to the one numbered *first*."""
    keys, queue, token = target.keys, target.queue, target.token
    script_keys = (
        *(keys.owners, keys.unit_of_work + token, keys.messages, queue.queue, keys.journal),
        queue.available,
    )
    return "structure/undo_puts", script_keys, (token, unit_id, queue.name, first, target.journal_max)


def commit_put_call(
    target: PutTarget,
    unit_id: str,
    operations: int,
    queues: Sequence[str],
    messages: Sequence[PutArguments],
    details: Sequence[str],
    rider: RidingGet | None,
) -> ScriptCall:
    """Store a batch of messages, and commit the unit of work with them. All else in it is gets in the same structure.

    Args:
        operations, queues: what the unit of work has recorded in the structure, and the queues that it touches.
        rider: a get that this call makes, too, if a plain message is there for it.
    """
    source, max_length, next_unit, entry, prefix = rider or _NO_RIDER
    latest = target.latest[0] if target.latest else None
    # A program that passes messages on, or asks and waits, commits like the time before.
    if latest is None or latest.queues != queues or latest.source is not source or latest.max_length != max_length:
        latest = CommitFront(queues, source, max_length, _commit_front(target, queues, source, max_length))
        target.latest[:] = (latest,)
    base, look, record = messages[0]
    arguments: tuple[Argument, ...] = (
        *(unit_id, str(operations), "\n".join(details), look, next_unit, entry, prefix),
        *((base, record) if len(messages) == 1 else _words([(base, record) for base, _, record in messages])),
    )
    return latest.front.name, latest.front, arguments


def _commit_front(target: PutTarget, queues: Sequence[str], source: GetSource | None, max_length: int) -> Front:
    keys, queue = target.keys, target.queue
    script_keys = (
        *target.plain_keys[:_KEYS_WITHOUT_JOURNAL],
        *(keys.unit_of_work + target.token, keys.journal, queue.index),
        *[keys.queue(name).queue for name in queues],
    )
    head = (target.token, queue.name, target.version, target.max_depth, target.journal_max)
    got = ("", "", "0")
    if source is not None:
        there = source.queue
        script_keys += (there.queue, there.available, there.waiters, there.index)
        got = (there.name, source.version, str(max_length))
    return front_of("structure/commit_put", script_keys, (*head, *got, *queues))


def _words(messages: Iterable[Iterable[Argument]]) -> Iterator[Argument]:
    """The parts of each message, one after another. `chain` alone would forget that the types of these parts differ."""
    return chain.from_iterable(messages)
