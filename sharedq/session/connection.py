"""A connection to a queue manager (Hconn): its owner token, its link, its unit of work, its handles."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NoReturn, Protocol

from sharedq.members.forks import after_fork
from sharedq.members.group import Group
from sharedq.members.process import Process, release_process
from sharedq.messages.context import appl_name_of, default_appl_name, user_identifier
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.objects.store.failures import State, parse_failure, structure_state
from sharedq.objects.store.topics import Matcher
from sharedq.properties.handle import MessageHandle
from sharedq.redis.keys import StructureKeys, structure_keys
from sharedq.redis.link import Argument, Link, Reply, ScriptCall, steps
from sharedq.scripts.connections import (
    attach_call,
    check_owner_call,
    connect_call,
    detach_call,
    disconnect_call,
    forget_decisions_call,
    wake_owner_call,
)
from sharedq.scripts.objects import note_delivered_call
from sharedq.scripts.reads import server_ms
from sharedq.session.async_puts import PendingPuts
from sharedq.session.call_lock import Disconnected, Turns
from sharedq.session.deliveries import Delivered
from sharedq.session.handle import Handle, ObjectHandle, StructureAccess
from sharedq.session.put_status import PutStatus
from sharedq.session.route import ReplyTo
from sharedq.session.topics import SubscriptionHandle, TopicHandle
from sharedq.session.unit_of_work import UnitOfWork

#: MAXUMSGS and MAXHANDS of a manager whose attributes are not written yet.
DEFAULT_MAX_UNCOMMITTED, DEFAULT_MAX_HANDLES = 10_000, 256

#: Seconds between two uses of an idle connection to Redis, so that it is not closed. A server's ``timeout``, and
#: proxies in between, must allow three times as much.
KEEP_ALIVE_S = 20.0

#: Seconds for which the local clock continues a reading of Redis' clock.
CLOCK_S = 10.0

# A look-up as a member costs each call a tenth of a microsecond for each reply.
_CONNECTION_BROKEN = int(MQRC.CONNECTION_BROKEN)


def _is_unregistered(reply: Reply) -> bool:
    """Whether a script did not find its caller."""
    return isinstance(reply, list) and bool(reply) and reply[0] == _CONNECTION_BROKEN


class Callbacks(Protocol):
    """The callbacks of a connection (MQCB)."""

    def end(self) -> None:
        """Stop and deregister them. Raises MQIError: 2009; 2500, a callback calls this."""

    def wake(self) -> None:
        """Have them make a call, which learns that the connection is lost. Any thread calls this."""


class Connection:
    """One connection; calls from several threads take turns.

    Every call first makes sure that the process still holds its lease; a call whose outcome is unknown breaks the
    connection for good (2009), and its unit of work is then resolved by a manager of the group.
    """

    def __init__(
        self, group: Group, process: Process, *, tag: str = "", appl_name: str = "", is_internal: bool = False
    ) -> None:
        self.group, self.process, self.tag = group, process, tag
        self.qmgr_name = process.qmgr
        self.origin = process.qmgr.encode()
        self.appl_name = appl_name_of(appl_name) or default_appl_name().decode()
        self.appl_name_bytes = self.appl_name.encode()
        self.lock: Turns = Turns(self.break_off)
        after_fork(self._end_in_child)
        self.token = f"{process.token}.{process.add(self)}"
        self.unit = UnitOfWork(self.token)
        #: By number: those that the program has opened.
        self.handles: dict[int, Handle] = {}
        #: Made by MQCRTMH for this connection.
        self.message_handles: dict[int, MessageHandle] = {}
        self.pending: list[PendingPuts] = []
        self.put_failure: MQIError | None = None
        self.put_status = PutStatus()
        #: The meaning of the names of reply-to queues.
        self.reply_to: dict[bytes, ReplyTo] = {}
        #: Open topics, and what is open for MQINQ alone.
        self.objects: dict[int, ObjectHandle | TopicHandle] = {}
        #: Open subscriptions, by their handle.
        self.subscriptions: dict[int, SubscriptionHandle] = {}
        #: Whether there may be managed queues to delete at the end of the connection.
        self.leaves_orphans = False
        self.matcher = Matcher(group)
        #: Of the queues that publications were put on by the last ones: handles that need no close.
        self.destinations: dict[tuple[str, str], Handle] = {}
        self.delivered = Delivered()
        #: A second connection of this program (`apart`).
        self.beside: Connection | None = None
        #: Temporary dynamic queues of closed handles that could not be deleted yet.
        self.temporary_queues: list[tuple[StructureAccess, str]] = []
        self.is_quiescing = process.is_quiescing
        self.max_uncommitted, self.max_handles = DEFAULT_MAX_UNCOMMITTED, DEFAULT_MAX_HANDLES
        #: MAXPROPL, in bytes; -1: no limit.
        self.ccsid, self.max_properties = DEFAULT_CCSID, -1
        #: As scripts take them: what the journal keeps, "0" where it is off.
        self.journal_max = group.journal_max
        self.is_internal = is_internal
        self._link: Link = group.new_link()
        self._accesses: dict[str, StructureAccess] = {}
        #: Structures that failed, and were not entered since.
        self._failed: dict[str, StructureAccess] = {}
        #: Units of work whose decision every structure has applied: the record of it can go.
        self.to_forget: list[str] = []
        self._next_handle = 0
        #: Those that the next handles get: nothing has them now.
        self.free_handle_numbers: list[int] = []
        self._is_ended = False
        self.is_commit_left_to_group = False
        self._waiting_on: str | None = None
        #: Once there are any.
        self.consumers: Callbacks | None = None
        #: Owners that wait for them; they end with this connection.
        self.waiter_tokens: list[str] = []
        #: While a get is made that may be canceled: whether its wait is to end now (2033).
        self.is_wait_canceled: Callable[[], bool] | None = None
        #: When it may be silent, and how silent its link has been by the last look.
        self._may_rest_until_s = self._looked_s = self._silent_s = 0.0
        self._turn_seen = 0
        self._kept_alive_s = time.monotonic()
        try:
            self._register()
        except MQIError:
            self._drop_or_break_off()
            raise
        except BaseException:
            self.break_off()
            raise

    def _register(self) -> None:
        user = user_identifier().decode(errors="replace")
        info = json.dumps(
            {"appl": self.appl_name, "pid": os.getpid(), "tag": self.tag[1:], "user": user}
            | ({"own": 1} if self.is_internal else {})
        )
        call = connect_call(self.group.keys, self.owner_arguments(), info, self.tag, is_internal=self.is_internal)
        reply = self._link.call(*call)
        if reply[0]:
            detail = f"used by {reply[1].decode()}" if reply[1] else ""
            raise error_for(MQRC(reply[0]), "MQCONNX", self.qmgr_name, detail)
        if reply[2:]:
            self.max_uncommitted, self.max_handles, self.ccsid, self.max_properties = map(int, reply[2:])

    # -- calls ---------------------------------------------------------------------------------------------------

    def access(self, structure: str) -> StructureAccess:
        """Enter a structure: from then on this connection may change state there until it is fenced."""
        access = self._accesses.get(structure)
        # Without a number: it was entered while it was deleted, and may be defined again.
        if access is None or not access.number:
            self._failed.pop(structure, None)
            access = self._enter(structure, self.group.structure_number(structure))
        return access

    def access_deleted(self, structure: str) -> StructureAccess:
        """Enter a structure that was deleted, to end what dead connections have left there. Then `leave_deleted`."""
        return self._accesses.get(structure) or self._enter(structure, 0)

    def leave_deleted(self, access: StructureAccess) -> None:
        """Leave a structure that was deleted. Raises MQIError: 2009."""
        self._accesses.pop(access.keys.name, None)
        self._detach(access.keys)

    def _enter(self, structure: str, number: int) -> StructureAccess:
        keys, owner = structure_keys(self.group.name, structure), self.owner_arguments()
        self.checked_call(*attach_call(keys, owner))
        # A recoverer fences the administration structure first and lists the structures afterwards: so it will find a
        # connection there that passes this check after entering a structure.
        try:
            reply = self.checked_call(*check_owner_call(self.group.keys, owner, structure))
        except MQIError:
            self._take_back_attach(keys)
            raise
        failure = parse_failure(reply[1].decode())
        access = StructureAccess(keys, number)
        if failure is not None:
            access.failures, access.was_entered_failed = failure.count, failure.is_failed
        self._accesses[structure] = access
        return access

    def _take_back_attach(self, keys: StructureKeys) -> None:
        """Be not registered where that could not be checked: nothing would leave that structure any more."""
        if self._is_ended:
            # It may be recovered and forgotten by now: then nobody would look for it there again.
            with suppress(MQIError):
                self.group.call(*detach_call(keys, self.token))
            return
        try:
            self._detach(keys)
        except MQIError:
            self.break_off()

    def _detach(self, keys: StructureKeys) -> None:
        self.call(*detach_call(keys, self.token))

    def has_entered(self, access: StructureAccess) -> bool:
        """Whether this is how the connection uses that structure now, which has not failed as far as it knows."""
        return self._accesses.get(access.keys.name) is access

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
        """Call a script under this connection's lease; 2009 breaks the connection."""
        return self.call_many(((name, keys, args),))[0]

    def call_many(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Call scripts of one structure in one write, in order."""
        return self._called(self._link.call_many, calls)

    def call_repeatedly(
        self, call: ScriptCall, per_write: int, writes: int, goes_on: Callable[[Sequence[Reply]], bool]
    ) -> list[Reply]:
        """Call one script many times, in order (see ``Link.call_repeatedly``)."""
        make = partial(self._link.call_repeatedly, per_write=per_write, writes=writes, goes_on=goes_on)
        return self._called(lambda calls: make(calls[0]), (call,) * per_write * writes)

    def call_apart(self, calls: Sequence[ScriptCall]) -> list[Reply]:
        """Call scripts of several structures at once.

        A call that Redis refuses is answered by its reason, in its place, and so is a failed structure (2373, 2346).
        """
        replies = self._sent(self._link.call_apart, calls)
        for position, reply in enumerate(replies):
            if _is_unregistered(reply):
                failure = self._not_registered(calls[position][1][0])
                if failure.reason == MQRC.CONNECTION_BROKEN:
                    raise failure
                replies[position] = [int(failure.reason)]
        return replies

    def _called(self, call: Callable[[Sequence[ScriptCall]], list[Reply]], calls: Sequence[ScriptCall]) -> list[Reply]:
        replies = self._sent(call, calls)
        for position, reply in enumerate(replies):
            if _is_unregistered(reply):
                raise self._not_registered(calls[position][1][0])
        return replies

    def _sent(self, call: Callable[[Sequence[ScriptCall]], list[Reply]], calls: Sequence[ScriptCall]) -> list[Reply]:
        self.check()
        try:
            return call(calls)
        except BaseException:
            self._break_off_with_link()
            raise

    def block(self, wake_key: str, timeout_s: float) -> bytes | None:
        """Wait for a wake-up. Returns its content, or None after *timeout_s* (see ``Link.block``)."""
        self.check()
        try:
            return self._link.block(wake_key, timeout_s)
        except BaseException:
            self._break_off_with_link()
            raise

    def block_then_call(self, wake_key: str, timeout_s: float, *calls: ScriptCall) -> tuple[bool, list[Reply]]:
        """Wait for a wake-up, then call scripts of its structure, in one write (see ``Link.block_then_call``)."""
        is_woken = False

        def block(calls: Sequence[ScriptCall]) -> list[Reply]:
            nonlocal is_woken
            is_woken, replies = self._link.block_then_call(wake_key, timeout_s, calls)
            return replies

        replies = self._called(block, calls)
        return is_woken, replies

    def command(self, key: str, *args: Argument) -> Reply:
        """A plain read command."""
        self.check()
        try:
            return self._link.command(key, *args)
        except BaseException:
            self._break_off_with_link()
            raise

    def commands(self, key: str, commands: Sequence[Sequence[bytes]]) -> list[Reply]:
        """Plain read commands of one structure, in order, in one write."""
        self.check()
        try:
            return self._link.commands(key, commands)
        except BaseException:
            self._break_off_with_link()
            raise

    def redis_ms(self, access: StructureAccess) -> int:
        """Redis' clock at the server of a structure, ms since 1970. It alone decides about expiry.

        Asked anew when that was some seconds ago. Raises MQIError: 2009.
        """
        at_s = time.monotonic()
        if at_s - access.clock_read_s > CLOCK_S:
            access.clock_ms = server_ms(self, access.keys.sequence)
            access.clock_read_s = time.monotonic()
            at_s = access.clock_read_s
        return access.clock_ms + int((at_s - access.clock_read_s) * 1000)

    def _break_off_with_link(self) -> None:
        """End the connection if its link broke (a lost reply, an interrupt). Its work is then recovered."""
        if self._link.is_broken:
            self.break_off()

    def check_there(self, handle: Handle) -> None:
        """For a queue that was not found: raise 2373 or 2346 if the reason is a failure of its structure."""
        self.has_lost(handle.structure)
        self.check_usable(handle)

    def has_lost(self, access: StructureAccess) -> bool:
        """Whether a structure that did not find this connection, or its queue, has failed since it was entered."""
        if not (self._is_ended or access.has_failed) and self._is_forgotten(access):
            self._structure_failed(access)
        return access.has_failed

    def check_usable(self, handle: Handle) -> None:
        """Raise when the structure of an open handle has failed since it was opened.

        Raises:
            MQIError: 2373; 2346 while it is being recovered. The handle is of no use any more, also afterwards.
        """
        if handle.structure.has_failed:
            raise self._failure(handle.structure, handle.object_name)

    def _not_registered(self, key: str) -> MQIError:
        """A script did not find this connection in the structure of *key*: it was shut out, or that has failed."""
        structure = key[1 : key.index("}")].partition(":")[2]
        if structure in self._failed:
            # This call noticed the failure.
            return self._failure(self._failed[structure], self.qmgr_name)
        access = self._accesses.get(structure)
        if access is None or not self._is_forgotten(access):
            self.break_off()
            return error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name, "this connection was fenced by a recoverer")
        self._structure_failed(access)
        return self._failure(access, self.qmgr_name)

    def _is_forgotten(self, access: StructureAccess) -> bool:
        """Whether a structure does not know this connection because it has failed, not because of a recoverer.

        A recoverer marks the owners that it shuts out in the administration structure before it does so anywhere else,
        and takes the mark away only with the entry of the connection. So in this order nothing escapes.
        """
        keys, admin, name = access.keys, self.group.keys, access.keys.name
        if self.command(keys.owners, "HEXISTS", keys.owners, self.token):
            return False
        try:
            state = structure_state(self.group, name)
        except MQIError:
            return False
        try:
            is_dead, *told = self._link.call(*check_owner_call(admin, self.owner_arguments(), name))
        except BaseException:
            self._break_off_with_link()
            raise
        if is_dead:
            return False
        failure = parse_failure(told[0].decode())
        count = failure.count if failure else 0
        if state == "ACTIVE" and count == access.failures and not access.was_entered_failed:
            return False
        return bool(self.command(admin.owners, "HEXISTS", admin.owners, self.token))

    def _structure_failed(self, access: StructureAccess) -> None:
        """Everything of this connection there is lost. The work of its unit elsewhere is backed out."""
        name = access.keys.name
        access.has_failed = True
        self._failed[name] = access
        self._accesses.pop(name, None)
        is_part = self.unit.parts.pop(name, None) is not None
        pending = [puts for puts in self.pending if puts.handle.structure is not access]
        if is_part or len(pending) < len(self.pending):
            failure = error_for(MQRC.CF_STRUC_FAILED, "", self.qmgr_name, f"{name} has failed")
            self.put_failure = self.put_failure or failure
        self.pending = pending
        if self.unit.marked is not None and self.unit.marked.structure == name:
            self.unit.marked = None

    def _failure(self, access: StructureAccess, name: str) -> MQIError:
        """The answer to a call on a handle of a structure that has failed."""
        structure = access.keys.name
        state: State = "FAILED"
        with suppress(MQIError):
            state = structure_state(self.group, structure)
        reason = MQRC.CF_STRUC_IN_USE if state == "INRECOVER" else MQRC.CF_STRUC_FAILED
        details = {
            "ACTIVE": f"{structure} has failed since this was opened, and can be used again: open it anew",
            "FAILED": f"{structure} has failed",
            "INRECOVER": f"{structure} has failed, and is being recovered",
        }
        return error_for(reason, "", name, details[state])

    def check(self) -> None:
        """Raise 2009 when this connection has ended, or its process no longer surely holds its lease."""
        if self._is_ended or self._link.is_broken:
            self.break_off()
            raise error_for(MQRC.CONNECTION_BROKEN, "", self.qmgr_name)
        try:
            self.process.check()
        except MQIError:
            # A late renewal may still save the process. This call has failed for good, so its connection goes:
            # otherwise it would keep its tag and its unit of work for as long as the process lives.
            self.break_off()
            raise

    def error(self, reason: int, verb: str = "", name: str = "", detail: str = "") -> MQIError:
        """The exception for a reason code that a script answered."""
        return error_for(MQRC(reason), verb, name or self.qmgr_name, detail)

    @property
    def next_unit_id(self) -> str:
        """Id of the unit of work that will be current after a commit sent now."""
        return self.unit.next_id if self.has_unit else self.unit.id

    # -- unit of work --------------------------------------------------------------------------------------------

    @property
    def has_unit(self) -> bool:
        """Whether a unit of work is under way. One of which something is lost is, until its end tells the program."""
        return bool(self.unit.parts or self.pending) or self.put_failure is not None

    @property
    def unit_room(self) -> int:
        """How many messages the unit of work may still hold (MAXUMSGS), buffered puts counted."""
        return self.max_uncommitted - self.unit.messages - self.pending_messages

    @property
    def pending_messages(self) -> int:
        """How many messages asynchronous puts have left in the buffer."""
        count = 0
        # A loop takes half the time of a generator.
        for puts in self.pending:
            count += len(puts.arguments)
        return count

    def leave_to_group(self, what: str, structure: str, error: MQIError) -> NoReturn:
        """Leave a decision (*what*) that *structure* cannot apply now to the recovery of this connection."""
        self.is_commit_left_to_group = what == "committed"
        self.break_off()
        detail = f"{what}, but {structure} could not be told ({error}): the group completes it"
        verb = "MQBACK" if what == "backed out" else "MQCMIT"
        raise error_for(MQRC.CONNECTION_BROKEN, verb, self.qmgr_name, detail) from error

    def apart(self) -> Connection:
        """Return a second connection of this program, for a unit of work beside its own. It ends with this one."""
        if self.beside is not None and self.beside.has_lost_server():
            self.beside.break_off()
        if self.beside is None or self.beside.is_ended:
            self.beside = Connection(self.group, self.process, appl_name=self.appl_name, is_internal=True)
        return self.beside

    # -- life ----------------------------------------------------------------------------------------------------

    def has_open(self, handle: Handle | ObjectHandle | TopicHandle | SubscriptionHandle) -> bool:
        """Whether this is open on this connection. The number of another one's handle means something else here."""
        kept = self.subscriptions if isinstance(handle, SubscriptionHandle) else self.objects
        return (self.handles if isinstance(handle, Handle) else kept).get(handle.number) is handle

    def take_put_status(self) -> PutStatus:
        """MQSTAT: the outcomes of asynchronous puts since the last MQSTAT."""
        steps.taken += 1
        status, self.put_status = self.put_status, PutStatus()
        return status

    @property
    def last_handle_number(self) -> int:
        """The number of the handle opened last; 0 before the first."""
        return self._next_handle

    def number_handles_after(self, number: int) -> None:
        """Give later handles numbers after *number*. A connection that replaces another one keeps its numbers."""
        self._next_handle = max(self._next_handle, number)

    def next_handle_number(self) -> int:
        """A number for a new handle."""
        if self.free_handle_numbers:
            return self.free_handle_numbers.pop(0)
        self._next_handle += 1
        return self._next_handle

    def waits_on(self, wake_key: str | None, for_s: float = 0.0) -> None:
        """Remember the key that this connection blocks on, and for how long, for those who must end its wait."""
        self._waiting_on = wake_key
        self._may_rest_until_s = time.monotonic() + for_s

    def notice_quiescing(self) -> None:
        """The manager quiesces: wake a waiting get, so that it can fail if it asked to.

        Raises:
            MQIError: Redis cannot be reached.
        """
        self.is_quiescing = True
        self._wake("quiesce")

    def look_again(self) -> None:
        """Wake a waiting get, which would not be woken otherwise: its structure has failed, or it is canceled.

        Raises:
            MQIError: Redis cannot be reached.
        """
        self._wake("look")

    def shut_out(self, token: str) -> None:
        """The group has shut the connection *token* out: if it is this one, end its call with 2009."""
        if token == self.token:
            self.interrupt()

    def _wake(self, why: str) -> None:
        wake_key = self._waiting_on
        if wake_key is not None:
            keys = self.group.structure(wake_key[wake_key.index(":") + 1 : wake_key.index("}")])
            self.group.call(*wake_owner_call(keys, self.token, why))

    def end_if_silent(self, limit_s: float, period_s: float) -> None:
        """End a running call with 2009 if it has no answer for this long, without its own wait.

        In a Cluster a server may be silent while leases, which are another one's business, are renewed. To be called in
        every *period_s*: a longer one counts as one, for then it was perhaps this machine that stood still.
        """
        now_s, turn = time.monotonic(), self._link.turn
        passed_s, self._looked_s = min(now_s - self._looked_s, period_s), now_s
        is_silent = turn % 2 and turn == self._turn_seen and now_s > self._may_rest_until_s
        self._turn_seen, self._silent_s = turn, self._silent_s + passed_s if is_silent else 0.0
        if self._silent_s > limit_s:
            self.interrupt()

    def keep_alive(self) -> None:
        """Keep servers from closing this connection as idle. Any thread calls this from time to time."""
        if self.delivered.is_waiting:
            self.lock.if_free(self.tell_delivered)
        now_s = time.monotonic()
        # An internal connection never rests for long, and makes its calls without a turn.
        if not self.is_internal and now_s - self._kept_alive_s >= KEEP_ALIVE_S and not self._link.is_broken:
            self._kept_alive_s = now_s
            self.lock.if_free(self._link.keep_alive)

    def tell_delivered(self) -> None:
        """Tell the group what was put for subscriptions. It only counts: an error is no one's."""
        for counts in self.delivered.take():
            with suppress(MQIError):
                self.call(*note_delivered_call(self.group.keys, self.token, counts))

    def has_lost_server(self) -> bool:
        """Whether a server has closed this connection. The thread that uses it asks, between two calls."""
        return self._link.has_lost_server()

    def interrupt(self) -> None:
        """End a running call with 2009: the process lost its lease, or Redis does not answer."""
        self._link.interrupt()
        if self.consumers is not None:
            self.consumers.wake()

    def break_off(self) -> None:
        """Give this connection up as lost. A manager of the group backs out its work."""
        if not self._is_ended:
            self._is_ended = True
            if self.beside is not None:
                self.beside.break_off()
            self.process.abandon(self.token)
            for token in self.waiter_tokens:
                self.process.abandon(token)
            self.drop()

    def end_callbacks(self) -> None:
        """Stop and deregister callbacks, before a disconnect takes its turn. Raises MQIError: 2009, 2500."""
        if self.consumers is not None:
            self.consumers.end()

    def leave(self) -> MQRC:
        """Leave every structure, and the group last; what was open is closed and what was outstanding is committed.

        Returns:
            ``NONE``, or 2344: something is in doubt that was prepared here, and the tag is not free.

        Raises:
            MQIError: a structure, or Redis, refuses it.
        """
        for access in list(self._accesses.values()):
            try:
                self._detach(access.keys)
            except MQIError:
                # If that has failed there is nothing to leave.
                if self.has_entered(access):
                    raise
        admin = self.group.keys
        if self.to_forget:
            self.call(*forget_decisions_call(admin, self.to_forget))
        reply = self.call(*disconnect_call(admin, self.token, self.tag))
        self.drop()
        return MQRC(reply[0])

    @property
    def is_ended(self) -> bool:
        """Whether this connection was disconnected or lost."""
        return self._is_ended

    @property
    def is_disconnected(self) -> bool:
        """Whether its program has disconnected: no call may use it any more (2018)."""
        return isinstance(self.lock, Disconnected)

    def end_turns(self) -> None:
        """Refuse every further call (2018): its program has disconnected."""
        self.lock = Disconnected(self.qmgr_name)

    def _end_in_child(self) -> None:
        # The process forked while another thread had its turn. That thread is not in the child to end the turn.
        if not self.is_disconnected:
            self.lock = Turns(self.break_off)

    def _drop_or_break_off(self) -> None:
        # A lost reply may have been that of a registration: its tag would be held without an owner.
        if self._link.is_broken:
            self.break_off()
        else:
            self.drop()

    def drop(self) -> None:
        """Give the link and the process back: this connection has ended."""
        self._is_ended = True
        self._link.close()
        self.process.discard(self)
        if not self.is_internal:
            release_process(self.process)
