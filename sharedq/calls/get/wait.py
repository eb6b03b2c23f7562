"""MQGMO_WAIT: a call is made again and again until something fits, the interval ends or the wait is canceled."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sharedq.calls.requests.get import GetRequest
from sharedq.calls.routes.refresh import changed_path, refresh_definition, take_definition
from sharedq.mqi.constants import MQRC, GetOption
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import UNLIMITED_WAIT
from sharedq.redis.link import Reply
from sharedq.scripts.connections import unwait_call
from sharedq.scripts.get import handed_reply
from sharedq.session.connection import Connection
from sharedq.session.handle import Handle
from sharedq.session.refusals import inhibited

#: Longest time a connection blocks in Redis before it looks again, seconds.
BLOCK_MAX_S = 180.0
#: How long a connection blocks in the write of its call: if Redis refuses the call, nothing ends the wait earlier.
_BLOCK_FIRST_S = 0.25

_STALE, _LOOK_AGAIN, _GROUPED, _MARKED = _NOT_LOOKED = 1, 2, 3, 4
#: Where a reply without a message tells when the next mark ends, ms from now.
_MARK_ENDS = 2
_FAIL_IF_QUIESCING = int(GetOption.FAIL_IF_QUIESCING)
#: Makes a call that registers the waiter it is given, if that text is not empty. None: the call did not look.
#: If it raises MQIError, it has ended the wait.
FirstCall = Callable[[bytes], Reply]


def call_or_wait(
    connection: Connection,
    handle: Handle,
    request: GetRequest,
    waiter: bytes,
    wait_ms: int,
    reply: Reply,
    first: FirstCall | None = None,
) -> Reply:
    """Call until something fits or the wait interval ends; the reply of the call that succeeded.

    Args:
        waiter: the entry of the connection among the queue's waiters, if it waits.
        reply: of a call made already without registering, or None.
        first: makes the first call in the place of the request's own call.

    Raises:
        MQIError: 2033, 2016 (also while waiting), 2161, ...
    """
    search = _Search(connection, handle, request, waiter, wait_ms)
    try:
        return search.run(reply, first)
    except MQIError:
        reply = search.give_up()
        if reply is None:
            raise
        # The connection was handed a message in this moment, and has it in its unit of work.
        return reply
    except BaseException:
        # Interrupted: the connection may be woken, or handed a message that it would never take. Its recovery passes
        # the wake-up or the message on.
        connection.break_off()
        raise
    finally:
        if request.blocks_s:
            search.end_block_with_call()


@dataclass(slots=True)
class _Search:
    """A call that is made until something fits; arguments as of `call_or_wait`.

    Attributes:
        is_waiting: the latest call registers a waiter if it finds nothing.
        may_be_waiter: the structure may have it among its waiters, or may have woken it.
        horizon: the place up to which its search found nothing.
    """

    connection: Connection
    handle: Handle
    request: GetRequest
    waiter: bytes
    wait_ms: int
    is_waiting: bool = False
    may_be_waiter: bool = False
    horizon: int = 0

    def run(self, reply: Reply, first: FirstCall | None) -> Reply:
        deadline_s = None if self.wait_ms == UNLIMITED_WAIT else time.monotonic() + self.wait_ms / 1000
        gets, has_waited = self.handle.gets, False
        if gets.has_waited and reply is None and self.wait_ms:
            self._block_with_call(_BLOCK_FIRST_S if deadline_s is None else min(_BLOCK_FIRST_S, self.wait_ms / 1000))
        while True:
            if first is not None:
                reply = self._call_first(first)
                first = None
            if reply is None:
                reply = self._call(deadline_s)
            if self.request.blocks_s:
                self.end_block_with_call()
            is_found_nothing = reply[0] == MQRC.NO_MSG_AVAILABLE and self.is_waiting
            # A look at the queue ends the wait before it.
            self.may_be_waiter &= is_found_nothing or reply[0] in _NOT_LOOKED
            if not reply[0] or reply[0] in (MQRC.TRUNCATED_MSG_ACCEPTED, MQRC.TRUNCATED_MSG_FAILED):
                gets.has_waited = has_waited
                return reply
            if is_found_nothing:
                has_waited = gets.has_waited = True
                woken, self.request.woken = self.request.woken, None
                reply = self._block(reply, _left_s(deadline_s)) if woken is None else self._handed(woken)
            else:
                self._learn(reply, deadline_s)
                reply = None

    def _call_first(self, first: FirstCall) -> Reply:
        self.is_waiting = self.wait_ms != 0
        reply = first(self.waiter if self.is_waiting else b"")
        self.may_be_waiter = self.is_waiting
        return reply

    def _call(self, deadline_s: float | None) -> Reply:
        """Make the call; unless gets are inhibited."""
        connection, handle = self.connection, self.handle
        if handle.definition.facts.is_get_inhibited:
            # Another definition may be in force now, and it may inhibit gets nevertheless.
            refresh_definition(connection, handle)
        if handle.definition.facts.is_get_inhibited:
            raise inhibited(connection, handle, MQRC.GET_INHIBITED, "MQGET")
        self.is_waiting = self.wait_ms != 0 and _left_s(deadline_s) > 0
        self.may_be_waiter |= self.is_waiting
        (reply,) = self.request.send([self.request.call(self.waiter if self.is_waiting else b"", self.horizon)])
        return reply

    def _block_with_call(self, block_s: float) -> None:
        """Have the first call wait in its own write.

        The wake list holds no message yet; later the wait could take one while Redis refuses the call, and lose it. A
        get that finds its message at once pays a push and a pop for this, so a handle does it if its last get waited.
        """
        connection = self.connection
        # Publish the wake key before checking for quiesce, as `_block` does.
        connection.waits_on(self.handle.structure.keys.wake + connection.token, block_s)
        is_canceled = connection.is_wait_canceled
        is_quiescing = connection.is_quiescing and self.request.options & _FAIL_IF_QUIESCING
        if is_quiescing or (is_canceled is not None and is_canceled()):
            connection.waits_on(None)
        else:
            self.request.blocks_s = block_s

    def end_block_with_call(self) -> None:
        """Go on with waits in writes of their own."""
        self.request.blocks_s = 0.0
        self.connection.waits_on(None)

    def _block(self, reply: Reply, left_s: float) -> Reply:
        """Wait to be woken. Returns the message that it was handed or found, or None to look again."""
        connection, wake_key = self.connection, self.handle.structure.keys.wake + self.connection.token
        self.horizon = 0
        block_s = left_s
        # Most often the reply says no more than 2033.
        if len(reply) > 1:
            self._wait_as(reply, 1)
            block_s = _until_mark_ends(reply, left_s)
        block_s = max(block_s, 0.001)
        # Publish the wake key before checking for quiesce, so that a later quiesce can wake us.
        connection.waits_on(wake_key, block_s)
        try:
            self._check_wait(left_s)
            if self.request.is_handed:
                return self._handed(connection.block(wake_key, block_s))
            # The wake-up and the next look are one write: see Link.block_then_call.
            _, (reply,) = connection.block_then_call(wake_key, block_s, self.request.call(self.waiter, self.horizon))
            return reply
        finally:
            connection.waits_on(None)

    def _handed(self, woken: bytes | None) -> Reply:
        """The message that has woken it; None if it is to look again."""
        reply = woken and handed_reply(woken)
        if reply is None:
            self._check_canceled()
        return reply

    def _check_wait(self, left_s: float) -> None:
        """Raise when the wait is canceled (2161), or its interval has ended (2033)."""
        name = self.handle.object_name
        if self.connection.is_quiescing and self.request.options & _FAIL_IF_QUIESCING:
            raise error_for(MQRC.Q_MGR_QUIESCING, "MQGET", name)
        if left_s <= 0:
            raise error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", name, f"waited {self.wait_ms} ms")
        self._check_canceled()

    def _check_canceled(self) -> None:
        is_canceled = self.connection.is_wait_canceled
        if is_canceled is not None and is_canceled():
            raise error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", self.handle.object_name, "its wait was canceled")

    def give_up(self) -> Reply:
        """End the search without a message: see `give_up_wait`. Returns None, or the message that it was handed."""
        handed = give_up_wait(self.connection, self.handle) if self.may_be_waiter else None
        return handed and handed_reply(handed)

    def _learn(self, reply: Reply, deadline_s: float | None) -> None:
        """Learn for the next call from the reply; raise where there is no next call."""
        connection, handle = self.connection, self.handle
        if reply[0] == _STALE:
            take_definition(handle, reply, changed_path(connection, handle))
        elif reply[0] in (_GROUPED, _MARKED):
            handle.gets.has_members = handle.gets.has_members or reply[0] == _GROUPED
            handle.gets.may_meet_marks = handle.gets.may_meet_marks or reply[0] == _MARKED
        elif reply[0] == _LOOK_AGAIN:
            self.horizon = int(reply[1] or 0)
            self._wait_as(reply, 2)
        elif reply[0] != MQRC.NO_MSG_AVAILABLE:
            raise connection.error(reply[0], "MQGET", handle.object_name)
        elif self.wait_ms == 0 or _left_s(deadline_s) <= 0:
            raise error_for(MQRC.NO_MSG_AVAILABLE, "MQGET", handle.object_name)
        else:
            self.horizon = 0

    def _wait_as(self, reply: Reply, position: int) -> None:
        """A browse that locks may be told to wait from now on as any other browse."""
        self.waiter = reply[position] or self.waiter if len(reply) > position else self.waiter


def _left_s(deadline_s: float | None) -> float:
    return BLOCK_MAX_S if deadline_s is None else min(BLOCK_MAX_S, deadline_s - time.monotonic())


def _until_mark_ends(reply: Reply, left_s: float) -> float:
    """How long to block: a message that is passed over because it is marked may become eligible meanwhile."""
    return min(left_s, int(reply[_MARK_ENDS]) / 1000) if len(reply) > _MARK_ENDS else left_s


def stop_waiting(connection: Connection, handle: Handle) -> bytes | None:
    """Take the connection off the waiters; a wake-up that it got meanwhile goes to another.

    Returns:
        The message that it was handed in its unit of work meanwhile, as it stands in its wake list; or None.
    """
    call = unwait_call(handle.structure.keys, handle.queue, connection.token, connection.journal_max)
    return next(iter(connection.checked_call(*call)[1:]), None)


def give_up_wait(connection: Connection, handle: Handle) -> bytes | None:
    """End a wait: the connection must not be woken any more, or be handed a message that it would never take.

    Returns:
        As `stop_waiting`.

    Raises:
        MQIError: 2009, Redis refuses to end the wait now: the recovery of the connection ends it.
    """
    if connection.is_ended or handle.structure.has_failed:
        return None
    try:
        return stop_waiting(connection, handle)
    except MQIError as error:
        if not connection.has_entered(handle.structure):
            # The structure has failed, which ended the wait.
            return None
        connection.break_off()
        detail = f"the wait cannot be ended ({error}): the group ends it"
        raise connection.error(MQRC.CONNECTION_BROKEN, "MQGET", handle.object_name, detail) from error
