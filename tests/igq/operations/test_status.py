"""`igq status` shows everything that can be alive, above all process ids."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import redis

from igq.agent.progress.report import AgentState
from igq.operations.status import ManagerStatus
from igq.output.messages import trouble_id
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.settings.values import Settings
from tests.support.agents import show_agent
from tests.support.members import TestGroup
from tests.support.status import read_status
from tests.support.topologies import Cluster

pytestmark = pytest.mark.share


def shown(group: TestGroup, state: str, agent: str) -> ManagerStatus:
    """QM1 as it is shown after these statements of the group and its agent."""
    keys = group.group.keys
    show_agent(group, "QM1", AgentState(agent, 4711, 0))
    changes: list[str | int] = ["QM1", 1, json.dumps({"state": state})]
    group.group.call("admin/member_state", [keys.members, keys.fence], changes)
    return next(each for each in read_status(group.settings).managers if each.name == "QM1")


@pytest.mark.parametrize("state", ["STARTING", "RUNNING", "QUIESCING", "FAILED"])
def test_members_that_may_be_alive_have_a_pid(group: TestGroup, state: str) -> None:
    """A FAILED manager may be paused, or cut off from the network."""
    manager = shown(group, state, "RUNNING")

    assert (manager.state, manager.pid, manager.agent.pid) == (state, os.getpid(), 4711)


def test_a_manager_that_has_stopped_has_none_and_its_agent_neither(group: TestGroup) -> None:
    manager = shown(group, "STOPPED", "RUNNING")

    assert (manager.pid, manager.agent.pid, manager.agent.state) == (None, None, "STOPPED")


@pytest.mark.parametrize(("agent", "pid"), [("STOPPED", None), ("STARTING", 4711), ("RETRY", 4711)])
def test_an_agent_that_has_ended_has_none(group: TestGroup, agent: str, pid: int | None) -> None:
    assert shown(group, "RUNNING", agent).agent.pid == pid


def test_missing_replicas_do_not_prevent_a_look(group: TestGroup) -> None:
    asked = group.settings.model_copy(update={"wait_replicas": 1, "wait_replicas_timeout_ms": 1})

    found = read_status(asked)

    assert [manager.name for manager in found.managers] == ["QM1"]
    assert found.redis.durability == "none: 1 replica must have a message, but 0 online"


def test_a_user_without_info_sees_all_other_facts(group: TestGroup) -> None:
    url = group.settings.redis_url
    assert url is not None
    with redis.Redis.from_url(url) as client:
        client.acl_setuser("noinfo", enabled=True, passwords=["+pw"], keys=["*"], channels=["*"], categories=["+@all"])
        client.execute_command("ACL", "SETUSER", "noinfo", "-info")
    mark = "&" if "?" in url else "?"

    found = read_status(group.settings.model_copy(update={"redis_url": f"{url}{mark}username=noinfo&password=pw"}))

    assert [manager.name for manager in found.managers] == ["QM1"]
    assert (found.redis.version, "INFO is refused" in found.redis.durability) == ("", True)


def test_a_node_of_a_cluster_is_named_so(tmp_path: Path) -> None:
    cluster = Cluster()
    try:
        for address in cluster.url.removeprefix("redis+cluster://").split(","):
            with pytest.raises(MQIError, match=r"whose URL begins with redis\+cluster://"):
                read_status(Settings(data_dir=tmp_path, redis_url=f"redis://{address}"))
        read_status(Settings(data_dir=tmp_path, redis_url=cluster.url))
    finally:
        cluster.close()


@pytest.mark.parametrize(
    ("reason", "known_as"),
    [
        (MQRC.CONNECTION_BROKEN, "IGQ0003E"),
        (MQRC.Q_MGR_NOT_AVAILABLE, "IGQ0003E"),
        (MQRC.NOT_AUTHORIZED, "IGQ0005E"),
        (MQRC.STORAGE_MEDIUM_FULL, "IGQ0005E"),
    ],
)
def test_redis_that_answers_is_not_called_unreachable(reason: MQRC, known_as: str) -> None:
    assert trouble_id(error_for(reason, "", "")) == known_as
