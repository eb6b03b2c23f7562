"""Owners: a process registered with a queue manager, its lease, and the moment at which it must stop by itself.

A process is registered under one incarnation of one manager and renews a lease. It measures the lease on its own
monotonic clock from *before* each renewal was sent, so it stops before its peers may think it dead; the fence in every
script is the safety net. In a stopped process, a call waits for the answer to a renewal: if Redis was only slow, the
lease is still held, and nothing has to be given up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import redis

from sharedq.log import LibraryLogger
from sharedq.members.agreed_settings import contradictions
from sharedq.members.forks import after_fork
from sharedq.members.group import Group
from sharedq.members.lease import RENEWALS_PER_LEASE, Lease, register
from sharedq.members.news import LOOK, QUIESCES, News
from sharedq.members.presence import BEGINS, ENDS, LOSES, address_of, tell_presence
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.wire import silence_of
from sharedq.scripts.members import abandon_call, end_process_call

log = LibraryLogger(__name__)
#: Lost connections that one script call reports to the group.
_TELL_CHUNK = 250
#: Seconds between two tries to report them, or the end. Until then, a message that one holds is kept from everybody.
_TELL_RETRY_S = 1.0


class Interruptible(Protocol):
    """A connection, as a process sees it when it loses its lease."""

    def interrupt(self) -> None:
        """End a running call with 2009. Called from another thread."""

    def notice_quiescing(self) -> None:
        """End a wait that asked to fail when the manager quiesces."""

    def look_again(self) -> None:
        """Make a wait check whether its structure has failed."""

    def shut_out(self, token: str) -> None:
        """End a running call with 2009 if *token* is the connection's: an operator has ended the connection."""

    def keep_alive(self) -> None:
        """Keep servers from closing the connection as idle. Called in every period."""

    def end_if_silent(self, limit_s: float, period_s: float) -> None:
        """End a running call with 2009 if it was not answered for *limit_s*. Called in every period."""


