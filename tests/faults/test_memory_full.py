"""Redis is full: puts fail with 2192 and leave nothing half done; gets go on and make room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from igq.agent.progress.report import AgentState, write_agent_state
from igq.agent.progress.sleep import wake_agent, wake_key
from recovery.resolution import recover
from sharedq.api import Queue, QueueManagerConnection
from sharedq.mqi.constants import MQRC, Feedback, GetOption, OpenOption, PutOption, Report
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.system import define_system_objects
from tests.recovery.scene import register_wait
from tests.support.agents import drain
from tests.support.expiry import discard_expired
from tests.support.members import TestGroup
from tests.support.scenes import dump, on_queue
from tests.support.server import Server

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
LATER = PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE
LARGE = b"L" * 1_000_000


@dataclass
class Full:
    """A group on a server of its own, whose memory a test fills."""

    group: TestGroup
    server: Server
    connection: QueueManagerConnection
    queue: Queue
    other: Queue

    def fill(self) -> None:
        """From now on the server refuses commands that need memory."""
        self.limit(1)

    def limit(self, used: int) -> None:
        """Let the server use this many bytes; 0 is no limit."""
        with self.server.client() as client:
            client.config_set("maxmemory", used)

    def used(self) -> int:
        """Bytes that the server uses."""
        with self.server.client() as client:
            return int(client.info("memory")["used_memory"])


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def full(own_server: Server, tmp_path: Path) -> Iterator[Full]:
    group = TestGroup(own_server.url, tmp_path)
    group.add_member("QM1")
    group.define_structure("APPL2")
    group.define_shared("Q")
    group.define_shared("OTHER", "APPL2")
    connection = group.connect()
    queue, other = connection.open("Q", BOTH), connection.open("OTHER", BOTH)
    for n in range(1, 4):
        queue.put(b"%d" % n, MQMD(persistence=1))
    made = Full(group, own_server, connection, queue, other)
    yield made
    made.limit(0)
    group.close()


PUTS: dict[str, Callable[[Full], object]] = {
    "put": lambda full: full.queue.put(b"x"),
    "put with identifiers and expiry": lambda full: full.queue.put(b"x", MQMD(correl_id=b"c" * 24, expiry=600)),
    "put of many": lambda full: full.queue.put_many([(MQMD(), b"x")] * 3),
    "put under syncpoint": lambda full: full.queue.put(b"x", options=PutOption.SYNCPOINT),
    "definition of a queue": lambda full: full.group.define_shared("NEW"),
}


@pytest.mark.invariant(1)
@pytest.mark.parametrize("name", PUTS)
def test_calls_that_store_are_refused_and_nothing_is_half_done(full: Full, name: str) -> None:
    before = dump(full.group)
    full.fill()
    with pytest.raises(MQIError) as caught:
        PUTS[name](full)
    assert caught.value.reason == MQRC.STORAGE_MEDIUM_FULL
    full.limit(0)
    assert dump(full.group) == before
    full.queue.put(b"room")
    assert on_queue(full.group, "Q")[-1] == (b"room", 0)


def test_a_commit_with_its_puts_is_refused_whole_and_can_be_repeated(full: Full) -> None:
    assert full.queue.get(GetOption.SYNCPOINT).body == b"1"
    full.queue.put(b"later", options=LATER)
    before = dump(full.group)
    full.fill()
    with pytest.raises(MQIError) as caught:
        full.connection.commit()
    assert caught.value.reason == MQRC.STORAGE_MEDIUM_FULL
    assert dump(full.group) == before
    full.limit(0)
    full.connection.commit()
    assert on_queue(full.group, "Q") == [(b"2", 0), (b"3", 0), (b"later", 0)]


@pytest.mark.parametrize("has_got", [False, True])
def test_a_commit_and_get_is_refused_whole_and_can_be_repeated(full: Full, has_got: bool) -> None:
    """Also where it would wait: nobody waits afterwards."""
    if has_got:
        assert full.queue.get(GetOption.SYNCPOINT).body == b"1"
    full.queue.put(b"later", options=LATER)
    before = dump(full.group)
    full.fill()
    for options in (GetOption.SYNCPOINT, GetOption.SYNCPOINT | GetOption.WAIT):
        with pytest.raises(MQIError) as caught:
            full.queue.commit_and_get(options, wait_ms=1000)
        assert caught.value.reason == MQRC.STORAGE_MEDIUM_FULL
        assert dump(full.group) == before
    full.limit(0)
    expected = [b"1", b"2", b"3", b"later"][has_got:]
    assert full.queue.commit_and_get(GetOption.SYNCPOINT).body == expected[0]
    full.connection.commit()
    assert on_queue(full.group, "Q") == [(body, 0) for body in expected[1:]]


@pytest.mark.invariant(7)
def test_getting_goes_on(full: Full) -> None:
    full.fill()
    assert full.queue.get(GetOption.BROWSE_FIRST).body == b"1"
    assert full.queue.get(GetOption.SYNCPOINT).body == b"1"
    full.connection.backout()
    assert on_queue(full.group, "Q") == [(b"1", 1), (b"2", 0), (b"3", 0)]
    assert full.queue.get(GetOption.SYNCPOINT).body == b"1"
    full.connection.commit()
    assert full.queue.get().body == b"2"
    assert full.queue.commit_and_get(GetOption.SYNCPOINT | GetOption.WAIT, wait_ms=1000).body == b"3"
    with pytest.raises(MQIError) as caught:
        full.other.get(GetOption.WAIT, wait_ms=1)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    full.connection.commit()
    assert on_queue(full.group, "Q") == []
    full.connection.disconnect()


def test_units_of_work_with_puts_can_be_ended(full: Full) -> None:
    full.queue.get(GetOption.SYNCPOINT)
    full.other.put(b"of two structures", options=PutOption.SYNCPOINT)
    second = full.group.connect()
    second.open("Q", BOTH).put(b"never", options=PutOption.SYNCPOINT)
    full.fill()
    full.connection.commit()
    second.backout()
    assert on_queue(full.group, "OTHER", "APPL2") == [(b"of two structures", 0)]
    assert on_queue(full.group, "Q") == [(b"2", 0), (b"3", 0)]


@pytest.mark.invariant(1)
@pytest.mark.parametrize("sent_by", ["MQCMIT", "MQGET"])
def test_a_unit_of_work_with_a_refused_asynchronous_put_never_commits(full: Full, sent_by: str) -> None:
    """One of two puts, in two structures, is missing: neither may be there."""
    full.other.put(b"other", options=PutOption.SYNCPOINT)
    full.queue.put(LARGE, options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    full.fill()
    if sent_by == "MQGET":
        assert full.queue.get(GetOption.SYNCPOINT).body == b"1"
    with pytest.raises(MQIError) as caught:
        full.connection.commit()
    assert caught.value.reason == MQRC.BACKED_OUT
    full.connection.commit()
    assert [body for body, _ in on_queue(full.group, "Q")] == [b"1", b"2", b"3"]
    assert on_queue(full.group, "OTHER", "APPL2") == []


def test_programs_come_leases_are_renewed_and_the_dead_are_recovered(full: Full) -> None:
    dead = full.group.process()
    full.group.connect(process=dead).open("Q", BOTH).get(GetOption.SYNCPOINT)
    full.fill()
    keys = full.group.group.keys
    reply = full.group.group.call("admin/renew", [keys.leases, keys.members], [dead.token, 60_000, "QM1", 0, 1])
    assert reply[0] == 1
    dead.stop_renewing()
    assert recover(full.group.group, full.group.connect().connection, dead.token, force=True).is_resolved
    assert full.group.connect().open("Q", BOTH).get().body == b"1"


def test_a_start_that_defines_nothing_new_goes_on(full: Full) -> None:
    full.fill()
    repository = full.group.repository("QM1")
    repository.prepare_manager("QM1")
    define_system_objects(repository, full.group.settings.default_structure)


def test_agents_report_and_are_woken(full: Full) -> None:
    agent = full.group.process("QM1")
    full.fill()
    wake_agent(full.group.group, "QM1", by_operator=True)
    write_agent_state(full.group.group, agent.token, AgentState("RETRY", pid=1, restarts=0))
    with full.server.client() as client:
        assert client.lrange(wake_key(full.group.group, "QM1"), 0, -1) == [b"retry"]
        assert 0 < client.ttl(wake_key(full.group.group, "QM1")) <= 60
        assert b"RETRY" in client.hget(full.group.group.keys.agents, "QM1")


def test_a_waiting_get_hears_of_quiescing(full: Full) -> None:
    wake_key = full.group.group.structure("APPL2").wake + full.connection.connection.token
    register_wait(full.other, b"A")
    full.connection.connection.waits_on(wake_key)
    full.fill()
    full.connection.connection.notice_quiescing()
    with full.server.client() as client:
        assert client.lrange(wake_key, 0, -1) == [b"quiesce"]


@pytest.mark.rule(
    "mqi/reports", "Expired messages without reports are discarded even if the queue for reports is full."
)
@pytest.mark.parametrize("found", [False, True])
def test_expired_messages_make_room_even_if_other_reports_find_none(full: Full, found: bool) -> None:
    asking = MQMD(expiry=1, report=int(Report.EXPIRATION), reply_to_q=b"OTHER")
    full.queue.put_many([(replace(asking), b"asks") for _ in range(150)])
    full.group.wait_redis_ms(150)
    if found:
        full.queue.get_many(10)
        with pytest.raises(NoMsgAvailable):
            full.queue.get()
    full.queue.put(b"quiet", MQMD(expiry=1))
    full.group.wait_redis_ms(150)
    sweeper = full.group.connect().connection
    full.fill()
    assert discard_expired(sweeper, "APPL1") == 1
    full.limit(0)
    assert discard_expired(sweeper, "APPL1") == 150
    assert [message.md.feedback for message in drain(full.connection, "OTHER")] == [Feedback.EXPIRATION] * 150


def reason_of_put(full: Full) -> MQRC:
    """The result of one more large put."""
    try:
        full.queue.put(LARGE)
    except MQIError as error:
        return error.reason
    return MQRC.NONE


def test_getting_makes_room_for_puts(full: Full) -> None:
    full.limit(full.used() + 8 * len(LARGE))
    reasons = [reason_of_put(full) for _ in range(20)]
    # Redis counts its buffers as well, and gives them back by and by: a put after a refused one may fit.
    assert set(reasons) == {MQRC.NONE, MQRC.STORAGE_MEDIUM_FULL}
    put = reasons.count(MQRC.NONE)
    assert put > 1
    assert len(on_queue(full.group, "Q")) == 3 + put
    for _ in range(3 + put // 2):
        full.queue.get(GetOption.SYNCPOINT)
    full.connection.commit()
    full.queue.put(LARGE)
    assert len(on_queue(full.group, "Q")) == put - put // 2 + 1
