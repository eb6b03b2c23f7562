"""Agents are killed while messages for a shared queue go through them and past them: all come once, in order."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from typing import Any

import pytest

from recovery.resolution import recover
from sharedq.mqi.constants import GetOption, OpenOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.store.parts import part_in
from tests.support.agents import moved_by_puts
from tests.support.members import TestGroup
from tests.support.program import Program
from tests.support.scenes import until

pytestmark = pytest.mark.faults

AGENTS = 5
#: After that an agent lives at least this long, and at most this much longer, in seconds.
LIFE_S, SPREAD_S = 0.2, 0.3


class Sender:
    """Sends numbered messages from QM1 until it is told to stop; some of them only the agent can deliver."""

    def __init__(self, group: TestGroup, seed: str) -> None:
        self._queue = group.connect("QM1").open("Q", OpenOption.OUTPUT, qmgr_name="QM2")
        self._chance = random.Random(seed)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent = 0

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.is_set():
            md = MQMD(persistence=1, priority=5)
            if self._chance.random() < 0.05:
                md.correl_id = b"c" * 24
            self._queue.put(b"%d" % self.sent, md)
            self.sent += 1
            time.sleep(self._chance.random() * 0.002)


class Receiver:
    """Gets each message that comes to Q at QM2, and waits for it."""

    def __init__(self, group: TestGroup) -> None:
        self._queue = group.connect("QM2").open("Q", OpenOption.INPUT_SHARED)
        self.process = self._queue.connection.process
        self.got: list[int] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(NoMsgAvailable):
                self.got.append(int(self._queue.get(GetOption.WAIT, wait_ms=100).body))

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


@pytest.mark.rule("igq/parts", "Agents that are killed again and again lose, double and reorder nothing in the parts.")
@pytest.mark.invariant(5)
@pytest.mark.parametrize("seed", ["one", "two"])
def test_killed_again_and_again_nothing_is_lost_doubled_or_overtaken(group: TestGroup, seed: str) -> None:
    group.add_member("QM2")
    group.repository("QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    group.define_structure()
    group.define_shared("Q")
    group.repository("QM2").make_transmit_parts("QM2")
    chance, receiver, past_it = random.Random(seed), Receiver(group), 0
    with Sender(group, seed) as sender:
        for _ in range(AGENTS):
            agent = _agent(group)
            # A busy machine may be slow to send, so the agent lives until a message has passed it.
            until(lambda: moved_by_puts(group.group, "QM2") > 0, "a put has gone past the agent")
            time.sleep(LIFE_S + chance.random() * SPREAD_S)
            agent.process.kill()
            agent.process.communicate()
            past_it += moved_by_puts(group.group, "QM2")
            # Messages sent meanwhile stay, or pass it while none is before them.
            time.sleep(chance.random() * SPREAD_S)
            _recover_agents(group, receiver)
    last = _agent(group)
    until(lambda: len(receiver.got) >= sender.sent, "everything has come")
    receiver.stop()
    last.close()
    assert receiver.got == list(range(sender.sent))
    assert past_it < sender.sent


def _agent(group: TestGroup) -> Program:
    """QM2's agent, either waiting or at work."""
    agent = Program(group.settings, "QM2")
    agent.ask("serve")
    part = group.group.structure("APPL1").queue(part_in("APPL1", "QM2").queue)
    until(lambda: group.group.client().hexists(part.queue, "mv"), "it has waited")
    return agent


def _recover_agents(group: TestGroup, receiver: Receiver) -> None:
    """The survivor recovers the work of QM2's dead processes."""
    client, leases = group.group.client(), group.group.keys.leases
    connection = group.connect("QM2", receiver.process).connection
    found: Any = client.zrange(leases, 0, -1)
    for lease in map(bytes.decode, found):
        if lease.startswith("QM2.") and lease.count(".") == 2 and lease != receiver.process.token:
            client.zadd(leases, {lease: 1}, xx=True)
            assert recover(group.group, connection, lease).is_resolved
