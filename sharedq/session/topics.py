"""Topics and subscriptions that a connection has open. Values."""

from __future__ import annotations

from dataclasses import dataclass

from sharedq.mqi.structures import MQOD, MQSD
from sharedq.objects.definitions.subscriptions import Subscription
from sharedq.session.handle import Handle
from sharedq.session.route import _Path


@dataclass(slots=True)
class TopicHandle:
    """A topic that is open for publications, by MQOPEN of MQOT_TOPIC or of an alias with TARGTYPE(TOPIC).

    It exists in this process only.

    Attributes:
        object_name, object_q_mgr_name: what the program named.
        topic_string: the whole topic string.
        is_counted: the group counts it among the publishers.
        asked: what its MQOPEN asked for, by which it can be opened again.
        path: the definitions that the name led through, the alias last; empty where the program named the topic.
        opened_at: the manager whose definitions the name was followed through.
    """

    number: int
    options: int
    object_name: str
    topic_string: str
    asked: MQOD
    is_closed: bool = False
    is_counted: bool = False
    path: _Path = ()
    object_q_mgr_name: str = ""
    opened_at: str = ""


@dataclass(slots=True)
class SubscriptionHandle:
    """An open subscription (Hsub).

    Attributes:
        queue: the handle of its destination that MQSUB opened; None where the program gave one.
        asked: what its MQSUB asked for, by which it can be made or opened again.
        given: the handle of its destination that its MQSUB was given.
        has_failed: its MQSUB did, after it was registered: it ends with the connection at the latest.
    """

    number: int
    subscription: Subscription
    asked: MQSD
    queue: Handle | None = None
    given: Handle | None = None
    is_closed: bool = False
    has_failed: bool = False

    @property
    def object_name(self) -> str:
        """A name for error messages: its own, or else its topic string."""
        return self.subscription.name or self.subscription.topic_string
