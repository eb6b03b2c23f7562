"""A whole agent with a part of its queue in an application structure: made, served, in trouble, lost and recovered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from igq.agent.progress.sleep import wake_agent
from igq.mqsc.session import SessionRepository
from sharedq.admin.backup.capture import backup
from sharedq.admin.backup.restoration import recover
from sharedq.mqi.constants import MQRC, OpenOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.failures import structure_state
from sharedq.objects.store.parts import Place, own_part, part_in
from tests.support.agent_at_work import PATIENCE_S, AgentAtWork
from tests.support.backups import lose, mqsc
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until
from tests.support.status import read_status

PART = part_in("APPL1", "QM1")


@pytest.fixture
def work(group: TestGroup) -> Iterator[AgentAtWork]:
    """QM1's agent, which waits. QM1 has a private queue OWN, and POOL is shared."""
    group.add_member("QM2")
    group.define_private("QM1", "OWN")
    work = AgentAtWork(group)
    work.start()
    work.wait_for("RUNNING")
    pool = QueueLocal(name="POOL", disposition="SHARED", structure="APPL1")
    SessionRepository(group.group, "QM2").define(pool)
    until(lambda: part_for(group, "POOL") == PART, "its part is there", PATIENCE_S)
    yield work
    work.stop()


def part_for(group: TestGroup, queue: str) -> Place | None:
    """The part for messages to a queue at QM1."""
    repository = group.repository("QM2")
    return repository.transmit_part("QM1", repository.locate(queue))


def send(group: TestGroup, queue: str, body: bytes) -> None:
    group.connect("QM2").put1(queue, body, MQMD(persistence=1), qmgr_name="QM1")


def arrive(group: TestGroup, *sent: bytes, queue: str = "POOL", structure: str = "APPL1") -> None:
    """Check that these messages are there, in this order, and no others."""
    count = len(sent)
    until(lambda: len(on_queue(group, queue, structure)) >= count, "they have come", PATIENCE_S)
    assert [body for body, _ in on_queue(group, queue, structure)] == list(sent)


def lose_what_was_backed_up(group: TestGroup) -> None:
    """APPL1 is lost, with a message on POOL that its backup has."""
    group.repository("QM1").alter_structure("APPL1", {"recover": "YES"})
    send(group, "POOL", b"1")
    arrive(group, b"1")
    backup(group.group, "APPL1")
    lose(group)


@pytest.mark.rule("igq/parts", "The agent makes a part where its group has shared queues, and serves it.")
def test_its_agent_makes_a_part_where_shared_queues_are_and_serves_it(group: TestGroup, work: AgentAtWork) -> None:
    """The part is made as soon as there is a queue: the command that defines it tells the agents."""
    for queue, structure in (("POOL", "APPL1"), ("OWN", "@QM1")):
        send(group, queue, b"1")
        send(group, queue, b"2")
        arrive(group, b"1", b"2", queue=queue, structure=structure)
    until(lambda: work.status().delivered == 4, "all are counted", PATIENCE_S)
    # An observer sees one agent with one queue.
    agents = {manager.name: manager.agent for manager in read_status(group.settings).managers}
    assert agents["QM1"].movers == []
    status, shown = mqsc(group, f"DISPLAY QSTATUS({SYSTEM_QSG_TRANSMIT_QUEUE}) IPPROCS")
    assert (status, "IPPROCS(1)" in shown) == (0, True)


def test_the_next_agent_delivers_messages_sent_without_one(group: TestGroup, work: AgentAtWork) -> None:
    work.stop()
    send(group, "POOL", b"1")
    assert [body for body, _ in on_queue(group, PART.queue)] == [b"1"]
    successor = AgentAtWork(group)
    successor.start()
    arrive(group, b"1")
    successor.stop()


def test_one_delivery_in_retry_is_an_agent_in_retry_and_the_others_go_on(group: TestGroup, work: AgentAtWork) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": ""})
    pool = group.connect("QM2").open("POOL", OpenOption.OUTPUT, qmgr_name="QM1")
    group.repository("QM1").delete("QLOCAL", "POOL")
    pool.put(b"astray", MQMD(persistence=1))

    shown = work.wait_for("RETRY")

    assert "POOL" in shown.last_error
    assert shown.next_retry_s is not None
    send(group, "OWN", b"1")
    arrive(group, b"1", queue="OWN", structure="@QM1")
    assert work.status().state == "RETRY"
    assert "IPPROCS(1)" in mqsc(group, f"DISPLAY QSTATUS({SYSTEM_QSG_TRANSMIT_QUEUE}) IPPROCS")[1]
    group.define_shared("POOL")
    SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
    assert work.wait_for("RUNNING").last_error == ""
    arrive(group, b"astray")


