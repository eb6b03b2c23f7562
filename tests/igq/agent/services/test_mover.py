"""Movers of conventional transmission queues, on a real server: destinations, order, and undeliverable messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from igq.agent.progress.pipe import EXIT_CONNECTION_LOST, Pulse, Pulses
from igq.agent.progress.report import MoverState
from igq.agent.progress.retry import Trouble
from igq.agent.progress.sleep import Nudge, movers_wake_key, wake_agent, wake_movers
from igq.agent.queues.transmission_queue import WAIT_S, TransmissionQueue
from igq.agent.services.base import Post
from igq.agent.services.pool import Mover, Served, ServicePool, StandbyError
from igq.mqsc.session import SessionRepository
from recovery.resolution import recover
from sharedq.api import QueueManagerConnection
from sharedq.messages.message import Message
from sharedq.mqi import wire
from sharedq.mqi.constants import MQRC, Feedback, GetOption, MsgFlag, OpenOption, Report
from sharedq.mqi.errors import NoMsgAvailable
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueAlias, QueueLocal, QueueRemote
from sharedq.objects.system import SYSTEM_DEAD_LETTER_QUEUE
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, stored, until

pytestmark = pytest.mark.share

PERSISTENT = {"persistence": 1, "priority": 0}


@pytest.fixture
def trio(group: TestGroup) -> TestGroup:
    """Three members. QM1 uses no intra-group queuing, and has a transmission queue for QM2."""
    for name in ("QM2", "QM3"):
        group.add_member(name)
    for name in ("QM1", "QM2", "QM3"):
        group.repository(name).alter_qmgr(name, {"dead_letter_queue": SYSTEM_DEAD_LETTER_QUEUE})
    group.repository("QM1").alter_qmgr("QM1", {"igq": "DISABLED"})
    group.define_private("QM1", "QM2", usage="XMITQ")
    group.define_private("QM2", "IN")
    return group


class Steps:
    """A mover of QM1 that runs step by step."""

    def __init__(self, group: TestGroup, name: str = "QM2", structure: str = "@QM1", qmgr: str = "QM1") -> None:
        self.said: list[str] = []
        self.states: list[MoverState] = []
        self.members = [member.name for member in group.group.members()]
        self.process = group.process(qmgr)
        post = Post(group.group, self.process, self._tell, self.states.append, Pulse(), Nudge())
        self.mover = Mover(post, Served(name, structure), lambda: self.members)

    def _tell(self, message_id: str, _: object) -> None:
        self.said.append(message_id)

    def open(self) -> TransmissionQueue:
        """Its queue."""
        self.mover._open(self.mover._connected())
        assert self.mover._opened is not None
        return self.mover._opened[0]

    def deliver(self) -> int:
        """Move a batch. Returns the number of messages that reached their destination."""
        queue = self.open()
        assert self.mover._deliverer is not None
        return sum(self.mover._deliverer.deliver_from(queue, queue.take()))


def drain(connection: QueueManagerConnection, queue: str) -> list[Message]:
    found: list[Message] = []
    with connection.open(queue, OpenOption.INPUT_SHARED) as opened:
        while True:
            try:
                found.append(opened.get(GetOption.NO_SYNCPOINT))
            except NoMsgAvailable:
                return found


def bodies(group: TestGroup, queue: str, qmgr: str = "QM2") -> list[bytes]:
    return [message.body for message in drain(group.connect(qmgr), queue)]


def send(group: TestGroup, body: bytes, queue: str = "IN", to: str = "QM2", **fields: object) -> MQMD:
    md = MQMD(**(PERSISTENT | fields))  # type: ignore[arg-type]
    return group.connect("QM1").put1(queue, body, md, qmgr_name=to)


def define_way(group: TestGroup, how: str) -> str:
    """A way from QM1 to IN at QM2 by a conventional transmission queue; returns that queue's name."""
    if how == "named like the manager":
        return "QM2"
    group.repository("QM1").delete("QLOCAL", "QM2")
    group.define_private("QM1", "WAY", usage="XMITQ")
    if how == "default":
        group.repository("QM1").alter_qmgr("QM1", {"default_transmission_queue": "WAY"})
    else:
        remote = QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", transmission_queue="WAY")
        group.define("QM1", remote)
        group.define("QM1", QueueAlias(name="NICK", target="FAR"))
    return "WAY"


