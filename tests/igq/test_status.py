"""`igq status` reads what can be alive: process ids above all."""

from __future__ import annotations

import json
import os

import pytest

from igq.agent.reporting import AgentState, write_agent_state
from igq.status import ManagerStatus, read_status
from tests.support.members import TestGroup


def shown(group: TestGroup, state: str, agent: str) -> ManagerStatus:
    """QM1 as it is shown when the group and its agent have said this."""
    keys = group.group.keys
    write_agent_state(group.group, "QM1", AgentState(agent, 4711, 0))
    changes: list[str | int] = ["QM1", 1, json.dumps({"state": state})]
    group.group.call("admin/member_state", [keys.members, keys.fence], changes)
    return next(each for each in read_status(group.settings).managers if each.name == "QM1")


@pytest.mark.parametrize("state", ["STARTING", "RUNNING", "QUIESCING", "FAILED"])
def test_what_may_be_alive_has_its_pid(group: TestGroup, state: str) -> None:
    """One that is FAILED may be paused, or cut off the network."""
    manager = shown(group, state, "RUNNING")

    assert (manager.state, manager.pid, manager.agent.pid) == (state, os.getpid(), 4711)


def test_a_manager_that_has_stopped_has_none_and_its_agent_neither(group: TestGroup) -> None:
    manager = shown(group, "STOPPED", "RUNNING")

    assert (manager.pid, manager.agent.pid, manager.agent.state) == (None, None, "STOPPED")


@pytest.mark.parametrize(("agent", "pid"), [("STOPPED", None), ("STARTING", 4711), ("RETRY", 4711)])
def test_an_agent_that_has_ended_has_none(group: TestGroup, agent: str, pid: int | None) -> None:
    assert shown(group, "RUNNING", agent).agent.pid == pid
