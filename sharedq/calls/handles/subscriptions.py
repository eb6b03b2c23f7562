"""MQCLOSE of a subscription, and the end of its managed queue, and of others that nobody owns any more."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime

from sharedq.log import LibraryLogger
from sharedq.members.group import Group
from sharedq.members.news import ORPHANS, tell_managers
from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import MQRC, CloseOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.options import CLOSE_CHOICES, told
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.repository import Repository
from sharedq.objects.store.orphans import Orphan, forget_orphan, orphans_of
from sharedq.objects.store.topics import Match, Topics
from sharedq.redis.answers import LOOK_S, little_patience
from sharedq.session.connection import Connection
from sharedq.session.topics import SubscriptionHandle

log = LibraryLogger(__name__)
_KEEP, _REMOVE = int(CloseOption.KEEP_SUB), int(CloseOption.REMOVE_SUB)
_KNOWN = sum({int(option) for option in CloseOption})


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


def topics_of(group: Group) -> Topics:
    """Return the topics of the group."""
    return Topics(group, lambda: datetime.now(UTC))


def close_subscription(connection: Connection, handle: SubscriptionHandle, options: int = 0) -> None:
    """MQCLOSE of a subscription. A durable one stays, unless MQCO_REMOVE_SUB says otherwise.

    Raises:
        MQIError: 2019, it is closed already; 2045, MQCO_KEEP_SUB of a subscription that is not durable; 2046.
    """
    if handle.is_closed:
        raise error_for(MQRC.HOBJ_ERROR, "MQCLOSE", handle.object_name)
    options = whole(options, MQRC.OPTIONS_ERROR, "MQCLOSE", handle.object_name)
    if options & ~_KNOWN or any(sum(bool(options & each) for each in choice) > 1 for choice in CLOSE_CHOICES):
        raise error_for(MQRC.OPTIONS_ERROR, "MQCLOSE", handle.object_name, told(CloseOption(options)))
    is_durable = handle.subscription.is_durable
    if options & ~(_KEEP | _REMOVE) or (options & _KEEP and not is_durable):
        raise error_for(MQRC.OPTION_NOT_VALID_FOR_TYPE, "MQCLOSE", handle.object_name, told(CloseOption(options)))
    topics, number = topics_of(connection.group), handle.subscription.number
    try:
        if is_durable and not options & _REMOVE:
            topics.close(number, connection.token, connection)
        else:
            topics.remove(number, connection.token, connection)
    except MQIError as error:
        # A command has removed it.
        if error.reason != MQRC.NO_SUBSCRIPTION:
            raise
    handle.is_closed = True
    connection.subscriptions.pop(handle.number, None)
    connection.leaves_orphans |= handle.subscription.is_managed and delete_orphans(connection.group) > 0


def close_subscriptions(connection: Connection) -> None:
    """Close what is open, at the end of the connection."""
    for handle in list(connection.subscriptions.values()):
        close_subscription(connection, handle, _REMOVE if handle.has_failed else 0)
    if connection.leaves_orphans:
        delete_orphans(connection.group)


def end_expired(group: Group, matches: Iterable[Match]) -> None:
    """Let subscriptions end whose SubExpiry has run out, with their managed queues.

    A subscription that is open gets nothing more, and ends after its handle is closed.
    """
    now_ms, has_ended = int(time.time() * 1000), False
    for each in matches:
        if each.subscription.is_expired(now_ms) and not each.holder:
            with suppress(MQIError):
                topics_of(group).remove(each.subscription.number)
                has_ended = True
    if has_ended:
        delete_orphans(group)