@pytest.mark.rule(
    "igq/routes", "Each conventional transmission queue leads to its member, without intra-group queuing."
)
@pytest.mark.parametrize("how", ["named like the manager", "default", "named by a definition", "named after an alias"])
def test_every_conventional_transmission_queue_leads_to_the_member(trio: TestGroup, how: str) -> None:
    way = define_way(trio, how)
    name, to = {"named by a definition": ("FAR", ""), "named after an alias": ("NICK", "")}.get(how, ("IN", "QM2"))
    sent = [send(trio, b"%d" % n, name, to, correl_id=b"c" * 24, format=b"MQSTR") for n in range(5)]
    assert len(on_queue(trio, way, "@QM1")) == 5

    assert Steps(trio, way).deliver() == 5

    got = drain(trio.connect("QM2"), "IN")
    assert [message.body for message in got] == [b"0", b"1", b"2", b"3", b"4"]
    for message, md in zip(got, sent, strict=True):
        assert message.md.msg_id == md.msg_id != bytes(24)
        assert (message.md.correl_id, message.md.format, message.md.persistence) == (b"c" * 24, b"MQSTR", 1)
        assert (message.md.user_identifier, message.md.put_appl_name) == (md.user_identifier, md.put_appl_name)
        assert message.md.put_date
    assert stored(trio, "@QM1") == 0


@pytest.mark.rule("igq/routes", "The destination is opened as its own manager opens it.")
@pytest.mark.parametrize("kind", ["shared", "alias", "remote to itself", "group member"])
def test_the_destination_is_opened_as_its_own_manager_opens_it(trio: TestGroup, kind: str) -> None:
    trio.define_shared("POOL")
    trio.define("QM2", QueueAlias(name="TO.POOL", target="POOL"))
    trio.define("QM2", QueueRemote(name="BACK", remote_queue="IN", remote_qmgr="QM2"))
    # The same names mean other queues at the manager where they are put.
    trio.define_private("QM1", "IN")
    trio.define("QM1", QueueAlias(name="TO.POOL", target="IN"))
    name = {"shared": "POOL", "alias": "TO.POOL"}.get(kind, "BACK" if kind == "remote to itself" else "IN")
    in_group: dict[str, Any] = {"version": 2, "group_id": b"g" * 24, "msg_seq_number": 2}
    in_group["msg_flags"] = int(MsgFlag.MSG_IN_GROUP)
    send(trio, b"x", name, **(in_group if kind.startswith("group") else {}))

    assert Steps(trio).deliver() == 1

    (got,) = drain(trio.connect("QM2"), "POOL" if kind in ("shared", "alias") else "IN")
    assert got.body == b"x"
    if kind.startswith("group"):
        assert (got.md.group_id, got.md.msg_seq_number) == (b"g" * 24, 2)
    assert bodies(trio, "IN", "QM1") == []


@pytest.mark.rule("igq/agent", "A mover keeps the order over its batches, and priorities count.")
def test_order_is_kept_over_batches_and_priorities_count(trio: TestGroup) -> None:
    for n in range(120):
        send(trio, b"%d" % n, priority=9 if n >= 110 else 0, persistence=n % 2)
    steps = Steps(trio)
    while steps.deliver():
        pass
    assert bodies(trio, "IN") == [b"%d" % n for n in (*range(110, 120), *range(110))]


@pytest.mark.rule("igq/routes", "A message can take several hops, by transmission queues and by intra-group queuing.")
@pytest.mark.parametrize("igq", ["ENABLED", "DISABLED"])
def test_a_message_hops_from_manager_to_manager(trio: TestGroup, igq: str) -> None:
    """QM1 knows QM3 through QM2 only. QM2 uses intra-group queuing, or its own transmission queue."""
    trio.repository("QM2").alter_qmgr("QM2", {"igq": igq})
    trio.define_private("QM2", "QM3", usage="XMITQ")
    trio.define_private("QM3", "LAST")
    far = QueueRemote(name="FAR", remote_queue="LAST", remote_qmgr="QM3", transmission_queue="QM2")
    trio.define("QM1", far)
    send(trio, b"far", "FAR", "")

    assert Steps(trio).deliver() == 1
    queue = "SYSTEM.QSG.TRANSMIT.QUEUE" if igq == "ENABLED" else "QM3"
    structure = "@QM3" if igq == "ENABLED" else "@QM2"
    assert len(on_queue(trio, queue, structure)) == 1
    if igq == "DISABLED":
        assert Steps(trio, "QM3", "@QM2", "QM2").deliver() == 1
        assert bodies(trio, "LAST", "QM3") == [b"far"]


