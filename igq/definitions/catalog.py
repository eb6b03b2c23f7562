"""Reads every definition of a group: structures, queues, queue managers, authority records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sharedq.members.group import Group
from sharedq.objects.commands.display import LeftOut
from sharedq.objects.definitions.attributes import Attribute
from sharedq.objects.definitions.base import ObjectDefinition
from sharedq.objects.definitions.managers import CFStruct, QueueManagerAttributes
from sharedq.objects.definitions.names import matches
from sharedq.objects.definitions.queues import QUEUE_KINDS, AnyQueue, QueueLocal
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.objects.definitions.topics import Topic
from sharedq.objects.repository import NAMED_OBJECTS, Repository
from sharedq.objects.store.authorities import AuthorityRecord, all_records
from sharedq.objects.store.directory import Directory
from sharedq.objects.store.local_queues import LocalQueues

AUTHORITY = "AUTHREC"
#: The kinds of objects, in the order in which an export defines them. A command may need what stands before it.
KINDS = (
    CFStruct.kind,
    *NAMED_OBJECTS,
    *QUEUE_KINDS,
    Topic.kind,
    Subscription.kind,
    QueueManagerAttributes.kind,
    AUTHORITY,
)


@dataclass(frozen=True, slots=True)
class Item:
    """One definition, and what identifies it in the group.

    Attributes:
        disposition: QSGDISP of a queue; empty for other kinds.
        qmgr: the manager that it belongs to; empty for what belongs to the group.
        principal: the user of an authority record; empty for other kinds.
    """

    kind: str
    name: str
    definition: ObjectDefinition | AuthorityRecord
    disposition: str = ""
    qmgr: str = ""
    principal: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Two items with the same identity are two states of one object."""
        scope = "PRIVATE" if self.disposition in ("QMGR", "COPY") else self.disposition
        return (self.kind, self.name, scope or self.object_type, self.qmgr, self.principal)

    @property
    def object_type(self) -> str:
        """OBJTYPE of an authority record; empty for other kinds."""
        return self.definition.object_type if isinstance(self.definition, AuthorityRecord) else ""

    @property
    def title(self) -> str:
        """Its name for people: ``QLOCAL(ORDERS) QSGDISP(QMGR) of QM1``."""
        if self.kind == AUTHORITY:
            return f"{self.kind} PROFILE({self.name}) OBJTYPE({self.object_type}) PRINCIPAL({self.principal})"
        if self.kind == QueueManagerAttributes.kind:
            return f"{self.kind} {self.name}"
        shown = f"{self.kind}({self.name})"
        if self.disposition:
            shown += f" QSGDISP({self.disposition})"
        return f"{shown} of {self.qmgr}" if self.qmgr else shown

    def is_same_as(self, other: Item) -> bool:
        """Whether a command would have to set nothing to make the one of the other."""
        if (self.kind, self.disposition) != (other.kind, other.disposition):
            return False
        mine, theirs = self.definition, other.definition
        if isinstance(mine, ObjectDefinition) and isinstance(theirs, ObjectDefinition) and mine.is_same_as(theirs):
            # Most are the same in everything, which costs less to see than their texts.
            return True
        return self.shown() == other.shown()

    def shown(self) -> dict[str, str]:
        """Return each attribute that a command can set, by keyword, as MQSC shows it."""
        if isinstance(self.definition, AuthorityRecord):
            return {"AUTHLIST": f"AUTHLIST({','.join(self.definition.authorities) or 'NONE'})"}
        return {
            attribute.keyword: attribute.show(getattr(self.definition, attribute.field))
            for attribute in settable(self.definition)
        }


@dataclass(frozen=True, slots=True)
class Catalog:
    """The definitions of a group, and the queues that cannot be read because their structure cannot be used."""

    items: list[Item]
    left_out: list[LeftOut]


def settable(definition: ObjectDefinition) -> tuple[Attribute, ...]:
    """Return the attributes of a definition that a command sets, by keyword."""
    # DEFINE makes the queue of a managed subscription anew.
    is_managed = isinstance(definition, Subscription) and definition.is_managed
    return _settable(type(definition), ("DEST", "DESTQMGR") if is_managed else ())


