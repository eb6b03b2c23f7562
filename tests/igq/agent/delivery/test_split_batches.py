"""Batches of which a part is delivered separately: no harm to retries, order and reports."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from igq.agent.progress.pipe import Pulse
from igq.agent.progress.retry import LONG_RETRY_INTERVAL_S, SHORT_RETRY_COUNT, SHORT_RETRY_INTERVAL_S, Trouble
from igq.agent.progress.sleep import BY_OPERATOR, IN_PASSING, Nudge
from igq.agent.queues.tags import agent_tag
from igq.agent.queues.transmission_queue import BATCH_MESSAGES
from igq.agent.services.base import Post, Service
from igq.agent.services.part import PartService
from igq.agent.services.pool import Mover, Served
from sharedq.admin.backup.capture import backup
from sharedq.calls.handles.connect import disconnect
from sharedq.calls.unit.commit import commit
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC
from sharedq.mqi.headers import MQXQH
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias
from sharedq.objects.store.parts import own_part
from sharedq.session.connection import Connection
from tests.support.agents import AgentOfQM2, Put, bodies, drain
from tests.support.backups import lose
from tests.support.members import TestGroup
from tests.support.scenes import on_queue

#: The first long retries are taken, too.
PAUSES = SHORT_RETRY_COUNT + 4
SCHEDULE = [SHORT_RETRY_INTERVAL_S] * SHORT_RETRY_COUNT + [LONG_RETRY_INTERVAL_S] * (PAUSES - SHORT_RETRY_COUNT)


class Pauses(Nudge):
    """Virtual time: in each pause something happens, and after the last one the service ends.

    Args:
        why: what ends each pause; None: its time has passed.
    """

    def __init__(self, happen: Callable[[], object], count: int = PAUSES, why: bytes | None = None) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.service: Service | None = None
        self._happen, self._count, self._why_woken = happen, count, why

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.woken_by = self._why_woken
        if len(self.seconds) >= self._count:
            assert self.service is not None
            self.service._is_stopping = True
        else:
            self._happen()


@pytest.fixture
def pair(group: TestGroup) -> TestGroup:
    """QM1 has a conventional transmission queue for QM2, and no message can be dead-lettered there."""
    group.add_member("QM2")
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    group.define_private("QM1", "QM2", usage="XMITQ")
    group.define_private("QM2", "IN")
    return group


def send(group: TestGroup, body: bytes, queue: str = "IN", **fields: Any) -> None:
    group.connect("QM1").put1(queue, body, MQMD(**({"persistence": 1, "priority": 0} | fields)), qmgr_name="QM2")


def urgent(group: TestGroup) -> None:
    send(group, b"urgent", persistence=0, priority=9)


def run_mover(group: TestGroup, pauses: Pauses) -> list[str]:
    """A mover of QM1's queue for QM2; the ids of its messages."""
    said: list[str] = []
    post = Post(group.group, group.process("QM1"), lambda id_, _: said.append(id_), lambda _: None, Pulse(), pauses)
    pauses.service = Mover(post, Served("QM2", "@QM1"), lambda: ["QM1", "QM2"])
    pauses.service.run()
    return said


@pytest.mark.rule(
    "igq/agent", "A nonpersistent message is not backed out with persistent ones, and waits for none after it."
)
@pytest.mark.parametrize("kinds", ["np", "nnp", "pnp", "npn", "nppn", "ppnnp"])
def test_a_nonpersistent_message_does_not_wait_for_a_later_persistent_one(
    group: TestGroup, agent: AgentOfQM2, put: Put, kinds: str
) -> None:
    """The last persistent message cannot be delivered. Each run of one kind is its own unit of work then."""
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("FLIGHTS")
    stuck = kinds.rindex("p")
    for n, kind in enumerate(kinds):
        put("NOWHERE" if n == stuck else "FLIGHTS", b"%d" % n, persistence=int(kind == "p"))
    all_others = [b"%d" % n for n in range(len(kinds)) if n != stuck]
    # Its own run goes back as a whole, and no message overtakes it.
    begin = stuck - len(kinds[:stuck]) + len(kinds[:stuck].rstrip("p"))

    for _ in range(2):
        with pytest.raises(Trouble, match="NOWHERE"):
            agent.deliver()
        assert len(on_queue(group, "FLIGHTS")) == begin

    group.define_private("QM2", "NOWHERE")
    agent.deliver()
    assert bodies(group, "FLIGHTS") == all_others
    assert bodies(group, "NOWHERE") == [b"%d" % stuck]