@pytest.mark.rule("igq/routes", "An alias of a manager counts at the manager that a message passes through, too.")
def test_an_alias_of_the_manager_that_a_message_comes_to_counts_there(trio: TestGroup) -> None:
    """A message with a name that QM2 once had."""
    trio.define("QM2", QueueRemote(name="OLD", remote_qmgr="QM2"))
    trio.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="OLD", transmission_queue="QM2"))
    send(trio, b"x", "FAR", "")
    assert Steps(trio).deliver() == 1
    assert bodies(trio, "IN") == [b"x"]


def test_messages_too_long_for_the_transmit_queue_go_the_other_way(trio: TestGroup) -> None:
    """It is inhibited for puts. IGQ is disabled, so this disturbs nothing."""
    trio.repository("QM1").alter("QLOCAL", "SYSTEM.QSG.TRANSMIT.QUEUE", {"put": "DISABLED", "get": "DISABLED"})
    send(trio, b"x" * 1_000_000)
    assert Steps(trio).deliver() == 1
    assert bodies(trio, "IN") == [b"x" * 1_000_000]


@pytest.mark.rule("igq/undelivered", "A mover dead-letters what it cannot deliver too.")
@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (None, MQRC.UNKNOWN_OBJECT_NAME),
        ({"put": "DISABLED"}, MQRC.PUT_INHIBITED),
        ({"max_depth": 0}, MQRC.Q_FULL),
        ({"max_msg_length": 3}, MQRC.MSG_TOO_BIG_FOR_Q),
    ],
)
def test_undeliverable_messages_go_to_their_destinations_dead_letter_queue(
    trio: TestGroup, attributes: dict[str, object] | None, reason: MQRC
) -> None:
    if attributes is not None:
        trio.define_private("QM2", "ORDERS", **attributes)
    steps = Steps(trio)
    sent = send(trio, b"four", "ORDERS")
    send(trio, b"good")

    assert steps.deliver() == 1

    (letter,) = drain(trio.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    header = wire.DLH.unpack(letter.body)
    assert (header.reason, header.dest_q_name, header.dest_q_mgr_name) == (reason, b"ORDERS", b"QM2")
    assert (letter.md.msg_id, letter.body[-4:]) == (sent.msg_id, b"four")
    assert steps.said == ["CSQM064I"]
    assert bodies(trio, SYSTEM_DEAD_LETTER_QUEUE, "QM1") == []
    assert bodies(trio, "IN") == [b"good"]


@pytest.mark.rule("igq/undelivered", "A message without MQXQH on a transmission queue is dead-lettered (271).")
def test_a_message_without_a_header_is_dead_lettered(trio: TestGroup) -> None:
    with trio.connect("QM1").open("QM2", OpenOption.OUTPUT) as queue:
        queue.put(b"no header at all", MQMD(persistence=1))
    assert Steps(trio).deliver() == 0
    (letter,) = drain(trio.connect("QM2"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).reason == Feedback.XMIT_Q_MSG_ERROR


@pytest.mark.rule(
    "igq/undelivered", "A message without MQXQH is dead-lettered whatever its transmission queue is named."
)
def test_a_message_without_header_delays_no_queue_not_named_like_a_member(trio: TestGroup) -> None:
    """It becomes a dead letter of the manager that serves the queue."""
    way = define_way(trio, "default")
    with trio.connect("QM1").open(way, OpenOption.OUTPUT) as queue:
        queue.put(b"no header at all", MQMD(persistence=1))
    send(trio, b"good")
    steps = Steps(trio, way)

    assert steps.deliver() == 1

    (letter,) = drain(trio.connect("QM1"), SYSTEM_DEAD_LETTER_QUEUE)
    assert wire.DLH.unpack(letter.body).reason == Feedback.XMIT_Q_MSG_ERROR
    assert letter.body.endswith(b"no header at all")
    assert steps.said == ["CSQM064I"]
    assert bodies(trio, "IN") == [b"good"]


def test_without_a_dead_letter_queue_batches_are_backed_out_until_repaired(trio: TestGroup) -> None:
    trio.repository("QM2").alter_qmgr("QM2", {"dead_letter_queue": ""})
    send(trio, b"first")
    send(trio, b"second", "NOWHERE")
    send(trio, b"dropped", "NOWHERE", persistence=0)
    steps = Steps(trio)
    for _ in range(2):
        with pytest.raises(Trouble, match="NOWHERE"):
            steps.deliver()
    assert bodies(trio, "IN") == []
    trio.define_private("QM2", "NOWHERE")
    assert steps.deliver() == 3
    assert bodies(trio, "IN") == [b"first"]
    assert bodies(trio, "NOWHERE") == [b"second", b"dropped"]


def test_an_exception_report_goes_to_whom_the_message_asks(trio: TestGroup) -> None:
    trio.define_shared("REPLIES")
    options = int(Report.EXCEPTION_WITH_FULL_DATA | Report.DISCARD_MSG)
    sent = send(trio, b"request", "NOWHERE", report=options, reply_to_q=b"REPLIES", reply_to_q_mgr=b"QM2")
    steps = Steps(trio)
    steps.deliver()
    (report,) = drain(trio.connect("QM1"), "REPLIES")
    assert (report.body, report.md.feedback, report.md.correl_id) == (b"request", 2085, sent.msg_id)
    assert steps.said == ["IGQ0022I"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"get": "DISABLED"}, "GET"), ({"usage": "NORMAL"}, "USAGE"), (None, "not defined|DELETED|UNKNOWN")],
)
def test_a_queue_that_cannot_be_used_is_trouble(trio: TestGroup, changes: dict[str, object] | None, words: str) -> None:
    steps = Steps(trio)
    assert steps.deliver() == 0
    repository = trio.repository("QM1")
    if changes is None:
        repository.delete("QLOCAL", "QM2")
    else:
        repository.alter("QLOCAL", "QM2", changes)
    with pytest.raises(Trouble, match=words):
        steps.deliver()


