"""Processes are killed around the hop that hands a message over: the message is in one place."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter

import pytest

from igq.agent.queues.transmit_part import TransmitPart
from recovery.resolution import recover
from sharedq.calls.get.wait import stop_waiting
from sharedq.mqi.constants import OpenOption
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.parts import own_part
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import on_queue, taken, until

pytestmark = pytest.mark.faults

HOPS = 6
#: Longest time between the put and a kill, in seconds.
SPREAD_S = 0.004


@pytest.mark.rule(
    "igq/agent", "Whether agent or getter is killed at such a hop, the getter has the message or it is where it was."
)
@pytest.mark.parametrize("victims", ["agent", "getter", "both"])
def test_killed_around_the_hop_that_hands_it_over(group: TestGroup, victims: str) -> None:
    """After a kill of the agent, the waiter or both, the message is in one place, and a survivor has it once."""
    group.add_member("QM2")
    group.define_private("QM2", "Q")
    chance = random.Random(victims)
    client, keys = group.group.client(), group.group.structure("@QM2")
    transmit = keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE)
    far = group.connect("QM1").open("Q", OpenOption.OUTPUT, qmgr_name="QM2")
    for number in range(HOPS):
        body = b"%d" % number
        agent, getter = Program(group.settings, "QM2"), Program(group.settings, "QM2")
        dying = [each for name, each in (("agent", agent), ("getter", getter)) if victims in (name, "both")]
        agent.ask("deliver")
        getter.ask("wait")
        until(lambda: _wait_at_qm2(group) == (1, 1), "both wait")
        put = threading.Timer(chance.random() * SPREAD_S, far.put, (body,))
        put.start()
        time.sleep(chance.random() * 2 * SPREAD_S)
        for each in dying:
            each.process.kill()
        put.join()
        told = ""
        for each in dying:
            told += each.process.communicate()[0].strip()
            _recover(group, each)
        if agent in dying:
            # The messages that it left move as soon as there is another agent.
            connection = group.connect("QM2").connection
            successor = TransmitPart(connection, own_part(connection.qmgr_name))
            while successor.move().left:
                pass
            stop_waiting(connection, successor.handle)
        if getter in dying:
            until(lambda: client.zcard(transmit.available) == 0, "it has moved")
            here, away = on_queue(group, "Q", "@QM2"), taken(group, "@QM2")
            process = getter.token.rpartition(".")[0]
            assert (here, away) in (([(body, 0)], Counter()), ([], Counter({process: 1}))), number
            assert not told or (told.encode(), here) == (body, [])
            client.delete(keys.queue("Q").available, keys.messages)
        else:
            assert getter.answer() == body.decode()
            assert taken(group, "@QM2") == Counter({getter.token.rpartition(".")[0]: 1})
        for each in {agent, getter} - set(dying):
            each.close()
            _recover(group, each)
        assert (client.hlen(keys.messages), client.zcard(keys.queue("Q").available)) == (0, 0)
        assert _wait_at_qm2(group) == (0, 0)
        client.delete(keys.journal)


def _wait_at_qm2(group: TestGroup) -> tuple[int, int]:
    """The gets of Q and of the agent."""
    keys, client = group.group.structure("@QM2"), group.group.client()
    return client.zcard(keys.queue("Q").waiters), client.zcard(keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE).waiters)


def _recover(group: TestGroup, program: Program) -> None:
    process = program.token.rpartition(".")[0]
    assert recover(group.group, group.connect("QM1").connection, process, force=True).is_resolved
