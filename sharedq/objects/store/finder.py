"""Finds objects: what a name means at a manager, and which structures have its queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.definitions.queues import AnyQueue, Disposition, QueueLocal
from sharedq.objects.store.directory import Directory, Entry
from sharedq.objects.store.failures import Failure, failure_of, why_not_there
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.objects.store.parts import Place, parts_of

#: States in which a manager gets its copies of a group object at once.
_ACTIVE = ("STARTING", "RUNNING", "QUIESCING")

#: The dispositions that a command may name. PRIVATE is QMGR or COPY.
Chosen = Disposition | Literal["PRIVATE"]


@dataclass(frozen=True, slots=True)
class Located:
    """A definition that a name means, and the place of its queue.

    Attributes:
        structure: of a local queue. Empty for other kinds.
        version: of the directory entry. It changes with every definition, except that of a local queue.
    """

    name: str
    structure: str
    definition: AnyQueue
    version: int


def only_one(name: str, private: Entry | None, shared: Entry | None) -> Entry | None:
    """Return the entry that there is of *name*. Raises MQIError: 2343, it is private and shared."""
    if private and shared:
        raise error_for(MQRC.OBJECT_NOT_UNIQUE, "", name)
    return private or shared


class Finder:
    """Finds objects for one manager. The commands on objects share it."""

    def __init__(self, group: Group, qmgr: str | None, clock: Callable[[], datetime], caller: str = "") -> None:
        self.group, self.qmgr, self.clock = group, qmgr, clock
        self.directory = Directory(group)
        self.queues = LocalQueues(group, qmgr, caller)

    def locate(self, name: str) -> Entry | None:
        """Return the entry that *name* means. Raises MQIError: 2343, it is private and shared."""
        return only_one(name, *self.directory.find(name, self.qmgr or ""))

    def lookup(self, name: str) -> Located | None:
        """Return the definition that *name* means.

        Raises:
            MQIError: 2343, it is private and shared; 2052, it is deleted logically; 2373, its structure has failed;
                2346, the structure is being recovered.
        """
        while (entry := self.locate(name)) is not None:
            located = self.located(entry)
            if located is not None:
                return located
            if self.queues.is_deleted(entry.structure, name):
                raise error_for(MQRC.Q_DELETED, "", name, "it is still open")
            told = failure_of(self.group, entry.structure)
            failure = why_not_there(self.group, entry.structure, name)
            if failure is not None and self.locate(name) == entry:
                raise failure
            if failure is None and self.located(entry) is None and self._is_as(entry, told):
                # Its DELETE was cut off.
                return None
            # It was deleted or defined anew meanwhile, or its structure was recovered: look again.
        return None

    def _is_as(self, entry: Entry, told: Failure | None) -> bool:
        """Whether a queue is still defined, and its structure has neither failed nor been recovered since *told*."""
        is_whole = why_not_there(self.group, entry.structure, entry.name) is None
        return is_whole and failure_of(self.group, entry.structure) == told and self.locate(entry.name) == entry

    def located(self, entry: Entry) -> Located | None:
        """Return the definition of an entry. None for a queue whose DEFINE or DELETE was cut off."""
        if entry.definition is not None:
            return Located(entry.name, entry.structure, entry.definition, entry.version)
        stored = self.queues.read(entry.structure, [entry.name]).get(entry.name)
        if stored is None:
            return None
        return Located(entry.name, entry.structure, stored.definition, entry.version)

    def find_chosen(self, name: str, disposition: Chosen | None) -> Entry | None:
        """Return the entry that a command means: of the disposition, else the private, else the shared one."""
        if disposition == "GROUP":
            return self.directory.read("G", name)
        private, shared = self.directory.find(name, self.qmgr or "")
        if disposition is None:
            return private or shared
        if disposition == "PRIVATE":
            return private
        return next((entry for entry in (private, shared) if entry and entry.disposition == disposition), None)

    def chosen(self, kind: str, name: str, disposition: Chosen | None) -> Entry:
        """Do the same as `find_chosen`. Raises MQIError: 2085, there is none; 2057, it is of another kind."""
        entry = self.find_chosen(name, disposition)
        if entry is None:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", name)
        if entry.kind != kind:
            raise error_for(MQRC.Q_TYPE_ERROR, "", name, f"it is a {entry.kind}")
        return entry

    def places(self, entry: Entry) -> list[Place]:
        """Return where this queue is or may have a part. Empty for objects in the directory only."""
        if entry.kind != QueueLocal.kind or entry.disposition == "GROUP":
            return []
        return self.parts() if entry.is_partitioned else [Place(entry.structure, entry.name)]

    def parts(self) -> list[Place]:
        """Return where SYSTEM.QSG.TRANSMIT.QUEUE may have parts."""
        return parts_of(self.group)

    def active_managers(self) -> list[str]:
        """Return the managers that are running."""
        return [member.name for member in self.group.members() if member.state in _ACTIVE]

    def set_partitions(self, master: Entry, places: Sequence[Place], *, is_back: bool = False) -> list[Place]:
        """Bring parts of a partitioned queue to the definition in the directory, even parts that were closed at it.

        Gets that wait on them look at it.

        Returns:
            The places where there may be a part now.
        """
        there = [place for place in places if self.set_partition(master, place, is_back=is_back) is not None]
        for place in there:
            self.queues.wake_waiters(*place)
        return there

    def set_partition(self, master: Entry, place: Place, *, is_back: bool = False) -> bool | None:
        """Bring one part to the definition, as `LocalQueues.set_partition` does."""
        assert isinstance(master.definition, QueueLocal)
        return self.queues.set_partition(place, master.version, master.definition, is_back=is_back)
