"""Topics and subscriptions of the native API: publications, MQSUBRQ and MQCLOSE."""

from __future__ import annotations

from sharedq.api.open_objects import Opened
from sharedq.api.queue import Queue, refuse_put
from sharedq.calls.handles import open as opening
from sharedq.calls.handles import subscriptions
from sharedq.calls.put.extension import put_message
from sharedq.calls.put.properties import put_with_properties
from sharedq.calls.topics import open as topics
from sharedq.calls.topics import publish as publishing
from sharedq.calls.topics import subscribe as subscribing
from sharedq.messages.message import Message
from sharedq.mqi.arguments import whole
from sharedq.mqi.constants import (
    MQRC,
    CloseOption,
    GetOption,
    PutOption,
)
from sharedq.mqi.errors import error_for
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.session.topics import SubscriptionHandle, TopicHandle


class Topic(Opened[TopicHandle]):
    """A topic that is open for publications.

    Attributes:
        warning: of the latest ``publish``: 2550, or ``NONE``.
    """

    def __init__(self, connection: Connection, handle: TopicHandle) -> None:
        super().__init__(connection, handle)
        self.warning = MQRC.NONE

    @property
    def topic_string(self) -> str:
        """The whole topic string."""
        return self.handle.topic_string

    def publish(
        self,
        body: bytes,
        md: MQMD | None = None,
        *,
        options: PutOption | int = 0,
        properties: MessageHandle | None = None,
    ) -> MQMD:
        """MQPUT: publish one message; returns its descriptor.

        Args:
            options: ``PutOption.RETAIN`` keeps it for later subscriptions; with ``PutOption.SYNCPOINT`` it is a part of
                the unit of work.
            properties: of the message (NewMsgHandle).

        Raises:
            MQIError: 2051 the topic inhibits it; 2502 a subscription that must get it cannot; ...
        """
        md = MQMD() if md is None else md
        refuse_put("MQPUT", self.topic_string, md, body)
        pmo = MQPMO(options=whole(options, MQRC.OPTIONS_ERROR, "MQPUT", self.topic_string))

        def send(md: MQMD, body: bytes) -> MQRC:
            return publishing.publish(self.connection, self.handle, md, pmo, body)

        def send_with_properties(md: MQMD, body: bytes) -> MQRC:
            return put_with_properties(send, self.topic_string, md, pmo, body, new=properties)

        with self.connection.lock:
            chosen = send if properties is None else send_with_properties
            self.warning = put_message(self.connection, self.topic_string, chosen, md, pmo.options, body)
        return md

    def close(self) -> None:
        """MQCLOSE."""
        with self.connection.lock:
            self.connection.check()
            topics.close_topic(self.connection, self.handle)


class Subscription(Opened[SubscriptionHandle]):
    """An open subscription.

    Attributes:
        queue: where its publications are got from.
    """

    def __init__(self, connection: Connection, handle: SubscriptionHandle, queue: Queue | None) -> None:
        super().__init__(connection, handle)
        self.queue = queue if handle.queue is None else Queue(connection, handle.queue)

    @property
    def topic_string(self) -> str:
        """The whole topic string."""
        return self.handle.subscription.topic_string

    def get(self, options: GetOption | int = 0, *, wait_ms: int = 0) -> Message:
        """MQGET of a publication from the queue. Raises MQIError: 2033 there is none; as for ``Queue.get``."""
        if self.queue is None:
            raise error_for(MQRC.HOBJ_ERROR, "MQGET", self.topic_string, "it has no queue here")
        return self.queue.get(options, wait_ms=wait_ms)

    def request(self) -> int:
        """MQSUBRQ: have retained publications sent again. Returns how many. Raises MQIError: 2437, none."""
        with self.connection.lock:
            self.connection.check()
            return subscribing.request(self.connection, self.handle)

    def close(self, options: CloseOption | int = 0) -> None:
        """MQCLOSE, of the queue too if MQSUB opened it.

        Args:
            options: ``CloseOption.REMOVE_SUB`` ends a durable subscription, which stays otherwise.
        """
        with self.connection.lock:
            self.connection.check()
            options = whole(options, MQRC.OPTIONS_ERROR, "MQCLOSE", self.topic_string)
            queue = self.handle.queue
            if queue is not None and not queue.is_closed:
                opening.close_handle(self.connection, queue)
            subscriptions.close_subscription(self.connection, self.handle, options)
