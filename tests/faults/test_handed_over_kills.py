"""Programs are killed while they wait, or while a message is handed to them: each message is in one place."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass

import pytest

from recovery.resolution import recover
from sharedq import Queue
from sharedq.mqi.constants import OpenOption
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from tests.support.agents import AgentOfQM2, bodies, moved_by_puts
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import on_queue, taken, until

pytestmark = pytest.mark.faults

ROUNDS = 15
#: Longest time between the beginning of a wait and the kill, in seconds. The put is somewhere in between.
SPREAD_S = 0.004


@dataclass
class Way:
    """The way of a message to a queue, and the waiter there."""

    group: TestGroup
    structure: str
    waits_at: str
    queue: Queue
    #: A program that waits and does nothing else: the put moves the message for it.
    agent: AgentOfQM2 | None = None

    def drained(self) -> list[bytes]:
        """The messages that were not got. No other key is left, and the agent waits."""
        while self.agent and not self.agent.queue.move().is_waiting:
            pass
        return bodies(self.group, "Q", self.waits_at)

    @property
    def waiters(self) -> int:
        return self.group.group.client().zcard(self.group.group.structure(self.structure).queue("Q").waiters)


@pytest.fixture(params=["put directly", "put through IGQ"])
def way(group: TestGroup, request: pytest.FixtureRequest) -> Way:
    if request.param == "put directly":
        group.define_shared("Q")
        return Way(group, "APPL1", "QM1", group.connect().open("Q", OpenOption.OUTPUT))
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_private("QM2", "Q")
    queue = group.connect().open("Q", OpenOption.OUTPUT, qmgr_name="QM2")
    way = Way(group, "@QM2", "QM2", queue, AgentOfQM2(group))
    queue.put(b"first")
    assert way.drained() == [b"first"]
    group.group.client().delete(group.group.structure("@QM2").journal)
    return way


def test_a_killed_process_has_the_message_or_gives_it_back(way: Way) -> None:
    """The dead programs took the messages that the journal shows as got and not returned. No other is missing."""
    group = way.group
    chance = random.Random(7)
    by_puts = 0
    with group.connect(way.waits_at) as connection:
        for number in range(ROUNDS):
            body = b"%d" % number
            program = Program(group.settings, way.waits_at)
            process = program.token.rpartition(".")[0]
            program.ask("wait")
            if chance.random() < 0.5:
                until(lambda: way.waiters == 1, "it waits")
            time.sleep(chance.random() * SPREAD_S)
            way.queue.put(body)
            time.sleep(chance.random() * SPREAD_S)
            program.process.kill()
            told = program.process.communicate()[0].strip()
            group.group.client().zadd(group.group.keys.leases, {process: 1}, xx=True)
            assert recover(group.group, connection.connection, process).is_resolved
            here = on_queue(group, "Q", way.structure) or on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, way.structure)
            away = taken(group, way.structure)
            assert (here, away) in (([(body, 0)], Counter()), ([], Counter({process: 1}))), number
            assert not told or (told.encode(), here) == (body, [])
            assert way.waiters == 0
            by_puts += moved_by_puts(group.group, "QM2")
            assert way.drained() == [body for body, _ in here]
            group.group.client().delete(group.group.structure(way.structure).journal)
    assert bool(by_puts) == (way.agent is not None)


@pytest.mark.invariant(1, 3, 8)
@pytest.mark.parametrize("step", ["wait uncommitted", "request and wait"])
def test_a_process_killed_in_its_unit_of_work_gives_the_message_back(way: Way, step: str) -> None:
    """It is there once: it was never handed over, or is backed out. The commit that came with the wait stays done."""
    group = way.group
    if way.agent:
        group.define_private("QM2", "OTHER")
    else:
        group.define_shared("OTHER")
    chance = random.Random(11)
    requests = by_puts = handed = 0
    with group.connect(way.waits_at) as connection:
        for number in range(ROUNDS // 3):
            body = b"%d" % number
            program = Program(group.settings, way.waits_at)
            process = program.token.rpartition(".")[0]
            program.ask(step)
            waits = chance.random() < 0.7
            if waits:
                until(lambda: way.waiters == 1, "it waits")
            time.sleep(chance.random() * SPREAD_S)
            way.queue.put(body)
            time.sleep(chance.random() * SPREAD_S)
            program.process.kill()
            told = program.process.communicate()[0].strip()
            group.group.client().zadd(group.group.keys.leases, {process: 1}, xx=True)
            assert recover(group.group, connection.connection, process).is_resolved
            here = on_queue(group, "Q", way.structure) or on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, way.structure)
            assert here in ([(body, 0)], [(body, 1)]), number
            assert not told or (told.encode(), here) == (body, [(body, 1)])
            assert here[0][1] <= taken(group, way.structure)[process] <= 1
            handed += taken(group, way.structure)[process]
            sent = len(on_queue(group, "OTHER", way.structure)) - requests
            assert sent in ((1,) if waits else (0, 1)) if step == "request and wait" else sent == 0
            requests += sent
            assert way.waiters == 0
            by_puts += moved_by_puts(group.group, "QM2")
            assert way.drained() == [body]
            group.group.client().delete(group.group.structure(way.structure).journal)
    assert handed
    assert bool(by_puts) == (way.agent is not None)