class Process:
    """This operating-system process as a user of one manager.

    A child that this process forks is not registered: its registration is lost from the start.

    Attributes:
        token: ``QM.incarnation.process``.
        is_quiescing: the manager has begun to stop.
    """

    def __init__(self, group: Group, qmgr: str, incarnation: int, number: int, sent_at_s: float) -> None:
        self.group, self.qmgr, self.incarnation = group, qmgr, incarnation
        self.token = f"{qmgr}.{incarnation}.{number}"
        self.is_quiescing = False
        self.pid = os.getpid()
        self.lease = Lease(group, qmgr, self.token, sent_at_s)
        self._connections: weakref.WeakSet[Interruptible] = weakref.WeakSet()
        self._abandoned: set[str] = set()
        #: Every lost connection. The group remembers those that it did not know until this process ends.
        self._lost: list[str] = []
        self._connection_number = 0
        self._reserved = 0
        self._manager_address = b""
        self._failures_told = 0
        self._lock = threading.Lock()
        self.has_ended = False
        self._nudged = threading.Event()
        self._news: News | None = None
        #: Notified when the lease was renewed or lost.
        self._settled = threading.Condition()
        after_fork(self._lose_in_child)
        self._thread = threading.Thread(target=self._keep, name=f"lease {self.token}", daemon=True)

    @classmethod
    def register(cls, group: Group, qmgr: str, *, is_internal: bool = False) -> Process:
        """Register this process with the running manager *qmgr* and start renewing its lease.

        Raises:
            MQIError: 2059, the manager is not running; 2161, it is quiescing; 2009, Redis cannot be reached.
        """
        group.prepare_to_register()
        appl, lease_ms = Path(sys.argv[0] or "python").name[:28], group.settings.lease_ms
        registered = register(group, qmgr, lease_ms, appl, verb="MQCONN", is_internal=is_internal)
        _adopt(group, registered.settings)
        process = cls(group, qmgr, registered.incarnation, registered.number, registered.sent_at_s)
        process._manager_address = address_of(registered.address, f"{qmgr}.{process.incarnation}")
        tell_presence(process._manager_address, BEGINS, process.token)
        process._thread.start()
        process._news = News(group, process.token, process._hear)
        return process

    @property
    def is_alive(self) -> bool:
        """Whether calls may still be made under this registration."""
        return not self.has_ended and time.monotonic() < self.lease.safe_until_s and os.getpid() == self.pid

    @property
    def _silence_s(self) -> float:
        return silence_of(self.lease.lease_ms) + self.group.settings.longest_replication_s

    def check(self) -> None:
        """Return while the lease is certainly held. If it may have ended, wait until that is known.

        Raises:
            MQIError: 2009, the lease is lost, or there was no answer for the length of another lease.
        """
        if self.has_ended or (time.monotonic() >= self.lease.safe_until_s and not self._is_renewed_late()):
            why = "the lease of this process ran out"
            if os.getpid() != self.pid:
                why = "the connection belongs to the process that forked this one; connect anew here"
            raise error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr, why)

    def _is_renewed_late(self) -> bool:
        """Wait for the answer to a renewal. False if the lease is lost."""
        self._nudged.set()
        with self._settled:
            self._settled.wait_for(
                lambda: self.has_ended or time.monotonic() < self.lease.safe_until_s, timeout=self.lease.length_s
            )
        return self.is_alive

    def _hold(self, sent_at_s: float) -> None:
        """Note that a call sent at *sent_at_s* (monotonic) renewed the lease."""
        self.lease.hold(sent_at_s)
        with self._settled:
            self._settled.notify_all()

    def add(self, connection: Interruptible) -> int:
        """Add a connection. Returns its number, which this process never used before."""
        with self._lock:
            self._connection_number += 1
            self._connections.add(connection)
            return self._connection_number

    def discard(self, connection: Interruptible) -> None:
        """Forget a connection that has ended."""
        with self._lock:
            self._connections.discard(connection)

    def abandon(self, owner: str) -> None:
        """Let a manager back out the work of a connection that was lost, as soon as Redis can be told."""
        with self._lock:
            self._abandoned.add(owner)
            self._lost.append(owner)
        self._nudged.set()

    def reserve(self, count: int) -> None:
        """Note that a caller is about to add a connection (1), or that it has added it or given up (-1)."""
        with self._lock:
            self._reserved += count

    @property
    def connection_count(self) -> int:
        """The number of connections that are open, or about to be."""
        with self._lock:
            return len(self._connections) + self._reserved

    def end(self) -> None:
        """End the registration in good order. All connections must have ended before."""
        if os.getpid() != self.pid:
            # Only the parent may end it.
            return
        is_held = self.is_alive
        self.stop_renewing()
        if self._thread is not threading.current_thread():
            self._thread.join()
        # If the lease is lost, the group notices by itself.
        if is_held and not self._unregister():
            # In a new thread: the caller does not wait for a Redis that may be out of reach.
            threading.Thread(target=self._unregister_later, name=f"end {self.token}", daemon=True).start()

    def _unregister(self) -> bool:
        """Tell the group of lost connections and of the end. False if Redis does not do it now."""
        try:
            self._tell_abandoned()
            for position in range(0, max(1, len(self._lost)), _TELL_CHUNK):
                lost = self._lost[position : position + _TELL_CHUNK]
                self.lease.links.call(*end_process_call(self.group.keys, self.token, lost))
            tell_presence(self._manager_address, ENDS, self.token)
        except MQIError as error:
            log.debug("process_not_unregistered", process=self.token, error=str(error))
            return False
        finally:
            self.lease.close()
        return True

    def _unregister_later(self) -> None:
        """Tell the group as soon as Redis can be told: what lost connections hold is kept from everybody until then."""
        while time.monotonic() + _TELL_RETRY_S < self.lease.safe_until_s:
            time.sleep(_TELL_RETRY_S)
            if self._unregister():
                return

    def stop_renewing(self) -> None:
        """Stop renewing the lease and tell nobody, as if this process had died."""
        self._end_now()
        self._nudged.set()

    def _end_now(self) -> None:
        self.has_ended = True
        if self._news is not None:
            self._news.close()
        with self._settled:
            self._settled.notify_all()

    def _keep(self) -> None:
        try:
            self._renew_until_ended()
        finally:
            self.lease.close()

    def _renew_until_ended(self) -> None:
        period_s = self.lease.length_s / RENEWALS_PER_LEASE
        while True:
            # Woken early if a caller should not have to wait for the next renewal.
            self._nudged.wait(min(period_s, _TELL_RETRY_S) if self._abandoned else period_s)
            self._nudged.clear()
            if self.has_ended:
                return
            is_held = self._renew()
            if is_held:
                self._for_each(lambda connection: connection.end_if_silent(self._silence_s, period_s))
                self._for_each(lambda connection: connection.keep_alive())
            if self.is_alive:
                continue
            if is_held:
                # The answer came too late to trust the lease, but it shows that nobody has taken it: renew again.
                self._nudged.set()
            elif not self.has_ended:
                self._lose("the lease ran out")

    def _renew(self) -> bool:
        """Ask Redis for another lease. True if it was granted."""
        try:
            self._tell_abandoned()
            renewal = self.lease.renew()
        except MQIError as error:
            log.debug("lease_not_renewed", process=self.token, error=str(error))
            return False
        if not renewal.is_held:
            self._lose("the manager or a peer has fenced this process")
            return False
        self._hold(renewal.sent_at_s)
        if renewal.member.get("state") == "QUIESCING":
            self._notice_quiescing()
        if renewal.failures is not None and renewal.failures != self._failures_told:
            # Something was told about a structure that failed or can be used again, or about the group's settings.
            if self._has_learned_settings():
                self._failures_told = renewal.failures
            self._wake_each(lambda connection: connection.look_again())
        return True

    def _hear(self, text: str) -> None:
        """Act on news. Called in the thread that hears them, which must hear the next ones soon."""
        if text == LOOK:
            self._nudged.set()
        elif text == QUIESCES:
            self._notice_quiescing()
        else:
            self._for_each(lambda connection: connection.shut_out(text))

    def _notice_quiescing(self) -> None:
        if not self.is_quiescing:
            self.is_quiescing = True
            self._wake_each(lambda connection: connection.notice_quiescing())

    def _has_learned_settings(self) -> bool:
        """Adopt the group's present settings. False if they cannot be read, so that the next renewal tries again."""
        try:
            self.group.adopt(self.group.read_record(self.lease.links), is_running=True)
        except MQIError as error:
            log.debug("group_settings_not_read", process=self.token, error=str(error))
            return False
        return True

    def _wake_each(self, act: Callable[[Interruptible], None]) -> None:
        """Wake the waiting connections, in a new thread: a server may hang, and the lease must be renewed in time."""
        threading.Thread(target=self._for_each, args=(act,), name=f"wake {self.token}", daemon=True).start()

    def _tell_abandoned(self) -> None:
        with self._lock:
            abandoned = list(self._abandoned)
        for position in range(0, len(abandoned), _TELL_CHUNK):
            owners = abandoned[position : position + _TELL_CHUNK]
            self.lease.call(abandon_call(self.group.keys, owners))
            with self._lock:
                # The script may be repeated, so two threads may report the same connection.
                self._abandoned.difference_update(owners)
        if abandoned:
            tell_presence(self._manager_address, LOSES, self.token)

    def _lose(self, why: str) -> None:
        log.warning("lease_lost", process=self.token, why=why)
        self._give_up()

    def _give_up(self) -> None:
        self._end_now()
        self._for_each(lambda connection: connection.interrupt())

    def _for_each(self, act: Callable[[Interruptible], None]) -> None:
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            try:
                act(connection)
            except (MQIError, redis.RedisError) as error:
                # The lease must be renewed whatever happens to one connection.
                log.warning("connection_not_told", process=self.token, error=str(error))

    def _lose_in_child(self) -> None:
        # New locks: the thread that held the old ones does not exist in the child.
        self._lock, self._nudged = threading.Lock(), threading.Event()
        self._settled = threading.Condition()
        self.lease.safe_until_s = float("-inf")
        self.has_ended = True


