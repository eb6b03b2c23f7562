"""An agent with a long backlog sends further calls before it has read the replies to those before them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count, groupby
from typing import Any

import pytest
import redis

from igq.agent.progress.retry import Trouble
from igq.agent.queues.transmission_queue import BATCH_MESSAGES
from igq.agent.queues.transmit_part import BATCHES_PER_WRITE
from sharedq.mqi.constants import MQRC, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.redis.wire import Wire
from sharedq.scripts.objects import lookup_call
from tests.support.agents import AgentOfQM2, Put, bodies
from tests.support.injection import AlarmError
from tests.support.members import TestGroup
from tests.support.scenes import recover_lost

WRITE = BATCHES_PER_WRITE * BATCH_MESSAGES
#: A batch by which the agent learns of the rest; then two full writes, and a third that finds half a batch. A fourth
#: has left by the time that the agent reads this.
COUNT, WRITES = BATCH_MESSAGES + 2 * WRITE + BATCH_MESSAGES // 2, 4
BODIES = [b"%d" % number for number in range(COUNT)]
#: The steps of these writes: each is sent, and each has a reply to every call.
STEPS = WRITES * (1 + BATCHES_PER_WRITE)
SEND, READ = "send", "receive"
#: So many replicas must consent; the server has none.
CONSENT = {0: True, 1: False}

Step = Callable[[str, Callable[[], Any]], Any]


def put_many(group: TestGroup, name: str, bodies: list[bytes]) -> None:
    queue = group.connect("QM1").open(name, OpenOption.OUTPUT, qmgr_name="QM2")
    for start in range(0, len(bodies), 100):
        messages = [(MQMD(persistence=1), body) for body in bodies[start : start + 100]]
        queue.put_many(messages, options=PutOption.NO_SYNCPOINT)


@pytest.fixture
def backlog(group: TestGroup, agent: AgentOfQM2, put: Put) -> AgentOfQM2:
    """An agent that knows the destination and of a backlog: it has moved the first batch."""
    group.define_private("QM2", "FAR")
    put("FAR", b"first")
    agent.move()
    put_many(group, "FAR", BODIES)
    assert agent.queue.move().count == BATCH_MESSAGES
    return agent


def take_steps(monkeypatch: pytest.MonkeyPatch, step: Step) -> None:
    """Let *step* take each step of a link, of which it gets the name."""
    for name in (SEND, READ):
        original = getattr(Wire, name)

        def patched(*args: Any, _name: str = name, _original: Callable[..., Any] = original, **options: Any) -> Any:
            return step(_name, lambda: _original(*args, **options))

        monkeypatch.setattr(Wire, name, patched)


def act_at(monkeypatch: pytest.MonkeyPatch, at: int, act: Callable[[], object]) -> None:
    """Call *act* before the step with this number, without counting the steps of *act*."""
    steps, is_acting = count(1), False

    def step(_: str, take: Callable[[], Any]) -> Any:
        nonlocal is_acting
        if not is_acting and next(steps) == at:
            is_acting = True
            act()
            is_acting = False
        return take()

    take_steps(monkeypatch, step)


def test_a_write_leaves_before_the_replies_to_the_last_are_read(
    backlog: AgentOfQM2, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, turns = list[str](), set[int]()

    def note(name: str, take: Callable[[], Any]) -> Any:
        taken.append(name)
        turns.add(backlog.connection._link.turn)
        return take()

    take_steps(monkeypatch, note)
    moved = backlog.queue.move()
    monkeypatch.undo()

    assert moved.is_waiting
    assert moved.count == COUNT - BATCH_MESSAGES
    of_each = BATCHES_PER_WRITE
    assert [(name, len([*same])) for name, same in groupby(taken)] == [
        (SEND, 2), (READ, of_each), (SEND, 1), (READ, of_each), (SEND, 1), (READ, 2 * of_each)
    ]  # fmt: skip
    # A long move is not taken for the silence of a server.
    assert len(turns) > 2
    assert all(turn % 2 for turn in turns)
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]


def test_each_answer_shows_that_the_server_is_not_silent(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the last ones, after which nothing more is to be sent."""
    link, turns = group.group.new_link(), list[int]()
    call = lookup_call(group.group.keys, "QM2", b"FAR")
    link.call(*call)

    def note(name: str, take: Callable[[], Any]) -> Any:
        if name == READ:
            turns.append(link.turn)
        return take()

    take_steps(monkeypatch, note)
    link.call_repeatedly(call, 1, WRITES, lambda _: True)
    monkeypatch.undo()
    link.close()
    assert len(turns) == WRITES
    assert turns == sorted(set(turns))
    assert all(turn % 2 for turn in turns)


def move_all(agent: AgentOfQM2) -> int:
    """Move until the agent waits. Returns how many messages that were."""
    found = 0
    while True:
        moved = agent.queue.move()
        found += moved.count
        if moved.is_waiting:
            return found


def end_and_go_on(backlog: AgentOfQM2) -> None:
    """The connection of the agent has ended; another one does the rest."""
    with pytest.raises(MQIError) as caught:
        backlog.connection.check()
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    recover_lost(backlog.group, backlog.connection.token, by="QM2")
    AgentOfQM2(backlog.group).move()


