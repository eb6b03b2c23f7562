"""The agent's state of retry, cause by cause: entered, shown with the time of the next try, left at once when told.

IBM MQ for z/OS, "Specific properties of intra-group queuing". How often and how long it tries: test_agent_retry.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from igq.agent.progress.retry import SHORT_RETRY_INTERVAL_S
from igq.agent.progress.sleep import wake_agent
from igq.agent.queues.tags import agent_tag
from igq.agent.queues.transmission_queue import BATCH_MESSAGES, WAIT_S
from igq.mqsc.session import SessionRepository
from recovery.resolution import recover as recover_dead
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.calls.handles.connect import tag_argument
from sharedq.mqi.constants import MQRC, ConnectOption, PutOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE, define_system_objects
from sharedq.redis.keys import private_structure
from sharedq.redis.link import ScriptCall
from tests.support.agent_at_work import PATIENCE_S, AgentAtWork
from tests.support.backups import lose, mqsc
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, send_by_own_parts, until


@pytest.fixture
def work(group: TestGroup) -> Iterator[AgentAtWork]:
    group.add_member("QM2")
    work = AgentAtWork(group)
    yield work
    work.stop()


def define_again(group: TestGroup) -> None:
    define_system_objects(group.repository("QM1"), group.settings.default_structure)


def spoil(group: TestGroup, usage: str) -> None:
    """Give QM1's part attributes that no command would."""
    keys = group.group.structure(private_structure("QM1"))
    queue = keys.queue(SYSTEM_QSG_TRANSMIT_QUEUE)
    version, text = cast(list[bytes], group.group.client().hmget(queue.queue, "ver", "def"))
    definition = json.dumps(json.loads(text) | {"usage": usage})
    group.group.call("structure/set_partition", [queue.queue], [int(version) + 1, definition])
    group.repository("QM1").wake_waiters(keys.name, SYSTEM_QSG_TRANSMIT_QUEUE)


def send_astray(group: TestGroup) -> None:
    """A persistent message that QM1 can neither deliver nor dead-letter."""
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": ""})
    group.connect("QM2").put1("NOWHERE", b"astray", MQMD(persistence=1), qmgr_name="QM1")


def lose_destination(group: TestGroup) -> None:
    """A message arrives for a queue of a structure that has failed."""
    group.define_shared("SHARED")
    backup(group.group, "APPL1")
    lose(group)
    group.connect("QM2").put1("SHARED", b"shared", MQMD(persistence=1), qmgr_name="QM1")


def begin_anew(group: TestGroup) -> None:
    """The steps of a start of QM1."""
    group.repository("QM1").prepare_manager("QM1")
    define_again(group)


Act = Callable[[TestGroup], object]

CAUSES: dict[str, tuple[Act, Act, str]] = {
    "queue missing": (
        lambda group: group.repository("QM1").delete("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE),
        define_again,
        SYSTEM_QSG_TRANSMIT_QUEUE,
    ),
    "wrong attributes": (lambda group: spoil(group, "NORMAL"), lambda group: spoil(group, "XMITQ"), "USAGE(NORMAL)"),
    "inhibited for gets": (
        lambda group: group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"}),
        lambda group: group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "ENABLED"}),
        "GET",
    ),
    "structure of a destination has failed": (
        lose_destination,
        lambda group: recover(group.group, "APPL1"),
        "SHARED: MQRC_CF_STRUC_FAILED (2373)",
    ),
    "own structure has failed": (
        lambda group: lose(group, private_structure("QM1")),
        begin_anew,
        "MQRC_CF_STRUC_FAILED (2373)",
    ),
    "batch backed out": (send_astray, lambda group: group.define_private("QM1", "NOWHERE"), "NOWHERE"),
}

#: Destinations of messages, one after the other: a queue of another structure, of QM1's own, and none at all.
WAYS = ("POOL", "OWN", "POOL", "POOL", "NOWHERE", "POOL", "OWN")


@pytest.mark.parametrize("is_parted", [False, True])
def test_each_message_finds_the_agent_waiting(
    group: TestGroup, work: AgentAtWork, monkeypatch: pytest.MonkeyPatch, is_parted: bool
) -> None:
    """Its wait suits the latest message. The next message may wake it for another way."""
    if not is_parted:
        send_by_own_parts(monkeypatch)
    group.define_shared("POOL")
    group.define_private("QM1", "OWN")
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    work.start()
    work.wait_for("RUNNING")
    sender = group.connect("QM2")
    places = {"POOL": ("POOL", "APPL1"), "OWN": ("OWN", "@QM1"), "NOWHERE": (SYSTEM_DEAD_LETTER_QUEUE, "@QM1")}
    for number, way in enumerate(WAYS):
        sender.put1(way, b"%d" % number, MQMD(persistence=1), qmgr_name="QM1")
        count = WAYS[: number + 1].count(way)
        until(lambda place=places[way], count=count: len(on_queue(group, *place)) == count, way, PATIENCE_S)  # type: ignore[misc]
    for way, place in places.items():
        expected = [b"%d" % number for number, each in enumerate(WAYS) if each == way]
        assert [body[-1:] for body, _ in on_queue(group, *place)] == expected
    until(lambda: work.status().delivered == len(WAYS) - 1, "all are counted", PATIENCE_S)