def _adopt(group: Group, record: bytes) -> None:
    """Use the group's settings, and log once where the process's own settings differ."""
    told = contradictions(group.own_settings, record) if record else []
    if told and record not in _told_records:
        _told_records.add(record)
        log.warning("group_settings_differ", group=group.name, differences="; ".join(told))
    group.adopt(record)


#: Records of settings about which this process has logged a difference.
_told_records: set[bytes] = set()


_processes: dict[tuple[int, str, str], Process] = {}


_processes_lock = threading.Lock()


def _forget_in_child() -> None:
    global _processes_lock
    _processes_lock = threading.Lock()
    _processes.clear()


after_fork(_forget_in_child)


def process_for(group: Group, qmgr: str) -> Process:
    """Return the registration of this process with *qmgr*, which all its connections share.

    It is reserved for the caller, so that the end of its last connection does not end it. Release the reservation with
    ``release_process(process, is_reserved=True)`` when the connection is made, or could not be made.

    Raises:
        MQIError: 2059, 2161 or 2009 as for ``Process.register``.
    """
    key = (id(group), group.name, qmgr)
    with _processes_lock:
        process = _processes.get(key)
        if process is None or not process.is_alive:
            process = _processes[key] = Process.register(group, qmgr)
        process.reserve(1)
        return process


def release_process(process: Process, *, is_reserved: bool = False) -> None:
    """Unregister after the last connection has gone."""
    with _processes_lock:
        if is_reserved:
            process.reserve(-1)
        if process.connection_count:
            return
        for key, known in list(_processes.items()):
            if known is process:
                del _processes[key]
    process.end()


class KeptProcess(Process):
    """The manager's own process or its agent. Only `renewed` renews its lease, and `lose` reports the loss.

    Args:
        number: the number from ``admin/register_process``.
        sent_at_s: monotonic time before its registration, or its last renewal, was sent. All processes of the
            machine share this clock, so a parent may pass the time to its child.
    """

    def __init__(self, group: Group, qmgr: str, incarnation: int, number: int, sent_at_s: float) -> None:
        super().__init__(group, qmgr, incarnation, number, sent_at_s)

    def renewed(self, sent_at_s: float) -> None:
        """Note that a call sent at *sent_at_s* (monotonic) renewed the lease."""
        self._hold(sent_at_s)

    def quiesce(self) -> None:
        """End the calls that asked to fail when the manager quiesces."""
        self.is_quiescing = True
        self._for_each(lambda connection: connection.notice_quiescing())

    def lose(self) -> None:
        """End every connection now, because the lease is lost. The manager reports why."""
        self._give_up()

    def tell_abandoned(self) -> None:
        """Ask for the recovery of this process's lost connections. Raises MQIError: Redis cannot be told now."""
        self._tell_abandoned()

    def end(self) -> None:
        """Do nothing: no connection is left, and the manager gives the registration back."""
        self._end_now()
        self.lease.close()
