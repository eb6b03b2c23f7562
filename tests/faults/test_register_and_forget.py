"""Things registered in Redis in one step and forgotten in another: a fault before and after each script of the pair.

Afterwards the program ends in good order where it still can, what it left is recovered, and nothing is there any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from igq.agent.progress.retry import Trouble
from recovery.resolution import recover
from sharedq.api import QueueManagerConnection
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC, CloseOption, GetOption, OpenOption, PutOption, SubOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.xa import XAError
from sharedq.objects.definitions.queues import QueueAlias, QueueModel
from sharedq.session.connection import Connection
from tests.support.accounts import assert_accounted
from tests.support.agents import AgentOfQM2
from tests.support.each import one_of
from tests.support.injection import AFTER, FAULTS, REFUSALS, AlarmError, Injection
from tests.support.members import TestGroup
from tests.support.outcomes import reason_of
from tests.support.scenes import keys_of, on_queue, until

ALONE = OpenOption.INPUT_EXCLUSIVE | OpenOption.OUTPUT | OpenOption.BROWSE
CO_OP = OpenOption.INPUT_SHARED | OpenOption.BROWSE | OpenOption.CO_OP
TAG = "GTAG"
XID = b"X" * 32
Work = Callable[[QueueManagerConnection], object]


@dataclass(frozen=True)
class Pair:
    """The work of a program, and the scripts that register something of it and forget that.

    Attributes:
        work: done over a connection that is new and has a tag.
        put_meanwhile: another program puts a message before the call that meets the fault.
        also: a call that Redis refuses before.
    """

    work: Work
    scripts: tuple[str, ...]
    put_meanwhile: bool = False
    also: str = ""


def close_alone(connection: QueueManagerConnection) -> None:
    connection.open("Q", ALONE).close()


def open_an_alias(connection: QueueManagerConnection) -> None:
    connection.open("NICK", ALONE).close()


def lock_and_close(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", ALONE)
    queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    queue.close()


def lock_and_unlock(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", ALONE)
    queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    queue.unlock()


def mark_and_close(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", CO_OP)
    queue.get(GetOption.BROWSE_FIRST | GetOption.UNMARKED_BROWSE_MSG | GetOption.MARK_BROWSE_CO_OP)
    queue.close()


def wait_in_vain(connection: QueueManagerConnection, options: int = 0) -> None:
    queue = connection.open("EMPTY", OpenOption.INPUT_SHARED)
    queue.get(GetOption.WAIT | options, wait_ms=30)


def wait_under_syncpoint(connection: QueueManagerConnection) -> None:
    wait_in_vain(connection, GetOption.SYNCPOINT)


def commit(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", ALONE)
    queue.put(b"2", options=PutOption.SYNCPOINT)
    queue.get(GetOption.SYNCPOINT)
    connection.commit()


def commit_two(connection: QueueManagerConnection) -> None:
    connection.open("OTHER", ALONE).put(b"2", options=PutOption.SYNCPOINT)
    connection.open("Q", ALONE).get(GetOption.SYNCPOINT)
    connection.commit()


def back_out(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", ALONE)
    queue.get(GetOption.SYNCPOINT)
    connection.backout()


def leave(connection: QueueManagerConnection) -> None:
    queue = connection.open("Q", ALONE)
    queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK)
    connection.disconnect()


def make_a_temporary_queue(connection: QueueManagerConnection) -> None:
    queue = connection.open("TEMP", ALONE, dynamic_name="MADE.*")
    queue.put(b"2")
    queue.close()


def make_a_permanent_queue(connection: QueueManagerConnection) -> None:
    connection.open("PERM", ALONE, dynamic_name="MADE.*").close(CloseOption.DELETE)


def close_a_deleted_queue(connection: QueueManagerConnection) -> None:
    queue = connection.open("PERM", ALONE, dynamic_name="MADE.*")
    other = connection.open(queue.resolved_name, OpenOption.OUTPUT)
    queue.close(CloseOption.DELETE)
    other.close()


def leave_a_temporary_queue(connection: QueueManagerConnection) -> None:
    connection.open("TEMP", ALONE, dynamic_name="MADE.*")
    connection.disconnect()


def prepare_and_commit(connection: QueueManagerConnection) -> None:
    connection.open("OTHER", ALONE).put(b"2", options=PutOption.SYNCPOINT)
    connection.open("Q", ALONE).get(GetOption.SYNCPOINT)
    connection.prepare(XID)
    connection.commit_prepared(XID)


def subscribe(connection: QueueManagerConnection, options: int = 0) -> None:
    name = "DURABLE" if options else ""
    subscription = connection.subscribe("a/+/c", name=name, options=SubOption.CREATE | SubOption.MANAGED | options)
    subscription.close(CloseOption.REMOVE_SUB)


def subscribe_for_good(connection: QueueManagerConnection) -> None:
    subscribe(connection, SubOption.DURABLE)


def resume(connection: QueueManagerConnection) -> None:
    options = SubOption.CREATE | SubOption.DURABLE
    with connection.open("EMPTY", OpenOption.INPUT_SHARED) as queue:
        connection.subscribe("a/#", name="KEPT", queue=queue, options=options).close()
        subscription = connection.subscribe(name="KEPT", options=SubOption.RESUME | SubOption.DURABLE)
        subscription.close(CloseOption.REMOVE_SUB)


def leave_a_subscription(connection: QueueManagerConnection) -> None:
    connection.subscribe("a/+/c")
    connection.disconnect()


def publish(connection: QueueManagerConnection) -> None:
    queues = [connection.open(name, ALONE) for name in ("Q", "OTHER")]
    subscriptions = [connection.subscribe("a/#", queue=queue, options=SubOption.CREATE) for queue in queues]
    connection.open_topic("a/b").publish(b"2", options=PutOption.RETAIN)
    for subscription in subscriptions:
        subscription.close()


LEAVING = ("structure/close", "structure/detach", "admin/disconnect")
PAIRS = {
    "enter a structure": Pair(close_alone, ("structure/attach", "admin/check_owner")),
    "open and close": Pair(close_alone, ("structure/open", "structure/close")),
    "open and close an alias": Pair(open_an_alias, ("structure/open", "structure/close")),
    "lock and close": Pair(lock_and_close, ("structure/get_grouped", "structure/close")),
    "lock and unlock": Pair(lock_and_unlock, ("structure/unlock",)),
    "mark and close": Pair(mark_and_close, ("structure/get_grouped", "structure/close")),
    "wait": Pair(wait_in_vain, ("structure/get", "BLPOP")),
    "wait, and give up": Pair(wait_in_vain, ("structure/unwait",), also="BLPOP"),
    "wait, and be handed a message": Pair(wait_in_vain, ("BLPOP",), put_meanwhile=True),
    "wait, and be woken": Pair(wait_under_syncpoint, ("BLPOP",), put_meanwhile=True),
    "commit": Pair(commit, ("structure/put", "structure/get", "structure/commit")),
    "commit in two structures": Pair(commit_two, ("admin/decide", "structure/commit")),
    "back out": Pair(back_out, ("structure/get", "structure/backout")),
    "prepare and commit": Pair(
        prepare_and_commit,
        ("admin/prepare", "structure/set_apart", "admin/decide_prepared", "structure/commit", "admin/complete"),
    ),
    "make a temporary queue": Pair(
        make_a_temporary_queue,
        (
            *("structure/define_queue", "admin/define_object", "structure/open"),
            *("structure/close", "structure/delete_queue", "admin/remove_object", "structure/forget_made"),
        ),
    ),
    "make a permanent queue": Pair(
        make_a_permanent_queue,
        (
            *("structure/define_queue", "admin/define_object", "structure/open"),
            *("structure/delete_queue", "structure/close", "admin/remove_object", "structure/forget_made"),
        ),
    ),
    "close a deleted queue": Pair(
        close_a_deleted_queue,
        ("structure/delete_queue", "structure/close", "admin/remove_object", "structure/forget_made"),
    ),
    "leave a temporary queue": Pair(
        leave_a_temporary_queue,
        ("structure/close", "structure/delete_queue", "admin/remove_object", "structure/forget_made", *LEAVING[1:]),
    ),
    "subscribe": Pair(
        subscribe,
        (
            *("structure/define_queue", "admin/define_object", "structure/open", "admin/subscribe"),
            *("structure/forget_made", "structure/close", "admin/end_subscription"),
            *("structure/delete_queue", "admin/remove_object", "admin/forget_orphan"),
        ),
    ),
    "subscribe for good": Pair(
        subscribe_for_good,
        (
            *("structure/define_queue", "admin/define_object", "structure/open", "admin/subscribe"),
            *("structure/forget_made", "structure/close", "admin/end_subscription"),
            *("structure/delete_queue", "admin/remove_object", "admin/forget_orphan"),
        ),
    ),
    "resume": Pair(resume, ("admin/subscribe", "admin/hold_subscription", "admin/end_subscription")),
    "leave a subscription": Pair(
        leave_a_subscription,
        ("structure/close", "admin/end_subscription", "structure/delete_queue", "admin/forget_orphan", *LEAVING[1:]),
    ),
    "publish": Pair(
        publish,
        (
            *("admin/subscribe", "admin/match", "structure/put"),
            *("admin/decide", "structure/commit", "admin/end_subscription"),
        ),
    ),
    "connect and leave": Pair(leave, ("admin/connect", *LEAVING)),
}
SCRIPTS = tuple((name, script) for name, pair in PAIRS.items() for script in pair.scripts)
#: Faults that a program survives, without the refusals of Redis.
SURVIVED = tuple(fault for fault in FAULTS if not fault.startswith("killed") and not fault.isdigit())


def living() -> Iterator[Any]:
    """Each script with each fault that a program survives. Of the refusals each script meets one, in turn.

    All refusals leave a script undone. Of the other faults each run has the lost reply: the others are easier.
    """
    for at, (name, script) in enumerate(SCRIPTS):
        refusal = str(tuple(REFUSALS)[at % len(REFUSALS)])
        for fault in (refusal, *SURVIVED):
            in_share = () if at % 7 else (pytest.mark.share,)
            marks = (*in_share, *(() if fault == "reply lost" else (pytest.mark.slow,)))
            yield pytest.param(name, script, fault, marks=marks)


@pytest.fixture
def ready(group: TestGroup) -> TestGroup:
    """Q with a message on it, an alias of it, EMPTY, and OTHER in another structure."""
    group.define_shared("Q")
    group.define_shared("EMPTY")
    group.define_structure("APPL2")
    group.define_shared("OTHER", "APPL2")
    group.define("QM1", QueueAlias(name="NICK", target="Q"))
    group.repository("QM1").define(QueueModel(name="TEMP", definition_type="TEMPDYN"))
    group.repository("QM1").define(QueueModel(name="PERM", definition_type="PERMDYN"))
    with group.connect() as connection:
        connection.put1("Q", b"1")
    return group


@pytest.mark.rule(
    "mqi/reasons",
    "A call that registers something and then fails leaves nothing, after its connection ends or is recovered.",
)
@pytest.mark.parametrize(("name", "script", "fault"), list(living()))
def test_nothing_is_left_of_a_program_that_lives(
    ready: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str, script: str, fault: str
) -> None:
    pair, process = PAIRS[name], ready.process()
    injection = inject(ready, monkeypatch, pair, script, fault)
    connection = None
    with suppress(MQIError, AlarmError, XAError):
        connection = QueueManagerConnection(Connection(ready.group, process, tag=TAG, is_internal=True))
        pair.work(connection)
    assert injection.has_met
    injection.end()
    if connection is not None:
        disconnect(connection)
    recover_what_was_lost(ready, process)
    assert_nothing_is_left(ready, process.token, made=made_for_good(name, script, fault))


@pytest.mark.rule(
    "mqi/reasons",
    "A call that registers something and then fails leaves nothing, after its connection ends or is recovered.",
)
@pytest.mark.parametrize(
    "fault",
    [pytest.param("killed before", marks=pytest.mark.slow), "killed after"],
)
@pytest.mark.parametrize(("name", "script"), one_of(7, SCRIPTS, pytest.mark.share))
def test_nothing_is_left_of_a_program_that_is_killed(
    ready: TestGroup, monkeypatch: pytest.MonkeyPatch, name: str, script: str, fault: str
) -> None:
    pair = PAIRS[name]
    told, tells = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            process = Process.register(ready.group, "QM1")
            os.write(tells, process.token.encode())
            inject(ready, monkeypatch, pair, script, fault)
            pair.work(QueueManagerConnection(Connection(ready.group, process, tag=TAG, is_internal=True)))
        finally:
            os._exit(0)
    os.close(tells)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    token = os.read(told, 100).decode()
    os.close(told)
    ready.group.client().zadd(ready.group.keys.leases, {token: 1})
    assert recover(ready.group, ready.connect().connection, token).is_resolved
    assert_nothing_is_left(ready, token, made=made_for_good(name, script, fault))


def made_for_good(name: str, script: str, fault: str) -> int:
    """A permanent queue stays from the moment in which it is open to the moment of its deletion."""
    if name not in ("make a permanent queue", "close a deleted queue"):
        return 0
    return int(script == ("structure/open" if fault in AFTER else "structure/delete_queue"))


def inject(group: TestGroup, monkeypatch: pytest.MonkeyPatch, pair: Pair, script: str, fault: str) -> Injection:
    """Arm the fault, and do what the pair must meet before."""
    if pair.also:
        Injection(pair.also, "2035").arm(monkeypatch)
    injection = Injection(script, fault, then=putting(group, pair))
    injection.arm(monkeypatch)
    return injection


def putting(group: TestGroup, pair: Pair) -> Callable[[], object]:
    """Another program puts a message, if the case needs it."""
    if not pair.put_meanwhile:
        return lambda: None
    queue = group.connect().open("EMPTY", OpenOption.OUTPUT)
    return lambda: queue.put(b"for whoever waits")


def disconnect(connection: QueueManagerConnection) -> None:
    """MQDISC of a program ends its connection, after any fault."""
    with suppress(MQIError):
        connection.disconnect()
    assert connection.connection.is_ended


def recover_what_was_lost(group: TestGroup, process: Process) -> None:
    """The work of the manager's watch, after the group knows of the loss."""
    until(lambda: not process._abandoned, "the lost connections are told")
    leases: Any = group.group.client().zrange(group.group.keys.leases, 0, -1)
    for lease in map(bytes.decode, leases):
        if lease.startswith(process.token + "."):
            assert recover(group.group, group.connect().connection, lease).is_resolved


