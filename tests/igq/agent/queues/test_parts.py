"""Parts of SYSTEM.QSG.TRANSMIT.QUEUE in application structures: messages for a shared queue stay in its structure."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from sharedq import Queue
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.api import QueueManagerConnection
from sharedq.calls.unit.commit import backout, commit
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.objects.store.authorities import Authorities
from sharedq.objects.store.parts import Place, own_part, part_in
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from sharedq.reading.plan import find_parts
from sharedq.redis.deployment import Deployment
from tests.support.agents import AgentOfQM2, bodies
from tests.support.backups import lose
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.share

PART = part_in("APPL1", "QM2")


@dataclass
class Scene:
    """QM2's agent has made a part in APPL1, where FAR is, and QM1 sends there."""

    group: TestGroup
    agent: AgentOfQM2
    sender: QueueManagerConnection
    far: Queue

    def put(self, body: bytes = b"hello", options: int = 0, **fields: Any) -> MQMD:
        md = MQMD(**({"persistence": 1, "priority": 5} | fields))
        self.far.put(body, md, options=options)
        return md

    def getter(self) -> Queue:
        return self.group.connect("QM2").open("FAR", OpenOption.INPUT_SHARED)

    def on(self, place: Place) -> list[bytes]:
        return [body for body, _ in on_queue(self.group, place.queue, place.structure)]

    def on_part(self) -> list[bytes]:
        return self.on(PART)

    def on_far(self) -> list[bytes]:
        return self.on(Place("APPL1", "FAR"))


@pytest.fixture
def scene(group: TestGroup, agent: AgentOfQM2) -> Scene:
    del agent
    group.define_structure()
    group.define_shared("FAR")
    assert group.repository("QM2").make_transmit_parts("QM2") == [PART]
    sender = group.connect("QM1")
    far = sender.open("FAR", OpenOption.OUTPUT, qmgr_name="QM2")
    return Scene(group, AgentOfQM2(group, PART), sender, far)


def state_of(group: TestGroup, token: str, structure: str = "APPL1") -> bytes:
    found: Any = group.group.client().hget(group.group.structure(structure).owners, token)
    return bytes(found)


def alter(scene: Scene, name: str, **changes: Any) -> None:
    scene.group.repository("QM2").alter("QLOCAL", name, changes)


def refusal(act: Callable[[], object]) -> int:
    with pytest.raises(MQIError) as caught:
        act()
    return caught.value.reason


# -- which part ----------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "igq/parts", "A message for a shared queue goes through the part of the transmit queue in that queue's structure."
)
def test_a_message_to_a_shared_queue_uses_the_part_in_its_structure(scene: Scene) -> None:
    scene.put(b"1")
    scene.sender.put1("FAR", b"2", MQMD(persistence=1), qmgr_name="QM2")
    scene.group.define_private("QM2", "NEAR")
    scene.sender.put1("NEAR", b"3", MQMD(persistence=1), qmgr_name="QM2")
    assert (scene.on_part(), scene.on(own_part("QM2"))) == ([b"1", b"2"], [b"3"])
    scene.agent.serve()
    assert (scene.on_far(), scene.on_part()) == ([b"1", b"2"], [])


def test_by_alias_and_remote_definitions_too(scene: Scene) -> None:
    scene.group.define("QM1", QueueRemote(name="REMOTE", remote_queue="FAR", remote_qmgr="QM2"))
    scene.group.define("QM1", QueueAlias(name="ALIAS", target="REMOTE"))
    for name in ("REMOTE", "ALIAS"):
        scene.sender.put1(name, name.encode(), MQMD(persistence=1))
    assert scene.on_part() == [b"REMOTE", b"ALIAS"]


@pytest.mark.rule(
    "igq/parts", "A message that names the queue in another way goes through the manager's own structure."
)
@pytest.mark.parametrize("name", ["NOWHERE", "NAME", SYSTEM_QSG_TRANSMIT_QUEUE])
def test_under_any_other_name_it_uses_the_managers_own_structure(scene: Scene, name: str) -> None:
    scene.group.define("QM2", QueueAlias(name="NAME", target="FAR"))
    scene.sender.put1(name, b"1", MQMD(persistence=1), qmgr_name="QM2")
    assert (scene.on_part(), scene.on(own_part("QM2"))) == ([], [b"1"])


