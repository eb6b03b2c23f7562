"""A publisher and a subscriber of prices. Each may run at any member of the group.

    python docs/examples/publish_and_subscribe.py subscribe QM1 'price/fruit/+' --count 2
    python docs/examples/publish_and_subscribe.py publish QM2 price/fruit/apples 1.20 1.25

`subscribe` prints publications as they come. With `--name` its subscription is durable: publications that
come while the program does not run wait for its next start, and `--remove` ends the subscription. `publish --retain`
keeps the last price, which a later subscriber gets at once. All prices of one call are published in one unit of work.
"""

from __future__ import annotations

import argparse
import sys

import sharedq
from sharedq.api import QueueManagerConnection, Subscription
from sharedq.mqi.constants import CloseOption, GetOption, PutOption, SubOption

IN_UNIT = GetOption.SYNCPOINT | GetOption.WAIT


def publish(connection: QueueManagerConnection, topic_string: str, prices: list[str], *, is_retained: bool) -> None:
    """Publish *prices*, all of them or none."""
    options = PutOption.SYNCPOINT | (PutOption.RETAIN if is_retained else 0)
    with connection.open_topic(topic_string) as topic:
        for price in prices:
            topic.publish(price.encode(), options=options)
    connection.commit()


def subscribe(connection: QueueManagerConnection, topic_string: str, name: str) -> Subscription:
    """Subscribe. A durable subscription is resumed if it exists."""
    options = SubOption.CREATE | SubOption.MANAGED
    if name:
        options |= SubOption.DURABLE | SubOption.RESUME
    return connection.subscribe(topic_string, name=name, options=options)


def show(connection: QueueManagerConnection, subscription: Subscription, count: int, wait_ms: int) -> None:
    """Print *count* publications, each in a unit of work: one whose print failed comes again."""
    for _ in range(count):
        message = subscription.get(IN_UNIT, wait_ms=wait_ms)
        print(message.body.decode(), flush=True)
        connection.commit()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    publisher, subscriber = commands.add_parser("publish"), commands.add_parser("subscribe")
    for each in (publisher, subscriber):
        each.add_argument("qmgr")
        each.add_argument("topic_string")
    publisher.add_argument("prices", nargs="+")
    publisher.add_argument("--retain", action="store_true")
    subscriber.add_argument("--name", default="", help="of a durable subscription")
    subscriber.add_argument("--count", type=int, default=1)
    subscriber.add_argument("--wait-ms", type=int, default=-1, help="how long to wait for each; -1: for ever")
    subscriber.add_argument("--remove", action="store_true", help="end a durable subscription afterwards")
    given = parser.parse_args()
    with sharedq.connect(given.qmgr) as connection:
        if given.what == "publish":
            publish(connection, given.topic_string, given.prices, is_retained=given.retain)
            return
        subscription = subscribe(connection, given.topic_string, given.name)
        print(f"subscribed to {subscription.topic_string}", flush=True)
        show(connection, subscription, given.count, given.wait_ms)
        subscription.close(CloseOption.REMOVE_SUB if given.remove or not given.name else CloseOption.KEEP_SUB)


if __name__ == "__main__":
    try:
        main()
    except sharedq.MQIError as error:
        sys.exit(f"publish_and_subscribe.py: {error}")