def assert_nothing_is_left(group: TestGroup, process: str, *, made: int = 0) -> None:
    """No key, field or member names a connection of the program, and the queues can be used as before."""
    with group.connect() as coordinator:
        for unit in coordinator.recover():
            # It is in doubt, or its coordinator was told that its end was refused: the coordinator ends it.
            (coordinator.commit_prepared if unit.outcome == "C" else coordinator.backout_prepared)(unit.xid)
    client, token = group.group.client(), f"{process}.".encode()
    for key in keys_of(group):
        assert token not in key
        kind: Any = client.type(key)
        names: Any = []
        # The dead and their recoveries are remembered.
        if kind in (b"hash", b"zset") and not key.endswith((b":fence", b":recoveries")):
            names = client.hkeys(key) if kind == b"hash" else client.zrange(key, 0, -1)
        assert [name for name in names if token in name] == [], key
    assert_accounted(group.group)
    directory: Any = client.hkeys(group.group.keys.directory)
    assert len([field for field in directory if b" MADE." in field]) == made
    for name in ("Q", "EMPTY", "OTHER"):
        with group.connect() as connection:
            connection.open(name, ALONE)
    group.connect(tag=TAG).disconnect()


def test_mqopen_resolves_a_name_again_that_changes_meanwhile(ready: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """MQOPEN has no 2041, and leaves no handle at the former destination of its name."""
    repository = ready.repository("QM1")
    alter = partial(repository.alter, "QALIAS", "NICK", {"target": "EMPTY"})
    Injection("structure/open", "none", then=alter).arm(monkeypatch)
    connection = ready.connect()
    queue = connection.open("NICK", ALONE)
    assert queue.resolved_name == "EMPTY"
    assert [repository.queue_status(name).handles for name in ("Q", "EMPTY")] == [0, 1]
    connection.disconnect()
    assert repository.queue_status("EMPTY").handles == 0


def test_a_name_that_always_changes_is_given_up(ready: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharedq.calls.handles.open.RESOLUTIONS_MAX", 3)
    targets = iter(("EMPTY", "Q", "EMPTY"))

    def alter() -> None:
        ready.repository("QM1").alter("QALIAS", "NICK", {"target": next(targets)})

    Injection("structure/open", "none", then=alter, times=3).arm(monkeypatch)
    assert reason_of(lambda: ready.connect().open("NICK", ALONE)) == MQRC.OBJECT_IN_USE
    assert [ready.repository("QM1").queue_status(name).handles for name in ("Q", "EMPTY")] == [0, 0]


def test_a_message_found_after_a_refused_wait_is_returned(ready: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait and the look at the queue are one write: Redis was busy for the first, and no longer for the second."""
    then = putting(ready, PAIRS["wait, and be woken"])
    Injection("BLPOP", "2195 for the first of the write", then=then).arm(monkeypatch)
    queue = ready.connect().open("EMPTY", OpenOption.INPUT_SHARED)
    # It is not handed over, because the get accepts any length.
    assert queue.get(GetOption.WAIT, wait_ms=30_000, max_length=100).body == b"for whoever waits"


@pytest.mark.parametrize("reason", [2035, 2192, 2195, 2346])
def test_a_refused_mqclose_leaves_the_queue_open(
    ready: TestGroup, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    connection = ready.connect()
    queue = connection.open("Q", ALONE)
    assert queue.get(GetOption.BROWSE_FIRST | GetOption.LOCK).body == b"1"
    injection = Injection("structure/close", str(reason))
    injection.arm(monkeypatch)
    assert reason_of(queue.close) == reason
    injection.end()
    assert queue.get(GetOption.MSG_UNDER_CURSOR).body == b"1"
    queue.close()
    assert reason_of(queue.close) == MQRC.HOBJ_ERROR


@pytest.mark.parametrize("tag", ["", TAG])
def test_an_mqdisc_that_cannot_close_leaves_the_rest_to_the_group(
    ready: TestGroup, monkeypatch: pytest.MonkeyPatch, tag: str
) -> None:
    """Its puts are committed."""
    process = ready.process()
    connection = ready.connect(process=process, tag=tag)
    connection.open("EMPTY", ALONE).put(b"2", options=PutOption.SYNCPOINT)
    injection = Injection("structure/close", "2035")
    injection.arm(monkeypatch)
    assert connection.disconnect() == (MQRC.CONN_TAG_NOT_RELEASED if tag else MQRC.NONE)
    injection.end()
    recover_what_was_lost(ready, process)
    assert_nothing_is_left(ready, process.token)
    assert on_queue(ready, "EMPTY") == [(b"2", 0)]


def test_a_value_of_the_wrong_type_does_not_end_the_connection(ready: TestGroup) -> None:
    connection = ready.connect()
    queue = connection.open("Q", ALONE)
    assert reason_of(lambda: queue.put("text")) == MQRC.BUFFER_ERROR  # type: ignore[arg-type]
    assert queue.get().body == b"1"


# If a slot moves (2346), the agent goes on waiting on it.
@pytest.mark.parametrize("reason", [each for each in REFUSALS if each != MQRC.CF_STRUC_IN_USE])
def test_an_agent_whose_wait_is_refused_waits_no_more(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, reason: int
) -> None:
    """Its connection lives on, in the state of retry."""
    agent = waiting_agent(group)
    injection = Injection("BLPOP", str(reason))
    injection.arm(monkeypatch)
    with pytest.raises((MQIError, Trouble)):
        agent.queue.wait_and_move()
    assert injection.has_met
    assert not agent.connection.is_ended
    assert waiters_of(agent) == [0, b""]


def test_an_agent_whose_wait_cannot_be_ended_is_recovered(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = waiting_agent(group)
    for script in ("BLPOP", "structure/unwait"):
        Injection(script, "2192").arm(monkeypatch)
    assert reason_of(agent.queue.wait_and_move) == MQRC.CONNECTION_BROKEN
    assert agent.connection.is_ended
    until(lambda: not agent.connection.process._abandoned, "the lost connection is told")
    assert recover(group.group, group.connect("QM2").connection, agent.connection.token).is_resolved
    assert waiters_of(agent) == [0, None]


def waiting_agent(group: TestGroup) -> AgentOfQM2:
    """It has found nothing, and is registered as a waiter."""
    group.add_member("QM2")
    agent = AgentOfQM2(group)
    assert agent.queue.move().is_waiting
    assert waiters_of(agent)[0] == 1
    return agent


def waiters_of(agent: AgentOfQM2) -> list[Any]:
    """The number of waiters on its part of the transmit queue, and what the structure has of its own connection."""
    handle, client = agent.queue.handle, agent.group.group.client()
    owner = client.hget(handle.structure.keys.owners, agent.connection.token)
    assert client.zcard(handle.queue.waiters) == int(client.hget(handle.queue.queue, "nw") or 0)
    return [client.zcard(handle.queue.waiters), owner]
