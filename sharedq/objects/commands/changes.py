"""DEFINE, ALTER, DELETE and CLEAR, and what handles and managers are told of them.

DEFINE writes a local queue to its structure first, then to the directory; other objects only to the directory.
ALTER repeats its change if another command altered the definition first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from sharedq.log import LibraryLogger
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.queues import AnyQueue, Definition, QueueAlias, QueueLocal, QueueModel
from sharedq.objects.store.directory import Entry, Mode, refusal
from sharedq.objects.store.failures import LOST_QUEUES_REMEDY, has_lost_all, structure_state, why_not_there
from sharedq.objects.store.finder import Finder, only_one
from sharedq.objects.store.local_queues import QueueState
from sharedq.objects.store.parts import Place
from sharedq.objects.store.structures import announce
from sharedq.redis.keys import private_structure

_D = TypeVar("_D", bound=Definition)
#: The fields that a definition does not take from the one that it is like.
_OWN = ("name", "disposition", "structure", "definition_type", "creation_date", "creation_time")
#: The objects from which DEFINE takes the attributes that it does not set, by kind.
TEMPLATES = {
    "QLOCAL": "SYSTEM.DEFAULT.LOCAL.QUEUE",
    "QALIAS": "SYSTEM.DEFAULT.ALIAS.QUEUE",
    "QREMOTE": "SYSTEM.DEFAULT.REMOTE.QUEUE",
    "QMODEL": "SYSTEM.DEFAULT.MODEL.QUEUE",
}
CopyToActive = Callable[[AnyQueue], None]
log = LibraryLogger(__name__)


def delete_entry(finder: Finder, entry: Entry, *, purge: bool = False) -> None:
    """Delete an object that is no template.

    Raises:
        MQIError: 2042, it is open; 2055, it holds messages (without *purge*) or uncommitted ones.
    """
    if entry.kind != QueueLocal.kind:
        _, version = finder.directory.remove(entry)
        announce_definition(finder, entry.name, version, entry.definition, entry.qmgr)
        return
    if entry.is_partitioned:
        _delete_partitioned(finder, entry, purge=purge)
        return
    finder.queues.remove(entry.structure, entry.name, "purge" if purge else "delete")
    finder.directory.remove(entry)


def drop_closed_parts(finder: Finder) -> None:
    """Delete what is left of a partitioned queue that the directory no longer has."""
    for place in finder.parts():
        finder.queues.remove(*place, "rest")


def _delete_partitioned(finder: Finder, entry: Entry, *, purge: bool) -> None:
    """Close every part first, so that nothing can refuse any more. Then delete the queue with its messages."""
    current, places = entry, list[Place]()
    while True:
        places = finder.places(current)
        check_idle(finder, current.name, places, purge=purge)
        try:
            for place in places:
                mode: Literal["purge", "delete"] = "purge" if purge else "delete"
                finder.queues.remove(*place, mode, closed_at=current.version)
        except MQIError:
            # A part was opened meanwhile: the parts that were closed before come back with what they hold.
            finder.set_partitions(current, places, is_back=True)
            raise
        is_removed, _ = finder.directory.remove(current)
        if is_removed:
            break
        # The queue was altered meanwhile, and may be open by its new definition; or another command deleted it.
        following = finder.directory.read("S", entry.name)
        if following is None:
            break
        current = following
    for place in set(finder.parts()).difference(places):
        # A part was made meanwhile, in a new structure, by the definition that is gone.
        finder.queues.remove(*place, "purge", closed_at=current.version)
    drop_closed_parts(finder)


def announce_missing(finder: Finder, name: str) -> None:
    """Tell every structure that *name* is gone: the command that deleted it may have been cut off before that."""
    _, version = finder.directory.remove(Entry(name, "", "QMGR", finder.qmgr or ""))
    announce(finder.group, f"DEF {name}", str(version))


def total_state(finder: Finder, entry: Entry) -> QueueState:
    """Return the counts of a queue, with its parts added up."""
    return sum((stored.state for stored in finder.queues.read_at(finder.places(entry)).values()), QueueState())


def check_idle(finder: Finder, name: str, places: Sequence[Place], *, purge: bool) -> None:
    """Refuse before any part is touched: most refusals then leave every part alone.

    Raises:
        MQIError: 2042, a part is open; 2055, a part holds messages (without *purge*) or uncommitted ones.
    """
    for place, part in finder.queues.read_at(places).items():
        if part.state.handles:
            raise error_for(MQRC.OBJECT_IN_USE, "", name, f"its part in {place.structure} is open")
        if part.state.uncommitted or (part.state.available and not purge):
            raise error_for(MQRC.Q_NOT_EMPTY, "", name, f"its part in {place.structure} is not empty")


def announce_definition(finder: Finder, name: str, version: int, former: AnyQueue | None, qmgr: str) -> None:
    """Tell every structure that *name*, which *qmgr* knew as *former*, has another definition now, or none.

    Puts compare what the structures are told. For gets, the targets of an alias then have a new version, so that its
    getters and waiters look at the definitions again.
    """
    announce(finder.group, f"DEF {name}", str(version))
    if not isinstance(former, QueueAlias) or former.target_type != "QUEUE":
        return
    for each in former.targets:
        private, shared = finder.directory.find(each, qmgr)
        target = private or shared
        # The group keeps the versions of the transmit queue, and no getter goes through an alias to it.
        if target is not None and target.kind == QueueLocal.kind and not target.is_partitioned:
            finder.queues.renew_version(target.structure, target.name)


def spread_definition(finder: Finder, master: Entry) -> None:
    """Bring every part of a partitioned queue to the definition in the directory. Waiting gets look at it.

    Every structure is told, too: messages that are too long for SYSTEM.QSG.TRANSMIT.QUEUE go elsewhere, through handles
    that an ALTER of it must invalidate as well.
    """
    places = finder.parts()
    finder.set_partitions(master, places)
    announce(finder.group, f"DEF {master.name}", str(master.version))
    # From now on nobody makes a part by an older definition. A manager that has just made one, in a structure that had
    # no queues yet, used the previous definition.
    finder.set_partitions(master, [place for place in places if place.queue != master.name])


class Found(NamedTuple):
    """The private and the shared entry of a name that is to be defined, and whether its structure is there."""

    private: Entry | None
    shared: Entry | None
    has_structure: bool


def complete(finder: Finder, definition: AnyQueue, like: str | None, qmgr: str = "") -> tuple[AnyQueue, Found]:
    """Return *definition* with its unset fields filled from where DEFINE takes them, and what there is of its name.

    Args:
        qmgr: the manager that the object is private to; empty: none.

    Raises:
        MQIError: 2085, there is no object to be *like*, or no group object to copy.
        ValueError: attributes do not fit together.
    """
    kind = definition.kind
    if definition.disposition == "COPY":
        entry = finder.directory.read("G", definition.name)
        if entry is None or entry.kind != kind:
            detail = "there is no QSGDISP(GROUP) object to copy"
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", definition.name, detail)
        base, found = entry.definition, _find(finder, definition, qmgr)
    else:
        base, found = _base(finder, like or TEMPLATES[kind], definition, qmgr)
        if base is None and like:
            raise error_for(MQRC.UNKNOWN_OBJECT_NAME, "", like, f"there is no {kind}({like}) for it to be like")
    if base is None:
        return definition, found
    # CFSTRUCT has no default. It belongs to the disposition, except on models, which are never shared.
    own = () if kind == QueueModel.kind else _OWN
    if not like and definition.disposition != "COPY":
        # The template's description is about the template, not about what is made from it.
        own = (*own, "description")
    taken = {field: value for field, value in base.model_dump().items() if field not in own}
    given = {field: getattr(definition, field) for field in definition.model_fields_set}
    named = {"name": definition.name, "disposition": definition.disposition}
    return parse_definition(type(definition), taken | named | given), found


def _find(finder: Finder, definition: AnyQueue, qmgr: str) -> Found:
    """Return what there is of the name of *definition*."""
    ((pair,), is_defined) = finder.directory.find_each([(definition.name, qmgr)], _structure(definition, qmgr))
    return Found(*pair, is_defined)


def _structure(definition: AnyQueue, qmgr: str) -> str:
    """Return the structure that a local queue is to be in."""
    return private_structure(qmgr) if qmgr or not isinstance(definition, QueueLocal) else definition.structure


def _base(finder: Finder, name: str, definition: AnyQueue, qmgr: str) -> tuple[AnyQueue | None, Found]:
    """Return the object that *name* means, if it is of the kind of *definition*, and what there is of that."""
    wanted = [(name, finder.qmgr or ""), (definition.name, qmgr)]
    ((of_base, found), is_defined) = finder.directory.find_each(wanted, _structure(definition, qmgr))
    known = only_one(name, *of_base)
    located = None if known is None else finder.located(known)
    if located is not None:
        base: AnyQueue | None = located.definition
    else:
        entry = finder.directory.read("G", name)
        base = entry.definition if entry is not None else None
    is_alike = base is not None and base.kind == definition.kind
    return (base if is_alike else None), Found(*found, is_defined)


def define_at(
    finder: Finder,
    definition: AnyQueue,
    qmgr: str,
    *,
    is_replace: bool,
    maker: str = "",
    found: Found | None = None,
) -> None:
    """Define an object that is no template: private to *qmgr*, or shared if *qmgr* is empty.

    Args:
        maker: the connection whose MQOPEN of a model makes this local queue.
        found: what there is of its name, where that was read a moment ago.

    Raises:
        MQIError: as for `Repository.define`; 2009, *maker* was shut out.
    """
    mode: Mode = "replace" if is_replace else "new"
    private, shared, has_structure = found or _find(finder, definition, qmgr)
    entry = Entry(definition.name, definition.kind, definition.disposition, qmgr)
    known = private if qmgr else shared
    if is_replace and known is not None and known.definition is not None:
        definition = _keep_creation(definition, known.definition)
    if not isinstance(definition, QueueLocal):
        written = _write(finder, replace(entry, definition=definition), mode)
        if is_replace:
            former = known.definition if known is not None else None
            announce_definition(finder, definition.name, written.version, former, qmgr)
        return
    entry = replace(entry, structure=_structure(definition, qmgr))
    _check_room(entry, private, shared)
    if known is None and not has_structure:
        # Before anything is written there. A structure deleted from now on keeps its counter, as one that had queues.
        raise refusal(MQRC.CF_STRUC_ERROR, entry)
    if entry.is_partitioned:
        _define_partitioned(finder, replace(entry, definition=definition), known, mode)
    else:
        _define_local(finder, entry, definition, mode, was_there=known is not None, maker=maker)


def _define_partitioned(finder: Finder, entry: Entry, known: Entry | None, mode: Mode) -> None:
    """Define the directory entry first. Every part then gets its version."""
    if known is not None and mode == "new":
        # The command that defined it may have been cut off before it reached every part.
        spread_definition(finder, known)
    if known is None:
        # A command that deleted it may have been cut off before the last messages went.
        drop_closed_parts(finder)
    spread_definition(finder, _write(finder, entry, mode))


def _refuse_where_lost(finder: Finder, entry: Entry) -> None:
    """Refuse a new queue that would make a structure without its queues look complete."""
    if has_lost_all(finder.directory, finder.queues, entry.structure):
        detail = f"{entry.structure} has lost its queues: {LOST_QUEUES_REMEDY}"
        raise error_for(MQRC.CF_STRUC_FAILED, "", entry.name, detail)


def _define_local(finder: Finder, entry: Entry, queue: QueueLocal, mode: Mode, *, was_there: bool, maker: str) -> None:
    """Define the queue in the structure first, then in the directory."""
    if mode == "replace":
        stored = finder.queues.read(entry.structure, [queue.name]).get(queue.name)
        if stored is not None:
            queue = _keep_creation(queue, stored.definition)
        elif was_there:
            # The structure may have lost the queue unnoticed: programs that serve the queue or wait there must be told.
            structure_state(finder.group, entry.structure)
    may_be_lost = entry.scope == "S" and not was_there
    try:
        is_created, must_wake = finder.queues.define(
            entry.structure,
            queue,
            replace=mode == "replace",
            maker=maker,
            before_first=partial(_refuse_where_lost, finder, entry) if may_be_lost else None,
        )
    except MQIError as error:
        if error.reason == MQRC.OBJECT_ALREADY_EXISTS and not was_there:
            # Another command came this far, or was cut off here: what it defined becomes visible.
            _write(finder, entry, "adopt", maker)
        raise
    try:
        _write(finder, entry, "adopt" if is_created else mode, maker)
    except MQIError:
        if is_created:
            finder.queues.remove(entry.structure, queue.name, "delete")
        raise
    if must_wake and not is_created:
        # GET may have changed.
        finder.queues.wake_waiters(entry.structure, queue.name)


def _check_room(entry: Entry, private: Entry | None, shared: Entry | None) -> None:
    """Refuse, before the structure is written, what the directory would refuse in the end."""
    known, other = (private, shared) if entry.scope == "P" else (shared, private)
    if other is not None:
        detail = f"there is a {other.kind} with QSGDISP({other.disposition})"
        raise error_for(MQRC.OBJECT_NOT_UNIQUE, "", entry.name, detail)
    if known is not None and known.kind != entry.kind:
        raise error_for(MQRC.Q_TYPE_ERROR, "", entry.name, f"it is a {known.kind}")
    if known is not None and known.structure != entry.structure:
        raise error_for(MQRC.OBJECT_ALREADY_EXISTS, "", entry.name, f"it is in structure {known.structure}")


def _write(finder: Finder, entry: Entry, mode: Mode, caller: str = "") -> Entry:
    written = finder.directory.write(entry, mode, caller=caller)
    assert written is not None, "only an alter can meet another version"
    return written


def _keep_creation(definition: _D, known: Definition) -> _D:
    return definition.model_copy(update={"creation_date": known.creation_date, "creation_time": known.creation_time})


def alter_local(finder: Finder, structure: str, name: str, changes: Mapping[str, Any]) -> None:
    """Alter a queue where its structure defines it. Waiting gets look again if GET or PUT may have changed.

    Raises:
        MQIError: as for `Repository.alter`.
        ValueError: a value is out of its range.
    """
    while True:
        stored = finder.queues.read(structure, [name]).get(name)
        if stored is None:
            reason = MQRC.Q_DELETED if finder.queues.is_deleted(structure, name) else MQRC.UNKNOWN_OBJECT_NAME
            gone = error_for(reason, "", name, f"{structure} does not have it")
            raise why_not_there(finder.group, structure, name) or gone
        altered = _altered(stored.definition, changes).altered_at(finder.clock())
        if finder.queues.alter(structure, stored, altered):
            break
    finder.queues.wake_waiters(structure, name)


def alter_in_directory(finder: Finder, entry: Entry, changes: Mapping[str, Any], copy_to_active: CopyToActive) -> bool:
    """Alter what the directory defines. False if the directory no longer has *entry*.

    Returns only when no put can use the old definition.
    """
    assert entry.definition is not None
    definition = _altered(entry.definition, changes).altered_at(finder.clock())
    written = finder.directory.write(replace(entry, definition=definition), "alter")
    if written is None:
        return False
    if entry.disposition == "GROUP":
        copy_to_active(definition)
    elif entry.is_partitioned:
        spread_definition(finder, written)
    else:
        announce_definition(finder, entry.name, written.version, entry.definition, entry.qmgr)
    return True


def _altered(definition: _D, changes: Mapping[str, Any]) -> _D:
    for field, reason in (("name", MQRC.OBJECT_NOT_UNIQUE), ("structure", MQRC.CF_STRUC_ERROR)):
        if field in changes and changes[field] != getattr(definition, field, None):
            raise error_for(reason, "", definition.name, f"the {field} of a queue cannot be altered")
    return definition.with_changes(changes)


def copy_to_active(finder: Finder, template: AnyQueue) -> None:
    """Give every running manager its copy."""
    for qmgr in finder.active_managers():
        copy_to(finder, template, qmgr)


def copy_to(finder: Finder, template: AnyQueue, qmgr: str) -> None:
    """Give *qmgr* its copy, or bring the present one up to date. An object of its own with that name stays.

    As on z/OS, the group object exists even if a copy cannot be made. The log says why.
    """
    copy = template.model_copy(update={"disposition": "COPY"})
    private, _ = finder.directory.find(template.name, qmgr)
    try:
        if private is not None:
            known = finder.located(private)
            if private.disposition != "COPY" or (known is not None and known.definition.is_same_as(copy)):
                return
        define_at(finder, copy, qmgr, is_replace=True)
    except MQIError as error:
        log.warning("copy_not_made", object=template.name, qmgr=qmgr, error=str(error))


def drop_copies(finder: Finder, name: str) -> None:
    """Delete unused copies of running managers. The others are deleted when their manager starts."""
    for qmgr in finder.active_managers():
        private, _ = finder.directory.find(name, qmgr)
        if private is not None and private.disposition == "COPY":
            _drop_copy(finder, private)


def materialize(finder: Finder, qmgr: str) -> None:
    """Bring the copies of *qmgr* up to the group objects in force."""
    entries = list(finder.directory.scan())
    templates = {entry.name: entry for entry in entries if entry.disposition == "GROUP"}
    for entry in entries:
        if entry.disposition == "COPY" and entry.qmgr == qmgr and entry.name not in templates:
            _drop_copy(finder, entry)
    for template in templates.values():
        if template.definition is not None:
            copy_to(finder, template.definition, qmgr)


def _drop_copy(finder: Finder, copy: Entry) -> None:
    try:
        delete_entry(finder, copy)
    except MQIError as error:
        log.warning("copy_not_deleted", object=copy.name, qmgr=copy.qmgr, error=str(error))