@pytest.mark.rule("igq/parts", "Until its agent has made the part, a message goes through the manager's own structure.")
def test_a_message_goes_by_the_own_structure_until_the_agent_made_a_part(scene: Scene) -> None:
    scene.group.define_structure("APPL2")
    scene.group.define_shared("ELSEWHERE", "APPL2")
    elsewhere = scene.sender.open("ELSEWHERE", OpenOption.OUTPUT, qmgr_name="QM2")
    elsewhere.put(b"1", MQMD(persistence=1))
    made = part_in("APPL2", "QM2")
    assert scene.group.repository("QM2").make_transmit_parts("QM2") == [PART, made]
    # A handle keeps its part, so that its messages keep their order.
    elsewhere.put(b"2", MQMD(persistence=1))
    scene.sender.put1("ELSEWHERE", b"3", MQMD(persistence=1), qmgr_name="QM2")
    assert (scene.on(own_part("QM2")), scene.on(made)) == ([b"1", b"2"], [b"3"])


@pytest.mark.rule("igq/parts", "A handle stays with its part, whatever is altered later.")
def test_it_keeps_to_its_way_when_the_definition_that_led_there_is_altered(scene: Scene) -> None:
    """That does not change where messages go, so the handle stays valid."""
    scene.group.define("QM1", QueueRemote(name="REMOTE", remote_queue="ELSEWHERE", remote_qmgr="QM2"))
    scene.group.define_structure("APPL2")
    scene.group.define_shared("ELSEWHERE", "APPL2")
    remote = scene.sender.open("REMOTE", OpenOption.OUTPUT)
    remote.put(b"1", MQMD(persistence=1))
    scene.group.repository("QM2").make_transmit_parts("QM2")
    for priority in (4, 7):
        scene.group.repository("QM1").alter("QREMOTE", "REMOTE", {"def_priority": priority})
        remote.put(b"%d" % priority, MQMD(persistence=1))
    assert (scene.on(own_part("QM2")), scene.on(part_in("APPL2", "QM2"))) == ([b"7", b"4", b"1"], [])
    scene.group.repository("QM1").alter("QREMOTE", "REMOTE", {"remote_queue": "FAR"})
    assert refusal(lambda: remote.put(b"2", MQMD(persistence=1))) == MQRC.OBJECT_CHANGED


def test_in_a_cluster_it_does_not_depend_on_the_server_of_its_destination(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Deployment, "is_cluster", True)
    assert scene.group.repository("QM2").make_transmit_parts("QM2") == []
    scene.sender.put1("FAR", b"1", MQMD(persistence=1), qmgr_name="QM2")
    assert (scene.on_part(), scene.on(own_part("QM2"))) == ([], [b"1"])


def test_a_structure_without_queues_has_no_part(scene: Scene) -> None:
    scene.group.define_structure("APPL2")
    repository = scene.group.repository("QM2")
    assert repository.make_transmit_parts("QM2") == [PART]
    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 1000})
    assert repository.make_transmit_parts("QM2") == [PART]
    key = scene.group.group.structure("APPL2").queue(part_in("APPL2", "QM2").queue).queue
    assert not scene.group.group.client().exists(key)


def test_a_lost_structure_has_no_part(scene: Scene) -> None:
    """A part would make it look intact, and its messages would be lost with it."""
    lose(scene.group)
    repository = scene.group.repository("QM2")
    assert repository.make_transmit_parts("QM2") == []
    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"max_depth": 1000})
    assert not scene.group.group.client().keys(f"{scene.group.group.structure('APPL1').tag}:q:*")
    scene.sender.put1("FAR", b"1", MQMD(persistence=1), qmgr_name="QM2")
    assert scene.on(own_part("QM2")) == [b"1"]
    assert refusal(scene.put) == MQRC.CF_STRUC_FAILED


# -- the hop -------------------------------------------------------------------------------------------------


