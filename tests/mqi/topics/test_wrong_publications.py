"""MQPUT of a topic with a descriptor or data that cannot be: the publisher's mistake, and nobody's publication."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import QueueManagerConnection
from sharedq.mqi.constants import MQCC, MQRC, OpenOption, PutOption
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.objects.definitions.topics import Topic
from tests.mqi.reasons_of_puts import FIELDS
from tests.mqi.topics.scene import NEW, PROVIDED, bodies, open_input
from tests.support.groups import LMIG, MIG, SEG
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of

RETAIN, SYNCPOINT = int(PutOption.RETAIN), int(PutOption.SYNCPOINT)
WRONG: tuple[tuple[MQRC, dict[str, Any]], ...] = (
    *((reason, fields) for reason, fields in FIELDS if fields.get("msg_flags") != SEG),
    (MQRC.EXPIRY_ERROR, {"expiry": -5}),
    (MQRC.PRIORITY_ERROR, {"priority": -7}),
    (MQRC.MD_ERROR, {"format": b"x" * 20}),
    (MQRC.MD_ERROR, {"format": "text"}),
    (MQRC.MD_ERROR, {"correl_id": b"x" * 25}),
    (MQRC.MISSING_REPLY_TO_Q, {"report": 0x0000_0100}),
    (MQRC.REPORT_OPTIONS_ERROR, {"report": 0x1000_0000}),
)


def put_to_both(connection: QueueManagerConnection, options: int, body: Any, fields: dict[str, Any]) -> list[Any]:
    """The codes of an MQPUT to a queue and of one to a topic."""
    queue, topic = connection.open("Q", OpenOption.OUTPUT), connection.open_topic("a")
    codes = list[Any]()
    for handle, asked in ((queue.handle, options & ~RETAIN), (topic.handle, options)):
        md = MQMD(**{"version": 2, **fields})
        before = replace(md)
        codes.append(verbs.mqput(connection.connection, handle, md, MQPMO(options=asked), body))
        assert md == before or codes[-1][0] != MQCC.FAILED
    return codes


@pytest.mark.rule("mqi/topics", "A publication with a wrong descriptor fails with the reason of a put to a queue.")
@pytest.mark.parametrize(("reason", "fields"), WRONG)
def test_wrong_descriptors(group: TestGroup, reason: MQRC, fields: dict[str, Any]) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    subscription = connection.subscribe("a")
    for options in (0, SYNCPOINT, RETAIN, RETAIN | SYNCPOINT):
        assert put_to_both(connection, options, b"1", fields) == [(MQCC.FAILED, reason)] * 2
    connection.commit()
    assert bodies(subscription) == []
    assert reason_of(subscription.request) == MQRC.NO_RETAINED_MSG


@pytest.mark.parametrize("body", ["text", None, 5, ["a"]])
def test_wrong_data(group: TestGroup, body: Any) -> None:
    connection = group.connect()
    topic = connection.open_topic("a")
    for subscription in (connection.subscribe("b"), connection.subscribe("a")):
        assert reason_of(lambda: topic.publish(body, options=RETAIN)) == MQRC.BUFFER_ERROR
        assert reason_of(lambda: topic.publish(b"", MQMD(format=body), options=RETAIN)) == MQRC.MD_ERROR
        assert bodies(subscription) == []
        assert reason_of(subscription.request) == MQRC.NO_RETAINED_MSG


@pytest.mark.parametrize("is_subscribed", [False, True])
def test_a_publication_that_is_wrong_for_nobody(group: TestGroup, is_subscribed: bool) -> None:
    """The publisher's mistake is one where no subscription would have shown it."""
    connection = group.connect()
    if is_subscribed:
        connection.subscribe("a")
    topic = connection.open_topic("a")
    assert reason_of(lambda: topic.publish(b"1", MQMD(expiry=0))) == MQRC.EXPIRY_ERROR
    assert reason_of(lambda: topic.publish(b"1", MQMD(msg_type=0), options=RETAIN)) == MQRC.MSG_TYPE_ERROR


@pytest.mark.rule("mqi/topics", "A publication has the warnings of a put to a queue (2049, 2104).")
@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        (MQRC.PRIORITY_EXCEEDS_MAXIMUM, {"priority": 10}),
        (MQRC.UNKNOWN_REPORT_OPTION, {"report": 0x0000_0008}),
        (MQRC.NONE, {"encoding": 0, "feedback": 66_000}),
    ],
)
@pytest.mark.parametrize("options", [0, SYNCPOINT, RETAIN])
def test_warnings(group: TestGroup, reason: MQRC, fields: dict[str, Any], options: int) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    subscription = connection.subscribe("a")
    expected = (MQCC.WARNING if reason else MQCC.OK, reason)
    assert put_to_both(connection, options, b"1", fields) == [expected] * 2
    connection.commit()
    message = subscription.get()
    assert (message.body, message.md.priority) == (b"1", fields.get("priority", 0))


def test_no_subscription_is_the_warning_that_was_asked_for(group: TestGroup) -> None:
    topic = group.connect().open_topic("a")
    warnings = []
    for options in (PutOption.WARN_IF_NO_SUBS_MATCHED, PutOption.NONE):
        topic.publish(b"1", MQMD(priority=10), options=options)
        warnings.append(topic.warning)
    assert warnings == [MQRC.NO_SUBS_MATCHED, MQRC.PRIORITY_EXCEEDS_MAXIMUM]


def test_a_refused_publication_leaves_the_rules_of_delivery_alone(group: TestGroup) -> None:
    """ALL would answer 2502, which is about subscriptions."""
    group.repository("QM1").topics.define(
        Topic(name="T", topic_string="a", persistent_delivery="ALL", non_persistent_delivery="ALL")
    )
    connection = group.connect()
    connection.subscribe("a")
    topic = connection.open_topic("a")
    assert reason_of(lambda: topic.publish(b"1", MQMD(expiry=0, persistence=0))) == MQRC.EXPIRY_ERROR
    assert reason_of(lambda: topic.publish(b"1", MQMD(expiry=0, persistence=1))) == MQRC.EXPIRY_ERROR
    assert reason_of(lambda: topic.publish(b"1", MQMD(persistence=7))) == MQRC.PERSISTENCE_ERROR


@pytest.mark.rule("mqi/topics", "A publication in a group has the group fields of a put to a queue.")
def test_groups(group: TestGroup) -> None:
    group.define_structure()
    group.define_shared("Q")
    connection = group.connect()
    queue = open_input(connection, "Q")
    connection.subscribe("a", queue=queue, options=PROVIDED)
    other = connection.subscribe("a", options=NEW)
    topic = connection.open_topic("a")
    first = topic.publish(b"1", MQMD(version=2, msg_flags=MIG))
    topic.publish(b"2", MQMD(version=2, msg_flags=LMIG, group_id=first.group_id, msg_seq_number=2))
    topic.publish(b"3", MQMD(version=2, group_id=b"G" * 24, msg_seq_number=5, offset=7))
    for source in (queue, other.queue):
        assert source is not None
        found = [source.get().md for _ in range(3)]
        assert [(md.group_id, md.msg_seq_number, md.msg_flags) for md in found] == [
            (first.group_id, 1, MIG),
            (first.group_id, 2, LMIG | MIG),
            (bytes(24), 1, 0),
        ]
    assert first.group_id != bytes(24)
