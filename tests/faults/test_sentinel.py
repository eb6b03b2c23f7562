"""A primary and its replica with Sentinels: the primary dies, the replica is promoted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sharedq import MQIError
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from tests.support.members import TestGroup
from tests.support.topologies import SentinelPair, until

pytestmark = pytest.mark.faults

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


@pytest.fixture
def pair() -> Iterator[SentinelPair]:
    """A pair for one test, which kills the primary."""
    pair = SentinelPair()
    yield pair
    pair.close()


def is_reached(group: TestGroup) -> bool:
    """Whether the group answers. Between two primaries it does not."""
    try:
        return group.group.member("QM1") is not None
    except MQIError as error:
        if error.reason != MQRC.CONNECTION_BROKEN:
            raise
        return False


@pytest.mark.invariant(7)
def test_fail_over(pair: SentinelPair, tmp_path: Path) -> None:
    """With WAIT for the replica no acknowledged message is lost, none is there twice, and work goes on."""
    careful = TestGroup(pair.url, tmp_path, wait_replicas=1, wait_replicas_timeout_ms=60_000)
    careful.add_member("QM1")
    careful.define_structure("APPL1")
    careful.define_shared("Q")
    connection = careful.connect()
    queue = connection.open("Q", BOTH)
    sent = [b"%d" % number for number in range(50)]
    for body in sent:
        queue.put(body)
    taken = queue.get().body
    queue.put(b"uncommitted", options=PutOption.SYNCPOINT)
    held = queue.get(GetOption.SYNCPOINT).body
    assert [taken, held] == sent[:2]
    pair.fail_over()
    with pytest.raises(MQIError) as caught:
        connection.commit()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    # The pair has no replica any more. A program that goes on knows that, and reports it.
    group = TestGroup(pair.url, tmp_path, group=careful.group.name)
    try:
        until(lambda: is_reached(group), "the Sentinels name the new primary")
        connection = group.connect()
        queue = connection.open("Q", BOTH)
        queue.put(b"afterwards")
        found = [queue.get().body for _ in sent[2:]]
        assert found == sent[2:]
        assert queue.get().body == b"afterwards"
    finally:
        careful.close()
        group.close()


def test_no_replica_acknowledges(pair: SentinelPair, tmp_path: Path) -> None:
    """Without the replica that it waits for, a call cannot know whether it survives: 2009, and never an answer."""
    group = TestGroup(pair.url, tmp_path, wait_replicas=1, wait_replicas_timeout_ms=10_000)
    group.add_member("QM1")
    group.define_structure("APPL1")
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    queue.put(b"there")
    pair.replica.kill()
    try:
        with pytest.raises(MQIError) as caught:
            queue.put(b"unknown")
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
    finally:
        group.close()
