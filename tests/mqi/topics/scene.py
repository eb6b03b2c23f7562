"""Steps that tests of topics repeat."""

from __future__ import annotations

from sharedq.api import Queue, QueueManagerConnection, Subscription
from sharedq.mqi.constants import GetOption, OpenOption, SubOption
from sharedq.mqi.errors import NoMsgAvailable

NEW = SubOption.CREATE | SubOption.MANAGED
DURABLE = NEW | SubOption.DURABLE
CHAR = NEW | SubOption.WILDCARD_CHAR
PROVIDED = SubOption.CREATE


def bodies(source: Subscription | Queue) -> list[bytes]:
    """Get everything that is there."""
    found: list[bytes] = []
    while True:
        try:
            found.append(source.get(GetOption.NO_WAIT).body)
        except NoMsgAvailable:
            return found


def publish(connection: QueueManagerConnection, topic_string: str, *texts: bytes, options: int = 0) -> None:
    """Publish each of *texts*."""
    with connection.open_topic(topic_string) as topic:
        for text in texts:
            topic.publish(text, options=options)


def open_input(connection: QueueManagerConnection, name: str, qmgr: str = "") -> Queue:
    """Open a queue to get from it and to put on it."""
    return connection.open(name, OpenOption.INPUT_SHARED | OpenOption.OUTPUT, qmgr_name=qmgr)
