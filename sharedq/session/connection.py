"""A connection to a queue manager (Hconn): its owner token, its link, its unit of work, its handles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, Protocol

from sharedq.members.forks import after_fork
from sharedq.members.group import Group
from sharedq.members.process import Process, release_process
from sharedq.messages.context import Program, appl_name_of, default_appl_name, user_identifier
from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.mqi.limits import DEFAULT_CCSID
from sharedq.objects.store.topics import Matcher
from sharedq.properties.handle import MessageHandle
from sharedq.redis.link import steps
from sharedq.scripts.connections import (
    connect_call,
    disconnect_call,
    forget_decisions_call,
    note_connection_call,
)
from sharedq.scripts.objects import note_delivered_call
from sharedq.session.calling import Disconnected, Turns
from sharedq.session.handle import Handle, ObjectHandle, StructureAccess
from sharedq.session.route import ReplyTo
from sharedq.session.structures import EnteredStructures
from sharedq.session.topics import Delivered, SubscriptionHandle, TopicHandle
from sharedq.session.unit_of_work import PendingPuts, PutStatus, UnitOfWork

#: MAXUMSGS and MAXHANDS of a manager whose attributes are not written yet.
DEFAULT_MAX_UNCOMMITTED, DEFAULT_MAX_HANDLES = 10_000, 256


class Callbacks(Protocol):
    """The callbacks of a connection (MQCB)."""

    def end(self) -> None:
        """Stop and deregister them. Raises MQIError: 2009; 2500, a callback calls this."""

    def wake(self) -> None:
        """Have them make a call, which learns that the connection is lost. Any thread calls this."""


class Connection(EnteredStructures):
    """One connection: what its program has open, and the unit of work. Calls from several threads take turns.

    A call whose outcome is unknown breaks the connection for good (2009), and its unit of work is then resolved by a
    manager of the group.
    """

    def __init__(
        self,
        group: Group,
        process: Process,
        *,
        tag: str = "",
        appl_name: str = "",
        program: Program | None = None,
        is_internal: bool = False,
    ) -> None:
        self.tag, self.origin = tag, process.qmgr.encode()
        self.appl_name = appl_name_of(appl_name) or default_appl_name().decode()
        self.appl_name_bytes = self.appl_name.encode()
        #: The program, where that is another process; the user that runs it, or this process.
        self.program = program
        self.user_bytes = user_identifier() if program is None else program.user.encode()
        self.user = self.user_bytes.decode(errors="replace")
        self.lock: Turns = Turns(self.break_off)
        #: The queues that the program has opened, by number.
        self.handles: dict[int, Handle] = {}
        #: Made by MQCRTMH for this connection.
        self.message_handles: dict[int, MessageHandle] = {}
        self.pending: list[PendingPuts] = []
        self.put_failure: MQIError | None = None
        self.put_status = PutStatus()
        #: The meaning of the names of reply-to queues.
        self.reply_to: dict[bytes, ReplyTo] = {}
        #: Open topics, and objects that are open for MQINQ alone.
        self.objects: dict[int, ObjectHandle | TopicHandle] = {}
        #: Open subscriptions, by their handle.
        self.subscriptions: dict[int, SubscriptionHandle] = {}
        #: Whether there may be managed queues to delete at the end of the connection.
        self.leaves_orphans = False
        self.matcher = Matcher(group)
        #: Handles of the queues that the last publications were put on. They need no close.
        self.destinations: dict[tuple[str, str], Handle] = {}
        self.delivered = Delivered()
        #: A second connection of this program (`apart`).
        self.beside: Connection | None = None
        #: Temporary dynamic queues of closed handles that could not be deleted yet.
        self.temporary_queues: list[tuple[StructureAccess, str]] = []
        self.max_uncommitted, self.max_handles = DEFAULT_MAX_UNCOMMITTED, DEFAULT_MAX_HANDLES
        #: MAXPROPL, in bytes; -1: no limit.
        self.ccsid, self.max_properties = DEFAULT_CCSID, -1
        #: As scripts take them: what the journal keeps, "0" where it is off.
        self.journal_max = group.journal_max
        #: Units of work whose decision every structure has applied: the decision record can go.
        self.to_forget: list[str] = []
        self._next_handle = 0
        #: Numbers that are free again: the next handles get these.
        self.free_handle_numbers: list[int] = []
        self.is_commit_left_to_group = False
        #: The callbacks, once there are any.
        self.consumers: Callbacks | None = None
        #: Owners that wait for the callbacks; they end with this connection.
        self.waiter_tokens: list[str] = []
        #: While a get is made that may be canceled: whether its wait is to end now (2033).
        self.is_wait_canceled: Callable[[], bool] | None = None
        after_fork(self._end_in_child)
        super().__init__(group, process, is_internal=is_internal)
        self.token = f"{process.token}.{process.add(self)}"
        self.unit = UnitOfWork(self.token)
        self.is_quiescing = process.is_quiescing
        try:
            self._register()
        except MQIError:
            self._drop_or_break_off()
            raise
        except BaseException:
            self.break_off()
            raise

    def _register(self) -> None:
        call = connect_call(
            self.group.keys, self.owner_arguments(), json.dumps(self._facts), self.tag, is_internal=self.is_internal
        )
        reply = self._link.call(*call)
        if reply[0]:
            detail = f"used by {reply[1].decode()}" if reply[1] else ""
            raise error_for(MQRC(reply[0]), "MQCONNX", self.qmgr_name, detail)
        if reply[2:]:
            self.max_uncommitted, self.max_handles, self.ccsid, self.max_properties = map(int, reply[2:])

    @property
    def _facts(self) -> dict[str, Any]:
        """The values that the group has of this connection."""
        told: dict[str, Any] = {
            "appl": self.appl_name,
            "pid": os.getpid(),
            "tag": self.tag[1:],
            "user": self.user,
        }
        if self.is_internal:
            told["own"] = 1
        if (program := self.program) is not None:
            told |= {"pid": program.pid, "channel": program.channel, "conname": program.address}
        return told

    def tell(self, **more: Any) -> None:
        """Tell the group *more* of this connection, for people to see, until it ends. Raises MQIError: 2009."""
        info = json.dumps(self._facts | more)
        self.checked_call(*note_connection_call(self.group.keys, self.owner_arguments(), info))

    @property
    def next_unit_id(self) -> str:
        """Id of the unit of work that will be current after a commit sent now."""
        return self.unit.next_id if self.has_unit else self.unit.id

    # -- unit of work --------------------------------------------------------------------------------------------

    @property
    def has_unit(self) -> bool:
        """Whether a unit of work is under way; also if a part of it is lost, until its end tells the program."""
        return bool(self.unit.parts or self.pending) or self.put_failure is not None

    @property
    def unit_room(self) -> int:
        """How many messages the unit of work may still hold (MAXUMSGS), buffered puts counted."""
        room = self.max_uncommitted - self.unit.messages
        return room - self.pending_messages if self.pending else room

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
            self.beside = Connection(
                self.group, self.process, appl_name=self.appl_name, program=self.program, is_internal=True
            )
        return self.beside

    def _lose(self, access: StructureAccess) -> None:
        name = access.keys.name
        is_part = self.unit.parts.pop(name, None) is not None
        pending = [puts for puts in self.pending if puts.handle.structure is not access]
        if is_part or len(pending) < len(self.pending):
            failure = error_for(MQRC.CF_STRUC_FAILED, "", self.qmgr_name, f"{name} has failed")
            self.put_failure = self.put_failure or failure
        self.pending = pending
        if self.unit.marked is not None and self.unit.marked.structure == name:
            self.unit.marked = None

    # -- life ----------------------------------------------------------------------------------------------------

    def has_open(self, handle: Handle | ObjectHandle | TopicHandle | SubscriptionHandle) -> bool:
        """Whether *handle* is open on this connection. Another connection may have a handle of the same number."""
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

    def notice_quiescing(self) -> None:
        """The manager quiesces: wake a waiting get, so that it can fail if it asked to.

        Raises:
            MQIError: Redis cannot be reached.
        """
        self.is_quiescing = True
        self._wake("quiesce")

    def shut_out(self, token: str) -> None:
        """The group has shut the connection *token* out: if it is this one, end its call with 2009."""
        if token == self.token:
            self.interrupt()

    def keep_alive(self) -> None:
        """Keep servers from closing this connection as idle. Any thread calls this from time to time."""
        if self.delivered.is_waiting:
            self.lock.if_free(self.tell_delivered)
        # An internal connection never rests for long, and makes its calls without a turn.
        if not self.is_internal and self._is_idle():
            self.lock.if_free(self._link.keep_alive)

    def tell_delivered(self) -> None:
        """Tell the group how many messages were put for subscriptions. An error is ignored: these are only counts."""
        for counts in self.delivered.take():
            with suppress(MQIError):
                self.call(*note_delivered_call(self.group.keys, self.token, counts))

    def interrupt(self) -> None:
        """End a running call with 2009: the process lost its lease, or Redis does not answer."""
        super().interrupt()
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
        """Leave every structure, and the group last; open objects are closed, and outstanding work is committed.

        Returns:
            ``NONE``, or 2344: a unit of work that was prepared here is in doubt, and the tag is not free.

        Raises:
            MQIError: a structure, or Redis, refuses it.
        """
        self._leave_structures()
        admin = self.group.keys
        if self.to_forget:
            self.call(*forget_decisions_call(admin, self.to_forget))
        reply = self.call(*disconnect_call(admin, self.token, self.tag))
        self.drop()
        return MQRC(reply[0])

    @property
    def is_disconnected(self) -> bool:
        """Whether its program has disconnected: no call may use it any more (2018)."""
        return isinstance(self.lock, Disconnected)

    def end_turns(self) -> None:
        """Refuse every further call (2018): its program has disconnected."""
        self.lock = Disconnected(self.qmgr_name)

    def _end_in_child(self) -> None:
        # The process forked while another thread had its turn. The child has no such thread to end the turn.
        if not self.is_disconnected:
            self.lock = Turns(self.break_off)

    def _drop_or_break_off(self) -> None:
        # The lost reply may be the reply to a registration: the tag would be held without an owner.
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
