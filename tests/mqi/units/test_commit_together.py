"""Commits that leave with buffered puts and with the next get: all of it happens, or none."""

from __future__ import annotations

from contextlib import suppress

import pytest

from sharedq import MQIError
from sharedq.api import Queue
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.session.unit_of_work import CHUNK_MESSAGES
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


def bodies(queue: Queue) -> list[bytes]:
    found = []
    with suppress(MQIError):
        while True:
            found.append(queue.get().body)
    return found


@pytest.mark.parametrize("fields", [{}, {"correl_id": b"C" * 24}, {"expiry": 100_000}])
def test_gets_and_buffered_puts_are_committed_with_the_next_get(group: TestGroup, fields: dict[str, object]) -> None:
    group.define_shared("SOURCE")
    group.define_shared("TARGET")
    connection = group.connect()
    source, target = connection.open("SOURCE", BOTH), connection.open("TARGET", BOTH)
    for body in (b"1", b"2", b"3"):
        source.put(body, MQMD(**fields))  # type: ignore[arg-type]

    source.get(GetOption.SYNCPOINT)
    for expected in (b"2", b"3"):
        for copy in (b"x", b"y"):
            target.put(copy + expected, MQMD(**fields), options=LATER)  # type: ignore[arg-type]
        assert source.commit_and_get(GetOption.SYNCPOINT).body == expected
    connection.backout()

    assert bodies(source) == [b"3"]
    assert bodies(target) == [b"x2", b"y2", b"x3", b"y3"]
    for name in ("SOURCE", "TARGET"):
        state = group.repository("QM1").queue_status(name)
        assert (state.depth, state.uncommitted_puts, state.uncommitted_gets) == (0, 0, 0)


def test_when_a_buffered_put_fails_the_gets_of_both_units_of_work_return(group: TestGroup) -> None:
    group.define_shared("SOURCE")
    group.define_shared("OTHER")
    group.define_shared("SMALL", max_depth=1)
    connection = group.connect()
    source, other = connection.open("SOURCE", BOTH), connection.open("OTHER", BOTH)
    small = connection.open("SMALL", BOTH)
    source.put(b"first")
    other.put(b"second")

    source.get(GetOption.SYNCPOINT)
    small.put(b"fits", options=LATER)
    small.put(b"does not", options=LATER)
    with pytest.raises(MQIError) as caught:
        other.commit_and_get(GetOption.SYNCPOINT)

    assert caught.value.reason == MQRC.BACKED_OUT
    assert (bodies(source), bodies(other), bodies(small)) == ([b"first"], [b"second"], [])


def test_a_get_outside_syncpoint_takes_nothing_after_a_failed_commit(group: TestGroup) -> None:
    group.define_shared("SOURCE")
    group.define_shared("SMALL", max_depth=1)
    connection = group.connect()
    source, small = connection.open("SOURCE", BOTH), connection.open("SMALL", BOTH)
    source.put(b"stays")
    small.put(b"fits", options=LATER)
    small.put(b"does not", options=LATER)
    with pytest.raises(MQIError) as caught:
        source.commit_and_get()

    assert caught.value.reason == MQRC.BACKED_OUT
    assert (bodies(source), bodies(small)) == ([b"stays"], [])


def test_a_get_after_a_commit_in_chunks_is_not_committed_with_it(group: TestGroup) -> None:
    group.define_shared("SOURCE")
    connection = group.connect()
    source = connection.open("SOURCE", BOTH)
    source.put(b"stays", MQMD(priority=9))
    for _ in range(CHUNK_MESSAGES // 100 + 1):
        source.put_many([(MQMD(priority=0), b"x")] * 100, options=PutOption.SYNCPOINT)
    assert source.commit_and_get(GetOption.SYNCPOINT).body == b"stays"
    connection.backout()

    assert source.get().body == b"stays"


def test_a_buffered_put_alone_in_its_unit_of_work_is_seen_at_the_commit(group: TestGroup) -> None:
    group.define_shared("TARGET")
    connection = group.connect()
    target = connection.open("TARGET", BOTH)
    other = group.connect().open("TARGET", BOTH)
    target.put(b"later", options=LATER)
    assert bodies(other) == []
    connection.commit()
    assert bodies(other) == [b"later"]
