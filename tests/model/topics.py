"""A model of publish/subscribe: subscriptions with queues, and retained publications, over the model of queues."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.model.queues import Message, Model

#: The queue of retained publications; a message's CorrelId there is its topic string.
RETAINED = "RETAINED"


@dataclass(eq=False)
class Subscription:
    """A subscription. Each publication that it gets is a message on its queue.

    Attributes:
        queue: the queue, or the shared one that the program gave.
        holder: the number of the program that has it open. None: nobody, so it is durable.
        priority: of the publications that its selection string selects. None: any.
    """

    pattern: str
    is_by_character: bool
    queue: str
    holder: int | None
    is_managed: bool = True
    is_on_request: bool = False
    is_durable: bool = False
    priority: int | None = None

    def selects(self, priority: int) -> bool:
        """Whether it gets publications of this priority."""
        return self.priority in (None, priority)

    def fits(self, topic: str) -> bool:
        """Whether it gets publications of *topic*."""
        if self.is_by_character:
            pattern = "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in self.pattern)
            return re.fullmatch(pattern, topic) is not None
        return _fit(self.pattern.split("/"), topic.split("/"))


def _fit(pattern: list[str], levels: list[str]) -> bool:
    if not pattern:
        return not levels
    if pattern[0] == "#":
        return any(_fit(pattern[1:], levels[count:]) for count in range(len(levels) + 1))
    return bool(levels) and pattern[0] in ("+", levels[0]) and _fit(pattern[1:], levels[1:])


class TopicsModel(Model):
    """Topics as IBM describes them."""

    def __init__(self, programs: int) -> None:
        super().__init__(programs)
        self.subscriptions: list[Subscription] = []

    def publish(self, number: int, topic: str, body: bytes, priority: int, *, in_unit: bool, is_retained: bool) -> None:
        """MQPUT of a topic."""
        for each in self.subscriptions:
            if each.fits(topic) and each.selects(priority) and not each.is_on_request:
                self.put(number, Message(body, each.queue, priority, b""), in_unit=in_unit)
        if is_retained:
            self.put(number, Message(body, RETAINED, priority, topic.encode()), in_unit=in_unit)
            self._replace()

    def commit(self, number: int) -> bool:
        """MQCMIT. A retained publication takes the place of its predecessor."""
        is_committed = super().commit(number)
        self._replace()
        return is_committed

    def _replace(self) -> None:
        """Of the committed publications of a topic only the last is retained."""
        last: dict[bytes, Message] = {}
        for each in sorted(self.on_queue(RETAINED), key=lambda message: message.arrival):
            if each.correl_id in last:
                self.available.remove(last[each.correl_id])
            last[each.correl_id] = each

    def retained(self, subscription: Subscription) -> list[Message]:
        """The last publications of all topics that it fits, the first of them first."""
        latest: dict[bytes, Message] = {}
        for each in sorted(self.on_queue(RETAINED), key=lambda message: message.arrival):
            if subscription.fits(each.correl_id.decode()):
                latest.pop(each.correl_id, None)
                latest[each.correl_id] = each
        return [each for each in latest.values() if subscription.selects(each.priority)]

    def subscribe(self, number: int, subscription: Subscription, *, new_only: bool) -> None:
        """MQSUB, which sends what is retained unless the program does not want it now."""
        self.subscriptions.append(subscription)
        if not new_only and not subscription.is_on_request:
            self.request(number, subscription)

    def request(self, number: int, subscription: Subscription) -> int:
        """MQSUBRQ. Returns how many publications come."""
        found = self.retained(subscription)
        for each in found:
            self.put(number, Message(each.body, subscription.queue, each.priority, b""), in_unit=False)
        return len(found)

    def end(self, subscription: Subscription) -> None:
        """It is no more. The messages of a managed queue go with it."""
        self.subscriptions.remove(subscription)
        if subscription.is_managed:
            self.available = [each for each in self.available if each.queue != subscription.queue]

    def close(self, subscription: Subscription) -> None:
        """MQCLOSE, or the end of the program."""
        subscription.holder = None
        if not subscription.is_durable:
            self.end(subscription)

    def replace_program(self, number: int) -> None:
        """Its subscriptions that are not durable go with it."""
        super().replace_program(number)
        for each in list(self.subscriptions):
            if each.holder == number:
                self.close(each)
