"""Recovery of subscriptions: those of dead connections end, and durable ones can be resumed by others.

A subscription that ends leaves its managed queue among the orphans, in the same moment; these are deleted afterwards.
Every step may be repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recovery.target import Targets
from sharedq.calls.handles.subscriptions import topics_of
from sharedq.members.group import Group
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError
from sharedq.objects.definitions.subscriptions import MANAGED
from sharedq.scripts.reads import pairs_like
from sharedq.session.connection import Connection

#: Others have ended it, or opened it, meanwhile.
_DONE = (MQRC.NO_SUBSCRIPTION, MQRC.SUBSCRIPTION_IN_USE)


def end_subscriptions(connection: Connection, targets: Targets) -> None:
    """End what the connections under *targets*, which are shut out, had subscribed to.

    Raises:
        MQIError: 2009, the recoverer itself was shut out.
    """
    topics = topics_of(connection.group)
    for field, token in pairs_like(connection, "HSCAN", connection.group.keys.subscription_holders):
        holder, number = token.decode(), field.decode()
        if holder == connection.token or targets.covering(holder) is None:
            continue
        subscription = topics.numbered(number)
        if subscription is None:
            continue
        end = topics.close if subscription.is_durable else topics.remove
        try:
            end(number, connection.token, connection, holder)
        except MQIError as error:
            if error.reason not in _DONE:
                raise


def managed_queues(group: Group, names: Sequence[str]) -> Collection[str]:
    """Return those of *names* that are the managed queue of a subscription."""
    topics = topics_of(group)
    if not any(name.startswith(MANAGED) for name in names):
        return ()
    found = (match.subscription for match in topics.subscriptions())
    return {subscription.destination for subscription in found if subscription.is_managed} & set(names)