def test_a_put_does_the_hop_where_the_agent_waits_and_a_get(scene: Scene) -> None:
    scene.put(b"first")
    scene.agent.serve()
    assert bodies(scene.group, "FAR") == [b"first"]
    getter = scene.getter()
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(getter.get, GetOption.WAIT, wait_ms=60_000)
        until(lambda: state_of(scene.group, getter.connection.token)[:1] == b"W", "it waits")
        sent = scene.put(priority=7)
        message = found.result(20)
    assert (message.body, message.md.msg_id, message.md.priority) == (b"hello", sent.msg_id, 7)
    assert state_of(scene.group, scene.agent.connection.token)[:1] == b"W"
    assert (scene.on_part(), scene.on_far()) == ([], [])


def test_an_agent_that_waits_is_woken_by_a_commit(scene: Scene) -> None:
    assert scene.agent.queue.move().is_waiting
    with ThreadPoolExecutor(1) as pool:
        moved = pool.submit(scene.agent.queue.wait_and_move)
        scene.put(options=int(PutOption.SYNCPOINT))
        commit(scene.far.connection)
        moved.result(20)
    scene.agent.serve()
    assert scene.on_far() == [b"hello"]


def test_members_of_groups_keep_their_order(scene: Scene) -> None:
    """On the way they are not groups; at their destination they are."""
    for number in (1, 2, 3):
        scene.put(b"%d" % number, options=int(PutOption.LOGICAL_ORDER), version=2, msg_flags=8 + 8 * (number == 3))
    assert scene.on_part() == [b"1", b"2", b"3"]
    scene.agent.serve()
    getter, options = scene.getter(), GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE
    assert [getter.get(options).body for _ in range(3)] == [b"1", b"2", b"3"]


def test_a_backed_out_message_arrives_as_a_new_one(scene: Scene) -> None:
    scene.put()
    assert len(scene.agent.queue.take()) == 1
    backout(scene.agent.connection)
    scene.agent.serve()
    assert scene.getter().get().md.backout_count == 0


def test_a_message_is_found_by_its_msg_id(scene: Scene) -> None:
    scene.put(b"another")
    sent = scene.put()
    scene.agent.serve()
    found = scene.getter().get(match=MQMD(msg_id=sent.msg_id), match_options=MatchOption.MATCH_MSG_ID)
    assert found.body == b"hello"


def redefine_elsewhere(scene: Scene) -> Place:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    scene.group.define_structure("APPL2")
    scene.group.define_shared("FAR", "APPL2")
    return Place("APPL2", "FAR")


def redefine_as_private(scene: Scene) -> Place:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    scene.group.define_private("QM2", "FAR")
    return Place("@QM2", "FAR")


def redefine_as_alias(scene: Scene) -> Place:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    scene.group.define_shared("BASE")
    scene.group.define("QM2", QueueAlias(name="FAR", target="BASE"))
    return Place("APPL1", "BASE")


def delete(scene: Scene) -> Place:
    scene.group.repository("QM2").delete("QLOCAL", "FAR")
    return Place("@QM2", SYSTEM_DEAD_LETTER_QUEUE)


def inhibit(scene: Scene) -> Place:
    alter(scene, "FAR", put="DISABLED")
    return Place("@QM2", SYSTEM_DEAD_LETTER_QUEUE)


def refuse(scene: Scene) -> Place:
    Authorities(scene.group.group).change("FAR", "SOMEBODY", add=["PUT"])
    return Place("@QM2", SYSTEM_DEAD_LETTER_QUEUE)


ELSEWHERE = (redefine_elsewhere, redefine_as_private, redefine_as_alias, delete, inhibit, refuse)


@pytest.mark.rule("igq/parts", "The definition at the time of delivery decides where a message in a part goes.")
@pytest.mark.parametrize("happens", ELSEWHERE)
def test_the_definition_at_delivery_decides_the_destination(scene: Scene, happens: Callable[[Scene], Place]) -> None:
    scene.put(b"1")
    scene.agent.serve()
    assert bodies(scene.group, "FAR") == [b"1"]
    place = happens(scene)
    scene.put(b"2")
    scene.put(b"3")
    while scene.on_part():
        if scene.agent.queue.move().is_stuck:
            scene.agent.deliverer.deliver(scene.agent.queue.take())
    assert [body[-1:] for body in scene.on(place)] == [b"2", b"3"]


