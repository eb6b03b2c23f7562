"""Figures about publishers and subscriptions: how many publish, how much has come, and when the last."""

from __future__ import annotations

import io
import re

import pytest

from igq.mqsc.executor import run
from sharedq import verbs
from sharedq.mqi.constants import ObjectType, OpenOption, PutOption
from sharedq.mqi.structures import MQMD, MQOD, MQPMO
from sharedq.session import topics
from tests.mqi.topics.scene import DURABLE, publish
from tests.support.members import TestGroup


def shown(group: TestGroup, command: str) -> str:
    """The output of a command at QM1."""
    out = io.StringIO()
    run([command], group.repository("QM1"), out)
    return out.getvalue()


def figure(group: TestGroup, command: str, keyword: str) -> str:
    """One figure that a command shows."""
    found = re.search(rf"\b{keyword}\((.*?)\)", shown(group, command))
    assert found is not None
    return found[1].strip()


def messages_of(group: TestGroup, name: str = "D") -> str:
    """NUMMSGS of a subscription."""
    return figure(group, f"DISPLAY SBSTATUS({name}) NUMMSGS", "NUMMSGS")


@pytest.mark.rule("mqi/topics", "DISPLAY SBSTATUS counts what was put for a subscription, and shows when the last was.")
def test_publications_are_counted(pair: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "INTERVAL_S", 0.0)
    subscriber, publisher = pair.connect("QM1"), pair.connect("QM2")
    subscriber.subscribe("a/#", name="D", options=DURABLE)
    assert (messages_of(pair), figure(pair, "DISPLAY SBSTATUS(D)", "LMSGDATE")) == ("0", "")
    publish(publisher, "a/b", b"1", b"2")
    publish(publisher, "b", b"other")
    publish(publisher, "a", b"3", options=PutOption.SYNCPOINT)
    assert messages_of(pair) == "3"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", figure(pair, "DISPLAY SBSTATUS(D)", "LMSGDATE"))
    assert re.fullmatch(r"\d\d\.\d\d\.\d\d", figure(pair, "DISPLAY TPSTATUS('a/#') TYPE(SUB)", "LMSGTIME"))


def test_retained_publications_count_when_they_come(group: TestGroup) -> None:
    connection = group.connect()
    publish(connection, "a", b"1", options=PutOption.RETAIN)
    subscription = connection.subscribe("a", name="D", options=DURABLE)
    subscription.request()
    connection.disconnect()
    assert messages_of(group) == "2"


@pytest.mark.parametrize("end", ["close", "disconnect", "beat"])
def test_publications_in_short_order_are_told_of_together(group: TestGroup, end: str) -> None:
    connection = group.connect()
    connection.subscribe("a", name="D", options=DURABLE)
    topic = connection.open_topic("a")
    topic.publish(b"0")
    assert messages_of(group) == "1"
    connection.connection.delivered.add([group.repository("QM1").topics.subscriptions()[0].subscription.number] * 4)
    if end == "close":
        topic.close()
    elif end == "disconnect":
        connection.disconnect()
    else:
        connection.connection.keep_alive()
    assert messages_of(group) == "5"


def test_counts_go_with_their_subscription(group: TestGroup) -> None:
    connection = group.connect()
    connection.subscribe("a", name="D", options=DURABLE).close()
    publish(connection, "a", b"1")
    run(["DELETE SUB(D)"], group.repository("QM1"), io.StringIO())
    # A program that learns of the end late counts for nothing.
    connection.connection.delivered.add(["0" * 48])
    connection.disconnect()
    key = group.group.keys.delivered
    assert group.group.command(key, "EXISTS", key) == 0


@pytest.mark.rule("mqi/topics", "PUBCOUNT counts the handles by which a topic string is open for publications.")
def test_publishers_are_counted(pair: TestGroup) -> None:
    def count(topic_string: str = "a/b") -> str:
        return figure(pair, f"DISPLAY TPSTATUS('{topic_string}') PUBCOUNT", "PUBCOUNT")

    first, second = pair.connect("QM1"), pair.connect("QM2")
    topics = [first.open_topic("a/b"), first.open_topic("a/b"), second.open_topic("a/b")]
    first.open_topic("a/b", options=OpenOption.FAIL_IF_QUIESCING | OpenOption.OUTPUT).close()
    assert (count(), count("a")) == ("3", "0")
    topics[0].close()
    assert count() == "2"
    second.disconnect()
    assert count() == "1"
    first.disconnect()
    assert "CSQM297I" in shown(pair, "DISPLAY TPSTATUS('a/b')")


def test_mqput1_is_no_publisher_for_long(group: TestGroup) -> None:
    connection = group.connect().connection
    od = MQOD(version=4, object_type=ObjectType.TOPIC, object_string=b"a")
    assert verbs.mqput1(connection, od, MQMD(), MQPMO(), b"1")[0] == 0
    assert "CSQM297I" in shown(group, "DISPLAY TPSTATUS('a')")
