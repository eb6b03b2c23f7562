"""Retained publications that are not committed: everybody else sees their predecessor."""

from __future__ import annotations

import pytest

from sharedq.calls.topics.retained import clear, retained_at
from sharedq.mqi.constants import MQRC, PutOption
from sharedq.mqi.structures import MQMD
from tests.mqi.topics.scene import bodies, publish
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import recover_lost

pytestmark = pytest.mark.share

RETAIN, IN_UNIT = int(PutOption.RETAIN), int(PutOption.RETAIN | PutOption.SYNCPOINT)
KEPT = "SYSTEM.RETAINED.PUB.QUEUE"


def seen(group: TestGroup, topic_string: str = "a") -> list[bytes]:
    """The publications that a new subscription gets, and those that it gets by MQSUBRQ."""
    connection = group.connect()
    subscription = connection.subscribe(topic_string)
    found = bodies(subscription)
    if found:
        assert subscription.request() == len(found)
        assert bodies(subscription) == found
    else:
        assert reason_of(subscription.request) == MQRC.NO_RETAINED_MSG
    connection.disconnect()
    return found


def depth(group: TestGroup) -> int:
    """The number of retained publications."""
    return group.repository("QM1").queue_status(KEPT).depth


@pytest.mark.invariant(1)
@pytest.mark.rule("mqi/topics", "A retained publication hides its predecessor from the moment of its commit.")
@pytest.mark.parametrize("end", ["commit", "backout"])
@pytest.mark.parametrize("wanted", ["a", "#"])
def test_the_predecessor_is_seen_until_the_commit(group: TestGroup, end: str, wanted: str) -> None:
    first, second = group.connect(), group.connect()
    publish(first, "a", b"old", options=RETAIN)
    publish(second, "a", b"between", b"new", options=IN_UNIT)
    assert seen(group, wanted) == [b"old"]
    getattr(second, end)()
    assert seen(group, wanted) == [b"new" if end == "commit" else b"old"]
    assert depth(group) == 1


def test_the_predecessor_is_seen_while_work_is_in_doubt(group: TestGroup) -> None:
    first, second = group.connect(), group.connect()
    publish(first, "a", b"old", options=RETAIN)
    publish(second, "a", b"new", options=IN_UNIT)
    second.prepare(b"1")
    assert seen(group) == [b"old"]
    second.commit_prepared(b"1")
    assert (seen(group), depth(group)) == ([b"new"], 1)


def test_the_predecessor_is_seen_while_its_publisher_waits_for_recovery(group: TestGroup) -> None:
    first, second = group.connect(), group.connect()
    publish(first, "a", b"old", options=RETAIN)
    publish(second, "a", b"new", options=IN_UNIT)
    token = second.connection.token
    second.connection.break_off()
    assert seen(group) == [b"old"]
    recover_lost(group, token)
    assert (seen(group), depth(group)) == ([b"old"], 1)


def test_two_topics_of_one_unit_of_work(group: TestGroup) -> None:
    first, second = group.connect(), group.connect()
    for topic in ("a", "b"):
        publish(first, topic, b"old " + topic.encode(), options=RETAIN)
        publish(second, topic, b"new " + topic.encode(), options=IN_UNIT)
    assert seen(group, "+") == [b"old a", b"old b"]
    second.commit()
    assert (seen(group, "+"), depth(group)) == ([b"new a", b"new b"], 2)


@pytest.mark.rule(
    "mqi/topics", "CLEAR TOPICSTR clears what is committed; a publication under way is retained after it."
)
def test_a_clear_beside_a_publication_under_way(group: TestGroup) -> None:
    first, second = group.connect(), group.connect()
    publish(first, "a", b"old", options=RETAIN)
    publish(second, "a", b"new", options=IN_UNIT)
    assert clear(group.connect().connection, "a")
    assert not clear(group.connect().connection, "a")
    assert seen(group) == []
    second.commit()
    assert seen(group) == [b"new"]


def test_what_expires_does_not_bring_its_predecessor_back(group: TestGroup) -> None:
    connection = group.connect()
    publish(connection, "a", b"old", options=RETAIN)
    with connection.open_topic("a") as topic:
        topic.publish(b"new", MQMD(expiry=1), options=RETAIN)
    group.wait_redis_ms(150)
    assert seen(group) == []


def test_a_retained_publication_of_a_group_replaces_its_predecessor(group: TestGroup) -> None:
    connection = group.connect()
    with connection.open_topic("a") as topic:
        for body in (b"1", b"2"):
            topic.publish(body, MQMD(version=2, group_id=b"G" * 24, msg_seq_number=3, msg_flags=8), options=RETAIN)
    kept = retained_at(connection.connection, "a")
    assert kept is not None
    assert (kept.body, kept.md.group_id, kept.md.msg_seq_number, kept.md.msg_flags) == (b"2", b"G" * 24, 3, 8)
    assert (seen(group), depth(group)) == ([b"2"], 1)
