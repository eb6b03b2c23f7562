"""The state that an agent shows: the one that works, not one that was cut off and whose words arrive late."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from igq.agent.progress.report import AgentState, write_agent_state
from recovery.resolution import recover
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC
from sharedq.scripts.members import agent_state_call, end_process_call
from tests.support.members import TestGroup


def ended_in_good_order(group: TestGroup, agent: Process) -> None:
    agent.stop_renewing()
    group.group.call(*end_process_call(group.group.keys, agent.token, ()))


def recovered(group: TestGroup, agent: Process) -> None:
    agent.stop_renewing()
    group.group.client().zadd(group.group.keys.leases, {agent.token: 0})
    assert recover(group.group, group.connect("QM1").connection, agent.token).is_resolved


def shut_out(group: TestGroup, agent: Process) -> None:
    """Its recovery has begun and is not finished: the recoverer may be slow, and the next incarnation is quick."""
    keys = group.group.keys
    group.group.client().hset(keys.fence, agent.token, 1)


def joined_again(group: TestGroup, agent: Process) -> None:
    """Its whole incarnation is replaced."""
    agent.stop_renewing()
    group.group.client().hset(group.group.keys.fence, "QM1", 1)


@pytest.mark.invariant(2)
@pytest.mark.parametrize("end", [ended_in_good_order, recovered, shut_out, joined_again])
def test_the_late_words_of_an_agent_that_was_cut_off_change_nothing(
    group: TestGroup, end: Callable[[TestGroup, Process], None]
) -> None:
    """Seen once in a drill: what it had sent before a partition arrived when the network was mended."""
    old = group.process()
    write_agent_state(group.group, old.token, AgentState("RUNNING", 1, 0))
    end(group, old)
    before = group.group.client().hget(group.group.keys.agents, "QM1")

    late = agent_state_call(group.group.keys, old.token, json.dumps({"state": "RETRY", "pid": 1}))
    assert group.group.call(*late) == [MQRC.CONNECTION_BROKEN]
    assert group.group.client().hget(group.group.keys.agents, "QM1") == before