@pytest.mark.invariant(5, 8)
@pytest.mark.parametrize("at", range(1, STEPS + 1))
@pytest.mark.parametrize("fault", ["lost", "alarm", "interrupted"])
def test_what_ends_a_move_at_any_step_loses_repeats_and_reorders_nothing(
    backlog: AgentOfQM2, fault: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writes that were sent run to their end, whether their replies are read or not."""

    def fail() -> None:
        if fault == "interrupted":
            backlog.connection._link.interrupt()
        else:
            raise redis.ConnectionError if fault == "lost" else AlarmError

    act_at(monkeypatch, at, fail)
    # If all replies have arrived, an interruption ends only the next call.
    with suppress(MQIError) if fault == "interrupted" else pytest.raises((MQIError, AlarmError)):
        backlog.queue.move()
    monkeypatch.undo()
    end_and_go_on(backlog)
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]


@pytest.mark.invariant(5, 8)
@pytest.mark.parametrize("are_loaded_again", [False, True])
@pytest.mark.parametrize("at", range(1, STEPS + 1))
def test_scripts_that_are_flushed_at_any_step_do_not_end_the_connection(
    backlog: AgentOfQM2, at: int, are_loaded_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program may load them again before the agent does: some calls in the middle have done nothing then."""
    group = backlog.group.group
    other, call = group.new_link(), lookup_call(group.keys, "QM2", b"FAR")
    other.call(*call)

    def flush() -> None:
        group.client().script_flush()

    act_at(monkeypatch, at, flush)
    if are_loaded_again:
        act_at(monkeypatch, at + BATCHES_PER_WRITE, lambda: other.call(*call))
    moved = backlog.queue.move().count
    monkeypatch.undo()
    assert moved + move_all(backlog) == COUNT - BATCH_MESSAGES
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]
    other.close()


def alter_destination(backlog: AgentOfQM2) -> None:
    backlog.group.repository("QM2").alter("QLOCAL", "FAR", {"description": "altered"})


def define_another(backlog: AgentOfQM2) -> None:
    backlog.group.define_private("QM2", "OTHER")
    put_many(backlog.group, "OTHER", [b"other"])


def alter_transmit_queue(backlog: AgentOfQM2) -> None:
    backlog.group.repository("QM2").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"description": "altered"})


def put_another(backlog: AgentOfQM2) -> None:
    put_many(backlog.group, "FAR", [b"another"])


@pytest.mark.invariant(5, 8)
@pytest.mark.parametrize("at", range(1, STEPS + 1, 2))
@pytest.mark.parametrize("happen", [alter_destination, define_another, alter_transmit_queue, put_another])
def test_news_at_any_step_lose_repeat_and_reorder_nothing(
    backlog: AgentOfQM2, happen: Callable[[AgentOfQM2], None], at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    act_at(monkeypatch, at, lambda: happen(backlog))
    moved = backlog.queue.move().count
    monkeypatch.undo()
    moved += move_all(backlog)

    more = [b"another"] if happen is put_another else []
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES, *more]
    expected = COUNT - BATCH_MESSAGES + len(more)
    if happen is define_another:
        assert bodies(backlog.group, "OTHER") == [b"other"]
        expected += 1
    assert moved == expected


@pytest.mark.parametrize("at", range(1, STEPS + 1, 4))
def test_messages_that_moved_before_a_trouble_count(
    backlog: AgentOfQM2, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inhibit(get: str) -> None:
        backlog.group.repository("QM2").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": get})

    act_at(monkeypatch, at, lambda: inhibit("DISABLED"))
    found = 0
    try:
        found += backlog.queue.move().count
        backlog.queue.move()
    except Trouble:
        pass
    monkeypatch.undo()
    inhibit("ENABLED")
    backlog.queue.reload()
    assert found + move_all(backlog) == COUNT - BATCH_MESSAGES
    assert bodies(backlog.group, "FAR") == [b"first", *BODIES]


def test_a_destination_that_the_calls_do_not_name_costs_few_calls(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    """Long runs for one queue and then for another: each call that meets an unknown one moves nothing."""
    names, runs = ("NEAR", "FAR"), 4
    for name in names:
        group.define_private("QM2", name)
        put(name, b"first")
        agent.move()
    for number in range(runs * len(names)):
        name = names[number % len(names)]
        put_many(group, name, [b"%d" % (number * WRITE + at) for at in range(WRITE)])
    client = group.group.client()
    before = int(client.info("commandstats")["cmdstat_evalsha"]["calls"])
    assert agent.move().is_waiting
    calls = int(client.info("commandstats")["cmdstat_evalsha"]["calls"]) - before

    useful = runs * len(names) * BATCHES_PER_WRITE
    assert calls <= useful + 4 * BATCHES_PER_WRITE
    for at, name in enumerate(names):
        found = [
            body
            for number in range(at, runs * len(names), len(names))
            for body in range(number * WRITE, (number + 1) * WRITE)
        ]
        assert bodies(group, name) == [b"first", *(b"%d" % each for each in found)]


@pytest.mark.parametrize("replicas", CONSENT)
def test_the_replicas_consent_to_every_write(backlog: AgentOfQM2, replicas: int) -> None:
    link, call = backlog.group.group.new_link(), lookup_call(backlog.group.group.keys, "QM2", b"FAR")
    link._wait = (replicas, 10)
    if CONSENT[replicas]:
        replies = link.call_repeatedly(call, BATCHES_PER_WRITE, WRITES, lambda _: True)
        assert replies == [link.call(*call)] * BATCHES_PER_WRITE * WRITES
    else:
        with pytest.raises(MQIError, match="0 of 1 replicas acknowledged") as caught:
            link.call_repeatedly(call, BATCHES_PER_WRITE, WRITES, lambda _: True)
        assert caught.value.reason == MQRC.CONNECTION_BROKEN
    link.close()
