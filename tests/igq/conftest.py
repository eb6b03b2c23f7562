"""QM2 with the parts of its agent, and QM1 that puts to its queues through intra-group queuing."""

from __future__ import annotations

import pytest

from sharedq.mqi.structures import MQMD
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.support.agents import AgentOfQM2, Put
from tests.support.members import TestGroup


@pytest.fixture
def agent(group: TestGroup) -> AgentOfQM2:
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    return AgentOfQM2(group)


@pytest.fixture
def put(agent: AgentOfQM2) -> Put:
    """Puts from QM1 to a queue of QM2."""
    sender = agent.group.connect("QM1")

    def put_one(queue: str, body: bytes, **fields: object) -> MQMD:
        values: dict[str, object] = {"persistence": 1, "priority": 0} | fields
        return sender.put1(queue, body, MQMD(**values), qmgr_name="QM2")  # type: ignore[arg-type]

    return put_one
