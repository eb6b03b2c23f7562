"""A call that makes a message available hands it to a get that waits for any message, outside a unit of work."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recovery.resolution import recover
from recovery.structure import CHUNK_HANDLES
from sharedq import MQIError, Queue
from sharedq.calls.get.wait import stop_waiting
from sharedq.calls.handles.connect import disconnect
from sharedq.calls.handles.open import open_queue
from sharedq.calls.unit.commit import backout, commit
from sharedq.messages.record import generated_number
from sharedq.mqi.constants import MQRC, Feedback, GetOption, MatchOption, MsgFlag, OpenOption, PutOption, Report
from sharedq.mqi.structures import MQMD, MQOD
from sharedq.objects.definitions.names import SYSTEM_QSG_TRANSMIT_QUEUE
from sharedq.objects.definitions.queues import QueueLocal
from sharedq.objects.store.finder import Finder
from sharedq.objects.store.local_queues import LocalQueues
from sharedq.redis.keys import QueueKeys
from sharedq.redis.link import ScriptCall
from sharedq.session.connection import Connection
from tests.recovery.scene import register_wait
from tests.support.members import TestGroup
from tests.support.scenes import on_queue, recover_lost, stored, until

pytestmark = pytest.mark.share

BOTH = OpenOption.INPUT_SHARED | OpenOption.OUTPUT | OpenOption.BROWSE
LONG_MS = 60_000


@pytest.fixture
def group(group: TestGroup) -> TestGroup:
    group.define_shared("Q")
    return group


@pytest.fixture
def queue_keys(group: TestGroup) -> QueueKeys:
    return group.group.structure("APPL1").queue("Q")


def open_new(group: TestGroup) -> Queue:
    return group.connect().open("Q", BOTH)


def open_after_get(group: TestGroup) -> Queue:
    """A queue whose unit of work has a get already: the script that commits it also puts."""
    group.define_shared("OTHER")
    connection = group.connect()
    other = connection.open("OTHER", BOTH)
    other.put(b"other")
    other.get(GetOption.SYNCPOINT)
    return connection.open("Q", BOTH)


def open_among(group: TestGroup) -> Queue:
    """A queue whose unit of work has put in another structure, too: a decision comes before the commit there."""
    group.define_private("QM1", "ELSEWHERE")
    connection = group.connect()
    connection.open("ELSEWHERE", BOTH).put(b"other", options=PutOption.SYNCPOINT)
    return connection.open("Q", BOTH)


def state_of(group: TestGroup, queue: Queue) -> bytes:
    found: Any = group.group.client().hget(group.group.structure("APPL1").owners, queue.connection.token)
    return bytes(found or b"")


def events(group: TestGroup) -> list[tuple[str, str]]:
    entries: Any = group.group.client().xrange(group.group.structure("APPL1").journal)
    return [(fields[b"e"].decode(), fields.get(b"i", b"").decode()) for _, fields in entries]


class Missed:
    """A connection whose waits end in vain, each in the moment when something was put: nothing wakes it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, queue: Queue, meanwhile: Callable[[], object]) -> None:
        self.times = 0
        block = Connection.block

        def miss(connection: Connection, wake_key: str, timeout_s: float) -> bytes | None:
            if connection is not queue.connection:
                return block(connection, wake_key, timeout_s)
            self.times += 1
            meanwhile()
            return None

        monkeypatch.setattr(Connection, "block", miss)


@pytest.fixture
def waiting(group: TestGroup, queue_keys: QueueKeys) -> Iterator[Callable[[Queue, int], Any]]:
    """Starts a get that waits, and returns when it does."""
    with ThreadPoolExecutor(8) as pool:

        def start(queue: Queue, options: int = 0, **more: Any) -> Any:
            count = int(group.group.client().zcard(queue_keys.waiters))
            future = pool.submit(queue.get, int(GetOption.WAIT) | options, wait_ms=LONG_MS, **more)
            until(lambda: group.group.client().zcard(queue_keys.waiters) == count + 1, "it waits")
            return future

        yield start


def put_at_once(queue: Queue, md: MQMD, body: bytes = b"hello") -> None:
    queue.put(body, md)