@pytest.mark.rule("igq/parts", "No message overtakes another, whatever the agent does with its parts.")
@pytest.mark.parametrize("seed", range(4))
def test_no_message_overtakes_another_at_any_step_of_the_agent(scene: Scene, seed: int) -> None:
    """Messages of one program by two handles, in and out of units of work, plain and not."""
    chance, sent, got = random.Random(seed), list[bytes](), list[bytes]()
    other = scene.sender.open("FAR", OpenOption.OUTPUT, qmgr_name="QM2")
    getter = scene.getter()
    for step in range(150):
        body, choice = b"%d" % step, chance.random()
        queue, md = chance.choice([scene.far, other]), MQMD(persistence=1, priority=5)
        if choice < 0.1:
            md.correl_id = b"c" * 24
        queue.put(body, md, options=PutOption.SYNCPOINT if choice > 0.8 else 0)
        if choice > 0.8:
            commit(queue.connection)
        sent.append(body)
        if chance.random() < 0.3 and not scene.agent.queue.move().is_waiting:
            messages = scene.agent.queue.take(chance.randrange(1, 4))
            if messages and chance.random() < 0.5:
                scene.agent.deliverer.deliver(messages)
            elif messages:
                backout(scene.agent.connection)
        if chance.random() < 0.2:
            got += drained(getter, chance.randrange(5))
    scene.agent.serve()
    assert got + drained(getter, 1000) == sent


def drained(getter: Queue, most: int) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(most):
        try:
            found.append(getter.get(GetOption.NO_SYNCPOINT).body)
        except NoMsgAvailable:
            break
    return found


# -- one queue to its users ----------------------------------------------------------------------------------


