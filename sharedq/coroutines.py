"""The native Python API for asyncio: the calls of ``sharedq.api`` as coroutines.

async with await sharedq.connect_async("EWR") as connection, await connection.open("FLIGHTS", options) as flights:
    async for message in flights.messages(GetOption.SYNCPOINT):
        await connection.commit()

Each connection has one thread, because a unit of work belongs to a connection and its calls come one after another.
So a task that waits for a message keeps other tasks from calls over the same connection: give each consumer its own.

Cancellation. A call that has not begun is not made. A call that has begun ends first, and is then done; a get that
waits ends its wait at once. A message that such a get has taken in that moment is not lost: the queue object keeps it,
and the next get that asks for the same returns it, in the message handle that it gives. Until then other gets raise
2458. A close, a disconnect and the end of a block put it back on its queue. If it is in the unit of work they raise
2458, and so does a commit: a backout returns it to its place.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, fields
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from sharedq import api
from sharedq.calls.put.put import restore
from sharedq.log import LibraryLogger
from sharedq.messages.message import Message
from sharedq.mqi.arguments import refuse_other, whole
from sharedq.mqi.constants import (
    MQRC,
    CharSelector,
    CloseOption,
    ConnectOption,
    GetOption,
    IntSelector,
    MatchOption,
    OpenOption,
    PutOption,
)
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import NULL_MSG_TOKEN, UNLIMITED_WAIT
from sharedq.mqi.structures import MQMD
from sharedq.mqi.wire import MD
from sharedq.properties.handle import MessageHandle
from sharedq.session.connection import Connection
from sharedq.settings.values import Settings

T = TypeVar("T")
_IN_UNIT = int(GetOption.SYNCPOINT)
_IN_UNIT_IF_PERSISTENT = int(GetOption.SYNCPOINT_IF_PERSISTENT)
_BROWSES = int(GetOption.BROWSE_FIRST | GetOption.BROWSE_NEXT | GetOption.BROWSE_MSG_UNDER_CURSOR)
#: A cancelled get and the one that returns its message may differ in these.
_HOW_LONG = int(GetOption.WAIT | GetOption.FAIL_IF_QUIESCING)
_log = LibraryLogger(__name__)


async def connect_async(
    qmgr_name: str = "",
    *,
    conn_tag: bytes = b"",
    options: ConnectOption | int = 0,
    appl_name: str = "",
    settings: Settings | None = None,
) -> AsyncConnection:
    """Connect as ``sharedq.connect`` does. If this is cancelled there is no connection."""
    thread = ThreadPoolExecutor(1, "sharedq")
    connect = partial(
        api.connect, qmgr_name, conn_tag=conn_tag, options=options, appl_name=appl_name, settings=settings
    )
    connecting = asyncio.get_running_loop().run_in_executor(thread, connect)
    try:
        return AsyncConnection(await asyncio.shield(connecting), thread)
    except asyncio.CancelledError:
        await _end_of(connecting)
        if connecting.exception() is None:
            await _end_of(asyncio.get_running_loop().run_in_executor(thread, connecting.result().disconnect))
        raise
    except BaseException:
        thread.shutdown(wait=False)
        raise


async def _end_of(call: Awaitable[Any]) -> None:
    """Wait for the end of a call that cannot be cancelled; its outcome stays in it."""
    future = asyncio.ensure_future(call)
    while not future.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({future})


class AsyncConnection:
    """A connection to a queue manager. Leaving its ``async with`` block commits, or backs out after an exception."""

    def __init__(self, connection: api.QueueManagerConnection, thread: ThreadPoolExecutor) -> None:
        self._connection, self._thread = connection, thread
        self._turn = asyncio.Lock()
        self._queues: set[AsyncQueue] = set()

    @property
    def qmgr_name(self) -> str:
        """The manager connected to."""
        return self._connection.qmgr_name

    async def open(
        self,
        name: str,
        options: OpenOption | int,
        *,
        qmgr_name: str = "",
        dynamic_name: str = "CSQ.*",
        selector: str = "",
    ) -> AsyncQueue:
        """MQOPEN; arguments as of ``QueueManagerConnection.open``."""
        how = {"qmgr_name": qmgr_name, "dynamic_name": dynamic_name, "selector": selector}
        return AsyncQueue(self, await self.call(partial(self._connection.open, name, options, **how)))

    async def put1(
        self,
        name: str,
        body: bytes,
        md: MQMD | None = None,
        *,
        qmgr_name: str = "",
        options: int = 0,
        properties: MessageHandle | None = None,
    ) -> MQMD:
        """MQPUT1: open, put one message, close."""
        put1 = partial(self._connection.put1, qmgr_name=qmgr_name, options=options, properties=properties)
        return await self.call(partial(put1, name, body, md))

    async def commit(self) -> None:
        """MQCMIT. Raises as ``QueueManagerConnection.commit``, and 2458: a cancelled get has taken a message in this
        unit of work."""
        async with self._turn:
            self._refuse(self._unseen(in_unit=True), "MQCMIT")
            await self._run(self._connection.commit)

    async def backout(self) -> None:
        """MQBACK."""
        async with self._turn:
            for queue in self._unseen(in_unit=True):
                queue.kept = None
            await self._run(self._connection.backout)

    async def disconnect(self) -> MQRC:
        """MQDISC: commits what is outstanding; see ``QueueManagerConnection.disconnect``.

        Raises:
            MQIError: 2458, a cancelled get has taken a message in the unit of work: get it, or back out; or why a
                message that it has taken outside cannot be put back.
        """
        async with self._turn:
            self._refuse(self._unseen(in_unit=True), "MQDISC")
            for queue in self._unseen():
                await self._restore(queue)
            return await self._disconnect()

    async def call(self, call: Callable[[], T]) -> T:
        """Make a call in the thread of this connection, in its turn."""
        async with self._turn:
            return await self._run(call)

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        async with self._turn:
            if self._connection.connection.is_disconnected:
                return
            unseen, is_ended = self._unseen(in_unit=True), self._connection.connection.is_ended
            if (error is not None or unseen) and not is_ended:
                await self._run(self._connection.backout)
            for queue in unseen:
                queue.kept = None
            failure: MQIError | None = None
            for queue in self._unseen():
                try:
                    await self._restore(queue)
                except MQIError as why:
                    _log.warning("unseen_message_dropped", queue=queue.name, error=str(why))
                    failure = why
            await self._disconnect()
            if error is None:
                self._refuse(unseen, "MQDISC")
                if failure is not None:
                    raise failure

    async def _disconnect(self) -> MQRC:
        try:
            return await self._run(self._connection.disconnect)
        finally:
            if self._connection.connection.is_disconnected:
                self._thread.shutdown(wait=False)

    def _unseen(self, *, in_unit: bool = False) -> list[AsyncQueue]:
        """The queues that keep a message of a cancelled get."""
        kept = [queue for queue in self._queues if queue.kept and not queue.kept.is_copy]
        return [queue for queue in kept if queue.kept and (queue.kept.in_unit or not in_unit)]

    async def _restore(self, queue: AsyncQueue) -> None:
        """Put back what a cancelled get has taken outside the unit of work. In this connection's turn."""
        if queue.kept is not None and not queue.kept.is_copy:
            await self._run(partial(queue.restore, queue.kept))
        queue.kept = None

    def _refuse(self, unseen: list[AsyncQueue], verb: str) -> None:
        if unseen:
            raise error_for(MQRC.READ_AHEAD_MSGS, verb, unseen[0].name, "get what a cancelled get has taken")

    async def _run(self, call: Callable[[], T]) -> T:
        """Make a call to its end, also if the task is cancelled meanwhile. In this connection's turn."""
        called = self._begin(call)
        try:
            return await asyncio.shield(called)
        except asyncio.CancelledError:
            await _end_of(called)
            # Retrieved: nobody else will look at it.
            called.exception()
            raise

    def _begin(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Begin a call in the thread of this connection. Raises MQIError: 2018, it is disconnected."""
        if self._connection.connection.is_disconnected:
            raise error_for(MQRC.HCONN_ERROR, "", self.qmgr_name, "it is disconnected")
        return asyncio.get_running_loop().run_in_executor(self._thread, copy_context().run, call)

    async def _run_get(self, get: Callable[[], T], keep: Callable[[T], None]) -> T:
        """Make a get. If the task is cancelled, end its wait; *keep* what it has taken then."""
        loop, connection, is_canceled = asyncio.get_running_loop(), self._connection.connection, threading.Event()

        def get_until_canceled() -> T:
            connection.is_wait_canceled = is_canceled.is_set
            try:
                return get()
            finally:
                connection.is_wait_canceled = None

        called = self._begin(get_until_canceled)
        try:
            return await asyncio.shield(called)
        except asyncio.CancelledError:
            is_canceled.set()
            if not called.done():
                await _end_of(loop.run_in_executor(None, _end_wait, connection))
                await _end_of(called)
            if called.exception() is None:
                keep(called.result())
            raise


def _end_wait(connection: Connection) -> None:
    try:
        connection.look_again()
    except MQIError:
        # Its structure cannot be reached, so the wait cannot be ended there: the group ends it.
        connection.interrupt()


@dataclass(frozen=True, slots=True)
class _Taken:
    """The messages of a get; the handle with the properties of its one message, if it asked for them in one."""

    messages: list[Message]
    properties: MessageHandle | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """The result of a get that was cancelled when it had taken something, and what it asked for.

    ``in_unit``: a backout returns it to its queue. ``is_copy``: it was browsed and is still there.
    """

    asked: tuple[Any, ...]
    taken: _Taken
    in_unit: bool
    is_copy: bool


class AsyncQueue:
    """An open queue; calls as of ``sharedq.Queue``. ``async for`` gets each message that comes, outside syncpoint."""

    def __init__(self, connection: AsyncConnection, queue: api.Queue) -> None:
        self._connection, self._queue = connection, queue
        #: Of a cancelled get.
        self.kept: _Kept | None = None
        connection._queues.add(self)

    @property
    def name(self) -> str:
        """The name it was opened by."""
        return self._queue.name

    @property
    def resolved_name(self) -> str:
        """The queue that the name stands for; see ``Queue.resolved_name``."""
        return self._queue.resolved_name

    @property
    def warning(self) -> MQRC:
        """Of the latest put, such as 2049; ``NONE`` without a warning."""
        return self._queue.warning

    async def put(
        self,
        body: bytes,
        md: MQMD | None = None,
        *,
        options: PutOption | int = 0,
        context: AsyncQueue | None = None,
        properties: MessageHandle | None = None,
    ) -> MQMD:
        """MQPUT one message; returns its descriptor with the identifiers it was given."""
        refuse_other(AsyncQueue, MQRC.CONTEXT_HANDLE_ERROR, context, "MQPUT", self.name)
        source = None if context is None else context._queue
        put = partial(self._queue.put, options=options, context=source, properties=properties)
        return await self._connection.call(partial(put, body, md))

    async def put_many(self, messages: Iterable[tuple[MQMD, bytes]], *, options: PutOption | int = 0) -> list[MQMD]:
        """MQPUT many in few round trips; see ``Queue.put_many``."""
        return await self._connection.call(partial(self._queue.put_many, messages, options=options))

    async def get(
        self,
        options: GetOption | int = 0,
        *,
        wait_ms: int = 0,
        match: MQMD | None = None,
        match_options: MatchOption | int | None = None,
        msg_token: bytes = NULL_MSG_TOKEN,
        properties: MessageHandle | None = None,
    ) -> Message:
        """MQGET one message. If this is cancelled, nothing is lost: see the top of this module.

        Raises:
            MQIError: as ``Queue.get``; 2458 a cancelled get has taken something that this one does not ask for.
        """
        refuse_other(MessageHandle, MQRC.HMSG_ERROR, properties, "MQGET", self.name)
        given = whole(options, MQRC.OPTIONS_ERROR, "MQGET", self.name)
        if match is not None:
            MD.check(match, "MQGET", self.name)
        own = None if properties is None else MessageHandle()

        def call() -> _Taken:
            message = self._queue.get(
                given,
                wait_ms=wait_ms,
                match=match,
                match_options=match_options,
                msg_token=msg_token,
                properties=own,
            )
            return _Taken([message], own)

        asked = ("get", given & ~_HOW_LONG, _values(match), match_options, msg_token, own is None)
        taken = await self._take(asked, given, call)
        if properties is not None and taken.properties is not None and taken.properties.is_filled:
            properties.take(taken.properties.properties(), taken.properties.md)
        return taken.messages[0]

    async def get_many(self, count: int, options: GetOption | int = 0, *, wait_ms: int = 0) -> list[Message]:
        """Take up to *count* (1..100) messages in one round trip; at least one, else 2033."""
        given = whole(options, MQRC.OPTIONS_ERROR, "MQGET", self.name)

        def call() -> _Taken:
            return _Taken(self._queue.get_many(count, given, wait_ms=wait_ms))

        return (await self._take(("many", count, given & ~_HOW_LONG), given, call)).messages

    async def messages(
        self, options: GetOption | int = 0, *, wait_ms: int = UNLIMITED_WAIT, match: MQMD | None = None
    ) -> AsyncIterator[Message]:
        """Get one message after another, until none has come for *wait_ms*; see ``Queue.messages``."""
        options = whole(options, MQRC.OPTIONS_ERROR, "MQGET", self.name) | GetOption.WAIT | GetOption.FAIL_IF_QUIESCING
        while True:
            try:
                message = await self.get(options, wait_ms=wait_ms, match=match)
            except MQIError as error:
                if error.reason != MQRC.NO_MSG_AVAILABLE:
                    raise
                return
            yield message

    def __aiter__(self) -> AsyncIterator[Message]:
        return self.messages()

    async def unlock(self) -> bool:
        """Give up what this handle has locked; see ``Queue.unlock``."""
        return await self._connection.call(self._queue.unlock)

    async def inquire(self, *selectors: IntSelector | CharSelector) -> dict[int, int | bytes]:
        """MQINQ: values by selector."""
        return await self._connection.call(partial(self._queue.inquire, *selectors))

    async def set(self, values: dict[int, int | bytes]) -> None:
        """MQSET: inhibit get or put, trigger attributes."""
        await self._connection.call(partial(self._queue.set, values))

    async def close(self, options: CloseOption | int = 0) -> MQRC:
        """MQCLOSE; see ``Queue.close``. It puts back what a cancelled get has taken outside the unit of work.

        Raises:
            MQIError: 2458 a cancelled get has taken a message in the unit of work: get it, or back out; or why a
                message that it has taken outside cannot be put back.
        """
        connection = self._connection
        async with connection._turn:
            if self in connection._unseen(in_unit=True):
                connection._refuse([self], "MQCLOSE")
            await connection._restore(self)
            reason = await connection._run(partial(self._queue.close, options))
            connection._queues.discard(self)
            return reason

    async def __aenter__(self) -> AsyncQueue:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # After an exception it stays open while it keeps something: the end of its connection decides about that.
        if self._queue.handle.is_closed or self._queue.connection.is_ended or (error is not None and self.kept):
            return
        await self.close()

    def restore(self, kept: _Kept) -> None:
        """Put back what a get has taken. In the thread of the connection."""
        connection = self._queue.connection
        with connection.lock:
            restore(connection, self._queue.open_queue(), kept.taken.messages, kept.taken.properties)

    async def _take(self, asked: tuple[Any, ...], options: int, get: Callable[[], _Taken]) -> _Taken:
        connection = self._connection
        async with connection._turn:
            kept = self.kept
            if kept is not None:
                if kept.asked != asked and not kept.is_copy:
                    connection._refuse([self], "MQGET")
                self.kept = None
                if kept.asked == asked:
                    return kept.taken
            return await connection._run_get(get, partial(self._keep, asked, options))

    def _keep(self, asked: tuple[Any, ...], options: int, taken: _Taken) -> None:
        in_unit = bool(options & _IN_UNIT) or bool(
            options & _IN_UNIT_IF_PERSISTENT and any(message.is_persistent for message in taken.messages)
        )
        self.kept = _Kept(asked, taken, in_unit, bool(options & _BROWSES))


def _values(md: MQMD | None) -> tuple[Any, ...] | None:
    """The values by which a descriptor asks for a message, to be compared."""
    return None if md is None else tuple(getattr(md, each.name) for each in fields(md))
