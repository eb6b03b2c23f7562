"""A put for another manager whose queue is in another structure makes the hop itself while the agent waits."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from igq.agent.transmit_queue import TransmitQueue
from sharedq import Queue, putting
from sharedq.api import QueueManagerConnection
from sharedq.arrival import Arrival
from sharedq.connection import Connection
from sharedq.deployment import Deployment
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD, MQPMO
from sharedq.objects.authorities import Authorities
from sharedq.objects.definitions import QueueAlias, QueueRemote
from sharedq.objects.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.record import record_destination
from tests.recovery.scene import register_wait
from tests.support.agents import AgentOfQM2, bodies
from tests.support.backups import lose
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until


@dataclass
class Scene:
    """QM2's agent waits, and a handle of QM1 to FAR, a shared queue, that one message has gone through.

    Attributes:
        sender: that program's connection.
    """

    group: TestGroup
    agent: AgentOfQM2
    sender: QueueManagerConnection
    far: Queue

    def put(self, body: bytes = b"hello", options: int = 0, **fields: Any) -> MQMD:
        md = MQMD(**({"persistence": 1, "priority": 5} | fields))
        self.far.put(body, md, options=options)
        return md

    def serve(self) -> None:
        """Deliver what is on the agent's queue, and wait again."""
        while not self.agent.queue.move().is_waiting:
            messages = self.agent.queue.take()
            if not messages:
                continue
            if self.agent.carrier.carry(messages, self.agent.queue.unchecked_version or ""):
                self.agent.queue.commit()
            else:
                self.agent.deliverer.deliver(messages)

    def getter(self) -> Queue:
        return self.group.connect("QM2").open("FAR", OpenOption.INPUT_SHARED)

    def on_far(self) -> list[bytes]:
        return [body for body, _ in on_queue(self.group, "FAR")]

    def on_transmit_queue(self) -> list[bytes]:
        return [body for body, _ in on_queue(self.group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2")]

    def asks_again(self) -> None:
        """Let no pause keep the next message from asking."""
        assert self.far.handle.short_way is not None
        self.far.handle.short_way.asks_at_s = 0.0


@pytest.fixture
def scene(group: TestGroup, agent: AgentOfQM2) -> Scene:
    group.define_structure()
    group.define_shared("FAR")
    sender = group.connect("QM1")
    scene = Scene(group, agent, sender, sender.open("FAR", OpenOption.OUTPUT, qmgr_name="QM2"))
    scene.put(b"first")
    scene.serve()
    assert bodies(group, "FAR") == [b"first"]
    return scene


@pytest.fixture
def warm(scene: Scene) -> Scene:
    """The handle's last message has gone the short way."""
    scene.put(b"second")
    assert bodies(scene.group, "FAR") == [b"second"]
    scene.asks_again()
    return scene


def state_of(group: TestGroup, structure: str, token: str) -> bytes:
    found: Any = group.group.client().hget(group.group.structure(structure).owners, token)
    return bytes(found)


def test_the_getter_has_it_and_the_agent_sleeps_on(scene: Scene) -> None:
    group, getter = scene.group, scene.getter()
    for _ in range(2):
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(getter.get, GetOption.WAIT, wait_ms=60_000)
            until(lambda: state_of(group, "APPL1", getter.connection.token)[:1] == b"W", "it waits")
            sent = scene.put(priority=7)
            message = found.result(20)
        md = message.md
        assert (message.body, md.msg_id, md.priority, md.persistence) == (b"hello", sent.msg_id, 7, 1)
        assert (md.put_appl_name, md.user_identifier) == (sent.put_appl_name, sent.user_identifier)
        assert len(md.put_date) == 8
        assert (md.backout_count, scene.on_transmit_queue()) == (0, [])
        assert state_of(group, "@QM2", scene.agent.connection.token)[:1] == b"W"
        # Somebody waited, so the next one asks at once.
        assert scene.far.handle.short_way is not None
        assert scene.far.handle.short_way.asks_at_s == 0.0


def test_nobody_waits_there_so_the_agent_moves_what_follows(scene: Scene) -> None:
    scene.put(b"1")
    assert (scene.on_far(), scene.on_transmit_queue()) == ([b"1"], [])
    assert scene.far.handle.short_way is not None
    assert scene.far.handle.short_way.asks_at_s
    scene.far.handle.short_way.asks_at_s = time.monotonic() + 60
    scene.put(b"2")
    assert (scene.on_far(), scene.on_transmit_queue()) == ([b"1"], [b"2"])


def test_in_a_cluster_it_does_not_depend_on_the_server_of_its_destination(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = scene.sender.open("FAR", OpenOption.OUTPUT, qmgr_name="QM2")
    monkeypatch.setattr(Deployment, "is_cluster", True)
    far.put(b"1")
    monkeypatch.undo()
    scene.serve()
    far.put(b"2")
    assert (scene.on_far(), scene.on_transmit_queue()) == ([b"1"], [b"2"])


def test_what_it_puts_is_stored_as_what_is_put_there_directly(warm: Scene) -> None:
    """Also for a mover, should it become a transmission queue: nothing tells where it was to go."""
    warm.put()
    warm.group.connect("QM1").put1("FAR", b"hello", MQMD(persistence=1, priority=5))
    stored: Any = warm.group.group.client().hvals(warm.group.group.structure("APPL1").messages)
    assert [record_destination(record) for record in stored] == [b"", b""]
    assert len({len(record) for record in stored}) == 1


def test_a_definition_that_nobody_can_read_is_left_to_the_agent(scene: Scene) -> None:
    client, queue = scene.group.group.client(), scene.group.group.structure("APPL1").queue("FAR").queue
    client.hset(queue, "def", "{}")
    scene.put()
    assert scene.on_transmit_queue() == [b"hello"]


def test_it_says_where_it_was_sent_to(warm: Scene) -> None:
    pmo = MQPMO()
    putting.put(warm.far.connection, warm.far.handle, MQMD(persistence=1), pmo, b"hello")
    assert (pmo.resolved_q_name, pmo.resolved_q_mgr_name) == (b"FAR", b"QM2")
    assert warm.on_far() == [b"hello"]


def test_it_is_found_by_its_msg_id(warm: Scene) -> None:
    warm.put(b"another")
    warm.asks_again()
    sent = warm.put()
    found = warm.getter().get(match=MQMD(msg_id=sent.msg_id), match_options=MatchOption.MATCH_MSG_ID)
    assert found.body == b"hello"


def alter(scene: Scene, name: str, **changes: Any) -> None:
    scene.group.repository("QM2").alter("QLOCAL", name, changes)


def stop_the_agent(scene: Scene) -> None:
    scene.agent.connection.notice_quiescing()
    scene.agent.queue.wait_and_move()


def put_elsewhere(scene: Scene) -> None:
    """Another program's message, which wakes the agent."""
    scene.group.define_private("QM2", "NEAR")
    scene.group.connect("QM1").put1("NEAR", b"wakes it", MQMD(persistence=1), qmgr_name="QM2")


def take_a_batch(scene: Scene) -> None:
    """The agent has a message in its hands, which comes before."""
    put_elsewhere(scene)
    assert scene.agent.queue.take()


def wait_without_saying_so(scene: Scene) -> None:
    key = scene.group.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
    scene.group.group.client().hdel(key, "mv")


def redefine_as_private(scene: Scene) -> None:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    scene.group.define_private("QM2", "FAR")


def fill(scene: Scene) -> None:
    alter(scene, "FAR", max_depth=1)
    scene.group.connect().put1("FAR", b"full")


def replace_the_agent(scene: Scene) -> None:
    """A program waits in its place, for certain messages."""
    stop_the_agent(scene)
    other = scene.group.connect("QM2").open(SYSTEM_QSG_TRANSMIT_QUEUE, OpenOption.INPUT_SHARED)
    register_wait(other, b"C" + b"c" * 24)


def redefine_elsewhere(scene: Scene) -> None:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    scene.group.define_structure("APPL2")
    scene.group.define_shared("FAR", "APPL2")


def redefine_as_alias(scene: Scene) -> None:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    scene.group.define("QM2", QueueAlias(name="FAR", target="NEAR"))


#: What happens before the message is put, and what is special about it.
NOT_SO: dict[str, tuple[Callable[[Scene], object], dict[str, Any]]] = {
    "a CorrelId": (lambda _: None, {"correl_id": b"c" * 24}),
    "a MsgId": (lambda _: None, {"msg_id": b"m" * 24}),
    "an expiry": (lambda _: None, {"expiry": 6000}),
    "long": (lambda _: None, {"body": b"hello" * 4000}),
    "in a unit of work": (lambda _: None, {"options": int(PutOption.SYNCPOINT)}),
    "authorities are checked": (lambda s: Authorities(s.group.group).change("FAR", "SOMEBODY", add=["PUT"]), {}),
    "the agent was woken": (put_elsewhere, {}),
    "the agent is at work": (take_a_batch, {}),
    "the agent has stopped": (stop_the_agent, {}),
    "somebody else waits": (replace_the_agent, {}),
    "the agent says nothing": (wait_without_saying_so, {}),
    "the queue was altered": (lambda s: alter(s, "FAR", def_priority=3), {}),
    "the queue is full": (fill, {}),
    "the queue is inhibited": (lambda s: alter(s, "FAR", put="DISABLED"), {}),
    "the queue is private now": (redefine_as_private, {}),
    "the queue is in another structure now": (redefine_elsewhere, {}),
    "the name is that of an alias now": (redefine_as_alias, {}),
    "the queue is gone": (lambda s: s.group.repository("QM2").delete("QLOCAL", "FAR"), {}),
}


@pytest.mark.parametrize("case", NOT_SO)
def test_whatever_must_be_looked_at_is_left_to_the_agent(warm: Scene, case: str) -> None:
    before, fields = NOT_SO[case]
    before(warm)
    warm.put(**fields)
    if "options" in fields:
        warm.far.connection.commit()
    assert fields.get("body", b"hello") in warm.on_transmit_queue()
    assert b"hello" not in warm.on_far()


def test_a_queue_that_takes_less_than_the_transmission_queue_is_left_to_the_agent(scene: Scene) -> None:
    alter(scene, "FAR", max_msg_length=100)
    scene.put(b"x" * 101)
    assert (len(scene.on_transmit_queue()), scene.on_far()) == (1, [])
    scene.serve()
    scene.asks_again()
    scene.put(b"x" * 100)
    assert scene.on_far() == [b"x" * 100]


@pytest.mark.parametrize("changes", [{"put": "DISABLED"}, {"usage": "XMITQ"}])
def test_a_queue_that_takes_nothing_is_not_asked_for(scene: Scene, changes: dict[str, Any]) -> None:
    alter(scene, "FAR", **changes)
    scene.put()
    assert scene.on_transmit_queue() == [b"hello"]
    assert scene.far.handle.short_way is not None
    assert scene.far.handle.short_way.arrival is None


def test_a_private_queue_of_the_agents_own_structure_is_moved_to_in_the_put(scene: Scene) -> None:
    """That is another way (structure/put_plain): no call is made to find out where the queue is but the first."""
    group = scene.group
    group.define_private("QM2", "NEAR")
    near = group.connect("QM1").open("NEAR", OpenOption.OUTPUT, qmgr_name="QM2")
    for number in range(3):
        near.put(b"%d" % number, MQMD(persistence=1))
    assert near.handle.short_way is not None
    assert near.handle.short_way.arrival is None
    assert near.handle.short_way.asks_at_s > time.monotonic() + 1
    assert len(scene.on_transmit_queue()) == 3


@pytest.mark.parametrize("sequence", ["PRIORITY", "FIFO"])
def test_it_is_placed_as_the_agent_would_place_it(scene: Scene, sequence: str) -> None:
    alter(scene, "FAR", msg_delivery_sequence=sequence, def_priority=3)
    for number, priority in enumerate((0, 9, 5, 9)):
        scene.put(b"%d" % number, priority=priority)
        scene.asks_again()
    assert (scene.on_transmit_queue(), scene.far.handle.short_way is not None) == ([], True)
    expected = [b"1", b"3", b"2", b"0"] if sequence == "PRIORITY" else [b"0", b"1", b"2", b"3"]
    assert scene.on_far() == expected


# -- what happens between its two scripts --------------------------------------------------------------------


def between(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> list[int]:
    """Let something happen between the two scripts of the next message; the list tells how often it did."""
    made, original = list[int](), Arrival.base

    def noticed(arrival: Arrival, record: bytes) -> int:
        if not made:
            made.append(1)
            happens()
        return original(arrival, record)

    monkeypatch.setattr(Arrival, "base", noticed)
    return made


#: What is altered, and where the message is then: nobody's, or on one of the queues.
ALTERED: dict[str, tuple[Callable[[Scene], object], str]] = {
    "the queue": (lambda s: alter(s, "FAR", def_priority=3), "transmit"),
    "authorities": (lambda s: Authorities(s.group.group).change("FAR", "SOMEBODY", add=["PUT"]), "transmit"),
    "puts to it": (lambda s: alter(s, "FAR", put="DISABLED"), "transmit"),
    "the queue is gone": (lambda s: s.group.repository("QM2").delete("QLOCAL", "FAR"), "transmit"),
    "IGQ": (lambda s: s.group.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"}), "refused"),
    "the transmission queue": (lambda s: alter(s, SYSTEM_QSG_TRANSMIT_QUEUE, description="new"), "refused"),
}


@pytest.mark.parametrize("case", ALTERED)
def test_an_alter_between_its_scripts_counts(warm: Scene, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """The script that would have stored it decides (seed: invalidation of object handles)."""
    alters, where = ALTERED[case]
    made = between(monkeypatch, lambda: alters(warm))
    if where == "refused":
        with pytest.raises(MQIError) as caught:
            warm.put()
        assert caught.value.reason == MQRC.OBJECT_CHANGED
    else:
        warm.put()
    assert made
    way = warm.far.handle.short_way
    assert way is not None
    assert way.arrival is None
    assert way.asks_at_s
    assert warm.on_transmit_queue() == ([b"hello"] if where == "transmit" else [])
    assert warm.on_far() == []


#: What tells every structure, one by one.
TOLD: dict[str, Callable[[Scene], object]] = {
    "authorities": lambda s: Authorities(s.group.group).change("FAR", "SOMEBODY", add=["PUT"]),
    "IGQ": lambda s: s.group.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"}),
    "its definition": lambda s: s.group.repository("QM1").alter("QREMOTE", "REMOTE", {"def_priority": 7}),
}


@pytest.mark.parametrize("case", TOLD)
def test_a_command_that_has_told_one_of_the_two_structures(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """It tells the destination's, the put looks, it tells the agent's and returns: nothing goes there behind that."""
    scene.group.define("QM1", QueueRemote(name="REMOTE", remote_queue="FAR", remote_qmgr="QM2"))
    remote = scene.sender.open("REMOTE", OpenOption.OUTPUT)
    remote.put(b"first")
    scene.serve()
    bodies(scene.group, "FAR")
    group, held = scene.group.group, list[tuple[Any, ...]]()
    call: Any = type(group).call

    def slow(self: Any, name: str, keys: Sequence[str], args: Any) -> Any:
        if name == "structure/set_versions" and keys[0] != group.structure("APPL1").versions:
            held.append((name, keys, args))
            return 1
        return call(self, name, keys, args)

    with monkeypatch.context() as halfway:
        halfway.setattr(type(group), "call", slow)
        TOLD[case](scene)
    assert held
    between(monkeypatch, lambda: [group.call(*each) for each in held])
    remote.put(b"hello")
    assert (scene.on_far(), scene.on_transmit_queue()) == ([], [b"hello"])


@pytest.mark.parametrize("has_arrival", [False, True])
def test_an_alter_before_its_destination_is_looked_for_counts(scene: Scene, has_arrival: bool) -> None:
    """The look teaches the handle nothing: what the message was made by must be in force."""
    group = scene.group
    group.define("QM1", QueueRemote(name="REMOTE", remote_queue="FAR", remote_qmgr="QM2", def_priority=2))
    remote = scene.sender.open("REMOTE", OpenOption.OUTPUT)
    for _ in range(1 + has_arrival):
        remote.put(b"before", MQMD(persistence=1))
        scene.serve()
    bodies(group, "FAR")
    way = remote.handle.short_way
    assert way is not None
    way.asks_at_s, way.arrival = 0.0, None

    group.repository("QM1").alter("QREMOTE", "REMOTE", {"def_priority": 7, "def_persistence": "YES"})
    remote.put(b"hello", MQMD())
    scene.serve()
    md = scene.getter().get().md
    assert (md.priority, md.persistence) == (7, 1)

    way.asks_at_s, way.arrival = 0.0, None
    group.repository("QM1").alter("QREMOTE", "REMOTE", {"put": "DISABLED"})
    with pytest.raises(MQIError) as caught:
        remote.put(b"hello", MQMD())
    assert caught.value.reason == MQRC.PUT_INHIBITED


def test_a_structure_that_was_lost_and_is_used_again(warm: Scene) -> None:
    """Its versions begin anew: what is known of a queue of before must not be taken for one of now."""
    group, known = warm.group, warm.far.handle.short_way
    assert known is not None
    assert known.arrival is not None
    before = known.arrival.handle
    repository = group.repository("QM1")
    found = repository.lookup("FAR")
    assert found is not None
    lose(group)
    with pytest.raises(MQIError):
        warm.sender.open("FAR", OpenOption.INPUT_SHARED)
    repository.define(found.definition.with_changes({"put": "DISABLED"}), replace=True)
    # The first one is told that it has failed since it was entered.
    for _ in range(2):
        with contextlib.suppress(MQIError):
            warm.sender.open("FAR", OpenOption.INPUT_SHARED)
    keys = group.group.structure("APPL1")
    assert group.group.client().hget(keys.queue("FAR").queue, "ver") == before.version.encode()
    for field, value in zip(before.checks[::2], before.checks[1::2], strict=True):
        if value:
            group.group.call("structure/set_versions", [keys.versions], [field, value])
    warm.put()
    assert (warm.on_far(), warm.on_transmit_queue()) == ([], [b"hello"])


def test_a_structure_that_fails_between_its_scripts(warm: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = between(monkeypatch, lambda: lose(warm.group))
    warm.put()
    assert (made, warm.on_transmit_queue()) == ([1], [b"hello"])


def test_a_program_that_dies_between_its_scripts_has_put_nothing(warm: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = between(monkeypatch, warm.far.connection.break_off)
    with pytest.raises(MQIError) as caught:
        warm.put()
    assert (caught.value.reason, made) == (MQRC.CONNECTION_BROKEN, [1])
    assert (warm.on_transmit_queue(), warm.on_far()) == ([], [])


def test_a_program_that_was_fenced_between_its_scripts_has_put_nothing(
    warm: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, client = warm.far.connection.token, warm.group.group.client()

    def fence() -> None:
        client.hdel(warm.group.group.structure("APPL1").owners, token)
        client.hdel(warm.group.group.structure("@QM2").owners, token)

    made = between(monkeypatch, fence)
    with pytest.raises(MQIError) as caught:
        warm.put()
    assert (caught.value.reason, made) == (MQRC.CONNECTION_BROKEN, [1])
    assert (warm.on_transmit_queue(), warm.on_far()) == ([], [])


# -- order ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_nothing_overtakes_whatever_the_agent_does(scene: Scene, seed: int) -> None:
    """Messages of one program, sent in turns by two handles, in and out of units of work, plain and not."""
    chance, sent = random.Random(seed), list[bytes]()
    other = scene.sender.open("FAR", OpenOption.OUTPUT, qmgr_name="QM2")
    getter, ways = scene.getter(), set[bool]()
    got: list[bytes] = []
    for step in range(150):
        body = b"%d" % step
        choice = chance.random()
        queue = chance.choice([scene.far, other])
        if queue.handle.short_way is not None and chance.random() < 0.8:
            queue.handle.short_way.asks_at_s = 0.0
        before = len(scene.on_far())
        if choice < 0.7:
            queue.put(body, MQMD(persistence=1, priority=5))
            ways.add(len(scene.on_far()) > before)
        elif choice < 0.8:
            queue.put(body, MQMD(persistence=1, priority=5, correl_id=b"c" * 24))
        else:
            queue.put(body, MQMD(persistence=1, priority=5), options=PutOption.SYNCPOINT)
            queue.connection.commit()
        sent.append(body)
        if chance.random() < 0.3:
            serve_a_little(scene, chance)
        if chance.random() < 0.2:
            got += drained(getter, chance.randrange(5))
    scene.serve()
    assert got + drained(getter, 1000) == sent
    assert ways == {True, False}


def serve_a_little(scene: Scene, chance: random.Random) -> None:
    """A part of what the agent does, each call as likely as not to be its last for now."""
    queue: TransmitQueue = scene.agent.queue
    if queue.move().is_waiting:
        return
    messages = queue.take(chance.randrange(1, 4))
    if messages and chance.random() < 0.8:
        assert scene.agent.carrier.carry(messages, queue.unchecked_version or "")
        queue.commit()
    elif messages:
        scene.agent.connection.backout()
    if chance.random() < 0.7:
        scene.serve()


def drained(getter: Queue, most: int) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(most):
        try:
            found.append(getter.get(GetOption.NO_SYNCPOINT).body)
        except NoMsgAvailable:
            break
    return found


def test_it_needs_two_calls_and_no_more(warm: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    register_wait(warm.getter(), b"A!")
    made: list[str] = []
    sent: Any = Connection._sent

    def noticed(connection: Connection, call: Any, calls: Sequence[Any]) -> Any:
        made.extend(name for name, _, _ in calls)
        return sent(connection, call, calls)

    monkeypatch.setattr(Connection, "_sent", noticed)
    warm.put()
    assert made == ["structure/put_plain", "structure/put_plain"]
