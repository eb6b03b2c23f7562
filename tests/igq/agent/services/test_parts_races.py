"""Parts of the transmission queue during commands about it and about structures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from igq.agent.progress.pipe import Pulse
from igq.agent.progress.sleep import Nudge
from igq.agent.queues.tags import part_tag
from igq.agent.services.base import Post
from igq.agent.services.part import PartService
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.directory import Directory, Entry
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.parts import part_in
from tests.support.agents import AgentOfQM2
from tests.support.members import TestGroup

PATIENCE_S = 60
PART = part_in("APPL2", "QM2")


@pytest.fixture
def pair(group: TestGroup, agent: AgentOfQM2) -> TestGroup:
    """QM1 and QM2, and a structure without queues."""
    del agent
    group.define_structure("APPL2")
    return group


def before_the_part_is_made(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen between the look at the definition and the first part that is made from it."""
    real, made = Finder.set_partition, list[int]()

    def late(self: Finder, master: Entry, place: Any, **how: Any) -> Any:
        if not made:
            made.append(1)
            happens()
        return real(self, master, place, **how)

    monkeypatch.setattr(Finder, "set_partition", late)


def put_other(group: TestGroup) -> None:
    group.connect("QM1").put1("OTHER", b"1", MQMD(persistence=1), qmgr_name="QM2")


def alter_and_define(group: TestGroup) -> None:
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"put": "DISABLED"})
    group.define_shared("OTHER", "APPL2")


@pytest.mark.rule(
    "igq/parts", "A part is neither made from an old definition nor left after a delete, whatever commands meet."
)
def test_no_part_is_made_from_a_definition_before_an_alter(pair: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ALTER found no queues in the structure, so no part either; it gets its first one before the agent goes on."""
    before_the_part_is_made(monkeypatch, lambda: alter_and_define(pair))
    pair.repository("QM2").make_transmit_parts("QM2")
    with pytest.raises(MQIError) as caught:
        put_other(pair)
    assert caught.value.reason == MQRC.PUT_INHIBITED


def test_none_is_made_in_a_structure_that_was_deleted(pair: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ALTER does not reach it any more. It counts when the structure is defined again."""
    pair.define_shared("OTHER", "APPL2")
    repository = pair.repository("QM1")
    repository.delete("QLOCAL", "OTHER")
    before_the_part_is_made(monkeypatch, lambda: repository.delete_structure("APPL2"))
    pair.repository("QM2").make_transmit_parts("QM2")
    repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"put": "DISABLED"})
    pair.define_structure("APPL2")
    pair.define_shared("OTHER", "APPL2")
    with pytest.raises(MQIError) as caught:
        put_other(pair)
    assert caught.value.reason == MQRC.PUT_INHIBITED


@pytest.mark.rule(
    "igq/parts", "A part is neither made from an old definition nor left after a delete, whatever commands meet."
)
def test_one_that_is_made_in_the_middle_of_a_delete_is_deleted(
    group: TestGroup, agent: AgentOfQM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    del agent
    real, made = Directory.remove, list[int]()

    def remove(self: Directory, entry: Entry) -> tuple[bool, int]:
        if entry.name == SYSTEM_QSG_TRANSMIT_QUEUE and not made:
            made.append(1)
            group.define_structure("APPL2")
            group.define_shared("OTHER", "APPL2")
            assert group.repository("QM2").make_transmit_parts("QM2") == [PART]
        return real(self, entry)

    monkeypatch.setattr(Directory, "remove", remove)
    group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE)
    with pytest.raises(MQIError) as caught:
        put_other(group)
    assert (made, caught.value.reason) == ([1], MQRC.UNKNOWN_REMOTE_Q_MGR)


def test_a_structure_is_not_deleted_while_programs_can_send_there(pair: TestGroup) -> None:
    pair.define_shared("OTHER", "APPL2")
    repository = pair.repository("QM1")
    assert repository.make_transmit_parts("QM2") == [PART]
    other = pair.connect("QM1").open("OTHER", OpenOption.OUTPUT, qmgr_name="QM2")
    repository.delete("QLOCAL", "OTHER")
    with pytest.raises(MQIError) as caught:
        repository.delete_structure("APPL2")
    assert caught.value.reason == MQRC.CF_STRUC_IN_USE
    other.put(b"1", MQMD(persistence=1))


# -- a delivery and its end ----------------------------------------------------------------------------------


def delivery(group: TestGroup, pause: Nudge) -> PartService:
    process = group.process("QM2")
    return PartService(
        Post(group.group, process, lambda *_: None, lambda _: None, Pulse(), pause), PART, part_tag(PART)
    )


def test_a_nudge_that_has_ended_ends_every_pause() -> None:
    pause = Nudge()
    pause.end()
    pause.begin_attempt()
    before_s = time.monotonic()
    pause(PATIENCE_S)
    assert time.monotonic() - before_s < PATIENCE_S / 2


def test_a_part_ends_at_any_moment_on_request(pair: TestGroup) -> None:
    """At the moment in which it begins a failing attempt there is no part."""

    class Racing(Nudge):
        def begin_attempt(self) -> None:
            its.stop()
            super().begin_attempt()

    its = delivery(pair, Racing())
    thread = threading.Thread(target=its.run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S / 2)
    assert not thread.is_alive()


def test_a_structure_that_is_gone_before_it_is_entered_is_trouble(pair: TestGroup) -> None:
    pair.define_shared("OTHER", "APPL2")
    repository = pair.repository("QM1")
    repository.make_transmit_parts("QM2")
    repository.delete("QLOCAL", "OTHER")
    repository.delete_structure("APPL2")
    failures: list[BaseException] = []
    paused, ended = threading.Event(), threading.Event()

    class Told(Nudge):
        def __call__(self, seconds: float) -> None:
            paused.set()
            super().__call__(seconds)

    its = delivery(pair, Told())

    def run() -> None:
        try:
            its.run()
        except BaseException as error:  # noqa: BLE001 - looked at below
            failures.append(error)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert paused.wait(PATIENCE_S)
    its.stop()
    assert ended.wait(PATIENCE_S / 2)
    assert failures == []
