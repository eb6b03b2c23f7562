"""Recovery in one structure: shut the dead owners out, end their units of work, give back what they held.

Each step is one script. The same or another recoverer may repeat it, wherever the previous one stopped.

Subscriptions of dead connections end, and durable ones can be resumed by others. A subscription that ends leaves its
managed queue among the orphans, in the same moment; these are deleted afterwards. Every step may be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from recovery.claim import Claim, chunks
from recovery.leftovers import fields_under, needless_fences, own_fences
from recovery.target import Target, Targets
from sharedq.calls.handles.subscriptions import topics_of
from sharedq.calls.unit.in_doubt import setting_apart
from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.subscriptions import MANAGED
from sharedq.objects.repository import Repository
from sharedq.redis.keys import StructureKeys
from sharedq.redis.link import Reply, ScriptCall
from sharedq.scripts.reads import pairs_like, some_holdings, some_made_queues, unit_beginnings
from sharedq.scripts.recovery import fence_call, release_call, unfence_call
from sharedq.scripts.unit import End, end_unit_call
from sharedq.session.connection import Connection
from sharedq.session.handle import StructureAccess
from sharedq.session.unit_of_work import CHUNK_MESSAGES

#: Others have ended it, or opened it, meanwhile.
_DONE = (MQRC.NO_SUBSCRIPTION, MQRC.SUBSCRIPTION_IN_USE)
log = LibraryLogger(__name__)
#: Owners that one script call shuts out.
CHUNK_OWNERS = 100
#: Handles that one script call gives back.
CHUNK_HANDLES = 100
_NOT_RESOLVED, _MORE_HANDLES, _HAS_MADE = 1, 2, 3
_WOKEN = (b"K", b"H")
_COMMITTING = b"C"
#: The first byte of a decision that says "in doubt".
_PREPARED = b"="


def end_subscriptions(connection: Connection, targets: Targets) -> None:
    """End what the connections under *targets*, which are shut out, had subscribed to.

    Raises:
        MQIError: 2009, the recoverer itself was shut out.
    """
    topics = topics_of(connection.group)
    for field, token in pairs_like(connection, "HSCAN", connection.group.keys.subscription_holders):
        holder, number = token.decode(), field.decode()
        if holder == connection.token or targets.covering(holder) is None:
            continue
        subscription = topics.numbered(number)
        if subscription is None:
            continue
        end = topics.close if subscription.is_durable else topics.remove
        try:
            end(number, connection.token, connection, holder)
        except MQIError as error:
            if error.reason not in _DONE:
                raise


def managed_queues(group: Group, names: Sequence[str]) -> Collection[str]:
    """Return those of *names* that are the managed queue of a subscription."""
    topics = topics_of(group)
    if not any(name.startswith(MANAGED) for name in names):
        return ()
    found = (match.subscription for match in topics.subscriptions())
    return {subscription.destination for subscription in found if subscription.is_managed} & set(names)


def fence(connection: Connection, access: StructureAccess, claims: Sequence[Claim]) -> None:
    """Stop everything under the targets of *claims* from changing or entering this structure.

    Raises:
        MQIError: 2009, the recoverer itself was fenced.
    """
    keys, targets = access.keys, Targets(claim.target for claim in claims)

    def call(marks: Sequence[tuple[str, int]], tokens: Iterable[str]) -> None:
        connection.checked_call(*fence_call(keys, connection.token, marks, tokens))

    # Set the marks first: the scan finds owners that entered before, and later ones are refused.
    for chunk in chunks(claims, CHUNK_OWNERS):
        marks = [_mark_of(claim) for claim in chunk]
        call(marks, [claim.target.token for claim in chunk if claim.target.connection is not None])
    if not targets.wide:
        return
    registered = fields_under(connection, keys.owners, Targets(targets.wide))
    tokens = [token for _, token, _ in registered if token != connection.token]
    tokens += [token for _, token in needless_fences(connection, keys.fence, targets)]
    for each in chunks(tokens, CHUNK_OWNERS):
        call([(target.qmgr, target.incarnation) for target in targets.managers], each)


def unfence(connection: Connection, access: StructureAccess, targets: Targets) -> None:
    """Remove the fences of programs and connections under *targets*: the group does not know these any more.

    Raises:
        MQIError: 2009, the recoverer itself was fenced.
    """
    tokens = [token for _, token in own_fences(connection, access.keys.fence, targets)]
    for chunk in chunks(tokens, CHUNK_OWNERS):
        connection.checked_call(*unfence_call(access.keys, connection.token, chunk))


def _mark_of(claim: Claim) -> tuple[str, int]:
    target = claim.target
    return (target.qmgr, target.incarnation) if target.is_manager else (target.token, claim.claimed_ms)


@dataclass(frozen=True, slots=True)
class DeadOwner:
    """A connection that was fenced of a structure, with what it had there.

    Attributes:
        target: the token of the target that it died with.
        state: what the connection waited for (`docs/reference/key-space.md`, ``own``).
    """

    target: str
    token: str
    state: bytes


class Recoverer(Protocol):
    """The recovery that resolves a structure: what the resolution asks it and tells it."""

    def is_held(self, target: str) -> bool:
        """Whether *target* still belongs to this recovery."""

    def decisions_of(self, unit_ids: Sequence[str]) -> Sequence[bytes | None]:
        """Return the group's decisions about units of work, None where there is none."""

    def count(self, done: Sequence[tuple[str, str, int | None]]) -> None:
        """Count targets, units of work and the messages of each that were resolved; None: it was set apart."""

    def keep(self) -> None:
        """Keep this recovery's claims, if it is time to."""

    def give_up(self, target: str, structure: str, error: MQIError) -> None:
        """Leave *target* to a later recovery. Raises *error* again if nothing else can go on either."""


