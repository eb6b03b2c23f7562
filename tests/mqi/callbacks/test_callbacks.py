"""MQCB and MQCTL: who is called with what, when calls are refused, and that waiting costs nothing."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from sharedq import Queue, verbs
from sharedq.api import QueueManagerConnection
from sharedq.callbacks import consumers as consuming
from sharedq.callbacks.calls import mqcb, mqctl
from sharedq.callbacks.consumers import Consumers
from sharedq.callbacks.structures import MQCBC, MQCBD, MQCTLO
from sharedq.mqi.constants import MQCC, MQRC, GetOption, IntSelector, OpenOption, PutOption
from sharedq.mqi.constants.callbacks import CallbackOperation as Op
from sharedq.mqi.constants.callbacks import CallbackOption, CallbackType, CallType, ConsumerState
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.redis.link import Link
from sharedq.session.connection import Connection
from tests.support.accounts import assert_accounted
from tests.support.groups import BOTH, drain
from tests.support.members import TestGroup
from tests.support.scenes import recover_lost, until
from tests.support.waits import until_waiting

pytestmark = pytest.mark.share

OK = (MQCC.OK, MQRC.NONE)
ALL_CALLS = sum(CallbackOption) & ~CallbackOption.FAIL_IF_QUIESCING


def failed(reason: MQRC) -> tuple[MQCC, MQRC]:
    return MQCC.FAILED, reason


@dataclass
class Heard:
    """The calls of callbacks, and how to make one that notes them here."""

    calls: list[tuple[str, CallType, MQRC, bytes | None]] = field(default_factory=list)
    contexts: list[MQCBC] = field(default_factory=list)

    def callback(self, name: str = "", act: Any = None) -> Any:
        def call(
            connection: Connection, _md: MQMD | None, _gmo: MQGMO | None, body: bytes | None, context: MQCBC
        ) -> None:
            self.contexts.append(context)
            self.calls.append((name, CallType(context.call_type), MQRC(context.reason), body))
            if act is not None:
                act(connection, context)

        return call

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, _, _, body in list(self.calls) if body is not None]

    @property
    def events(self) -> list[tuple[CallType, MQRC]]:
        return [(kind, reason) for _, kind, reason, body in list(self.calls) if body is None]

    def wait_for(self, count: int) -> None:
        until(lambda: len(self.bodies) >= count, f"{count} messages", 60)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def shared(group: TestGroup) -> TestGroup:
    group.define_shared("Q", max_msg_length=1000)
    return group


@pytest.fixture
def connection(shared: TestGroup) -> Iterator[QueueManagerConnection]:
    connected = shared.connect()
    yield connected
    if not connected.connection.is_ended:
        connected.disconnect()


@pytest.fixture
def putter(shared: TestGroup) -> Queue:
    return shared.connect().open("Q", BOTH)


def consume(queue: Queue, callback: Any, *, options: int = 0, gmo: MQGMO | None = None, **fields: Any) -> None:
    cbd = MQCBD(callback_function=callback, options=options, **fields)
    assert mqcb(queue.connection, Op.REGISTER, cbd, queue.handle, MQMD(version=2), gmo or MQGMO()) == OK


def handle_events(connection: QueueManagerConnection, callback: Any) -> None:
    cbd = MQCBD(callback_type=CallbackType.EVENT_HANDLER, callback_function=callback)
    assert mqcb(connection.connection, Op.REGISTER, cbd) == OK


@pytest.mark.rule("mqi/callbacks", "A started consumer is called with each message, those that were there first.")
def test_a_consumer_is_called_with_each_message(
    connection: QueueManagerConnection, putter: Queue, heard: Heard
) -> None:
    putter.put(b"before")
    queue = connection.open("Q", BOTH)
    consume(queue, heard.callback(), options=ALL_CALLS, callback_area="mine")
    assert mqctl(connection.connection, Op.START, MQCTLO(connection_area="all")) == OK
    heard.wait_for(1)
    putter.put(b"after")
    heard.wait_for(2)
    assert mqctl(connection.connection, Op.STOP) == OK
    # Stopped: what comes now stays.
    putter.put(b"later")
    assert mqcb(connection.connection, Op.DEREGISTER, None, queue.handle) == OK
    assert [(kind, body) for _, kind, _, body in heard.calls] == [
        (CallType.REGISTER_CALL, None),
        (CallType.START_CALL, None),
        (CallType.MSG_REMOVED, b"before"),
        (CallType.MSG_REMOVED, b"after"),
        (CallType.STOP_CALL, None),
        (CallType.DEREGISTER_CALL, None),
    ]
    message = heard.contexts[2]
    assert (message.callback_area, message.connection_area) == ("mine", "all")
    assert (message.hobj, message.data_length, message.buffer_length) == (queue.handle, 6, 6)
    assert drain(queue) == [b"later"]


@pytest.mark.rule("mqi/callbacks", "While consumers are started, calls are refused (2500) but those of callbacks.")
def test_calls_of_other_threads_are_refused(connection: QueueManagerConnection, putter: Queue, heard: Heard) -> None:
    outcomes: list[Any] = []

    def commit(hconn: Connection, _context: MQCBC) -> None:
        outcomes.append(verbs.mqcmit(hconn))

    queue = connection.open("Q", BOTH)
    consume(queue, heard.callback(act=commit), gmo=MQGMO(options=int(GetOption.SYNCPOINT)))
    assert mqctl(connection.connection, Op.START) == OK
    active = failed(MQRC.HCONN_ASYNC_ACTIVE)
    assert verbs.mqcmit(connection.connection) == active
    assert mqctl(connection.connection, Op.START) == active
    assert mqcb(connection.connection, Op.SUSPEND, None, queue.handle) == active
    putter.put(b"one")
    heard.wait_for(1)
    assert mqctl(connection.connection, Op.SUSPEND) == OK
    assert outcomes == [OK]
    # Suspended: its calls are the program's again.
    putter.put(b"two")
    assert queue.get().body == b"two"
    for operation in (Op.START, Op.START_WAIT):
        assert mqctl(connection.connection, operation) == failed(MQRC.OPERATION_NOT_ALLOWED)
    assert mqctl(connection.connection, Op.RESUME) == OK
    putter.put(b"three")
    heard.wait_for(2)
    assert heard.bodies == [b"one", b"three"]


@pytest.mark.rule("mqi/callbacks", "A disconnect stops the consumers, and leaves nothing of their waits.")
def test_a_disconnect_leaves_nothing(shared: TestGroup, heard: Heard) -> None:
    connection = shared.connect()
    consume(connection.open("Q", BOTH), heard.callback(), options=ALL_CALLS)
    assert mqctl(connection.connection, Op.START) == OK
    until_waiting(shared, "Q", 1)
    tokens = [connection.connection.token, *connection.connection.waiter_tokens]
    assert len(tokens) == 2
    assert verbs.mqdisc(connection.connection) == OK
    until_waiting(shared, "Q", 0)
    client: Any = shared.group.client()
    for keys in (shared.group.keys.owners, shared.group.structure("APPL1").owners):
        assert not set(tokens) & {each.decode() for each in client.hkeys(keys)}
    assert heard.events[-2:] == [(CallType.STOP_CALL, MQRC.NONE), (CallType.DEREGISTER_CALL, MQRC.NONE)]
    assert_accounted(shared.group)


def test_a_callback_cannot_end_its_connection(connection: QueueManagerConnection, putter: Queue, heard: Heard) -> None:
    outcomes: list[Any] = []
    act = lambda hconn, _: outcomes.append(verbs.mqdisc(hconn))  # noqa: E731
    consume(connection.open("Q", BOTH), heard.callback(act=act))
    assert mqctl(connection.connection, Op.START) == OK
    putter.put(b"one")
    until(lambda: bool(outcomes), "it was refused", 60)
    assert outcomes == [failed(MQRC.HCONN_ASYNC_ACTIVE)]


@pytest.mark.rule("mqi/callbacks", "MQOP_START_WAIT returns when a callback stops the consumers, or none is left.")
@pytest.mark.parametrize("how", [Op.STOP, Op.SUSPEND, Op.DEREGISTER])
def test_start_wait_returns(connection: QueueManagerConnection, putter: Queue, heard: Heard, how: Op) -> None:
    queue = connection.open("Q", BOTH)

    def act(hconn: Connection, _context: MQCBC) -> None:
        if how == Op.DEREGISTER:
            assert mqcb(hconn, how, None, queue.handle) == OK
        else:
            assert mqctl(hconn, how) == OK

    putter.put(b"one")
    putter.put(b"two")
    consume(queue, heard.callback(act=act))
    expected = {Op.DEREGISTER: failed(MQRC.NO_CALLBACKS_ACTIVE), Op.SUSPEND: (MQCC.WARNING, MQRC.CONNECTION_SUSPENDED)}
    assert mqctl(connection.connection, Op.START_WAIT) == expected.get(how, OK)
    assert heard.bodies == [b"one"]
    assert queue.get().body == b"two"


@pytest.mark.rule("mqi/callbacks", "MQCTL refuses what the state of the consumers does not allow (2534).")
def test_what_is_stopped_is_neither_suspended_nor_resumed(connection: QueueManagerConnection, heard: Heard) -> None:
    hconn, refused = connection.connection, failed(MQRC.OPERATION_NOT_ALLOWED)
    for _ in range(2):
        assert [mqctl(hconn, operation) for operation in (Op.SUSPEND, Op.RESUME)] == [refused, refused]
        consume(connection.open("Q", BOTH), heard.callback())
        assert [mqctl(hconn, operation) for operation in (Op.SUSPEND, Op.RESUME)] == [refused, refused]
        assert mqctl(hconn, Op.START) == OK
        assert mqctl(hconn, Op.START_WAIT) == refused
        # A resume of what runs changes nothing, nor does another suspend of what is suspended.
        assert [mqctl(hconn, operation) for operation in (Op.RESUME, Op.SUSPEND, Op.SUSPEND)] == [OK, OK, OK]
        assert mqctl(hconn, Op.STOP) == OK
        assert mqctl(hconn, Op.STOP) == OK


class _Ends(threading.Event):
    """An end of the consumers that says when somebody begins to wait for it."""

    def __init__(self, awaited: threading.Event) -> None:
        super().__init__()
        self._awaited = awaited

    def wait(self, timeout: float | None = None) -> bool:
        self._awaited.set()
        return super().wait(timeout)


def test_a_resume_waits_for_the_callback_that_has_suspended(
    connection: QueueManagerConnection, putter: Queue, heard: Heard
) -> None:
    hconn, outcomes, awaited = connection.connection, list[Any](), threading.Event()

    def resume() -> None:
        outcomes.append(mqctl(hconn, Op.RESUME))
        awaited.set()

    def act(_hconn: Connection, context: MQCBC) -> None:
        if not outcomes and context.call_type == CallType.MSG_REMOVED:
            outcomes.append(mqctl(hconn, Op.SUSPEND))
            assert isinstance(hconn.consumers, Consumers)
            hconn.consumers._has_ended = _Ends(awaited)
            threading.Thread(target=resume).start()
            awaited.wait()

    consume(connection.open("Q", BOTH), heard.callback(act=act))
    assert mqctl(hconn, Op.START) == OK
    putter.put(b"one")
    until(lambda: len(outcomes) == 2, "it was resumed", 60)
    assert outcomes == [OK, OK]
    putter.put(b"two")
    heard.wait_for(2)


def test_a_stop_at_the_start_is_told(connection: QueueManagerConnection, heard: Heard) -> None:
    act = lambda hconn, _: mqctl(hconn, Op.STOP)  # noqa: E731
    consume(connection.open("Q", BOTH), heard.callback(act=act), options=int(CallbackOption.START_CALL))
    assert mqctl(connection.connection, Op.START) == failed(MQRC.CONNECTION_STOPPED)
    assert verbs.mqcmit(connection.connection) == OK


@pytest.mark.rule("mqi/callbacks", "Consumers take turns, so that a full queue delays no other.")
@pytest.mark.parametrize("operation", [Op.START, Op.RESUME, Op.START_WAIT])
def test_a_callback_that_is_told_of_the_stop_starts_nothing(
    connection: QueueManagerConnection, heard: Heard, operation: Op
) -> None:
    """Nor does it turn the stop into a suspension."""
    said: list[tuple[MQCC, MQRC]] = []

    def act(hconn: Connection, context: MQCBC) -> None:
        if context.call_type == CallType.STOP_CALL:
            said.append(mqctl(hconn, operation))
            mqctl(hconn, Op.SUSPEND)

    queue = connection.open("Q", BOTH)
    consume(queue, heard.callback(act=act), options=int(CallbackOption.STOP_CALL))
    hconn = connection.connection
    assert mqctl(hconn, Op.START) == OK
    assert mqctl(hconn, Op.STOP) == OK
    assert said == [failed(MQRC.ENVIRONMENT_ERROR if operation == Op.START_WAIT else MQRC.HCONN_ASYNC_ACTIVE)]
    assert isinstance(hconn.consumers, Consumers)
    assert (hconn.consumers.is_started, hconn.consumers.is_suspended) == (False, False)
    # Nothing is left of that: it can be started again.
    assert mqctl(hconn, Op.START) == OK
    assert mqctl(hconn, Op.STOP) == OK


def test_a_callback_that_is_told_of_the_loss_starts_nothing(
    connection: QueueManagerConnection, shared: TestGroup, heard: Heard
) -> None:
    said: list[tuple[MQCC, MQRC]] = []

    def act(hconn: Connection, context: MQCBC) -> None:
        if context.reason == MQRC.CONNECTION_BROKEN:
            said.append(mqctl(hconn, Op.START))

    consume(connection.open("Q", BOTH), heard.callback(act=act), options=int(CallbackOption.STOP_CALL))
    assert mqctl(connection.connection, Op.START) == OK
    connection.connection.interrupt()
    until(lambda: bool(said), "it is told")
    assert said == [failed(MQRC.CONNECTION_BROKEN)]
    recover_lost(shared, connection.connection.token)


def test_consumers_take_turns(shared: TestGroup, connection: QueueManagerConnection, heard: Heard) -> None:
    names = ["Q", "Q2", "Q3"]
    for name in names[1:]:
        shared.define_shared(name)
    for name in names:
        queue = connection.open(name, BOTH)
        queue.put_many([(MQMD(), b"%d" % number) for number in range(10)])
        consume(queue, heard.callback(name))
    assert mqctl(connection.connection, Op.START) == OK
    heard.wait_for(30)
    assert [name for name, *_ in heard.calls] == names * 10
    assert heard.bodies == [b"%d" % (position // 3) for position in range(30)]


@pytest.mark.rule("mqi/callbacks", "A consumer that gets with MQGMO_WAIT is told when its interval ends (2033).")
def test_the_end_of_an_interval_is_told(connection: QueueManagerConnection, putter: Queue, heard: Heard) -> None:
    gmo = MQGMO(options=int(GetOption.WAIT), wait_interval=1)
    consume(connection.open("Q", BOTH), heard.callback(), gmo=gmo)
    assert mqctl(connection.connection, Op.START) == OK
    until(lambda: len(heard.events) >= 2, "it is told again and again", 60)
    putter.put(b"one")
    heard.wait_for(1)
    assert set(heard.events) == {(CallType.EVENT_CALL, MQRC.NO_MSG_AVAILABLE)}


@pytest.mark.rule("mqi/callbacks", "A consumer is told when gets are inhibited (2016), and when they are not (2494).")
def test_inhibited_gets_are_told(
    connection: QueueManagerConnection, putter: Queue, heard: Heard, monkeypatch: pytest.MonkeyPatch, shared: TestGroup
) -> None:
    monkeypatch.setattr(consuming, "RETRY_S", 0.05)
    setter = shared.connect().open("Q", OpenOption.SET)
    consume(connection.open("Q", BOTH), heard.callback())
    assert mqctl(connection.connection, Op.START) == OK
    until_waiting(shared, "Q", 1)
    setter.set({IntSelector.INHIBIT_GET: 1})
    until(lambda: heard.events == [(CallType.EVENT_CALL, MQRC.GET_INHIBITED)], "it is told", 60)
    assert heard.contexts[0].state == ConsumerState.SUSPENDED_TEMPORARY
    putter.put(b"one")
    setter.set({IntSelector.INHIBIT_GET: 0})
    heard.wait_for(1)
    assert heard.events[1:] == [(CallType.EVENT_CALL, MQRC.GET_ENABLED)]


def test_a_message_that_is_too_long_stays_and_suspends(
    connection: QueueManagerConnection, putter: Queue, heard: Heard
) -> None:
    queue = connection.open("Q", BOTH)
    consume(queue, heard.callback(), max_msg_length=3)
    putter.put(b"four")
    assert mqctl(connection.connection, Op.START) == OK
    heard.wait_for(1)
    assert heard.calls == [("", CallType.MSG_NOT_REMOVED, MQRC.TRUNCATED_MSG_FAILED, b"fou")]
    context = heard.contexts[0]
    assert (context.state, context.data_length) == (ConsumerState.SUSPENDED_USER_ACTION, 4)
    assert mqctl(connection.connection, Op.STOP) == OK
    assert queue.get().body == b"four"


def test_a_browsing_consumer_sees_each_message_once(
    connection: QueueManagerConnection, putter: Queue, heard: Heard
) -> None:
    queue = connection.open("Q", BOTH)
    putter.put(b"one")
    consume(queue, heard.callback(), gmo=MQGMO(options=int(GetOption.BROWSE_FIRST)))
    assert mqctl(connection.connection, Op.START) == OK
    heard.wait_for(1)
    putter.put(b"two")
    heard.wait_for(2)
    assert mqctl(connection.connection, Op.STOP) == OK
    assert heard.bodies == drain(queue) == [b"one", b"two"]


@pytest.mark.rule("mqi/callbacks", "A consumer whose callback raises is suspended, and the event handler is told.")
def test_a_callback_that_raises_is_suspended(connection: QueueManagerConnection, putter: Queue, heard: Heard) -> None:
    def fail(_hconn: Connection, _context: MQCBC) -> None:
        raise ValueError("of the program")

    queue = connection.open("Q", BOTH)
    consume(queue, heard.callback(act=fail))
    handle_events(connection, heard.callback("handler"))
    putter.put(b"one")
    putter.put(b"two")
    assert mqctl(connection.connection, Op.START) == OK
    until(lambda: len(heard.calls) == 2, "the handler is told", 60)
    assert heard.calls[1] == ("handler", CallType.EVENT_CALL, MQRC.UNEXPECTED_ERROR, None)
    assert mqctl(connection.connection, Op.STOP) == OK
    assert queue.get().body == b"two"


@pytest.mark.rule("mqi/callbacks", "The event handler is told that the manager quiesces (2161).")
def test_quiescing_is_told(connection: QueueManagerConnection, shared: TestGroup, heard: Heard) -> None:
    consume(connection.open("Q", BOTH), heard.callback("asked"), gmo=MQGMO(options=int(GetOption.FAIL_IF_QUIESCING)))
    handle_events(connection, heard.callback("handler"))
    assert mqctl(connection.connection, Op.START) == OK
    until_waiting(shared, "Q", 1)
    process = connection.connection.process
    process._wake_each(lambda each: each.notice_quiescing())
    until(lambda: len(heard.calls) == 2, "both are told", 60)
    assert sorted(heard.calls) == [
        ("asked", CallType.EVENT_CALL, MQRC.Q_MGR_QUIESCING, None),
        ("handler", CallType.EVENT_CALL, MQRC.Q_MGR_QUIESCING, None),
    ]


@pytest.mark.rule(
    "mqi/callbacks", "The event handler is told that the connection is lost (2009), and they are stopped."
)
def test_a_lost_connection_is_told(connection: QueueManagerConnection, shared: TestGroup, heard: Heard) -> None:
    consume(connection.open("Q", BOTH), heard.callback("asked"), options=int(CallbackOption.STOP_CALL))
    handle_events(connection, heard.callback("handler"))
    assert mqctl(connection.connection, Op.START) == OK
    until_waiting(shared, "Q", 1)
    process = connection.connection.process
    process._for_each(lambda each: each.interrupt())
    until(lambda: len(heard.calls) == 2, "both are told", 60)
    assert heard.calls == [
        ("handler", CallType.EVENT_CALL, MQRC.CONNECTION_BROKEN, None),
        ("asked", CallType.STOP_CALL, MQRC.CONNECTION_BROKEN, None),
    ]
    # Its waiter goes with it.
    recover_lost(shared, connection.connection.token)
    for token in connection.connection.waiter_tokens:
        recover_lost(shared, token)
    until_waiting(shared, "Q", 0)


def test_consumers_of_two_programs_share_a_queue(shared: TestGroup, putter: Queue, heard: Heard) -> None:
    programs = [shared.connect() for _ in range(2)]
    for number, program in enumerate(programs):
        consume(program.open("Q", BOTH), heard.callback(str(number)))
        assert mqctl(program.connection, Op.START) == OK
    for number in range(100):
        putter.put(b"%03d" % number)
    heard.wait_for(100)
    assert sorted(heard.bodies) == [b"%03d" % number for number in range(100)]
    for program in programs:
        program.disconnect()


def cost_of_a_message(group: TestGroup, count: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The calls that serve one message while so many queues are waited for."""
    heard, names = Heard(), [f"C{count}.{number}" for number in range(count)]
    connection, calls = group.connect(), Counter[str]()
    for name in names:
        group.define_shared(name)
        consume(connection.open(name, BOTH), heard.callback())
    putter = group.connect().open(names[-1], BOTH)
    blocked = threading.Event()
    block_any, exchange = Link.block_any, Link._exchange_all
    assert isinstance(connection.connection.consumers, Consumers)

    def blocking(link: Link, keys: Any, timeout_s: float) -> Any:
        calls["block"] += 1
        blocked.set()
        return block_any(link, keys, timeout_s)

    def exchanging(link: Link, exchanges: Any, **pace: Any) -> Any:
        if link is connection.connection._link:
            calls["call"] += 1
        return exchange(link, exchanges, **pace)

    with monkeypatch.context() as patch:
        patch.setattr(Link, "block_any", blocking)
        patch.setattr(Link, "_exchange_all", exchanging)
        assert mqctl(connection.connection, Op.START) == OK
        assert blocked.wait(60)
        until_waiting(group, names[-1], 1)
        blocked.clear()
        calls.clear()
        putter.put(b"one")
        heard.wait_for(1)
        assert blocked.wait(60)
        until_waiting(group, names[-1], 1)
        assert mqctl(connection.connection, Op.SUSPEND) == OK
    connection.disconnect()
    return calls


