"""Group objects: a template in the directory, and each manager's copy of it."""

from __future__ import annotations

from sharedq.log import LibraryLogger
from sharedq.mqi.errors import MQIError
from sharedq.objects.commands.define import define_at
from sharedq.objects.commands.delete import delete_entry
from sharedq.objects.definitions.queues import AnyQueue
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.finder import Finder

log = LibraryLogger(__name__)


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
