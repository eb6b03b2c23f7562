"""A put for another manager does the hop itself if the agent waits, and a get at the destination."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from recovery.resolution import recover
from recovery.target import Target
from sharedq import Queue
from sharedq.calls.unit.commit import commit
from sharedq.messages.record import record_body
from sharedq.mqi.constants import GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.authorities import Authorities
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.scripts.get import handed_reply
from tests.recovery.scene import register_wait
from tests.support.agents import AgentOfQM2, Put, bodies, moved_by_puts
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored, until
from tests.support.status import read_status

pytestmark = pytest.mark.share


def define(group: TestGroup, put: Put, agent: AgentOfQM2, name: str = "NEAR", **attributes: object) -> None:
    """A queue of QM2 that its agent has delivered to. The agent waits."""
    group.define_private("QM2", name, **attributes)
    put(name, b"first")
    agent.move()
    assert bodies(group, name) == [b"first"]
    assert agent.queue.move().is_waiting


def assert_left_to_agent(group: TestGroup, put: Put) -> None:
    """A message for NEAR is stored on the agent's queue."""
    put("NEAR", b"hello")
    assert moved_by_puts(group.group, "QM2") == 0
    assert on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2") == [(b"hello", 0)]


def getter_of(group: TestGroup, name: str = "NEAR") -> Queue:
    return group.connect("QM2").open(name, OpenOption.INPUT_SHARED)


def state_of(group: TestGroup, token: str) -> bytes:
    found: Any = group.group.client().hget(group.group.structure("@QM2").owners, token)
    return bytes(found)


def events(group: TestGroup) -> list[tuple[str, str, str]]:
    """The events of the journal, the latest last: event, owner, ids."""
    entries: Any = group.group.client().xrange(group.group.structure("@QM2").journal)
    return [(each[b"e"].decode(), each[b"o"].decode(), each[b"i"].decode()) for _, each in entries]


