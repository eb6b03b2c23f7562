"""Trigger messages: when they are written, to which initiation queues, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from igq.triggers.writer import TriggerWriter
from sharedq.api import QueueManagerConnection
from sharedq.calls.handles.connect import disconnect
from sharedq.mqi import wire
from sharedq.mqi.constants import Format, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.headers import MQTM
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.processes import ProcessDefinition
from sharedq.objects.definitions.queues import QueueLocal
from tests.support.members import TestGroup
from tests.support.waits import until_waiting

pytestmark = pytest.mark.share

INPUT = OpenOption.INPUT_SHARED
LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)


class Scene:
    """Queue Q with TRIGGER, and the writers of QM1 and QM2 for each structure."""

    def __init__(self, group: TestGroup) -> None:
        self.group = group
        group.add_member("QM2")
        process = ProcessDefinition(name="PROC", appl_id="program", user_data="data", env_data="env", appl_type=6)
        group.repository("QM1").processes.define(process)
        self.connections = {qmgr: group.connect(qmgr) for qmgr in ("QM1", "QM2")}
        self.monitors: dict[str, Any] = {}
        own = {qmgr: group.connect(qmgr).connection for qmgr in ("QM1", "QM2")}
        self.writers = [
            TriggerWriter(group.group, structure, own[qmgr], pause_s=0)
            for structure, qmgr in (("APPL1", "QM1"), ("APPL1", "QM2"), ("@QM1", "QM1"), ("@QM2", "QM2"))
        ]

    def define(self, *, shared: bool = True, shared_initiation: bool = False, **attributes: Any) -> None:
        for qmgr in ("QM1", "QM2"):
            if not shared_initiation:
                self.group.define_private(qmgr, "INIT")
        if shared_initiation:
            self.group.define_shared("INIT")
        triggers = {"trigger_control": "TRIGGER", "initiation_q_name": "INIT", "process_name": "PROC"} | attributes
        if shared:
            self.group.define_shared("Q", **triggers)
        else:
            self.group.define_private("QM1", "Q", **triggers)

    def watch(self, *qmgrs: str) -> None:
        """A trigger monitor opens the initiation queue."""
        for qmgr in qmgrs:
            self.monitors[qmgr] = self.connections[qmgr].open("INIT", INPUT)

    def look(self) -> None:
        """Every manager does what there is to do."""
        while sum(writer.take() or 0 for writer in self.writers):
            continue

    def triggered(self, qmgr: str = "QM1") -> list[MQTM]:
        return [wire.TM.unpack(body) for _, body in self.messages(qmgr)]

    def messages(self, qmgr: str = "QM1") -> list[tuple[MQMD, bytes]]:
        self.look()
        found = list[tuple[MQMD, bytes]]()
        while True:
            try:
                message = self.monitors[qmgr].get(GetOption.NO_SYNCPOINT)
            except NoMsgAvailable:
                return found
            found.append((message.md, message.body))

    def count(self, qmgr: str = "QM1") -> int:
        return len(self.messages(qmgr))

    def putter(self, qmgr: str = "QM1") -> Any:
        return self.connections[qmgr].open("Q", OpenOption.OUTPUT)

    def definition(self) -> QueueLocal:
        located = self.group.repository("QM1").lookup("Q")
        assert located is not None
        assert isinstance(located.definition, QueueLocal)
        return located.definition


@pytest.fixture
def scene(group: TestGroup) -> Scene:
    return Scene(group)


Put = Callable[[QueueManagerConnection, Any, int], None]


def alone(_: QueueManagerConnection, queue: Any, priority: int) -> None:
    queue.put(b"x", MQMD(priority=priority))


def looked_at(_: QueueManagerConnection, queue: Any, priority: int) -> None:
    queue.put(b"x", MQMD(priority=priority, correl_id=b"c" * 24))


def in_unit(connection: QueueManagerConnection, queue: Any, priority: int) -> None:
    queue.put(b"x", MQMD(priority=priority), options=PutOption.SYNCPOINT)
    connection.commit()


def looked_at_in_unit(connection: QueueManagerConnection, queue: Any, priority: int) -> None:
    queue.put(b"x", MQMD(priority=priority, correl_id=b"c" * 24), options=PutOption.SYNCPOINT)
    connection.commit()


def put_with_commit(connection: QueueManagerConnection, queue: Any, priority: int) -> None:
    queue.put(b"x", MQMD(priority=priority), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    connection.commit()


every_put = pytest.mark.parametrize("put", [alone, looked_at, in_unit, looked_at_in_unit, put_with_commit])
either_queue = pytest.mark.parametrize("shared", [True, False])


@pytest.mark.rule("mqi/triggers", "TRIGTYPE(FIRST) triggers when the first message of TRIGMPRI or more comes.")
@every_put
@either_queue
def test_first(scene: Scene, put: Put, shared: bool) -> None:
    scene.define(shared=shared, trigger_msg_priority=5, msg_delivery_sequence="PRIORITY")
    scene.watch("QM1")
    connection, queue = scene.connections["QM1"], scene.putter()
    put(connection, queue, 4)
    assert scene.count() == 0
    put(connection, queue, 5)
    assert scene.count() == 1
    put(connection, queue, 9)
    put(connection, queue, 0)
    assert scene.count() == 0


@pytest.mark.rule("mqi/triggers", "TRIGTYPE(EVERY) triggers with each message of TRIGMPRI or more.")
@every_put
@either_queue
def test_every(scene: Scene, put: Put, shared: bool) -> None:
    scene.define(shared=shared, trigger_type="EVERY", trigger_msg_priority=1)
    scene.watch("QM1")
    connection, queue = scene.connections["QM1"], scene.putter()
    for priority in (0, 1, 2, 9):
        put(connection, queue, priority)
    with connection.open("Q", INPUT):
        # That a program has it open makes no difference.
        put(connection, queue, 1)
    assert scene.count() == 4


@pytest.mark.rule("mqi/triggers", "TRIGTYPE(DEPTH) triggers at TRIGDPTH messages, and turns TRIGGER off.")
@every_put
@either_queue
def test_depth(scene: Scene, put: Put, shared: bool) -> None:
    scene.define(shared=shared, trigger_type="DEPTH", trigger_depth=3)
    scene.watch("QM1")
    connection, queue = scene.connections["QM1"], scene.putter()
    put(connection, queue, 0)
    put(connection, queue, 0)
    assert scene.count() == 0
    assert scene.definition().trigger_control == "TRIGGER"
    put(connection, queue, 0)
    put(connection, queue, 0)
    assert scene.count() == 1
    assert scene.definition().trigger_control == "NOTRIGGER"
    put(connection, queue, 0)
    assert scene.count() == 0
    scene.group.repository("QM1").alter("QLOCAL", "Q", {"trigger_control": "TRIGGER"})
    assert scene.count() == 1


@pytest.mark.rule("mqi/triggers", "Only committed messages trigger.")
def test_uncommitted_messages_do_not_trigger(scene: Scene) -> None:
    scene.define(trigger_type="EVERY")
    scene.watch("QM1")
    connection, queue = scene.connections["QM1"], scene.putter()
    queue.put(b"x", options=PutOption.SYNCPOINT)
    assert scene.count() == 0
    connection.backout()
    assert scene.count() == 0
    queue.put(b"x", options=PutOption.SYNCPOINT)
    queue.put(b"x", options=PutOption.SYNCPOINT)
    connection.commit()
    assert scene.count() == 2


def test_the_message(scene: Scene) -> None:
    scene.define(trigger_data="for Q")
    scene.watch("QM1")
    scene.putter().put(b"x")
    ((md, body),) = scene.messages()
    assert len(body) == 684
    assert wire.TM.unpack(body) == MQTM(1, b"Q", b"PROC", b"for Q", 6, b"program", b"env", b"data")
    assert (md.format.rstrip(), md.persistence, md.reply_to_q_mgr.rstrip()) == (Format.TRIGGER.rstrip(), 0, b"QM1")
    assert (md.put_appl_type, md.put_appl_name.rstrip()) == (7, b"QM1")


@pytest.mark.rule("mqi/triggers", "A queue that a program has open for input is not triggered by FIRST and DEPTH.")
@pytest.mark.parametrize("kind", ["FIRST", "DEPTH"])
def test_an_open_queue_is_triggered_when_it_is_closed(scene: Scene, kind: str) -> None:
    scene.define(shared=False, trigger_type=kind)
    scene.watch("QM1")
    server = scene.connections["QM1"].open("Q", INPUT)
    scene.putter().put(b"x")
    assert scene.count() == 0
    server.close()
    assert scene.count() == 1


def test_a_close_of_an_empty_queue_triggers_nothing(scene: Scene) -> None:
    scene.define()
    scene.watch("QM1")
    with scene.connections["QM1"].open("Q", INPUT) as server:
        scene.putter().put(b"x")
        server.get(GetOption.NO_SYNCPOINT)
    assert scene.count() == 0


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("way", [0, LATER], ids=["sent", "brought along"])
def test_a_message_that_one_of_several_is_handed_triggers_nowhere(scene: Scene, count: int, way: int) -> None:
    """Not at the other member either: nothing is on the queue."""
    scene.define()
    scene.watch("QM1", "QM2")
    scene.group.define_shared("FROM")
    putter = scene.group.connect("QM1")
    source, queue = putter.open("FROM", INPUT | OpenOption.OUTPUT), putter.open("Q", OpenOption.OUTPUT)
    with ThreadPoolExecutor(count) as pool:
        waiters = [scene.group.connect("QM1").open("Q", INPUT) for _ in range(count)]
        futures = [pool.submit(each.get, GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=60_000) for each in waiters]
        until_waiting(scene.group, "Q", count)
        scene.look()
        for _ in futures:
            source.put(b"request")
            source.get(GetOption.SYNCPOINT)
            queue.put(b"x", options=way)
            putter.commit()
        for future in futures:
            future.result()
        assert (scene.count("QM1"), scene.count("QM2")) == (0, 0)


def test_a_message_that_a_waiting_get_is_handed_triggers_no_program(scene: Scene) -> None:
    scene.define()
    scene.watch("QM1")
    with scene.connections["QM2"].open("Q", INPUT) as server, pytest.raises(NoMsgAvailable):
        server.get(GetOption.WAIT | GetOption.NO_SYNCPOINT, wait_ms=1)
    assert scene.count() == 0


@pytest.mark.rule("mqi/triggers", "A trigger message waits until a program has the initiation queue open for input.")
@either_queue
@pytest.mark.parametrize("kind", ["FIRST", "DEPTH"])
def test_an_initiation_queue_that_is_opened_later(scene: Scene, shared: bool, kind: str) -> None:
    scene.define(shared=shared, trigger_type=kind)
    scene.putter().put(b"x")
    scene.look()
    scene.watch("QM1")
    assert scene.count() == 1
    control = "NOTRIGGER" if kind == "DEPTH" else "TRIGGER"
    assert scene.definition().trigger_control == control
    # A trigger monitor that begins anew is told again: what it was told before may be lost.
    scene.monitors["QM1"].close()
    scene.watch("QM1")
    assert scene.count() == (1 if kind == "FIRST" else 0)


def test_every_is_not_made_up_for(scene: Scene) -> None:
    scene.define(trigger_type="EVERY")
    scene.putter().put(b"x")
    scene.look()
    scene.watch("QM1")
    assert scene.count() == 0


@pytest.mark.rule("mqi/triggers", "Of a shared queue each manager's own initiation queue gets a trigger message.")
def test_each_member_with_an_open_initiation_queue_is_told(scene: Scene) -> None:
    scene.define()
    scene.watch("QM1", "QM2")
    scene.putter().put(b"x")
    assert (scene.count("QM1"), scene.count("QM2")) == (1, 1)


@pytest.mark.rule("mqi/triggers", "A shared initiation queue gets one trigger message in all.")
@pytest.mark.parametrize("kind", ["FIRST", "EVERY", "DEPTH"])
def test_a_shared_initiation_queue_is_told_once(scene: Scene, kind: str) -> None:
    scene.define(shared_initiation=True, trigger_type=kind)
    scene.watch("QM1", "QM2")
    scene.putter("QM2").put(b"x")
    assert (scene.count("QM1"), scene.count("QM2")) == (1, 0)


@pytest.mark.rule("mqi/triggers", "Where one manager has a shared queue open, a first message triggers at the others.")
@pytest.mark.parametrize("kind", ["FIRST", "DEPTH"])
def test_other_members_are_told_of_the_first_message(scene: Scene, kind: str) -> None:
    scene.define(trigger_type=kind, trigger_depth=5, trigger_msg_priority=9)
    scene.watch("QM1", "QM2")
    with scene.connections["QM1"].open("Q", INPUT):
        scene.putter().put(b"x")
        assert (scene.count("QM1"), scene.count("QM2")) == (0, 1)
        scene.putter().put(b"x")
        assert (scene.count("QM1"), scene.count("QM2")) == (0, 0)


@pytest.mark.rule("mqi/triggers", "After TRIGINT a further message triggers again.")
def test_trigint(scene: Scene) -> None:
    scene.define()
    scene.watch("QM1")
    repository = scene.group.repository("QM1")
    queue = scene.putter()
    for interval_ms, expected in ((999_999_999, [1, 0]), (0, [1, 1]), (999_999, [0, 0])):
        repository.alter_qmgr("QM1", {"trigger_interval_ms": interval_ms})
        found = []
        for _ in range(2):
            queue.put(b"x")
            found.append(scene.count())
        assert found == expected


def test_nothing_is_written_without_the_process(scene: Scene) -> None:
    scene.define(process_name="OTHER")
    scene.watch("QM1")
    scene.putter().put(b"x")
    assert scene.count() == 0


@pytest.mark.parametrize(
    "changes",
    [{"trigger_control": "NOTRIGGER"}, {"trigger_type": "NONE"}, {"get": "DISABLED"}, {"initiation_q_name": ""}],
)
def test_nothing_is_written_while_an_attribute_is_against_it(scene: Scene, changes: dict[str, Any]) -> None:
    scene.define()
    scene.watch("QM1")
    repository = scene.group.repository("QM1")
    before = {name: getattr(scene.definition(), name) for name in changes}
    repository.alter("QLOCAL", "Q", changes)
    scene.putter().put(b"x")
    assert scene.count() == 0
    repository.alter("QLOCAL", "Q", before)
    assert scene.count() == 1


def test_an_initiation_queue_that_is_full_leads_to_the_dead_letter_queue(scene: Scene) -> None:
    scene.define()
    scene.group.repository("QM1").alter("QLOCAL", "INIT", {"max_depth": 0})
    scene.group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": "DLQ"})
    scene.group.define_private("QM1", "DLQ")
    scene.watch("QM1")
    scene.putter().put(b"x")
    assert scene.count() == 0
    with scene.connections["QM1"].open("DLQ", INPUT) as dead:
        letter = dead.get(GetOption.NO_SYNCPOINT)
    assert wire.DLH.unpack(letter.body).dest_q_name.rstrip() == b"INIT"


def test_another_manager_goes_on_where_one_is_gone(scene: Scene) -> None:
    """QM1 took the note and wrote nothing before it ended."""
    scene.define(shared_initiation=True)
    scene.watch("QM2")
    first, second = scene.writers[:2]
    assert first.take() == 0
    assert second.take() is None
    scene.putter("QM2").put(b"x")
    disconnect(first._connection)
    assert second.take() == 1
    scene.writers = [second]
    assert scene.count("QM2") == 1


def test_a_note_is_done_again_after_an_end_in_between(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """QM1 wrote the trigger message, and ended before it could say so."""
    scene.define(shared_initiation=True)
    scene.watch("QM2")
    first, second = scene.writers[:2]
    scene.putter("QM2").put(b"x")
    with monkeypatch.context() as patch:
        patch.setattr(first, "_settle", lambda *_: True)
        first.take()
    disconnect(first._connection)
    scene.writers = [second]
    assert scene.count("QM2") == 2


def test_a_queue_without_trigger_leaves_no_note(scene: Scene) -> None:
    scene.define(trigger_control="NOTRIGGER")
    scene.putter().put(b"x")
    keys = scene.group.group.structure("APPL1")
    assert not scene.group.group.command(keys.triggers, "EXISTS", keys.triggers)
    assert not scene.group.group.command(keys.versions, "HEXISTS", keys.versions, "TRIGGER")


def test_a_backout_after_the_close_triggers_again(scene: Scene) -> None:
    """As a recovery does it: the handles of a dead program are closed before its messages are back."""
    scene.define()
    scene.watch("QM1")
    connection = scene.connections["QM2"]
    server = connection.open("Q", INPUT)
    scene.putter().put(b"x")
    server.get(GetOption.SYNCPOINT)
    server.close()
    assert scene.count() == 0
    connection.backout()
    assert scene.count() == 1
