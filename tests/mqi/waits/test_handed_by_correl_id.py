"""A put hands a lone message to the get that waits for its CorrelId, without a look at what else the queue has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sharedq import Queue, QueueManagerConnection
from sharedq.mqi.constants import GetOption, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQMD
from tests.recovery.scene import register_wait
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored

OPTIONS = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
CORREL_ID, OTHER_ID, MSG_ID = b"c" * 24, b"d" * 24, b"m" * 24
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE


@dataclass
class Scene:
    """A putter with a message to get, and the getters that wait."""

    group: TestGroup
    putter: QueueManagerConnection
    queue: Queue

    def waiter(self, selection: bytes) -> Queue:
        queue = self.group.connect().open("Q", OPTIONS)
        register_wait(queue, selection)
        return queue

    def state_of(self, queue: Queue) -> bytes:
        found: Any = self.group.group.client().hget(self.group.group.structure("APPL1").owners, queue.connection.token)
        return bytes(found)

    def put_at_once(self, md: MQMD) -> None:
        self.queue.put(b"reply", md)

    def put_before_a_commit(self, md: MQMD) -> None:
        self.queue.put(b"reply", md, options=PutOption.SYNCPOINT)
        self.putter.commit()

    def put_with_a_commit(self, md: MQMD) -> None:
        with self.putter.open("SOURCE", OPTIONS) as source:
            source.put(b"request")
            source.get(GetOption.SYNCPOINT)
            self.queue.put(b"reply", md, options=LATER)
            self.putter.commit()


WAYS = [Scene.put_at_once, Scene.put_before_a_commit, Scene.put_with_a_commit]
Put = Callable[[Scene, MQMD], None]


@pytest.fixture
def scene(group: TestGroup) -> Scene:
    group.define_shared("Q")
    group.define_shared("SOURCE")
    putter = group.connect()
    return Scene(group, putter, putter.open("Q", OPTIONS))


@pytest.mark.invariant(8)
@pytest.mark.parametrize("put", WAYS)
def test_each_getter_is_handed_the_reply_to_its_request(scene: Scene, put: Put) -> None:
    getters = {number: scene.waiter(b"C" + b"%024d" % number + b"!") for number in range(5)}
    general = scene.waiter(b"A!")
    for number in (3, 0):
        put(scene, MQMD(correl_id=b"%024d" % number))
    states = {number: scene.state_of(getter)[:1] for number, getter in getters.items()}
    assert states == {0: b"H", 1: b"W", 2: b"W", 3: b"H", 4: b"W"}
    assert scene.state_of(general)[:1] == b"W"
    entries: Any = scene.group.group.client().xrange(scene.group.group.structure("APPL1").journal)
    gets = [fields for _, fields in entries if (fields[b"e"], fields.get(b"q")) == (b"get", b"Q")]
    assert [fields[b"c"] for fields in gets] == [b"1", b"1"]
    assert (on_queue(scene.group, "Q"), stored(scene.group)) == ([], 0)
    keys = scene.group.group.structure("APPL1").queue("Q")
    client = scene.group.group.client()
    assert (client.exists(keys.index), client.hget(keys.queue, "nw")) == (0, b"4")


@pytest.mark.parametrize("put", WAYS)
def test_a_get_of_the_msg_id_comes_first(scene: Scene, put: Put) -> None:
    by_correl_id, by_msg_id = scene.waiter(b"C" + CORREL_ID + b"!"), scene.waiter(b"M" + MSG_ID + b"!")
    put(scene, MQMD(correl_id=CORREL_ID, msg_id=MSG_ID))
    assert (scene.state_of(by_correl_id)[:1], scene.state_of(by_msg_id)[:1]) == (b"W", b"H")


@pytest.mark.parametrize("put", WAYS)
def test_without_a_get_of_that_correl_id_a_general_one_has_it(scene: Scene, put: Put) -> None:
    other, general = scene.waiter(b"C" + OTHER_ID + b"!"), scene.waiter(b"A!")
    put(scene, MQMD(correl_id=CORREL_ID))
    assert (scene.state_of(other)[:1], scene.state_of(general)[:1]) == (b"W", b"H")


@pytest.mark.parametrize("put", WAYS)
def test_a_browse_sleeps_on_because_nothing_comes_that_it_could_see(scene: Scene, put: Put) -> None:
    browser, getter = scene.waiter(b"B"), scene.waiter(b"C" + CORREL_ID + b"!")
    put(scene, MQMD(correl_id=CORREL_ID))
    assert (scene.state_of(browser)[:1], scene.state_of(getter)[:1]) == (b"W", b"H")


#: Fields of a message for which the getter must look itself.
LOOKED_AT: dict[str, dict[str, Any]] = {
    "it expires": {"expiry": 60_000},
    "it is in a group": {"msg_flags": int(MsgFlag.MSG_IN_GROUP), "group_id": b"g" * 24, "version": 2},
    "it asks for a report": {"report": int(Report.COD), "reply_to_q": b"OTHER"},
}


@pytest.mark.parametrize("put", WAYS)
@pytest.mark.parametrize("why", LOOKED_AT)
def test_the_getter_looks_itself(scene: Scene, why: str, put: Put) -> None:
    getter = scene.waiter(b"C" + CORREL_ID + b"!")
    put(scene, MQMD(correl_id=CORREL_ID, **LOOKED_AT[why]))
    assert scene.state_of(getter)[:1] == b"K"
    assert stored(scene.group) == 1


@pytest.mark.parametrize("put", WAYS)
@pytest.mark.parametrize("field", ["mk", "al", "lg", "gm"])
def test_the_getter_looks_itself_at_a_queue_with_more_than_plain_messages(scene: Scene, field: str, put: Put) -> None:
    getter = scene.waiter(b"C" + CORREL_ID + b"!")
    keys = scene.group.group.structure("APPL1").queue("Q")
    scene.group.group.client().hset(keys.queue, field, 1)
    put(scene, MQMD(correl_id=CORREL_ID))
    assert scene.state_of(getter)[:1] == b"K"
    assert on_queue(scene.group, "Q") == [(b"reply", 0)]


@pytest.mark.parametrize("put", WAYS)
def test_a_plain_message_is_nothing_for_it(scene: Scene, put: Put) -> None:
    """Also if its CorrelId begins like the mark of one that is handed its message."""
    getter = scene.waiter(b"C" + b"!" * 24 + b"!")
    put(scene, MQMD())
    assert scene.state_of(getter)[:1] == b"W"
    assert on_queue(scene.group, "Q") == [(b"reply", 0)]


def test_a_getter_with_little_room_looks_itself(scene: Scene) -> None:
    """Its entry names no way in which it could be handed anything."""
    getter = scene.waiter(b"C" + CORREL_ID)
    scene.put_at_once(MQMD(correl_id=CORREL_ID))
    assert scene.state_of(getter)[:1] == b"K"
