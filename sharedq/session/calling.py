"""How an owner calls Redis: over a link of its own, under the lease of its process, one call at a time."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from sharedq.members.group import Group
from sharedq.members.process import Process
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.xa import XAError
from sharedq.redis.deployment import DeploymentError
from sharedq.redis.link import Argument, Link, Reply, ScriptCall, steps
from sharedq.scripts.connections import wake_owner_call

#: Seconds between two uses of an idle connection to Redis, so that it is not closed. A server's ``timeout``, and
#: proxies in between, must allow three times as much.
KEEP_ALIVE_S = 20.0
# A look-up as a member costs each call a tenth of a microsecond for each reply.
_CONNECTION_BROKEN = int(MQRC.CONNECTION_BROKEN)
#: Calls raise these errors besides `MQIError`, and know then which work is done.
_REFUSALS = (XAError, DeploymentError)


class Calling(ABC):
    """The calls of one owner. Each first makes sure that the process still holds its lease.

    A call whose outcome is unknown breaks the owner off for good (2009).
    """

    #: The name of the owner; it is never used again.
    token: str

    def __init__(self, group: Group, process: Process, *, is_internal: bool) -> None:
        self.group, self.process, self.is_internal = group, process, is_internal
        self.qmgr_name = process.qmgr
        self._link: Link = group.new_link(wait=group.wait_of_connections)
        self._is_ended = False
        self._waiting_on: str | None = None
        #: The time until which the link may be silent; and how long it has been silent at the last look.
        self._may_rest_until_s = self._looked_s = self._silent_s = 0.0
        self._turn_seen = 0
        self._kept_alive_s = time.monotonic()

    @abstractmethod
    def break_off(self) -> None:
        """Give the owner up as lost. A manager of the group backs out its work."""

    @abstractmethod
    def _not_registered(self, key: str) -> MQIError:
        """A script did not find this owner in the structure of *key*: why not."""

    def owner_arguments(self) -> tuple[str, str, int, str]:
        """How scripts of the administration structure learn who calls: token, manager, incarnation, process."""
        return self.token, self.qmgr_name, self.process.incarnation, self.process.token

    def checked_call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Call a script whose reply begins with a reason code; raise unless that is 0.

        Raises:
            MQIError: what the script answered.
        """
        reply = self.call(name, keys, args)
        if reply[0]:
            raise self.error(reply[0])
        return reply

    def call(self, name: str, keys: Sequence[str], args: Sequence[Argument]) -> Reply:
        """Call a script."""
        return self.call_many(((name, keys, args),))[0]

    def call_many(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Call scripts of one structure in one write, in order."""
        return self._registered(calls[0], self._use(self._link.call_many, calls))

    def call_repeatedly(
        self, call: ScriptCall, per_write: int, writes: int, goes_on: Callable[[Sequence[Reply]], bool]
    ) -> list[Reply]:
        """Call one script many times, in order (see ``Link.call_repeatedly``)."""
        return self._registered(call, self._use(self._link.call_repeatedly, call, per_write, writes, goes_on))

    def call_apart(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Call scripts of several structures at once.

        A call that Redis refuses is answered by its reason, in its place, and so is a failed structure (2373, 2346).
        """
        replies: list[Reply] = self._use(self._link.call_apart, calls)
        for position, reply in enumerate(replies):
            try:
                self._registered(calls[position], [reply])
            except MQIError as failure:
                if failure.reason == MQRC.CONNECTION_BROKEN:
                    raise
                replies[position] = [int(failure.reason)]
        return replies

    def block(self, wake_key: str, timeout_s: float) -> bytes | None:
        """Wait for a wake-up. Returns its content, or None after *timeout_s* (see ``Link.block``)."""
        found: bytes | None = self._use(self._link.block, wake_key, timeout_s)
        return found

    def call_then_block(
        self, calls: Sequence[ScriptCall], wake_key: str, timeout_s: float
    ) -> tuple[list[Reply], bytes | None]:
        """Call scripts of one structure and wait for a wake-up, in one write (see ``Link.call_then_block``)."""
        replies, woken = self._use(self._link.call_then_block, calls, wake_key, timeout_s)
        return self._registered(calls[0], replies), woken

    def block_then_call(self, wake_key: str, timeout_s: float, *calls: ScriptCall) -> tuple[bool, list[Reply]]:
        """Wait for a wake-up, then call scripts of its structure, in one write (see ``Link.block_then_call``)."""
        is_woken, replies = self._use(self._link.block_then_call, wake_key, timeout_s, calls)
        return is_woken, self._registered(calls[0], replies)

    def command(self, key: str, *args: Argument) -> Reply:
        """A plain read command."""
        return self._use(self._link.command, key, *args)

    def commands(self, key: str, commands: Sequence[Sequence[bytes]]) -> list[Reply]:
        """Plain read commands of one structure, in order, in one write."""
        replies: list[Reply] = self._use(self._link.commands, key, commands)
        return replies

    def _use(self, use: Callable[..., Any], *args: Any) -> Any:
        """Use the link. If the link breaks (a lost reply, an interrupt) the owner ends, and its work is recovered."""
        self.check()
        try:
            return use(*args)
        except BaseException:
            if self._link.is_broken:
                self.break_off()
            raise

    def _registered(self, call: ScriptCall, replies: list[Reply]) -> list[Reply]:
        """Return the replies to calls of the structure of *call*, if the scripts have found their owner there."""
        for reply in replies:
            if type(reply) is list and reply and reply[0] == _CONNECTION_BROKEN:
                raise self._not_registered(call[1][0])
        return replies

    def check(self) -> None:
        """Raise 2009 when this owner has ended, or its process no longer surely holds its lease."""
        if self._is_ended or self._link.is_broken:
            self.break_off()
            raise error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name)
        process = self.process
        # The same condition as in `Process.check`: a call of it would cost each put and get two of these.
        if not process.has_ended and time.monotonic() < process.lease.safe_until_s:
            return
        try:
            process.check()
        except MQIError:
            # A late renewal may still save the process. This call has failed for good, so this owner goes:
            # otherwise it would keep its tag and its unit of work for as long as the process lives.
            self.break_off()
            raise

    def error(self, reason: int, verb: str = "", name: str = "", detail: str = "") -> MQIError:
        """The exception for a reason code that a script answered."""
        return error_for(MQRC(reason), verb, name or self.qmgr_name, detail)

    @property
    def is_ended(self) -> bool:
        """Whether this owner has ended: its program disconnected it, or it was lost."""
        return self._is_ended

    def waits_on(self, wake_key: str | None, for_s: float = 0.0) -> None:
        """Remember the key that this connection blocks on, and for how long, so that others can end the wait."""
        self._waiting_on = wake_key
        self._may_rest_until_s = time.monotonic() + for_s

    def look_again(self) -> None:
        """Wake a waiting get, which would not be woken otherwise: its structure has failed, or it is canceled.

        Raises:
            MQIError: Redis cannot be reached.
        """
        self._wake("look")

    def _wake(self, why: str) -> None:
        wake_key = self._waiting_on
        if wake_key is not None:
            keys = self.group.structure(wake_key[wake_key.index(":") + 1 : wake_key.index("}")])
            self.group.call(*wake_owner_call(keys, self.token, why))

    def end_if_silent(self, limit_s: float, period_s: float) -> None:
        """End a running call with 2009 if Redis has not answered for *limit_s*; a wait for messages does not count.

        In a Cluster a server may be silent while another server renews the leases. To be called in every
        *period_s*. A longer time between two calls counts as one period, because perhaps this machine stood still.
        """
        now_s, turn = time.monotonic(), self._link.turn
        passed_s, self._looked_s = min(now_s - self._looked_s, period_s), now_s
        is_silent = turn % 2 and turn == self._turn_seen and now_s > self._may_rest_until_s
        self._turn_seen, self._silent_s = turn, self._silent_s + passed_s if is_silent else 0.0
        if self._silent_s > limit_s:
            self.interrupt()

    def _is_idle(self) -> bool:
        """Whether servers might close the link as idle, unless it is used now."""
        now_s = time.monotonic()
        if now_s - self._kept_alive_s < KEEP_ALIVE_S or self._link.is_broken:
            return False
        self._kept_alive_s = now_s
        return True

    def interrupt(self) -> None:
        """End a running call with 2009: the process lost its lease, or Redis does not answer."""
        self._link.interrupt()

    def has_lost_server(self) -> bool:
        """Whether a server has closed this connection. The thread that uses it asks, between two calls."""
        return self._link.has_lost_server()