@pytest.mark.parametrize("way", ["POOL", "OWN"])
def test_it_stops_at_once_whichever_way_it_waits(group: TestGroup, work: AgentAtWork, way: str) -> None:
    group.define_shared("POOL")
    group.define_private("QM1", "OWN")
    work.start()
    group.connect("QM2").put1(way, b"x", MQMD(persistence=1), qmgr_name="QM1")
    until(lambda: work.status().delivered == 1, "it is delivered", PATIENCE_S)
    # The fixture's stop does not wait for the end of a wait, which is a minute away.
    owners, client = group.group.structure("@QM1").owners, group.group.client()
    until(lambda: any(state[:1] == b"W" for state in cast(list[bytes], client.hvals(owners))), "it waits", PATIENCE_S)


#: No command makes these, so no waiting agent learns of them.
SEEN_AT_OPEN = ("wrong attributes", "own structure has failed")


@pytest.mark.rule(
    "igq/retry",
    "Each cause of the state of retry leads into it, and its repair followed by ALTER QMGR IGQ(ENABLED) out of it.",
)
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_leads_into_retry_and_its_repair_out_of_it(group: TestGroup, work: AgentAtWork, cause: str) -> None:
    happen, repair, words = CAUSES[cause]
    if cause in SEEN_AT_OPEN:
        happen(group)
        work.start()
    else:
        work.start()
        work.wait_for("RUNNING")
        happen(group)

    shown = work.wait_for("RETRY")
    assert (shown.short_retries, shown.long_retries) == (0, 0)
    assert shown.next_retry_s is not None
    assert 0 <= shown.next_retry_s <= SHORT_RETRY_INTERVAL_S
    assert words in shown.last_error
    assert work.said()[-1] == "CSQM065E"

    repair(group)
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})

    shown = work.wait_for("RUNNING")
    assert (shown.short_retries, shown.next_retry_s) == (0, None)
    assert "IGQ0021I" in work.said()
    if cause == "batch backed out":
        assert [body for body, _ in on_queue(group, "NOWHERE", "@QM1")] == [b"astray"]
    if cause == "structure of a destination has failed":
        until(lambda: on_queue(group, "SHARED") == [(b"shared", 0)], "it is delivered", PATIENCE_S)


@pytest.mark.rule("igq/retry", "Each retry that fails is counted.")
def test_a_failed_try_is_counted(group: TestGroup, work: AgentAtWork) -> None:
    try_in_vain(group, work)
    until(lambda: work.status().short_retries == 1, "that is shown", PATIENCE_S)
    assert work.status().state == "RETRY"


@pytest.mark.rule("igq/retry", "A try that an event caused, such as a recovery that has ended, is not one of the ten.")
def test_an_unrequested_try_does_not_count(group: TestGroup, work: AgentAtWork) -> None:
    """After each recovery of a program its manager's agent checks whether that helps it."""
    work.start()
    work.wait_for("RUNNING")
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
    work.wait_for("RETRY")
    for tries in (2, 3):
        wake_agent(group.group, "QM1")
        until(lambda tries=tries: work.said().count("CSQM065E") == tries, "it has tried", PATIENCE_S)  # type: ignore[misc]
    assert work.agent._reporter.state.short_retries == 0


def try_in_vain(group: TestGroup, work: AgentAtWork) -> None:
    """Enter the state of retry, and use one of the retries."""
    work.start()
    work.wait_for("RUNNING")
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
    work.wait_for("RETRY")
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    until(lambda: work.agent._reporter.state.short_retries == 1, "the retry is counted", PATIENCE_S)


@pytest.mark.rule("igq/retry", "A try that an event caused, such as a recovery that has ended, is not one of the ten.")
def test_a_try_asked_for_before_the_trouble_spends_no_retry(group: TestGroup, work: AgentAtWork) -> None:
    work.start()
    work.wait_for("RUNNING")
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})

    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})

    # It may try for that reason, though.
    until(lambda: work.said().count("CSQM065E") == 2, "it has tried", PATIENCE_S)
    assert work.agent._reporter.state.short_retries == 0


