"""Publications: to a hundred subscriptions, and to one."""

from __future__ import annotations

from functools import partial

from bench.harness import BODY, Contender, compare
from bench.rows import Row
from bench.site import Site, drain
from sharedq.api import Topic
from sharedq.mqi.constants import SubOption

SUBSCRIPTIONS = 100
#: Deliveries a second, at least.
FLOOR = 5_000.0


def measure(site: Site) -> list[Row]:
    """How many copies a second come to a hundred queues in one structure, and how long one publication to one takes."""
    return [_row(site, "a", SUBSCRIPTIONS, FLOOR), _row(site, "b", 1, None)]


def _row(site: Site, topic_string: str, subscriptions: int, floor: float | None) -> Row:
    subscriber, publisher = site.connect(), site.connect()
    # A connection has at most MAXHANDS handles.
    queues = [site.open_new(subscriber) for _ in range(subscriptions)]
    for queue in queues:
        subscriber.subscribe(topic_string, queue=queue, options=SubOption.CREATE)

    def empty(_: int) -> None:
        for queue in queues:
            drain(queue)

    with publisher.open_topic(topic_string) as topic:
        contender = Contender(empty, partial(_publish, topic))
        cost = compare({"igq": contender}, site.client, site.effort, messages_each=subscriptions)["igq"]
    words = f"{cost.us * subscriptions / 1000:.2f} ms a publication, {cost.commands:.1f} commands a copy"
    name = f"publish to {subscriptions} subscription{'s' if subscriptions > 1 else ''}"
    return Row(name, 1e6 / cost.us, "deliveries/s", floor=floor, ours=words)


def _publish(topic: Topic, count: int) -> None:
    for _ in range(count):
        topic.publish(BODY)