@pytest.mark.rule(
    "igq/routes", "One mover in the group serves a shared queue; its successor waits until its messages are back."
)
@pytest.mark.invariant(6)
def test_one_mover_serves_a_shared_queue_and_the_next_waits_for_recovery(trio: TestGroup) -> None:
    trio.define_shared("POOLED", usage="XMITQ")
    trio.define("QM1", QueueRemote(name="FAR", remote_queue="IN", remote_qmgr="QM2", transmission_queue="POOLED"))
    send(trio, b"1", "FAR", "")
    send(trio, b"2", "FAR", "")
    first = Steps(trio, "POOLED", "APPL1")
    assert len(first.open().take(1)) == 1

    second = Steps(trio, "POOLED", "APPL1", "QM3")
    with pytest.raises(StandbyError):
        second.deliver()
    first.process.stop_renewing()
    trio.group.client().zadd(trio.group.keys.leases, {first.process.token: 0})
    with pytest.raises(StandbyError):
        second.deliver()
    assert recover(trio.group, trio.connect("QM1").connection, first.process.token).is_resolved

    assert second.deliver() == 2
    assert bodies(trio, "IN") == [b"1", b"2"]


@pytest.mark.rule("igq/routes", "A mover that dies in a batch neither loses nor doubles a message.")
@pytest.mark.invariant(8)
@pytest.mark.parametrize("is_decided", [False, True])
def test_a_mover_that_dies_in_a_batch_neither_loses_nor_doubles_it(
    trio: TestGroup, monkeypatch: pytest.MonkeyPatch, is_decided: bool
) -> None:
    trio.define_shared("POOL")
    for n in range(3):
        send(trio, b"%d" % n, "POOL")
        send(trio, b"%d" % n)
    dying = Steps(trio)
    connection = dying.open()._connection

    class Died(Exception):
        pass

    call_many = connection.call_many

    def die(calls: object) -> list[object]:
        name = calls[0][0]  # type: ignore[index]
        if name == "admin/decide":
            if is_decided:
                call_many(calls)  # type: ignore[arg-type]
            raise Died
        return call_many(calls)  # type: ignore[arg-type]

    monkeypatch.setattr(connection, "call_many", die)
    with pytest.raises(Died):
        dying.deliver()
    dying.process.stop_renewing()
    trio.group.client().zadd(trio.group.keys.leases, {dying.process.token: 0})
    with pytest.raises(Trouble, match="CONN_TAG_IN_USE"):
        Steps(trio).deliver()
    assert recover(trio.group, trio.connect("QM1").connection, dying.process.token).is_resolved

    Steps(trio).deliver()
    assert bodies(trio, "IN") == bodies(trio, "POOL") == [b"0", b"1", b"2"]
    assert [stored(trio, structure) for structure in ("@QM1", "@QM2", "APPL1")] == [0, 0, 0]


