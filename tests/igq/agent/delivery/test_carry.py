"""A batch for queues of other structures is carried as it is stored, with the same result as get and put."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from recovery.resolution import recover
from recovery.target import Target
from sharedq.calls.handles.connect import disconnect
from sharedq.calls.unit.commit import commit
from sharedq.messages.context import context_of
from sharedq.messages.message import Message
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, GetOption, MatchOption, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.limits import PRIORITY_AS_Q_DEF
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueRemote
from sharedq.objects.store.authorities import Authorities
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.support.agents import AgentOfQM2, Put, bodies, drain
from tests.support.members import TestGroup
from tests.support.scenes import until

#: Fields that stay equal if a message is put again.
FIELDS = (
    *("version", "report", "msg_type", "expiry", "feedback", "encoding", "coded_char_set_id", "format", "priority"),
    *("persistence", "correl_id", "backout_count", "reply_to_q", "reply_to_q_mgr", "user_identifier"),
    *("accounting_token", "appl_identity_data", "put_appl_type", "put_appl_name", "put_date", "appl_origin_data"),
    *("group_id", "msg_seq_number", "offset", "msg_flags", "original_length"),
)


def stripped(message: Message) -> tuple[Any, ...]:
    md = message.md
    msg_id = b"" if md.msg_id.startswith(b"CSQ ") else md.msg_id
    return (message.body, message.has_group, msg_id, *[getattr(md, name) for name in FIELDS])


@pytest.mark.parametrize("way", ["carried", "put"])
def test_a_message_without_context_has_none_at_its_destination(group: TestGroup, agent: AgentOfQM2, way: str) -> None:
    group.define_structure("APPL2")
    group.define_shared("FAR", "APPL2")
    group.connect("QM1").put1("FAR", b"x", qmgr_name="QM2", options=PutOption.NO_CONTEXT)
    if way == "carried":
        assert agent.carry() == [1]
    else:
        agent.deliverer.deliver(agent.queue.take())
        commit(agent.connection)
    (found,) = drain(group.connect("QM1"), "FAR")
    assert context_of(found.md) == context_of(MQMD())


@pytest.mark.rule(
    "igq/agent",
    "A message for a queue in another structure is carried as it is stored, with the same result as get and put.",
)
@pytest.mark.invariant(5)
@pytest.mark.parametrize("seed", range(6))
def test_both_ways_end_in_the_same_place(group: TestGroup, agent: AgentOfQM2, put: Put, seed: int) -> None:
    """The same messages twice: some with their own identifiers, on queues of two structures and of this one."""
    chance = random.Random(seed)
    group.define_structure("APPL2")
    queues: list[str] = []
    for number in range(chance.randrange(1, 5)):
        attributes = {
            "msg_delivery_sequence": chance.choice(["PRIORITY", "FIFO"]),
            "def_priority": chance.randrange(10),
        }
        queues.append(f"Q{number}")
        group.define_shared(f"Q{number}", chance.choice(["APPL1", "APPL2"]), **attributes)
    messages: list[tuple[str, bytes, dict[str, Any]]] = []
    for position in range(130):
        fields: dict[str, Any] = {"priority": chance.choice([0, 4, 4, 9, PRIORITY_AS_Q_DEF])}
        fields["persistence"] = chance.randrange(2)
        if chance.random() < 0.3:
            fields["correl_id"] = b"c%d" % chance.randrange(9)
        if chance.random() < 0.2:
            fields["msg_id"] = b"m%d" % position
        fields["reply_to_q"] = chance.choice([b"", b"ANSWERS"])
        messages.append((chance.choice(queues), b"%d" % position * chance.choice([0, 1, 400]), fields))

    found: dict[str, dict[str, list[Message]]] = {}
    for way in ("carried", "put"):
        ids = [put(name, body, **fields).msg_id for name, body, fields in messages]
        if way == "carried":
            assert sum(agent.carry()) == len(messages)
        else:
            while taken := agent.queue.take():
                agent.deliverer.deliver(taken)
        found[way] = {name: drain(group.connect("QM1"), name) for name in queues}
        got = [message.md.msg_id.rstrip(b"\0") for its in found[way].values() for message in its]
        assert sorted(got) == sorted(each.rstrip(b"\0") for each in ids)
    for name in queues:
        assert [stripped(message) for message in found["carried"][name]] == [
            stripped(message) for message in found["put"][name]
        ]


def test_it_is_found_by_the_msg_id_that_its_sender_got(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("POOL")
    sent = [put("POOL", b"%d" % number) for number in range(3)]
    assert agent.carry() == [3]

    with group.connect("QM1").open("POOL", OpenOption.INPUT_SHARED) as queue:
        assert queue.get(match=sent[1], match_options=MatchOption.MATCH_MSG_ID).body == b"1"


def test_a_waiter_at_the_destination_is_woken(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    group.define_shared("POOL")
    queue, found = group.connect("QM1").open("POOL", OpenOption.INPUT_SHARED), list[bytes]()
    waiting = threading.Thread(target=lambda: found.append(queue.get(GetOption.WAIT, wait_ms=-1).body))
    waiting.start()
    state = group.group.structure("APPL1").queue("POOL").queue
    until(lambda: group.group.client().hget(state, "nw") == b"1", "it waits", 60)
    put("POOL", b"come")
    assert agent.carry() == [1]
    waiting.join()

    assert found == [b"come"]


@pytest.mark.parametrize("journal", [True, False])
def test_the_next_batch_is_got_in_the_call_that_ends_the_one_before(
    group: TestGroup, agent: AgentOfQM2, put: Put, journal: bool
) -> None:
    """Three writes a batch: the puts, the decision, and what applies it, with the next get."""
    agent.connection.journal_max = agent.connection.journal_max if journal else "0"
    group.define_shared("POOL")
    put("POOL", b"first")
    agent.carry()
    for number in range(120):
        put("POOL", b"%d" % number)
    messages, writes = agent.queue.take(), list[int]()
    with spying(agent, writes):
        for count in (50, 50, 20):
            assert len(messages) == count
            assert agent.carrier.carry(messages, "")
            messages = agent.queue.commit_and_take()

    assert len(writes) == 9
    assert bodies(group, "POOL", "QM1") == [b"first", *(b"%d" % number for number in range(120))]


def with_fields(**fields: object) -> Callable[[TestGroup], dict[str, Any]]:
    return lambda _: dict(fields)


def by_an_alias(group: TestGroup) -> dict[str, Any]:
    group.define("QM2", QueueAlias(name="ALIAS", target="POOL"))
    return {"queue": "ALIAS"}


def by_an_inhibited_alias(group: TestGroup) -> dict[str, Any]:
    group.define("QM2", QueueAlias(name="ALIAS", target="POOL", put="DISABLED"))
    return {"queue": "ALIAS"}


def altered(**attributes: object) -> Callable[[TestGroup], dict[str, Any]]:
    def alter(group: TestGroup) -> dict[str, Any]:
        group.repository("QM1").alter("QLOCAL", "POOL", attributes)
        return {}

    return alter


def refused_for_its_user(group: TestGroup) -> dict[str, Any]:
    Authorities(group.group).change("OTHER", "NOBODY", add=["PUT"])
    return {}


def gone(group: TestGroup) -> dict[str, Any]:
    group.repository("QM1").delete("QLOCAL", "POOL", purge=True)
    return {}


def elsewhere(group: TestGroup) -> dict[str, Any]:
    gone(group)
    group.define_structure("APPL2")
    group.define_shared("POOL", "APPL2")
    return {}


CHANGES: dict[str, tuple[Callable[[TestGroup], dict[str, Any]], str]] = {
    "expiry": (with_fields(expiry=9000), "POOL"),
    "report": (with_fields(report=int(Report.COA), reply_to_q=b"ANSWERS"), "POOL"),
    "group": (with_fields(group_id=b"g", msg_flags=int(MsgFlag.LAST_MSG_IN_GROUP), version=2), "POOL"),
    "alias": (by_an_alias, "POOL"),
    "inhibited alias": (by_an_inhibited_alias, SYSTEM_DEAD_LETTER_QUEUE),
    "full": (altered(max_depth=2), SYSTEM_DEAD_LETTER_QUEUE),
    "too long": (altered(max_msg_length=3), SYSTEM_DEAD_LETTER_QUEUE),
    "inhibited": (altered(put="DISABLED"), SYSTEM_DEAD_LETTER_QUEUE),
    "authority": (refused_for_its_user, SYSTEM_DEAD_LETTER_QUEUE),
    "gone": (gone, SYSTEM_DEAD_LETTER_QUEUE),
    "elsewhere": (elsewhere, "POOL"),
}


@pytest.mark.rule("igq/agent", "A message that needs a decision, or is refused, is moved by get and put.")
@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_message_that_cannot_be_carried_ends_where_puts_bring_it(
    group: TestGroup, agent: AgentOfQM2, put: Put, change: str, is_alone: bool
) -> None:
    """It comes after a carried message, and beside a message for another queue that can be carried."""
    for name in ("POOL", "OTHER", "ANSWERS"):
        group.define_shared(name)
    put("POOL", b"one")
    put("POOL", b"two")
    assert agent.carry() == [2]
    assert [message.body for message in drain(group.connect("QM1"), "POOL")][1:] == [b"two"]
    make, ends = CHANGES[change]
    fields = make(group)
    if not is_alone:
        put("OTHER", b"beside")
    put(fields.pop("queue", "POOL"), b"last", **fields)
    if change == "full":
        with group.connect("QM1").open("POOL", OpenOption.OUTPUT) as queue:
            queue.put(b"x")
            queue.put(b"y")

    agent.carry()
    rounds = 0
    while taken := agent.queue.take():
        agent.deliverer.deliver(taken)
        rounds += 1
    assert rounds <= 1

    (last,) = [message for message in drain(group.connect("QM2"), ends) if message.body.endswith(b"last")]
    assert last.md.backout_count == 0
    if ends == "POOL":
        assert last.md.priority == 0
    if not is_alone and change != "authority":
        assert bodies(group, "OTHER") == [b"beside"]


DEFINITIONS: dict[str, Callable[[str], QueueAlias | QueueRemote]] = {
    "alias": lambda target: QueueAlias(name="WAY", target=target),
    "remote": lambda target: QueueRemote(name="WAY", remote_queue=target, remote_qmgr="QM2"),
}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_messages_are_carried_through_a_definition_to_a_queue_here(
    group: TestGroup, agent: AgentOfQM2, put: Put, kind: str
) -> None:
    group.define_shared("POOL")
    group.define_shared("LATER")
    definition = DEFINITIONS[kind]
    group.define("QM2", definition("POOL"))
    for number in range(3):
        put("WAY", b"%d" % number)
    put("POOL", b"3")
    assert agent.carry() == [4]
    repository, kind_of_way = group.repository("QM2"), definition("LATER").kind
    repository.define(definition("LATER"), replace=True)
    put("WAY", b"4")
    # It forgets the name, and looks it up again.
    assert (agent.carry(), agent.carry()) == ([], [1])
    assert (bodies(group, "POOL", "QM1"), bodies(group, "LATER", "QM1")) == ([b"0", b"1", b"2", b"3"], [b"4"])

    repository.alter(kind_of_way, "WAY", {"put": "DISABLED"})
    put("WAY", b"refused")
    assert agent.carry() == []
    agent.deliverer.deliver(agent.queue.take())
    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).reason == MQRC.PUT_INHIBITED


@pytest.mark.parametrize("name", ["WAY", "POOL"])
def test_what_was_carried_goes_back_if_a_name_on_the_way_was_given_away_meanwhile(
    group: TestGroup, agent: AgentOfQM2, put: Put, name: str
) -> None:
    """Its structure has not heard of that when the puts are made, but the directory has."""
    group.define_shared("POOL")
    group.define("QM2", QueueAlias(name="WAY", target="POOL"))
    put("WAY", b"first")
    assert agent.carry() == [1]
    client, directory = group.group.client(), group.group.keys.directory
    field = {"WAY": "P QM2 WAY", "POOL": "S POOL"}[name]
    text = client.hget(directory, field)
    assert isinstance(text, bytes)
    put("WAY", b"second")
    client.hset(directory, field, text + b" ")
    assert agent.carry() == []
    client.hset(directory, field, text)
    assert agent.carry() == [1]
    assert bodies(group, "POOL", "QM1") == [b"first", b"second"]


def test_a_queue_that_gets_a_private_namesake_is_not_carried_to(group: TestGroup, agent: AgentOfQM2, put: Put) -> None:
    """2343, as an open of the name would say: neither queue is meant."""
    group.define_shared("POOL")
    put("POOL", b"before")
    assert agent.carry() == [1]
    # Define refuses it, unless two members do it at the same time.
    group.define_private("QM2", "TWIN")
    client, directory = group.group.client(), group.group.keys.directory
    client.hset(directory, "P QM2 POOL", str(client.hget(directory, "P QM2 TWIN"), "utf-8"))  # type: ignore[arg-type]
    put("POOL", b"after")

    assert agent.carry() == []
    assert agent.deliverer.deliver(agent.queue.take()) == 0
    (letter,) = drain(group.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).reason == MQRC.OBJECT_NOT_UNIQUE
    assert bodies(group, "POOL", "QM1") == [b"before"]


@pytest.mark.rule(
    "igq/agent", "An agent that is killed at any write while it carries loses, doubles and reorders nothing."
)
@pytest.mark.invariant(3, 8)
@pytest.mark.parametrize("is_answered", [True, False])
@pytest.mark.parametrize("write", range(8))
def test_killed_at_any_write_nothing_is_lost_doubled_or_overtaken(
    group: TestGroup, agent: AgentOfQM2, put: Put, write: int, is_answered: bool
) -> None:
    """The agent dies before the write left, or after its scripts ran."""
    group.define_structure("APPL2")
    group.define_shared("POOL")
    group.define_shared("OTHER", "APPL2")
    for number in range(110):
        put("OTHER" if number % 3 else "POOL", b"%03d" % number)
    with contextlib.suppress(KilledError), dying(agent, write, is_answered=is_answered):
        agent.carry()
    agent.connection.break_off()
    dead = Target.parse(agent.connection.token)
    assert recover(group.group, group.connect("QM1").connection, dead, force=True).is_resolved

    successor = AgentOfQM2(group)
    successor.carry()
    disconnect(successor.connection)

    pool, other = bodies(group, "POOL", "QM1"), bodies(group, "OTHER", "QM1")
    assert (pool, other) == (
        [b"%03d" % number for number in range(0, 110, 3)],
        [b"%03d" % number for number in range(110) if number % 3],
    )
    client = group.group.client()
    for structure in ("APPL1", "APPL2", "@QM2"):
        keys = group.group.structure(structure)
        assert client.hlen(keys.messages) == 0
    assert client.hlen(group.group.keys.decisions) == 0


class KilledError(Exception):
    """The point at which a process would be dead."""


@contextlib.contextmanager
def each_write(agent: AgentOfQM2, around: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """Let *around* make each write of the agent's connection."""
    connection = agent.connection
    originals = {name: getattr(connection, name) for name in ("call_many", "call_apart")}
    for name, original in originals.items():
        setattr(connection, name, lambda calls, original=original: around(lambda: original(calls)))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(connection, name, original)


def spying(agent: AgentOfQM2, writes: list[int]) -> AbstractContextManager[None]:
    def note(call: Callable[[], Any]) -> Any:
        writes.append(1)
        return call()

    return each_write(agent, note)


def dying(agent: AgentOfQM2, write: int, *, is_answered: bool) -> AbstractContextManager[None]:
    made = itertools.count()

    def die(call: Callable[[], Any]) -> Any:
        if next(made) < write:
            return call()
        if is_answered:
            call()
        raise KilledError

    return each_write(agent, die)
