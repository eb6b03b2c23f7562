"""Messages through IGQ for temporary dynamic queues, which accept no persistent messages."""

from __future__ import annotations

import pytest

from sharedq import Queue
from sharedq.calls.handles.open import open_queue
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.structures import MQOD
from sharedq.objects.definitions.queues import QueueModel
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.recovery.scene import register_wait
from tests.support.agents import AgentOfQM2, Put, bodies, moved_by_puts
from tests.support.members import TestGroup

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT


@pytest.fixture
def replies(group: TestGroup, agent: AgentOfQM2) -> Queue:  # noqa: ARG001 - QM2 must be there
    """A temporary dynamic queue of QM2."""
    group.repository("QM2").define(QueueModel(name="TEMP", definition_type="TEMPDYN"))
    connection = group.connect("QM2").connection
    return Queue(connection, open_queue(connection, MQOD(object_name=b"TEMP", dynamic_q_name=b"REPLY.*"), BOTH))


def letters(group: TestGroup) -> list[tuple[int, bytes]]:
    """Reason and data of each dead letter."""
    found = bodies(group, SYSTEM_DEAD_LETTER_QUEUE)
    return [(wire.DLH.unpack(letter).reason, letter[wire.DLH.length(1) :]) for letter in found]


@pytest.mark.rule(
    "mqi/close", "A persistent report or message from another manager for a temporary queue is dead-lettered."
)
@pytest.mark.parametrize("fields", [{}, {"correl_id": b"C" * 24}, {"expiry": 6000}], ids=str)
@pytest.mark.parametrize("known", [False, True], ids=["new to the agent", "known to the agent"])
def test_a_persistent_message_goes_to_the_dead_letter_queue(
    group: TestGroup, agent: AgentOfQM2, put: Put, replies: Queue, fields: dict[str, object], known: bool
) -> None:
    name = replies.handle.name
    if known:
        put(name, b"first", persistence=0)
        agent.deliver()
        assert replies.get().body == b"first"
    for number in range(6):
        put(name, b"%d" % number, persistence=number % 2, **fields)
    for _ in range(6):
        agent.deliver()
    assert [replies.get().body for _ in range(3)] == [b"0", b"2", b"4"]
    assert letters(group) == [(MQRC.PERSISTENT_NOT_ALLOWED, body) for body in (b"1", b"3", b"5")]


def test_a_nonpersistent_message_is_moved_unread(group: TestGroup, agent: AgentOfQM2, put: Put, replies: Queue) -> None:
    name = replies.handle.name
    for _ in range(2):
        for body in (b"a", b"b"):
            put(name, body, persistence=0)
        assert not agent.move().is_stuck
        assert bodies(group, name) == [b"a", b"b"]


@pytest.mark.parametrize("persistence", [0, 1])
def test_a_carried_message_is_not_persistent(
    group: TestGroup, agent: AgentOfQM2, put: Put, replies: Queue, persistence: int
) -> None:
    name = replies.handle.name
    for each in (0, persistence):
        put(name, b"hello", persistence=each)
    assert agent.carry() == [2] * (1 - persistence)
    assert len(bodies(group, name)) == 2 * (1 - persistence)


@pytest.mark.rule("mqi/close", "A persistent message for a temporary queue does not take the hop in its put.")
@pytest.mark.parametrize("persistence", [0, 1])
def test_a_message_that_hops_in_its_put_is_not_persistent(
    group: TestGroup, agent: AgentOfQM2, put: Put, replies: Queue, persistence: int
) -> None:
    name = replies.handle.name
    put(name, b"first", persistence=0)
    agent.move()
    assert replies.get().body == b"first"
    assert agent.queue.move().is_waiting
    register_wait(replies, b"A!")
    put(name, b"hello", persistence=persistence)
    assert moved_by_puts(group.group, "QM2") == 1 - persistence
