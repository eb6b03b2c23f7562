"""ALTER: changes the definition in force, and repeats the change if another command altered it first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import error_for
from sharedq.objects.commands.announcement import announce_definition, spread_definition
from sharedq.objects.definitions.queues import AnyQueue, Definition
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.failures import why_not_there
from sharedq.objects.store.finder import Finder

_Q = TypeVar("_Q", bound=Definition)

CopyToActive = Callable[[AnyQueue], None]


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


def _altered(definition: _Q, changes: Mapping[str, Any]) -> _Q:
    for field, reason in (("name", MQRC.OBJECT_NOT_UNIQUE), ("structure", MQRC.CF_STRUC_ERROR)):
        if field in changes and changes[field] != getattr(definition, field, None):
            raise error_for(reason, "", definition.name, f"the {field} of a queue cannot be altered")
    return definition.with_changes(changes)
