"""QM2 with the parts of its agent, and QM1 that puts to its queues; and a QM2 that was used and is down."""

from __future__ import annotations

import pytest

from sharedq.mqi.constants import GetOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.support.agents import AgentOfQM2, Put
from tests.support.members import TestGroup
from tests.support.removals import GET, start, stop


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


@pytest.fixture
def fresh(group: TestGroup) -> TestGroup:
    """QM1 with messages on its own queue and on a shared one, and a group object."""
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_shared("SHARED")
    group.define_private("QM1", "KEPT")
    group.define("QM1", QueueLocal(name="TEMPLATE", disposition="GROUP"))
    sender = group.connect("QM1")
    for queue in ("SHARED", "KEPT"):
        sender.put1(queue, b"kept", MQMD(persistence=1))
    return group


@pytest.fixture
def down(fresh: TestGroup) -> TestGroup:
    """And QM2, which has used everything that a member can use, and has stopped."""
    membership = start(fresh)
    repository = fresh.repository("QM2")
    repository.make_transmit_parts("QM2")
    fresh.define_private("QM2", "ORDERS")
    fresh.define("QM2", QueueAlias(name="ALIAS", target="ORDERS"))
    connection = fresh.connect("QM2")
    # As each start of a manager leaves one.
    connection.put1("SYSTEM.ADMIN.QMGR.EVENT", b"event", MQMD(persistence=1))
    for queue in ("ORDERS", "SHARED"):
        connection.put1(queue, b"gone", MQMD(persistence=1))
        with connection.open(queue, GET) as source:
            if queue == "ORDERS":
                assert source.get(GetOption.SYNCPOINT).body == b"gone"
    connection.commit()
    connection.disconnect()
    stop(fresh, membership)
    return fresh
