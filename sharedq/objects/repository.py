"""The objects of the group as one manager sees them: define, alter, delete, clear, display, look up.

A local queue's definition is in its structure, which is written first; the directory entry makes it visible. If a
command is cut off in between, the same command completes it. Other definitions are in the directory. When one has
changed, every structure is told, so that calls through it use the new definition, or fail with MQRC_OBJECT_CHANGED if
it leads elsewhere. After a command has returned, no put uses the old definition.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from sharedq.members.event_notes import Giver
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import OBJECT_NAME_LENGTH
from sharedq.objects.commands import changes as copies
from sharedq.objects.commands.changes import (
    alter_in_directory,
    alter_local,
    announce_missing,
    check_idle,
    complete,
    define_at,
    delete_entry,
    drop_closed_parts,
    total_state,
)
from sharedq.objects.commands.display import (
    Counts,
    DisplayedQueue,
    LeftOut,
    OpenHandle,
    displayed_queues,
    left_out,
    oldest_ages_ms,
    open_handles,
    reset_counts,
)
from sharedq.objects.definitions.base import NamedObject, ObjectDefinition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.namelists import Namelist
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.processes import ProcessDefinition
from sharedq.objects.definitions.queues import AnyQueue, QueueLocal, QueueModel
from sharedq.objects.definitions.server_channels import Channel, Listener
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.store.directory import Entry, NamedObjects
from sharedq.objects.store.failures import why_not_there
from sharedq.objects.store.finder import Chosen, Finder, Located
from sharedq.objects.store.local_queues import QueueState
from sharedq.objects.store.orphans import add_orphan
from sharedq.objects.store.parts import Place, own_part, part_in, parts_of
from sharedq.objects.store.structures import ManagerAttributes, Structures, announce, holder_field
from sharedq.objects.store.topics import Topics
from sharedq.redis.keys import private_structure

__all__ = ["NAMED_OBJECTS", "DisplayedQueue", "Entry", "Located", "OpenHandle", "QueueState", "Repository"]

#: The kinds of objects that the group has by name.
NAMED_OBJECTS: Mapping[str, type[NamedObject]] = {
    each.kind: each for each in (ProcessDefinition, Namelist, Channel, Listener)
}
_DYNAMIC_PREFIX_LENGTH = 32


def _now() -> datetime:
    return datetime.now(UTC)


class Repository:
    """Definitions of the group.

    Args:
        group: the queue-sharing group.
        qmgr: the manager that commands run at. None: see and change only what belongs to no manager.
        clock: returns creation and alteration times.
        caller: owner token of the connection whose MQSET or MQCLOSE this is. After it is shut out, it alters and
            deletes nothing (2009). Empty for commands.
        giver: the user that configuration events name. None: the one that runs this program.
    """

    def __init__(
        self,
        group: Group,
        qmgr: str | None,
        *,
        clock: Callable[[], datetime] = _now,
        caller: str = "",
        giver: Giver | None = None,
    ) -> None:
        self.group, self.qmgr, self._clock, self._caller, self.giver = group, qmgr, clock, caller, giver
        self._finder = Finder(group, qmgr, clock, caller)
        self._structures = Structures(group, clock)
        self._managers = ManagerAttributes(group, clock)

    # Each MQOPEN makes a repository, and asks none of these.

    @cached_property
    def topics(self) -> Topics:
        """The administrative topics."""
        return Topics(self.group, self._clock)

    @property
    def processes(self) -> NamedObjects[ProcessDefinition]:
        """The process definitions."""
        return self.named_objects(ProcessDefinition.kind)

    @property
    def namelists(self) -> NamedObjects[Namelist]:
        """The namelists."""
        return self.named_objects(Namelist.kind)

    @property
    def channels(self) -> NamedObjects[Channel]:
        """The server-connection channels."""
        return self.named_objects(Channel.kind)

    @property
    def listeners(self) -> NamedObjects[Listener]:
        """The listeners."""
        return self.named_objects(Listener.kind)

    def at(self, qmgr: str) -> Repository:
        """Return the same group as the manager *qmgr* sees it, for a command with CMDSCOPE."""
        return type(self)(self.group, qmgr, clock=self._clock, giver=self.giver)

    def named_objects(self, kind: str) -> NamedObjects[Any]:
        """Return the objects of one of the kinds in `NAMED_OBJECTS`."""
        keys = self.group.keys
        key = {
            ProcessDefinition.kind: keys.process_definitions,
            Namelist.kind: keys.namelists,
            Channel.kind: keys.channels,
            Listener.kind: keys.listeners,
        }[kind]
        return NamedObjects(self.group, NAMED_OBJECTS[kind], key, self._clock)

    def locate(self, name: str) -> Entry | None:
        """Return what *name* means at this manager and where it is, in one round trip.

        Raises:
            MQIError: 2343, there are a private and a shared object of this name.
        """
        return self._finder.locate(name)

    def lookup(self, name: str) -> Located | None:
        """Return the definition that *name* means at this manager: private, or else shared (MQOPEN).

        Costs a round trip, and one more for a local queue, whose structure has its definition.

        Raises:
            MQIError: 2343, there are a private and a shared object of this name; 2373, its structure has failed; 2346,
                the structure is being recovered.
        """
        return self._finder.lookup(name)

    def shared_and_attributes(self, name: str) -> tuple[Entry | None, QueueManagerAttributes]:
        """Return the shared object *name* and this manager's attributes, in one round trip."""
        qmgr = self.qmgr or ""
        _, shared, attributes = self._finder.directory.find_with_attributes(name, qmgr)
        return shared, attributes or self.qmgr_attributes(qmgr)

    def transmit_part(self, qmgr: str, shared: Entry | None) -> Place | None:
        """Return the part of SYSTEM.QSG.TRANSMIT.QUEUE for messages to a queue at *qmgr*. None: that manager has none.

        Args:
            shared: the shared object that the queue's name means, if any. For a shared queue the result is the part in
                its structure, once that manager's agent has made one there.
        """
        places = [own_part(qmgr)]
        is_queue = shared is not None and shared.kind == QueueLocal.kind and not shared.is_partitioned
        if shared is not None and is_queue and not self.group.deployment().is_cluster:
            places.insert(0, part_in(shared.structure, qmgr))
        return next((place for place in places if self._finder.queues.read_at([place])), None)

    def lacks_transmit_parts(self, structure: str) -> bool:
        """Whether a running manager could have a part of SYSTEM.QSG.TRANSMIT.QUEUE there and has none."""
        places = [part_in(structure, qmgr) for qmgr in self._finder.active_managers()]
        is_cluster = self.group.deployment().is_cluster
        return not is_cluster and len(self._finder.queues.read_at(places)) < len(places)

    def make_transmit_parts(self, qmgr: str) -> list[Place]:
        """Give *qmgr* a part of SYSTEM.QSG.TRANSMIT.QUEUE in each application structure that has queues.

        Returns:
            The parts that it has now.
        """
        places = [place for place in parts_of(self.group, qmgr) if place != own_part(qmgr)]
        there: list[Place] = []
        master: Entry | None = None
        # An ALTER after this sees to the existing parts; a DEFINE of a structure meanwhile sees to its own parts.
        while (found := self._finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)) != master and found is not None:
            master = found
            changes = {place: self._finder.set_partition(master, place) for place in places}
            for place, is_changed in changes.items():
                if is_changed:
                    self._finder.queues.wake_waiters(*place)
            there = [place for place, is_changed in changes.items() if is_changed is not None]
            if not any(changes.values()):
                break
        # A part that was closed stays closed.
        return list(self._finder.queues.read_at(there)) if there and found is not None else []

    # -- queues ---------------------------------------------------------------------------------------------

    def define(self, definition: AnyQueue, *, replace: bool = False, like: str | None = None) -> None:
        """DEFINE QLOCAL, QALIAS, QREMOTE, QMODEL: private, shared, or a template for the whole group.

        Fields that *definition* does not set come from *like*, else from SYSTEM.DEFAULT.*.QUEUE if it exists, else they
        have their defaults.

        Raises:
            MQIError: 2100, it exists (without *replace*, or in another structure); 2057, it exists as another kind;
                2343, it exists in the other disposition; 2349, there is no such structure; 2085, there is nothing to be
                *like*; 2042 or 2055, INDXTYPE would change on a queue in use; 2058, a private object needs a manager.
            ValueError: attributes do not fit together.
        """
        owner = "" if definition.disposition == "GROUP" else self._owner(definition)
        completed, found = complete(self._finder, definition, like, owner)
        whole = completed.created_at(self._finder.clock())
        if whole.disposition == "GROUP":
            entry = Entry(whole.name, whole.kind, "GROUP", definition=whole)
            self._finder.directory.write(entry, "replace" if replace else "new")
            copies.copy_to_active(self._finder, whole)
        else:
            define_at(self._finder, whole, owner, is_replace=replace, found=found)

    def alter(self, kind: str, name: str, changes: Mapping[str, Any], disposition: Chosen | None = None) -> None:
        """ALTER only the fields in *changes*. Without *disposition* alter the private object, else the shared one.

        Waiting gets look at the queue again.

        Raises:
            MQIError: 2085, there is no such object; 2057, it is of another kind; 2349, CFSTRUCT cannot be altered; 2042
                or 2055, INDXTYPE would change on a queue in use.
            ValueError: a value is out of its range, or attributes do not fit together.
        """
        copy_to_active = partial(copies.copy_to_active, self._finder)
        while True:
            entry = self._finder.chosen(kind, name, disposition)
            if entry.is_in_structure:
                return alter_local(self._finder, entry.structure, name, changes)
            if alter_in_directory(self._finder, entry, changes, copy_to_active):
                return None

    def delete(self, kind: str, name: str, *, disposition: Chosen | None = None, purge: bool = False) -> None:
        """DELETE an object. With a group object, delete its unused copies.

        Raises:
            MQIError: 2085, there is no such object; 2057, it is of another kind; 2042, it is open; 2055, it has
                messages (unless *purge* is set) or uncommitted ones.
        """
        if self._finder.find_chosen(name, disposition) is None:
            # An earlier DELETE may have been cut off halfway.
            if disposition == "GROUP":
                copies.drop_copies(self._finder, name)
            elif kind != QueueLocal.kind:
                announce_missing(self._finder, name)
            elif name == SYSTEM_QSG_TRANSMIT_QUEUE:
                drop_closed_parts(self._finder)
        entry = self._finder.chosen(kind, name, disposition)
        if entry.disposition == "GROUP":
            self._finder.directory.remove(entry)
            copies.drop_copies(self._finder, name)
        else:
            delete_entry(self._finder, entry, purge=purge)

    def clear(self, name: str, *, disposition: Chosen | None = None) -> None:
        """CLEAR QLOCAL: drop every message.

        Raises:
            MQIError: 2085, there is no such queue; 2057, it is not a local one; 2042, it is open; 2055, it has
                uncommitted work; 2373, its structure has failed.
        """
        entry = self._finder.chosen(QueueLocal.kind, name, disposition)
        for place in self._finder.places(entry):
            try:
                self._finder.queues.remove(*place, "clear")
            except MQIError as error:
                if error.reason == MQRC.UNKNOWN_OBJECT_NAME and entry.is_partitioned and place.queue != name:
                    # Its manager's agent has made no part there.
                    continue
                gone = error.reason == MQRC.UNKNOWN_OBJECT_NAME and why_not_there(self.group, place.structure, name)
                raise gone or error from None

    def create_dynamic(self, model: QueueModel, dynamic_name: str) -> Located:
        """MQOPEN of a model queue: make the queue that *dynamic_name* names.

        A name that ends with ``*``, in its 33rd place at the latest, gets an ending that makes it unique. The queue
        goes with the caller (`delete_made`); a permanent one goes with the caller only until it is open.

        Raises:
            MQIError: 2100, it exists; 2011, the name is not valid; others as for `define`.
        """
        is_generic = dynamic_name.endswith("*")
        if not dynamic_name or (is_generic and len(dynamic_name) > _DYNAMIC_PREFIX_LENGTH + 1):
            raise error_for(MQRC.DYNAMIC_Q_NAME_ERROR, "MQOPEN", dynamic_name[:OBJECT_NAME_LENGTH])
        while True:
            name = dynamic_name[:-1] + secrets.token_hex(8).upper() if is_generic else dynamic_name
            try:
                queue = model.local_queue(name).created_at(self._finder.clock())
            except ValueError as error:
                raise error_for(MQRC.DYNAMIC_Q_NAME_ERROR, "MQOPEN", name[:OBJECT_NAME_LENGTH]) from error
            try:
                define_at(self._finder, queue, self._owner(queue), is_replace=False, maker=self._caller)
            except MQIError as error:
                if self._caller and error.reason != MQRC.CONNECTION_BROKEN:
                    self.delete_made(queue.structure or private_structure(self._owner(queue)), name, self._caller)
                if error.reason == MQRC.OBJECT_ALREADY_EXISTS and is_generic:
                    continue
                raise
            entry = self._finder.chosen(QueueLocal.kind, name, queue.disposition)
            return Located(name, entry.structure, queue, entry.version)

    def delete_dynamic(self, structure: str, name: str, *, purge: bool = False) -> None:
        """Delete a dynamic queue logically, for an MQCLOSE with MQCO_DELETE or MQCO_DELETE_PURGE.

        The caller closes its handle then, and deletes the queue itself (`delete_made`) if that was the last one.

        Raises:
            MQIError: 2055, it has messages (unless *purge* is set) or uncommitted ones; 2009, the caller was shut out.
        """
        self._finder.queues.remove(structure, name, "purge" if purge else "delete", is_closing=True)

    def delete_made(self, structure: str, name: str, maker: str) -> None:
        """Delete a queue that goes with *maker*, or what is left of it, and forget that it does.

        An MQOPEN of *maker* made it from a model, or an MQCLOSE of *maker* was the last one of a queue that is deleted
        logically. One that others have open is deleted logically, and goes with the last of them.

        Raises:
            MQIError: 2055, it has uncommitted messages; 2009, the caller was shut out.
        """
        own = private_structure("")
        qmgr = structure.removeprefix(own) if structure.startswith(own) else self.qmgr or ""
        found = self._finder.directory.find(name, qmgr)
        try:
            is_gone = self._finder.queues.remove(structure, name, "purge", maker=maker)
        except MQIError as error:
            # It was deleted, and another connection has made it since.
            if error.reason != MQRC.OBJECT_CHANGED:
                raise
            is_gone = False
        for entry in found if is_gone else ():
            # An entry with another version belongs to another queue.
            if entry is not None and entry.structure == structure:
                self._finder.directory.remove(entry)
        self.forget_made(structure, name, maker)

    def forget_made(self, structure: str, name: str, maker: str) -> None:
        """Keep the queue when *maker* goes. Raises MQIError: 2009, the caller was shut out."""
        self._finder.queues.forget_made(structure, maker, [name])

    def orphan_made(self, structure: str, name: str, maker: str) -> None:
        """Leave a queue that *maker* made to the managers: they delete it when nothing uncommitted is on it any more.

        Raises:
            MQIError: 2009, the caller was shut out.
        """
        add_orphan(self.group, structure, name, maker)
        self._finder.queues.forget_made(structure, maker, [name], are_orphans=True)

    def wake_waiters(self, structure: str, queue: str) -> None:
        """Make the gets that wait on *queue* look at its definition again."""
        self._finder.queues.wake_waiters(structure, queue)

    # -- managers and structures ----------------------------------------------------------------------------

    def prepare_manager(self, qmgr: str, incarnation: int = 0, *, at_first: Mapping[str, Any] | None = None) -> None:
        """Create what a starting manager needs before it opens for business. Repeating it is harmless.

        These are its own structure, its attributes, its part of SYSTEM.QSG.TRANSMIT.QUEUE and its copies of group
        objects. It also finishes what interrupted clears began.

        Args:
            incarnation: its number; 0 in tests in which nobody removes members.
            at_first: attributes for its first start that differ from the defaults.
        """
        own = private_structure(qmgr)
        self._structures.ensure_own(own)
        if incarnation:
            # Before anything is defined: from now on, late steps of an earlier removal are refused.
            announce(self.group, holder_field(qmgr), str(incarnation))
        self._managers.ensure(qmgr, at_first or {})
        # Read after the structure is listed: a definition that is altered from now on reaches it anyway.
        master = self._finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)
        if master is not None:
            self._finder.set_partitions(master, [own_part(qmgr)])
        for structure in (own, *(known.name for known in self.structures())):
            self._finder.queues.finish_discards(structure)
        self.materialize_group_objects(qmgr)

    def materialize_group_objects(self, qmgr: str) -> None:
        """Bring the copies of *qmgr* up to the group objects in force."""
        copies.materialize(self._finder, qmgr)

    def qmgr_attributes(self, qmgr: str) -> QueueManagerAttributes:
        """Return the attributes of a manager. Defaults if it never started."""
        return self._managers.read(qmgr)

    def attributes_before(self, qmgr: str) -> QueueManagerAttributes:
        """Return the attributes of a manager before the present command changes anything."""
        return self.qmgr_attributes(qmgr)

    def alter_qmgr(self, qmgr: str, changes: Mapping[str, Any]) -> QueueManagerAttributes:
        """ALTER QMGR. Returns the attributes now in force.

        If IGQ changed, every handle that was opened before fails its next put with 2041.

        Raises:
            ValueError: a value is out of its range.
        """
        return self._managers.alter(qmgr, changes)

    def announce_events(self, qmgr: str) -> None:
        """Tell every structure which events the manager asks for."""
        self._managers.announce_events(qmgr)

    def announce_igq(self, qmgr: str) -> None:
        """Complete an ALTER QMGR IGQ that may have been cut off: afterwards no put uses the previous value."""
        self._managers.announce_igq(qmgr)

    def definition(self, kind: str, name: str, disposition: Chosen | None = None) -> ObjectDefinition | None:
        """Return the definition of an object, or of a subscription by its name or number; None if there is none."""
        if kind == QueueManagerAttributes.kind:
            return self.qmgr_attributes(name)
        if kind == CFStruct.kind:
            return next((each for each in self.structures() if each.name == name), None)
        if kind == Topic.kind:
            return self.topics.tree().by_name.get(name)
        if kind == Subscription.kind:
            return self.topics.named(name) or self.topics.numbered(name)
        if kind in NAMED_OBJECTS:
            named: NamedObject | None = self.named_objects(kind).named(name)
            return named
        entry = self._finder.find_chosen(name, disposition)
        if entry is None or entry.kind != kind:
            return None
        if not entry.is_in_structure:
            return entry.definition
        stored = self._finder.queues.read(entry.structure, [name]).get(name)
        return None if stored is None else stored.definition

    def structures(self) -> list[CFStruct]:
        """Return the application structures, by name."""
        return self._structures.list()

    def define_structure(self, structure: CFStruct, *, replace: bool = False) -> None:
        """DEFINE CFSTRUCT. Raises MQIError: 2100, it exists; 2349, the name is reserved."""
        self._structures.define(structure, replace=replace)
        master = self._finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)
        if master is not None:
            # A structure of that name may have been deleted, and its parts closed.
            self._finder.set_partitions(master, self._parts_in(structure.name), is_back=True)
        for member in self.group.members():
            self._managers.announce_events(member.name)

    def alter_structure(self, name: str, changes: Mapping[str, Any]) -> None:
        """ALTER CFSTRUCT. Raises MQIError: 2349, no such structure; ValueError: a value is out of its range."""
        self._structures.alter(name, changes)

    def delete_structure(self, name: str) -> None:
        """DELETE CFSTRUCT.

        Raises:
            MQIError: 2349, there is no such structure; 2346, it has queues, or messages to its former queues.
        """
        self._structures.check_unused(name)
        master = self._finder.directory.read("S", SYSTEM_QSG_TRANSMIT_QUEUE)
        parts = self._parts_in(name)
        version = 0 if master is None else master.version
        try:
            # Check before any part is touched: a part that is closed for a moment would trouble the agent that serves
            # it.
            check_idle(self._finder, name, parts, purge=False)
            for part in parts:
                self._finder.queues.remove(*part, "delete", closed_at=version)
            self._structures.delete(name)
        except MQIError as error:
            if error.reason == MQRC.CF_STRUC_ERROR:
                # The reply to an earlier DELETE may have been lost.
                self._drop_parts([part_in(name, member.name) for member in self.group.members()])
            elif error.reason != MQRC.CONNECTION_BROKEN and master is not None:
                # Where the outcome is unknown, the structure may be deleted: its parts stay closed until a repeat.
                self._finder.set_partitions(master, parts, is_back=True)
            if error.reason in (MQRC.Q_NOT_EMPTY, MQRC.OBJECT_IN_USE):
                raise error_for(MQRC.CF_STRUC_IN_USE, "", name, "what is sent to queues of it is in use") from error
            raise
        self._drop_parts(parts)

    def _drop_parts(self, parts: Iterable[Place]) -> None:
        """Drop what is left of closed parts of SYSTEM.QSG.TRANSMIT.QUEUE."""
        for part in parts:
            self._finder.queues.remove(*part, "rest")

    def _parts_in(self, structure: str) -> list[Place]:
        return [part for part in parts_of(self.group) if part.structure == structure]

    # -- displays -------------------------------------------------------------------------------------------

    def display_queues(
        self,
        pattern: str = "*",
        kinds: tuple[str, ...] = (),
        qsgdisp: str = "LIVE",
        *,
        every_manager: bool = False,
        without: tuple[str, ...] = (),
    ) -> list[DisplayedQueue]:
        """Return the queues whose name matches *pattern* (which may be generic), by name.

        Args:
            pattern: a name, or its beginning and ``*``.
            kinds: MQSC's words for kinds. None of them means all.
            qsgdisp: QMGR, COPY, PRIVATE, SHARED, GROUP, LIVE (private and shared) or ALL.
            every_manager: include private queues of all managers, not only of this one.
            without: names to leave out. Nothing is read of them.
        """
        found, _ = displayed_queues(self._finder, pattern, kinds, qsgdisp, every_manager=every_manager, without=without)
        return found

    def display_queues_and_left_out(
        self, pattern: str, kinds: tuple[str, ...], qsgdisp: str = "LIVE", *, every_manager: bool = False
    ) -> tuple[list[DisplayedQueue], list[LeftOut]]:
        """Do the same as `display_queues`, and return the queues whose structure has failed or is unreachable."""
        found, missing = displayed_queues(
            self._finder, pattern, kinds, qsgdisp, every_manager=every_manager, may_be_silent=True
        )
        return found, left_out(self._finder, missing)

    def oldest_ages_ms(self, queues: Sequence[DisplayedQueue]) -> dict[DisplayedQueue, int]:
        """Return the age of the oldest available message of each of some queues, in ms; of others nothing."""
        return oldest_ages_ms(self._finder, queues)

    def reset_counts(self, queues: Sequence[DisplayedQueue]) -> dict[DisplayedQueue, Counts]:
        """RESET QSTATS: take the counts of those queues that have any, and begin them anew."""
        return reset_counts(self._finder, queues)

    def queue_status(self, name: str) -> QueueState:
        """Return depth, uncommitted work and handles of a local queue, with its parts added up.

        Raises:
            MQIError: 2085, there is no such queue; 2057, it is not a local one.
        """
        return total_state(self._finder, self._finder.chosen(QueueLocal.kind, name, None))

    def queue_handles(self, queue: DisplayedQueue) -> list[OpenHandle]:
        """Return the open handles of a local queue. A queue that was deleted after it was listed has none."""
        return open_handles(self._finder, queue)

    def _owner(self, definition: AnyQueue) -> str:
        """Return the manager that *definition* is private to; empty if it is shared."""
        if definition.disposition == "SHARED":
            return ""
        if self.qmgr is None:
            detail = "a private object needs a manager"
            raise error_for(MQRC.Q_MGR_NAME_ERROR, "", definition.name, detail)
        return self.qmgr
