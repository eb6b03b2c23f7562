"""Publications with properties, and subscriptions that select some."""

from __future__ import annotations

import io

import pytest

from igq.mqsc.executor import run
from sharedq.api import QueueManagerConnection, Subscription
from sharedq.mqi.constants import MQRC, CloseOption, OpenOption, PutOption, SubOption
from sharedq.mqi.structures import MQMD, MQSD
from sharedq.properties.handle import MessageHandle
from tests.mqi.topics.scene import DURABLE, PROVIDED, bodies, open_input, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of


def selecting(connection: QueueManagerConnection, text: str, level: int = 1) -> Subscription:
    """A subscription to "a" with a selection string."""
    return connection.subscribe("a", descriptor=MQSD(selection_string=text.encode(), sub_level=level))


def publish_coloured(connection: QueueManagerConnection, body: bytes, options: int = 0, colour: str = "red") -> MQMD:
    """Publish a message with the property ``colour``."""
    handle = MessageHandle()
    handle.set("colour", colour)
    with connection.open_topic("a") as topic:
        return topic.publish(body, MQMD(priority=3), options=options, properties=handle)


@pytest.mark.rule("mqi/topics", "A subscription with a selection string gets the publications that fit it.")
def test_a_selection_string(pair: TestGroup) -> None:
    subscriber, publisher = pair.connect("QM1"), pair.connect("QM2")
    texts = ("colour = 'red'", "colour IS NULL", "Root.MQMD.Priority > 2", "colour LIKE 'b%' OR Root.MQMD.Priority = 0")
    subscriptions = [selecting(subscriber, text) for text in texts]
    publish_coloured(publisher, b"1")
    publish(publisher, "a", b"2")
    publish_coloured(publisher, b"3", colour="blue")
    # Properties in the folder usr are a header in front of the data to a program without a handle.
    got = [[body[-1:] for body in bodies(each)] for each in subscriptions]
    assert got == [[b"1"], [b"2"], [b"1", b"3"], [b"3", b"2"]]


@pytest.mark.rule("mqi/topics", "A publication has the properties of its message handle, a retained one too.")
def test_properties_come_with_a_publication(pair: TestGroup) -> None:
    subscriber, publisher = pair.connect("QM1"), pair.connect("QM2")
    subscription = subscriber.subscribe("a")
    published = publish_coloured(publisher, b"1", PutOption.RETAIN)
    assert published.format == b""
    for each in (subscription, subscriber.subscribe("a")):
        handle = MessageHandle()
        assert each.queue is not None
        message = each.queue.get(properties=handle)
        assert (message.body, handle.inquire("colour").value) == (b"1", "red")


@pytest.mark.rule("mqi/topics", "A retained publication comes to a subscription that selects it, and by MQSUBRQ.")
def test_retained_publications_are_selected(group: TestGroup) -> None:
    connection = group.connect()
    publish_coloured(connection, b"1", PutOption.RETAIN)
    red, blue = selecting(connection, "colour = 'red'"), selecting(connection, "colour = 'blue'")
    assert (len(bodies(red)), bodies(blue)) == (1, [])
    assert red.request() == 1
    assert reason_of(blue.request) == MQRC.NO_RETAINED_MSG


def test_levels_count_where_a_publication_is_selected(group: TestGroup) -> None:
    connection = group.connect()
    high, low = selecting(connection, "colour = 'red'", 5), connection.subscribe("a")
    publish(connection, "a", b"1")
    publish_coloured(connection, b"2")
    assert (len(bodies(high)), bodies(low)) == (1, [b"1"])


def test_a_warning_where_nobody_selects(group: TestGroup) -> None:
    connection = group.connect()
    selecting(connection, "colour = 'red'")
    topic = connection.open_topic("a")
    topic.publish(b"1", options=PutOption.WARN_IF_NO_SUBS_MATCHED)
    assert topic.warning == MQRC.NO_SUBS_MATCHED


def test_a_header_that_is_not_valid_is_data(group: TestGroup) -> None:
    connection = group.connect()
    red, none = selecting(connection, "colour = 'red'"), selecting(connection, "colour IS NULL")
    connection.open_topic("a").publish(b"RFH nonsense", MQMD(format=b"MQHRF2"))
    assert (bodies(red), bodies(none)) == ([], [b"RFH nonsense"])


def test_a_durable_subscription_keeps_its_selection_string(pair: TestGroup) -> None:
    first, second = pair.connect("QM1"), pair.connect("QM2")
    sd = MQSD(selection_string=b"Root.MQMD.Priority = 3")
    first.subscribe("a", name="D", options=DURABLE, descriptor=sd).close()
    first.disconnect()
    publish(second, "a", b"1")
    second.open_topic("a").publish(b"2", MQMD(priority=3))
    resumed = second.subscribe(name="D", options=SubOption.RESUME)
    assert bodies(resumed) == [b"2"]
    resumed.close(CloseOption.REMOVE_SUB)


def test_selectors_of_commands(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    out = io.StringIO()
    commands = (
        "DEFINE SUB(RED) TOPICSTR(a) DEST(Q) SELECTOR('colour IS NOT NULL')",
        "DEFINE SUB(WRONG) TOPICSTR(a) DEST(Q) SELECTOR('colour =')",
        "DEFINE SUB(WRONG) TOPICSTR(a) DESTCLAS(MANAGED) SELECTOR('colour =')",
        "ALTER SUB(RED) SELECTOR('x = 1')",
    )
    run(commands, group.repository("QM1"), out)
    assert "IGQ1011W" not in out.getvalue()
    assert out.getvalue().count("2459") == 2
    assert "it cannot be altered" in out.getvalue()
    assert [each.subscription.name for each in group.repository("QM1").topics.subscriptions()] == ["RED"]
    connection = group.connect()
    publish(connection, "A", b"1")
    handle = MessageHandle()
    handle.set("colour", "red")
    connection.open_topic("A").publish(b"2", properties=handle)
    assert len(bodies(open_input(connection, "Q"))) == 1


def test_each_subscription_of_a_queue_selects(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", OpenOption.INPUT_SHARED)
    for text in (b"Root.MQMD.Priority = 3", b"Root.MQMD.Priority = 4", b"Root.MQMD.Priority < 5"):
        connection.subscribe("a", queue=queue, options=PROVIDED, descriptor=MQSD(selection_string=text))
    connection.open_topic("a").publish(b"1", MQMD(priority=3))
    assert bodies(queue) == [b"1", b"1"]