@pytest.mark.rule("igq/parts", "A structure that fails stops only what is sent there.")
def test_a_structure_that_fails_stops_what_is_sent_there_and_nothing_else(group: TestGroup, work: AgentAtWork) -> None:
    lose_what_was_backed_up(group)
    assert structure_state(group.group, "APPL1") == "FAILED"
    wake_agent(group.group, "QM1")
    send(group, "OWN", b"2")
    arrive(group, b"2", queue="OWN", structure="@QM1")
    # This is the way for names whose place is unknown: the message waits until the structure is back.
    send(group, "POOL", b"3")
    assert part_for(group, "POOL") == own_part("QM1")

    recover(group.group, "APPL1")
    wake_agent(group.group, "QM1")

    assert work.failure is None
    until(lambda: part_for(group, "POOL") == PART, "its part is there", PATIENCE_S)
    arrive(group, b"1", b"3")
    send(group, "POOL", b"4")
    arrive(group, b"1", b"3", b"4")


def test_a_structure_that_has_failed_and_is_back_before_its_agent_looks(group: TestGroup, work: AgentAtWork) -> None:
    """The group knows no waiter there any more."""
    lose_what_was_backed_up(group)
    recover(group.group, "APPL1")
    send(group, "POOL", b"2")
    wake_agent(group.group, "QM1")
    arrive(group, b"1", b"2")
    assert work.failure is None


def test_a_loss_that_a_define_ends_is_noticed(group: TestGroup, work: AgentAtWork) -> None:
    send(group, "POOL", b"1")
    arrive(group, b"1")
    lose(group)
    pool = QueueLocal(name="POOL", disposition="SHARED", structure="APPL1")
    SessionRepository(group.group, "QM2").define(pool, replace=True)
    until(lambda: part_for(group, "POOL") == PART, "its part is there", PATIENCE_S)
    send(group, "POOL", b"2")
    arrive(group, b"2")
    assert work.failure is None


def other_structure(group: TestGroup) -> SessionRepository:
    """APPL2 with the queue OTHER, and the agent's part there."""
    group.define_structure("APPL2")
    repository = SessionRepository(group.group, "QM2")
    repository.define(QueueLocal(name="OTHER", disposition="SHARED", structure="APPL2"))
    until(lambda: part_for(group, "OTHER") == part_in("APPL2", "QM1"), "its part is there", PATIENCE_S)
    return repository


def test_a_structure_is_deleted_under_an_agent_that_waits_there(group: TestGroup, work: AgentAtWork) -> None:
    repository = other_structure(group)
    for number in range(3):
        send(group, "OTHER", b"%d" % number)
    until(lambda: work.status().delivered == 3, "they are counted", PATIENCE_S)
    repository.clear("OTHER")
    repository.delete("QLOCAL", "OTHER")
    repository.delete_structure("APPL2")
    until(lambda: "CSQX501I" in work.said(), "it does not serve it any more", PATIENCE_S)
    work.wait_for("RUNNING")
    send(group, "POOL", b"1")
    arrive(group, b"1")
    until(lambda: work.status().delivered == 4, "nothing is forgotten", PATIENCE_S)
    assert work.failure is None


def test_a_refused_delete_does_not_disturb_the_service(group: TestGroup, work: AgentAtWork) -> None:
    repository = other_structure(group)
    repository.make_transmit_parts("QM2")
    group.connect("QM1").put1("OTHER", b"x", MQMD(persistence=1), qmgr_name="QM2")
    repository.delete("QLOCAL", "OTHER")
    with pytest.raises(MQIError) as caught:
        repository.delete_structure("APPL2")
    assert caught.value.reason == MQRC.CF_STRUC_IN_USE
    group.define_shared("OTHER", "APPL2")
    send(group, "OTHER", b"1")
    arrive(group, b"1", queue="OTHER", structure="APPL2")
    assert "CSQM065E" not in work.said()


def test_a_stopping_service_does_not_retry_until_the_others_have_ended(
    group: TestGroup, work: AgentAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manager's own delivery is at its last batch meanwhile."""
    send(group, "POOL", b"1")
    arrive(group, b"1")
    client = group.group.client()
    monkeypatch.setattr(work.agent._service, "stop", lambda: None)
    work.agent.stop()
    monkeypatch.undo()
    before = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    group.wait_redis_ms(500)
    assert client.info("commandstats")["cmdstat_evalsha"]["calls"] - before < 50


def test_an_operators_failed_try_is_counted(group: TestGroup, work: AgentAtWork) -> None:
    group.repository("QM1").alter_qmgr("QM1", {"dead_letter_queue": ""})
    pool = group.connect("QM2").open("POOL", OpenOption.OUTPUT, qmgr_name="QM1")
    group.repository("QM1").delete("QLOCAL", "POOL")
    pool.put(b"astray", MQMD(persistence=1))
    work.wait_for("RETRY")
    for tries in (1, 2):
        SessionRepository(group.group, "QM1").alter_qmgr("QM1", {"igq": "ENABLED"})
        until(lambda tries=tries: work.status().short_retries == tries, "it is counted", PATIENCE_S)  # type: ignore[misc]