@pytest.mark.rule("igq/agent", "A put does the hop itself if the agent waits, and a getter at the destination.")
def test_the_getter_has_it_and_the_agent_sleeps_on(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    getter, client = getter_of(group), group.group.client()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(getter.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: state_of(group, getter.connection.token)[:1] == b"W", "it waits")
        sent = put("NEAR", b"hello", priority=7)
        message = found.result(20)

    assert (message.body, message.md.msg_id, message.md.priority) == (b"hello", sent.msg_id, 7)
    assert (message.md.persistence, message.md.backout_count, stored(group, "@QM2")) == (1, 0, 0)
    token = agent.connection.token
    assert state_of(group, token)[:1] == b"W"
    assert client.exists(group.group.structure("@QM2").wake + token) == 0
    *_, put_event, transfer_event, get_event = events(group)
    assert (transfer_event[:2], get_event[:2]) == (("transfer", token), ("get", getter.connection.token))
    assert put_event[2] == transfer_event[2] == get_event[2]


def test_the_agent_counts_it_when_it_looks_next(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    for getter in (getter_of(group), getter_of(group)):
        register_wait(getter, b"A!")
        put("NEAR", b"hello")
        assert state_of(group, getter.connection.token) == b"HNEAR"
    assert moved_by_puts(group.group, "QM2") == 2
    agents = {manager.name: manager.agent for manager in read_status(group.settings).managers}
    assert agents["QM2"].delivered == 2

    put("NEAR", b"for the agent")
    moved, _ = agent.queue.wait_and_move()

    assert (moved.count, moved_by_puts(group.group, "QM2")) == (3, 0)
    assert bodies(group, "NEAR") == [b"for the agent"]


def test_an_agent_that_finds_nothing_else_counts_it(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    register_wait(getter_of(group), b"A!")
    put("NEAR", b"hello")
    moved = agent.queue.move()
    assert (moved.count, moved.is_waiting, agent.queue.move().count) == (1, True, 0)


@pytest.mark.parametrize(("qmgr", "expected"), [("QM2", (1, 1, 1)), ("QM1", (0, 0, 0))], ids=["its", "the putter's"])
def test_its_queue_counts_it_if_its_manager_asks_for_that(
    group: TestGroup, agent: AgentOfQM2, put: Put, qmgr: str, expected: tuple[int, int, int]
) -> None:
    repository = group.repository("QM2")
    repository.alter_qmgr(qmgr, {"performance_event": "ENABLED"})
    define(group, put, agent)
    queues = repository.display_queues("NEAR", ("QLOCAL",))
    repository.reset_counts(queues)
    register_wait(getter_of(group), b"A!")
    put("NEAR", b"hello")
    assert moved_by_puts(group.group, "QM2") == 1
    (counts,) = repository.reset_counts(queues).values()
    assert (counts.highest_depth, counts.puts, counts.gets) == expected


@dataclass
class Scene:
    """A get waits at NEAR, and the agent on its queue."""

    group: TestGroup
    agent: AgentOfQM2
    put: Put

    def put_hello(self, **fields: object) -> None:
        self.put("NEAR", b"hello", **fields)

    def alter(self, name: str, **changes: object) -> None:
        self.group.repository("QM2").alter("QLOCAL", name, changes)

    def put_in_unit(self) -> None:
        queue = self.group.connect("QM1").open("NEAR", OpenOption.OUTPUT, qmgr_name="QM2")
        queue.put(b"hello", MQMD(persistence=1), options=PutOption.SYNCPOINT)
        commit(queue.connection)

    def check_authorities(self) -> None:
        Authorities(self.group.group).change("NEAR", "SOMEBODY", add=["PUT"])

    def stop_the_agent(self) -> None:
        self.agent.connection.notice_quiescing()
        self.agent.queue.wait_and_move()


#: The step before the put, and the special fields of the message.
NOT_SO: dict[str, tuple[Callable[[Scene], object], dict[str, object]]] = {
    "a CorrelId": (lambda _: None, {"correl_id": b"c" * 24}),
    "an expiry": (lambda _: None, {"expiry": 6000}),
    "the queue was altered": (lambda s: s.alter("NEAR", def_priority=3), {}),
    "the queue has another length": (lambda s: s.alter("NEAR", max_msg_length=1000), {}),
    "the transmission queue was altered": (lambda s: s.alter(SYSTEM_QSG_TRANSMIT_QUEUE, description="new"), {}),
    "authorities are checked": (Scene.check_authorities, {}),
    "another get waits, too": (lambda s: register_wait(getter_of(s.group), b"C" + b"c" * 24), {}),
    "the agent was woken": (lambda s: s.put("ELSEWHERE", b"wakes it"), {}),
    "the agent has stopped": (Scene.stop_the_agent, {}),
    "it is not the only message": (Scene.put_in_unit, {}),
}


@pytest.mark.rule("igq/agent", "A put leaves to the agent every message that needs a closer look.")
@pytest.mark.parametrize("case", NOT_SO)
def test_messages_that_need_a_look_wait_for_the_agent(group: TestGroup, agent: AgentOfQM2, put: Put, case: str) -> None:
    define(group, put, agent)
    getter, scene = getter_of(group), Scene(group, agent, put)
    register_wait(getter, b"A!")
    before, fields = NOT_SO[case]

    before(scene)
    scene.put_hello(**fields)

    assert state_of(group, getter.connection.token)[:1] in (b"W", b"K")
    assert moved_by_puts(group.group, "QM2") == 0
    assert on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")[-1] == (b"hello", 0)


def test_a_long_message_waits_for_the_agent(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    register_wait(getter_of(group), b"A!")
    put("NEAR", b"hello" * 4000)
    assert len(on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")) == 1


@pytest.mark.parametrize("field", ["gm", "pu", "lk", "mk", "al", "lg", "code"])
def test_a_message_that_a_get_must_examine_is_left_to_the_agent(
    group: TestGroup, agent: AgentOfQM2, put: Put, field: str
) -> None:
    define(group, put, agent)
    register_wait(getter_of(group), b"A!")
    group.group.client().hset(group.group.structure("@QM2").queue("NEAR").queue, field, "99")
    assert_left_to_agent(group, put)


@pytest.mark.parametrize("field", ["gm", "mk", "al"])
def test_so_is_what_the_agent_would_have_to_look_at(group: TestGroup, agent: AgentOfQM2, put: Put, field: str) -> None:
    define(group, put, agent)
    register_wait(getter_of(group), b"A!")
    group.group.client().hset(group.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue, field, "99")
    assert_left_to_agent(group, put)


@pytest.mark.parametrize("attributes", [{"max_msg_length": 1000}, {"max_depth": 0}])
def test_the_agent_says_nothing_of_a_queue_that_may_refuse_a_message(
    group: TestGroup, agent: AgentOfQM2, put: Put, attributes: dict[str, object]
) -> None:
    define(group, put, agent)
    group.repository("QM2").alter("QLOCAL", "NEAR", attributes)
    put("NEAR", b"from this one on the agent knows it", priority=9)
    agent.move()
    group.group.client().delete(group.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE).available)
    bodies(group, "NEAR")
    assert agent.queue.move().is_waiting
    register_wait(getter_of(group), b"A!")
    assert_left_to_agent(group, put)


def test_the_agent_looks_at_priorities_if_its_queue_orders_by_time(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"msg_delivery_sequence": "FIFO"})
    agent.queue.reload()
    define(group, put, agent)
    register_wait(getter_of(group), b"A!")
    assert_left_to_agent(group, put)


def test_the_agent_learns_of_an_alter_before_the_get(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    group.repository("QM2").alter("QLOCAL", "NEAR", {"msg_delivery_sequence": "FIFO"})
    register_wait(getter_of(group), b"A!")
    assert_left_to_agent(group, put)


def test_an_alter_of_the_transmit_queue_counts_before_the_agent_wakes(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(group, put, agent)
    register_wait(getter_of(group), b"A!")
    with monkeypatch.context() as cut_off:
        cut_off.setattr(LocalQueues, "wake_waiters", lambda *_: None)
        group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
    assert_left_to_agent(group, put)


def test_earlier_messages_at_the_destination_are_got_first(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """A get was woken for that message, and has not looked yet."""
    define(group, put, agent)
    woken, getter = getter_of(group), getter_of(group)
    register_wait(woken, b"C" + b"c" * 24)
    register_wait(getter, b"A!")
    put("NEAR", b"before", correl_id=b"c" * 24)
    while not agent.queue.move().is_waiting:
        pass
    name, _, woken_by = state_of(group, woken.connection.token).partition(b"\n")
    assert name == b"KNEAR"
    assert group.group.client().zrange(group.group.structure("@QM2").queue("NEAR").available, 0, -1) == [woken_by]
    assert_left_to_agent(group, put)


@pytest.mark.parametrize("waiter", [b"A", b"B", b"C" + b"c" * 24])
def test_a_get_that_takes_its_message_itself_is_left_to_the_agent(
    group: TestGroup, agent: AgentOfQM2, put: Put, waiter: bytes
) -> None:
    define(group, put, agent)
    getter = getter_of(group)
    client, keys = group.group.client(), group.group.structure("@QM2")
    register_wait(getter, b"A!")
    token = getter.connection.token.encode()
    client.zrem(keys.queue("NEAR").waiters, b"A!" + token)
    client.zadd(keys.queue("NEAR").waiters, {waiter + token: 0})

    put("NEAR", b"hello")

    assert client.zrange(keys.queue("NEAR").waiters, 0, -1) == [waiter + token]
    assert len(on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")) == 1


@pytest.mark.parametrize("sequence", ["PRIORITY", "FIFO"])
def test_a_message_that_its_getter_never_took_returns_to_its_place(
    group: TestGroup, agent: AgentOfQM2, put: Put, sequence: str
) -> None:
    """The getter died before it blocked. Meanwhile other messages came the usual way."""
    define(group, put, agent, msg_delivery_sequence=sequence, def_priority=3)
    getter = getter_of(group)
    register_wait(getter, b"A!")
    put("NEAR", b"1", priority=0)
    for number, priority in ((2, 5), (3, 9)):
        put("NEAR", b"%d" % number, priority=priority)
    agent.move()
    getter.connection.break_off()

    target = Target.parse(getter.connection.token)
    assert recover(group.group, group.connect("QM1").connection, target, force=True).is_resolved

    expected = [b"3", b"2", b"1"] if sequence == "PRIORITY" else [b"1", b"3", b"2"]
    assert on_queue(group, "NEAR", "@QM2") == [(body, 0) for body in expected]
    assert [event for event, _, _ in events(group)].count("return") == 1


def test_it_is_found_by_its_msg_id_when_it_is_back(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    getter = getter_of(group)
    register_wait(getter, b"A!")
    sent = put("NEAR", b"hello")
    getter.connection.break_off()
    recover(group.group, group.connect("QM1").connection, Target.parse(getter.connection.token), force=True)

    found = getter_of(group).get(match=MQMD(msg_id=sent.msg_id), match_options=MatchOption.MATCH_MSG_ID)
    assert found.body == b"hello"


def test_an_agent_that_was_recovered_speaks_for_no_other_one(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """The notes of the dead agent are still there. Another one waits, and knows no destination yet."""
    define(group, put, agent)
    agent.connection.break_off()
    recover(group.group, group.connect("QM1").connection, Target.parse(agent.connection.token), force=True)
    register_wait(getter_of(group), b"A!")
    put("NEAR", b"1")
    assert len(on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")) == 1
    other = AgentOfQM2(group)
    assert other.deliver() == 0
    assert other.queue.move().is_waiting


@pytest.mark.rule("igq/agent", "A hop in the put has the same result as a hop by the agent.")
@pytest.mark.parametrize("seed", range(8))
def test_it_ends_as_it_does_by_the_agent(
    group: TestGroup, agent: AgentOfQM2, put: Put, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The same calls twice: as they are, and with an agent that does not note where it moves messages."""
    found, by_puts = {}, 0
    for way in ("BY.PUT", "BY.AGENT"):
        chance = random.Random(seed)
        sequence, priority = chance.choice(["PRIORITY", "FIFO"]), chance.randrange(10)
        queues = {}
        for number in range(3):
            define(group, put, agent, f"{way}.{number}", msg_delivery_sequence=sequence, def_priority=priority)
            queues[number] = Getter(group, f"{way}.{number}")
        if way == "BY.AGENT":
            monkeypatch.setattr(agent.queue.destinations, "moves", lambda _: "")
            assert agent.queue.move().is_waiting
        told: list[tuple[int, bytes, int]] = []
        for step in range(80):
            number = chance.randrange(3)
            if chance.random() < 0.5:
                put(f"{way}.{number}", b"%d" % step, priority=chance.randrange(10))
                by_puts += moved_by_puts(group.group, "QM2")
                while not agent.queue.move().is_waiting:
                    pass
                told += [(number, *got) for got in queues[number].woken()]
            else:
                told += [(number, *got) for got in queues[number].get_or_wait()]
        found[way] = told, [on_queue(group, f"{way}.{number}", "@QM2") for number in range(3)]

    assert found["BY.PUT"] == found["BY.AGENT"]
    assert by_puts


class Getter:
    """Gets from a queue of QM2, and waits without blocking if it is empty."""

    def __init__(self, group: TestGroup, name: str) -> None:
        self._queue = getter_of(group, name)
        self._is_waiting = False

    def get_or_wait(self) -> list[tuple[bytes, int]]:
        """Body and priority of the next message; nothing if it waits now."""
        if self._is_waiting:
            return []
        try:
            message = self._queue.get()
        except NoMsgAvailable:
            register_wait(self._queue, b"A!")
            self._is_waiting = True
            return []
        return [(message.body, message.md.priority)]

    def woken(self) -> list[tuple[bytes, int]]:
        """The message that it was handed, or gets because it was woken."""
        connection = self._queue.connection
        wake_key = self._queue.handle.structure.keys.wake + connection.token
        if not self._is_waiting or not connection.command(wake_key, "LLEN", wake_key):
            return []
        self._is_waiting = False
        reply = handed_reply(connection.block(wake_key, 1.0) or b"")
        if reply is None:
            return self.get_or_wait()
        record = reply[3][0]
        return [(record_body(record), record[1])]