def dead_under(connection: Connection, access: StructureAccess, targets: Targets) -> list[DeadOwner]:
    """Return the dead owners of a structure, including those that an earlier recoverer left."""
    found = {
        token: DeadOwner(target.token, token, state)
        for target, token, state in fields_under(connection, access.keys.dead, targets)
    }
    return [*found.values()]


def resolve_dead(
    connection: Connection, access: StructureAccess, dead: Sequence[DeadOwner], recoverer: Recoverer
) -> None:
    """End the units of work of *dead* owners and give back what they held. Prepared units are set apart: in doubt.

    Raises:
        MQIError: 2009, the recoverer itself was fenced.
    """
    makers: list[DeadOwner] = []
    for page in chunks(dead, CHUNK_OWNERS):
        _end_units_of_work(connection, access, page, recoverer)
        makers += _release(connection, access, page, recoverer)
        recoverer.keep()
    # After all releases: one owner may have had open a queue that another one made.
    for page in chunks(makers, CHUNK_OWNERS):
        for owner in page:
            _delete_made(connection, access, owner, recoverer)
        _release(connection, access, page, recoverer)
        recoverer.keep()


@dataclass(slots=True)
class _Unit:
    """A dead owner's unit of work as it was read, or its beginning."""

    owner: DeadOwner
    elements: list[bytes]
    decision: bytes | None = None

    @property
    def is_committing(self) -> bool:
        return self.elements[0].startswith(_COMMITTING)

    @property
    def id(self) -> str:
        return self.elements[0][1:].decode()

    @property
    def size(self) -> int:
        """The largest number of messages that the next call can end."""
        return min(CHUNK_MESSAGES, sum(int(each.partition(b"\n")[0][1:]) for each in self.elements[1:]))


def _end_units_of_work(
    connection: Connection, access: StructureAccess, owners: Sequence[DeadOwner], recoverer: Recoverer
) -> None:
    """Complete what was decided, set apart what is prepared, back out the rest, one chunk of messages at a time."""
    left, stuck = list(owners), dict[str, list[bytes]]()
    while left := [owner for owner in left if recoverer.is_held(owner.target)]:
        # Read the units again for each chunk: a recoverer that has not noticed the loss of its claim may have ended
        # some.
        units = []
        for unit in _read_units(connection, access, left):
            if stuck.get(unit.owner.token) != unit.elements:
                units.append(unit)
                continue
            # Should be impossible. Fail instead of looping, so that another recoverer can try.
            why = f"unit of work {unit.id} cannot be ended"
            error = error_for(MQRC.UNEXPECTED_ERROR, "", connection.qmgr_name, why)
            recoverer.give_up(unit.owner.target, access.keys.name, error)
        asked = [unit for unit in units if not unit.is_committing]
        for unit, decision in zip(asked, recoverer.decisions_of([unit.id for unit in asked]), strict=True):
            unit.decision = decision
        left, stuck = [], {}
        for some in _as_many_as_a_chunk(units):
            for unit in _end_some(connection, access, some, recoverer):
                left.append(unit.owner)
                stuck[unit.owner.token] = unit.elements


def _read_units(connection: Connection, access: StructureAccess, owners: Sequence[DeadOwner]) -> list[_Unit]:
    found = unit_beginnings(connection, access.keys, [owner.token for owner in owners], CHUNK_MESSAGES)
    return [_Unit(owner, elements) for owner, elements in zip(owners, found, strict=True) if elements]


def _as_many_as_a_chunk(units: Sequence[_Unit]) -> Iterator[list[_Unit]]:
    some: list[_Unit] = []
    size = 0
    for unit in units:
        if some and size + unit.size > CHUNK_MESSAGES:
            yield some
            some, size = [], 0
        some.append(unit)
        size += unit.size
    if some:
        yield some


