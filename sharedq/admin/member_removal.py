"""Removes a member from the group for good, as IBM MQ for z/OS does with CSQ5PQSG REMOVE QMGR.

The member must be down, with nothing unresolved, and its queues empty and unused. The steps are:

1. The group notes the removal (``admin/remove_begin``): no manager starts under the name, no message is sent to it,
   and no structure is recovered, which would bring back messages on their way to it (``admin/restore_begin``).
2. Each of its queues, and its parts of SYSTEM.QSG.TRANSMIT.QUEUE, is shut, by a script that refuses if a message
   is on it, or if the structure has lost it (``structure/shut_queue``). A refusal opens all of them again, and the
   member is as it was.
3. When all are shut, the removal is decided and cannot be undone. Its definitions and records are deleted
   (``admin/remove_member``), then its structure and its parts (``structure/remove_keys``), then its own entry.

If an attempt is killed halfway, the note stays, and the next attempt continues from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Literal

from sharedq.calls.unit.in_doubt import prepared_units
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.failures import has_lost_all, structure_state
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.parts import Place, own_part, part_in
from sharedq.objects.store.structures import holder_field
from sharedq.objects.store.topics import Topics
from sharedq.objects.system import EVENT_QUEUES
from sharedq.redis.keys import private_structure
from sharedq.redis.link import ScriptCall
from sharedq.scripts.events import events_field
from sharedq.scripts.members import remove_begin_call, remove_keys_call, remove_member_call, shut_queue_call
from sharedq.scripts.reads import SCAN_COUNT, pairs_like

_UNKNOWN, _RUNNING, _LEFT, _FAILED = 1, 2, 3, 5
_SHUTTING, _OPENING, _DROPPING, _GONE = "SHUTTING", "OPENING", "DROPPING", "GONE"
#: Fields or keys that one script call deletes.
_CHUNK = 250


class RemovalRefusedError(Exception):
    """Something prevents the removal: one line for the user. The member is as it was."""


def remove_member(group: Group, qmgr: str) -> None:
    """Remove the member *qmgr* from the group, or complete a removal that was cut off.

    Its definitions, empty queues, attributes and the journal of its structure are deleted. A later start of that name
    is a new member.

    Raises:
        RemovalRefusedError: there is no such member, it is up, or not recovered, or something of it is unresolved or in
            use; or a structure has failed.
        MQIError: 2009, Redis cannot be reached, or another attempt took over; 2345, a structure's server cannot be
            reached. Repeat the call to continue.
    """
    for name in (*group.structure_names(), private_structure(qmgr)):
        # Check this before anything is noted or shut.
        group.require_reachable(name)
    while True:
        attempt, stage = _begin(group, qmgr)
        removal = _Removal(group, qmgr, attempt)
        if stage != _OPENING:
            break
        removal.open_again()
    if stage == _SHUTTING:
        try:
            removal.shut()
        except RemovalRefusedError:
            removal.advance(_OPENING)
            removal.open_again()
            raise
    removal.drop()


def _begin(group: Group, qmgr: str) -> tuple[int, str]:
    for name in group.structure_names():
        if not name.startswith(private_structure("")):
            # Record a loss that no call has noticed yet.
            structure_state(group, name)
    status, *detail = group.call(*remove_begin_call(group.keys, qmgr))
    if status == _UNKNOWN:
        known = ", ".join(each.name for each in group.members()) or "it has none"
        raise RemovalRefusedError(f"there is no queue manager {qmgr} in group {group.name}: {known}")
    if status == _RUNNING:
        raise RemovalRefusedError(f"queue manager {qmgr} is running: igq qmgr stop {qmgr} stops it")
    if status == _LEFT:
        left = detail[0].decode()
        raise RemovalRefusedError(
            f"{left} has still to be recovered: start {qmgr}, or another queue manager of the group"
        )
    if status == _FAILED:
        raise RemovalRefusedError(_lost(detail[0].decode(), qmgr))
    if status:
        raise RemovalRefusedError(f"{detail[0].decode()} is being recovered: repeat it when igq status says RESOLVED")
    return int(detail[0]), detail[1].decode()


def _lost(structure: str, qmgr: str) -> str:
    """Describe a failed structure that may hold something of the member, and what to do about it."""
    how = f"RECOVER CFSTRUCT({structure}), or DEFINE its queues with REPLACE where no backup can be"
    return f"structure {structure} has failed, and what it had for {qmgr} may come back: {how}"


@dataclass(frozen=True, slots=True)
class _Removal:
    """One attempt, with its number. The latest attempt continues; every earlier one is refused from then on."""

    group: Group
    qmgr: str
    attempt: int

    @property
    def structure(self) -> str:
        return private_structure(self.qmgr)

    def shut(self) -> None:
        """Shut every queue. Raises RemovalRefusedError: something prevents it."""
        in_doubt = sum(
            unit.prepared_at == self.qmgr or self.structure in unit.structures for unit in prepared_units(self.group)
        )
        if in_doubt:
            what = "1 unit of work is" if in_doubt == 1 else f"{in_doubt} units of work are"
            how = f"DISPLAY THREAD(*) TYPE(INDOUBT) QMNAME({self.qmgr})"
            raise RemovalRefusedError(f"{what} in doubt at queue manager {self.qmgr}: {how}")
        decided = next(self._scan("HSCAN", self.group.keys.decisions, f"{self.qmgr}.*"), None)
        if decided is not None:
            raise RemovalRefusedError(f"unit of work {decided} of queue manager {self.qmgr} is not completed yet")
        # Messages that interrupted clears have set aside are on no queue any more.
        self._finder().queues.finish_discards(self.structure)
        places = self._places()
        for place in places:
            try:
                # Each start of the manager has left an event. They tell of it alone, and go with it.
                self._set_queue(place, "shut full" if self._has_events(place) else "shut")
            except MQIError as error:
                if error.reason == MQRC.CF_STRUC_FAILED and not self._may_come_back(place):
                    continue
                if error.reason in (MQRC.CF_STRUC_FAILED, MQRC.CF_STRUC_IN_USE):
                    raise RemovalRefusedError(_lost(place.structure, self.qmgr)) from error
                if error.reason not in (MQRC.OBJECT_IN_USE, MQRC.Q_NOT_EMPTY):
                    raise
                raise RemovalRefusedError(self._obstacle(place, error.reason)) from error
        messages = self.group.structure(self.structure).messages
        events = sum(self._depth(place) for place in places if self._has_events(place))
        held = int(self.group.command(messages, "HLEN", messages)) - events
        if held:
            why = "expired, and to be reported by a running queue manager"
            what = f"1 message of {self.qmgr} is" if held == 1 else f"{held} messages of {self.qmgr} are"
            raise RemovalRefusedError(f"{what} on no queue: {why}")

    def _has_events(self, place: Place) -> bool:
        return place.structure == self.structure and place.queue in EVENT_QUEUES

    def _depth(self, place: Place) -> int:
        queue = self.group.structure(place.structure).queue(place.queue)
        return sum(int(self.group.command(key, "ZCARD", key)) for key in (queue.available, queue.members))

    def _may_come_back(self, place: Place) -> bool:
        """Whether a structure without keys has lost them, and a backup of it is possible."""
        finder = self._finder()
        return place.structure != self.structure and has_lost_all(finder.directory, finder.queues, place.structure)

    def open_again(self) -> None:
        """Open what is shut, so that the member is as it was."""
        finder = self._finder()
        for place in self._places():
            self._set_queue(place, "open")
        master = finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)
        if master is not None:
            # The queue may have been altered meanwhile, which a shut part does not learn.
            finder.set_partitions(master, [place for place in self._parts() if place in finder.queues.read_at([place])])
        self.advance("")

    def drop(self) -> None:
        """Delete everything, after all is shut."""
        self.advance(_DROPPING)
        # Their queues go with the member, and no publication can be delivered any more.
        topics = Topics(self.group, lambda: datetime.now(UTC))
        for match in topics.subscriptions():
            if match.subscription.destination_q_mgr == self.qmgr:
                topics.remove(match.subscription.number, holder=match.holder)
        while chunk := list(islice(self._remains(), _CHUNK)):
            self.advance(_DROPPING, chunk)
        own, field = self.group.structure(self.structure), holder_field(self.qmgr)
        for place in self._parts():
            if place.structure != self.structure:
                queue = self.group.structure(place.structure).queue(place.queue)
                keys = [queue.queue, queue.available, queue.index, queue.groups, queue.members]
                keys += [queue.waiters, queue.handles, queue.locks, queue.marks]
                self._remove_keys(place.structure, keys)
        for structure in self.group.structure_names():
            self._remove_keys(structure, [], [f"IGQ {self.qmgr}", events_field(self.qmgr), field])
        self.group.require_reachable(self.structure)
        left = (key for key in self._keys_of(own.tag) if key != own.versions)
        while chunk_of_keys := list(islice(left, _CHUNK)):
            self._remove_keys(self.structure, chunk_of_keys)
        # Last: until then the structure knows this attempt, and refuses earlier ones.
        self._remove_keys(self.structure, [own.versions])
        self.advance(_GONE)

    def advance(self, stage: str, remains: Iterable[tuple[str, str]] = ()) -> None:
        """Go to the next stage. Raises MQIError: 2009, another attempt took over."""
        self._call(remove_member_call(self.group.keys, self.qmgr, self.attempt, stage, self.structure, remains))

    def _set_queue(self, place: Place, mode: str) -> None:
        keys = self.group.structure(place.structure)
        self.group.require_reachable(place.structure)
        self._call(shut_queue_call(keys, keys.queue(place.queue), holder_field(self.qmgr), self.attempt, mode))

    def _remove_keys(self, structure: str, keys: list[str], fields: Iterable[str] = ()) -> None:
        self.group.require_reachable(structure)
        structure_keys = self.group.structure(structure)
        self._call(remove_keys_call(structure_keys, keys, holder_field(self.qmgr), self.attempt, fields))

    def _call(self, call: ScriptCall) -> None:
        reason, *_ = self.group.call(*call)
        if reason:
            detail = "its removal goes on elsewhere" if reason == MQRC.CONNECTION_BROKEN else ""
            raise error_for(MQRC(reason), "", self.qmgr, detail)

    # -- what there is of it ---------------------------------------------------------------------------------

    def _finder(self) -> Finder:
        return Finder(self.group, self.qmgr, lambda: datetime.now(UTC))

    def _parts(self) -> list[Place]:
        """Return where it may have parts of the transmit queue, even if its structure is no longer listed."""
        is_cluster = self.group.deployment().is_cluster
        own = private_structure("")
        others = [] if is_cluster else [name for name in self.group.structure_names() if not name.startswith(own)]
        return [own_part(self.qmgr), *(part_in(name, self.qmgr) for name in others)]

    def _places(self) -> list[Place]:
        entries = self._finder().directory.scan()
        names = {entry.name for entry in entries if entry.qmgr == self.qmgr and entry.structure == self.structure}
        return [*(Place(self.structure, name) for name in sorted(names)), *self._parts()]

    def _obstacle(self, place: Place, reason: int) -> str:
        """Describe why a queue could not be shut, and what to do about it."""
        queues, is_part = self._finder().queues, place in self._parts()
        what = f"{SYSTEM_QSG_TRANSMIT_QUEUE} for {self.qmgr}" if is_part else f"queue {place.queue} of {self.qmgr}"
        if reason == MQRC.OBJECT_IN_USE:
            token, detail = next(iter(queues.handles(*place)), ("#", " {}"))
            shown = json.loads(detail.partition(" ")[2])
            by = f"{shown.get('appl', '')} (pid {shown.get('pid', 0)}, {token.partition('#')[0]})"
            return f"{what} is open, by {by}: it must be closed first"
        stored = queues.read_at([place]).get(place)
        uncommitted, depth = (stored.state.uncommitted, stored.state.depth) if stored else (0, 0)
        if uncommitted:
            return f"{what} has uncommitted messages ({uncommitted}): they must be committed or backed out first"
        how = f"start {self.qmgr}, it takes them" if is_part else f"start {self.qmgr}, and get or CLEAR them"
        # A part that was just recovered has no definition yet.
        return f"{what} has messages{f' ({depth})' if stored else ''}: {how}"

    def _remains(self) -> Iterator[tuple[str, str]]:
        """Yield what the administration structure has of it besides its own entry: kind and field."""
        keys, under = self.group.keys, f"{self.qmgr}.*"
        for kind, key, pattern in (
            ("object", keys.directory, f"P {self.qmgr} *"),
            ("own", keys.owners, under),
            ("process", keys.processes, under),
            ("fence", keys.fence, under),
            ("recovery", keys.recoveries, under),
        ):
            yield from ((kind, field) for field in self._scan("HSCAN", key, pattern))
        yield from (("completed", field) for field in self._scan("ZSCAN", keys.completed, f"? {self.qmgr} *"))

    def _scan(self, command: Literal["HSCAN", "ZSCAN"], key: str, pattern: str) -> Iterator[str]:
        return (field.decode() for field, _ in pairs_like(self.group, command, key, pattern))

    def _keys_of(self, tag: str) -> Iterator[str]:
        for key in self.group.client(f"{tag}:").scan_iter(match=f"{tag}:*", count=SCAN_COUNT):
            yield key.decode()
