"""The end of queues that nobody owns any more."""

from __future__ import annotations

from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.members.news import ORPHANS, tell_managers
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.orphans import Orphan, forget_orphan, orphans_of
from sharedq.redis.answers import LOOK_S, little_patience

log = LibraryLogger(__name__)


def delete_orphans(group: Group) -> int:
    """Delete the orphans, with what is on them.

    A queue that is open, or has something uncommitted, or cannot be reached now, stays. Then the managers hear of it,
    and one of them looks again in some seconds. A temporary queue that is open is deleted logically.

    Returns:
        How many stay.
    """
    left = 0
    try:
        orphans = list(orphans_of(group))
    except MQIError as error:
        log.warning("orphans_not_deleted", error=str(error))
        return 1
    for orphan in orphans:
        try:
            with little_patience(LOOK_S):
                _delete(group, orphan)
                forget_orphan(group, orphan)
        except MQIError as error:
            log.debug("orphan_not_deleted", queue=orphan.queue, error=str(error))
            left += 1
    if left:
        tell_managers(group, ORPHANS)
    return left


def _delete(group: Group, orphan: Orphan) -> None:
    if orphan.structure:
        qmgr = orphan.maker.partition(".")[0]
        Repository(group, qmgr).delete_made(orphan.structure, orphan.queue, orphan.maker)
        return
    try:
        Repository(group, orphan.maker).delete(QueueLocal.kind, orphan.queue, purge=True)
    except MQIError as error:
        if error.reason != MQRC.UNKNOWN_OBJECT_NAME:
            raise
