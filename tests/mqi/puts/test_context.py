"""Message context: set by the program, passed on, or left to the queue manager."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from sharedq import verbs
from sharedq.api import Queue, QueueManagerConnection
from sharedq.messages.context import Context, context_of, user_identifier
from sharedq.mqi.constants import MQCC, MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.errors import MQIError
from sharedq.mqi.structures import MQGMO, MQMD, MQOD, MQPMO
from sharedq.session.handle import Handle
from tests.support.groups import BOTH, LMIG, MAY_SEGMENT, MIG
from tests.support.members import TestGroup

pytestmark = pytest.mark.share

NULL_TOKEN = bytes(32)
GIVEN = Context(b"somebody", b"T" * 32, b"identity", 6, b"something", b"20260102", b"03040506", b"orig")
NONE = Context(b"", NULL_TOKEN, b"", 0, b"", b"", b"", b"")
#: Context that a program gives and that must be ignored.
CLAIMED = Context(b"liar", b"L" * 32, b"lie", 28, b"lies", b"19990101", b"00000000", b"lie")
LATER = int(PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)

Put = Callable[[QueueManagerConnection, Queue, MQMD, MQPMO], None]


def given(context: Context, **fields: Any) -> MQMD:
    return MQMD(**context._asdict(), **fields)


def put_one(connection: QueueManagerConnection, queue: Queue, md: MQMD, pmo: MQPMO) -> None:
    assert verbs.mqput(connection.connection, queue.handle, md, pmo, b"x") == (MQCC.OK, MQRC.NONE)


def put_in_group(connection: QueueManagerConnection, queue: Queue, md: MQMD, pmo: MQPMO) -> None:
    md.version, md.msg_flags = 2, MIG | LMIG
    put_one(connection, queue, md, pmo)


def put_later(connection: QueueManagerConnection, queue: Queue, md: MQMD, pmo: MQPMO) -> None:
    pmo.options |= LATER
    put_one(connection, queue, md, pmo)
    connection.commit()


def put_in_group_later(connection: QueueManagerConnection, queue: Queue, md: MQMD, pmo: MQPMO) -> None:
    md.version, md.msg_flags = 2, MIG | LMIG
    put_later(connection, queue, md, pmo)


def put_by_itself(connection: QueueManagerConnection, queue: Queue, md: MQMD, pmo: MQPMO) -> None:
    od = MQOD(object_name=queue.name.encode())
    assert verbs.mqput1(connection.connection, od, md, pmo, b"x") == (MQCC.OK, MQRC.NONE)


WAYS: dict[str, Put] = {
    "one": put_one,
    "in a group": put_in_group,
    "later": put_later,
    "in a group, later": put_in_group_later,
    "MQPUT1": put_by_itself,
}


@pytest.fixture
def connection(group: TestGroup) -> QueueManagerConnection:
    for name in ("Q", "IN"):
        group.define_shared(name)
    return group.connect()


@pytest.fixture
def queue(connection: QueueManagerConnection) -> Queue:
    return connection.open("Q", BOTH | OpenOption.SET_ALL_CONTEXT)


@pytest.fixture
def source(connection: QueueManagerConnection) -> Queue:
    """A handle that has got a message with the context GIVEN."""
    with connection.open("IN", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as putter:
        putter.put(b"came", given(GIVEN), options=PutOption.SET_ALL_CONTEXT)
    source = connection.open("IN", BOTH | OpenOption.SAVE_ALL_CONTEXT)
    assert source.get().body == b"came"
    return source


def own(connection: QueueManagerConnection, found: Context) -> Context:
    """The context of this program, which put a moment ago."""
    assert found.put_date > CLAIMED.put_date
    name = connection.connection.appl_name_bytes
    return Context(user_identifier(), NULL_TOKEN, b"", 6, name, found.put_date, found.put_time, b"")


@pytest.mark.rule(
    "mqi/context", "By default the context is the program's: user, name, time; its free fields are empty."
)
@pytest.mark.rule("mqi/context", "After MQPUT the descriptor shows the context that was stored.")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [0, int(PutOption.DEFAULT_CONTEXT)])
def test_by_default_it_is_that_of_the_program(
    connection: QueueManagerConnection, queue: Queue, way: str, options: int
) -> None:
    for _ in range(2):
        md = given(CLAIMED)
        WAYS[way](connection, queue, md, MQPMO(options=options))
        found = context_of(queue.get().md)
        assert found == own(connection, found)
        assert context_of(md) == found


@pytest.mark.rule("mqi/context", "A descriptor that is used again gets the time of each put.")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fields", [(), ("msg_id",), ("msg_id", "put_date", "put_time")], ids=str)
def test_a_descriptor_that_is_used_again_has_the_time_of_each_put(
    connection: QueueManagerConnection,
    queue: Queue,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    fields: tuple[str, ...],
) -> None:
    md, now = MQMD(), itertools.count(1_000_000_000.125, 3)
    monkeypatch.setattr(time, "time", lambda: next(now))
    times = []
    for _ in range(4):
        for name in fields:
            setattr(md, name, getattr(MQMD(), name))
        WAYS[way](connection, queue, md, MQPMO())
        found = queue.get().md
        assert context_of(md) == context_of(found)
        times.append((found.put_date, found.put_time))
    assert len(set(times)) == 4
    assert {date for date, _ in times} == {b"20010909"}
    assert {at[-2:] for _, at in times} == {b"12"}


def test_a_descriptor_that_is_used_again_is_known_but_for_its_time(queue: Queue) -> None:
    md = MQMD()
    queue.put(b"x", md)
    known = []
    for _ in range(3):
        md.msg_id = bytes(24)
        queue.put(b"x", md)
        known.append(queue.handle.puts.last)
        time.sleep(0.02)
    assert known[0] is known[1] is known[2]


@pytest.mark.rule(
    "mqi/context", "Each message of a batch has its own time; all segments of a split message have one time."
)
def test_each_message_of_a_batch_shows_its_time(queue: Queue) -> None:
    shared = MQMD()
    mds = queue.put_many([(md, b"x") for md in (shared, shared, MQMD(), given(CLAIMED))])
    found = [queue.get().md for _ in mds]
    assert [context_of(md) for md in mds] == [context_of(md) for md in found]
    assert all(md.put_date.isdigit() and md.put_time.isdigit() for md in found)


@pytest.mark.rule(
    "mqi/context", "Each message of a batch has its own time; all segments of a split message have one time."
)
def test_a_message_that_is_split_has_one_time(queue: Queue, group: TestGroup) -> None:
    group.repository("QM1").alter("QLOCAL", "Q", {"max_msg_length": 32})
    md = MQMD(version=2, msg_flags=MAY_SEGMENT)
    queue.put(b"x" * 90, md)
    assert [context_of(queue.get().md) for _ in range(3)] == [context_of(md)] * 3
    assert md.put_date > CLAIMED.put_date


@pytest.mark.rule("mqi/context", "NO_CONTEXT leaves the context empty.")
@pytest.mark.parametrize("way", WAYS)
def test_there_may_be_none(connection: QueueManagerConnection, queue: Queue, way: str) -> None:
    for _ in range(2):
        md = given(CLAIMED)
        WAYS[way](connection, queue, md, MQPMO(options=int(PutOption.NO_CONTEXT)))
        assert context_of(queue.get().md) == context_of(md) == NONE


@pytest.mark.rule(
    "mqi/context",
    "SET_ALL_CONTEXT takes all of the context from the descriptor, SET_IDENTITY_CONTEXT its first three fields.",
)
@pytest.mark.parametrize("way", WAYS)
def test_a_program_sets_all_or_its_identity_context(connection: QueueManagerConnection, queue: Queue, way: str) -> None:
    for _ in range(2):
        # A time that the program leaves blank stays blank.
        for all_of_it in (GIVEN, GIVEN._replace(put_date=b"", put_time=b""), NONE):
            md = given(all_of_it)
            WAYS[way](connection, queue, md, MQPMO(options=int(PutOption.SET_ALL_CONTEXT)))
            assert context_of(queue.get().md) == context_of(md) == all_of_it
        md = given(GIVEN)
        WAYS[way](connection, queue, md, MQPMO(options=int(PutOption.SET_IDENTITY_CONTEXT)))
        found = context_of(queue.get().md)
        assert context_of(md) == found
        assert found[:3] == GIVEN[:3]
        assert found[3:] == own(connection, found)[3:]


@pytest.mark.rule(
    "mqi/context", "PASS_ALL_CONTEXT and PASS_IDENTITY_CONTEXT pass on the context of the message that was got last."
)
@pytest.mark.parametrize("way", WAYS)
def test_the_context_of_a_message_is_passed_on(
    connection: QueueManagerConnection, queue: Queue, source: Queue, way: str
) -> None:
    for _ in range(2):
        md = given(CLAIMED)
        pmo = MQPMO(options=int(PutOption.PASS_ALL_CONTEXT), context=source.handle.number)
        WAYS[way](connection, queue, md, pmo)
        assert int(pmo.options) & ~LATER == PutOption.PASS_ALL_CONTEXT
        assert context_of(queue.get().md) == context_of(md) == GIVEN
        pmo = MQPMO(options=int(PutOption.PASS_IDENTITY_CONTEXT), context=source.handle.number)
        md = given(CLAIMED)
        WAYS[way](connection, queue, md, pmo)
        found = context_of(queue.get().md)
        assert context_of(md) == found
        assert found[:3] == GIVEN[:3]
        assert found[3:] == own(connection, found)[3:]


@pytest.mark.rule(
    "mqi/context", "PASS_ALL_CONTEXT and PASS_IDENTITY_CONTEXT pass on the context of the message that was got last."
)
def test_a_batch_passes_it_on_too(queue: Queue, source: Queue) -> None:
    messages = [(given(CLAIMED), b"a"), (given(CLAIMED), b"b")]
    queue.put_many(messages, options=PutOption.PASS_ALL_CONTEXT, context=source)
    queue.put(b"c", options=PutOption.PASS_ALL_CONTEXT, context=source)
    assert [context_of(queue.get().md) for _ in range(3)] == [GIVEN] * 3


@pytest.mark.rule(
    "mqi/context", "PASS_ALL_CONTEXT and PASS_IDENTITY_CONTEXT pass on the context of the message that was got last."
)
def test_it_is_that_of_the_message_got_last(connection: QueueManagerConnection, queue: Queue, source: Queue) -> None:
    def passed() -> bytes:
        queue.put(b"x", options=PutOption.PASS_ALL_CONTEXT, context=source)
        return queue.get().md.put_appl_name

    with connection.open("IN", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT) as putter:
        for name in (b"second", b"third", b"long"):
            md = given(GIVEN._replace(put_appl_name=name))
            putter.put(b"xx", md, options=PutOption.SET_ALL_CONTEXT)
    assert passed() == b"something"
    source.get_many(2, GetOption.SYNCPOINT)
    assert passed() == b"third"
    connection.backout()
    assert passed() == b"third"
    source.get_many(2)
    # A message that stays on the queue was not got.
    assert source.get(max_length=1).reason == MQRC.TRUNCATED_MSG_FAILED
    assert passed() == b"third"
    assert source.get(GetOption.ACCEPT_TRUNCATED_MSG, max_length=1).body == b"x"
    assert passed() == b"long"


@pytest.mark.rule(
    "mqi/context", "A handle to pass context from that is unknown is 2097; one that has got nothing is 2098."
)
@pytest.mark.parametrize("how", ["nothing was got", "a browse", "no context saved", "no handle", "closed"])
def test_there_must_be_something_to_pass(
    connection: QueueManagerConnection, queue: Queue, source: Queue, how: str
) -> None:
    context, reason = source, MQRC.CONTEXT_HANDLE_ERROR
    if how == "nothing was got":
        context, reason = connection.open("IN", BOTH | OpenOption.SAVE_ALL_CONTEXT), MQRC.CONTEXT_NOT_AVAILABLE
    elif how == "a browse":
        connection.put1("IN", b"browsed")
        assert source.get(GetOption.BROWSE_FIRST).body == b"browsed"
        reason = MQRC.CONTEXT_NOT_AVAILABLE
    elif how == "no context saved":
        context = connection.open("IN", BOTH)
    number = 0 if how == "no handle" else context.handle.number
    if how == "closed":
        source.close()
    for option in (PutOption.PASS_ALL_CONTEXT, PutOption.PASS_IDENTITY_CONTEXT):
        md = given(CLAIMED)
        outcome = verbs.mqput(connection.connection, queue.handle, md, MQPMO(options=int(option), context=number), b"x")
        assert outcome == (MQCC.FAILED, reason)
        assert context_of(md) == CLAIMED
    assert verbs.mqget(connection.connection, queue.handle, MQMD(), MQGMO(), 9)[3] == MQRC.NO_MSG_AVAILABLE


P = PutOption
PASS_IDENTITY, PASS_ALL = OpenOption.PASS_IDENTITY_CONTEXT, OpenOption.PASS_ALL_CONTEXT
SET_IDENTITY, SET_ALL = OpenOption.SET_IDENTITY_CONTEXT, OpenOption.SET_ALL_CONTEXT
#: The open option that each needs, and the reason without it. Stronger options include the weaker ones.
NEEDED = {
    P.PASS_IDENTITY_CONTEXT: (MQRC.NOT_OPEN_FOR_PASS_IDENT, {PASS_IDENTITY, PASS_ALL, SET_IDENTITY, SET_ALL}),
    P.PASS_ALL_CONTEXT: (MQRC.NOT_OPEN_FOR_PASS_ALL, {PASS_ALL, SET_ALL}),
    P.SET_IDENTITY_CONTEXT: (MQRC.NOT_OPEN_FOR_SET_IDENT, {SET_IDENTITY, SET_ALL}),
    P.SET_ALL_CONTEXT: (MQRC.NOT_OPEN_FOR_SET_ALL, {SET_ALL}),
}
OPENED = (OpenOption.OUTPUT, PASS_IDENTITY, PASS_ALL, SET_IDENTITY, SET_ALL)


@pytest.mark.rule(
    "mqi/context", "Passing or setting context needs a queue that is open for it (2093 to 2096); MQPUT1 opens it so."
)
@pytest.mark.parametrize("opened", OPENED, ids=lambda option: option.name)
@pytest.mark.parametrize("option", NEEDED, ids=lambda option: option.name)
def test_a_handle_must_be_open_for_it(
    connection: QueueManagerConnection, source: Queue, option: PutOption, opened: OpenOption
) -> None:
    reason, enough = NEEDED[option]
    queue = connection.open("Q", OpenOption.OUTPUT | opened)
    if opened in enough:
        queue.put(b"x", options=option, context=source)
        queue.put_many([(MQMD(), b"x")], options=option, context=source)
        return
    md = given(CLAIMED)
    for call in (
        lambda: queue.put(b"x", md, options=option, context=source),
        lambda: queue.put_many([(md, b"x")], options=option, context=source),
    ):
        with pytest.raises(MQIError) as caught:
            call()
        assert caught.value.reason == reason
    assert context_of(md) == CLAIMED


@pytest.mark.rule("mqi/context", "A put that fails leaves the context in the descriptor unchanged.")
def test_a_put_that_fails_leaves_the_context_as_it_was(
    group: TestGroup, connection: QueueManagerConnection, source: Queue
) -> None:
    group.define_shared("FULL", max_depth=0)
    full = connection.open("FULL", OpenOption.OUTPUT | OpenOption.SET_ALL_CONTEXT)
    for option in (P.DEFAULT_CONTEXT, P.NO_CONTEXT, *NEEDED):
        for flags in (0, LMIG):
            md = given(CLAIMED, version=2, msg_flags=flags)
            with pytest.raises(MQIError) as caught:
                full.put(b"x", md, options=option, context=source)
            assert caught.value.reason == MQRC.Q_FULL
            assert md == given(CLAIMED, version=2, msg_flags=flags)


@pytest.mark.rule("mqi/context", "The AlternateUserId of MQOPEN or MQPUT1 is the user of a message, as on z/OS.")
@pytest.mark.parametrize("way", WAYS)
def test_an_alternate_user(connection: QueueManagerConnection, way: str) -> None:
    od = MQOD(object_name=b"Q", alternate_user_id=b"bob")
    options = int(BOTH | OpenOption.ALTERNATE_USER_AUTHORITY | OpenOption.SET_ALL_CONTEXT)
    handle, *outcome = verbs.mqopen(connection.connection, od, options)
    assert outcome == [MQCC.OK, MQRC.NONE]
    assert isinstance(handle, Handle)
    queue = Queue(connection.connection, handle)
    for put_options, user in ((0, b"bob"), (PutOption.NO_CONTEXT, b""), (PutOption.SET_ALL_CONTEXT, b"liar")):
        md, pmo = given(CLAIMED), MQPMO(options=int(put_options))
        if way == "MQPUT1":
            pmo.options |= PutOption.ALTERNATE_USER_AUTHORITY
            assert verbs.mqput1(connection.connection, od, md, pmo, b"x") == (MQCC.OK, MQRC.NONE)
        else:
            WAYS[way](connection, queue, md, pmo)
        assert queue.get().md.user_identifier == user
    # Without the option the field says nothing.
    md = MQMD()
    assert verbs.mqput1(connection.connection, od, md, MQPMO(), b"x") == (MQCC.OK, MQRC.NONE)
    assert md.user_identifier == user_identifier()