@pytest.mark.rule(
    "igq/agent", "A nonpersistent message is not backed out with persistent ones, and waits for none after it."
)
def test_nor_does_it_where_a_mover_serves_the_queue(pair: TestGroup) -> None:
    send(pair, b"1", persistence=0)
    send(pair, b"2")
    send(pair, b"3", "NOWHERE")
    send(pair, b"4", persistence=0)
    depths: list[int] = []
    run_mover(pair, Pauses(lambda: depths.append(len(on_queue(pair, "IN", "@QM2"))), 3))
    assert depths == [1, 1]
    assert [body[-1:] for body, _ in on_queue(pair, "QM2", "@QM1")] == [b"2", b"3", b"4"]


@pytest.mark.rule("igq/agent", "A delivery in front of the message in trouble neither ends nor delays the retries.")
def test_a_mover_goes_through_its_retries_despite_deliveries_in_front(pair: TestGroup) -> None:
    send(pair, b"stuck", "NOWHERE")
    pauses = Pauses(lambda: urgent(pair))
    assert run_mover(pair, pauses) == ["CSQX599E"] * PAUSES
    assert pauses.seconds == SCHEDULE
    assert bodies(pair, "IN") == [b"urgent"] * (PAUSES - 1)


@pytest.mark.rule("igq/agent", "A delivery in front of the message in trouble neither ends nor delays the retries.")
def test_an_agent_goes_through_its_retries_despite_deliveries_in_front(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("FLIGHTS")
    group.define("QM2", QueueAlias(name="TO", target="FLIGHTS"))
    disconnect(agent.connection)
    put("NOWHERE", b"stuck")
    said: list[str] = []
    pauses = Pauses(lambda: put("TO", b"urgent", priority=9, persistence=0))
    post = Post(group.group, group.process("QM2"), lambda id_, _: said.append(id_), lambda _: None, Pulse(), pauses)
    pauses.service = PartService(post, own_part("QM2"), agent_tag("QM2"))

    pauses.service.run()

    assert (pauses.seconds, said) == (SCHEDULE, ["CSQM065E"] * PAUSES)
    assert bodies(group, "FLIGHTS") == [b"urgent"] * (PAUSES - 1)


@pytest.mark.rule("igq/agent", "A delivery in front of the message in trouble neither ends nor delays the retries.")
def test_the_state_of_retry_is_entered_despite_messages_arriving_in_front(
    pair: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(pair, b"stuck", "NOWHERE")
    urgent(pair)
    pauses = Pauses(lambda: None, 1)
    sent, count = 0, Service._count

    def one_more(service: Service, delivered: int) -> None:
        nonlocal sent
        sent += 1
        assert sent <= 10 * BATCH_MESSAGES
        urgent(pair)
        count(service, delivered)

    monkeypatch.setattr(Service, "_count", one_more)
    assert run_mover(pair, pauses) == ["CSQX599E"]
    assert sent <= BATCH_MESSAGES


@pytest.mark.rule("igq/agent", "A try that an operator asks a mover for is one of its retries.")
@pytest.mark.parametrize(
    ("why", "pause_s"), [(BY_OPERATOR, LONG_RETRY_INTERVAL_S), (IN_PASSING, SHORT_RETRY_INTERVAL_S)]
)
def test_a_try_that_an_operator_asks_a_mover_for_is_one_of_its_retries(
    pair: TestGroup, why: bytes, pause_s: float
) -> None:
    send(pair, b"stuck", "NOWHERE")
    pauses = Pauses(lambda: None, why=why)
    run_mover(pair, pauses)
    assert pauses.seconds[SHORT_RETRY_COUNT:] == [pause_s] * (PAUSES - SHORT_RETRY_COUNT)


@pytest.mark.parametrize("persistence", [1, 0])
def test_losses_with_a_failed_structure_are_reported(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, persistence: int
) -> None:
    """Such a batch has ended, so no part of it can be delivered separately."""
    group.define_shared("POOL")
    group.define_private("QM2", "OWN")
    group.define("QM2", QueueAlias(name="TO.POOL", target="POOL"))
    group.define("QM2", QueueAlias(name="TO.OWN", target="OWN"))
    backup(group.group, "APPL1")
    put("TO.POOL", b"lost")
    put("TO.OWN", b"kept", persistence=persistence)

    def lose_and_commit(connection: Connection) -> None:
        monkeypatch.undo()
        lose(group)
        commit(connection)

    monkeypatch.setattr("igq.agent.delivery.put_delivery.commit", lose_and_commit)
    with pytest.raises(Trouble, match=MQRC.OUTCOME_MIXED.name):
        agent.deliver()


def test_the_persistence_of_what_is_in_a_programs_header_counts(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("FLIGHTS")
    group.define("QM2", QueueAlias(name="TO", target="FLIGHTS"))
    put("TO", b"first", persistence=0)
    header = MQXQH(remote_q_name=b"NOWHERE", remote_q_mgr_name=b"QM2", msg_desc=MQMD(persistence=1, priority=0))
    outer = MQMD(persistence=0, priority=0)
    group.connect("QM2").put1(SYSTEM_QSG_TRANSMIT_QUEUE, wire.pack_xqh(header) + b"stuck", outer)

    with pytest.raises(Trouble, match="NOWHERE"):
        agent.deliver()

    assert bodies(group, "FLIGHTS") == [b"first"]


@pytest.mark.rule("igq/agent", "Splitting persistent and nonpersistent messages loses, doubles and reorders nothing.")
@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_lost_doubled_or_overtaken_by_arrivals(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    group.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    group.define_shared("POOL")
    group.define_private("QM2", "OWN")
    ways = {"A.POOL": "POOL", "A.OWN": "OWN", "OWN": "OWN", "LATE": "LATE"}
    for alias in ("A.POOL", "A.OWN"):
        group.define("QM2", QueueAlias(name=alias, target=ways[alias]))
    sent: dict[int, tuple[str, int]] = {}

    def send_one() -> None:
        number, way, priority = len(sent), chance.choice(list(ways)), chance.choice([0, 0, 5, 9])
        persistence = int(way == "LATE" or chance.random() < 0.5)
        put(way, b"%d" % number, priority=priority, persistence=persistence, expiry=chance.choice([-1, -1, 6000]))
        sent[number] = way, priority

    take = agent.queue.take

    def send_and_take(count: int = BATCH_MESSAGES) -> Any:
        if count != BATCH_MESSAGES and chance.random() < 0.5 and len(sent) < 200:
            send_one()
        return take(count)

    monkeypatch.setattr(agent.queue, "take", send_and_take)
    for _ in range(chance.randrange(20, 70)):
        send_one()
    for _ in range(5):
        with pytest.raises(Trouble, match="LATE"):
            deque(iter(agent.deliver, -1), maxlen=0)
        send_one()

    group.define_private("QM2", "LATE")
    while agent.move().left:
        agent.deliver()

    got = {queue: drain(group.connect("QM2"), queue) for queue in ("POOL", "OWN", "LATE")}
    assert sorted(int(message.body) for messages in got.values() for message in messages) == sorted(sent)
    assert {message.md.backout_count for messages in got.values() for message in messages} == {0}
    for messages in got.values():
        for kind in set(sent.values()):
            numbers = [int(message.body) for message in messages if sent[int(message.body)] == kind]
            assert numbers == sorted(numbers)
