"""The native API for asyncio: the same results as the other one, and a cancelled get that loses and doubles nothing."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

import sharedq
from sharedq import AsyncConnection, AsyncQueue, MessageHandle, MQIError
from sharedq.calls.get import get as getting
from sharedq.mqi.constants import MQRC, GetOption, OpenOption, PutOption
from sharedq.mqi.structures import MQMD
from sharedq.objects.definitions.queues import QueueLocal
from tests.support.accounts import assert_accounted
from tests.support.groups import BOTH, drain
from tests.support.members import TestGroup
from tests.support.waits import LONG_MS, until_waiting

T = TypeVar("T")
#: Longer than any call of a good test, so that one which hangs fails.
LIMIT_S = 120


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a program, which fails where it hangs."""
    return asyncio.run(asyncio.wait_for(main, LIMIT_S))


@asynccontextmanager
async def opened(group: TestGroup, name: str = "Q") -> AsyncIterator[tuple[AsyncConnection, AsyncQueue]]:
    """A connection and a queue of it."""
    async with (
        await sharedq.connect_async("QM1", settings=group.group.settings) as connection,
        await connection.open(name, BOTH | OpenOption.INQUIRE) as queue,
    ):
        yield connection, queue


async def cancelled_while_waiting(group: TestGroup, queue: AsyncQueue, options: int, **asked: Any) -> None:
    """Begin a get that waits, and cancel it."""
    task = asyncio.create_task(queue.get(options | GetOption.WAIT, wait_ms=LONG_MS, **asked))
    await asyncio.to_thread(until_waiting, group, "Q", 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    until_waiting(group, "Q", 0)


@pytest.fixture
def shared(group: TestGroup) -> TestGroup:
    group.define_shared("Q")
    return group


def test_each_call_does_what_its_twin_does(shared: TestGroup) -> None:
    async def main() -> None:
        async with opened(shared) as (connection, queue):
            await queue.put(b"one", options=PutOption.SYNCPOINT)
            await connection.commit()
            await queue.put_many([(MQMD(), b"two"), (MQMD(), b"three")])
            await connection.put1("Q", b"four")
            colours = sharedq.MessageHandle()
            colours.set("colour", "red")
            await queue.put(b"five", properties=colours)
            async with await connection.open("Q", BOTH, selector="colour = 'red'") as red:
                found = sharedq.MessageHandle()
                assert (await red.get(properties=found)).body == b"five"
                assert found.get("colour") == "red"
            assert (await queue.get(GetOption.SYNCPOINT)).body == b"one"
            await connection.backout()
            assert [each.body for each in await queue.get_many(2)] == [b"one", b"two"]
            assert [each.body async for each in queue.messages(wait_ms=0)] == [b"three", b"four"]
            with pytest.raises(MQIError) as refused:
                await queue.get()
            assert refused.value.reason == MQRC.NO_MSG_AVAILABLE

    run(main())


@pytest.mark.parametrize("error", [None, ValueError("of the program")])
def test_the_end_of_a_block_commits_or_backs_out(shared: TestGroup, error: Exception | None) -> None:
    async def main() -> None:
        async with opened(shared) as (_, queue):
            await queue.put(b"in a unit", options=PutOption.SYNCPOINT)
            if error:
                raise error

    if error:
        with pytest.raises(ValueError, match="of the program"):
            run(main())
    else:
        run(main())
    assert drain(shared.connect().open("Q", BOTH)) == ([] if error else [b"in a unit"])


def test_the_plain_iteration_ends_when_nothing_comes(shared: TestGroup) -> None:
    with shared.connect() as connection, connection.open("Q", BOTH) as queue:
        for body in (b"one", b"two"):
            queue.put(body)
        assert [each.body for each in queue.messages(wait_ms=0)] == [b"one", b"two"]
        queue.put(b"three")
        assert next(iter(queue)).body == b"three"


@pytest.mark.rule("mqi/waiting", "A wait that is cancelled by asyncio ends at once, and its connection goes on.")
@pytest.mark.parametrize(
    ("options", "match"),
    [(0, None), (GetOption.SYNCPOINT, None), (GetOption.BROWSE_FIRST, None), (0, MQMD(correl_id=b"c" * 24))],
)
def test_a_cancelled_wait_ends_at_once(shared: TestGroup, options: int, match: MQMD | None) -> None:
    async def main() -> None:
        async with opened(shared) as (connection, queue):
            await cancelled_while_waiting(shared, queue, options, match=match)
            await queue.put(b"later")
            await connection.commit()
            assert (await queue.get()).body == b"later"

    run(main())


def test_a_call_that_has_not_begun_is_not_made(shared: TestGroup) -> None:
    async def main() -> None:
        async with opened(shared) as (connection, queue):
            waiting = asyncio.create_task(queue.get(GetOption.WAIT, wait_ms=LONG_MS))
            await asyncio.to_thread(until_waiting, shared, "Q", 1)
            put = asyncio.create_task(queue.put(b"never"))
            await asyncio.sleep(0)
            put.cancel()
            waiting.cancel()
            await asyncio.wait({put, waiting})
            assert put.cancelled()
            assert waiting.cancelled()
            assert [each async for each in queue.messages(wait_ms=0)] == []
            assert connection.qmgr_name == "QM1"

    run(main())


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """A get has what it took, and is held until it may tell."""
    has_taken, may_tell = threading.Event(), threading.Event()
    take = getting.get

    def get(*arguments: Any, **named: Any) -> Any:
        message = take(*arguments, **named)
        has_taken.set()
        assert may_tell.wait(LIMIT_S)
        return message

    monkeypatch.setattr(getting, "get", get)
    return has_taken, may_tell


async def cancelled_too_late(
    queue: AsyncQueue, options: int, held: tuple[threading.Event, threading.Event], **asked: Any
) -> None:
    """Cancel a get that has taken its message."""
    has_taken, may_tell = held
    task = asyncio.create_task(queue.get(options, **asked))
    await asyncio.to_thread(has_taken.wait, LIMIT_S)
    task.cancel()
    await asyncio.sleep(0)
    may_tell.set()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.invariant(8)
@pytest.mark.rule("mqi/waiting", "The next get of its queue object returns what a cancelled get has taken.")
def test_what_a_cancelled_get_has_taken_is_for_the_next(
    shared: TestGroup, held: tuple[threading.Event, threading.Event]
) -> None:
    async def main() -> None:
        async with opened(shared) as (connection, queue):
            await queue.put_many([(MQMD(), b"taken"), (MQMD(), b"next")])
            await cancelled_too_late(queue, 0, held)
            other = MQMD(msg_id=b"m" * 24)
            for refused in (queue.get(match=other), queue.get(properties=MessageHandle()), queue.get_many(1)):
                with pytest.raises(MQIError) as error:
                    await refused
                assert error.value.reason == MQRC.READ_AHEAD_MSGS
            # It is in no unit of work.
            await connection.commit()
            assert [(await queue.get(GetOption.WAIT, wait_ms=1)).body for _ in range(2)] == [b"taken", b"next"]

    run(main())


@pytest.mark.invariant(8)
def test_it_comes_in_whichever_handle_the_next_get_gives(
    shared: TestGroup, held: tuple[threading.Event, threading.Event]
) -> None:
    async def main() -> None:
        async with opened(shared) as (_, queue):
            for number in (1, 2):
                put = MessageHandle()
                put.set("number", number)
                await queue.put(b"%d" % number, properties=put)
            first = MessageHandle()
            await cancelled_too_late(queue, 0, held, properties=first)
            for number in (1, 2):
                found = MessageHandle()
                found.set("other", "x")
                assert (await queue.get(properties=found)).body == b"%d" % number
                assert {name: found.get(name) for name in found} == {"number": number}
            # The cancelled get has returned nothing, in its handle neither.
            assert list(first) == []

    run(main())


@pytest.mark.invariant(8)
@pytest.mark.rule("mqi/waiting", "Closed or disconnected, what a cancelled get has taken is put on its queue again.")
@pytest.mark.parametrize("has_properties", [False, True])
@pytest.mark.parametrize("end", ["close", "disconnect", "leave", "leave by an exception", "close the queue's block"])
def test_what_it_has_taken_outside_a_unit_of_work_is_put_back(
    shared: TestGroup, held: tuple[threading.Event, threading.Event], end: str, has_properties: bool
) -> None:
    sent = MQMD(version=2, persistence=1, priority=4, correl_id=b"c" * 24, reply_to_q=b"R", report=768, expiry=6000)

    async def main() -> MQMD:
        async with await sharedq.connect_async("QM1", settings=shared.group.settings) as connection:
            queue = await connection.open("Q", BOTH)
            put = MessageHandle()
            put.set("number", 1)
            md = await queue.put(b"unseen", sent, properties=put)
            await queue.put(b"in the unit of work", options=PutOption.SYNCPOINT)
            await cancelled_too_late(queue, 0, held, properties=MessageHandle() if has_properties else None)
            if end == "leave by an exception":
                raise LookupError(md)
            if end == "close":
                await queue.close()
            elif end == "disconnect":
                await connection.disconnect()
            elif end != "leave":
                async with queue:
                    pass
            return md

    shared.define_shared("R")
    try:
        md = run(main())
    except LookupError as error:
        md = error.args[0]
    with shared.connect() as connection, connection.open("Q", BOTH) as queue:
        found = MessageHandle()
        message = queue.get(properties=found, match=MQMD(msg_id=md.msg_id))
        assert message.body == b"unseen"
        assert found.get("number") == 1
        for name in ("persistence", "priority", "correl_id", "reply_to_q", "put_appl_name", "put_date", "put_time"):
            assert getattr(message.md, name) == getattr(md, name), name
        assert 0 < message.md.expiry <= 6000
        assert drain(queue) == ([] if end == "leave by an exception" else [b"in the unit of work"])
    # Its arrival was reported once.
    assert len(drain(shared.connect().open("R", BOTH))) == 1
    assert_accounted(shared.group)


def test_a_message_that_cannot_be_put_back_is_told(
    shared: TestGroup, held: tuple[threading.Event, threading.Event]
) -> None:
    async def main() -> None:
        async with opened(shared) as (connection, queue):
            await queue.put(b"unseen")
            await cancelled_too_late(queue, 0, held)
            shared.repository("QM1").alter(QueueLocal.kind, "Q", {"put": "DISABLED"})
            for refused in (queue.close(), connection.disconnect()):
                with pytest.raises(MQIError) as error:
                    await refused
                assert error.value.reason == MQRC.PUT_INHIBITED
            assert (await queue.get()).body == b"unseen"

    run(main())


@pytest.mark.invariant(8)
@pytest.mark.parametrize("end", ["get", "backout", "leave"])
def test_what_it_has_taken_in_a_unit_of_work_is_never_committed_unseen(
    shared: TestGroup, held: tuple[threading.Event, threading.Event], end: str
) -> None:
    async def main() -> None:
        async with opened(shared) as (connection, queue):
            await queue.put(b"in a unit")
            await cancelled_too_late(queue, GetOption.SYNCPOINT, held)
            if end == "leave":
                raise ValueError("of the program")
            with pytest.raises(MQIError) as error:
                await connection.commit()
            assert error.value.reason == MQRC.READ_AHEAD_MSGS
            if end == "backout":
                await connection.backout()
            assert (await queue.get(GetOption.SYNCPOINT)).body == b"in a unit"
            await connection.commit()

    if end == "leave":
        with pytest.raises(ValueError, match="of the program"):
            run(main())
    else:
        run(main())
    assert drain(shared.connect().open("Q", BOTH)) == ([b"in a unit"] if end == "leave" else [])


def test_a_block_that_ends_well_never_drops_a_message_silently(
    shared: TestGroup, held: tuple[threading.Event, threading.Event]
) -> None:
    async def main() -> None:
        async with await sharedq.connect_async("QM1", settings=shared.group.settings) as connection:
            queue = await connection.open("Q", BOTH)
            await queue.put(b"unseen")
            await cancelled_too_late(queue, GetOption.SYNCPOINT, held)

    with pytest.raises(MQIError) as error:
        run(main())
    assert error.value.reason == MQRC.READ_AHEAD_MSGS
    assert drain(shared.connect().open("Q", BOTH)) == [b"unseen"]


@pytest.mark.invariant(8)
@pytest.mark.parametrize("options", [0, GetOption.SYNCPOINT])
@pytest.mark.parametrize("next_call", ["the same get", "close", "disconnect", "a get with a handle"])
def test_cancels_at_any_moment_lose_and_double_nothing(shared: TestGroup, options: int, next_call: str) -> None:
    count, chance = 1000, random.Random(17 + options)
    pauses = [chance.random() * 0.002 for _ in range(count)]
    found: list[list[int]] = [[], []]
    cancelled = 0

    async def put_all() -> None:
        async with opened(shared) as (_, queue):
            for number, pause in enumerate(pauses):
                await queue.put(b"%d" % number)
                if number % 3 == 0:
                    await asyncio.sleep(pause)

    async def consume(mine: list[int]) -> None:
        nonlocal cancelled
        while sum(map(len, found)) < count:
            async with opened(shared) as (connection, queue):
                await consume_until_cancelled(connection, queue, mine)

    async def consume_until_cancelled(connection: AsyncConnection, queue: AsyncQueue, mine: list[int]) -> None:
        nonlocal cancelled
        while sum(map(len, found)) < count:
            handle = MessageHandle() if next_call == "a get with a handle" else None
            get = queue.get(options | GetOption.WAIT, wait_ms=LONG_MS, properties=handle)
            task = asyncio.create_task(get)
            await asyncio.wait({task}, timeout=chance.random() * 0.006)
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if task.cancelled():
                cancelled += 1
                if next_call in ("close", "disconnect"):
                    if options:
                        await connection.backout()
                    await (queue.close() if next_call == "close" else connection.disconnect())
                    return
                continue
            mine.append(int(task.result().body))
            if options:
                await connection.commit()

    async def main() -> None:
        await asyncio.gather(put_all(), *(consume(mine) for mine in found))

    run(main())
    assert sorted(found[0] + found[1]) == list(range(count))
    # Otherwise this has tried nothing.
    assert cancelled > 20
