"""CAPEXPRY: the longest life of a message, by every definition on its way and by its topic."""

from __future__ import annotations

import pytest

from sharedq.mqi.constants import OpenOption, SubOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.objects.definitions.topics import Topic
from tests.support.members import TestGroup

UNLIMITED = -1
PUT, GET = OpenOption.OUTPUT, OpenOption.INPUT_SHARED


def expiries(group: TestGroup, name: str, count: int) -> list[int]:
    with group.connect().open(name, GET) as queue:
        return [queue.get().md.expiry for _ in range(count)]


@pytest.mark.parametrize(
    ("asked", "of_queue", "of_alias", "kept"),
    [
        (UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED),
        (UNLIMITED, 5000, UNLIMITED, 5000),
        (UNLIMITED, 5000, 3000, 3000),
        (UNLIMITED, 3000, 5000, 3000),
        (9000, UNLIMITED, 5000, 5000),
        (2000, 5000, 3000, 2000),
    ],
)
def test_a_message_lives_no_longer_than_its_caps(
    group: TestGroup, asked: int, of_queue: int, of_alias: int, kept: int
) -> None:
    group.define_shared("Q", cap_expiry=of_queue)
    group.define("QM1", QueueAlias(name="A", target="Q", cap_expiry=of_alias))
    # The second message may be stored as the first was.
    with group.connect().open("A", PUT) as queue:
        for _ in range(2):
            queue.put(b"x", MQMD(expiry=asked))
    for found in expiries(group, "Q", 2):
        assert found == UNLIMITED if kept == UNLIMITED else kept - 100 < found <= kept


def test_a_remote_definition_caps_what_goes_elsewhere(group: TestGroup) -> None:
    group.add_member("QM2")
    group.define_private("QM2", "IN")
    group.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", cap_expiry=4000))
    with group.connect().open("FAR", PUT) as queue:
        queue.put(b"x")
    assert 3900 < expiries(group, SYSTEM_QSG_TRANSMIT_QUEUE, 1)[0] <= 4000


def test_an_altered_cap_holds_for_open_handles(group: TestGroup) -> None:
    group.define_shared("Q")
    with group.connect().open("Q", PUT) as queue:
        queue.put(b"1")
        group.repository("QM1").alter("QLOCAL", "Q", {"cap_expiry": 6000})
        queue.put(b"2")
    first, second = expiries(group, "Q", 2)
    assert first == UNLIMITED
    assert 5900 < second <= 6000


def test_a_topic_caps_publications(group: TestGroup) -> None:
    group.define_shared("Q")
    group.repository("QM1").topics.define(Topic(name="T", topic_string="t", cap_expiry=7000))
    connection = group.connect()
    with connection.open("Q", GET) as queue, connection.subscribe("t/below", options=SubOption.CREATE, queue=queue):
        connection.open_topic("t/below").publish(b"x")
        assert 6900 < queue.get().md.expiry <= 7000
