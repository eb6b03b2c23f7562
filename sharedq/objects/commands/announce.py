"""Telling handles that a definition which they may have gone through is no longer what it was."""

from __future__ import annotations

from sharedq.objects.definitions.queues import AnyQueue, QueueAlias, QueueLocal
from sharedq.objects.store.directory import Entry
from sharedq.objects.store.finding import Finder
from sharedq.objects.store.structures import announce


def announce_definition(finder: Finder, name: str, version: int, former: AnyQueue | None, qmgr: str) -> None:
    """Tell every structure that *name*, which *qmgr* knew as *former*, has another definition now, or none.

    Puts compare what the structures are told. For gets the target of an alias has a new version afterwards, which
    makes whoever gets from it, or waits there, look at the definitions again.
    """
    announce(finder.group, f"DEF {name}", str(version))
    if not isinstance(former, QueueAlias):
        return
    private, shared = finder.directory.find(former.target, qmgr)
    target = private or shared
    # The versions of the shared transmission queue are the group's; what it is to messages is no other one's business.
    if target is not None and target.kind == QueueLocal.kind and not target.is_partitioned:
        finder.queues.renew_version(target.structure, target.name)


def spread_definition(finder: Finder, master: Entry) -> None:
    """Bring every part of a partitioned queue to the definition that the directory has; waiting gets look at it.

    Every structure is told, too: what SYSTEM.QSG.TRANSMIT.QUEUE does not take for its length is put elsewhere, through
    handles that an ALTER of it invalidates as well.
    """
    places = finder.parts()
    finder.set_partitions(master, places)
    announce(finder.group, f"DEF {master.name}", str(master.version))
    # From now on nobody makes a part by an older definition; who has made one meanwhile, in a structure that had no
    # queues yet, did it by the definition of before.
    finder.set_partitions(master, [place for place in places if place.queue != master.name])
