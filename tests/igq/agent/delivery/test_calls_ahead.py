"""An agent with a long backlog sends further calls before it has read the replies to those before them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, groupby
from typing import Any

import pytest
import redis
from redis.connection import UnixDomainSocketConnection

from igq.agent.progress.retry import Trouble
from igq.agent.queues.shared_part import BATCHES_PER_WRITE
from igq.agent.queues.transmission_queue import BATCH_MESSAGES
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.scripts.objects import lookup_call
from tests.support.agents import AgentOfQM2, bodies
from tests.support.injection import AlarmError
from tests.support.members import TestGroup
from tests.support.scenes import recover_lost

#: A batch by which the agent learns of the rest, and three writes, the last of which finds half a batch.
WRITES = 3
COUNT = BATCH_MESSAGES + (WRITES - 1) * BATCHES_PER_WRITE * BATCH_MESSAGES + BATCH_MESSAGES // 2
BODIES = [b"%d" % number for number in range(COUNT)]
#: The steps of these writes: each is sent, and each has a reply to every call.
STEPS = WRITES * (1 + BATCHES_PER_WRITE)
SEND, READ = "send_packed_command", "read_response"

#: So many replicas must consent; the server has none.
CONSENT = {0: True, 1: False}

Step = Callable[[str, Callable[[], Any]], Any]


@pytest.fixture
def backlog(group: TestGroup, agent: AgentOfQM2) -> AgentOfQM2:
    """An agent that knows the destination and of a backlog: it has moved the first batch."""
    group.define_private("QM2", "FAR")
    queue = group.connect("QM1").open("FAR", OpenOption.OUTPUT, qmgr_name="QM2")
    queue.put(b"first", MQMD(persistence=1))
    agent.move()
    for start in range(0, COUNT, 100):
        messages = [(MQMD(persistence=1), body) for body in BODIES[start : start + 100]]
        queue.put_many(messages, options=PutOption.NO_SYNCPOINT)
    assert agent.queue.move().count == BATCH_MESSAGES
    return agent


def take_steps(monkeypatch: pytest.MonkeyPatch, step: Step) -> None:
    """Let *step* take each step of a link, of which it gets the name."""
    for name in (SEND, READ):
        original = getattr(UnixDomainSocketConnection, name)

        def patched(*args: Any, _name: str = name, _original: Callable[..., Any] = original, **options: Any) -> Any:
            return step(_name, lambda: _original(*args, **options))

        monkeypatch.setattr(UnixDomainSocketConnection, name, patched)


def test_a_write_leaves_before_the_replies_to_the_last_are_read(
    backlog: AgentOfQM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def note(name: str, take: Callable[[], Any]) -> Any:
        taken.append(name)
        return take()

    take_steps(monkeypatch, note)
    moved = backlog.queue.move()
    monkeypatch.undo()

    assert moved.is_waiting
    assert moved.count == COUNT - BATCH_MESSAGES
    of_each = BATCHES_PER_WRITE
    assert [(name, len([*same])) for name, same in groupby(taken)] == [
        (SEND, 2), (READ, of_each), (SEND, 1), (READ, 2 * of_each)
    ]  # fmt: skip
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]


@pytest.mark.invariant(5, 8)
@pytest.mark.parametrize("at", range(1, STEPS + 1))
@pytest.mark.parametrize("fault", [redis.ConnectionError, AlarmError])
def test_what_ends_a_move_at_any_step_loses_repeats_and_reorders_nothing(
    backlog: AgentOfQM2, fault: type[Exception], at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writes that were sent run to their end, whether their replies are read or not."""
    steps = count(1)

    def fail(_: str, take: Callable[[], Any]) -> Any:
        if next(steps) == at:
            raise fault()
        return take()

    take_steps(monkeypatch, fail)
    with pytest.raises((Trouble, MQIError, AlarmError)):
        backlog.queue.move()
    monkeypatch.undo()
    with pytest.raises(MQIError) as caught:
        backlog.connection.check()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    recover_lost(backlog.group, backlog.connection.token, by="QM2")

    AgentOfQM2(backlog.group).move()
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]


@pytest.mark.invariant(5, 8)
@pytest.mark.parametrize("at", range(1, STEPS + 1))
def test_scripts_that_are_flushed_at_any_step_lose_repeat_and_reorder_nothing(
    backlog: AgentOfQM2, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = count(1)

    def flush(_: str, take: Callable[[], Any]) -> Any:
        if next(steps) == at:
            # The steps of this connection count, too, but come later.
            backlog.group.group.client().script_flush()
        return take()

    take_steps(monkeypatch, flush)
    assert backlog.queue.move().is_waiting
    monkeypatch.undo()
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]


@pytest.mark.parametrize("replicas", CONSENT)
def test_the_replicas_consent_once_to_all_writes(backlog: AgentOfQM2, replicas: int) -> None:
    link, call = backlog.group.group.new_link(), lookup_call(backlog.group.group.keys, "QM2", b"FAR")
    link._wait = (replicas, 10)
    if CONSENT[replicas]:
        replies = link.call_repeatedly(call, BATCHES_PER_WRITE, WRITES)
        assert replies == [link.call(*call)] * BATCHES_PER_WRITE * WRITES
    else:
        with pytest.raises(MQIError, match="0 of 1 replicas acknowledged") as caught:
            link.call_repeatedly(call, BATCHES_PER_WRITE, WRITES)
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
    link.close()