class Running:
    """All movers of QM1 at work."""

    def __init__(self, group: TestGroup) -> None:
        self.states: tuple[MoverState, ...] = ()
        self.ends: list[tuple[str, int]] = []
        self.said: list[str] = []
        self.process = group.process("QM1")
        self.movers = ServicePool(
            group.group,
            self.process,
            lambda message_id, _: self.said.append(message_id),
            lambda states: setattr(self, "states", states),
            Pulses(),
            lambda why, status: self.ends.append((why, status)),
        )
        self.movers.start()

    def wake(self, group: TestGroup) -> None:
        """Let them look at the definitions and the members."""
        wake_movers(group.group, "QM1")

    def state(self, queue: str) -> MoverState | None:
        return next((state for state in self.states if state.queue == queue), None)


@pytest.fixture
def running(trio: TestGroup) -> Iterator[Running]:
    running = Running(trio)
    yield running
    running.movers.stop()
    assert running.ends == []


@pytest.mark.rule("igq/routes", "A mover serves a transmission queue from its definition to its deletion.")
def test_queues_are_served_from_their_definition_to_their_deletion(trio: TestGroup, running: Running) -> None:
    send(trio, b"1")
    until(lambda: running.state("QM2") and running.state("QM2").delivered == 1, "it is delivered", 120)  # type: ignore[union-attr]
    trio.define_private("QM3", "IN")
    trio.define("QM1", QueueLocal(name="QM3", usage="XMITQ"))
    wake_movers(trio.group, "QM1")
    send(trio, b"2", to="QM3")
    until(lambda: running.state("QM3") and running.state("QM3").delivered == 1, "the new one serves", 120)  # type: ignore[union-attr]
    assert bodies(trio, "IN") == [b"1"]
    assert bodies(trio, "IN", "QM3") == [b"2"]

    trio.repository("QM1").delete("QLOCAL", "QM3")
    wake_movers(trio.group, "QM1")
    until(lambda: running.state("QM3") is None, "it is left", 120)
    assert running.state("QM2") is not None


@pytest.mark.rule("igq/retry", "A mover has the same state of retry, and leaves it when it is woken.")
def test_a_mover_in_retry_goes_on_as_soon_as_it_is_woken(trio: TestGroup, running: Running) -> None:
    def is_in(state: str) -> bool:
        known = running.state("QM2")
        return known is not None and known.state == state

    until(lambda: is_in("RUNNING"), "it runs", 120)
    trio.repository("QM1").alter("QLOCAL", "QM2", {"get": "DISABLED"})
    until(lambda: is_in("RETRY"), "it is in retry", 120)
    known = running.state("QM2")
    assert known is not None
    assert known.next_retry_ms is not None
    assert "GET" in known.last_error
    trio.repository("QM1").alter("QLOCAL", "QM2", {"get": "ENABLED"})
    wake_agent(trio.group, "QM1")
    until(lambda: is_in("RUNNING"), "it runs again", 120)


@pytest.mark.rule("igq/retry", "A try that an event caused, such as a recovery that has ended, is not one of the ten.")
def test_commands_about_other_queues_bring_on_no_long_retries(trio: TestGroup, running: Running) -> None:
    trio.repository("QM1").alter("QLOCAL", "QM2", {"get": "DISABLED"})
    for tries in range(1, 4):
        until(lambda tries=tries: running.said.count("CSQX599E") >= tries, "it tries", 120)  # type: ignore[misc]
        wake_movers(trio.group, "QM1")
    state = running.state("QM2")
    assert state is not None
    assert (state.state, state.short_retries, state.long_retries) == ("RETRY", 0, 0)