class Turns:
    """Calls of several threads take turns; a thread may call again inside its turn.

    No call raises KeyboardInterrupt, or the exception of a signal handler. A call that ends with such an exception
    may have been interrupted after Redis had done the work, and before the connection had noted this work. The
    connection cannot continue, so *on_cut* is called. But if the call had begun nothing, an `Exception` has changed
    nothing: most often an argument was wrong.

    The connection also ends after a call that ends with 2009, after the loss of any link to Redis: its program gives
    the connection up.
    """

    __slots__ = ("_lock", "_on_cut", "_taken")

    def __init__(self, on_cut: Callable[[], None]) -> None:
        self._lock = threading.RLock()
        self._on_cut = on_cut
        #: For each call under way, the outermost first: the steps that its thread had taken when it began.
        self._taken: list[int] = []

    def if_free(self, act: Callable[[], None]) -> None:
        """Do *act* in its own turn, unless a call is under way."""
        if self._lock.acquire(blocking=False):
            try:
                act()
            finally:
                self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._taken.append(steps.taken)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            taken = self._taken.pop()
            if error is not None and _breaks(error, has_begun=steps.taken != taken):
                self._on_cut()
        finally:
            self._lock.release()


class Disconnected(Turns):
    """The turns of a connection handle after its MQDISC: no call has one any more (2018)."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def if_free(self, act: Callable[[], None]) -> None:
        """Do nothing."""

    def __enter__(self) -> None:
        raise error_for(MQRC.HCONN_ERROR, "", self._name, "it is disconnected")


def _breaks(error: BaseException, *, has_begun: bool) -> bool:
    if isinstance(error, MQIError):
        return error.reason == MQRC.CONNECTION_BROKEN
    if isinstance(error, Exception) and not has_begun:
        return False
    return not isinstance(error, _REFUSALS)
