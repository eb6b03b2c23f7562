"""Tells handles that a definition which they may have gone through has changed."""

from __future__ import annotations

from sharedq.objects.definitions.queues import AnyQueue, QueueAlias, QueueLocal
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.structures import announce


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
