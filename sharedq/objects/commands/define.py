"""DEFINE: writes a local queue to its structure first, then to the directory; other objects only to the directory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.commands.announcement import announce_definition, spread_definition
from sharedq.objects.commands.delete import drop_closed_parts
from sharedq.objects.definitions.base import parse_definition
from sharedq.objects.definitions.queues import AnyQueue, Definition, QueueLocal, QueueModel
from sharedq.objects.store.directory import Entry, Mode, refusal
from sharedq.objects.store.failures import structure_state
from sharedq.objects.store.finder import Finder, only_one
from sharedq.objects.store.losses import LOST_QUEUES_REMEDY, has_lost_all
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
            # It may be lost without notice: those that serve it or wait there must be told.
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