def put_in_unit(queue: Queue, md: MQMD, body: bytes = b"hello") -> None:
    queue.put(body, md, options=PutOption.SYNCPOINT)
    commit(queue.connection)


def put_buffered(queue: Queue, md: MQMD, body: bytes = b"hello") -> None:
    queue.put(body, md, options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    commit(queue.connection)


WAYS = [put_at_once, put_in_unit, put_buffered]
OPENED_AND_WAYS = [
    *((open_new, way) for way in WAYS),
    *((opened, way) for opened in (open_after_get, open_among) for way in (put_in_unit, put_buffered)),
]
#: Fields of messages that can be handed over: nothing, or what is in the index alone.
HANDED: list[dict[str, Any]] = [
    {},
    {"correl_id": b"c" * 24},
    {"correl_id": b"c" * 24, "msg_id": b"m" * 24, "persistence": 1},
]


@pytest.mark.parametrize("fields", HANDED)
@pytest.mark.parametrize(("opened", "way"), OPENED_AND_WAYS)
def test_it_gets_the_message_without_a_call_of_its_own(
    group: TestGroup, queue_keys: QueueKeys, waiting: Any, opened: Any, way: Any, fields: dict[str, Any]
) -> None:
    getter, putter = open_new(group), opened(group)
    future = waiting(getter)
    client = group.group.client()
    way(putter, MQMD(**fields))
    message = future.result(20)
    assert message.body == b"hello"
    assert message.md.backout_count == 0
    assert {name: getattr(message.md, name) for name in fields} == fields
    assert (stored(group), client.zcard(queue_keys.index), client.zcard(queue_keys.waiters)) == (0, 0, 0)
    assert state_of(group, getter) == b"HQ"
    assert client.exists(group.group.structure("APPL1").wake + getter.connection.token) == 0


@pytest.mark.parametrize("fields", HANDED)
@pytest.mark.parametrize("way", WAYS)
def test_the_journal_records_it_like_any_get(group: TestGroup, waiting: Any, way: Any, fields: dict[str, Any]) -> None:
    getter, putter = open_new(group), open_new(group)
    future = waiting(getter)
    way(putter, MQMD(**fields))
    future.result(20)
    told = events(group)
    gets = [(event, ids) for event, ids in told if event == "get"]
    puts = [(event, ids) for event, ids in told if event == "put"]
    assert [ids for _, ids in gets] == [ids for _, ids in puts]
    assert told.index(puts[0]) < told.index(gets[0])


@pytest.mark.parametrize("names", [("Q", "OTHER"), ("OTHER", "Q"), ("Q", "Q")], ids="-".join)
@pytest.mark.parametrize("fields", HANDED)
@pytest.mark.parametrize("counts", [(1, 1), (1, 2), (2, 1)])
def test_each_message_of_a_unit_of_work_goes_to_one_that_waits(
    group: TestGroup, names: tuple[str, str], counts: tuple[int, int], fields: dict[str, Any]
) -> None:
    group.define_shared("OTHER")
    getters = [group.connect().open(name, BOTH) for name in names]
    for getter in getters:
        register_wait(getter, b"A!")
    putter = group.connect()
    for name, count in zip(names, counts, strict=True):
        messages = [(MQMD(**fields), b"hello") for _ in range(count)]
        putter.open(name, BOTH).put_many(messages, options=PutOption.SYNCPOINT)
    putter.commit()
    assert [state_of(group, getter)[:1] for getter in getters] == [b"H", b"H"]
    keys = group.group.structure("APPL1")
    left = {name: len(on_queue(group, name)) for name in set(names)}
    assert sum(left.values()) == sum(counts) - 2 == stored(group)
    for name in names:
        state: Any = group.group.client().hmget(keys.queue(name).queue, "nw", "pu")
        assert state == [b"0", b"0"]


@pytest.mark.parametrize("way", WAYS)
def test_one_that_waits_for_its_number_comes_before_a_general_one(group: TestGroup, way: Any) -> None:
    special, general, putter = open_new(group), open_new(group), open_new(group)
    number = generated_number(putter.put(b"").msg_id, putter.handle.structure.number) or 0
    putter.get()
    register_wait(special, b"N%d " % (number + 1))
    register_wait(general, b"A!")
    way(putter, MQMD())
    assert (state_of(group, special)[:1], state_of(group, general)[:1]) == (b"K", b"W")


def test_it_goes_on_as_if_nothing_had_been(group: TestGroup, waiting: Any) -> None:
    """It can wait again, here and elsewhere, browse, get without waiting, and disconnect."""
    group.define_shared("OTHER")
    getter, putter = open_new(group), open_new(group)
    for number in range(3):
        future = waiting(getter)
        putter.put(b"%d" % number)
        assert future.result(20).body == b"%d" % number
    with pytest.raises(MQIError):
        getter.get(GetOption.BROWSE_FIRST)
    putter.put(b"last")
    assert getter.get().body == b"last"


@pytest.mark.parametrize(
    "options", [GetOption.SYNCPOINT, GetOption.SYNCPOINT_IF_PERSISTENT], ids=["syncpoint", "if persistent"]
)
def test_a_get_in_a_unit_of_work_looks_itself(group: TestGroup, waiting: Any, options: GetOption) -> None:
    getter, putter = open_new(group), open_new(group)
    future = waiting(getter, int(options))
    putter.put(b"hello", MQMD(persistence=1))
    assert future.result(20).body == b"hello"
    assert stored(group) == 1
    backout(getter.connection)
    assert getter.get().md.backout_count == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("room", "size"), [(3, 5), (10_500, 11_000)])