@lru_cache(maxsize=64)
def _settable(model: type[ObjectDefinition], without: tuple[str, ...]) -> tuple[Attribute, ...]:
    found = [attribute for attribute in model.attributes() if attribute.keyword and not attribute.mqsc.is_output]
    found = [attribute for attribute in found if attribute.keyword not in without]
    return tuple(sorted(found, key=lambda attribute: attribute.keyword))


def read_catalog(group: Group) -> Catalog:
    """Read everything, in the order of `KINDS`, then by name, disposition and manager.

    Raises:
        MQIError: 2009, Redis cannot be reached.
    """
    repository = Repository(group, None)
    queues, left_out = repository.display_queues_and_left_out("*", (), "ALL", every_manager=True)
    items = [Item(CFStruct.kind, each.name, each) for each in repository.structures()]
    items += [Item(kind, each.name, each) for kind in NAMED_OBJECTS for each in repository.named_objects(kind).all()]
    items += [_queue(queue.definition, queue.qmgr) for queue in queues]
    items += _topics(repository)
    items += [_manager(repository, member.name) for member in group.members()]
    items += [_record(record) for record in all_records(group)]
    return Catalog(sorted(items, key=_order), left_out)


def read_named(group: Group, kind: str, name: str) -> list[Item]:
    """Read every object *name* of the group whose kind is as *kind*: a queue of any kind if *kind* is one of a queue.

    Args:
        name: for an authority record, the profile.
    """
    repository = Repository(group, None)
    found: Iterable[Item]
    if kind == CFStruct.kind:
        found = (Item(kind, each.name, each) for each in repository.structures() if each.name == name)
    elif kind in NAMED_OBJECTS:
        named = repository.named_objects(kind).named(name)
        found = [] if named is None else [Item(kind, name, named)]
    elif kind == QueueManagerAttributes.kind:
        found = [_manager(repository, name)]
    elif kind in (Topic.kind, Subscription.kind):
        found = (each for each in _topics(repository) if each.kind == kind and each.name == name)
    elif kind == AUTHORITY:
        found = (_record(each) for each in all_records(group) if each.profile == name)
    else:
        found = _queues_named(group, name)
    return sorted(found, key=_order)


def is_selected(item: Item, pattern: str, kinds: Iterable[str]) -> bool:
    """Whether *item* is of one of *kinds* (none: all) and its name matches *pattern*."""
    wanted = tuple(kinds)
    return matches(pattern, item.name) and (not wanted or item.kind in wanted)


def _queues_named(group: Group, name: str) -> Iterator[Item]:
    directory, queues = Directory(group), LocalQueues(group, None, "")
    entries = [directory.read("S", name), directory.read("G", name)]
    entries += [directory.read("P", name, member.name) for member in group.members()]
    for entry in entries:
        if entry is None:
            continue
        definition = entry.definition
        if definition is None:
            stored = queues.read(entry.structure, [name]).get(name)
            definition = None if stored is None else stored.definition
        if definition is not None:
            yield _queue(definition, entry.qmgr)


def _topics(repository: Repository) -> list[Item]:
    """Return topic objects and administrative subscriptions. Subscriptions of programs are left out."""
    found = [Item(Topic.kind, each.name, each) for each in repository.topics.tree().by_name.values()]
    subscriptions = (match.subscription for match in repository.topics.subscriptions())
    return found + [
        Item(Subscription.kind, each.name, each) for each in subscriptions if each.subscription_type == "ADMIN"
    ]


def _queue(definition: AnyQueue, qmgr: str) -> Item:
    return Item(definition.kind, definition.name, definition, definition.disposition, qmgr)


def _manager(repository: Repository, name: str) -> Item:
    return Item(QueueManagerAttributes.kind, name, repository.qmgr_attributes(name), qmgr=name)


def _record(record: AuthorityRecord) -> Item:
    return Item(AUTHORITY, record.profile, record, principal=record.principal)


def _order(item: Item) -> tuple[int, str, str, str, str, str]:
    return KINDS.index(item.kind), item.name, item.disposition, item.qmgr, item.object_type, item.principal


def is_dynamic(item: Item) -> bool:
    """Whether a program made this queue from a model, so that no DEFINE makes it."""
    return isinstance(item.definition, QueueLocal) and item.definition.definition_type != "PREDEFINED"
