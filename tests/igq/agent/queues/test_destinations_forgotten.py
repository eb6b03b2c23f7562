"""Codes of destinations go when no message can carry them; those in use stay."""

from __future__ import annotations

import pytest

from sharedq.mqi.constants import GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from tests.recovery.scene import register_wait
from tests.support.agents import AgentOfQM2, drain
from tests.support.members import TestGroup


@pytest.fixture
def agent(group: TestGroup) -> AgentOfQM2:
    """QM2, whose agent serves its part; LOCAL is a queue of it."""
    group.add_member("QM2")
    for name in ("QM1", "QM2"):
        group.repository(name).alter_qmgr(name, {"igq": "ENABLED"})
    group.define_private("QM2", "LOCAL")
    return AgentOfQM2(group)


def codes(agent: AgentOfQM2) -> dict[str, str]:
    keys = agent.group.group.structure("@QM2")
    found = agent.group.group.client().hgetall(keys.destinations)
    return {name.decode(): text.decode() for name, text in found.items()}  # type: ignore[union-attr]


def names(agent: AgentOfQM2) -> set[str]:
    return {name for name in codes(agent) if not name.startswith("#")}


def test_names_that_are_no_queues_go_when_nothing_is_on_its_way(agent: AgentOfQM2) -> None:
    with agent.group.connect("QM1") as connection:
        for name in ("LOCAL", "NOWHERE.1", "NOWHERE.2"):
            connection.put1(name, b"1", qmgr_name="QM2")
        agent.queue.forget_destinations()
        assert names(agent) == {"LOCAL", "NOWHERE.1", "NOWHERE.2"}
        agent.serve()
        agent.queue.forget_destinations()
        assert codes(agent) == {"#": "3", "LOCAL": "1", "#1": "LOCAL"}
        connection.put1("NOWHERE.3", b"1", qmgr_name="QM2")
        assert codes(agent)["NOWHERE.3"] == "4"


def test_an_uncommitted_message_keeps_its_code(agent: AgentOfQM2) -> None:
    with agent.group.connect("QM1") as connection:
        connection.put1("NOWHERE", b"1", options=PutOption.SYNCPOINT, qmgr_name="QM2")
        agent.queue.forget_destinations()
        assert names(agent) == {"NOWHERE"}
        connection.commit()


def test_a_queue_that_comes_back_is_found_by_msg_id(agent: AgentOfQM2) -> None:
    repository = agent.group.repository("QM2")
    with agent.group.connect("QM1") as connection, agent.group.connect("QM2") as reader:
        connection.put1("LOCAL", b"1", qmgr_name="QM2")
        agent.serve()
        assert [message.body for message in drain(reader, "LOCAL")] == [b"1"]
        repository.delete("QLOCAL", "LOCAL")
        agent.queue.forget_destinations()
        assert names(agent) == set()
        agent.group.define_private("QM2", "LOCAL")
        md = MQMD()
        connection.put1("LOCAL", b"2", md, qmgr_name="QM2")
        agent.serve()
        with reader.open("LOCAL", OpenOption.INPUT_SHARED) as queue:
            assert queue.get(GetOption.NO_SYNCPOINT, match=MQMD(msg_id=md.msg_id)).body == b"2"


def test_a_connection_that_does_not_wait_is_not_woken(group: TestGroup) -> None:
    group.define_shared("Q")
    connection = group.connect()
    queue = connection.open("Q", OpenOption.INPUT_SHARED)
    wake_key = group.group.structure("APPL1").wake + connection.connection.token
    connection.connection.waits_on(wake_key)
    connection.connection.notice_quiescing()
    connection.connection.look_again()
    assert not group.group.client().exists(wake_key)
    register_wait(queue, b"A")
    connection.connection.look_again()
    assert group.group.client().lrange(wake_key, 0, -1) == [b"look"]