def test_a_short_buffer_looks_itself(group: TestGroup, waiting: Any, way: Any, room: int, size: int) -> None:
    getter, putter = open_new(group), open_new(group)
    future = waiting(getter, 0, max_length=room)
    way(putter, MQMD(), b"x" * size)
    assert future.result(20).reason == MQRC.TRUNCATED_MSG_FAILED
    assert getter.get().body == b"x" * size


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [10_000, 11_000, 300_000])
def test_long_messages_come_whole(group: TestGroup, waiting: Any, way: Any, size: int) -> None:
    getter, putter = open_new(group), open_new(group)
    future = waiting(getter)
    body = bytes(range(256)) * (size // 256)
    way(putter, MQMD(), body)
    assert future.result(20).body == body
    assert stored(group) == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_message_that_needs_a_look_is_got_by_the_getter(group: TestGroup, waiting: Any, way: Any) -> None:
    getter, putter = open_new(group), open_new(group)
    for md in (
        MQMD(correl_id=b"c" * 24, expiry=6000),
        MQMD(expiry=6000),
        MQMD(correl_id=b"c" * 24, report=int(Report.COD), reply_to_q=b"Q"),
        MQMD(version=2, group_id=b"g" * 24, msg_seq_number=1, msg_flags=int(MsgFlag.MSG_IN_GROUP)),
    ):
        future = waiting(getter)
        way(putter, md)
        message = future.result(20)
        assert (message.body, message.md.correl_id) == (b"hello", md.correl_id)
        assert state_of(group, getter) == b""
        if md.report:
            assert getter.get().md.feedback == Feedback.COD
    assert stored(group) == 0


@pytest.mark.parametrize(("opened", "way"), OPENED_AND_WAYS)
def test_an_earlier_message_is_got_first(group: TestGroup, waiting: Any, opened: Any, way: Any) -> None:
    """Another one was woken for the first message and has not looked yet: the second is handed to nobody."""
    woken, getter, putter = open_new(group), open_new(group), opened(group)
    correl_id = b"c" * 24
    register_wait(woken, b"C" + correl_id)
    future = waiting(getter)
    first = open_new(group).put(b"first", MQMD(correl_id=correl_id))
    number = generated_number(first.msg_id, putter.handle.structure.number) or 0
    assert state_of(group, woken) == b"KQ\n%dx" % number
    way(putter, MQMD())
    assert future.result(20).body == b"first"
    assert on_queue(group, "Q") == [(b"hello", 0)]


@pytest.mark.parametrize("fields", HANDED)
@pytest.mark.parametrize("after", [0, 2])
def test_one_whose_wait_had_ended_looks_again_and_has_it(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, after: int, fields: dict[str, Any]
) -> None:
    getter, putter = open_new(group), open_new(group)
    bodies = [b"%d" % number for number in range(1 + after)]
    missed = Missed(monkeypatch, getter, lambda: [putter.put(body, MQMD(**fields)) for body in bodies])
    assert getter.get(GetOption.WAIT, wait_ms=LONG_MS).body == b"0"
    assert missed.times == 1
    assert [getter.get().body for _ in range(after)] == bodies[1:]
    assert stored(group) == 0
    kinds = Counter(event for event, _ in events(group))
    assert kinds == {"put": 1 + after, "get": 2 + after, "return": 1}


def test_a_higher_priority_that_came_meanwhile_goes_first(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    getter, putter = open_new(group), open_new(group)
    Missed(monkeypatch, getter, lambda: [putter.put(b"%d" % n, MQMD(priority=n)) for n in (1, 7)])
    assert getter.get(GetOption.WAIT, wait_ms=LONG_MS).body == b"7"
    assert getter.get().body == b"1"


@pytest.mark.parametrize("asked", [{}, {"correl_id": b"c" * 24}], ids=["any", "chosen"])
def test_one_that_takes_another_message_leaves_its_own_to_others_that_wait(
    group: TestGroup, waiting: Any, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    """The other one began to wait while the message was on its way to the first."""
    getter, other, putter = open_new(group), open_new(group), open_new(group)
    others: list[Any] = []

    def put() -> None:
        putter.put(b"1", MQMD(priority=1, msg_id=b"m" * 24, correl_id=b"c" * 24))
        assert state_of(group, getter) == b"HQ"
        others.append(waiting(other, match=MQMD(msg_id=b"m" * 24), match_options=MatchOption.MATCH_MSG_ID))
        putter.put(b"7", MQMD(priority=7, correl_id=b"c" * 24))

    Missed(monkeypatch, getter, put)
    match = MatchOption.MATCH_CORREL_ID if asked else MatchOption.NONE
    message = getter.get(GetOption.WAIT, wait_ms=LONG_MS, match=MQMD(**asked), match_options=match)
    assert message.body == b"7"
    assert others[0].result(20).body == b"1"
    assert stored(group) == 0


@pytest.mark.parametrize("fields", HANDED)
@pytest.mark.parametrize("count", [1, 2])
def test_those_that_wait_come_before_the_get_that_rides_on_the_commit(
    group: TestGroup, waiting: Any, fields: dict[str, Any], count: int
) -> None:
    group.define_shared("FROM")
    own, putter = group.connect(), open_new(group)
    source, queue = own.open("FROM", BOTH), own.open("Q", BOTH)
    # It has got a plain message there before, so its gets ride.
    putter.put(b"plain")
    assert queue.get().body == b"plain"
    futures = [waiting(open_new(group)) for _ in range(count)]
    source.put(b"request")
    source.get(GetOption.SYNCPOINT)
    queue.put(b"reply", MQMD(**fields), options=PutOption.SYNCPOINT | PutOption.ASYNC_RESPONSE)
    with pytest.raises(MQIError) as caught:
        queue.commit_and_get(GetOption.SYNCPOINT)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    for _ in futures[1:]:
        putter.put(b"reply")
    assert [future.result(20).body for future in futures] == [b"reply"] * count


def test_its_interval_ends_in_that_moment(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """A getter that looks once more at the end of the interval has it."""
    getter, putter = open_new(group), open_new(group)

    def let_the_interval_pass() -> None:
        putter.put(b"late")
        threading.Event().wait(0.1)

    Missed(monkeypatch, getter, let_the_interval_pass)
    assert getter.get(GetOption.WAIT, wait_ms=50).body == b"late"


@pytest.mark.parametrize("fields", HANDED)
def test_one_that_gives_up_puts_it_back_for_another(
    group: TestGroup, waiting: Any, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    getter, other, putter = open_new(group), open_new(group), open_new(group)

    def give_up() -> None:
        if others:
            return
        putter.put(b"hello", MQMD(**fields))
        assert state_of(group, getter) == b"HQ"
        match = MatchOption.MATCH_CORREL_ID if fields else MatchOption.NONE
        others.append(waiting(other, match=MQMD(**fields), match_options=match))
        stop_waiting(getter.connection, getter.handle)
        assert others[0].result(20).body == b"hello"

    others: list[Any] = []
    missed = Missed(monkeypatch, getter, give_up)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(getter.get, GetOption.WAIT, wait_ms=100)
        assert_no_message(future)
    assert missed.times >= 1
    assert others


def assert_no_message(future: Any) -> None:
    with pytest.raises(MQIError) as caught:
        future.result(20)
    assert caught.value.reason == MQRC.NO_MSG_AVAILABLE


def die_handed(group: TestGroup, getter: Queue, putter: Queue, bodies: list[bytes], **fields: Any) -> None:
    """It had registered and died before it blocked: messages handed to it stay on the way."""
    register_wait(getter, b"A!")
    for body in bodies:
        putter.put(body, MQMD(**fields))
    assert state_of(group, getter) == b"HQ"
    group.group.client().zadd(group.group.keys.leases, {getter.connection.token: 1})


@pytest.mark.parametrize("fields", HANDED)
def test_a_message_handed_to_a_dead_getter_is_first_again(group: TestGroup, fields: dict[str, Any]) -> None:
    getter, putter = open_new(group), open_new(group)
    die_handed(group, getter, putter, [b"first", b"second"], **fields)
    assert on_queue(group, "Q") == [(b"second", 0)]

    assert recover(group.group, group.connect().connection, getter.connection.token).is_resolved

    assert on_queue(group, "Q") == [(b"first", 0), (b"second", 0)]
    kinds = Counter(event for event, _ in events(group))
    assert (kinds["get"], kinds["return"]) == (1, 1)
    assert group.group.client().exists(group.group.structure("APPL1").wake + getter.connection.token) == 0
    match = MatchOption.MATCH_CORREL_ID if fields else MatchOption.NONE
    assert [putter.get(match=MQMD(**fields), match_options=match).body for _ in range(2)] == [b"first", b"second"]


def test_a_message_handed_to_a_dead_getter_wakes_a_waiter(group: TestGroup, waiting: Any) -> None:
    getter, other, putter = open_new(group), open_new(group), open_new(group)
    die_handed(group, getter, putter, [b"only"])
    future = waiting(other)
    assert recover(group.group, group.connect().connection, getter.connection.token).is_resolved
    assert future.result(20).body == b"only"


def test_a_deleted_queue_takes_it_along(group: TestGroup, queue_keys: QueueKeys) -> None:
    getter, putter = open_new(group), open_new(group)
    die_handed(group, getter, putter, [b"only"])
    group.group.client().delete(queue_keys.queue)
    recover(group.group, group.connect().connection, getter.connection.token)
    assert stored(group) == 0
    assert not group.group.client().exists(queue_keys.available)


def test_no_program_can_delete_the_queue_before_it_is_back(group: TestGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dead one has more handles than one call gives back, and that on the queue is among the first."""
    group.define_shared("OTHER")
    getter, putter = open_new(group), open_new(group)
    others = [open_queue(getter.connection, MQOD(object_name=b"OTHER"), int(BOTH)) for _ in range(CHUNK_HANDLES)]
    die_handed(group, getter, putter, [b"only"])
    putter.close()
    recoverer = group.connect().connection
    commands, call_many, answers = recoverer.commands, recoverer.call_many, list[MQRC]()

    def choose(key: str, several: Sequence[Sequence[bytes]]) -> list[Any]:
        if several[0][0] != b"SRANDMEMBER":
            return commands(key, several)
        (there,) = commands(key, [(b"SMEMBERS", several[0][1])])
        there = sorted(there, reverse=True)
        assert [holding for holding in there if holding.startswith(b"Q\n")] == there[: len(there) - len(others)]
        return [there[:CHUNK_HANDLES]]

    def delete_after(calls: Sequence[ScriptCall]) -> list[Any]:
        replies = call_many(calls)
        if calls[0][0] == "structure/release":
            with pytest.raises(MQIError) as caught:
                group.repository("QM1").delete("QLOCAL", "Q")
            answers.append(caught.value.reason)
        return replies

    monkeypatch.setattr(recoverer, "commands", choose)
    monkeypatch.setattr(recoverer, "call_many", delete_after)
    assert recover(group.group, recoverer, getter.connection.token).is_resolved
    assert answers == [MQRC.Q_NOT_EMPTY, MQRC.Q_NOT_EMPTY]
    assert on_queue(group, "Q") == [(b"only", 0)]


def test_a_wake_up_for_another_reason_carries_no_message(group: TestGroup, waiting: Any) -> None:
    """A manager that quiesces wakes every getter that may block, also one that has just been handed its message."""
    group.define_shared("OTHER")
    getter, putter = open_new(group), open_new(group)
    other = Queue(getter.connection, open_queue(getter.connection, MQOD(object_name=b"OTHER"), int(BOTH)))
    future = waiting(getter)
    putter.put(b"hello")
    assert future.result(20).body == b"hello"
    wake_key = group.group.structure("APPL1").wake + getter.connection.token
    group.group.client().rpush(wake_key, "quiesce")
    for queue in (other, getter):
        with pytest.raises(MQIError) as caught:
            queue.get()
        assert caught.value.reason == MQRC.NO_MSG_AVAILABLE
    group.group.client().rpush(wake_key, "quiesce")
    disconnect(getter.connection)


def test_a_getter_interrupted_in_its_wait_gives_back_its_message(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its registration, before it blocks: it would never take the message."""
    getter, putter = open_new(group), open_new(group)

    def interrupt() -> None:
        putter.put(b"hello")
        raise TimeoutError

    Missed(monkeypatch, getter, interrupt)
    with pytest.raises(TimeoutError):
        getter.get(GetOption.WAIT, wait_ms=LONG_MS)
    with pytest.raises(MQIError) as caught:
        getter.get(GetOption.BROWSE_FIRST)
    assert caught.value.reason == MQRC.CONNECTION_BROKEN
    recover_lost(group, getter.connection.token)
    assert on_queue(group, "Q") == [(b"hello", 0)]


@pytest.mark.parametrize("field", ["mk", "al", "gm"])
@pytest.mark.parametrize(("opened", "way"), OPENED_AND_WAYS)
def test_the_getter_looks_itself_at_a_queue_with_more_than_plain_messages(
    group: TestGroup, queue_keys: QueueKeys, waiting: Any, opened: Any, way: Any, field: str
) -> None:
    getter, putter = open_new(group), opened(group)
    future = waiting(getter)
    group.group.client().hset(queue_keys.queue, field, 1)
    way(putter, MQMD())
    assert future.result(20).body == b"hello"
    assert state_of(group, getter) == b""


def test_a_getter_that_is_woken_waits_no_more(group: TestGroup, queue_keys: QueueKeys, waiting: Any) -> None:
    """Two messages are handed to nobody. If the queue counted one that waits for ever, each put would look for it."""
    getter, putter = open_new(group), open_new(group)
    future = waiting(getter)
    putter.put_many([(MQMD(), b"hello"), (MQMD(), b"hello")])
    assert future.result(20).body == b"hello"
    client = group.group.client()
    assert (client.hget(queue_keys.queue, "nw"), client.zcard(queue_keys.waiters)) == (b"0", 0)


@pytest.mark.parametrize(("opened", "way"), OPENED_AND_WAYS)
@pytest.mark.parametrize("how", ["alter", "define"])
def test_a_get_that_was_inhibited_is_handed_nothing(
    group: TestGroup, waiting: Any, monkeypatch: pytest.MonkeyPatch, how: str, opened: Any, way: Any
) -> None:
    """The process that inhibits it dies before it has woken the waiters."""
    getter = open_new(group)
    future = waiting(getter)
    repository = group.repository("QM1")
    with monkeypatch.context() as patch:
        patch.setattr(LocalQueues, "wake_waiters", lambda *_: None)
        if how == "alter":
            repository.alter("QLOCAL", "Q", {"get": "DISABLED"})
        else:
            disabled = QueueLocal(name="Q", disposition="SHARED", structure="APPL1", get="DISABLED")
            repository.define(disabled, replace=True)
    # It knows the definition in force, so no put is sent twice.
    way(opened(group), MQMD())
    with pytest.raises(MQIError) as caught:
        future.result(20)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert on_queue(group, "Q") == [(b"hello", 0)]


def test_the_end_of_an_alter_does_not_end_another_that_wakes_waiters(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch, queue_keys: QueueKeys
) -> None:
    """Two ALTERs overlap, and the second inhibits gets: until it has woken everyone, nobody is handed anything."""
    monkeypatch.setattr("sharedq.objects.store.local_queues._WAKES_PER_CALL", 1)
    getters = [open_new(group) for _ in range(3)]
    client, call, names = group.group.client(), group.group.call, list[str]()
    first, second = group.repository("QM1"), group.repository("QM1")

    def call_and_alter(name: str, *rest: Any) -> Any:
        reply = call(name, *rest)
        names.append(name)
        if names.count("structure/wake_all") == 1 and name == "structure/wake_all":
            with monkeypatch.context() as patch:
                # It has woken nobody yet.
                patch.setattr(LocalQueues, "wake_waiters", lambda *_: None)
                second.alter("QLOCAL", "Q", {"get": "DISABLED"})
        return reply

    with ThreadPoolExecutor(len(getters)) as pool:
        futures = [pool.submit(getter.get, GetOption.WAIT, wait_ms=LONG_MS) for getter in getters]
        until(lambda: client.hget(queue_keys.queue, "nw") == b"3", "they wait")
        with monkeypatch.context() as patch:
            patch.setattr(group.group, "call", call_and_alter)
            first.alter("QLOCAL", "Q", {"description": "new"})
        assert client.hget(queue_keys.queue, "al") == b"1"
        first.wake_waiters("APPL1", "Q")
        for future in futures:
            with pytest.raises(MQIError) as caught:
                future.result(20)
            assert caught.value.reason == MQRC.GET_INHIBITED
    assert not client.hexists(queue_keys.queue, "al")


def test_a_get_from_an_inhibited_transmit_queue_is_handed_nothing(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The putter knows the new definition, and the waiter does not yet."""
    group.add_member("QM2")
    getter = group.connect("QM2").open(SYSTEM_QSG_TRANSMIT_QUEUE, OpenOption.INPUT_SHARED)
    state = group.group.structure("@QM2").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(getter.get, GetOption.WAIT, wait_ms=LONG_MS)
        until(lambda: group.group.client().hget(state, "nw") == b"1", "it waits")
        with monkeypatch.context() as patch:
            patch.setattr(LocalQueues, "wake_waiters", lambda *_: None)
            group.repository("QM1").alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
        group.connect("QM1").put1("T", b"hello", qmgr_name="QM2")
        with pytest.raises(MQIError) as caught:
            future.result(20)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert on_queue(group, SYSTEM_QSG_TRANSMIT_QUEUE, "@QM2") == [(b"hello", 0)]


def test_waiters_look_at_a_part_that_a_starting_manager_updates(
    group: TestGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ALTER was cut off before it had reached that part, or anybody was woken."""
    getter = group.connect().open(SYSTEM_QSG_TRANSMIT_QUEUE, OpenOption.INPUT_SHARED)
    state = group.group.structure("@QM1").queue(SYSTEM_QSG_TRANSMIT_QUEUE).queue
    repository = group.repository("QM1")
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(getter.get, GetOption.WAIT, wait_ms=LONG_MS)
        until(lambda: group.group.client().hget(state, "nw") == b"1", "it waits")
        with monkeypatch.context() as patch:
            patch.setattr(Finder, "set_partitions", lambda *_, **__: None)
            repository.alter("QLOCAL", SYSTEM_QSG_TRANSMIT_QUEUE, {"get": "DISABLED"})
        repository.prepare_manager("QM1")
        with pytest.raises(MQIError) as caught:
            future.result(20)
    assert caught.value.reason == MQRC.GET_INHIBITED
    assert not group.group.client().hexists(state, "al")