def enable_gets(group: TestGroup) -> None:
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "ENABLED"})
    wake_agent(group.group, "QM1")


@pytest.mark.rule("igq/retry", "A new trouble gets all its retries, even right after another.")
def test_a_new_trouble_that_ends_its_first_wait_has_all_its_retries(group: TestGroup, work: AgentAtWork) -> None:
    try_in_vain(group, work)
    enable_gets(group)
    work.wait_for("RUNNING")
    until(lambda: rests(work, "the delivery") == WAIT_S, "it waits for messages", PATIENCE_S)

    send_astray(group)

    shown = work.wait_for("RETRY")
    assert "NOWHERE" in shown.last_error
    assert shown.short_retries == 0


@pytest.mark.rule("igq/retry", "A new trouble gets all its retries, even right after another.")
def test_a_new_trouble_after_carried_batches_has_all_its_retries(
    group: TestGroup, work: AgentAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_by_own_parts(monkeypatch)
    group.define_shared("POOL")
    try_in_vain(group, work)
    sender = group.connect("QM2")
    for _ in range(BATCH_MESSAGES):
        sender.put1("POOL", b"x", MQMD(persistence=1), qmgr_name="QM1")
    send_astray(group)

    enable_gets(group)

    until(lambda: work.said()[-2:] == ["IGQ0021I", "CSQM065E"], "it meets the next one", PATIENCE_S)
    assert work.agent._reporter.state.delivered == BATCH_MESSAGES
    assert "NOWHERE" in work.agent._reporter.state.last_error
    assert work.agent._reporter.state.short_retries == 0


@pytest.mark.rule(
    "igq/self-recovery", "An agent that waits for messages or for its next retry does not count as hanging."
)
def test_a_waiting_thread_says_for_how_long(group: TestGroup, work: AgentAtWork) -> None:
    """So its manager does not take either of them for a hang."""
    group.define_private("QM1", "QM2", usage="XMITQ")
    work.start()
    until(lambda: rests(work, "the delivery") == WAIT_S, "it waits for messages", PATIENCE_S)
    until(lambda: rests(work, "mover of QM2 in @QM1") == WAIT_S, "its mover does", PATIENCE_S)

    for name in (SYSTEM_QSG_TRANSMIT_QUEUE, "QM2"):
        group.repository("QM1").alter("QLOCAL", name, {"get": "DISABLED"})

    until(lambda: rests(work, "the delivery") == SHORT_RETRY_INTERVAL_S, "it pauses", PATIENCE_S)
    until(lambda: rests(work, "mover of QM2 in @QM1") == SHORT_RETRY_INTERVAL_S, "its mover does", PATIENCE_S)


def rests(work: AgentAtWork, thread: str) -> float:
    """Seconds for which the thread may be silent, by its own account; 0 while it works."""
    return work.agent.pulses.read().get(thread, (0, 0.0))[1]


@pytest.mark.rule(
    "igq/retry", "IPPROCS and TYPE(HANDLE) show agents and movers while they run, and not in the state of retry."
)
def test_the_server_of_a_queue_is_shown_with_an_open_handle(group: TestGroup, work: AgentAtWork) -> None:
    group.define_private("QM1", "QM2", usage="XMITQ")
    group.define_shared("QM3", usage="XMITQ")

    def shown(queue: str, what: str = "TYPE(QUEUE)") -> str:
        return mqsc(group, f"DISPLAY QSTATUS({queue}) {what}\n")[1]

    queues = (SYSTEM_QSG_TRANSMIT_QUEUE, "QM2", "QM3")
    assert ["IPPROCS(0)" in shown(queue) for queue in queues] == [True] * 3
    work.start()
    for queue in queues:
        until(lambda queue=queue: "IPPROCS(1)" in shown(queue), f"{queue} is open", PATIENCE_S)  # type: ignore[misc]
        assert "IPPROCS(1)" in mqsc(group, f"DISPLAY QLOCAL({queue}) IPPROCS\n")[1]
        handle = shown(queue, "TYPE(HANDLE)")
        assert all(word in handle for word in ("INPUT(SHARED)", "BROWSE(YES)", "OUTPUT(NO)", "QMNAME(QM1)")), handle
    assert "APPLTAG(IGQ agent)" in shown(SYSTEM_QSG_TRANSMIT_QUEUE, "TYPE(HANDLE)")

    # Open is not in use: the server of the queue makes way.
    group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
    until(lambda: "IPPROCS(0)" in shown(SYSTEM_QSG_TRANSMIT_QUEUE), "its agent tries again later", PATIENCE_S)
    group.repository("QM1").delete("QLOCAL", "QM2")


@pytest.mark.rule(
    "igq/retry", "A refused serialization leads into retry: 2271, or 2350 while a structure delays the recovery."
)
@pytest.mark.share
def test_a_refused_serialization_leads_into_retry(group: TestGroup, work: AgentAtWork) -> None:
    """As while peer recovery of its predecessor is still in progress."""
    tag = tag_argument("QM1", agent_tag("QM1"), ConnectOption.SERIALIZE_CONN_TAG_QSG)
    predecessor = group.connect("QM1", tag=tag)
    work.start()

    assert "CONN_TAG_IN_USE" in work.wait_for("RETRY").last_error
    predecessor.disconnect()
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})

    work.wait_for("RUNNING")