def _end_some(
    connection: Connection,
    access: StructureAccess,
    units: Sequence[_Unit],
    recoverer: Recoverer,
) -> list[_Unit]:
    """End each unit with one call, all in one write. Returns the units that need another look."""
    units = [unit for unit in units if recoverer.is_held(unit.owner.target)]
    calls = [_end_call(connection, access, unit) for unit in units]
    done: list[tuple[str, str, int | None]] = []
    again: list[_Unit] = []
    for unit, (reason, *counts) in zip(units, _answers(connection, calls), strict=True):
        if reason:
            recoverer.give_up(unit.owner.target, access.keys.name, connection.error(reason))
            continue
        # The reply about a unit that was set apart has no message count.
        left, messages = (1, None) if len(counts) < 2 else (int(counts[0]), int(counts[1]))
        done.append((unit.owner.target, unit.id, messages))
        if left or not messages:
            again.append(unit)
    if done:
        recoverer.count(done)
    return again


def _answers(connection: Connection, calls: Sequence[ScriptCall]) -> list[Reply]:
    """Make calls of one structure in one write. If Redis refuses one, its answer is the reason."""
    try:
        return connection.call_many(calls) if calls else []
    except MQIError as error:
        if connection.is_ended or len(calls) > 1:
            raise
        return [[int(error.reason)]]


def _end_call(connection: Connection, access: StructureAccess, unit: _Unit) -> ScriptCall:
    owner, decision = unit.owner.token, unit.decision
    if decision is not None and decision.startswith(_PREPARED):
        return setting_apart(connection, access.keys.name, owner, unit.id)
    how: End = "commit" if unit.is_committing or decision is not None else "backout"
    queues = list(dict.fromkeys(element.split(b"\n", 2)[1].decode() for element in unit.elements[1:]))
    return end_unit_call(
        *(access.keys, how, connection.token, owner, unit.id, queues, -1, connection.group.journal_max),
        chunk=CHUNK_MESSAGES,
    )


def _release(
    connection: Connection, access: StructureAccess, owners: Sequence[DeadOwner], recoverer: Recoverer
) -> list[DeadOwner]:
    """Give back dead owners' handles with their locks and marks, and wake-ups that they did not use.

    Returns:
        The owners that made queues. They stay among the dead until `_delete_made` has deleted these queues.
    """
    keys = access.keys
    makers: list[DeadOwner] = []
    left = list(owners)
    while left := [owner for owner in left if recoverer.is_held(owner.target)]:
        holdings = some_holdings(connection, keys, [owner.token for owner in left], CHUNK_HANDLES)
        found = dict(zip(left, holdings, strict=True))
        replies = _answers(connection, [_release_call(connection, keys, *each) for each in found.items()])
        left = []
        for owner, (reason,) in zip(found, replies, strict=True):
            if reason == _MORE_HANDLES:
                left.append(owner)
            elif reason == _HAS_MADE:
                makers.append(owner)
            elif reason:
                why = f"what {owner.token} had cannot be given back"
                known = MQRC.UNEXPECTED_ERROR if reason == _NOT_RESOLVED else reason
                recoverer.give_up(owner.target, keys.name, connection.error(known, detail=why))
    return makers


def _release_call(
    connection: Connection, keys: StructureKeys, owner: DeadOwner, holdings: Sequence[bytes]
) -> ScriptCall:
    names = dict.fromkeys(holding.rpartition(b"\n")[0].decode() for holding in holdings)
    if owner.state[:1] in _WOKEN:
        names[owner.state[1:].partition(b"\n")[0].decode()] = None
    return release_call(keys, connection.token, owner.token, list(names), connection.journal_max, holdings)


def _delete_made(connection: Connection, access: StructureAccess, owner: DeadOwner, recoverer: Recoverer) -> None:
    """Delete the queues that a dead owner made from models, at whatever step their making or deletion stopped."""
    keys = access.keys
    repository = Repository(connection.group, Target.parse(owner.token).qmgr, caller=connection.token)
    while recoverer.is_held(owner.target):
        names = some_made_queues(connection, keys, owner.token, CHUNK_HANDLES)
        if not names:
            return
        # A subscription that was registered in the last moment has its queue from then on.
        subscribed = managed_queues(connection.group, names)
        for name in names:
            if name in subscribed:
                repository.forget_made(keys.name, name, owner.token)
                continue
            try:
                repository.delete_made(keys.name, name, owner.token)
            except MQIError as error:
                if error.reason != MQRC.Q_NOT_EMPTY:
                    recoverer.give_up(owner.target, keys.name, error)
                    return
                # Another program has something uncommitted on the queue. A manager deletes it after that.
                log.info("temporary_queue_left", queue=name, owner=owner.token, error=str(error))
                repository.orphan_made(keys.name, name, owner.token)