@pytest.mark.rule("mqi/callbacks", "A wait for hundreds of queues costs no more calls than one for two queues.")
def test_idle_queues_cost_no_calls(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (cost_of_a_message(group, count, monkeypatch) for count in (2, 200))
    # The get, the get that finds nothing, the registration of the wait; and the end of all waits, in one write.
    assert few == many == {"block": 1, "call": 4}


CBD = MQCBD(callback_function=print)


@pytest.mark.parametrize(
    ("operation", "cbd", "gmo", "reason"),
    [
        (0, CBD, MQGMO(), MQRC.OPERATION_ERROR),
        (Op.REGISTER | Op.DEREGISTER, CBD, MQGMO(), MQRC.OPERATION_ERROR),
        (Op.START, CBD, MQGMO(), MQRC.OPERATION_ERROR),
        (Op.REGISTER, None, MQGMO(), MQRC.CBD_ERROR),
        (Op.REGISTER, MQCBD(version=2, callback_function=print), MQGMO(), MQRC.CBD_ERROR),
        (Op.REGISTER, MQCBD(callback_type=3, callback_function=print), MQGMO(), MQRC.CALLBACK_TYPE_ERROR),
        (Op.REGISTER, MQCBD(options=2, callback_function=print), MQGMO(), MQRC.CBD_OPTIONS_ERROR),
        (Op.REGISTER, MQCBD(), MQGMO(), MQRC.CALLBACK_ROUTINE_ERROR),
        (Op.REGISTER, MQCBD(callback_function=print, max_msg_length=-2), MQGMO(), MQRC.MAX_MSG_LENGTH_ERROR),
        (Op.REGISTER, CBD, None, MQRC.GMO_ERROR),
        (Op.REGISTER, CBD, MQGMO(options=int(GetOption.MSG_UNDER_CURSOR)), MQRC.OPTIONS_ERROR),
        (Op.REGISTER, CBD, MQGMO(options=int(GetOption.BROWSE_NEXT)), MQRC.NOT_OPEN_FOR_BROWSE),
        (Op.DEREGISTER, None, None, MQRC.CALLBACK_NOT_REGISTERED),
        (Op.SUSPEND, None, None, MQRC.CALLBACK_NOT_REGISTERED),
        (Op.RESUME, None, None, MQRC.CALLBACK_NOT_REGISTERED),
    ],
)
def test_mqcb_refuses(
    connection: QueueManagerConnection, operation: int, cbd: MQCBD | None, gmo: MQGMO | None, reason: MQRC
) -> None:
    queue = connection.open("Q", OpenOption.INPUT_SHARED)
    assert mqcb(connection.connection, int(operation), cbd, queue.handle, MQMD(), gmo) == failed(reason)


def test_mqcb_and_mqctl_refuse_what_is_not_there(connection: QueueManagerConnection) -> None:
    hconn = connection.connection
    queue = connection.open("Q", OpenOption.OUTPUT)
    assert mqcb(hconn, Op.REGISTER, CBD, queue.handle, MQMD(), MQGMO()) == failed(MQRC.NOT_OPEN_FOR_INPUT)
    assert mqcb(hconn, Op.REGISTER, CBD, queue.handle, None, MQGMO()) == failed(MQRC.MD_ERROR)
    assert mqcb(hconn, Op.REGISTER, CBD, None, MQMD(), MQGMO()) == failed(MQRC.HOBJ_ERROR)
    assert mqctl(hconn, 3) == failed(MQRC.OPERATION_ERROR)
    assert mqctl(hconn, Op.START, MQCTLO(version=2)) == failed(MQRC.CTLO_ERROR)
    assert mqctl(hconn, Op.START_WAIT) == failed(MQRC.NO_CALLBACKS_ACTIVE)
    connection.disconnect()
    assert mqctl(hconn, Op.START) == failed(MQRC.HCONN_ERROR)


def test_a_group_is_consumed_in_logical_order(connection: QueueManagerConnection, heard: Heard) -> None:
    queue = connection.open("Q", BOTH)
    gmo = MQGMO(version=2, options=int(GetOption.LOGICAL_ORDER | GetOption.ALL_MSGS_AVAILABLE))
    consume(queue, heard.callback(), gmo=gmo)
    putter = connection.open("Q", BOTH)
    putter.put(b"1", MQMD(version=2, msg_flags=8), options=PutOption.LOGICAL_ORDER)
    assert mqctl(connection.connection, Op.START) == OK
    assert mqctl(connection.connection, Op.SUSPEND) == OK
    assert heard.calls == []
    putter.put(b"2", MQMD(version=2, msg_flags=16), options=PutOption.LOGICAL_ORDER)
    assert mqctl(connection.connection, Op.RESUME) == OK
    heard.wait_for(2)
    assert heard.bodies == [b"1", b"2"]
