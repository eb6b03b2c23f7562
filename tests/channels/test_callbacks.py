"""Callbacks of programs that make calls through a channel: events, calls of a callback, and ends."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from igq.channels.frames import Frame, Verb, packed
from sharedq.mqi.constants import MQRC, GetOption, OpenOption
from sharedq.mqi.constants.callbacks import CallbackOperation, CallbackOption, CallbackType, CallType
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.mqi.wire import GMO, MD
from tests.support.channel_client import RawClient
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, until

pytestmark = pytest.mark.share
Connect = Callable[[], RawClient]
BOTH = int(OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE | OpenOption.INQUIRE)
SYNCPOINT = int(GetOption.SYNCPOINT)
START, STOP = int(CallbackOperation.START), int(CallbackOperation.STOP)
REGISTER, DEREGISTER = int(CallbackOperation.REGISTER), int(CallbackOperation.DEREGISTER)
SUSPEND, RESUME = int(CallbackOperation.SUSPEND), int(CallbackOperation.RESUME)


def descriptor(type_: int = int(CallbackType.MESSAGE_CONSUMER), options: int = 0) -> bytes:
    return struct.pack("<4siiiqq128sii", b"CBD ", 1, type_, options, 0, 1, b"", -1, 0)


def register(client: RawClient, handle: int, options: int = 0, *, gets: int = 0) -> Frame:
    blobs = (descriptor(options=options), MD.pack(MQMD()), GMO.pack(MQGMO(options=gets)))
    return client.call(Verb.CB, (REGISTER, handle), blobs)


def control(client: RawClient, operation: int) -> Frame:
    return client.call(Verb.CTL, (operation,), (struct.pack("<4siiiq", b"CTLO", 1, 0, 0, 0),))


def event_of(frame: Frame) -> tuple[int, int, bytes]:
    """The call type, the reason and the data of an event."""
    assert frame.verb == Verb.EVENT, frame
    call_type, hobj = struct.unpack_from("<ii", frame.blobs[0], 8)
    assert hobj == frame.numbers[0]
    return call_type, struct.unpack_from("<i", frame.blobs[0], 36)[0], frame.blobs[3]


def answer(client: RawClient, event: Frame) -> None:
    client.socket.sendall(packed(event.id, Verb.EVENT))


def with_the_answer(client: RawClient, event: Frame, verb: int, numbers: tuple[int, ...]) -> Frame:
    """Send a request and the answer to an event at once. Returns the reply to the request."""
    client.last_id += 1
    client.socket.sendall(packed(client.last_id, verb, numbers) + packed(event.id, Verb.EVENT))
    reply = client.receive()
    assert (reply.id, reply.verb) == (client.last_id, verb), reply
    return reply


@pytest.fixture
def consumer(connect: Connect) -> tuple[RawClient, int]:
    """A client with a registered consumer, and its queue."""
    client = connect()
    handle = client.open("Q", BOTH)
    assert register(client, handle, gets=SYNCPOINT).numbers == (0, 0)
    return client, handle


def test_messages_are_pushed_one_after_the_other(connect: Connect, consumer: tuple[RawClient, int]) -> None:
    client, _ = consumer
    putter = connect()
    putting = putter.open("Q", BOTH)
    assert control(client, START).numbers == (0, 0)
    for body in (b"1", b"2", b"3"):
        putter.put(putting, body)
    for body in (b"1", b"2", b"3"):
        event = client.receive()
        assert event_of(event) == (CallType.MSG_REMOVED, MQRC.NONE, body)
        assert MD.unpack(event.blobs[1]).put_appl_name == b"raw"
        assert client.call(Verb.CMIT).numbers == (0, 0)
        answer(client, event)
    assert control(client, STOP).numbers == (0, 0)
    putter.put(putting, b"4")
    assert client.call(Verb.HEARTBEAT).numbers == ()
    assert client.get(consumer[1]).blobs[2] == b"4"


def test_a_callback_makes_any_call(group: TestGroup, connect: Connect, consumer: tuple[RawClient, int]) -> None:
    client, handle = consumer
    group.define_shared("R")
    # Were the message there before, its event could come before the reply.
    control(client, START)
    putter = connect()
    putter.put(putter.open("Q", BOTH), b"request")
    event = client.receive()
    replies = client.open("R", BOTH)
    assert client.put(replies, b"reply").numbers == (0, 0)
    assert client.get(replies).blobs[2] == b"reply"
    assert client.call(Verb.CB, (SUSPEND, handle), (b"", b"", b"")).numbers == (0, 0)
    assert client.call(Verb.CB, (RESUME, handle), (b"", b"", b"")).numbers == (0, 0)
    assert client.call(Verb.CMIT).numbers == (0, 0)
    assert control(client, STOP).numbers == (0, 0)
    answer(client, event)
    assert client.get(handle).numbers[:2] == (2, MQRC.NO_MSG_AVAILABLE)


def test_other_calls_wait_for_no_callback(consumer: tuple[RawClient, int]) -> None:
    client, handle = consumer
    control(client, START)
    assert client.get(handle).numbers[:2] == (2, MQRC.HCONN_ASYNC_ACTIVE)
    assert client.call(Verb.CTL, (STOP,)).numbers == (0, 0)
    assert client.get(handle).numbers[:2] == (2, MQRC.NO_MSG_AVAILABLE)


def test_a_resume_that_comes_with_the_answer_takes_the_suspension_back(
    connect: Connect, consumer: tuple[RawClient, int]
) -> None:
    """Another thread of the client resumes while the function that has suspended returns."""
    client, _ = consumer
    putter = connect()
    putting = putter.open("Q", BOTH)
    control(client, START)
    for number in range(20):
        putter.put(putting, b"%d" % number)
        event = client.receive()
        assert event_of(event)[2] == b"%d" % number
        assert control(client, SUSPEND).numbers == (0, 0)
        assert with_the_answer(client, event, Verb.CTL, (RESUME,)).numbers == (0, 0)


def test_calls_come_after_a_stop_that_comes_with_the_answer(connect: Connect, consumer: tuple[RawClient, int]) -> None:
    client, handle = consumer
    putter = connect()
    putting = putter.open("Q", BOTH)
    for _ in range(20):
        control(client, START)
        putter.put(putting, b"one")
        event = client.receive()
        assert with_the_answer(client, event, Verb.CTL, (STOP,)).numbers == (0, 0)
        assert client.get(handle).numbers[:2] == (2, MQRC.NO_MSG_AVAILABLE)


def test_calls_tell_of_the_life_of_a_consumer(connect: Connect) -> None:
    client = connect()
    handle = client.open("Q", BOTH)
    every = CallbackOption.REGISTER_CALL | CallbackOption.START_CALL | CallbackOption.STOP_CALL
    every |= CallbackOption.DEREGISTER_CALL
    told = []
    requests = (
        (Verb.CB, (REGISTER, handle), (descriptor(options=int(every)), MD.pack(MQMD()), GMO.pack(MQGMO()))),
        (Verb.CTL, (START,), ()),
        (Verb.CTL, (STOP,), ()),
        (Verb.CB, (DEREGISTER, handle), ()),
    )
    for verb, numbers, blobs in requests:
        id_ = client.send(verb, numbers, blobs)
        frames = [client.receive()]
        # A stop is answered while its call runs.
        while len(frames) < 2:
            event = next((each for each in frames if each.verb == Verb.EVENT), None)
            if event is not None and event.id not in told:
                told.append(event.id)
                answer(client, event)
            frames.append(client.receive())
        (event,) = (each for each in frames if each.verb == Verb.EVENT)
        (reply,) = (each for each in frames if each.verb != Verb.EVENT)
        assert (reply.id, reply.numbers) == (id_, (0, 0))
        if event.id not in told:
            told.append(event.id)
            answer(client, event)
        expected = {Verb.CB: CallType.REGISTER_CALL, Verb.CTL: CallType.START_CALL}[verb]
        if numbers[0] == STOP:
            expected = CallType.STOP_CALL
        elif numbers[0] == DEREGISTER:
            expected = CallType.DEREGISTER_CALL
        assert event_of(event)[0] == expected


@pytest.mark.parametrize(
    ("verb", "numbers", "blobs", "reason"),
    [
        (Verb.CB, (REGISTER, 1), (b"", b"", b""), MQRC.CBD_ERROR),
        (Verb.CB, (REGISTER, 1), (b"CBD ", b"", b""), MQRC.CBD_ERROR),
        (Verb.CB, (REGISTER, 1), (descriptor(), b"", b""), MQRC.MD_ERROR),
        (Verb.CB, (REGISTER, 99), (descriptor(), b"", b""), MQRC.HOBJ_ERROR),
        (Verb.CB, (77, 1), (descriptor(), b"", b""), MQRC.OPERATION_ERROR),
        (Verb.CB, (DEREGISTER, 1), (), MQRC.CALLBACK_NOT_REGISTERED),
        (Verb.CTL, (77,), (), MQRC.OPERATION_ERROR),
        (Verb.CTL, (START,), (b"CTLO",), MQRC.CTLO_ERROR),
    ],
)
def test_wrong_callbacks(
    connect: Connect, verb: Verb, numbers: tuple[int, ...], blobs: tuple[bytes, ...], reason: MQRC
) -> None:
    client = connect()
    client.open("Q", BOTH)
    assert client.call(verb, numbers, blobs).numbers[:2] == (2, reason)


def test_an_answer_to_no_event_ends_the_connection(consumer: tuple[RawClient, int]) -> None:
    client, _ = consumer
    client.socket.sendall(packed(1 << 31, Verb.EVENT))
    reason, text = client.has_ended()
    assert (reason, "event 0x80000000" in text) == (MQRC.CONNECTION_BROKEN, True)


@pytest.mark.parametrize("when", ["before the event", "in the callback", "in a call of the callback"])
def test_the_message_of_a_client_that_dies_goes_back(
    group: TestGroup, connect: Connect, consumer: tuple[RawClient, int], when: str
) -> None:
    client, handle = consumer
    putter = connect()
    putting = putter.open("Q", BOTH)
    control(client, START)
    for number in range(5):
        putter.put(putting, b"%d" % number)
    if when != "before the event":
        event_of(client.receive())
    if when == "in a call of the callback":
        client.send_get(handle, int(GetOption.WAIT) | SYNCPOINT, -1)
    client.close()
    until(lambda: len(on_queue(group, "Q")) == 5, "all five are back")
    assert [putter.get(putting).blobs[2] for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
