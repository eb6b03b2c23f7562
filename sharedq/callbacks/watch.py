"""One wait for many queues: a waiter for each consumer, and one blocking call for the waiters of a structure.

A connection can wait for one queue. So each consumer has a waiter: an owner of its own beside the connection's, which
waits as a browse does and takes nothing. Each message that arrives wakes it, and no other wait loses a wake-up to it.
The connection gets the messages. A thread blocks on the wake keys of all waiters of a structure at once, so an idle
program makes no call, for however many queues.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from sharedq.calls.get.get import asked_for
from sharedq.calls.get.wait import BLOCK_MAX_S
from sharedq.calls.requests.get import GetRequest
from sharedq.members.process import release_process
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError, NoMsgAvailable
from sharedq.mqi.structures import MQGMO, MQMD
from sharedq.redis.link import Link, ScriptCall
from sharedq.scripts.connections import (
    attach_call,
    check_owner_call,
    connect_call,
    detach_call,
    disconnect_call,
    unwait_call,
)
from sharedq.scripts.get import get_source
from sharedq.session.connection import Connection
from sharedq.session.handle import Gets, Handle, StructureAccess

#: A waiter waits as a browse (see ``lua/prelude/place.lua``): it is woken beside others, never instead of one.
_AS_BROWSE = b"B"
_BROWSE_FIRST, _BROWSE_NEXT = int(GetOption.BROWSE_FIRST), int(GetOption.BROWSE_NEXT)
_GROUPED, _MARKED = 3, 4
#: Seconds before a structure that could not be blocked on is tried again.
_PAUSE_S = 0.1


class Watched(Protocol):
    """A consumer, as far as its wait goes."""

    handle: Handle
    md: MQMD
    gmo: MQGMO
    waiter: Waiter | None


W = TypeVar("W", bound=Watched)


@dataclass(slots=True, eq=False)
class Waiter:
    """An owner that waits: its token, and the queue that it waits for or is woken for."""

    token: str
    waits_for: Handle | None = None


@dataclass(slots=True, eq=False)
class _StructureWait:
    """The waiters of one structure, and the thread that blocks on their keys."""

    access: StructureAccess
    waiters: list[Waiter] = field(default_factory=list)
    free: list[Waiter] = field(default_factory=list)
    link: Link | None = None
    thread: threading.Thread | None = None
    is_over: threading.Event = field(default_factory=threading.Event)


class Watch:
    """The waits of a connection whose consumers are started. Calls are made in its turn, unless they say otherwise."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._places: dict[str, _StructureWait] = {}
        #: Tokens that were woken; None: look at every queue.
        self._wake_ups: SimpleQueue[str | None] = SimpleQueue()

    def register(self, consumers: Sequence[W]) -> list[W]:
        """Have consumers wait. Returns those that need not, because there is something to look at.

        Raises:
            MQIError: 2009, the connection is lost.
        """
        found: list[W] = []
        by_structure: dict[str, list[tuple[W, ScriptCall, Handle]]] = {}
        for consumer in consumers:
            try:
                call, handle = self._wait_call(consumer)
            except NoMsgAvailable:
                # No message can ever fit what it asks for: only another call of the program changes that.
                continue
            except MQIError as error:
                if error.reason == MQRC.CONNECTION_BROKEN:
                    raise
                found.append(consumer)
                continue
            by_structure.setdefault(handle.structure.keys.name, []).append((consumer, call, handle))
        for waits in by_structure.values():
            found += self._registered(waits)
        return found

    def wait(self, timeout_s: float | None) -> set[str] | None:
        """Wait until something wakes a waiter. Returns the tokens of those woken; None: look at every queue."""
        for place in self._places.values():
            if place.thread is None:
                self._begin(place)
        tokens: set[str] = set()
        try:
            woken = self._wake_ups.get(timeout=timeout_s)
            while True:
                if woken is None:
                    return None
                tokens.add(woken)
                woken = self._wake_ups.get_nowait()
        except Empty:
            return tokens

    def wake(self) -> None:
        """End a wait. Any thread calls this."""
        self._wake_ups.put(None)

    def rest(self) -> None:
        """Wait no more until the next call. Raises MQIError: 2009."""
        for place in self._places.values():
            self._end_block(place)
            waiting = [waiter for waiter in place.waiters if waiter.waits_for is not None]
            self._end_waits(place.access, waiting)

    def abandon(self) -> None:
        """The connection is lost, and with it the waiters: the group ends their waits."""
        for place in self._places.values():
            self._end_block(place)
        process = self._connection.process
        process.discard(self)
        # Where it was the last connection of the process, the waiters have kept its registration until now.
        release_process(process)

    def release(self, consumer: Watched) -> None:
        """A consumer is registered no more: its waiter is for others. Raises MQIError: 2009."""
        waiter, consumer.waiter = consumer.waiter, None
        if waiter is None:
            return
        access = consumer.handle.structure
        if waiter.waits_for is not None:
            self._end_waits(access, [waiter])
        place = self._places.get(access.keys.name)
        if place is not None and place.access is access and waiter.waits_for is None:
            place.free.append(waiter)

    def leave(self) -> None:
        """Take all waiters out of the group, after `rest`. Raises MQIError: 2009."""
        connection = self._connection
        for place in self._places.values():
            if place.waiters and not place.access.has_failed:
                connection.call_many([detach_call(place.access.keys, waiter.token) for waiter in place.waiters])
        if connection.waiter_tokens:
            admin = connection.group.keys
            connection.call_many([disconnect_call(admin, token, "") for token in connection.waiter_tokens])
        self._places.clear()
        connection.waiter_tokens.clear()
        connection.process.discard(self)

    # -- as the process of the connection sees it; these are called from another thread --------------------------------

    def interrupt(self) -> None:
        """Nothing: the process interrupts the connection, too, which wakes this."""

    def notice_quiescing(self) -> None:
        """The manager quiesces: gets may ask to fail then."""
        self.wake()

    def look_again(self) -> None:
        """A structure has failed, or can be used again."""
        self.wake()

    def shut_out(self, token: str) -> None:
        """Nothing: an operator ends the connection of the program, which wakes this."""

    def keep_alive(self) -> None:
        """Nothing: a server closes no connection that blocks."""

    def end_if_silent(self, limit_s: float, period_s: float) -> None:
        """Nothing: a blocking call is silent, and the connection of the program notices everything else."""

    # -- waiters -------------------------------------------------------------------------------------------------------

    def _wait_call(self, consumer: Watched) -> tuple[ScriptCall, Handle]:
        """The call that registers the waiter of a consumer, unless there is something that it asks for."""
        handle, options = consumer.handle, int(consumer.gmo.options)
        self._connection.check_usable(handle)
        waiter = consumer.waiter
        if waiter is None:
            waiter = consumer.waiter = self._new_waiter(handle.structure)
        gets = handle.gets
        # The waiter is the owner that calls, and has locked nothing.
        source = get_source(
            handle.structure.keys, handle.queue, waiter.token, handle.definition.version, self._connection.journal_max
        )
        mine = Gets(
            has_members=gets.has_members, may_meet_marks=gets.may_meet_marks, mark_ms=gets.mark_ms, source=source
        )
        looking = replace(handle, number=0, gets=mine)
        cursor = 0
        if options & _BROWSE_NEXT:
            cursor = gets.cursor.score
        selection = asked_for(handle, consumer.md, consumer.gmo)
        request = GetRequest(self._connection, looking, selection, _BROWSE_FIRST, 1, 0, cursor=cursor)
        waiter.waits_for = handle
        return request.call(_AS_BROWSE), handle

    def _registered(self, waits: Sequence[tuple[W, ScriptCall, Handle]]) -> list[W]:
        """Make the calls of one structure. Returns the consumers that do not wait."""
        try:
            replies = self._connection.call_many([call for _, call, _ in waits])
        except MQIError:
            if self._connection.is_ended:
                raise
            # The structure has failed, or Redis refuses this now: the gets will tell.
            return [consumer for consumer, _, _ in waits]
        found = []
        for (consumer, _, handle), reply in zip(waits, replies, strict=True):
            reason = reply[0] if isinstance(reply, list) else reply
            if reason == MQRC.NO_MSG_AVAILABLE:
                continue
            if reason in (_GROUPED, _MARKED):
                handle.gets.has_members = handle.gets.has_members or reason == _GROUPED
                handle.gets.may_meet_marks = handle.gets.may_meet_marks or reason == _MARKED
            found.append(consumer)
        return found

    def _new_waiter(self, access: StructureAccess) -> Waiter:
        structure = access.keys.name
        place = self._places.get(structure)
        if place is not None and place.access is not access:
            # It has failed, and was entered anew.
            self._end_block(place)
            place = None
        if place is None:
            place = self._places[structure] = _StructureWait(access)
        if place.free:
            return place.free.pop()
        connection, group = self._connection, self._connection.group
        token = f"{connection.process.token}.{connection.process.add(self)}"
        # From now on the end of the connection, and of the process, is its end.
        connection.waiter_tokens.append(token)
        owner = (token, *connection.owner_arguments()[1:])
        info = json.dumps({"appl": connection.appl_name, "pid": os.getpid(), "tag": "", "own": 1})
        for call in (
            connect_call(group.keys, owner, info, "", is_internal=True),
            attach_call(access.keys, owner),
            check_owner_call(group.keys, owner, structure),
        ):
            connection.checked_call(*call)
        waiter = Waiter(token)
        place.waiters.append(waiter)
        if place.link is not None:
            # The thread has to block on this key, too.
            place.link.interrupt()
        return waiter

    def _end_waits(self, access: StructureAccess, waiters: Sequence[Waiter]) -> None:
        """Take waiters off their queues. They stay if the structure cannot be used now: that costs a look in vain."""
        if waiters and not self._connection.is_ended and not access.has_failed:
            calls = [self._unwait_call(waiter) for waiter in waiters]
            # The connection itself does not wait: if it was shut out, and does not know so yet, the answer
            # is 2009.
            calls.append(self._unwait_call(waiters[0], self._connection.token))
            try:
                replies = self._connection.call_many(calls)
            except MQIError:
                if self._connection.is_ended:
                    raise
                return
            if any(reply[0] for reply in replies):
                return
        for waiter in waiters:
            waiter.waits_for = None

    def _unwait_call(self, waiter: Waiter, token: str = "") -> ScriptCall:
        """The call that ends the wait of *waiter*, or another owner's wait for the same queue."""
        assert waiter.waits_for is not None
        handle = waiter.waits_for
        return unwait_call(handle.structure.keys, handle.queue, token or waiter.token, self._connection.journal_max)

    # -- blocking ------------------------------------------------------------------------------------------------------

    def _begin(self, place: _StructureWait) -> None:
        place.is_over = threading.Event()
        place.link = self._connection.group.new_link()
        place.thread = threading.Thread(target=self._block, args=(place, place.is_over), daemon=True)
        place.thread.start()

    def _end_block(self, place: _StructureWait) -> None:
        place.is_over.set()
        if place.link is not None:
            place.link.interrupt()
        if place.thread is not None:
            place.thread.join()
            place.thread = None

    def _block(self, place: _StructureWait, is_over: threading.Event) -> None:
        """The thread: tell which waiter was woken, until the waits end."""
        base = place.access.keys.wake
        while not is_over.is_set():
            link, begun_s = place.link, time.monotonic()
            assert link is not None
            try:
                woken = link.block_any([base + waiter.token for waiter in list(place.waiters)], BLOCK_MAX_S)
            except MQIError:
                # A wake-up may be lost with the link, so every queue is looked at.
                link.close()
                place.link = self._connection.group.new_link()
                self.wake()
                # Nothing pauses it if the server refuses the wait, or cannot be reached.
                is_over.wait(max(0.0, begun_s + _PAUSE_S - time.monotonic()))
                continue
            if woken is not None:
                self._wake_ups.put(woken.decode()[len(base) :])
        if place.link is not None:
            place.link.close()