@pytest.mark.rule("igq/retry", "A new trouble gets all its retries, even right after another.")
def test_a_new_trouble_of_a_mover_has_all_its_retries(trio: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if that ends the wait with which it left the state of retry."""
    tries, pauses, may_go_on = 3, list[float](), threading.Event()

    def pause(_: Mover, seconds: float) -> bool:
        pauses.append(seconds)
        if len(pauses) == tries:
            trio.repository("QM1").alter("QLOCAL", "QM2", {"get": "ENABLED"})
        elif len(pauses) > tries:
            may_go_on.wait(120)
        return False

    monkeypatch.setattr(Mover, "_pause", pause)
    steps = Steps(trio)
    mover = steps.mover
    trio.repository("QM1").alter("QLOCAL", "QM2", {"get": "DISABLED"})
    thread = threading.Thread(target=mover.run, daemon=True)
    thread.start()
    try:
        until(lambda: mover._pulse.state[1] == WAIT_S, "it waits for messages", 120)
        trio.repository("QM1").alter("QLOCAL", "QM2", {"get": "DISABLED"})
        until(lambda: len(pauses) > tries, "it is in retry again", 120)
    finally:
        mover.stop()
        may_go_on.set()
        thread.join(120)
    retries = [state.short_retries for state in steps.states if state.state == "RETRY"]
    assert retries == [*range(tries), 0]


@pytest.mark.rule("igq/self-recovery", "A mover that fails ends the agent's process, which the manager restarts.")
def test_a_mover_that_loses_its_connection_ends_the_process(trio: TestGroup) -> None:
    running = Running(trio)
    until(lambda: running.state("QM2"), "it runs", 120)
    running.process._lose("a test")
    until(lambda: running.ends, "it ends", 120)
    assert running.ends[0][1] == EXIT_CONNECTION_LOST
    running.movers.stop()


def test_threads_end_with_the_movers(trio: TestGroup) -> None:
    before = threading.enumerate()
    running = Running(trio)
    until(lambda: running.state("QM2"), "it runs", 120)
    running.movers.stop()
    begun = [thread for thread in threading.enumerate() if thread not in before]
    assert [thread.name for thread in begun if thread.name.startswith("mover")] == []


def woken(group: TestGroup) -> list[str]:
    """The managers whose movers were told to look since the last question."""
    client = group.group.client()
    names = [member.name for member in group.group.members()]
    return [name for name in names if client.delete(movers_wake_key(group.group, name))]


@pytest.mark.rule(
    "igq/routes", "A definition wakes the movers of every member that it is for, as soon as its command has returned."
)
def test_commands_wake_the_movers_of_those_whom_a_definition_is_for(trio: TestGroup) -> None:
    repository = SessionRepository(trio.group, "QM1")
    trio.define_structure("APPL2")
    assert woken(trio) == []
    repository.define(QueueLocal(name="QM3", usage="XMITQ"))
    assert woken(trio) == ["QM1"]
    repository.define(QueueLocal(name="OUT", disposition="SHARED", structure="APPL2", usage="XMITQ"))
    assert woken(trio) == ["QM1", "QM2", "QM3"]
    repository.define(QueueLocal(name="WORK", disposition="SHARED", structure="APPL2"))
    # Each of them may have to make its part of the transmit queue there: this session has told them that.
    assert woken(trio) == []
    SessionRepository(trio.group, "QM1").define(QueueLocal(name="LATER", disposition="SHARED", structure="APPL2"))
    assert woken(trio) == ["QM1", "QM2", "QM3"]
    for qmgr in ("QM1", "QM2", "QM3"):
        repository.make_transmit_parts(qmgr)
    # No mover has to do with an ordinary queue; one that is replaced may have been a transmission queue.
    repository.define(QueueLocal(name="MORE", disposition="SHARED", structure="APPL2"))
    assert woken(trio) == []
    repository.define(QueueLocal(name="MORE", disposition="SHARED", structure="APPL2"), replace=True)
    assert woken(trio) == ["QM1"]
    repository.alter("QLOCAL", "WORK", {"usage": "XMITQ"})
    assert woken(trio) == ["QM1", "QM2", "QM3"]
    repository.alter("QLOCAL", "WORK", {"description": "of no concern to others"})
    assert woken(trio) == ["QM1"]
    repository.delete("QLOCAL", "QM3")
    assert woken(trio) == ["QM1"]
