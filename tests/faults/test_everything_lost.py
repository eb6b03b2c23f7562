"""Redis loses everything, also the administration structure, and the group begins again under running programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from tests.support.groups import drain
from tests.support.members import TestGroup
from tests.support.server import Server

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[TestGroup]:
    """A group on its own server."""
    server = Server()
    group = TestGroup(server.url, tmp_path)
    group.add_member("QM1")
    group.define_shared("Q")
    yield group
    group.close()
    server.close()


def begin_anew(group: TestGroup) -> None:
    group.group.client().flushall()
    group.add_member("QM1")
    group.define_shared("Q")


def test_an_old_program_is_not_taken_for_a_new_one(alone: TestGroup) -> None:
    before = [alone.connect() for _ in range(5)]
    queues = [each.open("Q", BOTH) for each in before]
    for queue in queues:
        queue.put(b"before", options=PutOption.SYNCPOINT)
    begin_anew(alone)
    now = [alone.connect() for _ in range(5)]
    assert not {each.connection.token for each in before} & {each.connection.token for each in now}
    for connection in now:
        with connection.open("Q", BOTH) as queue:
            queue.put(b"now")
            queue.put(b"uncommitted", options=PutOption.SYNCPOINT)

    for connection, queue in zip(before, queues, strict=True):
        for call in (queue.get, lambda queue=queue: queue.put(b"late"), connection.commit):
            with pytest.raises(MQIError) as caught:
                call()
            assert caught.value.reason == MQRC.CONNECTION_BROKEN
        assert not connection.connection.process._renew()
    for connection in now:
        connection.backout()
    with alone.connect().open("Q", BOTH) as queue:
        assert drain(queue) == [b"now"] * 5


def test_an_old_wait_ends_with_its_lease(alone: TestGroup) -> None:
    before = alone.connect()
    queue = before.open("Q", BOTH)
    begin_anew(alone)
    assert not before.connection.process._renew()
    with pytest.raises(MQIError) as caught:
        queue.get(GetOption.WAIT, wait_ms=-1)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
