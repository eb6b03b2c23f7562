"""The clock of a program's machine is wrong, or jumps: expiry and leases follow Redis' clock."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from sharedq.calls.unit.commit import commit
from sharedq.mqi.constants import GetOption, MsgFlag
from sharedq.mqi.structures import MQMD
from tests.support.agents import AgentOfQM2, drain
from tests.support.groups import BOTH
from tests.support.members import TestGroup

#: Tenths of a second. No test lasts a quarter of it.
EXPIRY = 6_000
HOUR_S = 3_600.0
JUMPS = (HOUR_S, -HOUR_S, 20 * 365 * 24 * HOUR_S)

Jump = Callable[[], None]


@pytest.fixture(params=JUMPS)
def jump(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Jump:
    """The wall clock of this process jumps."""
    wall = time.time
    return lambda: monkeypatch.setattr(time, "time", lambda: wall() + request.param)


def lives(expiry: int) -> bool:
    """Whether the rest of EXPIRY is right."""
    return EXPIRY * 3 // 4 < expiry <= EXPIRY


@pytest.mark.parametrize("flags", [0, int(MsgFlag.LAST_MSG_IN_GROUP)])
def test_redis_decides_what_is_left_of_a_messages_life(group: TestGroup, jump: Jump, flags: int) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    queue.put_many([(MQMD(version=2, expiry=EXPIRY, msg_flags=flags, group_id=b"g" * 24), b"x") for _ in range(3)])
    jump()
    browsed, got, *_ = queue.get(GetOption.BROWSE_FIRST), queue.get()
    assert all(lives(message.md.expiry) for message in (browsed, got, *queue.get_many(2)))


@pytest.mark.rule(
    "igq/agent", "A message keeps the rest of its Expiry on its way, whatever the clocks of the machines say."
)
@pytest.mark.parametrize("destination", ["private", "shared"])
def test_a_message_on_its_way_keeps_its_time(group: TestGroup, agent: AgentOfQM2, jump: Jump, destination: str) -> None:
    if destination == "shared":
        group.define_shared("ORDERS")
    else:
        group.define_private("QM2", "ORDERS")
    sender = group.connect("QM1")
    for persistence in (0, 1):
        sender.put1("ORDERS", b"x", MQMD(expiry=EXPIRY, persistence=persistence), qmgr_name="QM2")
    jump()

    agent.deliver()

    arrived = drain(group.connect("QM2"), "ORDERS")
    assert [lives(message.md.expiry) for message in arrived] == [True, True]


@pytest.mark.invariant(2)
def test_leases_and_units_of_work_take_no_notice(group: TestGroup, jump: Jump) -> None:
    group.define_shared("Q")
    queue = group.connect().open("Q", BOTH)
    queue.put(b"x")
    queue.get(GetOption.SYNCPOINT)
    jump()
    queue.connection.process.check()
    assert queue.connection.process._renew()
    commit(queue.connection)
    queue.put(b"y")
    assert queue.get(GetOption.WAIT, wait_ms=1_000).body == b"y"
