"""Agents are killed while they publish messages for an alias with TARGTYPE(TOPIC): each is published once, in order."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from recovery.resolution import recover
from sharedq.mqi.constants import OpenOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.mqi.topics.scene import DURABLE
from tests.support.accounts import assert_accounted
from tests.support.agents import bodies, drain
from tests.support.backups import mqsc
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import until

pytestmark = pytest.mark.faults

MESSAGES, KILLS = 400, 6
#: Longest time between the start of an agent's work and its kill, in seconds.
SPREAD_S = 0.1


@pytest.mark.invariant(1, 5, 8)
@pytest.mark.rule("igq/agent", "An agent that is killed while it publishes has published all of its batch, or nothing.")
@pytest.mark.parametrize("seed", range(3))
def test_an_agent_killed_while_it_publishes(group: TestGroup, seed: int) -> None:
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    # The program opens it.
    group.define_shared("Q")
    mqsc(group, "DEFINE TOPIC(PRICE) TOPICSTR('price/apples')")
    group.define("QM2", QueueAlias(name="PRICES", target="PRICE", target_type="TOPIC"))
    subscription = group.connect("QM1").subscribe("price/#", name="S", options=DURABLE)
    assert subscription.queue
    name = subscription.queue.name
    chance = random.Random(seed)
    with group.connect("QM1") as sender, sender.open("PRICES", OpenOption.OUTPUT, qmgr_name="QM2") as far:
        far.put_many([(MQMD(persistence=1), b"%d" % number) for number in range(MESSAGES)])

    for _ in range(KILLS):
        agent = Program(group.settings, "QM2")
        agent.ask("serve")
        time.sleep(chance.random() * SPREAD_S)
        agent.close()
        _recover_all_of_qm2(group)
    last = Program(group.settings, "QM2")
    last.ask("serve")
    until(lambda: _committed(group, name) == MESSAGES, "all are published, and their units of work committed")
    last.close()
    _recover_all_of_qm2(group)

    got = [int(message.body) for message in drain(group.connect("QM1"), name)]
    assert got == list(range(MESSAGES))
    assert bodies(group, SYSTEM_DEAD_LETTER_QUEUE) == []
    assert_accounted(group.group)


def _committed(group: TestGroup, queue: str) -> int:
    found = group.repository("QM1").queue_status(queue)
    return found.depth - found.uncommitted_puts


def _recover_all_of_qm2(group: TestGroup) -> None:
    """The manager recovers the work of its dead processes."""
    client, leases = group.group.client(), group.group.keys.leases
    connection = group.connect("QM1").connection
    found: Any = client.zrange(leases, 0, -1)
    for lease in map(bytes.decode, found):
        if lease.startswith("QM2.") and lease.count(".") == 2:
            client.zadd(leases, {lease: 1}, xx=True)
            assert recover(group.group, connection, lease, force=True).is_resolved
