"""Trigger messages that must come, whatever was missing, full, paused or dead when their conditions held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from igq.triggers.writer import TriggerWriter
from recovery.resolution import recover
from recovery.target import Target
from sharedq.calls.handles.connect import disconnect
from sharedq.mqi.constants import MQRC, GetOption, IntSelector, OpenOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.objects.definitions.processes import ProcessDefinition
from tests.igq.triggers.test_trigger_messages import INPUT, Scene
from tests.support.members import TestGroup


@pytest.fixture
def scene(group: TestGroup) -> Scene:
    return Scene(group)


either_condition = pytest.mark.parametrize("kind", ["FIRST", "DEPTH"])


def drained(scene: Scene) -> int:
    """Do what a triggered program does: get until nothing is left. Returns how many it got."""
    count = 0
    with scene.connections["QM1"].open("Q", INPUT) as queue:
        while True:
            try:
                queue.get(GetOption.NO_SYNCPOINT)
            except MQIError:
                return count
            count += 1


# -- TRIGTYPE(DEPTH) turns TRIGGER off ---------------------------------------------------------------------------------


@pytest.mark.rule("mqi/triggers", "TRIGTYPE(DEPTH) turns TRIGGER off before its trigger message can be seen.")
@pytest.mark.parametrize("qmgr", ["QM1", "QM2"])
def test_a_program_that_sets_trigger_at_once_keeps_it(scene: Scene, monkeypatch: pytest.MonkeyPatch, qmgr: str) -> None:
    scene.define(trigger_type="DEPTH", trigger_depth=2)
    scene.watch(qmgr)
    put_one = TriggerWriter._put_one

    def put_and_start(writer: TriggerWriter, *message: Any) -> None:
        put_one(writer, *message)
        with scene.connections["QM1"].open("Q", OpenOption.SET) as queue:
            assert scene.definition().trigger_control == "NOTRIGGER"
            queue.set({IntSelector.TRIGGER_CONTROL: 1})
        assert drained(scene) == 2

    monkeypatch.setattr(TriggerWriter, "_put_one", put_and_start)
    for _ in range(3):
        scene.putter().put(b"x")
        scene.putter().put(b"x")
        assert scene.count(qmgr) == 1
        assert scene.definition().trigger_control == "TRIGGER"


def test_a_program_that_sets_trigger_first_is_started_once(scene: Scene) -> None:
    """It opens the queue after that: another trigger message would start a second one in vain."""
    scene.define(trigger_type="DEPTH", trigger_depth=2)
    scene.watch("QM1")
    for writer in scene.writers:
        writer._pause_s = 3600
    scene.putter().put(b"x")
    scene.putter().put(b"x")
    assert scene.count() == 1
    scene.group.repository("QM1").alter("QLOCAL", "Q", {"trigger_control": "TRIGGER"})
    assert scene.count() == 0
    assert drained(scene) == 2
    assert scene.count() == 0
    assert scene.definition().trigger_control == "TRIGGER"


@pytest.mark.invariant(2)
@either_condition
def test_a_manager_that_was_fenced_claims_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    scene.define(shared_initiation=True, trigger_type=kind)
    scene.watch("QM2")
    first, second = scene.writers[:2]
    assert first.take() == 0
    scene.putter().put(b"x")
    body = first._body

    def fenced_before(*arguments: Any) -> Any:
        disconnect(first._connection)
        return body(*arguments)

    monkeypatch.setattr(first, "_body", fenced_before)
    with pytest.raises(MQIError):
        first.take()
    assert scene.definition().trigger_control == "TRIGGER"
    scene.writers = [second]
    assert scene.count("QM2") == 1


@either_condition
def test_what_was_claimed_is_written_by_the_next_manager(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    scene.define(shared_initiation=True, trigger_type=kind)
    scene.watch("QM2")
    first, second = scene.writers[:2]
    scene.putter().put(b"x")

    def killed(*_: Any) -> int:
        raise error_for(MQRC.CONNECTION_BROKEN, "", "")

    monkeypatch.setattr(first, "_put", killed)
    with pytest.raises(MQIError):
        first.take()
    disconnect(first._connection)
    scene.writers = [second]
    assert scene.count("QM2") == 1


def test_another_manager_writes_though_trigger_is_off_by_then(scene: Scene) -> None:
    scene.define(trigger_type="DEPTH")
    scene.watch("QM2")
    scene.putter().put(b"x")
    first = scene.writers[0]
    while first.take():
        continue
    assert scene.definition().trigger_control == "NOTRIGGER"
    assert scene.count("QM2") == 1


# -- however much waits ------------------------------------------------------------------------------------------------


@pytest.mark.rule("mqi/triggers", "No number of messages makes a manager that was away miss one that triggers.")
def test_what_waits_is_counted_and_not_listed(scene: Scene) -> None:
    scene.define()
    scene.group.define_shared(
        "E", trigger_control="TRIGGER", trigger_type="EVERY", initiation_q_name="INIT", process_name="PROC"
    )
    scene.watch("QM1")
    scene.putter().put(b"x")
    every = scene.connections["QM1"].open("E", OpenOption.OUTPUT)
    for _ in range(250):
        every.put(b"x")
    keys, client = scene.group.group.structure("APPL1"), scene.group.group.client()
    assert (client.hlen(keys.owed), client.xlen(keys.triggers)) == (2, 1)
    names = [each.q_name.rstrip() for each in scene.triggered()]
    assert (names.count(b"Q"), names.count(b"E")) == (1, 250)
    assert client.hlen(keys.owed) == 0


@either_condition
def test_a_manager_that_takes_over_finds_what_left_no_mark(scene: Scene, kind: str) -> None:
    scene.define(shared_initiation=True, trigger_type=kind)
    scene.watch("QM2")
    scene.putter().put(b"x")
    keys = scene.group.group.structure("APPL1")
    scene.group.group.client().delete(keys.owed)
    assert scene.count("QM2") == 1
    first, second = scene.writers[:2]
    disconnect(first._connection)
    scene.writers = [second]
    assert scene.count("QM2") == 0


# -- what is missing for a while ---------------------------------------------------------------------------------------


def put_disabled(scene: Scene) -> Callable[[], object]:
    return altered(scene, put="DISABLED")


def get_disabled(scene: Scene) -> Callable[[], object]:
    return altered(scene, get="DISABLED")


def full(scene: Scene) -> Callable[[], object]:
    return altered(scene, max_depth=0)


def too_short(scene: Scene) -> Callable[[], object]:
    return altered(scene, max_msg_length=10)


def altered(scene: Scene, **changes: Any) -> Callable[[], object]:
    """Alter the initiation queue of QM1. Returns what takes that back."""
    repository = scene.group.repository("QM1")
    (shown,) = repository.display_queues("INIT", ("QLOCAL",))
    before = {name: getattr(shown.definition, name) for name in changes}
    repository.alter("QLOCAL", "INIT", changes)
    return lambda: repository.alter("QLOCAL", "INIT", before)


def no_process(scene: Scene) -> Callable[[], object]:
    processes = scene.group.repository("QM1").processes
    process = processes.named("PROC")
    assert isinstance(process, ProcessDefinition)
    processes.delete("PROC")
    return lambda: processes.define(process)


def another_initiation_queue(scene: Scene) -> Callable[[], object]:
    repository = scene.group.repository("QM1")
    repository.alter("QLOCAL", "Q", {"initiation_q_name": "ELSEWHERE"})
    return lambda: repository.alter("QLOCAL", "Q", {"initiation_q_name": "INIT"})


def get_disabled_of_the_queue(scene: Scene) -> Callable[[], object]:
    repository = scene.group.repository("QM1")
    repository.alter("QLOCAL", "Q", {"get": "DISABLED"})
    return lambda: repository.alter("QLOCAL", "Q", {"get": "ENABLED"})


MISSING = [
    *(put_disabled, get_disabled, full, too_short, no_process, another_initiation_queue, get_disabled_of_the_queue)
]


@pytest.mark.rule("mqi/triggers", "A trigger message comes later if the process or the initiation queue comes later.")
@pytest.mark.parametrize("kind", ["FIRST", "DEPTH"])
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "private"])
def test_a_trigger_waits_for_what_is_missing(
    scene: Scene, missing: Callable[[Scene], Callable[[], object]], kind: str, *, shared: bool
) -> None:
    scene.define(shared=shared, trigger_type=kind)
    scene.watch("QM1")
    scene.look()
    put_right = missing(scene)
    scene.putter().put(b"x")
    scene.look()
    scene.look()
    put_right()
    assert scene.count() == 1
    assert scene.count() == 0


def test_an_initiation_queue_that_is_defined_later(scene: Scene) -> None:
    scene.define(initiation_q_name="LATER")
    scene.putter().put(b"x")
    scene.look()
    scene.group.define_private("QM1", "LATER")
    scene.monitors["QM1"] = scene.connections["QM1"].open("LATER", INPUT)
    assert scene.count() == 1


@pytest.mark.parametrize("missing", [put_disabled, get_disabled, full])
def test_each_message_of_every_waits_for_the_initiation_queue(
    scene: Scene, missing: Callable[[Scene], Callable[[], object]]
) -> None:
    scene.define(trigger_type="EVERY")
    scene.watch("QM1")
    put_right = missing(scene)
    for _ in range(3):
        scene.putter().put(b"x")
        scene.look()
    put_right()
    assert scene.count() == 3


def test_a_trigger_that_waits_for_nothing_is_forgotten(scene: Scene) -> None:
    """Somebody else has taken the message meanwhile."""
    scene.define()
    scene.watch("QM1")
    put_right = put_disabled(scene)
    scene.putter().put(b"x")
    scene.look()
    assert drained(scene) == 1
    put_right()
    assert scene.count() == 0
    assert not scene.group.group.client().hlen(scene.group.group.structure("APPL1").owed)


# -- messages that were away -------------------------------------------------------------------------------------------


def unlocked(_: Scene, browser: Any) -> None:
    browser.unlock()


def closed(_: Scene, browser: Any) -> None:
    browser.close()


def browsed_on(_: Scene, browser: Any) -> None:
    with pytest.raises(MQIError):
        browser.get(GetOption.BROWSE_NEXT | GetOption.LOCK)


def died(scene: Scene, browser: Any) -> None:
    recoverer = scene.group.connect("QM2").connection
    recover(scene.group.group, recoverer, Target.parse(browser.connection.token), force=True)


@pytest.mark.rule("mqi/triggers", "A message that was locked by a browse triggers when the lock ends.")
@either_condition
@pytest.mark.parametrize("end", [unlocked, closed, browsed_on, died])
def test_a_message_that_was_locked_triggers(scene: Scene, kind: str, end: Callable[[Scene, Any], None]) -> None:
    scene.define(trigger_type=kind)
    scene.watch("QM1")
    browser = scene.group.connect("QM1").open("Q", OpenOption.BROWSE)
    scene.putter().put(b"x")
    browser.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    scene.look()
    assert drained(scene) == 0
    assert scene.count() == 0
    end(scene, browser)
    assert scene.count() == 1


@either_condition
def test_gets_that_are_backed_out_later_trigger(scene: Scene, kind: str) -> None:
    scene.define(trigger_type=kind)
    scene.watch("QM1")
    server = scene.group.connect("QM2")
    queue = server.open("Q", INPUT)
    scene.putter().put(b"x")
    queue.get(GetOption.SYNCPOINT)
    queue.close()
    assert scene.count() == 0
    connection = server.connection
    recover(scene.group.group, scene.group.connect("QM1").connection, Target.parse(connection.token), force=True)
    assert scene.count() == 1


# -- attributes --------------------------------------------------------------------------------------------------------


def test_an_alter_triggers_only_by_other_conditions(scene: Scene) -> None:
    scene.define()
    scene.watch("QM1")
    scene.putter().put(b"x")
    assert scene.count() == 1
    repository = scene.group.repository("QM1")
    repository.alter("QLOCAL", "Q", {"description": "another"})
    assert scene.count() == 0
    repository.alter("QLOCAL", "Q", {"trigger_control": "NOTRIGGER"})
    repository.alter("QLOCAL", "Q", {"trigger_control": "TRIGGER"})
    assert scene.count() == 1
    repository.alter("QLOCAL", "Q", {"trigger_type": "DEPTH"})
    assert scene.count() == 1
    assert scene.definition().trigger_control == "NOTRIGGER"


@pytest.mark.rule("mqi/triggers", "A queue that a program served is triggered anew when that leaves messages there.")
def test_a_program_that_leaves_messages_is_triggered_again(scene: Scene) -> None:
    scene.define()
    scene.watch("QM1")
    putter = scene.putter()
    putter.put(b"x", options=PutOption.NO_SYNCPOINT)
    assert scene.count() == 1
    with scene.connections["QM1"].open("Q", INPUT):
        putter.put(b"x")
    assert scene.count() == 1
    putter.put(b"x")
    assert scene.count() == 0


def test_a_look_from_before_mqset_does_not_trigger_after_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer has read its marks when the program sets TRIGGER, and opens the queue a moment later."""
    scene.define(trigger_type="DEPTH", trigger_depth=2)
    scene.watch("QM1")
    scene.putter().put(b"x")
    scene.putter().put(b"x")
    assert scene.count() == 1
    scene.group.repository("QM1").alter("QLOCAL", "Q", {"trigger_control": "TRIGGER"})
    for writer in scene.writers:
        writer._pause_s = 0
    read = TriggerWriter._read

    def read_then_set(writer: TriggerWriter) -> object:
        found = read(writer)
        scene.group.repository("QM1").alter("QLOCAL", "Q", {"trigger_control": "NOTRIGGER"})
        scene.group.repository("QM1").alter("QLOCAL", "Q", {"trigger_control": "TRIGGER"})
        return found

    monkeypatch.setattr(TriggerWriter, "_read", read_then_set)
    for writer in scene.writers:
        writer.take()
    monkeypatch.setattr(TriggerWriter, "_read", read)
    for writer in scene.writers:
        writer._pause_s = 3600
    assert scene.count() == 0
    assert drained(scene) == 2