@pytest.mark.rule(
    "igq/retry", "A refused serialization leads into retry: 2271, or 2350 while a structure delays the recovery."
)
def test_a_recovery_that_a_structure_delays_leads_into_retry_too(
    group: TestGroup, work: AgentAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the serialization is refused with another reason: 2350."""
    group.define_shared("POOL")
    tag = tag_argument("QM1", agent_tag("QM1"), ConnectOption.SERIALIZE_CONN_TAG_QSG)
    predecessor = group.process("QM1")
    dead = group.connect("QM1", predecessor, tag=tag)
    dead.put1("POOL", b"never", options=int(PutOption.SYNCPOINT))
    predecessor.stop_renewing()
    group.group.client().zadd(group.group.keys.leases, {predecessor.token: 0})
    recoverer = group.connect("QM1").connection
    call_many = recoverer.call_many

    def refuse(calls: Sequence[ScriptCall]) -> list[Any]:
        if calls[0][0] == "structure/backout":
            raise error_for(MQRC.CF_STRUC_IN_USE, "", "APPL1")
        return call_many(calls)

    monkeypatch.setattr(recoverer, "call_many", refuse)
    with pytest.raises(MQIError):
        recover_dead(group.group, recoverer, predecessor.token)
    work.start()

    assert "CONN_TAG_NOT_USABLE" in work.wait_for("RETRY").last_error
    assert work.failure is None
    monkeypatch.undo()
    assert recover_dead(group.group, group.connect("QM1").connection, predecessor.token).is_resolved
    wake_agent(group.group, "QM1")
    work.wait_for("RUNNING")


@pytest.mark.rule("igq/retry", "Trouble with Redis counts as a restart, not as a retry.")
def test_trouble_with_redis_is_no_retry_but_the_end_of_this_run(work: AgentAtWork) -> None:
    """The manager recovers it and starts it again, which `restarts` counts."""
    work.start()
    work.wait_for("RUNNING")

    work.process.lose()

    until(lambda: work.failure is not None, "it ends", PATIENCE_S)
    assert work.failure is not None
    assert work.failure.reason == MQRC.CONNECTION_BROKEN
    state = work.agent._reporter.state
    assert (state.state, state.short_retries, state.next_retry_ms) == ("RUNNING", 0, None)


def waiting(group: TestGroup, structure: str) -> list[str]:
    """The connections that wait in a structure."""
    owners = group.group.structure(structure).owners
    states = cast(dict[bytes, bytes], group.group.client().hgetall(owners))
    return [token.decode() for token, state in states.items() if state[:1] == b"W"]


@pytest.mark.parametrize("is_noticed", [False, True])
def test_a_part_whose_structure_is_recovered_is_served_again(
    group: TestGroup, work: AgentAtWork, monkeypatch: pytest.MonkeyPatch, *, is_noticed: bool
) -> None:
    """Another service takes over the part: the old one must tell no trouble by ending, and leave none untold."""
    group.define_shared("POOL")
    backup(group.group, "APPL1")
    # The old service is replaced before it tries again.
    monkeypatch.setattr(work.agent._pool, "_nudge", lambda _why: None)
    work.start()
    until(lambda: waiting(group, "APPL1"), "its part there is served", PATIENCE_S)
    (waiter,) = waiting(group, "APPL1")

    lose(group)
    if is_noticed:
        group.group.client().lpush(group.group.structure("APPL1").wake + waiter, b"")
        until(lambda: work.said() == ["CSQM065E"], "it is in the state of retry", PATIENCE_S)
    recover(group.group, "APPL1")
    # As its manager does when it notices the recovery.
    wake_agent(group.group, "QM1")

    until(lambda: waiting(group, "APPL1"), "its part is served again", PATIENCE_S)
    told = ["CSQM065E", "CSQX501I", "IGQ0021I"] if is_noticed else ["CSQX501I"]
    until(lambda: work.said() == told, f"it tells {told}", PATIENCE_S)
    group.connect("QM2").put1("POOL", b"x", qmgr_name="QM1")
    until(lambda: on_queue(group, "POOL") == [(b"x", 0)], "it is delivered", PATIENCE_S)
