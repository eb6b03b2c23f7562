"""A run of plain messages hops as one, with the same result as message by message."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from igq.agent.progress.retry import Trouble
from igq.agent.queues.transmit_part import RECENT_MOVES
from recovery.resolution import recover
from recovery.target import Target
from sharedq.messages.message import Message
from sharedq.mqi.constants import GetOption, MatchOption, OpenOption
from sharedq.mqi.limits import PRIORITY_AS_Q_DEF
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.store.authorities import Authorities
from tests.support.agents import AgentOfQM2, Put, bodies, drain
from tests.support.members import TestGroup
from tests.support.scenes import until

#: MAXMSGL is shorter than on the transmission queue: each message must be measured, so none goes in a run.
MEASURED = {"max_msg_length": 1000}


def runs(group: TestGroup) -> int:
    """Runs moved so far. No other step of an agent removes by rank."""
    return int(group.group.client().info("commandstats").get("cmdstat_zremrangebyrank", {"calls": 0})["calls"])


def define(group: TestGroup, put: Put, agent: AgentOfQM2, **attributes: object) -> None:
    """Two queues with different ways for messages. An agent has delivered to one of them and knows its number."""
    for name, way in (("RUN", {}), ("ONE", MEASURED)):
        group.define_private("QM2", name, **attributes, **way)
        put(name, b"first")
        agent.move()
        assert bodies(group, name) == [b"first"]


@pytest.mark.parametrize("priorities", [[4] * 7, [4, 4, 9, 0, 4, 9], [PRIORITY_AS_Q_DEF] * 3])
@pytest.mark.parametrize("sequence", ["PRIORITY", "FIFO"])
def test_both_ways_end_in_the_same_place(
    group: TestGroup,
    agent: AgentOfQM2,
    put: Put,
    priorities: list[int],
    sequence: str,
) -> None:
    define(group, put, agent, msg_delivery_sequence=sequence, def_priority=3)
    before, found = runs(group), {}
    for name in ("ONE", "RUN"):
        there = group.connect("QM2").open(name, OpenOption.OUTPUT)
        there.put(b"was there", MQMD(priority=4))
        sent = [put(name, b"%d" % n, priority=priority).msg_id for n, priority in enumerate(priorities)]
        agent.move()
        there.put(b"came later", MQMD(priority=4))
        keys = group.group.structure("@QM2").queue(name)
        entries: Any = group.group.client().zrange(keys.available, 0, -1, withscores=True)
        assert len({score for _, score in entries}) == len(entries)
        messages = drain(group.connect("QM2"), name)
        assert sorted(message.md.msg_id for message in messages if message.body.isdigit()) == sorted(sent)
        found[name] = [(message.body, message.md.priority, message.md.backout_count) for message in messages]

    assert found["RUN"] == found["ONE"]
    assert runs(group) - before == 1


@pytest.mark.rule("igq/agent", "Messages for several queues move in one call, in the order of each queue.")
@pytest.mark.invariant(5)
@pytest.mark.parametrize("seed", range(6))
def test_runs_for_several_queues_end_as_message_by_message(
    group: TestGroup, agent: AgentOfQM2, put: Put, seed: int
) -> None:
    """The same messages twice: for queues that they reach in runs, and for queues that need each one measured."""
    chance = random.Random(seed)
    queues = [
        {"msg_delivery_sequence": chance.choice(["PRIORITY", "FIFO"]), "def_priority": chance.randrange(10)}
        for _ in range(chance.randrange(2, 6))
    ]
    for way, more in (("RUN", {}), ("ONE", MEASURED)):
        for number, attributes in enumerate(queues):
            group.define_private("QM2", f"{way}.{number}", **attributes, **more)
            put(f"{way}.{number}", b"first")
        agent.move()
    messages = [
        (chance.randrange(len(queues)), chance.choice([0, 4, 4, 4, 9]), chance.random() < 0.3) for _ in range(120)
    ]
    before, moved = runs(group), 0
    for way in ("RUN", "ONE"):
        for position, (number, priority, is_moved_now) in enumerate(messages):
            put(f"{way}.{number}", b"%d" % position, priority=priority)
            if is_moved_now:
                moved += way == "RUN"
                agent.move()
        agent.move()

    found = {
        way: [
            [(message.body, message.md.priority) for message in drain(group.connect("QM2"), f"{way}.{number}")]
            for number in range(len(queues))
        ]
        for way in ("RUN", "ONE")
    }
    assert found["RUN"] == found["ONE"]
    assert sum(len(messages) - 1 for messages in found["RUN"]) == len(messages)
    assert runs(group) - before >= moved


@pytest.mark.parametrize(("waiters", "is_run"), [(["any"], True), (["its MsgId"], False), (["any", "any"], False)])
def test_a_waiter_for_one_message_of_a_run_is_woken(
    group: TestGroup, agent: AgentOfQM2, put: Put, waiters: list[str], is_run: bool
) -> None:
    """A single get of any message does not prevent a run. Any other wait has each message examined."""
    define(group, put, agent)
    sent = [put("RUN", b"%d" % number) for number in range(3)]
    keys, client = group.group.structure("@QM2"), group.group.client()
    found: list[bytes] = []

    def wait(how: str) -> None:
        with group.connect("QM2").open("RUN", OpenOption.INPUT_SHARED) as queue:
            match, options = (sent[1], MatchOption.MATCH_MSG_ID) if how == "its MsgId" else (None, 0)
            found.append(queue.get(GetOption.WAIT, wait_ms=-1, match=match, match_options=options).body)

    threads = [threading.Thread(target=wait, args=(how,)) for how in waiters]
    for thread in threads:
        thread.start()
    waiting = b"%d" % len(waiters)
    until(lambda: client.hget(keys.queue("RUN").queue, "nw") == waiting, "they wait", 60)
    before = runs(group)
    assert agent.move().left == 0
    is_one = runs(group) == before + 1
    for thread in threads:
        thread.join()

    assert is_one is is_run
    expected = [b"1"] if "its MsgId" in waiters else [b"0", b"1"][: len(waiters)]
    assert sorted(found) == expected
    assert bodies(group, "RUN") == [body for body in (b"0", b"1", b"2") if body not in expected]
    assert client.hget(keys.queue("RUN").queue, "nw") == b"0"


@pytest.mark.rule("igq/agent", "A waiting agent moves the message that wakes it in the same call.")
def test_a_waiting_agent_moves_a_message_in_the_call_that_ends_its_wait(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    define(group, put, agent)
    assert agent.queue.move().is_waiting
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.append(agent.queue.wait_and_move()[0].count))
    waiting.start()
    put("RUN", b"1")
    waiting.join()

    assert found == [1]
    assert bodies(group, "RUN") == [b"1"]


def test_a_stopping_agent_leaves_the_next_message_to_a_waiter(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    assert agent.queue.move().is_waiting
    agent.connection.notice_quiescing()
    assert agent.queue.wait_and_move()[0].count == 0
    put("RUN", b"1")

    keys = group.group.structure("@QM2")
    client = group.group.client()
    queue = keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert (client.zcard(queue.waiters), client.hget(queue.queue, "nw")) == (0, b"0")
    assert client.hget(keys.owners, agent.connection.token) == b""


@pytest.mark.rule("igq/agent", "A dead agent passes on the wake-up for messages that it did not move.")
def test_a_dead_agent_passes_on_what_it_was_woken_for(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    assert agent.queue.move().is_waiting
    other = AgentOfQM2(group)
    assert other.queue.move().is_waiting
    put("RUN", b"1")
    owners = group.group.structure("@QM2").owners
    tokens = [each.connection.token for each in (agent, other)]
    states: list[Any] = [group.group.client().hget(owners, token) for token in tokens]
    dead, living = (agent, other) if states[0][:1] == b"K" else (other, agent)
    assert sorted(state[:1] for state in states) == [b"K", b"W"]

    dead.connection.break_off()
    recover(group.group, group.connect("QM1").connection, Target.parse(dead.connection.token), force=True)

    moved, _ = living.queue.wait_and_move()
    # One of them had not delivered there yet.
    assert moved.count or living.queue.move().count
    assert bodies(group, "RUN") == [b"1"]


@pytest.mark.rule("igq/agent", "A change made while the agent waits counts for the message that wakes it.")
@pytest.mark.parametrize("change", ["alter", "authorities"])
def test_a_change_during_the_wait_counts_for_the_waking_message(
    group: TestGroup, agent: AgentOfQM2, put: Put, change: str
) -> None:
    define(group, put, agent)
    assert agent.queue.move().is_waiting
    if change == "alter":
        group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"description": "new"})
    else:
        Authorities(group.group).change("OTHER", "NOBODY", add=["PUT"])
    put("RUN", b"1")

    moved, _ = agent.queue.wait_and_move()

    assert (moved.count, moved.is_waiting) == (0, False)
    assert agent.queue.move().is_stuck == (change == "authorities")


def test_a_message_that_came_in_a_run_is_found_by_its_msg_id(
    group: TestGroup,
    agent: AgentOfQM2,
    put: Put,
) -> None:
    define(group, put, agent)
    sent = [put("RUN", b"%d" % n) for n in range(5)]
    before = runs(group)
    agent.move()

    with group.connect("QM2").open("RUN", OpenOption.INPUT_SHARED) as queue:
        wanted = MQMD(msg_id=sent[3].msg_id)
        assert queue.get(match=wanted, match_options=MatchOption.MATCH_MSG_ID).body == b"3"
    assert runs(group) == before + 1


def test_a_run_that_the_queue_has_no_room_for_goes_as_far_as_there_is_room(
    group: TestGroup,
    agent: AgentOfQM2,
    put: Put,
) -> None:
    define(group, put, agent, max_depth=3)
    for n in range(5):
        put("RUN", b"%d" % n)
    before = runs(group)

    assert (agent.move().is_stuck, runs(group)) == (True, before)
    assert bodies(group, "RUN") == [b"0", b"1", b"2"]


@pytest.mark.parametrize("other", ["another queue", "a CorrelId", "an expiry"])
def test_a_batch_that_is_not_all_plain_for_one_queue_is_no_run(
    group: TestGroup,
    agent: AgentOfQM2,
    put: Put,
    other: str,
) -> None:
    define(group, put, agent)
    put("RUN", b"0")
    if other == "another queue":
        put("ONE", b"other")
    else:
        put("RUN", b"other", **({"correl_id": b"c" * 24} if other == "a CorrelId" else {"expiry": 10_000}))
    put("RUN", b"1")
    before = runs(group)

    assert (agent.move().left, runs(group)) == (0, before)
    assert [body for body in bodies(group, "RUN") if body != b"other"] == [b"0", b"1"]


def test_a_run_is_journaled_message_by_message(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    define(group, put, agent)
    for n in range(3):
        put("RUN", b"%d" % n)
    keys = group.group.structure("@QM2")
    ids = group.group.client().zrange(keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE).available, 0, -1)
    agent.move()

    events: Any = group.group.client().xrevrange(keys.journal, count=1)
    ((_, event),) = events
    assert (event[b"e"], event[b"t"], event[b"i"].split()) == (b"transfer", b"RUN", ids)


def test_an_unmovable_message_is_got_in_the_call_that_ends_the_wait(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    define(group, put, agent)
    group.define_shared("POOL")
    put("POOL", b"0")
    assert agent.carry() == [1]
    assert agent.queue.move().is_waiting
    for name in ("RUN", "POOL", "RUN"):
        put(name, b"1")

    moved, messages = agent.queue.wait_and_move(may_take=True)

    assert (moved.count, [message.body for message in messages]) == (2, [b"1"])
    assert agent.carrier.carry(messages, "")
    assert agent.queue.commit_and_take() == []
    assert (bodies(group, "RUN"), bodies(group, "POOL", "QM1")) == ([b"1", b"1"], [b"0", b"1"])


def test_messages_got_when_the_queue_is_inhibited_go_back(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """First the authorities change, so nothing moves, and then the queue. The agent keeps messages got in between."""
    define(group, put, agent)
    assert agent.queue.move().is_waiting
    group.group.call("structure/set_versions", [group.group.structure("@QM2").versions], ["AUT", "9999999"])
    put("RUN", b"1")
    reload = agent.queue.reload

    def inhibit_and_reload() -> None:
        group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
        reload()

    agent.queue.reload = inhibit_and_reload  # type: ignore[method-assign]
    with pytest.raises(Trouble):
        agent.queue.wait_and_move(may_take=True)

    assert not agent.connection.has_unit
    state = group.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE)
    assert group.group.client().zcard(state.available) == 1


def test_a_queue_that_is_defined_here_later_is_moved_to(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """It led to a shared queue, so the agent did not ask again until that queue had gone."""
    group.define_shared("POOL")
    for number in range(3):
        put("POOL", b"%d" % number)
        assert agent.carry() == [1]
    group.repository("QM1").delete("QLOCAL", "POOL", purge=True)
    group.define_private("QM2", "POOL")
    put("POOL", b"3")
    assert agent.deliver() == 0
    put("POOL", b"4")

    assert (agent.move().left, agent.move().is_stuck) == (0, False)
    assert bodies(group, "POOL") == [b"3", b"4"]


@pytest.fixture
def getter(group: TestGroup, agent: AgentOfQM2, put: Put) -> Iterator[Future[Message]]:
    """A get of any message that waits on RUN."""
    define(group, put, agent)
    with ThreadPoolExecutor(1) as pool, group.connect("QM2").open("RUN", OpenOption.INPUT_SHARED) as queue:
        future = pool.submit(queue.get, GetOption.WAIT, wait_ms=60_000)
        state = group.group.structure("@QM2").queue("RUN").queue
        until(lambda: group.group.client().hget(state, "nw") == b"1", "it waits", 60)
        yield future


def waits_on_run(group: TestGroup) -> bytes:
    """The waiters on it."""
    owners: Any = group.group.client().hgetall(group.group.structure("@QM2").owners)
    (waiting,) = [token for token, state in owners.items() if state.startswith(b"WRUN")]
    return bytes(waiting)


@pytest.mark.rule("igq/agent", "The hop hands a single message to a getter that waits for any message.")
@pytest.mark.parametrize("correl_id", [b"", b"c" * 24])
def test_a_getter_of_any_message_is_handed_a_single_one(
    group: TestGroup, agent: AgentOfQM2, put: Put, getter: Future[Message], correl_id: bytes
) -> None:
    keys, client = group.group.structure("@QM2"), group.group.client()
    waiting = waits_on_run(group)
    sent = put("RUN", b"lone", priority=7, correl_id=correl_id)
    assert agent.queue.move().count == 1
    message = getter.result(60)
    # It has made no call since then.
    assert client.hget(keys.owners, waiting) == b"HRUN"
    assert (message.body, message.md.msg_id, message.md.priority) == (b"lone", sent.msg_id, 7)
    assert message.md.correl_id.rstrip(b"\0") == correl_id
    assert (client.hlen(keys.messages), client.zcard(keys.queue("RUN").index)) == (0, 0)
    events: Any = client.xrevrange(keys.journal, count=3)
    told = [(event[b"e"], event.get(b"t", event[b"q"]), event[b"i"]) for _, event in reversed(events)]
    number = told[0][2]
    transmit = SYSTEM_QSG_TRANSMIT_QUEUE.encode()
    assert told == [(b"put", transmit, number), (b"transfer", b"RUN", number), (b"get", b"RUN", number)]


@pytest.mark.parametrize("what", ["al", "mk", "gm", "lg"])
def test_where_anything_stands_in_the_way_it_looks_itself(
    group: TestGroup, agent: AgentOfQM2, put: Put, getter: Future[Message], what: str
) -> None:
    """An ALTER whose waits have not been woken yet, marks, members of groups, long messages."""
    client, keys = group.group.client(), group.group.structure("@QM2")
    client.hset(keys.queue("RUN").queue, what, 1)
    waiting = waits_on_run(group)
    put("RUN", b"lone")
    assert agent.queue.move().count == 1
    message = getter.result(60)
    assert message.body == b"lone"
    assert client.hget(keys.owners, waiting) == b""


@pytest.mark.rule(
    "igq/agent", "A transfer call names the recent destinations; a message for another moves with the next call."
)
def test_a_call_names_recent_destinations_and_the_next_one_moves_others(
    group: TestGroup, agent: AgentOfQM2, put: Put
) -> None:
    """A call that does not name its queue still moves a message for another queue, in its order."""
    for name in ("OFTEN", "SELDOM"):
        group.define_private("QM2", name)
        put(name, b"first")
        agent.move()
    for number in range(RECENT_MOVES + 1):
        put("OFTEN", b"%d" % number)
        agent.move()
    assert [each.name for each in agent.queue.destinations] == ["OFTEN"]
    # While it waits, puts may move messages to both.
    assert agent.queue.destinations.moves(1 << 22).count("\n") == 2
    for number in range(3):
        for name in ("OFTEN", "SELDOM"):
            put(name, b"late %d" % number)
    moved = agent.move()
    assert (moved.is_stuck, moved.left) == (False, 0)
    assert bodies(group, "SELDOM") == [b"first", b"late 0", b"late 1", b"late 2"]
    assert bodies(group, "OFTEN")[-3:] == [b"late 0", b"late 1", b"late 2"]
    assert {each.name for each in agent.queue.destinations} == {"OFTEN", "SELDOM"}
