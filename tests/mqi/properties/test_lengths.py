"""MAXPROPL limits the properties of a message, MAXMSGL its data without them."""

from __future__ import annotations

import pytest

from sharedq.mqi.constants import MQRC, OpenOption, PropertyType
from sharedq.mqi.structures import MQMD
from sharedq.properties.handle import MessageHandle
from tests.mqi.topics.scene import bodies, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of


def handle_with(**values: str) -> MessageHandle:
    """A message handle with these properties."""
    handle = MessageHandle()
    for name, value in values.items():
        handle.set(name, value)
    return handle


@pytest.mark.rule("mqi/properties", "MAXPROPL limits the names and values of the properties of a put: 2478.")
def test_maxpropl(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    group.repository("QM1").alter_qmgr("QM1", {"max_properties_length": 20})
    connection = group.connect()
    queue = connection.open("Q", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    queue.put(b"1", properties=handle_with(colour="x" * 14))
    assert reason_of(lambda: queue.put(b"2", properties=handle_with(colour="x" * 15))) == MQRC.PROPERTIES_TOO_BIG
    number = MessageHandle()
    number.set("a" * 13, 1, PropertyType.INT64)
    assert reason_of(lambda: queue.put(b"3", properties=number)) == MQRC.PROPERTIES_TOO_BIG
    assert bodies(queue)[0].endswith(b"1")
    assert bodies(queue) == []


def test_maxpropl_of_a_publication(group: TestGroup) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"max_properties_length": 0})
    connection = group.connect()
    subscription = connection.subscribe("a")
    topic = connection.open_topic("a")
    assert reason_of(lambda: topic.publish(b"1", properties=handle_with(colour="red"))) == MQRC.PROPERTIES_TOO_BIG
    # Properties that the queue manager adds do not count.
    publish(connection, "a", b"2")
    handle = MessageHandle()
    assert subscription.queue is not None
    assert subscription.queue.get(properties=handle).body == b"2"
    assert handle.get("MQTopicString") == "a"


@pytest.mark.rule("mqi/properties", "MAXMSGL limits the data of a message without its properties.")
def test_maxmsgl(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q", max_msg_length=10)
    connection = group.connect()
    queue = connection.open("Q", OpenOption.INPUT_SHARED | OpenOption.OUTPUT)
    queue.put(b"x" * 10, properties=handle_with(colour="red"))
    assert reason_of(lambda: queue.put(b"x" * 11, properties=handle_with(colour="red"))) == MQRC.MSG_TOO_BIG_FOR_Q
    assert reason_of(lambda: queue.put(b"x" * 11, MQMD(format=b"MQHRF2"))) == MQRC.MSG_TOO_BIG_FOR_Q
    got = MessageHandle()
    assert (queue.get(properties=got).body, got.get("colour")) == (b"x" * 10, "red")
    connection.subscribe("a", queue=queue, options=1 << 1)
    publish(connection, "a", b"y" * 10)
    assert bodies(queue) == [b"y" * 10]
