"""A get of a message with no more than identifiers takes a short way through its script, to the same end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from sharedq import MQIError, Queue
from sharedq.mqi.constants import GetOption, Report
from sharedq.mqi.structures import MQMD
from tests.mqi.units.test_short_ways import OUTSIDE, journal_of, of, ways
from tests.support.members import TestGroup

#: The second never takes the short way. All messages are persistent, so both get in the unit of work.
SHORT, LONG = GetOption.SYNCPOINT, GetOption.SYNCPOINT_IF_PERSISTENT
IDS = [b"a" * 24, b"b" * 24]


def a_message(random: Random) -> tuple[MQMD, bytes]:
    """A message with identifiers, or a plain one."""
    fields: dict[str, Any] = {name: random.choice(IDS) for name in ("correl_id", "msg_id") if random.random() < 0.6}
    if random.random() < 0.1:
        # The program that gets it is asked for that report, so nobody makes one here.
        fields |= {"report": int(Report.PAN), "reply_to_q": b"REPLIES"}
    return MQMD(persistence=1, priority=random.randrange(3), **fields), random.randbytes(random.choice((0, 30, 11_000)))


def a_get(random: Random) -> Callable[[Queue, GetOption], tuple[bytes, bytes, bytes] | int]:
    """A get of any message, or by identifiers; what it got, or its reason."""
    asked: dict[str, Any] = {name: random.choice(IDS) for name in ("correl_id", "msg_id") if random.random() < 0.4}
    options = GetOption.ACCEPT_TRUNCATED_MSG if random.random() < 0.2 else GetOption(0)
    room = random.choice((10, 20_000, None))

    def get(queue: Queue, mode: GetOption) -> tuple[bytes, bytes, bytes] | int:
        more: dict[str, Any] = {} if room is None else {"max_length": room}
        try:
            found = queue.get(mode | options, match=MQMD(**asked) if asked else None, **more)
        except MQIError as error:
            return int(error.reason)
        return found.body, found.md.correl_id, found.md.msg_id if found.md.msg_id in IDS else b""

    return get


@pytest.mark.invariant(1)
@pytest.mark.parametrize("seed", range(40))
def test_both_ways_leave_the_same(group: TestGroup, seed: int) -> None:
    random = Random(seed)
    short, long = ways(group)
    for _ in range(random.randrange(3, 12)):
        if random.random() < 0.6:
            messages = [a_message(random) for _ in range(random.randrange(1, 5))]
            for _, queue in (short, long):
                queue.put_many([(replace(md), body) for md, body in messages], options=OUTSIDE)
        if random.random() < 0.8:
            get = a_get(random)
            assert get(short[1], SHORT) == get(long[1], LONG)
        if random.random() < 0.3:
            end = random.choice(("commit", "backout"))
            getattr(short[0], end)()
            getattr(long[0], end)()
        assert of(group, "APPLA", short) == of(group, "APPLB", long)
    assert journal_of(group, "APPLA", short) == journal_of(group, "APPLB", long)


@pytest.mark.parametrize("asked", [None, MQMD(correl_id=IDS[0]), MQMD(msg_id=IDS[1])], ids=["any", "CorrelId", "MsgId"])
def test_one_that_has_expired_is_passed_over(group: TestGroup, asked: MQMD | None) -> None:
    connection, queue = ways(group)[0]
    for expiry in (1, -1):
        queue.put(b"%d" % expiry, MQMD(correl_id=IDS[0], msg_id=IDS[1], expiry=expiry))
    group.wait_redis_ms(120)
    assert queue.get(SHORT, match=asked).body == b"-1"
    connection.commit()