@pytest.mark.rule(
    "igq/parts", "The transmit queue is altered, deleted, cleared and counted as one queue with all its parts."
)
def test_its_depth_is_that_of_all_parts(scene: Scene) -> None:
    scene.put()
    scene.sender.put1("NAME", b"1", qmgr_name="QM2")
    repository = scene.group.repository("QM1")
    assert repository.queue_status(SYSTEM_QSG_TRANSMIT_QUEUE).depth == 2
    (shown,) = repository.display_queues(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert shown.state is not None
    assert shown.state.depth == 2
    places = [(place.structure, place.queue) for place in find_parts(scene.group.group, SYSTEM_QSG_TRANSMIT_QUEUE)]
    assert (PART in places, len(places)) == (True, 4)
    assert len(find_parts(scene.group.group, SYSTEM_QSG_TRANSMIT_QUEUE, "QM2")) == 2


@pytest.mark.rule(
    "igq/parts", "The transmit queue is altered, deleted, cleared and counted as one queue with all its parts."
)
def test_it_is_cleared_in_all_its_parts(scene: Scene) -> None:
    scene.put()
    scene.sender.put1("NAME", b"1", qmgr_name="QM2")
    scene.far.close()
    scene.group.repository("QM1").clear(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert (scene.on_part(), scene.on(own_part("QM2"))) == ([], [])


@pytest.mark.rule(
    "igq/parts", "The transmit queue is altered, deleted, cleared and counted as one queue with all its parts."
)
def test_altered_it_is_altered_in_all_its_parts(scene: Scene) -> None:
    """Invalidation of object handles: the definition is in the path at the open, and changed since."""
    alter(scene, SYSTEM_QSG_TRANSMIT_QUEUE, max_depth=1)
    assert refusal(scene.put) == MQRC.OBJECT_CHANGED
    scene.sender.put1("FAR", b"1", qmgr_name="QM2")
    assert refusal(lambda: scene.sender.put1("FAR", b"2", qmgr_name="QM2")) == MQRC.Q_FULL


@pytest.mark.rule(
    "igq/parts", "The transmit queue is altered, deleted, cleared and counted as one queue with all its parts."
)
def test_deleted_it_is_deleted_in_all_its_parts(scene: Scene) -> None:
    repository, name = scene.group.repository("QM1"), SYSTEM_QSG_TRANSMIT_QUEUE
    definition = next(each.definition for each in repository.display_queues(name))
    scene.put()
    assert refusal(lambda: repository.delete("QLOCAL", name, purge=True)) == MQRC.OBJECT_IN_USE
    scene.far.close()
    assert refusal(lambda: repository.delete("QLOCAL", name)) == MQRC.Q_NOT_EMPTY
    repository.delete("QLOCAL", name, purge=True)
    assert (scene.on_part(), repository.make_transmit_parts("QM2")) == ([], [])
    repository.define(definition)
    assert repository.make_transmit_parts("QM2") == [PART]
    scene.sender.put1("FAR", b"2", MQMD(persistence=1), qmgr_name="QM2")
    assert scene.on_part() == [b"2"]


@pytest.mark.parametrize("igq", ["DISABLED", "ENABLED"])
def test_igq_altered_since_the_open_counts(scene: Scene, igq: str) -> None:
    repository = scene.group.repository("QM1")
    repository.alter_qmgr("QM1", {"igq": "DISABLED"})
    if igq == "ENABLED":
        repository.alter_qmgr("QM1", {"igq": "ENABLED"})
    assert refusal(scene.put) == MQRC.OBJECT_CHANGED


# -- its structure -------------------------------------------------------------------------------------------


@pytest.mark.rule("igq/parts", "A structure is deleted together with the parts in it.")
def test_a_structure_is_deleted_with_the_parts_in_it(scene: Scene) -> None:
    group, repository, part = scene.group.group, scene.group.repository("QM1"), part_in("APPL2", "QM2")
    scene.group.define_structure("APPL2")
    scene.group.define_shared("OTHER", "APPL2")
    assert repository.make_transmit_parts("QM2") == [PART, part]
    assert refusal(lambda: repository.delete_structure("APPL2")) == MQRC.CF_STRUC_IN_USE
    scene.sender.put1("OTHER", b"1", MQMD(persistence=1), qmgr_name="QM2")
    repository.delete("QLOCAL", "OTHER")
    assert refusal(lambda: repository.delete_structure("APPL2")) == MQRC.CF_STRUC_IN_USE
    # Messages on their way there can still be sent on.
    agent = AgentOfQM2(scene.group, part)
    assert agent.deliverer.deliver(agent.queue.take()) == 0
    assert len(scene.on(Place("@QM2", SYSTEM_DEAD_LETTER_QUEUE))) == 1
    repository.delete_structure("APPL2")
    assert not group.client().hexists(group.structure("APPL2").queue(part.queue).queue, "ver")
    assert repository.make_transmit_parts("QM2") == [PART]
    scene.group.define_structure("APPL2")
    scene.group.define_shared("OTHER", "APPL2")
    assert repository.make_transmit_parts("QM2") == [PART, part]


@pytest.mark.rule("igq/parts", "A backup of a structure has what is on its way in its part.")
def test_a_backup_has_what_is_on_its_way(scene: Scene) -> None:
    group = scene.group
    group.repository("QM1").alter_structure("APPL1", {"recover": "YES"})
    group.define_shared("OTHER")
    there = scene.put(b"there")
    scene.agent.serve()
    scene.put(b"on its way")
    backup(group.group, "APPL1")
    lose(group)
    recover(group.group, "APPL1")
    assert (scene.on_far(), scene.on_part()) == ([b"there"], [b"on its way"])
    # Destinations have the codes that are in the ids of those messages.
    sender = group.connect("QM1")
    for name in ("OTHER", "FAR"):
        sender.put1(name, b"new", MQMD(persistence=1), qmgr_name="QM2")
    AgentOfQM2(group, PART).serve()
    found = scene.getter().get(match=MQMD(msg_id=there.msg_id), match_options=MatchOption.MATCH_MSG_ID)
    assert found.body == b"there"
    assert (bodies(group, "FAR"), bodies(group, "OTHER")) == ([b"on its way", b"new"], [b"new"])


def test_no_part_is_made_while_a_structure_is_recovered(scene: Scene) -> None:
    group = scene.group.group
    keys, client = group.structure("APPL1"), group.client()
    client.delete(keys.queue(PART.queue).queue)
    client.hset(keys.versions, "RECOVER", "some")
    assert scene.group.repository("QM2").make_transmit_parts("QM2") == []
